package org.gorda.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.jspecify.annotations.Nullable;

/** What happened in each second. Counting is thread-safe; seconds are ended and read by one thread. */
public final class Timeline {

    static final long LATENCY_NANOS_MAX = TimeUnit.MINUTES.toNanos(10);
    static final int DIGITS = 3;

    /**
     * One second. Immutable.
     *
     * @param noConnection how often a client got no connection or, in a load test, lost it
     * @param p50Ms of what was committed; null if nothing was
     */
    public record Second(
            long committed,
            long failed,
            long unknown,
            long noConnection,
            @Nullable Double p50Ms,
            @Nullable Double p99Ms) {}

    private final List<Second> seconds = new ArrayList<>();
    private final Recorder latency = new Recorder(LATENCY_NANOS_MAX, DIGITS);
    private final LongAdder failed = new LongAdder();
    private final LongAdder unknown = new LongAdder();
    private final LongAdder noConnection = new LongAdder();
    private @Nullable Histogram histogram;

    public void committed(long nanos) {
        latency.recordValue(Math.min(LATENCY_NANOS_MAX, nanos));
    }

    public void failed() {
        failed.increment();
    }

    public void unknown() {
        unknown.increment();
    }

    public void noConnection() {
        noConnection.increment();
    }

    public Second endSecond() {
        Histogram ended = latency.getIntervalHistogram(histogram);
        histogram = ended;
        long count = ended.getTotalCount();
        Second second = new Second(
                count,
                failed.sumThenReset(),
                unknown.sumThenReset(),
                noConnection.sumThenReset(),
                count == 0 ? null : Double.valueOf(ended.getValueAtPercentile(50) / 1e6),
                count == 0 ? null : Double.valueOf(ended.getValueAtPercentile(99) / 1e6));
        seconds.add(second);
        return second;
    }

    /** Of the second that was ended last, in nanoseconds; until the next one is. */
    Histogram latencies() {
        return java.util.Objects.requireNonNull(histogram, "no second has ended");
    }

    public List<Second> seconds() {
        return seconds;
    }
}
