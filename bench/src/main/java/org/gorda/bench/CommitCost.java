package org.gorda.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.gorda.replicator.node.NodeProbes;
import org.jspecify.annotations.Nullable;

/**
 * Where the time of transactions that change something went on replicas, and what each of them cost there. Immutable.
 *
 * @param replicas how many have told it
 * @param committed how many
 * @param stages those that were measured
 * @param frames sent between the replicas for each of them, what they say to each other besides it included
 * @param bytes of those frames
 * @param logForces how often replicas forced their logs to disk for each
 * @param databaseForces how often they forced their databases to disk for each
 */
public record CommitCost(
        int replicas,
        long committed,
        List<Times> stages,
        double frames,
        double bytes,
        double logForces,
        double databaseForces) {

    /**
     * A stage. Immutable.
     *
     * @param atOrigin whether the client waits for it
     * @param count how often it was measured
     * @param p50 as {@code p99} and {@code max} at most 1/16 more than it was, in microseconds
     */
    public record Times(
            String stage, String what, boolean atOrigin, long count, double mean, double p50, double p99, double max) {}

    /**
     * Of replicas of one group.
     *
     * @return null if they have committed nothing
     */
    public static @Nullable CommitCost of(Collection<NodeProbes> replicas) {
        NodeProbes all = replicas.stream().reduce(NodeProbes::plus).orElse(null);
        if (all == null || all.committed() <= 0) {
            return null;
        }
        return new CommitCost(
                replicas.size(),
                all.committed(),
                times(all),
                each(all, all.frames()),
                each(all, all.bytes()),
                each(all, all.forces()),
                each(all, all.flushes()));
    }

    private static double each(NodeProbes all, long count) {
        return Math.round(count * 1e3 / all.committed()) / 1e3;
    }

    /** Those that were measured. */
    public static List<Times> times(NodeProbes probes) {
        List<Times> found = new ArrayList<>();
        probes.stages()
                .forEach((stage, times) -> found.add(new Times(
                        stage.toString(),
                        stage.text(),
                        stage.isAtOrigin(),
                        times.count(),
                        times.meanMicros(),
                        times.p50Micros(),
                        times.p99Micros(),
                        times.maxMicros())));
        return found;
    }

    /** What clients wait for, in the mean. */
    private static double waited(List<Times> stages) {
        return stages.stream().filter(Times::atOrigin).mapToDouble(Times::mean).sum();
    }

    /** A line for each stage, for people; empty if there are none. */
    public static List<String> lines(List<Times> stages) {
        double waited = waited(stages);
        List<String> lines = new ArrayList<>();
        for (boolean atOrigin : new boolean[] {true, false}) {
            for (Times each : stages.stream()
                    .filter(times -> times.atOrigin() == atOrigin)
                    .toList()) {
                if (lines.isEmpty()) {
                    lines.add(String.format(
                            "%-8s %-8s %9s %6s %10s %10s %10s %10s",
                            "AT", "STAGE", "COUNT", "SHARE", "MEAN us", "P50", "P99", "MAX"));
                }
                lines.add(String.format(
                        Locale.ROOT,
                        "%-8s %-8s %,9d %6s %,10.1f %,10.1f %,10.1f %,10.0f  %s",
                        atOrigin ? "origin" : "others",
                        each.stage(),
                        each.count(),
                        atOrigin
                                ? String.format(Locale.ROOT, "%.1f %%", 100 * each.mean() / Math.max(1e-9, waited))
                                : "",
                        each.mean(),
                        each.p50(),
                        each.p99(),
                        each.max(),
                        each.what()));
            }
        }
        return lines;
    }

    /** One line for people: what a transaction cost. */
    public String each() {
        return String.format(
                Locale.ROOT,
                "%,.1f frames with %,.0f bytes between replicas, %.2f forces of logs and %.3f of databases for each of %,d committed on %d replicas",
                frames,
                bytes,
                logForces,
                databaseForces,
                committed,
                replicas);
    }

    /** For people. */
    String toText() {
        StringBuilder text = new StringBuilder("replicas    ").append(each());
        lines(stages)
                .forEach(
                        line -> text.append(System.lineSeparator()).append("  ").append(line));
        return text.toString();
    }
}
