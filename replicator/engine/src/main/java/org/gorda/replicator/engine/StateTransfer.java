package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.TableShape;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Databases on their way between replicas, for a replica whose log does not reach back to what its database holds. What is sent is the
 * core's state at a place q in the order, and then the database at its own place p, not before q: whoever gets them steps the core from q and
 * applies what follows p, both from its own log, so that nothing need be cut at once and writers go on. Thread-safe.
 */
final class StateTransfer implements TransferDonor.Source, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(StateTransfer.class);
    private static final int CHECKPOINT_TRIES = 400;
    private static final long CHECKPOINT_PAUSE_NANOS = 25_000_000;

    private final ReplicaConfiguration configuration;
    private final Checkpointer checkpointer;
    private final ReplicaEngine engine;
    private final ReceivedDatabase received;
    private final TransferDonor donor;
    private volatile @Nullable TransferJoiner joiner;
    private volatile boolean mayHaveLeftovers = true;

    StateTransfer(ReplicaConfiguration configuration, Checkpointer checkpointer, ReplicaEngine engine) {
        this.configuration = configuration;
        this.checkpointer = checkpointer;
        this.engine = engine;
        this.received = new ReceivedDatabase(configuration.directory());
        this.donor = new TransferDonor(
                configuration.self(), configuration.directory().resolve("given"), this, this::send, TransferDonor.KEPT);
    }

    // ------------------------------------------------------------------------------------------------------- messages

    private void send(MemberId to, DirectMessage message) {
        engine.send(to, message);
    }

    /** Called by any thread; returns at once. */
    void received(MemberId from, DirectMessage message) {
        if (message instanceof DirectMessage.Want
                || message instanceof DirectMessage.Fetch
                || message instanceof DirectMessage.Done) {
            donor.received(from, message);
        } else {
            TransferJoiner receiving = joiner;
            if (receiving != null) {
                receiving.received(from, message);
            }
        }
    }

    // ---------------------------------------------------------------------------------------------------- as a joiner

    /**
     * Receives the database, in a thread of its own.
     *
     * @param rowsOnly it is for tables that are here
     * @param whenComplete it is on disk, and what is here is to be replaced by it
     */
    void receive(boolean rowsOnly, Runnable whenComplete) {
        Group group = engine.group();
        TransferJoiner receiving = new TransferJoiner(
                configuration.self(),
                received,
                configuration.transferBytesPerSecond(),
                rowsOnly ? "" : configuration.binding(),
                engine::view,
                () -> group.log().orElseThrow().firstHeld().index(),
                this::send,
                engine::receiving,
                whenComplete,
                failure -> engine.fail(
                        "the database could not be received: "
                                + (failure instanceof Error ? failure : failure.getMessage()),
                        failure));
        joiner = receiving;
        Thread thread = new Thread(receiving, "gorda-joiner-" + configuration.self());
        thread.setDaemon(true);
        thread.start();
    }

    // ----------------------------------------------------------------------------------------------------- as a donor

    @Override
    public boolean isOfOtherKind(DirectMessage.Want want) {
        return !want.loads().isEmpty() && !want.loads().equals(configuration.binding());
    }

    @Override
    public @Nullable String obstacle() {
        ReplicaState state = engine.state();
        return state == ReplicaState.ONLINE ? null : "it is " + state + " itself";
    }

    @Override
    public @Nullable String standstill() {
        return engine.silence();
    }

    @Override
    public void write(Path directory, DirectMessage.Want want) throws IOException {
        long firstHeld = want.firstHeld();
        long epoch = engine.epoch();
        CheckpointFile.Checkpoint checkpoint = checkpointer.checkpointBehind(firstHeld);
        for (int tries = 0; checkpoint == null && tries < CHECKPOINT_TRIES; tries++) {
            LockSupport.parkNanos(CHECKPOINT_PAUSE_NANOS);
            checkpoint = checkpointer.checkpointBehind(firstHeld);
        }
        if (checkpoint == null) {
            throw new IOException("it is not up to date, or a large transaction that began before " + firstHeld
                    + " is still being sent");
        }
        if (!checkpointer.awaitDecided(checkpoint.position())) {
            throw new IOException("no majority has what it holds yet");
        }
        new CheckpointFile(Files.createDirectories(directory.resolve(ReceivedDatabase.STATE))).save(checkpoint);
        if (want.loads().equals(configuration.binding())) {
            engine.database().snapshot(directory.resolve(ReceivedDatabase.SNAPSHOT));
        } else {
            writeRows(directory, epoch);
        }
    }

    /**
     * The rows, as any database can take them, at one place p as a snapshot is.
     *
     * @param epoch at q: who gets them leases values as then, and passes over what was ordered up to p
     */
    private void writeRows(Path directory, long epoch) throws IOException {
        Path rows = Files.createDirectories(directory.resolve(ReceivedDatabase.ROWS));
        Path frozen = directory.resolve("frozen");
        Path spool = directory.resolve("spool");
        try (FrozenRows all = engine.database().freeze(frozen);
                RowsFile.Writer changes = new RowsFile.Writer(rows.resolve(ReceivedRows.CHANGES))) {
            if (engine.epoch() != epoch) {
                throw new IOException("a new epoch has begun meanwhile");
            }
            RowsReader reader = new RowsReader(changes, spool);
            all.generated()
                    .forEach((generator, last) ->
                            reader.generated(generator.identity(), generator.schema(), generator.name(), last));
            List<RowsIndex.Table> tables = new ArrayList<>();
            for (TableShape table : all.tables()) {
                tables.add(new RowsIndex.Table(
                        table.toString(),
                        table.fingerprint(),
                        ReceivedRows.columns(table),
                        reader.insert(all.connection(), table)));
            }
            reader.flush();
            new RowsIndex(all.position().orElse(StoredHistory.NOTHING), tables).save(rows.resolve(ReceivedRows.INDEX));
        } catch (SQLException e) {
            throw new IOException("its rows cannot be read: " + e.getMessage(), e);
        } finally {
            FileTree.delete(frozen);
            FileTree.delete(frozen.resolveSibling(frozen.getFileName() + ".spool"));
            FileTree.delete(spool);
        }
    }

    // ------------------------------------------------------------------------------------------------------- upkeep

    /** To be called now and then: deletes what nobody has asked for lately, here or there. */
    void expire() {
        donor.expire();
        if (mayHaveLeftovers && engine.state() == ReplicaState.ONLINE) {
            mayHaveLeftovers = false;
            try {
                received.forget(); // the log could bring it up to date after all
            } catch (IOException e) {
                LOG.warn("{}: what was received before could not be deleted", configuration.self(), e);
            }
        }
    }

    @Override
    public void close() {
        donor.close();
        TransferJoiner receiving = joiner;
        if (receiving != null) {
            receiving.close();
        }
    }
}
