package org.gorda.bench;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.Workload;
import org.jspecify.annotations.Nullable;

/**
 * What a load test measured after its warm-up. Immutable.
 *
 * @param parameters all that could be chosen, with its value; no password
 * @param ratePerS how many transactions were to begin each second; null if each client began its next after the answer
 * @param throughputLow with {@code throughputHigh} the interval that holds the mean with 95 % confidence, if the seconds are taken as
 *     independent of each other
 * @param aborted transactions that did not happen, by SQLSTATE and what it means; what was run again successfully is not among them
 * @param retried how often a transaction was run again
 * @param unknown transactions of which the client was told that nobody knows (08007)
 * @param notBegun transactions that were to begin and have not, when the time was over, because all clients were busy; 0 without a rate
 * @param latency of committed ones, from when they were to begin; retries are within
 * @param service as {@code latency}, but from when a client was free for them; null without a rate, when that is the same
 * @param cpuMicros processor time for a committed transaction of this process, which has the clients, and an embedded database if it is one
 * @param replicasCpuMicros the same of the processes that have the database; null if they are not known here
 * @param cost what a transaction that changed something has cost, in all replicas together; null if there are none that can be asked, or none did
 * @param answersInTime whether nine of ten transactions had their answer within the workload's limit; null if it has none
 * @param groups of clients, each by itself; empty if all clients are one
 * @param timeline seconds of what was measured
 * @param events what happened to the replicas meanwhile, as far as the URL names them
 */
public record LoadReport(
        String workload,
        Map<String, String> parameters,
        int clients,
        double seconds,
        @Nullable Double ratePerS,
        long committed,
        double throughputPerS,
        double throughputLow,
        double throughputHigh,
        Map<String, Long> aborted,
        long retried,
        long unknown,
        long notBegun,
        Latencies latency,
        @Nullable Latencies service,
        double cpuMicros,
        @Nullable Double replicasCpuMicros,
        @Nullable CommitCost cost,
        @Nullable Boolean answersInTime,
        Workload.Check check,
        List<Group> groups,
        List<Timeline.Second> timeline,
        List<Event> events) {

    /**
     * What clients of one kind did. Immutable.
     *
     * @param aborted for any cause; what was run again successfully is not among them
     * @param notBegun as of all
     * @param latency as that of all
     */
    public record Group(
            String name,
            int clients,
            long committed,
            double throughputPerS,
            long aborted,
            long notBegun,
            Latencies latency) {}

    /**
     * A replica is something else than before. Immutable.
     *
     * @param second since measuring began; noticed up to half a second late
     */
    public record Event(double second, String text) {}

    /** What a refusal means, among the causes of aborts. */
    static final String REFUSED = "conflict or change of primary, run again";

    /** Of what was aborted, what is no refusal, by cause. */
    public Map<String, Long> failures() {
        Map<String, Long> failures = new TreeMap<>(aborted);
        failures.keySet().removeIf(cause -> cause.endsWith(REFUSED));
        return failures;
    }

    /** Whether more than a client each has at the very end have not begun: those that waited longest are in no latency. */
    private boolean isLowerBound() {
        return notBegun > clients;
    }

    /** How many did not happen, for any cause. */
    public long abortedInAll() {
        return aborted.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Of all attempts of transactions, those that did not happen, whether they were run again or not. */
    public double abortedShare() {
        return (abortedInAll() + retried) / (double) Math.max(1, committed + abortedInAll() + retried);
    }

    /**
     * Checks what must hold after this workload.
     *
     * @throws BenchException if it does not
     */
    public void requireConsistent() {
        if (!check.consistent()) {
            throw new BenchException("what must hold does not: " + check.text());
        }
    }

    private static String clients(int count) {
        return count == 1 ? "1 client" : count + " clients";
    }

    /** For people. */
    public String toText() {
        StringBuilder text = new StringBuilder();
        line(
                text,
                "committed",
                "%,d in %.1f s by %s of %s%s: %,.1f/s%s",
                committed,
                seconds,
                clients(clients),
                workload,
                ratePerS == null ? "" : String.format(Locale.ROOT, ", %,.1f/s wanted", ratePerS),
                throughputPerS,
                timeline.size() < 2
                        ? "" // of one second there is no interval
                        : String.format(Locale.ROOT, " (%,.1f to %,.1f)", throughputLow, throughputHigh));
        line(text, "aborted", "%,d", abortedInAll());
        aborted.forEach((cause, count) -> line(text, "", "  %,d %s", count, cause));
        if (retried > 0) {
            line(text, "run again", "%,d", retried);
        }
        line(text, "unknown", "%,d", unknown);
        if (notBegun > 0) {
            line(text, "not begun", "%,d%s", notBegun, isLowerBound() ? "; latency is a lower bound" : "");
        }
        if (committed > 0) {
            latencies(text, "latency", latency);
        }
        if (committed > 0 && service != null) {
            latencies(text, "service", service);
        }
        for (Group group : groups) {
            line(
                    text,
                    "group",
                    "%s: %,d by %s, %,.1f/s%s, aborted %,d%s",
                    group.name(),
                    group.committed(),
                    clients(group.clients()),
                    group.throughputPerS(),
                    group.committed() == 0
                            ? ""
                            : String.format(
                                    Locale.ROOT,
                                    ", mean %.3f  p50 %.3f  p99 %.3f ms",
                                    group.latency().mean(),
                                    group.latency().p50(),
                                    group.latency().p99()),
                    group.aborted(),
                    group.notBegun() == 0 ? "" : String.format(Locale.ROOT, ", not begun %,d", group.notBegun()));
        }
        if (committed > 0) {
            line(
                    text,
                    "processor",
                    "%,.0f us for each committed one by the clients%s",
                    cpuMicros,
                    replicasCpuMicros == null
                            ? ""
                            : String.format(Locale.ROOT, ", %,.0f us by the replicas", replicasCpuMicros));
        }
        for (Event event : events) {
            line(text, "event", "%6.1f s  %s", event.second(), event.text());
        }
        if (cost != null) {
            text.append(cost.toText()).append(System.lineSeparator());
        }
        if (answersInTime != null) {
            line(text, "90 %", "%s", answersInTime ? "answered in time" : "NOT ANSWERED IN TIME");
        }
        line(
                text,
                "check",
                "%s%s",
                check.text().isEmpty() ? "" : check.text() + ": ",
                check.consistent() ? "consistent" : "NOT CONSISTENT");
        return text.toString().stripTrailing();
    }

    private static void latencies(StringBuilder text, String what, Latencies of) {
        line(
                text,
                what,
                "mean %.3f  p50 %.3f  p90 %.3f  p95 %.3f  p99 %.3f  p99.9 %.3f  max %.3f ms; mean below p95 %.3f",
                of.mean(),
                of.p50(),
                of.p90(),
                of.p95(),
                of.p99(),
                of.p999(),
                of.max(),
                of.meanBelowP95());
    }

    @SuppressWarnings("AnnotateFormatMethod")
    private static void line(StringBuilder text, String what, String format, Object... values) {
        text.append(String.format(Locale.ROOT, "%-12s", what))
                .append(String.format(Locale.ROOT, format, values))
                .append(System.lineSeparator());
    }
}
