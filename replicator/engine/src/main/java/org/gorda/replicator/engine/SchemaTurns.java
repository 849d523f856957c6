package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.gorda.gapi.TransactionId;
import org.jspecify.annotations.Nullable;

/**
 * The turns of transactions that change the schema where every replica takes writes, in the order in which they were delivered. While there is
 * one, all other transactions wait before they are sent. Only that the schema change meets no others' rows depends on it, not what
 * is certified: so a turn that is not renewed, because its replica is gone, is simply over after a while, here sooner and there later.
 * Thread-safe; those who wait poll, because they hold locks that whoever would wake them may be waiting for.
 */
final class SchemaTurns {

    /**
     * @param id the transaction as it was called then
     * @param index where the turn was ordered
     */
    record Turn(TransactionId id, long index) {}

    /** With when each is over unless it is renewed, by {@link System#nanoTime}; in their order. */
    private final Map<Turn, Long> turns = new LinkedHashMap<>();

    private final Duration longest;

    /** False if it is nobody's turn for sure. */
    private volatile boolean maybe;

    private volatile long lastMoved;

    /** @param longest how long a turn lasts that is neither renewed nor ended */
    SchemaTurns(Duration longest) {
        this.longest = longest;
    }

    /** A turn begins, or is renewed. */
    synchronized void begin(TransactionId id, long index) {
        Turn turn = turns.keySet().stream()
                .filter(known -> known.id().equals(id))
                .findAny()
                .orElseGet(() -> new Turn(id, index));
        turns.put(turn, System.nanoTime() + longest.toNanos());
        maybe = true;
        lastMoved = index;
    }

    synchronized void end(TransactionId id, long index) {
        turns.keySet().removeIf(turn -> turn.id().equals(id));
        maybe = !turns.isEmpty();
        lastMoved = index;
    }

    /** Where a turn last began, was renewed, or ended: whose turn it is sees what others did in theirs if all up to here is visible. */
    long lastMoved() {
        return lastMoved;
    }

    /** Whose turn it is; null if it is nobody's. What was delivered before a place is seen by whoever has seen that place. */
    @Nullable
    Turn current() {
        return maybe ? first() : null;
    }

    private synchronized @Nullable Turn first() {
        long now = System.nanoTime();
        turns.values().removeIf(end -> now - end >= 0);
        maybe = !turns.isEmpty();
        return maybe ? turns.keySet().iterator().next() : null;
    }
}
