package org.gorda.bench;

import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.gorda.bench.workload.TpcB;
import org.gorda.jgcs.LoopbackPorts;

/**
 * What replication costs: the same TPC-B load on three replica processes and on one process of the same engine alone, with its own network
 * server and its default durable commit, in turns, so that what else the machine does falls on both. While one has its turn the other
 * has nothing to do.
 *
 * @param protocol of the replicas
 * @param scale how many branches
 * @param accounts of each branch
 * @param clients how many at once; with certification, over all replicas
 * @param retry how many times the driver runs a refused transaction again, 0 for never
 * @param warmUp how long each side runs before it is measured
 * @param turn how long each turn lasts
 * @param pairs how many turns each side has
 * @param directory where both keep everything
 */
public record EngineRatio(
        String protocol,
        int scale,
        int accounts,
        int clients,
        int retry,
        Duration warmUp,
        Duration turn,
        int pairs,
        Path directory) {

    private static final int REPLICAS = 3;
    private static final String HEAP = "768m";
    private static final Duration WAIT = Duration.ofMinutes(5);
    /** Until all connections are there and have prepared their statements. */
    private static final Duration CONNECTED = Duration.ofSeconds(1);

    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /**
     * One turn of one side. Immutable.
     *
     * @param abortedShare of all attempts
     * @param cpuMicros processor time of the side's processes for one committed transaction, without the clients'
     */
    public record Side(
            double perS, Map<String, Long> aborted, double abortedShare, double cpuMicros, double p50Ms, double p99Ms) {

        static Side of(LoadReport report) {
            return new Side(
                    report.throughputPerS(),
                    report.aborted(),
                    report.abortedShare(),
                    java.util.Objects.requireNonNull(report.replicasCpuMicros()),
                    report.latency().p50(),
                    report.latency().p99());
        }

        private String toText(String what) {
            return String.format(
                    Locale.ROOT,
                    "%-11s %,7.0f/s   p50 %7.1f ms   p99 %7.1f ms   aborted %4.1f %%   %,6.0f us of processor time each",
                    what,
                    perS,
                    p50Ms,
                    p99Ms,
                    100 * abortedShare,
                    cpuMicros);
        }
    }

    /** Two turns, one of each side, one after the other. Immutable. */
    public record Pair(Side replicated, Side alone, double ratio) {}

    /**
     * What came of it. Immutable.
     *
     * @param ratio of the throughputs, replicated to alone: the median of the pairs, as are the next two
     * @param cpuRatio of the processor time for each committed transaction
     * @param abortedShare of the replicated side's attempts
     * @param identical whether all replicas hold the same afterwards
     */
    public record Result(
            String protocol,
            int scale,
            int clients,
            double ratio,
            double ratioMin,
            double ratioMax,
            double cpuRatio,
            double abortedShare,
            boolean identical,
            List<Pair> pairs) {

        static Result of(EngineRatio run, List<Pair> pairs, boolean identical) {
            List<Double> ratios = pairs.stream().map(Pair::ratio).sorted().toList();
            return new Result(
                    run.protocol,
                    run.scale,
                    run.clients,
                    median(pairs, Pair::ratio),
                    ratios.get(0),
                    ratios.get(ratios.size() - 1),
                    median(
                            pairs,
                            pair -> pair.replicated().cpuMicros() / pair.alone().cpuMicros()),
                    median(pairs, pair -> pair.replicated().abortedShare()),
                    identical,
                    List.copyOf(pairs));
        }

        private static double median(List<Pair> pairs, ToDoubleFunction<Pair> value) {
            double[] sorted = pairs.stream().mapToDouble(value).sorted().toArray();
            int middle = sorted.length / 2;
            return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        }

        /** For people. */
        public String toText() {
            return String.format(
                    Locale.ROOT,
                    "ratio       %.2f (%.2f to %.2f) of the engine alone, %.1f times its processor time each, aborted %.1f %%, %s",
                    ratio,
                    ratioMin,
                    ratioMax,
                    cpuRatio,
                    100 * abortedShare,
                    identical ? "identical" : "NOT IDENTICAL");
        }
    }

    /**
     * Runs it.
     *
     * @throws BenchException if a value cannot be, before anything is started; or if a process does not do what it should
     */
    public Result run(Consumer<String> progress) {
        if (pairs < 1 || pairs > 1_000) {
            throw new BenchException("pairs is " + pairs + " but must be 1 to 1000");
        }
        TpcB bank = TpcB.of(scale, accounts);
        LoadTest.of(bank).clients(clients).duration(turn);
        int port = LoopbackPorts.free(1).get(0);
        String aloneUrl = "jdbc:derby://127.0.0.1:" + port + "/"
                + directory.toAbsolutePath().resolve("alone").resolve(ReplicaGroup.DATABASE) + ";create=true";
        List<String> command = new ArrayList<>(ReplicaGroup.java(HEAP));
        command.addAll(List.of("org.apache.derby.drda.NetworkServerControl", "start"));
        command.addAll(List.of("-h", "127.0.0.1", "-p", Integer.toString(port), "-noSecurityManager"));
        ReplicaProcess alone =
                new ReplicaProcess("the engine alone", directory.resolve("alone"), "", aloneUrl, command);
        try (ReplicaGroup group = ReplicaGroup.of(REPLICAS, directory, Map.of("protocol", protocol), HEAP)) {
            Runtime.getRuntime().addShutdownHook(new Thread(group::close, "end-of-replicas"));
            Runtime.getRuntime().addShutdownHook(new Thread(alone::stop, "end-of-engine"));
            group.start();
            alone.start();
            group.awaitOnline(WAIT, progress);
            awaitConnection(alone);
            return run(group, alone, bank, progress);
        } finally {
            alone.stop();
        }
    }

    private static void awaitConnection(ReplicaProcess alone) {
        long begin = System.nanoTime();
        while (true) {
            alone.requireAlive();
            try {
                DriverManager.getConnection(alone.embeddedUrl()).close();
                return;
            } catch (SQLException e) {
                boolean starts = String.valueOf(e.getSQLState()).startsWith("08");
                if (!starts || System.nanoTime() - begin > WAIT.toNanos()) {
                    throw new BenchException(alone.name() + " lets nobody in: " + e.getMessage(), e);
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
    }

    private Result run(ReplicaGroup group, ReplicaProcess alone, TpcB bank, Consumer<String> progress) {
        String url = group.url() + (retry > 0 ? ";retry=" + retry : "");
        progress.accept("replicated  " + url);
        side(bank, url, group.replicas(), warmUp, progress);
        progress.accept("alone       " + alone.embeddedUrl());
        side(bank, alone.embeddedUrl(), List.of(alone), warmUp, progress);
        List<Pair> done = new ArrayList<>();
        for (int number = 1; number <= pairs; number++) {
            Side replicated;
            Side plain;
            if (number % 2 == 1) {
                replicated = side(bank, url, group.replicas(), turn, line -> {});
                plain = side(bank, alone.embeddedUrl(), List.of(alone), turn, line -> {});
            } else {
                plain = side(bank, alone.embeddedUrl(), List.of(alone), turn, line -> {});
                replicated = side(bank, url, group.replicas(), turn, line -> {});
            }
            Pair pair = new Pair(replicated, plain, replicated.perS() / plain.perS());
            progress.accept(replicated.toText("replicated"));
            progress.accept(plain.toText("alone"));
            progress.accept(String.format(Locale.ROOT, "pair %-6s ratio %.2f", number + "/" + pairs, pair.ratio()));
            done.add(pair);
        }
        return Result.of(this, done, group.verify(WAIT).identical());
    }

    private Side side(TpcB bank, String url, List<ReplicaProcess> processes, Duration time, Consumer<String> progress) {
        LoadTest load = LoadTest.of(bank)
                .target(url)
                .clients(clients)
                .warmUp(CONNECTED)
                .duration(time)
                .progress(progress)
                .processorClock(
                        () -> processes.stream().map(ReplicaProcess::cpu).reduce(Duration.ZERO, Duration::plus));
        LoadReport report = load.run();
        report.requireConsistent();
        return Side.of(report);
    }
}
