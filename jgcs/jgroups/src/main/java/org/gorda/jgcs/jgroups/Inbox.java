package org.gorda.jgcs.jgroups;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What waits for one taker, who takes all at once and is woken once for all that came meanwhile. Not bounded: who puts in bounds it.
 * Thread-safe.
 */
final class Inbox<T> {

    private List<T> waiting = new ArrayList<>();

    synchronized void put(List<T> more) {
        boolean wake = waiting.isEmpty();
        waiting.addAll(more);
        if (wake) {
            notifyAll();
        }
    }

    synchronized boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Exchanges all that waits for an empty list; waits for something up to so long. */
    synchronized List<T> takeAll(List<T> empty, long waitMillis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
        while (waiting.isEmpty()) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                break;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        List<T> taken = waiting;
        waiting = empty;
        return taken;
    }
}
