package org.gorda.jgcs.simulated;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
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
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.RaftCore;
import org.gorda.jgcs.raft.member.Delivery;
import org.gorda.jgcs.raft.member.Incarnations;
import org.gorda.jgcs.raft.member.Member;
import org.gorda.jgcs.raft.member.Outbox;
import org.gorda.jgcs.raft.member.Question;
import org.gorda.jgcs.raft.member.Storage;
import org.jspecify.annotations.Nullable;

/**
 * The shell around a {@link Member} in virtual time, as {@code RaftGroup} is in real time. A call that waits lets virtual time
 * pass. Confined to one thread.
 */
public final class SimulatedGroup
        implements Group,
                DataSession,
                ControlSession,
                MembershipSession,
                LogSession,
                DirectSession,
                Member.Host,
                SimulatedNetwork.Node {

    private final Simulation simulation;
    private final SimulatedNetwork network;
    private final GroupConfiguration configuration;
    private final GroupListener listener;
    private final Storage storage;
    private final Outbox outbox;
    private final Member member;
    private final Delivery delivery;
    private final SplittableRandom random;
    private final long tickNanos;
    private final Map<Long, CompletableFuture<Long>> asked = new HashMap<>();

    private View view = View.NOTHING;
    private @Nullable GroupException stopped;
    private boolean started;
    private long aheadNanos;
    private boolean inside;
    private boolean flushDue;
    private boolean deliveryDue;
    private boolean stalled;
    private boolean viewDue;
    private boolean paused;
    private long releasedIndex;

    /** Begins anywhere, as in {@code RaftGroup}: a late answer may be to an earlier run of this member. */
    private long lastAsked;

    SimulatedGroup(
            Simulation simulation,
            SimulatedNetwork network,
            SimulatedDisk disk,
            GroupConfiguration configuration,
            GroupListener listener) {
        this.simulation = simulation;
        this.network = network;
        this.configuration = configuration;
        this.listener = listener;
        this.storage = disk.mount(configuration.durability() == Service.Durability.SYNCED);
        this.outbox = new Outbox(configuration.sendBytesMax());
        this.random = simulation.random("group " + configuration.self() + simulation.now());
        this.lastAsked = simulation
                        .random("asked " + configuration.self() + simulation.now())
                        .nextLong()
                >>> 2;
        this.member = new Member(configuration, storage, outbox, random::nextLong, this);
        this.delivery = new Delivery(storage, member, outbox);
        this.tickNanos = configuration.electionTimeout().toNanos() / 50;
    }

    /** Runs something of the member; what it throws stops the member. */
    private void enter(Runnable event) {
        if (stopped != null) {
            return;
        }
        try {
            event.run();
            flushDue = true;
            if (!inside) {
                inside = true;
                try {
                    // The event may have stopped the member, by an event of its own.
                    while (flushDue && stopped == null) {
                        flushDue = false;
                        member.flush(simulation.now());
                    }
                } finally {
                    inside = false;
                }
            }
        } catch (CorruptEntryException e) {
            simulation.broken(self() + " got a corrupt frame: " + e.getMessage());
        } catch (RuntimeException | AssertionError e) {
            fail(e);
        }
    }

    private void fail(Throwable cause) {
        if (!(cause instanceof java.io.UncheckedIOException) && !(cause instanceof ExpectedFailure)) {
            java.io.StringWriter trace = new java.io.StringWriter();
            cause.printStackTrace(new java.io.PrintWriter(trace));
            simulation.broken(self() + " stops: " + trace);
        }
        stop(new GroupException(GroupException.Disposition.STOP, self() + " has stopped: " + cause, cause));
        listener.onStop(java.util.Objects.requireNonNull(stopped));
    }

    /** A failure that a test means to happen: the member stops, but nothing is broken. */
    public static final class ExpectedFailure extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public ExpectedFailure(String message) {
            super(message);
        }
    }

    private void stop(GroupException reason) {
        if (stopped == null) {
            stopped = reason;
            outbox.close(reason);
            network.detach(self());
            asked.values().forEach(waiting -> waiting.completeExceptionally(reason));
            view = view.withoutLeader();
        }
    }

    /** The process is killed: nothing more happens in it. */
    public void kill() {
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " was killed"));
    }

    /** The process is stopped, its connections stay open; or it goes on. */
    public void pause(boolean value) {
        paused = value;
        if (!paused) {
            scheduleDelivery();
        }
    }

    /** The listener takes no messages for a while; or it does again. */
    public void stall(boolean value) {
        stalled = value;
        scheduleDelivery();
    }

    /** Why this member has stopped, if it has. */
    public Optional<GroupException> stopped() {
        return Optional.ofNullable(stopped);
    }

    /** The protocol's state, for checks. */
    public RaftCore core() {
        return member.core();
    }

    /** Whether every message sent was delivered here, or passed over. */
    public boolean isConfirmed() {
        return outbox.isEmpty();
    }

    @Override
    public long shownIndex() {
        return delivery.shownIndex();
    }

    public long deliveredIndex() {
        return delivery.deliveredIndex();
    }

    // ---------------------------------------------------------------------------------------------------- sessions

    @Override
    public MemberId self() {
        return configuration.self();
    }

    @Override
    public boolean isOwn(MessageId id) {
        return member.isOwn(id);
    }

    @Override
    public String explanation() {
        return member.core().explain();
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

    @Override
    public void send(MemberId to, ByteBuffer payload) {
        if (payload.remaining() > configuration.messageBytesMax()) {
            throw new MessageTooLargeException(payload.remaining(), configuration.messageBytesMax());
        }
        if (stopped == null) {
            send(to, member.direct(payload));
        }
    }

    @Override
    public void direct(MemberId from, ByteBuffer payload) {
        listener.onDirect(from, payload);
    }

    @Override
    public MessageId multicast(ByteBuffer payload, Duration wait) {
        if (payload.remaining() > configuration.messageBytesMax()) {
            throw new MessageTooLargeException(payload.remaining(), configuration.messageBytesMax());
        }
        long[] sequence = {outbox.offer(payload)};
        if (sequence[0] == 0 && !wait.isZero()) {
            simulation.runUntil(
                    () -> {
                        sequence[0] = outbox.offer(payload);
                        return sequence[0] != 0;
                    },
                    wait);
        }
        if (sequence[0] == 0) {
            throw new GroupException(
                    GroupException.Disposition.RETRY,
                    "no room to send at " + self() + ": " + member.core().explain());
        }
        enter(() -> {});
        return new MessageId(self(), member.incarnation(), sequence[0]);
    }

    /** Has the clock by which the member numbers its runs be so far ahead of the others'; before it joins. */
    public void clockAhead(Duration ahead) {
        aheadNanos = ahead.toNanos();
    }

    @Override
    public void join(Position after) {
        delivery.join(after);
        if (started) {
            scheduleDelivery();
            return;
        }
        started = true;
        network.attach(self(), this);
        enter(() -> member.start(simulation.now(), simulation.now() + aheadNanos, listener.mayForm()));
        tick();
    }

    private void tick() {
        simulation.schedule(tickNanos, "tick", () -> {
            if (stopped == null) {
                if (!paused) {
                    enter(() -> member.tick(simulation.now()));
                    viewChanged();
                }
                tick();
            }
        });
    }

    @Override
    public void leave() {
        if (stopped == null && view.isLeader(self())) {
            for (MemberId candidate : view.members()) {
                if (!candidate.equals(self())
                        && simulation.runUntil(
                                transferLeadership(candidate)::isDone,
                                configuration.electionTimeout().multipliedBy(2))
                        && !view.isLeader(self())) {
                    break;
                }
            }
        }
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " has left the group"));
        storage.close(true);
    }

    @Override
    public void close() {
        kill();
    }

    @Override
    public View view() {
        return view;
    }

    private CompletableFuture<Long> ask(Question question, MemberId about) {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        long number = ++lastAsked;
        asked.put(number, answer);
        simulation.schedule(3 * configuration.electionTimeout().toNanos(), "answer due", () -> answered(number, -1));
        enter(() -> member.ask(simulation.now(), number, question, about));
        return answer;
    }

    @Override
    public void answered(long number, long index) {
        CompletableFuture<Long> waiting = asked.remove(number);
        if (waiting == null) {
            return;
        }
        // The dependants must not run inside the member.
        simulation.schedule(0, "answer", () -> {
            if (index < 0) {
                waiting.completeExceptionally(
                        new GroupException(GroupException.Disposition.RETRY, "could not be done now"));
            } else {
                waiting.complete(index);
            }
        });
    }

    @Override
    public CompletableFuture<View> add(MemberId added) {
        return ask(Question.ADD, added).thenApply(index -> view);
    }

    @Override
    public CompletableFuture<View> remove(MemberId removed) {
        return ask(Question.REMOVE, removed).thenApply(index -> view);
    }

    @Override
    public CompletableFuture<View> transferLeadership(MemberId successor) {
        return ask(Question.TRANSFER, successor).thenApply(index -> view);
    }

    @Override
    public Position firstHeld() {
        return delivery.firstHeld();
    }

    @Override
    public Position lastCommitted() {
        long index = delivery.decidedIndex();
        return new Position(member.group(), Math.max(0, member.core().termAt(index)), index);
    }

    @Override
    public Message at(long index) {
        return delivery.at(index);
    }

    @Override
    public void deliverAhead(boolean ahead) {
        delivery.goAhead(ahead);
        member.goAhead(ahead);
        scheduleDelivery();
    }

    @Override
    public void force() {
        storage.force();
    }

    @Override
    public void release(Position position) {
        releasedIndex = Math.max(releasedIndex, position.index());
        simulation.schedule(1_000_000, "compact", this::compact);
    }

    private void compact() {
        Checkpoint before = storage.checkpoint();
        long target = storage.compactable(
                Math.min(releasedIndex, Math.min(delivery.deliveredIndex(), delivery.decidedIndex())));
        if (stopped != null || target <= before.index()) {
            return;
        }
        Incarnations incarnations = new Incarnations();
        incarnations.reset(before.state());
        for (Entry entry : storage.read(before.index() + 1, target, Integer.MAX_VALUE)) {
            incarnations.append(entry);
            incarnations.decided(entry.index());
        }
        enter(() -> {
            Checkpoint checkpoint = new Checkpoint(
                    target, member.core().termAt(target), member.core().configurationAt(target), incarnations.encode());
            storage.prepare(checkpoint);
            member.compact(simulation.now(), checkpoint);
        });
    }

    @Override
    public CompletableFuture<Position> readPosition() {
        return ask(Question.READ, self()).thenApply(index -> new Position(member.group(), 0, index));
    }

    // ---------------------------------------------------------------------------------------------- the surroundings

    @Override
    public void onFrame(byte[] frame) {
        if (paused) {
            simulation.schedule(tickNanos, "paused", () -> onFrame(frame));
            return;
        }
        enter(() -> member.receive(simulation.now(), frame));
    }

    @Override
    public void onDisconnected(MemberId peer) {
        if (!paused) {
            enter(() -> member.disconnected(simulation.now(), peer));
        }
    }

    @Override
    public void send(MemberId to, byte[] frame) {
        network.send(self(), to, frame);
    }

    @Override
    public void force(long generation, long index) {
        simulation.schedule(
                500_000 + random.nextLong(3_000_000),
                "force",
                () -> enter(() -> {
                    storage.force();
                    member.stored(simulation.now(), generation, index);
                }));
    }

    @Override
    public void fetch(MemberId forMember, long fromIndex, int bytesMax) {
        simulation.schedule(
                100_000 + random.nextLong(1_000_000),
                "fetch",
                () -> enter(() -> member.fetched(
                        simulation.now(), forMember, storage.read(fromIndex, Long.MAX_VALUE, bytesMax))));
    }

    @Override
    public void committed(long index) {
        delivery.decided(index);
        scheduleDelivery();
    }

    @Override
    public void held(long index) {
        delivery.held(index);
        scheduleDelivery();
    }

    @Override
    public void truncated(long fromIndex) {
        delivery.truncated(fromIndex);
        scheduleDelivery();
    }

    @Override
    public void viewChanged() {
        View next = member.view();
        if (!next.equals(view)) {
            view = next;
            viewDue = true;
            scheduleDelivery();
        }
    }

    private void scheduleDelivery() {
        if (!deliveryDue) {
            deliveryDue = true;
            simulation.schedule(20_000, "deliver", this::deliver);
        }
    }

    private void deliver() {
        deliveryDue = false;
        if (stopped != null || stalled || paused) {
            return;
        }
        enter(() -> {
            if (viewDue) {
                viewDue = false;
                listener.onView(view);
            }
            if (delivery.hasWork()) {
                if (delivery.deliver(listener) == Delivery.Outcome.MOVED) {
                    member.passedOver();
                }
                scheduleDelivery();
            }
        });
    }
}
