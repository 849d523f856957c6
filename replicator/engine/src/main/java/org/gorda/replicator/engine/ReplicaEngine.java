package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.gorda.gapi.Applier;
import org.gorda.gapi.Capability;
import org.gorda.gapi.Content;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupCounts;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.replicator.core.Conflict;
import org.gorda.replicator.core.Effects;
import org.gorda.replicator.core.LeasedRange;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicaCore;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.StoredHistory.MustReceiveException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shell around the {@link ReplicaCore}. The group's delivery thread steps the core, applies what others did and makes all
 * commits in the database, local ones too, in order; clients' threads only encode, send and wait. Thread-safe.
 *
 * <p>{@link #order} guards the core and everything the delivery works on.
 */
final class ReplicaEngine implements GroupListener, Effects {

    private static final Logger LOG = LoggerFactory.getLogger(ReplicaEngine.class);

    private static final Duration MAINTENANCE = Duration.ofSeconds(5);
    private static final Duration SEND_WAIT = Duration.ofSeconds(2);
    private static final Duration LEASE_SEND_WAIT = Duration.ofMillis(20);
    private static final Duration PROTOCOL_WAIT = Duration.ofSeconds(20);
    private static final Duration STOP_WAIT = Duration.ofSeconds(30);

    /** Whose tables are not a client's. */
    private static final Set<String> OTHER_SCHEMAS = Set.of("GORDA", "INFORMATION_SCHEMA");

    /** Others need know seldom how much of the log is not needed any more. */
    private static final long TELL_DURABLE_EVERY = 10_000;

    private static final long TELL_DURABLE_EVERY_BYTES = 64L << 20;

    /** A checkpoint, with which index the log is needed from, and how many bytes had been delivered then. */
    private record Taken(CheckpointFile.Checkpoint checkpoint, long needed, long bytes) {}

    private final ReplicaConfiguration configuration;
    private final CheckpointFile checkpoints;
    private final long run = ThreadLocalRandom.current().nextLong();
    private final ReentrantLock order = new ReentrantLock();

    private final Standing standing;
    private final ReplicaCore core;
    private final Map<Long, CompletableFuture<Outcome>> closing = new ConcurrentHashMap<>();
    private final Verifications verifications = new Verifications();
    private final List<SuspendedCommit> toRelease = new ArrayList<>();

    /** Local transactions in the segment: the database had rolled them back for others that were ordered before. */
    private final List<SuspendedCommit> replayed = new ArrayList<>();

    private final LogMarks logMarks = new LogMarks();
    private final DeliveryTimes deliveryTimes = new DeliveryTimes();
    private final Backlog toShow = new Backlog();
    private final Backlog toDecide = new Backlog();
    private final AtomicLong lastRequest =
            new AtomicLong(ThreadLocalRandom.current().nextLong() >>> 2);
    private final LongAdder applied = new LongAdder();
    private final LongAdder flushes = new LongAdder();
    private final SchemaTurns schemaTurns;
    private final ScheduledExecutorService maintenance;
    private final ChunkSender chunkSender;
    private final StateTransfer transfer;
    private final FlowControl flow;

    /** Of a replica that has failed. */
    private final CountDownLatch ended = new CountDownLatch(1);

    private final Runnable reopen;
    private final GeneratorLeases leases;
    private final LocalTransactions local;

    private @Nullable ReflectedDatabase database;
    private @Nullable Applier applier;
    private @Nullable Segment segment;
    private @Nullable Group group;
    private @Nullable Future<?> maintained;

    private boolean announced;

    /** For the next transaction, which changes the schema. */
    private Map<Generator, OptionalLong> settling = Map.of();

    private @Nullable MemberId sender;
    private final StoredHistory history;
    private Position last = Position.START;
    private volatile long checkpointedIndex;

    /** Waits for a majority to have what it is made of. Confined to {@link #maintenance}. */
    private @Nullable Taken undecided;

    /** A restart needs the log behind this. */
    private long restartIndex;

    private long toldDurable;
    private long toldDurableBytes;

    private volatile long durableIndex;

    /** Null if they are off, so that nobody looks at the clock for them. */
    private volatile @Nullable Probes probes;

    /** @param reopen called once the database was received anew: retires this engine and begins with another */
    ReplicaEngine(ReplicaConfiguration configuration, Runnable reopen) {
        this.configuration = configuration;
        this.standing = new Standing(configuration.self());
        this.history = new StoredHistory(configuration);
        this.checkpoints = new CheckpointFile(configuration.directory());
        this.core = new ReplicaCore(configuration.self(), run, configuration.protocol(), this);
        this.chunkSender = new ChunkSender(configuration.commitTimeout());
        this.schemaTurns = new SchemaTurns(this::trySend, configuration.commitTimeout());
        this.transfer = new StateTransfer(configuration, this);
        this.flow = new FlowControl(
                configuration.self(),
                new Lags(configuration.lagMax(), configuration.lagPatience()),
                standing::view,
                standing::visible,
                () -> standing.is(ReplicaState.ONLINE),
                this::send,
                this::look,
                this::fallBehind);
        this.reopen = reopen;
        this.leases = new GeneratorLeases(this::ask, lastRequest.get(), configuration.commitTimeout());
        this.local = new LocalTransactions(configuration, standing, flow, leases, schemaTurns, chunkSender, this);
        this.maintenance = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "gorda-maintenance-" + configuration.self());
            thread.setDaemon(true);
            return thread;
        });
    }

    // ----------------------------------------------------------------------------------------------- start and stop

    /** Called once, before {@link #join}. */
    void database(ReflectedDatabase opened) {
        database = opened;
        StoredPosition stored = opened.storedPosition().orElse(StoredHistory.NOTHING);
        history.opened(stored);
        durableIndex = stored.index();
        Applier own = opened.applier();
        applier = own;
        segment = new Segment(configuration.self(), own);
    }

    /** Takes part in the group, from where checkpoint and database left off. */
    void join(Group opened) {
        group = opened;
        standing.explain(ReplicaState.JOINING, opened.explanation());
        Position after = Position.START;
        CheckpointFile.Checkpoint checkpoint = checkpoints.load();
        if (checkpoint != null) {
            history.restored(checkpoint);
            core.restore(checkpoint.state());
            after = checkpoint.position();
            checkpointedIndex = after.index();
            restartIndex = Math.min(after.index(), core.firstNeeded() - 1);
            last = after;
            standing.visible(after.index());
            standing.schemaChanged(core.schemaChanged());
            standing.epoch(core.epoch(), core.primary());
            standing.everywhere(core.isEverywhere());
            standing.executesHere(core.isEverywhere());
            if (core.epoch() > 0) {
                checkFollows(core.protocol());
                standing.follow(core.protocol());
            }
        }
        opened.control().join(after);
        flow.start();
        long period = MAINTENANCE.toMillis();
        maintained = maintenance.scheduleWithFixedDelay(this::maintain, period, period, TimeUnit.MILLISECONDS);
    }

    ReflectedDatabase database() {
        return java.util.Objects.requireNonNull(database);
    }

    private Applier applier() {
        return java.util.Objects.requireNonNull(applier);
    }

    private Segment segment() {
        return java.util.Objects.requireNonNull(segment);
    }

    Group group() {
        return java.util.Objects.requireNonNull(group);
    }

    LogSession log() {
        return group().log().orElseThrow();
    }

    /** Leaves in order. If it has failed, waits until what that ends is ended, so that the database can be opened again. */
    void stop() {
        if (standing.is(ReplicaState.STOPPED)) {
            awaitEnd();
            return;
        }
        LOG.info("{}: stopping", configuration.self());
        end(ReplicaState.STOPPED, "stopped by request");
    }

    /** Leaves in order, and makes room for an engine that begins anew. */
    void retire(String why) {
        end(ReplicaState.STARTING, why);
    }

    private void end(ReplicaState next, String why) {
        standing.explain(next, why);
        refuseAll(new Refusal(Refusal.Cause.STOPPED, "this replica is stopping: connect to another one"));
        Group joined = group;
        if (joined != null && next == ReplicaState.STOPPED) {
            awaitAllDecided();
        }
        endMaintenance();
        if (joined != null) {
            joined.control().leave();
        }
        closeDatabase();
    }

    /** An asynchronous primary that is stopped in order loses nothing, as long as a majority takes what it has in time. */
    private void awaitAllDecided() {
        long deadline = System.nanoTime() + STOP_WAIT.toNanos();
        while (decidedIndex() < standing.visible() && standing.view().working() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        long left = standing.visible() - decidedIndex();
        if (left > 0) {
            LOG.warn(
                    "{}: stops though no majority has the last {} places that it shows: they may be lost",
                    configuration.self(),
                    left);
        }
    }

    /** Stops at once: going on could lose or change what others rely on. */
    void fail(String what, Throwable cause) {
        if (!standing.fail(cause)) {
            return;
        }
        boolean disk = isOfADisk(cause);
        String why = disk ? what + " Make room or mend the disk, then start this replica again." : what;
        if (disk || cause instanceof ReplicaException || cause instanceof GroupException) {
            LOG.error("{}: the replica stops: {}", configuration.self(), why);
        } else {
            LOG.error("{}: the replica stops: {}", configuration.self(), why, cause);
        }
        standing.explain(ReplicaState.STOPPED, why);
        Thread stopper = new Thread(
                () -> {
                    try {
                        refuseAll(new Refusal(Refusal.Cause.STOPPED, "this replica has stopped: " + why));
                        endMaintenance();
                        Group joined = group;
                        if (joined != null) {
                            joined.close();
                        }
                        closeDatabase();
                    } finally {
                        ended.countDown();
                    }
                },
                "gorda-stop-" + configuration.self());
        stopper.start();
    }

    private void awaitEnd() {
        try {
            if (standing.failure() != null && !ended.await(STOP_WAIT.toSeconds(), TimeUnit.SECONDS)) {
                LOG.warn("{}: has not ended after {} s", configuration.self(), STOP_WAIT.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The group tells so itself. */
    private static boolean isOfADisk(Throwable failure) {
        Throwable at = failure;
        while (at.getCause() != null && !(at instanceof GroupException)) {
            at = at.getCause();
        }
        return at instanceof IOException;
    }

    private void endMaintenance() {
        transfer.close();
        flow.close();
        Future<?> task = maintained;
        if (task != null) {
            task.cancel(false);
        }
        maintenance.shutdown();
    }

    private void closeDatabase() {
        ReflectedDatabase opened = database;
        if (opened != null) {
            try {
                opened.close();
            } catch (ReflectionException e) {
                LOG.warn("{}: the database did not close in order: {}", configuration.self(), e.getMessage());
                LOG.debug("{}: the database did not close in order", configuration.self(), e);
            }
        }
    }

    private void refuseAll(Refusal refusal) {
        standing.executesHere(false);
        local.leaveAllUnknown(refusal.message());
        ReflectedDatabase opened = database;
        if (opened != null) {
            opened.abortAll(refusal);
        }
        GroupException gone =
                new GroupException(GroupException.Disposition.RECONNECT, "this replica does not take part any more");
        closing.values().forEach(waiting -> waiting.completeExceptionally(gone));
        verifications.giveUp(gone);
    }

    /** Why the replica has stopped by itself, if it has. */
    Optional<Throwable> failure() {
        return Optional.ofNullable(standing.failure());
    }

    // ----------------------------------------------------------------------------------------------- the group tells

    @Override
    public void onMessage(Message message) {
        order.lock();
        try {
            if (standing.is(ReplicaState.RECEIVING)) {
                return; // what is received will hold it
            }
            history.delivered(message.position());
            logMarks.delivered(message.position().index(), message.payload().remaining());
            deliveryTimes.delivered(message.position().index());
            sender = message.id().member();
            core.delivered(message);
            last = message.position();
        } catch (DivergenceException e) {
            fail("it has diverged: " + e.getMessage(), e);
            throw e;
        } catch (MustReceiveException e) {
            beginReceiving(String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            fail("what was ordered at " + message.position() + " could not be processed: " + e.getMessage(), e);
            throw e;
        } finally {
            order.unlock();
        }
    }

    @Override
    public void onDeliverable(long index) {
        Probes on = probes;
        if (on != null) {
            on.ready(index);
        }
    }

    @Override
    public void onCaughtUp(Position upTo) {
        order.lock();
        try {
            if (standing.is(ReplicaState.RECEIVING)) {
                return;
            }
            commitSegment();
            releaseDurably();
            try {
                history.caughtUp(upTo);
            } catch (MustReceiveException e) {
                beginReceiving(String.valueOf(e.getMessage()));
                return;
            } catch (ReplicaException e) {
                fail(String.valueOf(e.getMessage()), e);
                return;
            }
            standing.visible(upTo.index());
            if (history.isFound()
                    && standing.view().working()
                    && !standing.is(ReplicaState.ONLINE)
                    && !standing.is(ReplicaState.STOPPED)) {
                standing.explain(ReplicaState.ONLINE, "has everything up to " + upTo);
                announceRun();
            }
        } catch (RuntimeException e) {
            fail("what was ordered up to " + upTo + " could not be committed: " + e.getMessage(), e);
            throw e;
        } finally {
            order.unlock();
        }
    }

    /** Where no new epoch tells so, others learn by any message that this run has begun and that of earlier ones nothing will come. */
    private void announceRun() {
        if (standing.isEverywhere() && !announced) {
            announced = true;
            send(new ReplicaMessage.Durable(configuration.self(), restartIndex));
        }
    }

    @Override
    public void onView(View next) {
        order.lock();
        try {
            boolean began = next.working() && !standing.view().working();
            standing.view(next);
            if (standing.is(ReplicaState.RECEIVING)) {
                yieldLater();
                return;
            }
            if (standing.is(ReplicaState.JOINING) && next.working()) {
                standing.explain(ReplicaState.CATCHING_UP, "works off what is ordered and not shown here yet");
            } else if (!next.working() && !standing.is(ReplicaState.STOPPED) && !standing.is(ReplicaState.JOINING)) {
                standing.explain(ReplicaState.ISOLATED, group().explanation());
            }
            if (began && standing.visible() >= log().lastCommitted().index() && history.isFound()) {
                standing.explain(ReplicaState.ONLINE, "has everything up to " + standing.visible());
                announceRun();
            }
            core.viewChanged(next);
        } finally {
            order.unlock();
        }
    }

    @Override
    public void onGap(Position firstHeld, String reason) {
        order.lock();
        try {
            receiveDatabase(firstHeld, reason);
        } catch (RuntimeException e) {
            fail(String.valueOf(e.getMessage()), e);
        } finally {
            order.unlock();
        }
    }

    private void receiveDatabase(Position firstHeld, String reason) {
        if (!firstHeld.group().isKnown()) {
            // Which group that is, its first decided entry tells: asked again until then.
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            group().control().join(last);
            return;
        }
        StoredPosition holds = database().storedPosition().orElse(StoredHistory.NOTHING);
        try {
            history.cutOff(holds, last, firstHeld, log().lastCommitted().term(), reason, this::hasTables);
        } catch (MustReceiveException e) {
            beginReceiving(String.valueOf(e.getMessage()));
        }
    }

    private void beginReceiving(String reason) {
        log().deliverAhead(false);
        receiving("needs the database from another replica, because " + reason);
        refuseAll(new Refusal(
                Refusal.Cause.STOPPED,
                "this replica lacks too much and receives the database: connect to another one"));
        yieldLeadership();
        transfer.receive(reopen);
    }

    private boolean hasTables() {
        try (ResultSet tables = applier().reading().getMetaData().getTables(null, null, "%", new String[] {"TABLE"})) {
            while (tables.next()) {
                if (!OTHER_SCHEMAS.contains(tables.getString("TABLE_SCHEM"))) {
                    return true;
                }
            }
            return false;
        } catch (SQLException e) {
            throw new ReplicaException("the tables of " + configuration.location() + " cannot be listed: " + e, e);
        } finally {
            applier().rollback();
        }
    }

    /** Tells how far the database is that another replica gives. */
    void receiving(String text) {
        standing.explain(ReplicaState.RECEIVING, text);
    }

    /** The others do not wait for this replica any more: nobody is to begin anything here before it has caught up. */
    private void fallBehind() {
        boolean behind = (standing.isEverywhere() || !standing.executesHere())
                && standing.explain(
                        ReplicaState.ONLINE,
                        ReplicaState.CATCHING_UP,
                        "was more than " + configuration.lagMax() / 2 + " transactions behind for "
                                + configuration.lagPatience().toSeconds()
                                + " s, so that the others do not wait for it any more; works off what is ordered");
        if (behind
                && standing.view().working()
                && standing.visible() >= log().lastCommitted().index()) {
            // It has caught up just before, and nobody says so again.
            standing.explain(
                    ReplicaState.CATCHING_UP, ReplicaState.ONLINE, "has everything up to " + standing.visible());
        }
    }

    /** With a pause: who gets it may have to yield, too. */
    @SuppressWarnings("FutureReturnValueIgnored") // the next view tells
    private void yieldLater() {
        try {
            maintenance.schedule(
                    this::yieldLeadership, configuration.electionTimeout().toNanos() / 2, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before it yielded", configuration.self(), e);
        }
    }

    /** Who leads should be able to become the primary. Which other one that is, is not known here. */
    @SuppressWarnings("FutureReturnValueIgnored") // the next view tells
    private void yieldLeadership() {
        View now = standing.view();
        List<MemberId> others = now.members().stream()
                .filter(member -> !member.equals(configuration.self()))
                .toList();
        if (standing.is(ReplicaState.RECEIVING) && now.isLeader(configuration.self()) && !others.isEmpty()) {
            MemberId any = others.get(ThreadLocalRandom.current().nextInt(others.size()));
            group().membership().orElseThrow().transferLeadership(any);
        }
    }

    @Override
    public void onDirect(MemberId from, ByteBuffer payload) {
        try {
            DirectMessage message = DirectMessage.decode(payload);
            if (message instanceof DirectMessage.Shown shown) {
                flow.heard(from, shown);
            } else {
                transfer.received(from, message);
            }
        } catch (GroupException e) {
            LOG.warn("{}: ignored what {} sent: {}", configuration.self(), from, e.getMessage());
        }
    }

    /** Tells another replica something outside the order, or fails to, which it may learn or not. */
    void send(MemberId to, DirectMessage message) {
        group().direct().orElseThrow().send(to, DirectMessage.encode(message));
    }

    @Override
    public void onStop(GroupException cause) {
        fail("its membership of the group has ended: " + cause.getMessage(), cause);
    }

    // ------------------------------------------------------------------------------------------------ the core wants

    @Override
    public void commit(Position position, TransactionId id, long[] chunks, ByteBuffer writeSet) {
        Map<Generator, OptionalLong> settled = settling;
        settling = Map.of();
        if (history.holds(position.index())) {
            return; // the database has it
        }
        SuspendedCommit waiting = local.ordered(id);
        // What changed the schema here did so before generators were settled: it is applied like everywhere.
        if (waiting != null && settled.isEmpty()) {
            Probes.Probe probe = LocalTransactions.probe(waiting);
            Probes.certified(probe, position.index(), deliveryTimes.lastNanos());
            commitSegment();
            Probes.end(probe, Stage.TURN);
            boolean durable = false;
            if (waiting.commit(storedAt(position), durable)) {
                Probes.end(probe, Stage.COMMIT);
                standing.visible(position.index());
                if (configuration.durability() == Durability.LOCAL) {
                    toRelease.add(waiting);
                } else {
                    waiting.release();
                }
                return;
            }
        }
        if (chunks.length > 0 && chunks[0] <= log().firstHeld().index()) {
            // As a learner it did not count when the others released it.
            throw new MustReceiveException("a part of transaction " + id + " lies at " + chunks[0]);
        }
        Content preceding = chunks.length == 0 ? Content.EMPTY : new LogContent(log(), chunks);
        Probes.Probe probe = Probes.begin(probes);
        WriteSet decoded = WriteSet.decode(writeSet, preceding);
        Probes.end(probe, Stage.DECODE);
        boolean alone = applier().standsAlone(decoded);
        if (chunks.length > 0 || alone) {
            commitSegment();
            Probes.skip(probe);
        }
        if (waiting != null) {
            if (!standing.isEverywhere() && standing.executesHere() && !waiting.isAnswered()) {
                throw new IllegalStateException(
                        "transaction " + id + " of this primary has lost its locks before it was committed, at "
                                + position + ": others may have run on what it was to change");
            }
            replayed.add(waiting);
        }
        applied.increment();
        Conflict.Winner winner = new Conflict.Winner(id, java.util.Objects.requireNonNull(sender));
        segment().apply(new Segment.Change(decoded, position, winner, settled));
        Probes.end(probe, Stage.APPLY);
        Probes.count(probe, Stage.APPLY);
        if (segment().isFull() || alone) {
            commitSegment();
        }
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {
        leases.clear();
        settling = next;
        standing.schemaChanged(core.lastIndex());
    }

    @Override
    public void lease(long request, MemberId asker, @Nullable LeasedRange range) {
        if (asker.equals(configuration.self())) {
            leases.granted(request, range);
        }
    }

    @Override
    public void schemaTurn(TransactionId id, Position position, boolean ends) {
        schemaTurns.delivered(id, position.index(), ends);
    }

    private void ask(ReplicaMessage.Lease request) {
        // No longer: who asks may hold locks that the delivery waits for, which makes the room.
        group().data().multicast(ReplicaMessage.encode(request), LEASE_SEND_WAIT);
    }

    /** A turn is soon renewed, and over if it is not; of those that cannot be ordered now only the end is worth a place. */
    private void trySend(ReplicaMessage.SchemaTurn message) {
        if (!message.ends() && !standing.view().working()) {
            return;
        }
        try {
            group().data().multicast(ReplicaMessage.encode(message), LEASE_SEND_WAIT);
        } catch (GroupException e) {
            LOG.debug("{}: {} could not be sent", configuration.self(), message, e);
        }
    }

    @Override
    public void chunk(TransactionId id) {
        chunkSender.delivered(id);
    }

    private static StoredPosition storedAt(Position position) {
        return new StoredPosition(position.group().high(), position.group().low(), position.term(), position.index());
    }

    private void commitSegment() {
        if (segment().isEmpty()) {
            return;
        }
        Position end = segment().end();
        standing.executed(end.index());
        Probes.Probe probe = Probes.begin(probes);
        segment().commit(storedAt(end));
        Probes.end(probe, Stage.INSTALL);
        Probes.count(probe, Stage.INSTALL);
        standing.visible(end.index());
        if (configuration.durability() == Durability.LOCAL) {
            toRelease.addAll(replayed);
        } else {
            replayed.forEach(SuspendedCommit::release);
        }
        replayed.clear();
    }

    /** With local durability a run of commits is forced to disk by one flush, then all are answered. */
    private void releaseDurably() {
        if (toRelease.isEmpty()) {
            return;
        }
        flushDatabase();
        toRelease.forEach(SuspendedCommit::release);
        toRelease.clear();
    }

    private void flushDatabase() {
        database().flush().ifPresent(forced -> durableIndex = forced.index());
        flushes.increment();
    }

    @Override
    public void discard(TransactionId id, Refusal refusal) {
        local.discard(id, refusal);
    }

    @Override
    public void conflict(TransactionId id, Conflict conflict) {
        local.conflict(id, conflict, deliveryTimes.age(conflict.index()));
    }

    @Override
    public void protocolChanged(ReplicationProtocol next, Position position, Map<Generator, OptionalLong> leased) {
        long newEpoch = position.index();
        boolean toEverywhere = next.isEverywhere();
        String told = switch (next) {
            case CERTIFICATION -> "every replica takes writes now";
            case PRIMARY_BACKUP -> "one replica is to take all writes now";
            case ASYNCHRONOUS -> "one replica is to take all writes now, and does not wait for the others";
            case LOOPBACK -> throw new IllegalArgumentException(next + " is not a group's");
        };
        log().deliverAhead(false);
        checkFollows(next);
        beginEpoch(null, newEpoch, told + " (epoch " + newEpoch + "); the transaction did not happen: run it again");
        leases.clear();
        schemaTurns.clear();
        standing.schemaChanged(newEpoch);
        if (!history.holds(newEpoch)) {
            settle(toEverywhere, position, leased);
        }
        // Not before: whoever takes a value of a generator would begin where it was. Not after the place is visible:
        // whoever begins behind it tells keys.
        standing.follow(next);
        standing.everywhere(toEverywhere);
        standing.visible(newEpoch);
        standing.executesHere(toEverywhere);
        standing.progress().signal();
        LOG.info("{}: {}, epoch {}", configuration.self(), told, newEpoch);
    }

    private void settle(boolean toEverywhere, Position position, Map<Generator, OptionalLong> next) {
        for (int tries = 1; true; tries++) {
            try {
                if (toEverywhere) {
                    database().takeOver();
                }
                applier().settle(next);
                applier().commit(storedAt(position), false);
                return;
            } catch (DivergenceException e) {
                throw e;
            } catch (ReflectionException e) {
                if (tries == Segment.TRIES) {
                    throw e;
                }
                LOG.warn("{}: generators could not be settled at once: {}", configuration.self(), e.getMessage());
                applier().rollback();
            }
        }
    }

    /** All members must decide alike, so that each does as the group does, or nothing. */
    private void checkFollows(ReplicationProtocol groups) {
        Set<Capability> missing = groups.missing(database().capabilities());
        if (!missing.isEmpty()) {
            throw new ReplicaException("the group runs protocol " + groups + ", which needs " + missing
                    + ", which this replica's database does not have");
        }
        if (groups != configuration.protocol() && groups != standing.followed()) {
            LOG.info(
                    "{}: the group runs protocol {}; {}, which this replica is configured for, is for a new group",
                    configuration.self(),
                    groups,
                    configuration.protocol());
        }
        if (groups == ReplicationProtocol.ASYNCHRONOUS) {
            history.risksToBeAhead();
        }
    }

    @Override
    public void primary(MemberId member, long newEpoch, boolean here) {
        checkFollows(core.protocol());
        beginEpoch(
                member,
                newEpoch,
                "the primary changed to " + member + " (epoch " + newEpoch
                        + "); the transaction did not happen: run it again");
        if (here) {
            database().takeOver();
            standing.executesHere(true);
        }
        standing.follow(core.protocol());
        log().deliverAhead(here && standing.followed() == ReplicationProtocol.ASYNCHRONOUS);
        standing.progress().signal();
        LOG.info("{}: {} is the primary, epoch {}", configuration.self(), here ? "this replica" : member, newEpoch);
    }

    private void beginEpoch(@Nullable MemberId member, long newEpoch, String told) {
        commitSegment();
        releaseDurably(); // what is committed is not aborted with the others
        Refusal refusal = new Refusal(Refusal.Cause.PRIMARY_CHANGED, told);
        standing.executesHere(false);
        standing.epoch(newEpoch, member);
        local.abortAll(refusal);
        verifications.giveUp(new ReplicaException(told));
    }

    @Override
    public void outcome(long request, MemberId asker, TransactionId id, Outcome outcome) {
        chunkSender.giveUp(id);
        CompletableFuture<Outcome> waiting = asker.equals(configuration.self()) ? closing.remove(request) : null;
        if (waiting != null) {
            waiting.complete(outcome);
        }
    }

    @Override
    public void verify(long request, Position position) {
        commitSegment();
        releaseDurably();
        standing.visible(position.index());
        // To read takes the locks of those who write here, which only certification makes good. So who leads it keeps
        // them out, until he gives up.
        boolean onlyIfAwaited = !standing.isEverywhere() && configuration.self().equals(standing.primary());
        verifications.make(
                request,
                onlyIfAwaited,
                () -> new Verification(
                        request, configuration.self(), position.toString(), Verifications.checksums(applier())));
    }

    @Override
    public void durableEverywhere(long index) {
        releaseLog(Math.min(index, restartIndex), configuration.logRetainBytes());
    }

    /** Forgets what nobody needs up to an index, but keeps so much. */
    private void releaseLog(long needed, long retainBytes) {
        long removed = logMarks.takeNeedless(needed, retainBytes);
        if (removed > 0) {
            log().release(new Position(last.group(), 0, removed));
        }
    }

    @Override
    public void send(ReplicaMessage message) {
        // Not by this thread: it is the one that makes room.
        try {
            maintenance.execute(() -> multicast(message));
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before {} was sent", configuration.self(), message, e);
        }
    }

    private void multicast(ReplicaMessage message) {
        try {
            group().data().multicast(ReplicaMessage.encode(message), SEND_WAIT);
        } catch (GroupException e) {
            if (e.disposition() == GroupException.Disposition.RETRY && !maintenance.isShutdown()) {
                send(message);
            }
        }
    }

    // --------------------------------------------------------------------------------------------------- maintenance

    /** Forces the database to disk and writes a checkpoint, so that the log before it is not needed any more. */
    private void maintain() {
        try {
            transfer.expire();
            Taken taken = undecided;
            if (taken == null) {
                taken = take();
            }
            undecided = taken;
            if (taken == null
                    || standing.is(ReplicaState.RECEIVING)
                    || !isDecided(taken.checkpoint().position())) {
                return; // or looked at again the next time
            }
            undecided = null;
            CheckpointFile.Checkpoint checkpoint = taken.checkpoint();
            long needed = taken.needed();
            long bytes = taken.bytes();
            // After the checkpoint was taken: what the database then holds on disk is at least as new.
            flushDatabase();
            checkpoints.save(checkpoint);
            checkpointedIndex = checkpoint.position().index();
            order.lock();
            try {
                restartIndex = Math.min(checkpointedIndex, needed - 1);
                // Whoever is away for longer receives the database.
                releaseLog(restartIndex, 2 * configuration.logRetainBytes());
            } finally {
                order.unlock();
            }
            if (restartIndex - toldDurable >= TELL_DURABLE_EVERY
                    || bytes - toldDurableBytes >= TELL_DURABLE_EVERY_BYTES) {
                toldDurable = restartIndex;
                toldDurableBytes = bytes;
                multicast(new ReplicaMessage.Durable(configuration.self(), restartIndex));
            }
        } catch (RuntimeException e) {
            fail("the database or the checkpoint could not be forced to disk: " + e.getMessage(), e);
        }
    }

    private @Nullable Taken take() {
        order.lock();
        try {
            if (last.index() <= checkpointedIndex || standing.is(ReplicaState.RECEIVING)) {
                return null;
            }
            CheckpointFile.Checkpoint checkpoint = checkpoint();
            return checkpoint == null ? null : new Taken(checkpoint, core.firstNeeded(), logMarks.bytes());
        } finally {
            order.unlock();
        }
    }

    /** Where the database is ahead of what is decided, what it held is of use for a restart, here or elsewhere, only once that is. */
    private boolean isDecided(Position position) {
        if (log().lastCommitted().index() < position.index()) {
            return false;
        }
        try {
            return !history.mayBeAhead()
                    || log().at(position.index()).position().equals(position);
        } catch (GroupException e) {
            return false; // others were ordered in its place
        }
    }

    /** Waits until {@link #isDecided}; false if it is not in time. */
    boolean awaitDecided(Position position) {
        long deadline = System.nanoTime() + STOP_WAIT.toNanos();
        while (!isDecided(position)) {
            if (System.nanoTime() - deadline > 0
                    || !standing.is(ReplicaState.ONLINE)
                    || !standing.view().working()) {
                return false;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
        return true;
    }

    /** What the core knows, which the database holds already; null if it does not just now. */
    private CheckpointFile.@Nullable Checkpoint checkpoint() {
        return segment().isEmpty() && history.isFound() && !standing.is(ReplicaState.STOPPED)
                ? new CheckpointFile.Checkpoint(
                        last, database().storedPosition().orElse(StoredHistory.NOTHING), core.checkpoint())
                : null;
    }

    /** What the core knows, for a member that has what follows an index; null if it would need more than that. */
    CheckpointFile.@Nullable Checkpoint checkpointBehind(long firstHeld) {
        order.lock();
        try {
            return last.index() >= firstHeld && core.firstNeeded() > firstHeld ? checkpoint() : null;
        } finally {
            order.unlock();
        }
    }

    // ------------------------------------------------------------------------------------ local transactions ask

    /** What the database is to tell of its clients' transactions. */
    TransactionListener local() {
        return local;
    }

    /** Whether this is the thread that applies and commits what is ordered. */
    boolean isDelivering() {
        return order.isHeldByCurrentThread();
    }

    /** Null if they are off. */
    @Nullable
    Probes running() {
        return probes;
    }

    /**
     * A transaction that was sent is about to lose its locks before its place in the order is known: what runs here afterwards would
     * not see it and could yet follow it. So nothing is committed here until a new epoch begins, behind it.
     */
    void beginNewEpoch() {
        standing.executesHere(false);
        try {
            // Not by this thread: it is a client's.
            maintenance.execute(() -> {
                order.lock();
                try {
                    core.renew();
                    if (core.isEverywhere()
                            && !standing.is(ReplicaState.STOPPED)
                            && !standing.is(ReplicaState.RECEIVING)) {
                        standing.executesHere(true); // every replica takes writes since it was found overdue
                    }
                } finally {
                    order.unlock();
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before a new epoch was asked for", configuration.self(), e);
        }
    }

    /** For whom way is to be made, for people. */
    String winner() {
        if (!isDelivering()) {
            return "a schema change of this replica, whose turn it is";
        }
        Segment.Change change = segment().applying();
        if (change == null) {
            return "a reading of all tables, at " + last.index();
        }
        long index = change.position().index();
        return ConflictText.winner(change.winner(), index, deliveryTimes.age(index));
    }

    // -------------------------------------------------------------------------------------------- asked from outside

    /**
     * The outcome of a transaction; one that has none yet is aborted by being asked for.
     *
     * @param since an index the group had reached before the transaction asked to be committed
     */
    CompletableFuture<Outcome> close(TransactionId id, long since) {
        long request = lastRequest.incrementAndGet();
        CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        closing.put(request, outcome);
        return ask(new ReplicaMessage.Close(id, since, request), outcome)
                .whenComplete((found, failed) -> closing.remove(request));
    }

    /**
     * Has all replicas compare what they hold. Local transactions that write wait meanwhile; if every replica takes writes, those in
     * the way are rolled back.
     *
     * @param wait how long at most; this replica's own reading of its tables, once begun, is waited for all the same
     * @throws ReplicaException if this replica is not the primary, or transactions do not end in time
     */
    Verification verify(Duration wait) {
        if (!standing.executesHere()) {
            throw new ReplicaException("a verification is led by the primary, which is " + standing.primary());
        }
        long asked;
        boolean alone;
        order.lock();
        try {
            asked = standing.epoch();
            alone = !standing.isEverywhere();
        } finally {
            order.unlock();
        }
        try {
            if (alone) {
                local.gate().close();
            }
            try {
                return verify(asked, wait);
            } finally {
                if (alone) {
                    local.gate().open();
                }
            }
        } catch (ExecutionException e) {
            throw new ReplicaException("the verification failed: " + e.getCause(), e);
        } catch (TimeoutException e) {
            throw new ReplicaException("the verification did not end: " + group().explanation(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ReplicaException("interrupted during the verification", e);
        }
    }

    private Verification verify(long asked, Duration wait)
            throws InterruptedException, ExecutionException, TimeoutException {
        long request = lastRequest.incrementAndGet();
        CompletableFuture<Verification> made = verifications.await(request);
        try {
            if (asked != standing.epoch()) { // nobody tells that the message does not count any more
                made.completeExceptionally(new ReplicaException("the primary or the protocol has changed"));
            }
            return ask(new ReplicaMessage.Verify(request, asked), made).get(wait.toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            verifications.forget(request);
        }
    }

    /** What this replica found for a verification, empty if it has not got there. */
    Optional<Verification> verification(long request) {
        return verifications.find(request);
    }

    /**
     * Has the group run another protocol, and waits until this replica does.
     *
     * @throws ReplicaException if it cannot, or if that is not ordered in time: then it may be yet
     */
    void changeProtocol(ReplicationProtocol wanted) {
        Set<Capability> missing = wanted.missing(database().capabilities());
        if (!missing.isEmpty()) {
            throw new ReplicaException(
                    "protocol " + wanted + " needs " + missing + ", which this replica's database does not have");
        }
        BooleanSupplier runs = () -> standing.followed() == wanted
                && (wanted.isEverywhere() ? standing.executesHere() : standing.primary() != null);
        long deadline = System.nanoTime() + PROTOCOL_WAIT.toNanos();
        while (!runs.getAsBoolean()) {
            long current = standing.epoch();
            if (!standing.view().working()) {
                throw new ReplicaException("the protocol was not changed, because replica " + configuration.self()
                        + " cannot reach a majority of its group: " + group().explanation());
            }
            try {
                if (standing.followed() != wanted) {
                    group().data()
                            .multicast(
                                    ReplicaMessage.encode(new ReplicaMessage.ChangeProtocol(wanted, current)),
                                    SEND_WAIT);
                }
            } catch (GroupException e) {
                throw new ReplicaException("the protocol was not changed: " + e.getMessage(), e);
            }
            if (!standing.progress().await(() -> standing.epoch() != current || runs.getAsBoolean(), deadline)) {
                throw notOrderedYet();
            }
        }
        // An asynchronous primary knows of it before a majority does.
        while (decidedIndex() < standing.epoch()) {
            if (System.nanoTime() - deadline > 0) {
                throw notOrderedYet();
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private ReplicaException notOrderedYet() {
        return new ReplicaException("the change of protocol was not ordered within " + PROTOCOL_WAIT.toSeconds()
                + " s, but may be yet: " + group().explanation());
    }

    private <T> CompletableFuture<T> ask(ReplicaMessage message, CompletableFuture<T> answer) {
        try {
            group().data().multicast(ReplicaMessage.encode(message), SEND_WAIT);
            return answer.orTimeout(configuration.commitTimeout().toMillis(), TimeUnit.MILLISECONDS);
        } catch (GroupException e) {
            answer.completeExceptionally(e);
            return answer;
        }
    }

    private void look() {
        long now = System.nanoTime();
        long visible =
                standing.visible(); // first: it is not ahead of what is decided then, but for an asynchronous primary's
        long decided = decidedIndex();
        toShow.look(decided, visible, now);
        toDecide.look(visible, decided, now);
    }

    /** What is known here to be decided; a checkpoint's place is, also before this run hears of it. */
    private long decidedIndex() {
        return Math.max(log().lastCommitted().index(), checkpointedIndex);
    }

    private static double seconds(long nanos) {
        return Math.round(nanos / 1e8) / 10.0;
    }

    List<HotRow> hotRows() {
        return local.hotRows();
    }

    ReplicaState state() {
        return standing.state();
    }

    View view() {
        return standing.view();
    }

    private String explanation(View now) {
        Group joined = group;
        if (joined != null && !now.working() && !standing.is(ReplicaState.STOPPED)) {
            return joined.explanation();
        }
        if (joined != null && standing.is(ReplicaState.ONLINE)) {
            long visible = standing.visible();
            long behind = decidedIndex() - visible;
            return behind == 0
                    ? "shows everything that is ordered"
                    : behind > 0
                            ? behind + " places in the order behind"
                            : "shows everything that is ordered, and more";
        }
        return standing.explanation();
    }

    /** Off, they forget what they have measured. */
    synchronized void probe(boolean on) {
        probes = !on ? null : probes == null ? new Probes() : probes;
    }

    ReplicaProbes probes() {
        Probes on = probes;
        Group joined = group;
        return new ReplicaProbes(
                configuration.self(),
                on != null,
                on == null ? Map.of() : on.times(),
                local.committed(),
                applied.sum(),
                joined == null ? GroupCounts.NONE : joined.counts(),
                flushes.sum());
    }

    ReplicaStatus status() {
        View now = standing.view();
        Group joined = group;
        ReplicationProtocol groups = standing.followed();
        long nanos = System.nanoTime();
        long visible = standing.visible(); // before what is decided, which it may not be ahead of otherwise
        long decided = joined == null ? 0 : decidedIndex();
        return new ReplicaStatus(
                configuration.self(),
                standing.state(),
                explanation(now),
                standing.primary(),
                groups == null ? configuration.protocol() : groups,
                standing.executesHere() && (!standing.isEverywhere() || standing.is(ReplicaState.ONLINE)),
                standing.epoch(),
                now.working(),
                now.members(),
                now.learners(),
                decided,
                visible,
                durableIndex,
                seconds(toShow.nanos(visible, nanos)),
                Math.max(0, visible - decided),
                seconds(toDecide.nanos(decided, nanos)),
                local.suspended(),
                local.committed(),
                applied.sum(),
                flow.share(),
                flow.slowest(),
                local.refused());
    }
}
