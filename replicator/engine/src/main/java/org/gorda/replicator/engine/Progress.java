package org.gorda.replicator.engine;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;

/**
 * Where clients' threads wait for the delivery to get on: not with the lock that it has while it waits for their locks, but with one that is held
 * for an instant only. Thread-safe.
 */
final class Progress {

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition made = lock.newCondition();
    private final Condition awaited = lock.newCondition();
    private int waiting;

    /** What somebody may wait for has changed. */
    void signal() {
        lock.lock();
        try {
            made.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits in a client's thread, keeping an interrupt for later.
     *
     * @param deadline by {@link System#nanoTime}
     * @return false if it takes too long
     * @throws RefusedException if the thread is interrupted
     */
    boolean await(BooleanSupplier done, long deadline) {
        try {
            lock.lockInterruptibly();
            waiting++;
            awaited.signal();
            try {
                while (!done.getAsBoolean()) {
                    long left = deadline - System.nanoTime();
                    if (left <= 0) {
                        return false;
                    }
                    made.awaitNanos(left);
                }
                return true;
            } finally {
                waiting--;
                lock.unlock();
            }
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /**
     * Has the delivery rest, unless and until somebody waits for it to get on.
     *
     * @param deadline by {@link System#nanoTime}
     */
    void rest(long deadline) {
        lock.lock();
        try {
            for (long left = deadline - System.nanoTime();
                    waiting == 0 && left > 0;
                    left = deadline - System.nanoTime()) {
                awaited.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    /** What a client is told whose wait was interrupted, which is kept. */
    static RefusedException interrupted() {
        Thread.currentThread().interrupt();
        return new RefusedException(new Refusal(Refusal.Cause.OVERDUE, "interrupted"));
    }
}
