package org.gorda.replicator.engine;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * For how long something has been left to do: places in an order up to which it is wanted, and up to which it is done. Looked at from time to
 * time, and as exact as these looks are near to each other. Thread-safe.
 */
final class Backlog {

    /** One a look for ten minutes, and then it gets less exact: the oldest is what counts. */
    private static final int KEPT = 6_000;

    private record Wanted(long index, long nanos) {}

    private final Deque<Wanted> left = new ArrayDeque<>();

    /**
     * Looks at it now.
     *
     * @param wanted up to here it is to be done
     * @param done up to here it is
     */
    synchronized void look(long wanted, long done, long nowNanos) {
        while (!left.isEmpty() && left.getFirst().index() <= done) {
            left.removeFirst();
        }
        while (!left.isEmpty() && left.getLast().index() > wanted) {
            left.removeLast();
        }
        long known = left.isEmpty() ? done : left.getLast().index();
        if (wanted > known && left.size() < KEPT) {
            left.addLast(new Wanted(wanted, nowNanos));
        }
    }

    /** How long ago a look found something to do that is not done yet, in nanoseconds; 0 if there is nothing. */
    synchronized long nanos(long done, long nowNanos) {
        for (Wanted wanted : left) {
            if (wanted.index() > done) {
                return nowNanos - wanted.nanos();
            }
        }
        return 0;
    }
}
