package org.gorda.bindings.triggers;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Held by the transaction that changes rows or the schema, from its begin to its end: with several at a time, changes of keys under contention were
 * captured otherwise than they were made. Who has come first gets it first. Who holds it and does nothing loses it to who waits for it. Thread-safe.
 */
final class Turn {

    private static final Logger LOG = LoggerFactory.getLogger(Turn.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Duration GLANCE = Duration.ofMillis(50);

    /** So long who holds it may do nothing while others wait: more than they do, because those have less to do again. */
    private static final Duration IDLE_MAX = Duration.ofSeconds(30);

    /** The places of those who wait, in the order in which they have come: each is opened when its turn has come. */
    private final Deque<CountDownLatch> waiting = new ArrayDeque<>();

    private boolean isTaken;
    private volatile @Nullable Held held;

    /** By whom, and since when. */
    private record Held(LocalTransaction transaction, long sinceNanos) {

        @Override
        public String toString() {
            return "for " + seconds(System.nanoTime() - sinceNanos) + " s by " + transaction.connection();
        }
    }

    /**
     * Waits for it.
     *
     * @throws RefusedException if that takes too long, or if the transaction is aborted meanwhile
     */
    void take(LocalTransaction transaction) {
        long end = System.nanoTime() + TIMEOUT.toNanos();
        CountDownLatch place = place();
        boolean isMine = false;
        try {
            while (!place.await(GLANCE.toNanos(), TimeUnit.NANOSECONDS)) {
                Refusal refusal = transaction.refusal();
                if (refusal != null) {
                    throw new RefusedException(refusal);
                }
                Held now = held;
                if (now != null) {
                    endIdle(now);
                }
                if (System.nanoTime() > end) {
                    throw late(now);
                }
            }
            isMine = true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw late(held);
        } finally {
            if (!isMine) {
                leave(place);
            }
        }
        held = new Held(transaction, System.nanoTime());
    }

    private synchronized CountDownLatch place() {
        CountDownLatch place = new CountDownLatch(isTaken ? 1 : 0);
        if (isTaken) {
            waiting.add(place);
        }
        isTaken = true;
        return place;
    }

    /** Who had it waits no more, and may have been given the turn meanwhile. */
    private synchronized void leave(CountDownLatch place) {
        if (!waiting.remove(place)) {
            give();
        }
    }

    synchronized void give() {
        held = null;
        CountDownLatch next = waiting.poll();
        isTaken = next != null;
        if (next != null) {
            next.countDown();
        }
    }

    private static void endIdle(Held now) {
        long idleNanos = now.transaction.connection().idleNanos();
        if (idleNanos > IDLE_MAX.toNanos() && now.transaction.refusal() == null) {
            LOG.warn("who waits to change something gets the turn that was held {}", now);
            now.transaction.abort(
                    new Refusal(
                            Refusal.Cause.CONFLICT,
                            "the transaction had changed something and then did nothing for " + seconds(idleNanos)
                                    + " s, while another one waited for its turn, which one has at a time: run it again, and wait for nobody within it"));
        }
    }

    private static RefusedException late(@Nullable Held now) {
        return new RefusedException(new Refusal(
                Refusal.Cause.OVERDUE,
                "one transaction changes something at a time, and this one's turn has not come in time"
                        + (now == null ? "" : ": it is held " + now) + "; run it again"));
    }

    private static long seconds(long nanos) {
        return TimeUnit.NANOSECONDS.toSeconds(nanos);
    }
}
