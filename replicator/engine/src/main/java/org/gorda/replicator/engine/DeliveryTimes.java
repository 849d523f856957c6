package org.gorda.replicator.engine;

import java.util.concurrent.TimeUnit;

/** When what lies at an index was delivered here, for the last ones. Guarded by the order's lock. */
final class DeliveryTimes {

    private static final int KEPT = 8192;

    private final long[] nanos = new long[KEPT];
    private long first = Long.MAX_VALUE;
    private long last;

    void delivered(long index) {
        first = Math.min(first, index);
        last = index;
        nanos[(int) (index % KEPT)] = System.nanoTime();
    }

    /** When the last one was. */
    long lastNanos() {
        return nanos[(int) (last % KEPT)];
    }

    /** For people, after a comma; nothing if it is not known any more. */
    String age(long index) {
        return index <= last - KEPT || index < first
                ? ""
                : ", " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos[(int) (index % KEPT)]) + " ms ago";
    }
}
