package org.gorda.bench.torture;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.jspecify.annotations.Nullable;

/** What happened in each second. Counting is thread-safe; seconds are ended and read by one thread. */
final class Timeline {

    private static final long LATENCY_NANOS_MAX = TimeUnit.MINUTES.toNanos(10);

    /**
     * One second. Immutable.
     *
     * @param noConnection how often a client got no connection
     * @param p50Ms of what was committed; null if nothing was
     */
    record Second(
            long committed,
            long failed,
            long unknown,
            long noConnection,
            @Nullable Double p50Ms,
            @Nullable Double p99Ms) {}

    private final List<Second> seconds = new ArrayList<>();
    private final Recorder latency = new Recorder(LATENCY_NANOS_MAX, 2);
    private final LongAdder failed = new LongAdder();
    private final LongAdder unknown = new LongAdder();
    private final LongAdder noConnection = new LongAdder();
    private @Nullable Histogram reused;

    void ended(Outcome outcome, long nanos) {
        switch (outcome) {
            case OK -> latency.recordValue(Math.min(LATENCY_NANOS_MAX, nanos));
            case FAILED -> failed.increment();
            case UNKNOWN -> unknown.increment();
        }
    }

    void noConnection() {
        noConnection.increment();
    }

    Second endSecond() {
        Histogram histogram = latency.getIntervalHistogram(reused);
        reused = histogram;
        long count = histogram.getTotalCount();
        Second second = new Second(
                count,
                failed.sumThenReset(),
                unknown.sumThenReset(),
                noConnection.sumThenReset(),
                count == 0 ? null : Double.valueOf(histogram.getValueAtPercentile(50) / 1e6),
                count == 0 ? null : Double.valueOf(histogram.getValueAtPercentile(99) / 1e6));
        seconds.add(second);
        return second;
    }

    List<Second> seconds() {
        return seconds;
    }
}
