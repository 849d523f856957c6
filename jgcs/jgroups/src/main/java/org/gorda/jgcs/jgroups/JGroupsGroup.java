package org.gorda.jgcs.jgroups;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.gorda.jgcs.ControlSession;
import org.gorda.jgcs.DataSession;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.MessageTooLargeException;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.jgroups.Address;
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.MergeView;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.protocols.NAKACK4;
import org.jgroups.util.Buffer;
import org.jgroups.util.MessageBatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member on a JGroups channel. It works while it sees a majority of the members configured. One that was cut off from that majority, or
 * that the others put out of the group while it stood still, has missed messages that nobody keeps: it stops when it meets the others again, which
 * deliver nothing of it behind what they have not got. Thread-safe.
 *
 * <p>Threads: who multicasts sends, if the channel is not expected to block; else {@code send} does, so that the channel's back-pressure
 * holds up nobody else. It connects, too. JGroups' own threads bring what arrives; {@code delivery} calls the
 * listener. What is on its way from here, and what waits for the listener, is bounded in bytes.
 */
final class JGroupsGroup implements Group, DataSession, ControlSession, Receiver {

    private static final Logger LOG = LoggerFactory.getLogger(JGroupsGroup.class);

    /** What a message costs in memory besides its payload, more or less. */
    private static final int OVERHEAD_BYTES = 16;

    /** Of {@code FRAG4}: JGroups counts fragments, not messages. */
    private static final int FRAGMENT_BYTES = 60_000;

    /** How many own fragments may be on their way for one more to be sent on the caller's thread; {@code UNICAST4} takes 2,048 before it blocks. */
    private static final int UNHINDERED = 512;

    /** After a view {@code SEQUENCER} waits for the answer to each message until it had 10. */
    private static final int SETTLED_AFTER = 64;

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).asReadOnlyBuffer();

    private static final long POLL_MILLIS = 100;

    /** What arrives, in its order: a message, or a view if {@code payload} is null. */
    private record Arrival(MessageId id, @Nullable ByteBuffer payload, int room, View view, long viewNumber) {}

    private final GroupConfiguration configuration;
    private final GroupListener listener;
    private final Service.Order order;
    private final JChannel channel;
    private final NAKACK4 reliableMulticast;
    private final long incarnation = System.currentTimeMillis();
    private final Semaphore roomToSend;
    private final Semaphore roomToDeliver;
    private final BlockingQueue<BytesMessage> outgoing = new LinkedBlockingQueue<>();
    private final Inbox<Arrival> arrived = new Inbox<>();
    private final Thread sender;
    private final Thread deliverer;

    private final Map<Address, MemberId> senders = new ConcurrentHashMap<>();

    /** Guards the order in which messages get their sequence and are sent. */
    private final Object sending = new Object();

    private final AtomicInteger queued = new AtomicInteger();
    private final AtomicInteger fragmentsOnTheirWay = new AtomicInteger();
    private volatile long lastSequence;
    private volatile long settledAt = SETTLED_AFTER;
    private volatile long lastReturned;
    private volatile boolean connected;
    private boolean started;
    private volatile View view = View.NOTHING;
    private volatile long viewNumber;
    private volatile boolean everWorked;
    private volatile @Nullable GroupException stopped;

    JGroupsGroup(GroupConfiguration configuration, Service.Order order, GroupListener listener) {
        this.configuration = configuration;
        this.listener = listener;
        this.roomToSend = new Semaphore(configuration.sendBytesMax());
        this.roomToDeliver = new Semaphore(configuration.sendBytesMax());
        this.order = order;
        SequenceHeader.register();
        this.channel = Channels.create(configuration, order);
        this.reliableMulticast = channel.stack().findProtocol(NAKACK4.class);
        channel.setReceiver(this);
        this.sender = thread(this::send, "send");
        this.deliverer = thread(this::deliver, "delivery", GroupConfiguration.DELIVERY_STACK_BYTES);
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
        return id.incarnation() == incarnation && id.member().equals(self());
    }

    @Override
    public String explanation() {
        GroupException reason = stopped;
        View now = view;
        if (reason != null) {
            return String.valueOf(reason.getMessage());
        }
        return now.working()
                ? "sees " + now.members()
                : "sees " + now.members() + ": a majority of " + configuration.members() + " must be reachable";
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
        return Optional.empty();
    }

    @Override
    public Optional<LogSession> log() {
        return Optional.empty();
    }

    /** For tests, which break it. */
    JChannel channel() {
        return channel;
    }

    // ------------------------------------------------------------------------------------------------------ sending

    @Override
    public MessageId multicast(ByteBuffer payload, Duration wait) {
        int bytes = payload.remaining();
        if (bytes > configuration.messageBytesMax()) {
            throw new MessageTooLargeException(bytes, configuration.messageBytesMax());
        }
        long end = System.nanoTime() + wait.toNanos();
        while (!view.working() && stopped == null && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        requireRunning();
        if (!view.working() || !acquire(cost(bytes), end)) {
            throw new GroupException(
                    GroupException.Disposition.RETRY,
                    "no room to send " + bytes + " bytes within " + wait.toMillis() + " ms at " + self() + ", which "
                            + explanation());
        }
        BytesMessage message = message(payload);
        synchronized (sending) {
            requireRunning();
            long sequence = lastSequence + 1;
            lastSequence = sequence;
            SequenceHeader.put(message, incarnation, sequence);
            boolean unhindered = isUnhindered();
            fragmentsOnTheirWay.addAndGet(fragments(bytes));
            if (unhindered) {
                sendNow(message);
            } else {
                queued.incrementAndGet();
                outgoing.add(message);
            }
            return new MessageId(self(), incarnation, sequence);
        }
    }

    /** The payload is not copied: it is not changed any more. */
    private static BytesMessage message(ByteBuffer payload) {
        if (payload.hasArray()) {
            return new BytesMessage(
                    null, payload.array(), payload.arrayOffset() + payload.position(), payload.remaining());
        }
        byte[] bytes = new byte[payload.remaining()];
        payload.duplicate().get(bytes);
        return new BytesMessage(null, bytes);
    }

    private static int fragments(int bytes) {
        return 1 + bytes / FRAGMENT_BYTES;
    }

    /**
     * Whether a message can be sent on the caller's thread: none waits to be sent before it, and the channel will hardly block. It blocks when it
     * is not connected, when too much is on its way unanswered, and while another member takes over to order messages.
     */
    private boolean isUnhindered() {
        // The delivery must not wait for the channel in any case: JGroups' threads wait for its room.
        if (Thread.currentThread() == deliverer
                || !connected
                || queued.get() > 0
                || fragmentsOnTheirWay.get() >= UNHINDERED) {
            return false;
        }
        if (order == Service.Order.TOTAL) {
            return lastReturned >= settledAt;
        }
        Buffer<org.jgroups.Message> unanswered = reliableMulticast.getBuf(channel.getAddress());
        return unanswered != null && unanswered.high() - unanswered.low() < unanswered.capacity() / 2;
    }

    private void sendNow(BytesMessage message) {
        try {
            channel.send(message);
        } catch (Exception e) { // as JGroups declares
            if (stopped == null) {
                fail("the channel failed: " + e, e);
            }
        }
    }

    private void requireRunning() {
        GroupException reason = stopped;
        if (reason != null) {
            throw new GroupException(GroupException.Disposition.RECONNECT, String.valueOf(reason.getMessage()), reason);
        }
    }

    /** The largest message must fit alone. */
    private int cost(int bytes) {
        return Math.min(OVERHEAD_BYTES + bytes, configuration.sendBytesMax());
    }

    /** An interrupt is kept for later. */
    private boolean acquire(int bytes, long endNanos) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return roomToSend.tryAcquire(bytes, endNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void send() {
        try {
            channel.connect(configuration.group());
            connected = true;
            while (stopped == null) {
                BytesMessage message = outgoing.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
                if (message != null) {
                    channel.send(message);
                    queued.decrementAndGet();
                }
            }
        } catch (Exception | Error e) { // the first as JGroups declares
            if (stopped == null) {
                fail("the channel failed: " + e, e);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------ arriving

    @Override
    public void receive(Message message) {
        List<Arrival> one = new ArrayList<>(1);
        receive(message, one);
        arrived.put(one);
    }

    @Override
    public void receive(MessageBatch batch) {
        List<Arrival> all = new ArrayList<>(batch.size());
        for (Message message : batch) {
            receive(message, all);
        }
        arrived.put(all);
    }

    private void receive(Message message, List<Arrival> gathered) {
        MemberId from = sender(message.getSrc());
        SequenceHeader header = SequenceHeader.of(message);
        if (from == null || header == null) {
            LOG.warn("{}: ignored a message of {} bytes from {}", self(), message.getLength(), message.getSrc());
            return;
        }
        MessageId id = new MessageId(from, header.incarnation(), header.sequence());
        ByteBuffer payload = message.hasArray()
                ? ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength())
                        .slice()
                        .asReadOnlyBuffer()
                : NOTHING;
        int cost = cost(payload.remaining());
        if (isOwn(id)) {
            fragmentsOnTheirWay.addAndGet(-fragments(payload.remaining()));
            lastReturned = id.sequence();
            roomToSend.release(cost);
        }
        try {
            if (acquireRoomToDeliver(cost, gathered)) {
                gathered.add(new Arrival(id, payload, cost, view, viewNumber));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private @Nullable MemberId sender(Address address) {
        MemberId known = senders.get(address);
        if (known != null) {
            return known;
        }
        MemberId found = Channels.memberAt(address);
        if (found != null && channel.getView().containsMember(address)) {
            senders.put(address, found);
        }
        return found;
    }

    /** Who waits puts down first what it has gathered, which holds room itself. False if this member has stopped. */
    private boolean acquireRoomToDeliver(int cost, List<Arrival> gathered) throws InterruptedException {
        if (roomToDeliver.tryAcquire(cost)) {
            return true;
        }
        arrived.put(gathered);
        gathered.clear();
        while (!roomToDeliver.tryAcquire(cost, POLL_MILLIS, TimeUnit.MILLISECONDS)) {
            if (stopped != null) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void viewAccepted(org.jgroups.View accepted) {
        if (accepted instanceof MergeView merged && everWorked && (!view.working() || wasPutOut(merged))) {
            failMissed();
            return;
        }
        List<MemberId> members = members(accepted);
        boolean working = isMajority(members);
        Optional<MemberId> coordinator = Optional.ofNullable(Channels.memberAt(accepted.getCoord()));
        View next = new View(members, List.of(), coordinator, working, 0);
        senders.keySet().retainAll(accepted.getMembers());
        settledAt = lastSequence + SETTLED_AFTER;
        viewNumber = accepted.getViewId().getId();
        view = next;
        everWorked |= working;
        arrived.put(List.of(new Arrival(new MessageId(self(), 0, 0), null, 0, next, viewNumber)));
    }

    private void failMissed() {
        fail(new GroupException(
                GroupException.Disposition.STOP,
                self()
                        + " has stopped: it was cut off from the group, or stood still, and the group went on without it;"
                        + " what it missed is kept nowhere: open it anew"));
    }

    /** Whether a majority has had a view without this member since its own; to be put out and taken in again makes two. */
    private boolean wasPutOut(MergeView merged) {
        for (org.jgroups.View part : merged.getSubgroups()) {
            int views = part.containsMember(channel.getAddress()) ? 2 : 1;
            if (isMajority(members(part)) && part.getViewId().getId() >= viewNumber + views) {
                return true;
            }
        }
        return false;
    }

    private static List<MemberId> members(org.jgroups.View view) {
        return view.getMembers().stream()
                .map(Channels::memberAt)
                .filter(Objects::nonNull)
                .sorted()
                .toList();
    }

    private boolean isMajority(List<MemberId> members) {
        long reached =
                configuration.members().stream().filter(members::contains).count();
        return 2 * reached > configuration.members().size();
    }

    private void deliver() {
        Senders heard = new Senders();
        long delivered = 0;
        long ownDelivered = 0;
        long newestView = 0;
        Position last = Position.START;
        List<Arrival> together = new ArrayList<>();
        try {
            while (stopped == null) {
                together = arrived.takeAll(together, POLL_MILLIS);
                long before = delivered;
                for (Arrival next : together) {
                    if (stopped != null) {
                        return;
                    }
                    ByteBuffer payload = next.payload();
                    if (payload == null) {
                        heard.see(next.view());
                        listener.onView(next.view());
                        continue;
                    }
                    if (isOwn(next.id()) && next.id().sequence() > ownDelivered + 1) {
                        failMissed(); // what it sent while it was out is lost, and the view that tells so on its way
                        return;
                    }
                    if (!heard.take(next.id())) {
                        LOG.warn(
                                "{}: ignored {}: messages of its sender are missing before it, or were after it",
                                self(),
                                next.id());
                        roomToDeliver.release(next.room());
                        continue;
                    }
                    delivered++;
                    ownDelivered = isOwn(next.id()) ? next.id().sequence() : ownDelivered;
                    // Of two threads that bring them the one with the newer view may be the first.
                    newestView = Math.max(newestView, next.viewNumber());
                    last = new Position(GroupId.UNKNOWN, newestView, delivered);
                    listener.onMessage(new org.gorda.jgcs.Message(last, next.id(), payload));
                    roomToDeliver.release(next.room());
                }
                together.clear();
                if (delivered > before && arrived.isEmpty()) {
                    listener.onCaughtUp(last);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Throwable e) { // a message that could not be processed must not be skipped
            fail("what was delivered could not be processed: " + e, e);
        }
    }

    // ----------------------------------------------------------------------------------------------- join and leave

    /**
     * Starts to take part.
     *
     * @param after must be {@link Position#START}: nothing earlier is kept
     */
    @Override
    public synchronized void join(Position after) {
        requireRunning();
        if (!after.equals(Position.START)) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "protocol jgroups keeps no log: join with Position.START instead of " + after);
        }
        if (!started) {
            started = true;
            sender.start();
            deliverer.start();
        }
    }

    @Override
    public void leave() {
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " has left the group"));
    }

    @Override
    public void close() {
        leave();
    }

    private void fail(String why, Throwable cause) {
        fail(new GroupException(GroupException.Disposition.STOP, self() + " has stopped: " + why, cause));
    }

    private void fail(GroupException reason) {
        // At once, before the channel brings what lies behind that for which this member stops.
        if (halt(reason)) {
            LOG.error(reason.getMessage());
            // Not on this thread, which may be one of the channel's or the delivery.
            thread(() -> end(reason), "stop").start();
        }
    }

    private void stop(GroupException reason) {
        if (halt(reason)) {
            end(reason);
        }
    }

    /** Nothing more is sent or delivered; false if that was so before. */
    private synchronized boolean halt(GroupException reason) {
        if (stopped != null) {
            return false;
        }
        stopped = reason;
        return true;
    }

    private void end(GroupException reason) {
        channel.close();
        try {
            if (deliverer != Thread.currentThread()) {
                deliverer.join(TimeUnit.SECONDS.toMillis(10));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        view = View.NOTHING;
        if (reason.disposition() == GroupException.Disposition.STOP) {
            listener.onStop(reason);
        }
    }
}
