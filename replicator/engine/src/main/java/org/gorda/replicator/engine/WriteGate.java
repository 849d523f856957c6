package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Counts the local transactions that write, and keeps new ones waiting while those that are open end. Thread-safe. */
final class WriteGate {

    /** How long transactions wait for the gate, and the gate for transactions. */
    private static final Duration WAIT = Duration.ofSeconds(15);

    private static final Duration POLL = Duration.ofMillis(2);

    /** How long it stays closed while somebody is inside, and how long it is open before the next attempt. */
    private static final Duration CLOSED = Duration.ofMillis(500);

    private static final Duration OPENED = Duration.ofMillis(50);

    private final Progress progress;
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicBoolean closed = new AtomicBoolean();

    /** @param progress told when the gate opens */
    WriteGate(Progress progress) {
        this.progress = progress;
    }

    /** Whether who is about to write had better {@linkplain #awaitOpen wait}. */
    boolean isClosed() {
        return closed.get();
    }

    /**
     * Waits while the gate is closed, in a thread that may hold locks.
     *
     * @return false if that takes too long
     * @throws org.gorda.gapi.RefusedException if the thread is interrupted
     */
    boolean awaitOpen() {
        return progress.await(() -> !closed.get(), System.nanoTime() + WAIT.toNanos());
    }

    /** A transaction is about to write. False if the gate is closed: then it must not. */
    boolean enter() {
        open.incrementAndGet();
        if (closed.get()) { // it may have been closed just before this one was counted
            open.decrementAndGet();
            return false;
        }
        return true;
    }

    /** One that has entered writes no more. */
    void leave() {
        open.decrementAndGet();
    }

    /**
     * Closes the gate and waits until nobody is inside. Who is kept out may have locks that somebody inside waits for: so now and then it
     * is opened for a moment. To be {@linkplain #open opened} after that.
     *
     * @throws ReplicaException if they do not end in time, or if it is closed already
     */
    void close() throws InterruptedException {
        long end = System.nanoTime() + WAIT.toNanos();
        while (!closedAndEmpty()) {
            if (System.nanoTime() > end) {
                throw new ReplicaException(open.get() + " transactions that write have not ended within "
                        + WAIT.toSeconds() + " s: a verification needs a moment without them");
            }
            pause(OPENED);
        }
    }

    /** Leaves it closed only if nobody is inside. */
    private boolean closedAndEmpty() throws InterruptedException {
        if (!closed.compareAndSet(false, true)) {
            throw new ReplicaException("another verification is under way");
        }
        boolean empty = false;
        try {
            long end = System.nanoTime() + CLOSED.toNanos();
            while (open.get() > 0 && System.nanoTime() < end) {
                pause(POLL);
            }
            empty = open.get() <= 0;
            return empty;
        } finally {
            if (!empty) {
                open();
            }
        }
    }

    private static void pause(Duration length) throws InterruptedException {
        LockSupport.parkNanos(length.toNanos());
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    void open() {
        closed.set(false);
        progress.signal();
    }
}
