package org.gorda.replicator.engine;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * How long a {@link Stage} took, how often. What was counted later less what was counted before is what came between. Immutable.
 *
 * @param nanos all of them together
 * @param buckets how often, by {@link #bucket}; those with 0 are left out
 */
public record StageTimes(long nanos, Map<Integer, Long> buckets) {

    public static final StageTimes NONE = new StageTimes(0, Map.of());

    /** Between a power of two and the next one are 2 to the power of this. */
    private static final int SPLIT = 4;

    /** Of buckets: what a long can hold. */
    static final int BUCKETS = (Long.SIZE - SPLIT) << SPLIT;

    public StageTimes {
        buckets = Collections.unmodifiableMap(new TreeMap<>(buckets));
    }

    /** Where a time is counted: with others that differ by less than 1/16. */
    static int bucket(long nanos) {
        long value = Math.max(0, nanos);
        int shift = Math.max(0, Long.SIZE - 1 - SPLIT - Long.numberOfLeadingZeros(value));
        return (shift << SPLIT) + (int) (value >>> shift);
    }

    /** The longest time that is counted there. */
    private static double longest(int bucket) {
        int shift = Math.max(0, (bucket >>> SPLIT) - 1);
        return (double) (((long) (bucket - (shift << SPLIT) + 1) << shift) - 1);
    }

    /** How often. */
    public long count() {
        return buckets.values().stream().mapToLong(Long::longValue).sum();
    }

    /** In microseconds; 0 if there is none. */
    public double mean() {
        return nanos / 1e3 / Math.max(1, count());
    }

    /**
     * So many of a hundred took no longer than this.
     *
     * @return in microseconds, at most 1/16 more than it was; 0 if there is none
     */
    public double percentile(double percent) {
        long wanted = Math.max(1, (long) Math.ceil(count() * percent / 100));
        long seen = 0;
        for (Map.Entry<Integer, Long> bucket : buckets.entrySet()) {
            seen += bucket.getValue();
            if (seen >= wanted) {
                return longest(bucket.getKey()) / 1e3;
            }
        }
        return 0;
    }

    /** These and others. */
    public StageTimes plus(StageTimes others) {
        Map<Integer, Long> sum = new TreeMap<>(buckets);
        others.buckets.forEach((bucket, count) -> sum.merge(bucket, count, Long::sum));
        return new StageTimes(nanos + others.nanos, sum);
    }

    /** These without those that were there before. */
    public StageTimes minus(StageTimes before) {
        Map<Integer, Long> rest = new TreeMap<>(buckets);
        before.buckets.forEach((bucket, count) ->
                rest.computeIfPresent(bucket, (any, now) -> now > count ? Long.valueOf(now - count) : null));
        return new StageTimes(nanos - before.nanos, rest);
    }
}
