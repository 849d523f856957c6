package org.gorda.jgcs.raft;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.gorda.jgcs.ControlSession;
import org.gorda.jgcs.DataSession;
import org.gorda.jgcs.DirectSession;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupCounts;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.History;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.MessageTooLargeException;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.member.Delivery;
import org.gorda.jgcs.raft.member.Incarnations;
import org.gorda.jgcs.raft.member.Member;
import org.gorda.jgcs.raft.member.Outbox;
import org.gorda.jgcs.raft.member.Question;
import org.gorda.jgcs.raft.member.Storage;
import org.gorda.jgcs.raft.transport.Transport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shell around a {@link Member}: threads, time and the public sessions.
 *
 * <p>Threads: whoever brings an event, for instance a sender or the transport's receivers, works in the {@link Reactor}; {@code
 * ticker} lets time pass; {@code delivery} calls the listener; {@code disk} forces, reads for followers that lag, and compacts.
 */
final class RaftGroup
        implements Group,
                DataSession,
                ControlSession,
                MembershipSession,
                LogSession,
                DirectSession,
                Member.Host,
                Transport.Listener {

    private static final Logger LOG = LoggerFactory.getLogger(RaftGroup.class);
    private static final int READ_BYTES = 1 << 20;
    private static final int ASKED_MAX = 10_000;
    private static final long UNANSWERED = Long.MIN_VALUE;
    private static final long IGNORED_TELL_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int STOP_TRIES_MAX = 100;
    private static final long STOP_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** A frame that could not be used: the newest, and when the log was last told of one. */
    private record Ignored(String frame, long seenNanos, long toldNanos) {}

    private final GroupConfiguration configuration;
    private final Storage storage;
    private final Transport transport;
    private final GroupListener listener;
    private final Outbox outbox;
    private final Member member;
    private final Reactor reactor;
    private final Delivery delivery;
    private final ExecutorService forcer;
    private final ExecutorService disk;
    private final Thread ticker;
    private final Thread deliverer;

    /** Waits for a failure: when that comes there may be no more threads, and where it comes no more memory or stack. */
    private final Thread stopper;

    private final long origin = System.nanoTime() - 1;
    private final long tickNanos;

    /** Written by the ticker and within the reactor: should one overwrite the other's, a tick comes late, by a heartbeat at most. */
    private volatile long tickDueNanos;

    private final AtomicBoolean tickWaits = new AtomicBoolean();

    /** Begins anywhere: what an earlier run of this member asked may be answered in this one, and with an index of then. */
    private final AtomicLong lastAsked =
            new AtomicLong(ThreadLocalRandom.current().nextLong() >>> 2);

    private final LongAdder forces = new LongAdder();
    private final Map<Long, CompletableFuture<Long>> asked = new ConcurrentHashMap<>();

    private volatile View view = View.NOTHING;
    private volatile boolean viewTold = true;
    private Set<MemberId> connected = Set.of();
    private volatile long releasedIndex;
    private volatile boolean delivererWaits;
    private volatile String explanation = "starting";
    private volatile @Nullable Ignored ignored;
    private volatile @Nullable Throwable failure;
    private volatile @Nullable Throwable deliveryFailure;
    private volatile @Nullable GroupException stopped;
    private boolean started;

    RaftGroup(GroupConfiguration configuration, Storage storage, Transport transport, GroupListener listener) {
        this.configuration = configuration;
        this.storage = storage;
        this.transport = transport;
        this.listener = listener;
        this.outbox = new Outbox(configuration.sendBytesMax());
        this.member = new Member(
                configuration,
                storage,
                outbox,
                bound -> ThreadLocalRandom.current().nextLong(bound),
                this);
        this.delivery = new Delivery(storage, member, outbox);
        this.reactor = new Reactor(() -> member.flush(now()), this::fail);
        this.forcer = Executors.newSingleThreadExecutor(task -> thread(task, "force"));
        this.disk = Executors.newSingleThreadExecutor(task -> thread(task, "disk"));
        this.ticker = thread(this::tick, "ticker");
        this.tickNanos = Math.min(
                TimeUnit.MILLISECONDS.toNanos(5),
                configuration.electionTimeout().toNanos() / 100);
        this.deliverer = thread(this::deliver, "delivery", GroupConfiguration.DELIVERY_STACK_BYTES);
        this.stopper = thread(this::stopOnceFailed, "stop");
        reactor.helper(ticker);
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

    /** Nanoseconds since this group was opened, always positive. */
    private long now() {
        return System.nanoTime() - origin;
    }

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
        StringBuilder text = new StringBuilder(explanation);
        if (!view.working()) {
            transport
                    .unreached()
                    .forEach((member, why) -> text.append("; cannot reach ")
                            .append(member)
                            .append(" (")
                            .append(why)
                            .append(')'));
        }
        Ignored frame = ignored;
        if (frame != null && now() - frame.seenNanos() <= IGNORED_TELL_NANOS) {
            text.append("; ignores ").append(frame.frame());
        }
        return text.toString();
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
    public History history() {
        return member.history();
    }

    @Override
    public GroupCounts counts() {
        return new GroupCounts(transport.frames(), transport.bytes(), forces.sum());
    }

    // -------------------------------------------------------------------------------------------------------- send

    @Override
    public MessageId multicast(ByteBuffer payload, Duration wait) {
        int bytes = payload.remaining();
        if (bytes > configuration.messageBytesMax()) {
            throw new MessageTooLargeException(bytes, configuration.messageBytesMax());
        }
        long sequence = outbox.offer(payload);
        if (sequence == 0) {
            sequence = waitForRoom(payload, wait.toNanos());
        }
        if (sequence == 0) {
            throw new GroupException(
                    GroupException.Disposition.RETRY,
                    "no room to send " + bytes + " bytes within " + wait.toMillis() + " ms at " + self() + ": "
                            + (view.working() ? "the group orders more slowly than this member sends" : explanation));
        }
        reactor.execute(() -> {});
        return new MessageId(self(), member.incarnation(), sequence);
    }

    @Override
    public void send(MemberId to, ByteBuffer payload) {
        if (payload.remaining() > configuration.messageBytesMax()) {
            throw new MessageTooLargeException(payload.remaining(), configuration.messageBytesMax());
        }
        if (stopped == null) {
            transport.send(to, member.direct(payload));
        }
    }

    /** An interrupt is kept for later: the caller's transaction depends on whether this was sent. */
    private long waitForRoom(ByteBuffer payload, long waitNanos) {
        long deadline = System.nanoTime() + waitNanos;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return outbox.offer(payload, deadline - System.nanoTime());
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

    // ----------------------------------------------------------------------------------------------- join and leave

    @Override
    public synchronized void join(Position after) {
        GroupException reason = stopped;
        if (reason != null) {
            throw reason;
        }
        delivery.join(after);
        if (started) {
            wakeDeliverer();
            return;
        }
        try {
            stopper.start();
            member.start(now(), System.currentTimeMillis(), listener.mayForm());
            started = true;
            transport.start(this);
            reactor.execute(this::connect);
        } catch (RuntimeException e) {
            close();
            throw e;
        }
        ticker.start();
        deliverer.start();
    }

    @Override
    public void leave() {
        if (started && stopped == null && view.isLeader(self())) {
            handOver();
        }
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " has left the group"), true);
    }

    /** Asks one after the other, but does not hold up the leaving for long. */
    private void handOver() {
        long end = now() + configuration.electionTimeout().toNanos();
        for (MemberId candidate : view.members()) {
            long left = end - now();
            if (candidate.equals(self()) || left <= 0) {
                continue;
            }
            try {
                View handed = transferLeadership(candidate).get(left, TimeUnit.NANOSECONDS);
                if (handed.isLeader(candidate)) {
                    return;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            } catch (java.util.concurrent.ExecutionException | java.util.concurrent.TimeoutException e) {
                LOG.debug("{}: {} did not take over", self(), candidate, e);
            }
        }
    }

    @Override
    public void close() {
        stop(new GroupException(GroupException.Disposition.RECONNECT, self() + " was closed"), false);
    }

    /** Makes nothing and says nothing: where memory or stack are at an end, that would fail, too. */
    private void fail(Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
        LockSupport.unpark(stopper);
    }

    /** Not by who fails, and may hold the reactor or be the delivery. What fails for want of memory is tried again. */
    private void stopOnceFailed() {
        while (failure == null && stopped == null) {
            LockSupport.park(this);
        }
        Throwable cause = failure;
        if (cause == null) {
            return;
        }
        GroupException reason = null;
        boolean ended = false;
        for (int tries = 1; !ended; tries++) {
            try {
                if (reason == null) {
                    reason = reasonOf(cause);
                    log(reason, cause);
                }
                stop(reason, false);
                if (stopped == reason) {
                    listener.onStop(reason);
                }
                ended = true;
            } catch (Throwable e) { // whoever relies on this member must learn that it is of no use
                ended = reason != null && tries >= STOP_TRIES_MAX;
                LockSupport.parkNanos(STOP_PAUSE_NANOS);
            }
        }
    }

    private void log(GroupException reason, Throwable cause) {
        // Whoever takes what is delivered tells the rest, and of a disk there is no more to tell.
        if (cause == deliveryFailure || cause instanceof UncheckedIOException || cause instanceof GroupException) {
            LOG.error(reason.getMessage());
        } else {
            LOG.error(reason.getMessage(), cause);
        }
    }

    private GroupException reasonOf(Throwable cause) {
        String why;
        try {
            why = why(cause);
        } catch (Throwable e) { // not even that can be told
            why = "of " + cause.getClass().getName();
        }
        return new GroupException(GroupException.Disposition.STOP, self() + " has stopped because " + why, cause);
    }

    private String why(Throwable cause) {
        if (cause == deliveryFailure) {
            return "what was delivered could not be processed: " + cause;
        }
        if (cause instanceof GroupException own) {
            return String.valueOf(own.getMessage());
        }
        return cause instanceof UncheckedIOException disk
                ? "the disk of " + configuration.directory() + " failed (" + disk.getCause()
                        + "): make room or mend it, then start this member again"
                : "an invariant is broken: "
                        + (cause instanceof IllegalStateException told ? told.getMessage() : cause);
    }

    /** For the reason that it stops for already it may be called again: each step can be taken twice. */
    private void stop(GroupException reason, boolean clean) {
        synchronized (this) {
            if (stopped == null) {
                stopped = reason;
            }
            if (stopped != reason) {
                return;
            }
        }
        outbox.close(reason);
        transport.close();
        reactor.stop();
        forcer.shutdown();
        disk.shutdown();
        LockSupport.unpark(ticker);
        LockSupport.unpark(deliverer);
        LockSupport.unpark(stopper);
        for (CompletableFuture<Long> waiting : asked.values()) {
            waiting.completeExceptionally(reason);
        }
        boolean interrupted = Stream.of(await(forcer), await(disk), await(ticker), await(deliverer))
                .anyMatch(Boolean::booleanValue);
        view = view.withoutLeader();
        storage.close(clean && failure == null);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean await(ExecutorService executor) {
        try {
            if (!executor.awaitTermination(10, TimeUnit.SECONDS)) {
                LOG.warn("disk work did not end within 10 s");
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    private static boolean await(Thread thread) {
        if (thread == Thread.currentThread()) {
            return false;
        }
        try {
            thread.join(10_000);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    // ------------------------------------------------------------------------------------------------------- threads

    private void tick() {
        try {
            while (stopped == null) {
                LockSupport.parkNanos(tickDueNanos - now());
                boolean isDue = now() >= tickDueNanos;
                if (isDue) {
                    tickDueNanos = now() + tickNanos;
                }
                if (isDue && !tickWaits.getAndSet(true)) { // one is enough while a disk stands still
                    reactor.execute(() -> {
                        tickWaits.set(false);
                        member.tick(now());
                        viewChanged();
                        if (view.working()) {
                            tickDueNanos = Math.max(tickDueNanos, member.core().nextTickNanos(now()));
                        }
                    });
                } else {
                    reactor.work();
                }
            }
        } catch (Throwable e) { // without it, no time passes for this member
            fail(e);
        }
    }

    /** Something has happened that the next tick goes on with, which an idle group may be far away from. */
    private void tickSoon() {
        long soon = now() + tickNanos;
        if (tickDueNanos - soon > 0) {
            tickDueNanos = soon;
            LockSupport.unpark(ticker);
        }
    }

    private void deliver() {
        try {
            while (stopped == null) {
                boolean told = tellView();
                boolean delivered = deliverNext();
                if (!told && !delivered) {
                    delivererWaits = true;
                    if (stopped == null && viewTold && !delivery.hasWork()) {
                        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
                    }
                    delivererWaits = false;
                }
            }
        } catch (Throwable e) { // a message that could not be processed must not be skipped
            deliveryFailure = e;
            fail(e);
        }
    }

    private boolean tellView() {
        if (viewTold) {
            return false;
        }
        viewTold = true;
        listener.onView(view);
        return true;
    }

    private boolean deliverNext() {
        if (!delivery.hasWork()) {
            return false;
        }
        switch (delivery.deliver(listener)) {
            case MOVED -> reactor.execute(member::passedOver);
            case ROOM -> reactor.execute(() -> {});
            case NOTHING -> {}
        }
        return true;
    }

    private void wakeDeliverer() {
        if (delivererWaits) {
            LockSupport.unpark(deliverer);
        }
    }

    // --------------------------------------------------------------------------------------------- transport's events

    @Override
    public void onFrame(byte[] frame) {
        boolean taken = reactor.offer(() -> receive(frame), frame.length);
        if (!taken) {
            ignored("what others send, and will repeat: " + (Reactor.WAITING_BYTES_MAX >> 20)
                    + " MiB of it wait already, for instance for the disk of " + configuration.directory());
        }
    }

    private void receive(byte[] frame) {
        try {
            member.receive(now(), frame);
            if (member.core().owesAnswer()) {
                tickSoon();
            }
        } catch (CorruptEntryException e) {
            ignored(String.valueOf(e.getMessage()));
        }
    }

    /** Who sends what cannot be used does so again and again. */
    private void ignored(String frame) {
        Ignored before = ignored;
        boolean tell = before == null || now() - before.toldNanos() > IGNORED_TELL_NANOS;
        if (tell) {
            LOG.warn("{}: ignored {}", self(), frame);
        }
        ignored = new Ignored(frame, now(), tell ? now() : before.toldNanos());
    }

    @Override
    public void onDisconnected(MemberId lost) {
        reactor.execute(() -> {
            member.disconnected(now(), lost);
            tickSoon();
        });
    }

    @Override
    public void onFailure(Throwable cause) {
        fail(cause);
    }

    // ----------------------------------------------------------------------------------------------- member's wishes

    @Override
    public void send(MemberId to, byte[] frame) {
        transport.send(to, frame);
    }

    @Override
    public void force(long generation, long index) {
        in(forcer, () -> {
            storage.force();
            forces.increment();
            reactor.execute(() -> member.stored(now(), generation, index));
        });
    }

    @Override
    public void fetch(MemberId forMember, long fromIndex, int bytesMax) {
        in(disk, () -> {
            List<Entry> entries = storage.read(fromIndex, Long.MAX_VALUE, bytesMax);
            reactor.execute(() -> member.fetched(now(), forMember, entries));
        });
    }

    private void in(ExecutorService executor, Runnable work) {
        try {
            executor.execute(() -> {
                try {
                    work.run();
                } catch (Throwable e) { // a disk that failed once is not trusted again
                    fail(e);
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before disk work", self(), e);
        }
    }

    @Override
    public void committed(long index) {
        if (view.isLeader(self())) {
            tickSoon(); // which tells the others, unless more is sent to them before
        }
        listener.onDeliverable(index);
        delivery.decided(index);
        wakeDeliverer();
    }

    @Override
    public void held(long index) {
        listener.onDeliverable(index);
        delivery.held(index);
        wakeDeliverer();
    }

    @Override
    public long shownIndex() {
        return delivery.shownIndex();
    }

    @Override
    public void truncated(long fromIndex) {
        delivery.truncated(fromIndex);
        wakeDeliverer();
    }

    @Override
    public void viewChanged() {
        View next = member.view();
        if (!next.working() || !next.equals(view)) {
            explanation = member.core().explain();
        }
        if (!next.equals(view)) {
            view = next;
            viewTold = false;
            wakeDeliverer();
        }
        connect();
    }

    /** While there is no leader, also to whoever else may know of one. */
    private void connect() {
        View known = view;
        Set<MemberId> wanted = new HashSet<>(known.members());
        wanted.addAll(known.learners());
        known.leader().ifPresent(wanted::add);
        if (!known.working()) {
            wanted.addAll(configuration.members());
            wanted.addAll(member.core().hearsay());
        }
        if (!wanted.equals(connected)) {
            connected = Set.copyOf(wanted);
            transport.connectTo(connected);
        }
    }

    @Override
    public void answered(long number, long index) {
        CompletableFuture<Long> waiting = asked.remove(number);
        if (waiting != null) {
            // Its dependants must not run inside the reactor.
            waiting.completeAsync(() -> index);
        }
    }

    @Override
    public void direct(MemberId from, ByteBuffer payload) {
        listener.onDirect(from, payload);
    }

    // --------------------------------------------------------------------------------------- membership and the log

    private CompletableFuture<Long> ask(Question question, MemberId about, String what) {
        GroupException reason = stopped;
        if (reason != null) {
            return CompletableFuture.failedFuture(reason);
        }
        if (asked.size() >= ASKED_MAX) {
            return CompletableFuture.failedFuture(new GroupException(
                    GroupException.Disposition.RETRY, "more than " + ASKED_MAX + " questions wait for an answer"));
        }
        long number = lastAsked.incrementAndGet();
        CompletableFuture<Long> answer = new CompletableFuture<>();
        asked.put(number, answer);
        reactor.execute(() -> member.ask(now(), number, question, about));
        long waitNanos = 3 * configuration.electionTimeout().toNanos();
        return answer.completeOnTimeout(UNANSWERED, waitNanos, TimeUnit.NANOSECONDS)
                .whenComplete((index, failure) -> asked.remove(number))
                .thenApply(index -> {
                    if (index < 0) {
                        String why = index == UNANSWERED
                                ? " was not answered within " + TimeUnit.NANOSECONDS.toMillis(waitNanos) + " ms"
                                        + (question == Question.READ ? ": " : ", but may be yet: ")
                                : " could not be done now: ";
                        throw new GroupException(GroupException.Disposition.RETRY, what + why + explanation);
                    }
                    return index;
                });
    }

    @Override
    public CompletableFuture<View> add(MemberId added) {
        int members = view.members().size() + view.learners().size();
        if (members >= GroupConfiguration.MEMBERS_MAX) {
            return CompletableFuture.failedFuture(new GroupException(
                    GroupException.Disposition.CORRECT,
                    "adding " + added + " to " + members + " members, of which a group has at most "
                            + GroupConfiguration.MEMBERS_MAX + ": remove one first"));
        }
        return ask(Question.ADD, added, "adding " + added).thenApply(index -> view);
    }

    @Override
    public CompletableFuture<View> remove(MemberId removed) {
        return ask(Question.REMOVE, removed, "removing " + removed).thenApply(index -> view);
    }

    @Override
    public CompletableFuture<View> transferLeadership(MemberId successor) {
        return ask(Question.TRANSFER, successor, "handing leadership to " + successor)
                .thenCompose(index -> awaitLeader(successor, 20));
    }

    private CompletableFuture<View> awaitLeader(MemberId successor, int tries) {
        if (view.isLeader(successor) || tries == 0) {
            return CompletableFuture.completedFuture(view);
        }
        long pauseNanos = configuration.electionTimeout().toNanos() / 10;
        return CompletableFuture.runAsync(() -> {}, CompletableFuture.delayedExecutor(pauseNanos, TimeUnit.NANOSECONDS))
                .thenCompose(waited -> awaitLeader(successor, tries - 1));
    }

    @Override
    public View view() {
        return view;
    }

    @Override
    public Position firstHeld() {
        return delivery.firstHeld();
    }

    @Override
    public Position lastCommitted() {
        long index = delivery.decidedIndex();
        List<Entry> last = storage.read(index, index, 0);
        return last.isEmpty()
                ? firstHeld()
                : new Position(member.group(), last.get(0).term(), index);
    }

    @Override
    public Message at(long index) {
        return delivery.at(index);
    }

    @Override
    public void deliverAhead(boolean ahead) {
        delivery.goAhead(ahead);
        wakeDeliverer();
        member.goAhead(ahead);
    }

    @Override
    public void force() {
        try {
            storage.force();
            forces.increment();
        } catch (UncheckedIOException e) { // a disk that failed once is not trusted again
            fail(e);
            throw e;
        }
    }

    @Override
    public void release(Position position) {
        synchronized (this) {
            if (position.index() <= releasedIndex) {
                return;
            }
            releasedIndex = position.index();
        }
        in(disk, this::compact);
    }

    /** Cuts the log at the start of a file, so that nothing is copied; what the checkpoint must know is read from the log. */
    private void compact() {
        Checkpoint before = storage.checkpoint();
        long target = storage.compactable(
                Math.min(releasedIndex, Math.min(delivery.deliveredIndex(), delivery.decidedIndex())));
        if (target <= before.index()) {
            return;
        }
        Incarnations incarnations = new Incarnations();
        incarnations.reset(before.state());
        long term = before.term();
        long next = before.index() + 1;
        while (next <= target) {
            List<Entry> entries = storage.read(next, target, READ_BYTES);
            if (entries.isEmpty()) {
                return;
            }
            for (Entry entry : entries) {
                incarnations.append(entry);
                incarnations.decided(entry.index());
                term = entry.term();
            }
            next = entries.get(entries.size() - 1).index() + 1;
        }
        long termAtTarget = term;
        reactor.execute(() -> {
            if (target <= storage.checkpoint().index()) {
                return; // the leader has replaced the log meanwhile
            }
            Checkpoint checkpoint =
                    new Checkpoint(target, termAtTarget, member.core().configurationAt(target), incarnations.encode());
            in(disk, () -> {
                storage.prepare(checkpoint);
                reactor.execute(() -> {
                    member.compact(now(), checkpoint);
                    in(disk, storage::trim);
                });
            });
        });
    }

    @Override
    public CompletableFuture<Position> readPosition() {
        return ask(Question.READ, self(), "a strong read").thenApply(index -> new Position(member.group(), 0, index));
    }
}
