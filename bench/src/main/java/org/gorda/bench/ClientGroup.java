package org.gorda.bench;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.gorda.bench.workload.Workload;
import org.jspecify.annotations.Nullable;

/**
 * Clients of a load test that run the same in the same way. What they do is chosen before they begin. Clients' calls are thread-safe;
 * seconds are ended and read by one thread.
 */
final class ClientGroup {

    private static final int CLIENTS = 8;

    private final String name;
    private final Workload workload;
    private int clients = CLIENTS;
    private int rampStep = Integer.MAX_VALUE;
    private Duration rampEvery = Duration.ZERO;
    private Duration think = Duration.ZERO;
    private @Nullable Double rate;

    private final AtomicLong arrivals = new AtomicLong();
    private final Recorder latency = new Recorder(Timeline.LATENCY_NANOS_MAX, Timeline.DIGITS);
    private final LongAdder aborted = new LongAdder();
    private final Histogram measured = new Histogram(Timeline.LATENCY_NANOS_MAX, Timeline.DIGITS);
    private long abortedMeasured;
    private long notBegun;
    private @Nullable Histogram second;

    ClientGroup(String name, Workload workload) {
        this.name = name;
        this.workload = workload;
    }

    void clients(int count) {
        clients = count;
    }

    void ramp(int step, Duration every) {
        rampStep = step;
        rampEvery = every;
    }

    void think(Duration time) {
        think = time;
    }

    void rate(double perSecond) {
        rate = perSecond;
    }

    Workload workload() {
        return workload;
    }

    int clients() {
        return clients;
    }

    Duration think() {
        return think;
    }

    @Nullable
    Double rate() {
        return rate;
    }

    /** How long after the first one a client of the group begins, from 0. */
    long rampNanos(int client) {
        return client / rampStep * rampEvery.toNanos();
    }

    /** Until all clients have begun. */
    long rampNanos() {
        return rampNanos(clients - 1);
    }

    /** When the next transaction is to begin: by the rate, or now. */
    long nextNanos(long beginNanos) {
        Double perS = rate;
        return perS == null ? System.nanoTime() : beginNanos + (long) (arrivals.getAndIncrement() * 1e9 / perS);
    }

    /** The time is over: what is due by the rate and has not begun, because all clients are busy, is counted. */
    void end(long beginNanos, long nowNanos) {
        Double perS = rate;
        notBegun = perS == null ? 0 : Math.max(0, (long) ((nowNanos - beginNanos) / 1e9 * perS) + 1 - arrivals.get());
    }

    /** How many were due and had not begun in the end. */
    long notBegun() {
        return notBegun;
    }

    void committed(long nanos) {
        latency.recordValue(Math.min(Timeline.LATENCY_NANOS_MAX, nanos));
    }

    void failed() {
        aborted.increment();
    }

    /** Adds what came since the second before to what was measured. */
    void endSecond() {
        Histogram ended = latency.getIntervalHistogram(second);
        second = ended;
        measured.add(ended);
        abortedMeasured += aborted.sumThenReset();
    }

    /** What follows is measured. */
    void reset() {
        endSecond();
        measured.reset();
        abortedMeasured = 0;
    }

    /** What was measured in so many seconds. */
    LoadReport.Group report(double seconds) {
        return new LoadReport.Group(
                name,
                clients,
                measured.getTotalCount(),
                LoadTest.rounded(measured.getTotalCount() / seconds),
                abortedMeasured,
                notBegun,
                Latencies.of(measured));
    }
}
