package org.gorda.bench;

import org.HdrHistogram.Histogram;

/** How long transactions took, in milliseconds, from the first statement to the commit's answer. Immutable. */
public record Latencies(double mean, double p50, double p95, double p99, double max) {

    static Latencies of(Histogram nanos) {
        return new Latencies(
                millis(nanos.getMean()),
                millis((double) nanos.getValueAtPercentile(50)),
                millis((double) nanos.getValueAtPercentile(95)),
                millis((double) nanos.getValueAtPercentile(99)),
                millis((double) nanos.getMaxValue()));
    }

    private static double millis(double nanos) {
        return Math.round(nanos / 1e3) / 1e3;
    }
}
