package org.gorda.replicator.engine;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import org.gorda.gapi.Capability;
import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorRange;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.replicator.core.Conflict;
import org.gorda.replicator.core.ReplicaMessage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The transactions of this replica's own clients: each in its client's thread until its commit is sent; after that it waits for the delivery to
 * decide. Thread-safe.
 */
final class LocalTransactions implements TransactionListener {

    private static final Logger LOG = LoggerFactory.getLogger(LocalTransactions.class);

    private static final String KEPT_OUT = "writes are held up by a verification: run it again";

    /** What is known here of a local transaction that has begun. */
    private static final class Begun {
        final long epoch;

        final Probes.@Nullable Probe probe;

        /** If it changes the schema. */
        volatile SchemaTurns.@Nullable Own turn;

        /** Of what precedes its write set, the last that was sent; by its client's thread. */
        @Nullable
        MessageId lastChunk;

        Begun(long epoch, Probes.@Nullable Probe probe) {
            this.epoch = epoch;
            this.probe = probe;
        }
    }

    /** At a connection whose last transaction has lost: the place in the order of who has won. */
    private record LostTo(long index) {}

    private final ReplicaConfiguration configuration;
    private final Standing standing;
    private final FlowControl flow;
    private final GeneratorLeases leases;
    private final SchemaTurns schemaTurns;
    private final ChunkSender chunkSender;
    private final ReplicaEngine engine;

    private final WriteGate gate;
    /** Sent, and not decided. */
    private final Map<TransactionId, SuspendedCommit> inFlight = new ConcurrentHashMap<>();

    /** The one that left those last, whose commit may not have ended. */
    private volatile @Nullable SuspendedCommit decided;

    /** By the names of those that ask to be committed and have not ended: clients give them. */
    private final Map<TransactionId, TransactionContext> committing = new ConcurrentHashMap<>();

    private final GivenUp givenUp = new GivenUp();
    private final LongAdder committed = new LongAdder();
    private final Refusals refusals = new Refusals();
    private final HotRows hotRows = new HotRows();

    LocalTransactions(
            ReplicaConfiguration configuration,
            Standing standing,
            FlowControl flow,
            GeneratorLeases leases,
            SchemaTurns schemaTurns,
            ChunkSender chunkSender,
            ReplicaEngine engine) {
        this.configuration = configuration;
        this.standing = standing;
        this.flow = flow;
        this.leases = leases;
        this.schemaTurns = schemaTurns;
        this.chunkSender = chunkSender;
        this.engine = engine;
        this.gate = new WriteGate(standing.progress());
    }

    // --------------------------------------------------------------------------------------------- transactions tell

    @Override
    public long visible() {
        return standing.visible();
    }

    @Override
    public long beginning(ConnectionContext connection) {
        if (connection.attachment() instanceof LostTo winner) {
            connection.attach(null);
            awaitShown(winner.index);
        }
        return standing.visible();
    }

    /** Otherwise it would read once more what was there before. If that takes long, or the replica goes no further, it only does not help. */
    private void awaitShown(long index) {
        try {
            standing.progress()
                    .await(() -> standing.visible() >= index || !standing.is(ReplicaState.ONLINE), deadline());
        } catch (RefusedException e) {
            LOG.debug("the client is interrupted", e); // which its thread remembers
        }
    }

    private long deadline() {
        return System.nanoTime() + 3 * configuration.electionTimeout().toNanos();
    }

    @Override
    public boolean takesWrites() {
        return standing.executesHere();
    }

    @Override
    public boolean isPacing() {
        return flow.isPacing() || gate.isClosed();
    }

    @Override
    public void pace() {
        try {
            flow.pace(configuration.commitTimeout());
            if (!gate.awaitOpen()) {
                throw new RefusedException(new Refusal(Refusal.Cause.OVERDUE, KEPT_OUT));
            }
        } catch (RefusedException e) {
            throw refusals.counted(e);
        }
    }

    @Override
    public void begin(TransactionContext transaction) {
        if (!gate.enter()) {
            throw refusals.refuse(Refusal.Cause.OVERDUE, KEPT_OUT);
        }
        boolean begun = false;
        try {
            long current = standing.epoch();
            checkWritable();
            if (standing.isEverywhere()
                    && transaction.connection().isSerializable()
                    && !engine.capabilities().contains(Capability.READ_SETS)) {
                throw refusals.refuse(
                        Refusal.Cause.UNSUPPORTED,
                        "SERIALIZABLE cannot be had where every replica takes writes, because this database does not tell"
                                + " what a transaction has read: use REPEATABLE READ, or run protocol=primary-backup");
            }
            transaction.attach(new Begun(current, Probes.begin(engine.running())));
            begun = true;
        } finally {
            if (!begun) {
                gate.leave();
            }
        }
    }

    @Override
    public boolean wantsKeys() {
        return standing.isEverywhere();
    }

    @Override
    public boolean leases() {
        return standing.isEverywhere();
    }

    @Override
    public OptionalLong leased(String generator) {
        return leases.take(generator);
    }

    @Override
    public OptionalLong lease(TransactionContext transaction, String generator, GeneratorState generatorState) {
        checkWritable();
        try {
            return leases.await(generator, generatorState, transaction.begunAt());
        } catch (RefusedException e) {
            throw refusals.counted(e);
        }
    }

    @Override
    public Map<Generator, GeneratorRange> leaseRanges(Map<GeneratorState, Integer> wanted, long seen) {
        checkWritable();
        return leases.awaitRanges(wanted, seen);
    }

    private void checkWritable() {
        checkWorking();
        if (!standing.executesHere()) {
            MemberId elsewhere = standing.primary();
            throw refusals.refuse(
                    Refusal.Cause.BACKUP,
                    "replica " + configuration.self() + " is a backup and takes no writes: "
                            + (elsewhere == null || elsewhere.equals(configuration.self())
                                    ? "there is no primary yet"
                                    : "the primary is " + elsewhere));
        }
    }

    /** Whether what is written here could be ordered now. */
    private void checkWorking() {
        if (standing.is(ReplicaState.STOPPED)) {
            throw refusals.refuse(
                    Refusal.Cause.STOPPED,
                    "this replica has stopped (" + standing.explanation() + "): connect to another one");
        }
        if (!standing.view().working()) {
            throw refusals.refuse(
                    Refusal.Cause.NO_MAJORITY,
                    "replica " + configuration.self() + " cannot reach a majority of its group: "
                            + engine.group().explanation());
        }
        if (standing.isEverywhere() && !standing.is(ReplicaState.ONLINE)) {
            throw refusals.refuse(
                    Refusal.Cause.NO_MAJORITY,
                    "replica " + configuration.self() + " is not up to date yet: " + standing.explanation());
        }
    }

    @Override
    public long committing(SuspendedCommit commit) {
        TransactionContext transaction = commit.transaction();
        TransactionId id = transaction.id();
        Begun begun = begun(transaction);
        Probes.end(begun.probe, Stage.EXECUTE);
        long begunIn = begun.epoch;
        if (!standing.executesHere() || begunIn != standing.epoch()) {
            throw refusals.refuse(
                    Refusal.Cause.PRIMARY_CHANGED,
                    "the primary changed while transaction " + id + " ran; it did not happen: run it again");
        }
        checkWorking();
        if (committing.putIfAbsent(id, transaction) != null || inFlight.containsKey(id)) {
            committing.remove(id, transaction);
            throw refusals.refuse(
                    Refusal.Cause.CONFLICT,
                    "another transaction of this replica is called " + id
                            + ", and asks to be committed: give each a number of its own, higher than those of its session before");
        }
        WriteSet writeSet = commit.writeSet();
        long base = standing.visible();
        boolean asked = false;
        try {
            int chunks = chunkSender.send(
                    engine.group().data(),
                    id,
                    begunIn,
                    base,
                    writeSet,
                    () -> standing.executesHere() && begunIn == standing.epoch() && !commit.isAnswered(),
                    sent -> begun.lastChunk = sent);
            ByteBuffer message = writeSet.precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
            long executed = awaitRoom(commit, begun);
            // Behind that: what was given up before it is known here.
            if (givenUp.mayHold(id, transaction.begunAt())) {
                throw new RefusedException(
                        new Refusal(
                                Refusal.Cause.OVERDUE,
                                "transaction " + id
                                        + " was given up by its client before it asked to be committed, or may have been; it did not happen"));
            }
            ReplicaMessage.putWriteSetHeader(message, id, begunIn, transaction.begunAt(), executed, chunks);
            // Before it is sent, because the answer may be quicker than this thread, and so may be who stops the
            // replica.
            inFlight.put(id, commit);
            if (!commit.handOver()) {
                throw new RefusedException(new Refusal(
                        Refusal.Cause.PRIORITY, "transaction " + id + " gave way before it was sent: run it again"));
            }
            requireNoneLost(id, begunIn);
            Probes.end(begun.probe, Stage.ENCODE);
            ChunkSender.multicast(engine.group().data(), message, configuration.commitTimeout(), () -> {
                if (commit.hasGivenWay()) {
                    throw new RefusedException(new Refusal(
                            Refusal.Cause.PRIORITY,
                            "transaction " + id + " gave way before it was sent: run it again"));
                }
                return !commit.isAnswered();
            });
            asked = true;
        } catch (RefusedException e) {
            if (!commit.isAnswered()) {
                refusals.count(e.refusal().cause());
            }
            throw e;
        } catch (GroupException e) {
            throw refusals.refuse(
                    e.disposition() == GroupException.Disposition.RETRY
                            ? Refusal.Cause.OVERDUE
                            : e.disposition() == GroupException.Disposition.CORRECT
                                    ? Refusal.Cause.TOO_LARGE
                                    : Refusal.Cause.STOPPED,
                    String.valueOf(e.getMessage()));
        } finally {
            if (!asked) {
                inFlight.remove(id, commit);
            }
            MessageId last = begun.lastChunk;
            if (!asked && last != null) {
                // Chunks that are ordered already would be kept for a commit that does not come.
                engine.send(new ReplicaMessage.Abandon(id, last));
            }
        }
        return configuration.commitTimeout().toNanos();
    }

    /**
     * Where one replica takes writes, who has the locks of one that was lost does not follow it: an epoch begins that both are in, or neither. It is looked for in what is sent
     * already, this one included, which is lost by then if this one could have its locks.
     */
    private void requireNoneLost(TransactionId id, long begunIn) {
        if (standing.isEverywhere()) {
            return;
        }
        boolean lost = inFlight.values().stream().anyMatch(SuspendedCommit::isLost);
        SuspendedCommit last = decided; // read behind that: what left them meanwhile is this one, or has ended
        if (lost || (last != null && last.isLost())) {
            engine.beginNewEpoch();
        }
        if (!standing.executesHere() || begunIn != standing.epoch()) {
            throw refusals.refuse(
                    Refusal.Cause.PRIMARY_CHANGED,
                    "the database has lost a transaction that was being committed, or the primary changed, while transaction "
                            + id + " ran; it did not happen: run it again");
        }
    }

    private static Begun begun(TransactionContext transaction) {
        return (Begun) java.util.Objects.requireNonNull(transaction.attachment());
    }

    /** Up to where everything has run here, no other's turn to change the schema among it; from where its own turn began if it has one. */
    private long awaitRoom(SuspendedCommit commit, Begun begun) {
        SchemaTurns.Own own = begun.turn;
        if (own != null) {
            return own.begun();
        }
        long executed = standing.executed();
        return schemaTurns.isRoom(executed)
                ? executed
                : schemaTurns.awaitRoom(() -> standing.executed(), commit::isAnswered);
    }

    @Override
    public void changesSchema(TransactionContext transaction, boolean first) {
        if (!standing.isEverywhere()) {
            return;
        }
        Begun begun = begun(transaction);
        try {
            begun.turn = schemaTurns.take(
                    transaction.id(), engine.log().lastCommitted().index(), () -> standing.visible());
        } catch (RefusedException e) {
            throw refusals.counted(e);
        }
        long changed = standing.schemaChanged();
        if (!first && changed > transaction.begunAt()) {
            throw refusals.refuse(
                    Refusal.Cause.CONFLICT,
                    ConflictText.of(null, ConflictText.winner(null, changed, ""), "came first"));
        }
    }

    @Override
    public void schemaUnchanged(TransactionContext transaction) {
        Begun begun = begun(transaction);
        SchemaTurns.Own own = begun.turn;
        if (own != null) {
            begun.turn = null;
            own.end();
        }
    }

    @Override
    public boolean wins(TransactionContext transaction) {
        SchemaTurns.Own own = begun(transaction).turn;
        return own != null && own.isNow();
    }

    /** Not before it is sure: who has its locks because it was lost has not seen what it did. */
    @Override
    public void executed(StoredPosition position) {
        standing.executed(position.index());
    }

    /** What is ordered behind a reading of all tables is as late as if it had been sent when that ended. */
    @Override
    public long overtimeNanos(SuspendedCommit commit) {
        long read = engine.requests().lastReadNanos();
        return commit.sinceNanos() - read > 0
                ? 0
                : Math.max(0, read + configuration.commitTimeout().toNanos() - System.nanoTime());
    }

    @Override
    public void overdue(SuspendedCommit commit) {
        if (!standing.isEverywhere()) {
            engine.beginNewEpoch();
        }
        leaveUnknown(
                commit,
                "not ordered within " + configuration.commitTimeout().toMillis() + " ms: "
                        + engine.group().explanation());
    }

    /** Whether the transaction will be committed is not decided here any more; its message may be ordered yet. */
    private void leaveUnknown(SuspendedCommit commit, String why) {
        TransactionId id = commit.transaction().id();
        if (commit.leaveUnknown(new Refusal(
                Refusal.Cause.UNKNOWN_OUTCOME,
                "whether transaction " + id + " is committed is not known here: " + why
                        + ". Ask any replica for the outcome of " + id))) {
            refusals.count(Refusal.Cause.UNKNOWN_OUTCOME);
        }
    }

    @Override
    public Refusal makeWay(@Nullable RowKey row) {
        return new Refusal(
                Refusal.Cause.PRIORITY,
                row == null && engine.requests().isReading()
                        ? engine.delivery().winner()
                                + ", needed a lock that this transaction held; it did not happen: run it again"
                        : ConflictText.of(
                                row, engine.delivery().winner(), "came first and needed a lock that this one held"));
    }

    @Override
    public void gaveWay(ConnectionContext connection, @Nullable RowKey row) {
        refusals.count(Refusal.Cause.PRIORITY);
        long index = engine.delivery().applying();
        if (index > 0) {
            connection.attach(new LostTo(index));
        }
        if (row != null) {
            hotRows.add(row, Refusal.Cause.PRIORITY, engine.delivery().winner());
        }
    }

    @Override
    public void ended(TransactionContext transaction, boolean isCommitted) {
        gate.leave();
        committing.remove(transaction.id(), transaction);
        if (transaction.attachment() instanceof Begun begun) {
            schemaUnchanged(transaction);
            if (isCommitted) {
                Probes.end(begun.probe, Stage.WAKE);
                Probes.count(begun.probe, Stage.COMMIT);
            }
        }
        if (isCommitted) {
            committed.increment();
        }
    }

    @Override
    public void databaseFailed(ReflectionException cause) {
        engine.fail(String.valueOf(cause.getMessage()), cause);
    }

    // ----------------------------------------------------------------------------------------------- strong reads

    @Override
    public boolean wantsReads() {
        return configuration.strongReads();
    }

    @Override
    public void reading(ConnectionContext connection) {
        if (engine.isDelivering()) {
            return; // our own
        }
        long deadline = deadline();
        Position position;
        try {
            position = engine.log().readPosition().get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw refusals.refuse(
                    Refusal.Cause.NO_MAJORITY,
                    "replica " + configuration.self() + " cannot make sure to be up to date: "
                            + engine.group().explanation());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Progress.interrupted();
        }
        awaitVisible(position.index(), deadline, Refusal.Cause.NO_MAJORITY);
    }

    @Override
    public void awaitVisible(long index) {
        awaitVisible(index, deadline(), Refusal.Cause.OVERDUE);
    }

    private void awaitVisible(long index, long deadline, Refusal.Cause otherwise) {
        if (standing.visible() < index && !standing.progress().await(() -> standing.visible() >= index, deadline)) {
            throw refusals.refuse(
                    otherwise,
                    "replica " + configuration.self() + " is behind: it shows everything up to " + standing.visible()
                            + ", wanted is " + index);
        }
        if (standing.is(ReplicaState.RECEIVING)) { // it may show as much of what the group has not kept
            throw refusals.refuse(
                    otherwise, "replica " + configuration.self() + " is not up to date: " + standing.explanation());
        }
    }

    @Override
    public long seen() {
        return standing.executed();
    }

    // ------------------------------------------------------------------------------------------- the delivery decides

    /**
     * What waits for its place in the order here, and waits for that no longer; null if nothing does that is called so and began in that epoch: a client may
     * have run again by the same name what an epoch ended for. Within one, a run of this replica sends no name again before it was ordered.
     */
    @Nullable
    SuspendedCommit ordered(TransactionId id, long epoch) {
        SuspendedCommit waiting = inFlight.get(id);
        boolean isIt = waiting != null && begun(waiting.transaction()).epoch == epoch;
        if (!isIt) {
            return null;
        }
        decided = waiting; // before it is not among the others: who looks for what is lost finds it
        return inFlight.remove(id, waiting) ? waiting : null;
    }

    static Probes.@Nullable Probe probe(SuspendedCommit commit) {
        return begun(commit.transaction()).probe;
    }

    /** It is not to be committed, anywhere. */
    void discard(TransactionId id, long epoch, Refusal refusal) {
        abort(ordered(id, epoch), refusal);
    }

    private void abort(@Nullable SuspendedCommit waiting, Refusal refusal) {
        if (waiting != null && waiting.abort(refusal)) {
            refusals.count(refusal.cause());
        }
    }

    /**
     * It has lost a conflict, everywhere.
     *
     * @param age of who has won, for people
     */
    void conflict(TransactionId id, long epoch, Conflict conflict, String age) {
        SuspendedCommit waiting = ordered(id, epoch);
        if (waiting == null) {
            return;
        }
        WriteSet writeSet = waiting.writeSet();
        RowKey row = new ConflictText(writeSet).row(conflict.key());
        String how =
                writeSet.read(conflict.key()) == null ? "came first" : "came first and changed what this one had read";
        String winner = ConflictText.winner(conflict.winner(), conflict.index(), age);
        Refusal refusal = new Refusal(Refusal.Cause.CONFLICT, ConflictText.of(row, winner, how));
        waiting.transaction().connection().attach(new LostTo(conflict.index()));
        if (waiting.abort(refusal)) {
            refusals.count(refusal.cause());
            if (row != null) {
                hotRows.add(row, Refusal.Cause.CONFLICT, winner);
            }
        }
    }

    /** It is decided that it does not happen, because somebody has asked. Called before this place counts as executed. */
    void givenUp(TransactionId id, long index) {
        givenUp.add(id, index);
    }

    /** An epoch begins: what was sent before and is not ordered yet will be discarded by all, and what runs could not be ordered. */
    void abortAll(Refusal refusal) {
        for (TransactionId id : List.copyOf(inFlight.keySet())) {
            abort(inFlight.remove(id), refusal);
        }
        engine.database().abortAll(refusal);
    }

    /** This replica takes no part any more: whoever waits is told that the outcome is not known here. */
    void leaveAllUnknown(String why) {
        inFlight.values().forEach(waiting -> leaveUnknown(waiting, why));
    }

    // -------------------------------------------------------------------------------------------------- for people

    /** Keeps those out that write, for a verification. */
    WriteGate gate() {
        return gate;
    }

    long committed() {
        return committed.sum();
    }

    int suspended() {
        return inFlight.size();
    }

    Map<Refusal.Cause, Long> refused() {
        return refusals.counts();
    }

    /** The rows by which local transactions have lost most since the start, the hottest first. */
    List<HotRow> hotRows() {
        return hotRows.list();
    }
}
