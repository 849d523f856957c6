package org.gorda.jgcs.raft.transport;

import java.io.DataInput;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.gorda.jgcs.Encryption;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.jgroups.Address;
import org.jgroups.blocks.cs.Connection;
import org.jgroups.blocks.cs.ConnectionListener;
import org.jgroups.blocks.cs.Receiver;
import org.jgroups.blocks.cs.TcpServer;
import org.jgroups.stack.IpAddress;
import org.jgroups.util.DefaultThreadFactory;
import org.jgroups.util.SocketFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Transport over JGroups' {@code TcpServer}: one connection per pair of members, opened by the one with the smaller name, so
 * that two do not cross, or by the other one if that does not come. A frame is written by the caller's thread while the peer surely has room for it, which spares a change
 * of thread on the commit path; otherwise by the link's own thread. A frozen peer stops nobody: what it does not take is
 * dropped, and a caller's write that blocks all the same is ended by closing the connection.
 */
public final class TcpTransport implements Transport, Receiver, ConnectionListener {

    private static final Logger LOG = LoggerFactory.getLogger(TcpTransport.class);

    /** Socket buffers hold at least this much: so much may be on its way for a write to be made by the caller. */
    private static final int INLINE_BYTES_MAX = 64 << 10;

    private static final int SOCKET_BUFFER_BYTES = 512 << 10;
    private static final long QUEUE_BYTES_MAX = 8L << 20;
    private static final long RECONNECT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int CONNECT_TIMEOUT_MILLIS = 1000;

    /** So long who has the larger name waits for the other, which may not know of it. */
    private static final long CONNECTED_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final long RESOLVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** So long a member that is none any more is still told so, and who is none yet is answered. */
    private static final long PARTING_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Asks whether somebody is there, and is answered by the transport; no frame of a member is that short. */
    private static final byte[] QUESTION = {0};

    private static final byte[] ANSWER = {};

    /** The first one of a process on a starved machine takes long. */
    private static final int HANDSHAKE_TIMEOUT_MILLIS = 3000;

    private final MemberId self;
    private final TcpServer server;
    private final int frameBytesMax;
    private final long silenceNanosMax;

    /** Half of what makes others elect: on a starved machine a thread may be without a processor for long. */
    private final long blockedNanosMax;

    private final Map<MemberId, Link> links = new ConcurrentHashMap<>();
    private final Map<Address, Link> byAddress = new ConcurrentHashMap<>();
    private final LongAdder frames = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final ScheduledExecutorService watch =
            Executors.newSingleThreadScheduledExecutor(task -> daemon(task, "watch"));

    /** Asks for hosts' addresses, which may take long and must hold up no frame. */
    private final Thread names = daemon(vital(this::resolveAll), "names");

    private @Nullable Future<?> watching;
    private volatile @Nullable Listener listener;
    private volatile boolean closed;

    /**
     * Binds the member's address.
     *
     * @throws GroupException if the port is taken or the host's address is not one of this machine, or not one where members on other machines reach it
     */
    public TcpTransport(GroupConfiguration configuration) {
        this(configuration, sockets -> sockets);
    }

    /** @param around makes of the sockets those that are used */
    TcpTransport(GroupConfiguration configuration, UnaryOperator<SocketFactory> around) {
        self = configuration.self();
        frameBytesMax = configuration.messageBytesMax() + (1 << 20);
        silenceNanosMax = 3 * configuration.electionTimeout().toNanos();
        blockedNanosMax = configuration.electionTimeout().toNanos() / 2;
        requireReachable(configuration.members());
        try {
            InetAddress host = InetAddress.getByName(self.host());
            server = new TcpServer(
                    new Threads(),
                    around.apply(sockets(configuration.tls())),
                    host,
                    self.port(),
                    self.port(),
                    null,
                    0,
                    SOCKET_BUFFER_BYTES);
        } catch (Exception e) { // what JGroups declares
            watch.shutdownNow();
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "cannot listen on " + self + " (" + rootOf(e).getMessage()
                            + "): is another process using that port, and is the host an address of this machine?",
                    e);
        }
        server.sendBufferSize(SOCKET_BUFFER_BYTES)
                .tcpNodelay(true)
                .usePeerConnections(true)
                .socketConnectionTimeout(CONNECT_TIMEOUT_MILLIS)
                .logDetails(false)
                .setMaxLength(frameBytesMax)
                .receiver(this)
                .addConnectionListener(this);
        server.peerAddressReadTimeout(CONNECT_TIMEOUT_MILLIS);
        server.setLogAcceptError(false);
    }

    /** Lists of hosts often have a machine's own name lead to 127.0.1.1. */
    private void requireReachable(Collection<MemberId> members) {
        InetAddress own = address(self);
        if (own == null || !own.isLoopbackAddress()) {
            return;
        }
        for (MemberId member : members) {
            if (isElsewhere(member)) {
                throw new GroupException(
                        GroupException.Disposition.CORRECT,
                        self.host() + " is " + own.getHostAddress() + " on this machine, where " + member
                                + " cannot reach it: have the name lead to an address of the network (see /etc/hosts), or give that instead");
            }
        }
    }

    private static boolean isElsewhere(MemberId member) {
        InetAddress address = address(member);
        try {
            return address != null
                    && !address.isLoopbackAddress()
                    && NetworkInterface.getByInetAddress(address) == null;
        } catch (SocketException e) {
            return false; // it is not known
        }
    }

    private static @Nullable InetAddress address(MemberId member) {
        try {
            return InetAddress.getByName(member.host());
        } catch (UnknownHostException e) {
            return null;
        }
    }

    private SocketFactory sockets(@Nullable Encryption tls) {
        return tls == null
                ? new BlockingSockets(watch)
                : new TlsSockets(tls, this::hostAt, this::hosts, HANDSHAKE_TIMEOUT_MILLIS, watch, this::vital);
    }

    /** The host of the member that is connected to, as its address has it; nobody else is. */
    private List<String> hostAt(InetSocketAddress address) {
        Link link = byAddress.get(new IpAddress(address.getAddress(), address.getPort()));
        return link == null ? List.of() : List.of(link.member.host());
    }

    private List<String> hosts() {
        return links.values().stream()
                .filter(link -> link.kept)
                .map(link -> link.member.host())
                .distinct()
                .toList();
    }

    private static Throwable rootOf(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    @Override
    public void start(Listener toTell) {
        listener = toTell;
        try {
            server.start();
        } catch (Exception e) { // what JGroups declares
            throw new GroupException(GroupException.Disposition.CORRECT, "cannot accept connections on " + self, e);
        }
        long period = TimeUnit.NANOSECONDS.toMillis(blockedNanosMax) / 2;
        watching = watch.scheduleWithFixedDelay(
                vital(() -> links.values().forEach(Link::check)), period, period, TimeUnit.MILLISECONDS);
        names.start();
    }

    @Override
    public void connectTo(Collection<MemberId> members) {
        Set<MemberId> kept = new HashSet<>(members);
        kept.remove(self);
        for (MemberId member : kept) {
            links.compute(member, (key, present) -> {
                Link link = present == null ? new Link(key) : present;
                link.keep(true);
                return link;
            });
        }
        links.values().stream().filter(link -> !kept.contains(link.member)).forEach(link -> link.keep(false));
        LockSupport.unpark(names);
    }

    private Link link(MemberId member) {
        Link link = links.get(member);
        if (link == null) {
            link = links.computeIfAbsent(member, Link::new);
            LockSupport.unpark(names);
        }
        return link;
    }

    private void resolveAll() {
        while (!closed) {
            for (Link link : links.values()) {
                if (link.hasParted()) {
                    part(link);
                } else {
                    link.resolve();
                }
            }
            LockSupport.parkNanos(RESOLVE_NANOS);
        }
    }

    /** Not while its addresses are sought, which its entries would outlast. */
    private void part(Link link) {
        if (links.computeIfPresent(link.member, (key, present) -> present.hasParted() ? null : present) == null) {
            link.end();
        }
    }

    @Override
    public void send(MemberId to, byte[] frame) {
        if (!closed) {
            link(to).send(frame);
        }
    }

    @Override
    public SortedMap<MemberId, String> unreached() {
        SortedMap<MemberId, String> all = new TreeMap<>();
        for (Link link : links.values()) {
            String why = link.unreached;
            if (why != null && link.kept) {
                all.put(link.member, why);
            }
        }
        return all;
    }

    @Override
    public long frames() {
        return frames.sum();
    }

    @Override
    public long bytes() {
        return bytes.sum();
    }

    @Override
    public void receive(Address sender, byte[] buffer, int offset, int length) {
        throw new IllegalStateException("JGroups is expected to hand over streams");
    }

    @Override
    public void receive(Address sender, DataInput in, int length) throws IOException {
        if (length < 0 || length > frameBytesMax) {
            throw new IOException("a frame of " + length + " bytes from " + sender + ", the limit is " + frameBytesMax);
        }
        byte[] frame = new byte[length];
        in.readFully(frame);
        Link link = byAddress.get(sender);
        if (link != null) {
            link.heard();
        }
        if (length <= QUESTION.length) {
            if (length == QUESTION.length && link != null) {
                link.leave(ANSWER);
            }
            return;
        }
        Listener told = listener;
        if (told != null && !closed) {
            told.onFrame(frame);
        }
    }

    @Override
    public void connectionEstablished(Connection connection) {
        Link link = byAddress.get(connection.peerAddress());
        if (link != null) {
            link.found(connection);
        }
    }

    @Override
    public void connectionClosed(Connection connection) {
        Link link = byAddress.get(connection.peerAddress());
        Listener told = listener;
        if (link != null && told != null && !closed && !link.isConnectedBesides(connection)) {
            told.onDisconnected(link.member);
            link.wake();
        }
    }

    @Override
    public void close() {
        closed = true;
        if (watching != null) {
            watching.cancel(true);
        }
        watch.shutdownNow();
        LockSupport.unpark(names);
        links.values().forEach(Link::wake);
        server.forAllConnections((address, connection) -> closeNow(connection));
        if (listener == null) {
            startToStop();
        }
        server.stop();
    }

    /** A server that was never started would keep its port when it is stopped. */
    private void startToStop() {
        try {
            server.start();
        } catch (Exception e) { // what JGroups declares
            LOG.debug("{}: giving the port back", self, e);
        }
    }

    private static Thread daemon(Runnable task, String role) {
        Thread thread = new Thread(task, "gorda-transport-" + role);
        thread.setDaemon(true);
        return thread;
    }

    /** What this member cannot do without: it is told when that ends, by an error, too. */
    private Runnable vital(Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (Throwable e) {
                Listener told = listener;
                if (told != null && !closed) {
                    told.onFailure(e);
                }
            }
        };
    }

    private void closeNow(IpAddress to) {
        server.forAllConnections((peer, connection) -> {
            if (to.equals(peer)) {
                closeNow(connection);
            }
        });
    }

    private static void closeNow(Connection connection) {
        try {
            // Not gracefully: that would write to the socket first, and wait if the peer is frozen.
            connection.close(false);
        } catch (IOException e) {
            LOG.debug("closing {}", connection, e);
        }
    }

    /**
     * When there are no more threads JGroups is told by an exception, which costs a connection: an error would end its acceptor. That is vital; who ends of
     * those that receive closes its connection, which is made again.
     */
    private final class Threads extends DefaultThreadFactory {
        Threads() {
            super("gorda-transport", true, true);
        }

        @Override
        public Thread newThread(Runnable task, String name) {
            Runnable told = name.startsWith("TcpServer.Acceptor") ? vital(task) : task;
            Thread thread = new Thread(told, getThreadName(name, null, null)) {
                @Override
                public synchronized void start() {
                    try {
                        super.start();
                    } catch (OutOfMemoryError e) {
                        throw new IllegalStateException("no thread for a connection", e);
                    }
                }
            };
            thread.setDaemon(true);
            return thread;
        }
    }

    /** The way to one member. Thread-safe. */
    private final class Link implements Runnable {
        final MemberId member;
        private final Queue<byte[]> queue = new ArrayDeque<>();
        private final boolean connects;

        /** All that the host's name leads to. */
        private volatile Set<IpAddress> addresses = Set.of();

        /** That of them at which the member is, or is sought. */
        private volatile @Nullable IpAddress address;

        private long queuedBytes;
        private boolean writing;
        private final AtomicLong unansweredBytes = new AtomicLong();
        private volatile long unansweredSinceNanos;
        private volatile long inlineSinceNanos;
        private volatile boolean kept;
        private volatile long partingSinceNanos = System.nanoTime();
        private volatile boolean ended;

        /** Why nothing comes from the member; null while something does, or nothing was tried yet. */
        private volatile @Nullable String unreached;

        /** The link's own thread's. */
        private long connectDueNanos;

        Link(MemberId member) {
            this.member = member;
            this.connects = self.compareTo(member) < 0;
            this.connectDueNanos = System.nanoTime() + (connects ? 0 : CONNECTED_NANOS);
            daemon(vital(this), member.name()).start();
        }

        void keep(boolean keep) {
            if (kept && !keep) {
                partingSinceNanos = System.nanoTime();
            }
            kept = keep;
        }

        boolean hasParted() {
            return !kept && System.nanoTime() - partingSinceNanos > PARTING_NANOS;
        }

        void end() {
            ended = true;
            wake();
            for (IpAddress known : addresses) {
                if (byAddress.remove(known, this)) {
                    closeNow(known);
                }
            }
        }

        /** A host name may not resolve yet, or another process may have its addresses later. */
        void resolve() {
            try {
                Set<IpAddress> found = new LinkedHashSet<>();
                for (InetAddress host : InetAddress.getAllByName(member.host())) {
                    found.add(new IpAddress(host, member.port()));
                }
                found.forEach(
                        next -> byAddress.putIfAbsent(next, this)); // who has it may have lost it by the next time
                Set<IpAddress> before = addresses;
                if (found.equals(before)) {
                    return;
                }
                addresses = found;
                IpAddress known = address;
                if (known == null || !found.contains(known)) {
                    seek(known);
                }
                for (IpAddress lost : before) {
                    if (!found.contains(lost) && byAddress.remove(lost, this)) {
                        closeNow(lost);
                    }
                }
                wake();
            } catch (IOException e) {
                unreached = "the name leads nowhere";
                LOG.debug("{}: {} does not resolve", self, member, e);
            }
        }

        /** At the address that follows one at which it was not found, in turn. */
        private void seek(@Nullable IpAddress failed) {
            List<IpAddress> all = List.copyOf(addresses);
            if (!all.isEmpty()) {
                int next = failed == null ? 0 : all.indexOf(failed) + 1;
                address = all.get(next % all.size());
            }
        }

        /** It has opened a connection from the address that it has bound, which need not be the first that its name leads to here. */
        void found(Connection connection) {
            if (connection.peerAddress() instanceof IpAddress peer) {
                address = peer;
            }
            heard();
        }

        private boolean isConnected() {
            IpAddress known = address;
            return known != null && isHere(known) && server.connectionEstablishedTo(known);
        }

        /** Not that of another member, of which this is another name, nor this process's own. */
        private boolean isHere(IpAddress known) {
            return byAddress.get(known) == this && !known.equals(server.localAddress());
        }

        boolean isConnectedBesides(Connection lost) {
            IpAddress known = address;
            if (known == null) {
                return false;
            }
            boolean[] found = {false};
            server.forAllConnections((peer, connection) ->
                    found[0] |= connection != lost && known.equals(peer) && connection.isConnected());
            return found[0];
        }

        void heard() {
            unansweredBytes.set(0);
            if (unreached != null) {
                unreached = null;
            }
        }

        void send(byte[] frame) {
            if (!isConnected()) {
                return;
            }
            synchronized (this) {
                if (writing || !queue.isEmpty() || unansweredBytes.get() + frame.length > INLINE_BYTES_MAX) {
                    leave(frame);
                    return;
                }
                writing = true;
            }
            inlineSinceNanos = System.nanoTime();
            write(frame);
        }

        /** Leaves a frame to the link's own thread. */
        synchronized void leave(byte[] frame) {
            if (queue.isEmpty() || queuedBytes + frame.length <= QUEUE_BYTES_MAX) {
                queue.add(frame);
                queuedBytes += frame.length;
                notifyAll();
            }
        }

        /** Writes what the caller, having set {@link #writing}, is responsible for. */
        private void write(byte[] frame) {
            try {
                IpAddress known = address;
                if (known != null && isConnected()) {
                    if (unansweredBytes.get() == 0) {
                        unansweredSinceNanos = System.nanoTime();
                    }
                    unansweredBytes.addAndGet(frame.length);
                    server.send(known, frame, 0, frame.length);
                    frames.increment();
                    bytes.add(frame.length);
                }
            } catch (Exception e) { // what JGroups declares
                LOG.debug("{}: sending to {}", self, member, e);
            } finally {
                inlineSinceNanos = 0;
                synchronized (this) {
                    writing = false;
                    if (!queue.isEmpty()) {
                        notifyAll();
                    }
                }
            }
        }

        synchronized void wake() {
            notifyAll();
        }

        /** Connects, and writes what callers left in the queue. */
        @Override
        public void run() {
            while (!closed && !ended) {
                connectIfDue();
                byte[] frame = null;
                synchronized (this) {
                    if (writing || queue.isEmpty()) {
                        try {
                            TimeUnit.NANOSECONDS.timedWait(this, RECONNECT_NANOS);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                    if (!writing && !queue.isEmpty()) {
                        frame = queue.remove();
                        queuedBytes -= frame.length;
                        writing = true;
                    }
                }
                if (frame != null) {
                    write(frame);
                }
            }
        }

        private void connectIfDue() {
            boolean wanted = kept && !isConnected();
            if (!wanted && !connects) {
                connectDueNanos = System.nanoTime() + CONNECTED_NANOS;
            }
            if (wanted && System.nanoTime() - connectDueNanos >= 0) {
                connect();
                connectDueNanos = System.nanoTime() + (connects ? RECONNECT_NANOS : CONNECTED_NANOS);
            }
        }

        private void connect() {
            IpAddress known = address;
            try {
                if (known != null && !isHere(known)) {
                    unreached = known + " is the address of another member";
                    seek(known);
                } else if (known != null) {
                    server.getConnection(known);
                    unansweredBytes.set(0);
                    unreached = "it says nothing, or closes connections at once: its log may tell why";
                }
            } catch (Exception e) { // what JGroups declares
                unreached = String.valueOf(rootOf(e).getMessage());
                LOG.trace("{}: connecting to {} at {}", self, member, known, e);
                seek(known);
            }
        }

        /** Ends a caller's write that blocks, and a connection over which nothing comes back. */
        void check() {
            long now = System.nanoTime();
            long since = inlineSinceNanos;
            boolean blocked = since != 0 && now - since > blockedNanosMax;
            long silentNanos = unansweredBytes.get() == 0 ? 0 : now - unansweredSinceNanos;
            IpAddress known = address;
            if (known == null) {
                return;
            }
            if (blocked || silentNanos > silenceNanosMax) {
                LOG.debug("{}: closing the connection to {}, which does not answer", self, member);
                unansweredBytes.set(0);
                closeNow(known);
            } else if (silentNanos > silenceNanosMax / 3) {
                leave(QUESTION); // what it was sent may want no answer
            }
        }
    }
}
