package org.gorda.jgcs.jgroups;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.MergeView;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member on a JGroups channel. It works while it sees a majority of the members configured. One that was cut off from that majority has
 * missed messages that nobody keeps: it stops when it meets the others again. Thread-safe.
 *
 * <p>Threads: {@code send} connects and sends, so that the channel's back-pressure holds up nobody else; JGroups' own bring what arrives;
 * {@code delivery} calls the listener. What is on its way from here, and what waits for the listener, is bounded in bytes.
 */
final class JGroupsGroup implements Group, DataSession, ControlSession, Receiver {

    private static final Logger LOG = LoggerFactory.getLogger(JGroupsGroup.class);

    /** Incarnation and sequence. */
    private static final int HEADER_BYTES = 2 * Long.BYTES;

    private static final View NOBODY = new View(List.of(), List.of(), Optional.empty(), false);

    private static final long POLL_MILLIS = 100;

    /** What arrives, in its order: a message, or a view if {@code payload} is null. */
    private record Arrival(MessageId id, @Nullable ByteBuffer payload, View view, long viewNumber) {}

    private final GroupConfiguration configuration;
    private final GroupListener listener;
    private final JChannel channel;
    private final long incarnation = System.currentTimeMillis();
    private final Semaphore roomToSend;
    private final Semaphore roomToDeliver;
    private final BlockingQueue<byte[]> outgoing = new LinkedBlockingQueue<>();
    private final BlockingQueue<Arrival> arrived = new LinkedBlockingQueue<>();
    private final Thread sender;
    private final Thread deliverer;

    private long lastSequence;
    private boolean started;
    private volatile View view = NOBODY;
    private volatile long viewNumber;
    private volatile boolean everWorked;
    private volatile @Nullable GroupException stopped;

    JGroupsGroup(GroupConfiguration configuration, Service.Order order, GroupListener listener) {
        this.configuration = configuration;
        this.listener = listener;
        this.roomToSend = new Semaphore(configuration.sendBytesMax());
        this.roomToDeliver = new Semaphore(configuration.sendBytesMax());
        this.channel = JGroupsProtocol.channel(configuration, order);
        channel.setReceiver(this);
        this.sender = thread(this::send, "send");
        this.deliverer = thread(this::deliver, "delivery");
    }

    private Thread thread(Runnable task, String role) {
        Thread thread = new Thread(task, "gorda-" + role + "-" + configuration.self());
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public MemberId self() {
        return configuration.self();
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
        byte[] frame = new byte[HEADER_BYTES + bytes];
        synchronized (this) {
            requireRunning();
            lastSequence++;
            ByteBuffer.wrap(frame).putLong(incarnation).putLong(lastSequence).put(payload.duplicate());
            outgoing.add(frame);
            return new MessageId(self(), incarnation, lastSequence);
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
        return Math.min(HEADER_BYTES + bytes, configuration.sendBytesMax());
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
            while (stopped == null) {
                byte[] frame = outgoing.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
                if (frame != null) {
                    channel.send(new BytesMessage(null, frame));
                }
            }
        } catch (Exception e) { // as JGroups declares
            if (stopped == null) {
                fail("the channel failed: " + e, e);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------ arriving

    @Override
    public void receive(Message message) {
        MemberId from = Channels.memberAt(message.getSrc());
        if (from == null || message.getLength() < HEADER_BYTES) {
            LOG.warn("{}: ignored a message of {} bytes from {}", self(), message.getLength(), message.getSrc());
            return;
        }
        ByteBuffer frame = ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength());
        MessageId id = new MessageId(from, frame.getLong(), frame.getLong());
        ByteBuffer payload = frame.slice().asReadOnlyBuffer();
        int cost = cost(payload.remaining());
        if (id.incarnation() == incarnation && from.equals(self())) {
            roomToSend.release(cost);
        }
        try {
            while (!roomToDeliver.tryAcquire(cost, POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                if (stopped != null) {
                    return;
                }
            }
            arrived.add(new Arrival(id, payload, view, viewNumber));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void viewAccepted(org.jgroups.View accepted) {
        if (accepted instanceof MergeView && everWorked && !view.working()) {
            fail(new GroupException(
                    GroupException.Disposition.STOP,
                    self()
                            + " has stopped: it was cut off from the group, which went on without it, and what it missed is"
                            + " kept nowhere: open it anew"));
            return;
        }
        List<MemberId> members = accepted.getMembers().stream()
                .map(Channels::memberAt)
                .filter(Objects::nonNull)
                .sorted()
                .toList();
        long reached =
                configuration.members().stream().filter(members::contains).count();
        boolean working = 2 * reached > configuration.members().size();
        Optional<MemberId> coordinator = Optional.ofNullable(Channels.memberAt(accepted.getCoord()));
        View next = new View(members, List.of(), coordinator, working);
        viewNumber = accepted.getViewId().getId();
        view = next;
        everWorked |= working;
        arrived.add(new Arrival(new MessageId(self(), 0, 0), null, next, viewNumber));
    }

    private void deliver() {
        long delivered = 0;
        Position last = Position.START;
        try {
            while (stopped == null) {
                Arrival next = arrived.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
                if (next == null) {
                    continue;
                }
                ByteBuffer payload = next.payload();
                if (payload == null) {
                    listener.onView(next.view());
                    continue;
                }
                delivered++;
                last = new Position(GroupId.UNKNOWN, next.viewNumber(), delivered);
                listener.onMessage(new org.gorda.jgcs.Message(last, next.id(), payload));
                roomToDeliver.release(cost(payload.remaining()));
                if (arrived.isEmpty()) {
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
        LOG.error(reason.getMessage());
        // Not on this thread, which may be one of the channel's or the delivery.
        thread(() -> stop(reason), "stop").start();
    }

    private void stop(GroupException reason) {
        synchronized (this) {
            if (stopped != null) {
                return;
            }
            stopped = reason;
        }
        channel.close();
        try {
            if (deliverer != Thread.currentThread()) {
                deliverer.join(TimeUnit.SECONDS.toMillis(10));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        view = NOBODY;
        if (reason.disposition() == GroupException.Disposition.STOP) {
            listener.onStop(reason);
        }
    }
}
