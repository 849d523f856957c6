package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.ReplicaMessage;
import org.jspecify.annotations.Nullable;

/**
 * The turns of transactions that change the schema where every replica takes writes, in the order in which they were delivered. While there is
 * one, all other transactions wait before they are sent. Only that the schema change meets no others' rows depends on it, not what
 * is certified: so a turn that is not renewed, because its replica is gone, is simply over after a while, here sooner and there
 * later.
 *
 * <p>Thread-safe; those who wait poll, because they hold locks that whoever would wake them may be waiting for.
 */
final class SchemaTurns {

    private static final Duration POLL = Duration.ofMillis(2);
    private static final Duration RENEWAL = Duration.ofSeconds(1);

    /** How long a turn lasts that is neither renewed nor ended. */
    private static final Duration UNRENEWED = Duration.ofSeconds(3);

    /** A local transaction's turn. */
    final class Own {
        private final TransactionId id;

        private volatile long begun;

        /** Guarded by this, as what follows. */
        private boolean ended;

        private boolean isRenewed = true;

        /** Until when it is renewed. */
        private long endNanos;

        private Own(TransactionId id, long endNanos) {
            this.id = id;
            this.endNanos = endNanos;
        }

        /** Everything up to here was visible when it began. */
        long begun() {
            return begun;
        }

        /** Whether nobody else's turn is before it, and it is not over. */
        boolean isNow() {
            return id.equals(current());
        }

        private synchronized void renew() {
            try {
                while (!ended) {
                    wait(RENEWAL.toMillis());
                    if (!ended && System.nanoTime() - endNanos > 0) {
                        isRenewed = false;
                        return;
                    }
                    if (!ended) {
                        sender.accept(new ReplicaMessage.SchemaTurn(id, false));
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** It has come, and lasts from now on. */
        private synchronized boolean begin(long visible) {
            begun = visible;
            endNanos = System.nanoTime() + patience.toNanos();
            return isRenewed;
        }

        /** The others may go on. Sent after each renewal. */
        synchronized void end() {
            ended = true;
            notifyAll();
            sender.accept(new ReplicaMessage.SchemaTurn(id, true));
        }
    }

    private final Consumer<ReplicaMessage.SchemaTurn> sender;
    private final Duration patience;

    /**
     * By the transactions as they were called then, in the order of the turns: when each is over unless it is renewed, by {@link
     * System#nanoTime}.
     */
    private final Map<TransactionId, Long> turns = new LinkedHashMap<>();

    /** False if it is nobody's turn for sure. */
    private volatile boolean maybe;

    /** Where a turn last began, was renewed, or ended. */
    private volatile long lastMoved;

    /**
     * @param sender sends without waiting long; what it cannot send is of no use any more, or sent again soon
     * @param patience how long each may wait for its turn, have it, and wait for others'
     */
    SchemaTurns(Consumer<ReplicaMessage.SchemaTurn> sender, Duration patience) {
        this.sender = sender;
        this.patience = patience;
    }

    // --------------------------------------------------------------------------------------------------- delivered

    /** Called for each one that is delivered, before its index counts as executed. */
    synchronized void delivered(TransactionId id, long index, boolean ends) {
        if (ends) {
            turns.remove(id);
        } else {
            turns.put(id, System.nanoTime() + UNRENEWED.toNanos());
        }
        lastMoved = index; // first: who finds that it is nobody's turn must wait for what the last one has changed
        maybe = !turns.isEmpty();
    }

    /** Everybody whose turn it was is refused, and whoever waits for one. */
    synchronized void clear() {
        turns.clear();
        maybe = false;
    }

    /** Whose turn it is; null if it is nobody's. */
    private @Nullable TransactionId current() {
        return maybe ? first() : null;
    }

    private synchronized @Nullable TransactionId first() {
        long now = System.nanoTime();
        turns.values().removeIf(end -> now - end >= 0);
        maybe = !turns.isEmpty();
        return maybe ? turns.keySet().iterator().next() : null;
    }

    // --------------------------------------------------------------------------------------------- clients' threads

    /**
     * Waits for a turn. An interrupt ends that.
     *
     * @param newest what is ordered by now; to be visible first, because nobody is to wait for what this replica lags behind
     * @param visible up to where everything is visible
     * @return once it is its turn, and what others did in theirs is visible
     * @throws RefusedException if that takes too long
     */
    Own take(TransactionId id, long newest, LongSupplier visible) {
        long deadline = System.nanoTime() + patience.toNanos();
        while (visible.getAsLong() < newest) {
            pause(
                    deadline,
                    "this replica is behind: it shows everything up to " + visible.getAsLong() + " of " + newest);
        }
        Own own = new Own(id, deadline);
        sender.accept(new ReplicaMessage.SchemaTurn(id, false));
        Thread renewal = new Thread(own::renew, "gorda-schema-turn");
        renewal.setDaemon(true);
        renewal.start();
        try {
            while (true) {
                TransactionId current = current();
                boolean first = id.equals(current);
                long shown = visible.getAsLong();
                if (first && shown >= lastMoved && own.begin(shown)) {
                    return own;
                }
                pause(
                        deadline,
                        current == null || first
                                ? "no turn to change the schema was ordered"
                                : "transaction " + current + " is still changing the schema: run this one again");
            }
        } catch (RefusedException e) {
            own.end();
            throw e;
        }
    }

    private static void pause(long deadline, String otherwise) {
        if (System.nanoTime() - deadline > 0) {
            throw new RefusedException(new Refusal(Refusal.Cause.OVERDUE, otherwise));
        }
        LockSupport.parkNanos(POLL.toNanos());
        if (Thread.currentThread().isInterrupted()) {
            throw new RefusedException(
                    new Refusal(Refusal.Cause.OVERDUE, "interrupted while waiting for a turn to change the schema"));
        }
    }

    /** Whether it is nobody's turn, and all turns that are over are among what was executed, which the caller read before. */
    boolean isRoom(long executed) {
        return current() == null && executed >= lastMoved;
    }

    /**
     * Waits until there is room, keeping an interrupt for later.
     *
     * @param executed up to where everything has run here
     * @param isAnswered whether nobody waits any more
     * @return what was executed when there was
     * @throws RefusedException if that takes too long
     */
    long awaitRoom(LongSupplier executed, BooleanSupplier isAnswered) {
        long deadline = System.nanoTime() + patience.toNanos();
        boolean interrupted = false;
        // In this order: a turn is known before it counts as executed.
        long seen = executed.getAsLong();
        while (!isRoom(seen) && !isAnswered.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new RefusedException(new Refusal(
                        Refusal.Cause.OVERDUE,
                        "schema changes have their turns for longer than commit-timeout; the transaction was not sent and"
                                + " did not happen: run it again"));
            }
            LockSupport.parkNanos(POLL.toNanos());
            interrupted |= Thread.interrupted();
            seen = executed.getAsLong();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return seen;
    }
}
