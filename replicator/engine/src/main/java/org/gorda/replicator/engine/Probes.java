package org.gorda.replicator.engine;

import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Counts how long transactions were in each {@link Stage}, from when it is made. Thread-safe. */
final class Probes {

    private static final int READY_KEPT = 8192;

    /** That of one transaction. Whoever works on the transaction works on it: one thread after the other. */
    static final class Probe {
        private final Probes probes;
        private final Map<Stage, Long> nanos = new EnumMap<>(Stage.class);
        private long lastNanos = System.nanoTime();

        private Probe(Probes probes) {
            this.probes = probes;
        }

        private void end(Stage stage, long atNanos) {
            long took = Math.max(0, atNanos - lastNanos);
            nanos.merge(stage, took, Long::sum);
            lastNanos += took;
        }
    }

    /** Of one stage. */
    private static final class Counted {
        private final long[] buckets = new long[StageTimes.BUCKETS];
        private long nanos;

        void add(long each) {
            nanos += each;
            buckets[StageTimes.bucket(each)]++;
        }

        StageTimes times() {
            Map<Integer, Long> counts = new TreeMap<>();
            for (int bucket = 0; bucket < buckets.length; bucket++) {
                if (buckets[bucket] > 0) {
                    counts.put(bucket, buckets[bucket]);
                }
            }
            return new StageTimes(nanos, counts);
        }
    }

    private final Map<Stage, Counted> counted = new EnumMap<>(Stage.class);

    /** When what lies at an index became deliverable; guarded by the group, which tells that before it delivers it. */
    private final long[] readyNanos = new long[READY_KEPT];

    /** Up to where the group has told. */
    private volatile long readyIndex;

    /** Begins one now; null if there are no probes. */
    static @Nullable Probe begin(@Nullable Probes probes) {
        return probes == null ? null : new Probe(probes);
    }

    /** A stage ends now, and the next one begins. */
    static void end(@Nullable Probe probe, Stage stage) {
        if (probe != null) {
            probe.end(stage, System.nanoTime());
        }
    }

    /** What came since the last stage was none of this transaction's. */
    static void skip(@Nullable Probe probe) {
        if (probe != null) {
            probe.lastNanos = System.nanoTime();
        }
    }

    /**
     * What was sent has come back, and is decided about. If the group does not tell when it has become deliverable, that is when it was delivered.
     *
     * @param deliveredNanos when it was delivered
     */
    static void certified(@Nullable Probe probe, long index, long deliveredNanos) {
        if (probe != null) {
            long told = probe.probes.readyIndex;
            long ready = index > told
                    ? deliveredNanos
                    : index <= told - READY_KEPT
                            ? probe.lastNanos // long ago
                            : probe.probes.readyNanos[(int) (index % READY_KEPT)];
            probe.end(Stage.ORDER, Math.min(ready, deliveredNanos));
            probe.end(Stage.TURN, deliveredNanos);
            probe.end(Stage.CERTIFY, System.nanoTime());
        }
    }

    /** All is over with it: counts it, if it came to the stage that makes it worth it. */
    static void count(@Nullable Probe probe, Stage worth) {
        if (probe != null && probe.nanos.containsKey(worth)) {
            probe.probes.count(probe);
        }
    }

    private synchronized void count(Probe probe) {
        probe.nanos.forEach((stage, nanos) ->
                counted.computeIfAbsent(stage, any -> new Counted()).add(nanos));
    }

    /** As {@link org.gorda.jgcs.GroupListener#onDeliverable} tells. */
    void ready(long index) {
        long now = System.nanoTime();
        for (long each = Math.max(readyIndex, index - READY_KEPT) + 1; each <= index; each++) {
            readyNanos[(int) (each % READY_KEPT)] = now;
        }
        readyIndex = Math.max(readyIndex, index);
    }

    /** Of those stages that there were. */
    synchronized Map<Stage, StageTimes> times() {
        Map<Stage, StageTimes> times = new EnumMap<>(Stage.class);
        counted.forEach((stage, one) -> times.put(stage, one.times()));
        return times;
    }
}
