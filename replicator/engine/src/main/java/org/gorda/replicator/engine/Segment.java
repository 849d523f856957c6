package org.gorda.replicator.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.replicator.core.Conflict;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A run of ordered changes that are applied and not committed yet: one transaction of the local database. Guarded by the order's lock. */
final class Segment {

    private static final Logger LOG = LoggerFactory.getLogger(Segment.class);

    /** It is committed at the latest after so many bytes. */
    private static final long BYTES_MAX = 1 << 20;

    private static final int CHANGES_MAX = 500;

    /** How often it is applied if the database fails. */
    static final int TRIES = 10;

    /**
     * One transaction's.
     *
     * @param settled where generators go on before it, if it changes the schema
     * @param firstChunk where the first of its chunks lies in the log, {@link #NO_CHUNK} if it has none
     */
    record Change(
            WriteSet writeSet,
            Position position,
            Conflict.Winner winner,
            Map<Generator, OptionalLong> settled,
            long firstChunk) {}

    static final long NO_CHUNK = Long.MAX_VALUE;

    private final MemberId self;
    private final Applier applier;
    private final List<Change> changes = new ArrayList<>();
    private long bytes;
    private @Nullable Change applying;

    Segment(MemberId self, Applier applier) {
        this.self = self;
        this.applier = applier;
    }

    boolean isEmpty() {
        return changes.isEmpty();
    }

    /** Whether it has changes of several transactions. */
    boolean isGathered() {
        return changes.size() > 1;
    }

    boolean isFull() {
        return bytes > BYTES_MAX || changes.size() >= CHANGES_MAX;
    }

    /** What is being applied just now; the last of all if all of it is executed or committed, and null if it is empty. */
    @Nullable
    Change applying() {
        if (applying == null && !isEmpty()) {
            return changes.get(changes.size() - 1);
        }
        return applying;
    }

    /** Where the first chunk lies that it needs from the log, {@link #NO_CHUNK} if it needs none. */
    long firstChunk() {
        return changes.stream().mapToLong(Change::firstChunk).min().orElse(NO_CHUNK);
    }

    /** The place of the last change. */
    Position end() {
        return changes.get(changes.size() - 1).position();
    }

    /**
     * Applies one change more.
     *
     * @throws DivergenceException if the database does not hold what the change expects
     * @throws ReflectionException if the database fails, also when all of the segment is tried again
     */
    void apply(Change change) {
        changes.add(change);
        bytes += change.writeSet().length();
        try {
            applyOnce(change);
        } catch (DivergenceException e) {
            throw e;
        } catch (ReflectionException e) {
            LOG.warn("{}: a change could not be applied at once: {}", self, e.getMessage());
            applyAgain(e);
        }
    }

    private void applyOnce(Change change) {
        applying = change;
        try {
            applier.settle(change.settled());
            applier.apply(change.writeSet());
        } finally {
            applying = null;
        }
    }

    /** The database has failed in the middle, for instance by a lock that took too long: all of the segment again. */
    private void applyAgain(ReflectionException first) {
        ReflectionException last = first;
        for (int tries = 1; tries < TRIES; tries++) {
            try {
                applier.rollback();
                changes.forEach(this::applyOnce);
                applier.execute();
                return;
            } catch (DivergenceException e) {
                throw e;
            } catch (ReflectionException e) {
                last = e;
            }
        }
        throw last;
    }

    /**
     * Has the database execute all of it, if it has not yet.
     *
     * @throws DivergenceException as {@link #apply}
     * @throws ReflectionException as {@link #apply}
     */
    void execute() {
        try {
            applier.execute();
        } catch (DivergenceException e) {
            throw e;
        } catch (ReflectionException e) {
            LOG.warn("{}: changes could not be applied at once: {}", self, e.getMessage());
            applyAgain(e);
        }
    }

    /** Commits all of it at the place of its last change, and is empty. */
    void commit(StoredPosition position) {
        applier.commit(position, false);
        changes.clear();
        bytes = 0;
    }
}
