package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.gorda.gapi.Applier;
import org.gorda.gapi.Capability;
import org.gorda.gapi.Content;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.replicator.core.Conflict;
import org.gorda.replicator.core.Effects;
import org.gorda.replicator.core.FirstRows;
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
 * Steps the core by what is delivered, and carries out what it decides: applies what others did and makes all commits in the database, local ones
 * too, in order. Guarded by the order's lock, but for {@link #applied}.
 */
final class Delivery implements Effects {

    private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);

    /** Our own schema, whose name is not quoted. */
    private static final String OWN_SCHEMA = "gorda";

    /** Who waits to be answered for longer has the database forced to disk, however much there is still to do. */
    private static final long RELEASE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final ReplicaConfiguration configuration;
    private final Standing standing;
    private final StoredHistory history;
    private final ReplicaEngine engine;
    private final ReplicaCore core;
    private final DatabaseWatch.Work commits;

    private @Nullable Applier applier;
    private @Nullable Segment segment;

    /** Committed, to be answered once they are on disk. */
    private final List<SuspendedCommit> toRelease = new ArrayList<>();

    /** Since when the first of these waits. */
    private long toReleaseNanos;

    /** Local transactions in the segment: the database had rolled them back for others that were ordered before. */
    private final List<SuspendedCommit> replayed = new ArrayList<>();

    /** For the next transaction, which changes the schema. */
    private Map<Generator, OptionalLong> settling = Map.of();

    /** What the database held when it was opened, if that was nothing that was ordered. */
    private FirstRows rows = FirstRows.NONE;

    private final DeliveryTimes times = new DeliveryTimes();
    private @Nullable MessageId delivered;
    private Position last = Position.START;
    private final LongAdder applied = new LongAdder();

    /** @param commits told of each that it makes */
    Delivery(
            ReplicaConfiguration configuration,
            Standing standing,
            StoredHistory history,
            DatabaseWatch.Work commits,
            ReplicaEngine engine) {
        this.configuration = configuration;
        this.standing = standing;
        this.history = history;
        this.commits = commits;
        this.engine = engine;
        long run = ThreadLocalRandom.current().nextLong();
        this.core = new ReplicaCore(configuration.self(), run, configuration.protocol(), this);
    }

    ReplicaCore core() {
        return core;
    }

    private Applier applier() {
        return java.util.Objects.requireNonNull(applier);
    }

    private Segment segment() {
        return java.util.Objects.requireNonNull(segment);
    }

    /** The database was opened. */
    void opened(Applier own) {
        applier = own;
        segment = new Segment(configuration.self(), own);
    }

    /** The database holds nothing that was ordered: what it holds is read, to be compared when the group begins. */
    void beginsAnew() {
        rows = firstRows();
        core.holds(rows);
    }

    private FirstRows firstRows() {
        if (!hasRows()) {
            return hasTables() ? FirstRows.TABLES : FirstRows.NONE;
        }
        LOG.info(
                "{}: reads all rows of the database at {}, once, to compare them with what the group begins with",
                configuration.self(),
                configuration.location());
        try {
            FirstRows found = TableChecksum.together(Verifications.checksums(applier(), false));
            if (found.equals(FirstRows.NONE)) {
                LOG.warn(
                        "{}: the database at {} has rows only in tables that are not replicated: other replicas do not get them",
                        configuration.self(),
                        configuration.location());
            }
            return found;
        } catch (SQLException | IOException | ReflectionException e) {
            throw new ReplicaException("the tables of " + configuration.location() + " cannot be read: " + e, e);
        }
    }

    /** The core was restored from a checkpoint made at this position. */
    void restored(Position after) {
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

    /** A message has been ordered behind the {@link #last}. */
    void deliver(Message message) {
        times.delivered(message.position().index());
        if (!toRelease.isEmpty() && times.lastNanos() - toReleaseNanos > RELEASE_NANOS) {
            releaseDurably();
        }
        delivered = message.id();
        core.delivered(message);
        last = message.position();
    }

    // ------------------------------------------------------------------------------------------------ the core wants

    @Override
    public void commit(Position position, TransactionId id, long[] chunks, ByteBuffer writeSet) {
        Map<Generator, OptionalLong> settled = settling;
        settling = Map.of();
        if (history.holds(position.index())) {
            return; // the database has it
        }
        SuspendedCommit waiting = isFromHere() ? engine.local().ordered(id, core.epoch()) : null;
        // What changed the schema here did so before generators were settled: it is applied like everywhere.
        if (waiting != null && settled.isEmpty()) {
            Probes.Probe probe = LocalTransactions.probe(waiting);
            Probes.certified(probe, position.index(), times.lastNanos());
            commitSegment();
            Probes.end(probe, Stage.TURN);
            if (commit(waiting, position)) {
                Probes.end(probe, Stage.COMMIT);
                standing.visible(position.index());
                release(waiting);
                return;
            }
        }
        if (chunks.length > 0 && chunks[0] <= engine.log().firstHeld().index()) {
            // As a learner it did not count when the others released it.
            throw new MustReceiveException("a part of transaction " + id + " lies at " + chunks[0]);
        }
        Content preceding = chunks.length == 0 ? Content.EMPTY : new LogContent(engine.log(), chunks);
        Probes.Probe probe = Probes.begin(engine.running());
        WriteSet decoded = WriteSet.decode(writeSet, preceding);
        Probes.end(probe, Stage.DECODE);
        if (chunks.length > 0 || decoded.changesSchema()) {
            commitSegment();
            releaseDurably(); // it may take long
            Probes.skip(probe);
        }
        if (waiting != null) {
            if (!standing.isEverywhere() && !waiting.isAnswered()) {
                LOG.warn(
                        "{}: its server has ended the session of transaction {} before that was committed, at {}: what it has changed is applied, and what runs beside it is refused",
                        configuration.self(),
                        id,
                        position);
                engine.beginNewEpoch(); // before what it has changed is visible
            }
            waiting.awaitUndone();
            replayed.add(waiting);
        }
        applied.increment();
        Conflict.Winner winner = new Conflict.Winner(id, delivered().member());
        long firstChunk = chunks.length == 0 ? Segment.NO_CHUNK : chunks[0];
        Segment.Change change = new Segment.Change(decoded, position, winner, settled, firstChunk);
        fromLog(() -> segment().apply(change));
        Probes.end(probe, Stage.APPLY);
        Probes.count(probe, Stage.APPLY);
        if (segment().isFull() || decoded.changesSchema()) {
            commitSegment();
        }
    }

    /** Applies what may be read from the log, which can have been replaced meanwhile by one that begins later. */
    private void fromLog(Runnable work) {
        try {
            work.run();
        } catch (DivergenceException e) {
            throw e;
        } catch (RuntimeException e) {
            long firstChunk = segment().firstChunk();
            if (firstChunk > engine.log().firstHeld().index()) {
                throw e;
            }
            LOG.debug("{}: the log begins later by now", configuration.self(), e);
            applier().rollback();
            throw new MustReceiveException("a part of a transaction lies at " + firstChunk);
        }
    }

    /** Not forced to disk; false if its write set is to be applied instead. */
    private boolean commit(SuspendedCommit waiting, Position position) {
        if (waiting.mayTakeLong()) {
            releaseDurably();
            return waiting.commit(storedAt(position), false);
        }
        commits.begin();
        try {
            return waiting.commit(storedAt(position), false);
        } finally {
            commits.end();
        }
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {
        engine.leases().clear();
        settling = next;
        standing.schemaChanged(core.lastIndex());
    }

    @Override
    public void lease(long request, MemberId asker, @Nullable LeasedRange range) {
        if (asker.equals(configuration.self())) {
            engine.leases().granted(request, range);
        }
    }

    @Override
    public void schemaTurn(TransactionId id, Position position, boolean ends) {
        engine.schemaTurns().delivered(id, position.index(), ends);
    }

    @Override
    public void chunk(TransactionId id) {
        if (isFromHere()) {
            engine.chunkSender().delivered(id);
        }
    }

    private static StoredPosition storedAt(Position position) {
        return new StoredPosition(position.group().high(), position.group().low(), position.term(), position.index());
    }

    /** Commits in the database what is applied. */
    void commitSegment() {
        if (segment().isEmpty()) {
            return;
        }
        Position end = segment().end();
        Probes.Probe probe = Probes.begin(engine.running());
        fromLog(segment()::execute);
        standing.executed(end.index()); // not before: who changes the same is compared only with what comes later
        commits.run(() -> segment().commit(storedAt(end)));
        Probes.end(probe, Stage.INSTALL);
        Probes.count(probe, Stage.INSTALL);
        standing.visible(end.index());
        replayed.forEach(this::release);
        replayed.clear();
    }

    /** It is committed. With local durability a run of commits is forced to disk by one flush, then all are answered. */
    private void release(SuspendedCommit committed) {
        if (configuration.durability() != Durability.LOCAL) {
            committed.release();
            return;
        }
        if (toRelease.isEmpty()) {
            toReleaseNanos = System.nanoTime();
        }
        toRelease.add(committed);
    }

    /** Answers all that are committed and wait for the disk: when nothing else is to be done, or when that takes too long. */
    void releaseDurably() {
        if (toRelease.isEmpty()) {
            return;
        }
        commits.run(engine.checkpointer()::flush);
        toRelease.forEach(SuspendedCommit::release);
        toRelease.clear();
    }

    private MessageId delivered() {
        return java.util.Objects.requireNonNull(delivered);
    }

    /** Clients name transactions, and two of them on two replicas might by the same name, or in two runs of this one. */
    private boolean isFromHere() {
        return engine.group().isOwn(delivered());
    }

    @Override
    public void discard(TransactionId id, long epoch, Refusal refusal) {
        if (isFromHere()) {
            engine.local().discard(id, epoch, refusal);
        }
    }

    @Override
    public void conflict(TransactionId id, Conflict conflict) {
        if (isFromHere()) {
            engine.local().conflict(id, core.epoch(), conflict, times.age(conflict.index()));
        }
    }

    @Override
    public void begun(Position position, MemberId member, FirstRows theirs) {
        if (history.holds(position.index()) || theirs.equals(rows)) {
            return;
        }
        boolean lacksTables = theirs.equals(FirstRows.TABLES) && !hasTables();
        if (theirs.count() == 0 && rows.count() == 0 && !lacksTables) {
            return; // where there are several engines people make tables at one before the others
        }
        String differs = "the group began with " + shown(theirs) + " at " + member;
        if (!hasRows()) {
            throw new MustReceiveException(differs + ", and the database here with none");
        }
        throw new ReplicaException("the database at " + configuration.location() + " holds " + shown(rows)
                + " that nobody has replicated, but " + differs
                + ". Move that database away, and the replica receives the group's. If the group is to have these rows instead, "
                + "begin it anew with copies of that database, or with this replica alone, which others are added to");
    }

    private static String shown(FirstRows rows) {
        return rows.count() == 0
                ? rows.equals(FirstRows.TABLES) ? "tables without rows" : "no rows"
                : (rows.count() == 1 ? "a row" : rows.count() + " rows") + " (checksum "
                        + Long.toHexString(rows.checksum()) + ")";
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
        engine.log().deliverAhead(false);
        checkFollows(next);
        beginEpoch(null, newEpoch, told + " (epoch " + newEpoch + "); the transaction did not happen: run it again");
        engine.leases().clear();
        engine.schemaTurns().clear();
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
        again("generators could not be settled at once", () -> {
            if (toEverywhere) {
                engine.database().takeOver();
            }
            applier().settle(next);
            applier().leaseGenerators(toEverywhere);
            applier().commit(storedAt(position), false);
        });
    }

    /** As often as is tried what the database may fail at for a moment, as where a lock takes too long. */
    private void again(String failed, Runnable action) {
        for (int tries = 1; true; tries++) {
            try {
                action.run();
                return;
            } catch (DivergenceException e) {
                throw e;
            } catch (ReflectionException e) {
                if (tries == Segment.TRIES) {
                    throw e;
                }
                LOG.warn("{}: {}: {}", configuration.self(), failed, e.getMessage());
                applier().rollback();
            }
        }
    }

    /** All members must decide alike, so that each does as the group does, or nothing. */
    private void checkFollows(ReplicationProtocol groups) {
        Set<Capability> missing = groups.missing(engine.capabilities());
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
            again("the primary could not begin at once", () -> engine.database().takeOver());
            standing.executesHere(true);
        }
        standing.follow(core.protocol());
        engine.log().deliverAhead(here && standing.followed() == ReplicationProtocol.ASYNCHRONOUS);
        standing.progress().signal();
        LOG.info("{}: {} is the primary, epoch {}", configuration.self(), here ? "this replica" : member, newEpoch);
    }

    private void beginEpoch(@Nullable MemberId member, long newEpoch, String told) {
        commitSegment();
        releaseDurably(); // what is committed is not aborted with the others
        Refusal refusal = new Refusal(Refusal.Cause.PRIMARY_CHANGED, told);
        standing.executesHere(false);
        standing.epoch(newEpoch, member);
        engine.local().abortAll(refusal);
        engine.requests().giveUpVerifications(new ReplicaException(told));
    }

    @Override
    public void outcome(long request, MemberId asker, TransactionId id, Outcome outcome) {
        engine.chunkSender().giveUp(id);
        if (outcome == Outcome.ABORTED) {
            engine.local().givenUp(id, core.lastIndex());
        }
        if (asker.equals(configuration.self())) {
            engine.requests().answered(request, outcome);
        }
    }

    @Override
    public void verify(long request, Position position) {
        if (history.holds(position.index())) {
            engine.requests().passOver(request); // the database may be further already
            return;
        }
        commitSegment();
        releaseDurably();
        standing.visible(position.index());
        engine.requests().verify(request, position, isFromHere());
    }

    @Override
    public void durableEverywhere(long index) {
        engine.checkpointer().durableEverywhere(index);
    }

    @Override
    public void send(ReplicaMessage message) {
        engine.send(message);
    }

    // ------------------------------------------------------------------------------------------------- what is here

    /** What was executed last. */
    Position last() {
        return last;
    }

    /** Of all tables, by the delivery. */
    List<TableChecksum> checksums() throws SQLException, IOException {
        return Verifications.checksums(applier(), true);
    }

    /** Whether all that was executed is committed in the database. */
    boolean hasCommittedAll() {
        return segment().isEmpty();
    }

    /** Whether what is executed and not committed yet is of several transactions. */
    boolean isGathered() {
        return segment().isGathered();
    }

    /** Whether there are any of clients. */
    boolean hasTables() {
        return !tables().isEmpty();
    }

    /** Whether clients' tables have any. */
    boolean hasRows() {
        List<String> tables = tables();
        try {
            for (String table : tables) {
                if (RowsReader.isAny(applier().reading(), table)) {
                    return true;
                }
            }
            return false;
        } catch (SQLException e) {
            throw new ReplicaException("the tables of " + configuration.location() + " cannot be read: " + e, e);
        } finally {
            applier().rollback();
        }
    }

    /** Those of clients, as SQL names them, whether their rows can be replicated or not. */
    private List<String> tables() {
        try {
            DatabaseMetaData database = applier().reading().getMetaData();
            String own = database.storesLowerCaseIdentifiers() ? OWN_SCHEMA : OWN_SCHEMA.toUpperCase(Locale.ROOT);
            List<String> tables = new ArrayList<>();
            try (ResultSet found = database.getTables(null, null, "%", new String[] {"TABLE"})) {
                while (found.next()) {
                    String schema = found.getString("TABLE_SCHEM");
                    String name = found.getString("TABLE_NAME");
                    if (schema == null) { // the database has no schemas
                        if (!name.startsWith(own + "$")) {
                            tables.add(TableShape.quoted(name));
                        }
                    } else if (!schema.equals(own) && !schema.equals("INFORMATION_SCHEMA")) {
                        tables.add(TableShape.quoted(schema) + "." + TableShape.quoted(name));
                    }
                }
            }
            return tables;
        } catch (SQLException e) {
            throw new ReplicaException("the tables of " + configuration.location() + " cannot be listed: " + e, e);
        } finally {
            applier().rollback();
        }
    }

    /** Where in the order is what is being applied, in the thread that applies; 0 in any other. */
    long applying() {
        if (!engine.isDelivering()) {
            return 0;
        }
        Segment.Change change = segment().applying();
        return change == null ? last.index() : change.position().index();
    }

    /** For whom way is to be made, for people. */
    String winner() {
        long index = applying();
        if (index == 0) {
            return "a schema change of this replica, whose turn it is";
        }
        Segment.Change change = segment().applying();
        return change == null
                ? "a verification, which reads all tables, at " + index
                : ConflictText.winner(change.winner(), index, times.age(index));
    }

    /** Transactions of others, since the start. By any thread. */
    long applied() {
        return applied.sum();
    }
}
