package org.gorda.replicator.engine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.Position;
import org.gorda.replicator.core.ReplicaCore;
import org.gorda.replicator.core.ReplicaMessage;
import org.jspecify.annotations.Nullable;

/**
 * Forces the database to disk now and then and writes down what the core knew, so that a restart begins there, and has the log forget what
 * nobody needs. Thread-safe.
 */
final class Checkpointer {

    private static final Duration DECIDED_WAIT = Duration.ofSeconds(30);

    /** Others need know seldom how much of the log is not needed any more. */
    private static final long TELL_EVERY = 10_000;

    private static final long TELL_EVERY_BYTES = 64L << 20;

    /** A checkpoint, with which index the log is needed from, and how many bytes had been delivered then. */
    private record Taken(CheckpointFile.Checkpoint checkpoint, long needed, long bytes) {}

    private final ReplicaConfiguration configuration;
    private final Standing standing;
    private final StoredHistory history;
    private final Delivery delivery;
    private final ReentrantLock order;
    private final ReplicaEngine engine;
    private final CheckpointFile file;

    /** Guarded by the order's lock. */
    private final LogMarks marks = new LogMarks();

    /** A restart needs the log behind this. Guarded by the order's lock, like what follows. */
    private long restart;

    /** To be saved, once a majority has what it is made of. */
    private @Nullable Taken undecided;

    /** When one was to be taken, something was executed and not committed yet: the delivery takes it. */
    private boolean isOverdue;

    private volatile long saved;
    private volatile long durable;
    private final LongAdder flushes = new LongAdder();

    /** Confined to the thread of {@link #run}, like what follows. */
    private long told;

    private long toldBytes;

    /** @param order guards the delivery and the history */
    Checkpointer(
            ReplicaConfiguration configuration,
            Standing standing,
            StoredHistory history,
            Delivery delivery,
            ReentrantLock order,
            ReplicaEngine engine) {
        this.configuration = configuration;
        this.standing = standing;
        this.history = history;
        this.delivery = delivery;
        this.order = order;
        this.engine = engine;
        this.file = new CheckpointFile(configuration.directory());
    }

    private LogSession log() {
        return engine.log();
    }

    // -------------------------------------------------------------------------------------------------------- start

    /** The database was opened, and holds this. */
    void opened(long stored) {
        durable = stored;
    }

    /** The last one, from which the core is restored and the replica goes on; null if there is none. */
    CheckpointFile.@Nullable Checkpoint restore() {
        CheckpointFile.Checkpoint last = StoredHistory.load(file, configuration);
        if (last != null) {
            history.restored(last);
            delivery.core().restore(last.state());
            saved = last.position().index();
            restart = Math.min(saved, delivery.core().firstNeeded() - 1);
            Path held = configuration.directory().resolve(ReplicaConfiguration.LOG);
            marks.held(log().firstHeld().index(), saved, FileTree.bytes(held.toFile()));
        }
        return last;
    }

    // ------------------------------------------------------------------------------------------------------- upkeep

    /** To be called every few seconds, by one thread at a time. */
    void run() {
        Taken taken = taken();
        if (taken == null
                || standing.is(ReplicaState.RECEIVING)
                || !isDecided(taken.checkpoint().position())) {
            return; // or looked at again the next time
        }
        // After the checkpoint was taken: what the database then holds on disk is at least as new.
        flush();
        log().force(); // behind what was committed meanwhile
        if (standing.is(ReplicaState.RECEIVING) || standing.is(ReplicaState.STARTING)) {
            return; // the database is being replaced, and this with it
        }
        file.save(taken.checkpoint());
        saved = taken.checkpoint().position().index();
        long needless = Math.min(saved, taken.needed() - 1);
        order.lock();
        try {
            undecided = null;
            restart = needless;
            // Whoever is away for longer receives the database.
            forget(needless, 2 * configuration.logRetainBytes());
        } finally {
            order.unlock();
        }
        if (needless - told >= TELL_EVERY || taken.bytes() - toldBytes >= TELL_EVERY_BYTES) {
            told = needless;
            toldBytes = taken.bytes();
            engine.multicast(new ReplicaMessage.Durable(configuration.self(), needless));
        }
    }

    /** One that was taken before, or now; null if there is nothing new, or if that is left to the delivery. */
    private @Nullable Taken taken() {
        order.lock();
        try {
            take();
            isOverdue = undecided == null && !delivery.hasCommittedAll();
            return undecided;
        } finally {
            order.unlock();
        }
    }

    /** By the delivery, behind a message: it alone commits what it applies, and if it always has something to do, it is found without that by luck only. */
    void takeOverdue() {
        if (isOverdue) {
            isOverdue = false;
            delivery.commitSegment();
            take();
        }
    }

    private void take() {
        if (undecided != null || delivery.last().index() <= saved || standing.is(ReplicaState.RECEIVING)) {
            return;
        }
        CheckpointFile.Checkpoint checkpoint = checkpoint();
        if (checkpoint != null) {
            undecided = new Taken(checkpoint, delivery.core().firstNeeded(), marks.bytes());
        }
    }

    /** What the core knows, which the database holds already; null if it does not just now. */
    private CheckpointFile.@Nullable Checkpoint checkpoint() {
        return delivery.hasCommittedAll() && history.isFound() && !standing.is(ReplicaState.STOPPED)
                ? new CheckpointFile.Checkpoint(
                        delivery.last(),
                        engine.database().storedPosition().orElse(StoredHistory.NOTHING),
                        delivery.core().checkpoint())
                : null;
    }

    /** What the core knows, for a member that has what follows an index; null if it would need more than that, or if the group has not begun here. */
    CheckpointFile.@Nullable Checkpoint checkpointBehind(long firstHeld) {
        order.lock();
        try {
            ReplicaCore core = delivery.core();
            return core.epoch() > 0 && delivery.last().index() >= firstHeld && core.firstNeeded() > firstHeld
                    ? checkpoint()
                    : null;
        } finally {
            order.unlock();
        }
    }

    /**
     * Forces the database to disk, behind the log: where all machines lose power, what a database holds beyond the end of all logs is part of no history.
     */
    void flush() {
        log().force();
        engine.database().flush().ifPresent(forced -> durable = forced.index());
        flushes.increment();
    }

    // ------------------------------------------------------------------------------------------------------- the log

    /** What follows is guarded by the order's lock: so many bytes lie at an index. */
    void delivered(long index, int payloadBytes) {
        marks.delivered(index, payloadBytes);
    }

    /** Nobody needs what lies up to an index; this replica for itself may. */
    void durableEverywhere(long index) {
        forget(Math.min(index, restart), configuration.logRetainBytes());
    }

    /** Forgets what nobody needs up to an index, but keeps so much. */
    private void forget(long needless, long retainBytes) {
        long removed = marks.takeNeedless(needless, retainBytes);
        if (removed > 0) {
            log().release(new Position(delivery.last().group(), 0, removed));
        }
    }

    /** A restart needs the log behind this. */
    long restart() {
        return restart;
    }

    // --------------------------------------------------------------------------------------------- what is decided

    /** What is known here to be decided; a checkpoint's place is, also before this run hears of it. */
    long decided() {
        return Math.max(log().lastCommitted().index(), saved);
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

    /** Waits until a checkpoint's position {@linkplain #isDecided is decided}; false if it is not in time. */
    boolean awaitDecided(Position position) {
        long deadline = System.nanoTime() + DECIDED_WAIT.toNanos();
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

    /** Up to where the database is on disk. */
    long durable() {
        return durable;
    }

    /** How often the database was forced. */
    long flushes() {
        return flushes.sum();
    }
}
