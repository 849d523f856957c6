package org.gorda.bindings.triggers;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.ReflectionException;
import org.jspecify.annotations.Nullable;

/**
 * Threads that are changing something in the database, and one that does so alone, or has it write to its files what was changed: what is written in the
 * midst of a change is torn. Thread-safe.
 */
final class Changes {

    /** So long who wants to be alone lets others begin: a change may wait for another's end. */
    private static final Duration PATIENCE = Duration.ofMillis(200);

    private int running;

    /** Who wants to be alone since longer than that: others begin nothing. */
    private @Nullable Thread wanted;

    private @Nullable Thread alone;

    /** How often it has begun to be alone, and not ended. */
    private int depth;

    /** An interrupt is kept for later: what is begun may be a rollback, without which the next commit would make what was to be taken back. */
    synchronized void begin() {
        boolean interrupted = false;
        while (alone != Thread.currentThread()
                && (alone != null || (wanted != null && wanted != Thread.currentThread()))) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        running++;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    synchronized void end() {
        running--;
        notifyAll();
    }

    /** Waits until nobody changes anything; nobody does until {@link #endAlone}, but this thread. */
    synchronized void alone() {
        while (!soonAlone()) {
            // Nobody begins anything any more.
        }
    }

    /** As {@link #alone}; or false soon, if somebody has to be ended first. Nobody begins anything then, but this thread, until it has asked again or {@link #endAlone}. */
    synchronized boolean soonAlone() {
        long end = System.nanoTime() + PATIENCE.toNanos();
        try {
            while (alone != Thread.currentThread() && (alone != null || running > 0)) {
                long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                if (left <= 0) {
                    wanted = Thread.currentThread();
                    return false;
                }
                wait(left);
            }
        } catch (InterruptedException e) {
            wanted = null; // by another one perhaps, who wants it again
            notifyAll();
            throw interrupted(e);
        }
        wanted = null;
        alone = Thread.currentThread();
        depth++;
        return true;
    }

    /** As {@link #alone}, but at once or not at all. */
    synchronized boolean tryAlone(boolean isChanging) {
        if (alone != null || running > (isChanging ? 1 : 0)) {
            return false;
        }
        alone = Thread.currentThread();
        depth++;
        return true;
    }

    /** Nothing happens if another thread is alone, as it is for who closes what has failed. */
    synchronized void endAlone() {
        if (wanted == Thread.currentThread()) {
            wanted = null;
            notifyAll();
        }
        if (alone == Thread.currentThread() && --depth == 0) {
            alone = null;
            notifyAll();
        }
    }

    private static ReflectionException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new ReflectionException("interrupted while another thread changes something", e);
    }
}
