package org.gorda.gapi;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Has a thread with much to do leave processors to others: as long as it has to wait for one itself, it works half of the time. For 30 s only, so that it
 * gets there. Alone on its machine it does not wait. Confined to that thread.
 */
public final class Restraint {

    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** So much of a slice is spent waiting for the processor, at least, or for the disk: that is not told apart. */
    private static final int CROWDED_PERCENT = 10;

    private static final long BUDGET_NANOS = TimeUnit.SECONDS.toNanos(30);

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private long began;
    private long beganCpu;
    private long left = THREADS.isCurrentThreadCpuTimeSupported() ? BUDGET_NANOS : 0;

    /** For the thread that will {@link #rest}. */
    public Restraint() {}

    /** To be called between two pieces of work that follow each other closely, where nobody waits for this thread. */
    public void rest() {
        long now = System.nanoTime();
        long worked = now - began;
        if (left <= 0 || worked < SLICE_NANOS) {
            return;
        }
        long cpu = THREADS.getCurrentThreadCpuTime();
        boolean isCrowded = 100 * (worked - (cpu - beganCpu)) > CROWDED_PERCENT * worked;
        if (isCrowded && worked < 10 * SLICE_NANOS) { // otherwise there was no work for a while
            LockSupport.parkNanos(worked);
            now = System.nanoTime();
            left -= worked;
        }
        began = now;
        beganCpu = cpu;
    }
}
