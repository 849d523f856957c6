package org.gorda.bench;

import java.util.Locale;
import java.util.Map;

/**
 * What a load test measured after its warm-up. Immutable.
 *
 * @param aborted transactions that did not happen, by SQLSTATE and what it means
 * @param unknown transactions of which the client was told that nobody knows (08007)
 * @param latency of committed ones
 * @param sums of the balances at the end
 */
public record LoadReport(
        int clients,
        int scale,
        double seconds,
        long committed,
        double throughputPerS,
        Map<String, Long> aborted,
        long unknown,
        Latencies latency,
        TpcB.Sums sums) {

    /** How many did not happen, for any cause. */
    public long abortedInAll() {
        return aborted.values().stream().mapToLong(Long::longValue).sum();
    }

    /**
     * Checks the invariant of TPC-B.
     *
     * @throws BenchException if the balances do not equal the history
     */
    public void requireConsistent() {
        if (!sums.equal()) {
            throw new BenchException("the balances do not equal the history: " + sums);
        }
    }

    /** For people. */
    public String toText() {
        StringBuilder text = new StringBuilder();
        text.append(String.format(
                Locale.ROOT,
                "committed   %,d in %.1f s by %d clients, scale %d: %,.1f/s%n",
                committed,
                seconds,
                clients,
                scale,
                throughputPerS));
        text.append(String.format(Locale.ROOT, "aborted     %,d%n", abortedInAll()));
        aborted.forEach(
                (cause, count) -> text.append(String.format(Locale.ROOT, "              %,d %s%n", count, cause)));
        text.append(String.format(Locale.ROOT, "unknown     %,d%n", unknown));
        text.append(String.format(
                Locale.ROOT,
                "latency     mean %.3f  p50 %.3f  p95 %.3f  p99 %.3f  max %.3f ms%n",
                latency.mean(),
                latency.p50(),
                latency.p95(),
                latency.p99(),
                latency.max()));
        text.append(String.format(
                Locale.ROOT,
                "balances    branches %d, tellers %d, accounts %d; history %d in %,d rows (warm-up and ramp-down are in it): %s",
                sums.branches(),
                sums.tellers(),
                sums.accounts(),
                sums.history(),
                sums.historyRows(),
                sums.equal() ? "consistent" : "NOT CONSISTENT"));
        return text.toString();
    }
}
