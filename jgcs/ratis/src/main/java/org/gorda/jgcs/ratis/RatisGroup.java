package org.gorda.jgcs.ratis;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.gorda.jgcs.ControlSession;
import org.gorda.jgcs.DataSession;
import org.gorda.jgcs.DirectSession;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.MessageTooLargeException;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One member: the public sessions around {@link Ratis}, and its threads. {@code ticker} looks at the view, finds out who forms the group, and, while
 * this member leads, takes in who wants or has to be taken in; {@code delivery} calls the listener; {@code change} waits for changes of the
 * membership.
 */
final class RatisGroup
        implements Group,
                DataSession,
                ControlSession,
                MembershipSession,
                LogSession,
                DirectSession,
                OrderedLog.Host,
                Peers.Host {

    private static final Logger LOG = LoggerFactory.getLogger(RatisGroup.class);
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int CHANGES_MAX = 16;

    /** After so many election timeouts nobody is at it any more who has given a priority to hand over leadership. */
    private static final int HAND_OVER_TIMEOUTS = 10;

    private final GroupConfiguration configuration;
    private final GroupListener listener;
    private final Path identityFile;
    private final OrderedLog order;
    private final Peers peers;
    private final Ratis ratis;
    private final Outbox outbox;
    private final Delivery delivery;
    private final ThreadPoolExecutor changes;
    private final Thread ticker;
    private final Thread deliverer;
    private final Map<MemberId, Peers.Hello> heard = new ConcurrentHashMap<>();
    private final AtomicBoolean admits = new AtomicBoolean();

    private volatile Identity identity;
    private volatile View view = View.NOTHING;
    private volatile boolean viewTold = true;
    private volatile boolean sendsAgain;
    private volatile boolean broken;
    private volatile boolean belongs;
    private volatile boolean delivererWaits;
    private volatile @Nullable GroupException stopped;
    private boolean started;
    private boolean connected;
    private long askedNanos;
    private long sentAgainNanos;
    private long evenNanos;

    RatisGroup(GroupConfiguration configuration, Optional<ServerInterceptor> interceptor, GroupListener listener) {
        this.configuration = configuration;
        this.listener = listener;
        this.identityFile = configuration.directory().resolve("identity");
        try {
            this.identity = openIdentity();
            this.order = new OrderedLog(Ratis.segmentBytes(configuration) / 2, this);
            this.peers = new Peers(configuration, Ratis.frameBytesMax(configuration), interceptor, this);
            this.ratis = new Ratis(configuration, identity, order, peers);
        } catch (IOException e) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "the directory " + configuration.directory() + " cannot be used: " + e,
                    e);
        }
        this.outbox = new Outbox(configuration.sendBytesMax(), this::transmit);
        this.delivery = new Delivery(order, ratis, this::isOwn, outbox::delivered);
        this.changes = new ThreadPoolExecutor(
                1, 1, 1, TimeUnit.SECONDS, new ArrayBlockingQueue<>(CHANGES_MAX), task -> thread(task, "change"));
        this.ticker = thread(this::tick, "ticker");
        this.deliverer = thread(this::deliver, "delivery", GroupConfiguration.DELIVERY_STACK_BYTES);
    }

    private Identity openIdentity() throws IOException {
        Files.createDirectories(configuration.directory());
        Identity found = Files.exists(identityFile)
                ? Identity.load(identityFile)
                : new Identity(
                        configuration.group(),
                        configuration.self(),
                        RANDOM.nextLong(),
                        0,
                        org.gorda.jgcs.GroupId.UNKNOWN,
                        Map.of(),
                        false);
        if (!found.group().equals(configuration.group()) || !found.member().equals(configuration.self())) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    configuration.directory() + " belongs to member " + found.member() + " of group " + found.group()
                            + ", not to " + configuration.self() + " of " + configuration.group());
        }
        Identity run = found.nextRun(System.currentTimeMillis());
        run.save(identityFile);
        return run;
    }

    private Thread thread(Runnable task, String role) {
        return thread(task, role, 0);
    }

    /** @param stackBytes 0 for what the platform gives */
    private Thread thread(Runnable task, String role, long stackBytes) {
        Thread thread = new Thread(null, task, "gorda-" + role + "-" + configuration.self(), stackBytes);
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public MemberId self() {
        return configuration.self();
    }

    @Override
    public boolean isOwn(MessageId id) {
        return id.incarnation() == identity.incarnation() && id.member().equals(self());
    }

    @Override
    public String explanation() {
        GroupException reason = stopped;
        if (reason != null) {
            return String.valueOf(reason.getMessage());
        }
        if (!ratis.isOpen()) {
            Set<MemberId> silent = new HashSet<>(configuration.members());
            silent.remove(self());
            silent.removeAll(heard.keySet());
            return "looks for its group: " + silent
                    + " did not answer, and all members must be there when it is formed";
        }
        View now = view;
        if (!now.working()) {
            return ratis.lacks();
        }
        return now.members().contains(self()) ? "works" : "waits to be taken in by " + now.members();
    }

    @Override
    public DataSession data() {
        return this;
    }

    @Override
    public ControlSession control() {
        return this;
    }

    @Override
    public Optional<MembershipSession> membership() {
        return Optional.of(this);
    }

    @Override
    public Optional<LogSession> log() {
        return Optional.of(this);
    }

    @Override
    public Optional<DirectSession> direct() {
        return Optional.of(this);
    }

    // -------------------------------------------------------------------------------------------------------- send

    @Override
    public MessageId multicast(ByteBuffer payload, Duration wait) {
        requireSize(payload);
        long sequence = outbox.offer(payload, wait.toNanos());
        if (sequence == 0) {
            throw new GroupException(
                    GroupException.Disposition.RETRY,
                    "no room to send " + payload.remaining() + " bytes within " + wait.toMillis() + " ms at " + self()
                            + ": "
                            + (view.working() ? "the group orders more slowly than this member sends" : explanation()));
        }
        return new MessageId(self(), identity.incarnation(), sequence);
    }

    private void requireSize(ByteBuffer payload) {
        if (payload.remaining() > configuration.messageBytesMax()) {
            throw new MessageTooLargeException(payload.remaining(), configuration.messageBytesMax());
        }
    }

    /** Called by the outbox, one message after the other. */
    @SuppressWarnings("FutureReturnValueIgnored") // what fails is sent again
    private void transmit(long sequence, ByteBuffer payload) {
        MessageId id = new MessageId(self(), identity.incarnation(), sequence);
        ratis.send(new Envelope(Envelope.Kind.MESSAGE, id, payload).encode()).whenComplete((reply, failure) -> {
            if (failure != null || isEarly(reply)) {
                sendsAgain = true;
            }
        });
    }

    private static boolean isEarly(RaftClientReply reply) {
        return reply.getMessage().getContent().toStringUtf8().equals(Ledger.Verdict.EARLY.name());
    }

    @Override
    public void send(MemberId to, ByteBuffer payload) {
        requireSize(payload);
        if (stopped == null) {
            peers.direct(to, payload);
        }
    }

    // ----------------------------------------------------------------------------------------------- join and leave

    @Override
    public synchronized void join(Position after) {
        GroupException reason = stopped;
        if (reason != null) {
            throw reason;
        }
        delivery.join(after);
        if (started) {
            decided();
            return;
        }
        started = true;
        try {
            ratis.start();
            if (identity.history().isKnown()) {
                open();
            }
        } catch (IOException e) {
            close();
            throw new GroupException(
                    GroupException.Disposition.STOP,
                    "the log in " + configuration.directory() + " cannot be used (" + e
                            + "): delete the whole directory, and " + self() + " will be taken in anew",
                    e);
        } catch (RuntimeException e) {
            close();
            throw e;
        }
        ticker.start();
        deliverer.start();
    }

    private void open() throws IOException {
        ratis.open(identity);
        identity = identity.withLog();
        identity.save(identityFile);
        belongs = ratis.contains(self(), identity.admission());
    }

    @Override
    public void leave() {
        if (started && stopped == null && view.isLeader(self())) {
            handOver();
        }
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " has left the group"));
    }

    /** Asks one of the others, but does not hold up the leaving for long. */
    private void handOver() {
        for (MemberId candidate : view.members()) {
            if (!candidate.equals(self())) {
                try {
                    transferLeadership(candidate)
                            .get(2 * configuration.electionTimeout().toMillis(), TimeUnit.MILLISECONDS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } catch (ExecutionException | TimeoutException e) {
                    LOG.debug("{}: {} did not take over", self(), candidate, e);
                }
                return;
            }
        }
    }

    @Override
    public void close() {
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " was closed"));
    }

    private void fail(String why, Throwable cause) {
        GroupException reason =
                new GroupException(GroupException.Disposition.STOP, self() + " has stopped because " + why, cause);
        if (stopped == null) {
            LOG.error(reason.getMessage(), cause);
            thread(() -> stop(reason), "stop").start(); // this one may be Ratis's own, or the delivery
        }
    }

    private void stop(GroupException reason) {
        synchronized (this) {
            if (stopped != null) {
                return;
            }
            stopped = reason;
        }
        outbox.close(reason);
        peers.close();
        changes.shutdownNow();
        try {
            ratis.close();
        } catch (IOException e) {
            LOG.warn("{}: Ratis did not close in order", self(), e);
        }
        LockSupport.unpark(ticker);
        LockSupport.unpark(deliverer);
        boolean tickerInterrupted = await(ticker);
        boolean interrupted = await(deliverer) || tickerInterrupted;
        view = view.withoutLeader();
        if (reason.disposition() == GroupException.Disposition.STOP) {
            listener.onStop(reason);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean await(Thread thread) {
        try {
            if (thread != Thread.currentThread()) {
                thread.join(10_000);
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** For tests, which break it. */
    RaftLog raftLog() {
        return ratis.log();
    }

    // ------------------------------------------------------------------------------------------------------- threads

    private void tick() {
        try {
            while (stopped == null) {
                LockSupport.parkNanos(TICK_NANOS);
                if (!ratis.isOpen()) {
                    find();
                } else {
                    look();
                }
            }
        } catch (IOException | RuntimeException | Error e) {
            if (stopped == null) {
                fail("an invariant is broken: " + e, e);
            }
        }
    }

    private boolean isTimeToAsk() {
        boolean time =
                System.nanoTime() - askedNanos > configuration.electionTimeout().toNanos() / 4;
        askedNanos = time ? System.nanoTime() : askedNanos;
        return time;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // who did not answer is asked again
    private void ask(MemberId other) {
        peers.hello(other).thenAccept(hello -> heard.put(other, hello));
    }

    /** Finds out of which history this member is a part: of one that another knows, or of the one that all of them form now. */
    private void find() throws IOException {
        if (isTimeToAsk()) {
            for (MemberId other : configuration.members()) {
                if (!other.equals(self())) {
                    ask(other);
                }
            }
        }
        Map<MemberId, Long> founders = new HashMap<>();
        founders.put(self(), identity.admission());
        for (Peers.Hello hello : heard.values()) {
            if (hello.history().isKnown()) {
                join(identity.partOf(hello.history(), hello.founders()));
                return;
            }
            founders.put(hello.member(), hello.admission());
        }
        if (founders.keySet().equals(Set.copyOf(configuration.members()))) {
            join(identity.partOf(Identity.formedBy(configuration.group(), founders), founders));
        }
    }

    private void join(Identity known) throws IOException {
        known.save(identityFile);
        identity = known;
        open();
    }

    private void look() throws IOException {
        if (!ratis.isAlive()) {
            fail("Ratis has stopped: it was removed from the group, or Ratis's own messages tell why", notAlive());
            return;
        }
        View next = ratis.view(order.ledger().wanted());
        if (!next.equals(view)) {
            view = next;
            viewTold = false;
            wakeDeliverer();
        }
        Ledger.Last last = order.ledger().last(self());
        if (last.incarnation() > identity.incarnation()) {
            if (connected) {
                fail("another run of it, " + last.incarnation() + ", has taken its place", notAlive());
                return;
            }
            beginAfter(last.incarnation());
        }
        boolean again = sendsAgain && System.nanoTime() - sentAgainNanos > 5 * TICK_NANOS;
        // Who works knows of all its earlier runs.
        if (((!connected && next.working()) || again) && ratis.connect()) {
            connected = true;
            sendsAgain = false;
            sentAgainNanos = System.nanoTime();
            outbox.sendAfter(ownSequence());
        }
        if (ratis.leads() && isTimeToAsk()) {
            admitOthers(next);
        }
        takePriorityBack();
    }

    /** Whoever stopped or died while it handed over leadership has left one behind, for which each start of who has it would change the leader. */
    @SuppressWarnings("FutureReturnValueIgnored") // what fails is tried again
    private void takePriorityBack() {
        long now = System.nanoTime();
        if (!ratis.leads() || !ratis.isUneven()) {
            evenNanos = now;
        } else if (now - evenNanos
                > HAND_OVER_TIMEOUTS * configuration.electionTimeout().toNanos()) {
            evenNanos = now;
            change(() -> ratis.prioritize(null));
        }
    }

    /** There was a run that this directory does not know of, by a clock that was ahead of this one. */
    private void beginAfter(long earlier) throws IOException {
        Identity later = identity.nextRun(earlier + 1);
        later.save(identityFile);
        identity = later;
    }

    private static IllegalStateException notAlive() {
        return new IllegalStateException("this member does not take part any more");
    }

    /** The last own message that is in the order. */
    private long ownSequence() {
        Ledger.Last last = order.ledger().last(self());
        return last.incarnation() == identity.incarnation() ? last.sequence() : 0;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // what fails is tried again
    private void admit(MemberId member, Peers.Hello hello) {
        boolean stranger = hello.history().equals(identity.history()) && !ratis.contains(member, hello.admission());
        if (stranger && ratis.leads() && admits.compareAndSet(false, true)) {
            change(() -> ratis.admit(member, hello.admission())).whenComplete((done, failure) -> admits.set(false));
        }
    }

    /** Who is to be taken in, and whoever has another directory than the one it was taken in with. */
    @SuppressWarnings("FutureReturnValueIgnored") // who did not answer is asked again
    private void admitOthers(View now) {
        Set<MemberId> all = new HashSet<>(now.members());
        all.addAll(now.learners());
        all.remove(self());
        for (MemberId member : all) {
            peers.hello(member).thenAccept(hello -> admit(member, hello));
        }
    }

    private void deliver() {
        try {
            while (stopped == null) {
                if (!viewTold) {
                    viewTold = true;
                    listener.onView(view);
                } else if (delivery.hasWork()) {
                    if (delivery.deliver(listener)) {
                        outbox.delivered(ownSequence());
                    }
                } else {
                    delivererWaits = true;
                    if (stopped == null && viewTold && !delivery.hasWork()) {
                        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
                    }
                    delivererWaits = false;
                }
            }
        } catch (Throwable e) { // a message that could not be processed must not be skipped
            if (stopped == null) {
                fail("what was delivered could not be processed: " + e, e);
            }
        }
    }

    private void wakeDeliverer() {
        if (delivererWaits) {
            LockSupport.unpark(deliverer);
        }
    }

    // ------------------------------------------------------------------------------------------- what others tell

    @Override
    public void decided() {
        wakeDeliverer();
    }

    @Override
    public void reconfigured(RaftConfigurationProto next) {
        RaftPeerId own = Peers.peerId(self(), identity.admission());
        boolean in = next.getPeersList().stream()
                        .anyMatch(peer -> RaftPeerId.valueOf(peer.getId()).equals(own))
                || next.getOldPeersList().stream()
                        .anyMatch(peer -> RaftPeerId.valueOf(peer.getId()).equals(own));
        // After a restart the old ones come first: the newest that is known tells.
        if (belongs && !in && ratis.isOpen() && !ratis.contains(self(), identity.admission())) {
            fail("it was removed from the group: delete its directory before it is added again", notAlive());
        }
        belongs |= in;
    }

    @Override
    public void broken(Throwable cause) {
        broken = true;
        fail(
                "the disk of " + configuration.directory() + " failed, or an entry cannot be understood (" + cause
                        + "): mend it, then start this member again",
                cause);
    }

    @Override
    public boolean isBroken() {
        return broken;
    }

    @Override
    public boolean isOpen() {
        return ratis.isOpen();
    }

    @Override
    public Peers.Hello hello() {
        Identity now = identity;
        return new Peers.Hello(now.member(), now.admission(), now.history(), now.founders());
    }

    @Override
    public void direct(MemberId from, ByteBuffer payload) {
        listener.onDirect(from, payload);
    }

    // --------------------------------------------------------------------------------------------------- membership

    /** What waits for Ratis. */
    @FunctionalInterface
    private interface Change {
        void make() throws IOException;
    }

    private CompletableFuture<View> change(Change change) {
        try {
            return CompletableFuture.runAsync(
                            () -> {
                                try {
                                    change.make();
                                } catch (IOException e) {
                                    throw new CompletionException(e);
                                }
                            },
                            changes)
                    .handle((done, failure) -> {
                        if (failure != null) {
                            throw notNow("the change of the membership could not be made now", failure);
                        }
                        return ratis.view(order.ledger().wanted());
                    });
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(notNow("too many changes wait at " + self(), e));
        }
    }

    private static GroupException notNow(String what, Throwable cause) {
        Throwable root = cause instanceof CompletionException && cause.getCause() != null ? cause.getCause() : cause;
        return new GroupException(GroupException.Disposition.RETRY, what + ": " + root, root);
    }

    /** Puts into the order who is to be taken in. */
    private CompletableFuture<View> want(MemberId member, Envelope.Kind kind) {
        return ordered(kind, member.name(), kind + " " + member)
                .thenApply(reply -> ratis.view(order.ledger().wanted()));
    }

    private CompletableFuture<RaftClientReply> ordered(Envelope.Kind kind, String text, String what) {
        MessageId id = new MessageId(self(), identity.incarnation(), 0);
        ByteBuffer payload = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        try {
            return ratis.trySend(new Envelope(kind, id, payload).encode())
                    .orTimeout(3 * configuration.electionTimeout().toMillis(), TimeUnit.MILLISECONDS)
                    .handle((reply, failure) -> {
                        if (failure != null || !reply.isSuccess()) {
                            Throwable cause = failure != null ? failure : reply.getException();
                            throw notNow(what + " could not be done now (" + explanation() + ")", cause);
                        }
                        return reply;
                    });
        } catch (GroupException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Override
    public CompletableFuture<View> add(MemberId member) {
        return want(member, Envelope.Kind.ADD);
    }

    @Override
    public CompletableFuture<View> remove(MemberId member) {
        if (view.members().equals(List.of(member))) {
            return CompletableFuture.failedFuture(new GroupException(
                    GroupException.Disposition.CORRECT, member + " is the only member: nobody would be left"));
        }
        return want(member, Envelope.Kind.REMOVE).thenCompose(removed -> change(() -> ratis.remove(member)));
    }

    @Override
    public CompletableFuture<View> transferLeadership(MemberId successor) {
        if (!view.members().contains(successor)) {
            return CompletableFuture.failedFuture(new GroupException(
                    GroupException.Disposition.CORRECT, successor + " is none of the members " + view.members()));
        }
        return change(() -> ratis.transfer(successor));
    }

    @Override
    public View view() {
        return view;
    }

    // ------------------------------------------------------------------------------------------------------- the log

    @Override
    public Position firstHeld() {
        return order.firstHeld();
    }

    @Override
    public Position lastCommitted() {
        return order.decided();
    }

    /**
     * Not what Ratis does.
     *
     * @throws GroupException if it is asked for
     */
    @Override
    public void deliverAhead(boolean ahead) {
        if (ahead) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "ratis delivers nothing before a majority has it: use raft, or another protocol of replication");
        }
    }

    @Override
    public Message at(long index) {
        return delivery.at(index);
    }

    /** Ratis has done that before it acknowledged. */
    @Override
    public void force() {}

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // told in the log
    public void release(Position position) {
        if (order.release(Math.min(position.index(), delivery.deliveredIndex()))) {
            try {
                ratis.snapshot().whenComplete((reply, failure) -> {
                    if (failure != null) {
                        LOG.warn("{}: the log could not be cut at {}", self(), position, failure);
                    }
                });
            } catch (IOException e) {
                LOG.warn("{}: the log could not be cut at {}", self(), position, e);
            }
        }
    }

    /**
     * Puts an entry into the order: a leader of Ratis 3.3 that has once asked a majority at an index answers for that index without asking again, even
     * if there is another leader since.
     */
    @Override
    public CompletableFuture<Position> readPosition() {
        return ordered(Envelope.Kind.PLACE, "", "a strong read")
                .thenApply(reply -> order.position(0, reply.getLogIndex()));
    }
}
