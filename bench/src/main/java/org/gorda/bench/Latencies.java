package org.gorda.bench;

import java.util.List;
import java.util.stream.DoubleStream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * How long transactions took, in milliseconds. Immutable.
 *
 * @param meanBelowP95 the mean of those below the 95th percentile, which GORDA's deliverable D5.3 reports
 * @param curve of percentiles, for a chart
 */
public record Latencies(
        double mean,
        double meanBelowP95,
        double p50,
        double p90,
        double p95,
        double p99,
        double p999,
        double max,
        List<Point> curve) {

    private static final double[] PERCENTILES = {
        0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 100
    };

    /** So many of a hundred took at most that long. Immutable. */
    public record Point(double percentile, double ms) {}

    public static Latencies of(Histogram nanos) {
        return new Latencies(
                millis(nanos.getMean()),
                millis(meanBelow(nanos, nanos.getValueAtPercentile(95))),
                millis((double) nanos.getValueAtPercentile(50)),
                millis((double) nanos.getValueAtPercentile(90)),
                millis((double) nanos.getValueAtPercentile(95)),
                millis((double) nanos.getValueAtPercentile(99)),
                millis((double) nanos.getValueAtPercentile(99.9)),
                millis((double) nanos.getMaxValue()),
                DoubleStream.of(PERCENTILES)
                        .mapToObj(each -> new Point(each, millis((double) nanos.getValueAtPercentile(each))))
                        .toList());
    }

    private static double meanBelow(Histogram nanos, long limit) {
        double sum = 0;
        long count = 0;
        for (HistogramIterationValue value : nanos.recordedValues()) {
            if (value.getValueIteratedTo() < limit) {
                sum += (double) nanos.medianEquivalentValue(value.getValueIteratedTo())
                        * value.getCountAtValueIteratedTo();
                count += value.getCountAtValueIteratedTo();
            }
        }
        return count == 0 ? nanos.getMean() : sum / count;
    }

    private static double millis(double nanos) {
        return Math.round(nanos / 1e3) / 1e3;
    }
}
