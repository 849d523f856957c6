package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Counts the local transactions that write, and keeps new ones waiting while those that are open end. Thread-safe. */
final class WriteGate {

    /** How long transactions wait for the gate, and the gate for transactions. */
    private static final Duration WAIT = Duration.ofSeconds(15);

    private final Progress progress;
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicBoolean closed = new AtomicBoolean();

    /** @param progress told when the gate opens */
    WriteGate(Progress progress) {
        this.progress = progress;
    }

    /**
     * A transaction is about to write; waits if the gate is closed.
     *
     * @return false if that takes too long: then it must not
     */
    boolean enter() {
        open.incrementAndGet();
        while (closed.get()) { // it may have been closed just before this one was counted
            open.decrementAndGet();
            if (!progress.await(() -> !closed.get(), System.nanoTime() + WAIT.toNanos())) {
                return false;
            }
            open.incrementAndGet();
        }
        return true;
    }

    /** One that has entered writes no more. */
    void leave() {
        open.decrementAndGet();
    }

    /**
     * Closes the gate and waits until nobody is inside. To be {@linkplain #open opened} after that.
     *
     * @throws ReplicaException if they do not end in time, or if it is closed already
     */
    void close() throws InterruptedException {
        if (!closed.compareAndSet(false, true)) {
            throw new ReplicaException("another verification is under way");
        }
        boolean empty = false;
        try {
            awaitEmpty();
            empty = true;
        } finally {
            if (!empty) {
                open();
            }
        }
    }

    private void awaitEmpty() throws InterruptedException {
        long end = System.nanoTime() + WAIT.toNanos();
        while (open.get() > 0) {
            if (System.nanoTime() > end) {
                throw new ReplicaException(open.get() + " transactions that write have not ended within "
                        + WAIT.toSeconds() + " s: a verification needs a moment without them");
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
    }

    void open() {
        closed.set(false);
        progress.signal();
    }
}
