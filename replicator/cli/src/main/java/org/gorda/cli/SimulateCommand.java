package org.gorda.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.gorda.bench.workload.BenchException;
import org.gorda.replicator.simulator.Scenario;
import org.gorda.replicator.simulator.SimulationResult;
import org.gorda.replicator.simulator.SimulationRun;
import org.gorda.replicator.simulator.ViolationError;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "simulate",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "Runs replicas in virtual time, in one thread, with faults drawn from a seed: crashes, partitions, loss, duplicates,"
                    + " late messages, failing disks, forgotten directories, changes of membership. The ordering and the"
                    + " replicator's core are those of production.",
            "Exits with 0 only if no seed loses or diverges anything and nobody stays stuck. The same seed does the same again."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class SimulateCommand implements Callable<Integer> {

    private static final int LINE_EVERY = 100;
    private static final int SEEDS = 300;

    @Mixin
    private Output output = new Output();

    @Option(names = "--seed", description = "This one alone.")
    private @Nullable Long seed;

    @Option(
            names = "--seeds",
            description =
                    "How many; " + SEEDS + " if not given, or as many as there is time for, if there is a --time.")
    private @Nullable Long seeds;

    @Option(names = "--from", description = "The first.", defaultValue = "1")
    private long from;

    @Option(names = "--time", description = "No seed is begun after so long: 30s, 5m, 1h.")
    private @Nullable Duration time;

    @Option(
            names = "--shrink",
            description = "Of a seed that fails: leave out what it does not need. Runs it many times.")
    private boolean shrink;

    @Option(names = "--replicas", description = "With --seed: at most so many.", defaultValue = "7")
    private int replicas;

    @Option(
            names = "--clients",
            description = "With --seed: so many, 1 to " + Scenario.ALL_CLIENTS + ".",
            defaultValue = "" + Scenario.ALL_CLIENTS)
    private int clients;

    @Option(names = "--first", description = "With --seed: the first transaction, by number.", defaultValue = "1")
    private int firstTransaction;

    @Option(names = "--last", description = "With --seed: the last transaction while there are faults.")
    private int lastTransaction = Integer.MAX_VALUE;

    @Option(names = "--without", split = ",", description = "With --seed: without the faults of these numbers.")
    private SortedSet<Integer> without = new TreeSet<>();

    /** What the command ends with. */
    private record Report(
            long seeds,
            int failures,
            double simulatedHours,
            long faults,
            double seedsPerS,
            long from,
            List<Long> failed,
            long acknowledged,
            long aborted,
            long inDoubt,
            long lost,
            long crashes,
            long epochs) {}

    @Override
    public Integer call() {
        long first = seed == null ? from : seed;
        long count = seed != null ? 1 : seeds != null ? seeds : time == null ? SEEDS : Long.MAX_VALUE;
        if (count < 1) {
            throw new BenchException("--seeds is " + count + " but must be at least 1");
        }
        if (seed != null && seeds != null) {
            throw new BenchException("--seed is one alone: leave out --seeds, or say the first of them by --from");
        }
        if (firstTransaction > lastTransaction) {
            throw new BenchException(
                    "--first is " + firstTransaction + " but must be at most --last, which is " + lastTransaction);
        }
        if (clients < 1 || clients > Scenario.ALL_CLIENTS || replicas < 1) {
            throw new BenchException("--clients must be 1 to " + Scenario.ALL_CLIENTS + ", and --replicas at least 1");
        }
        boolean whole = scenario(1).equals(Scenario.of(1));
        if (seed == null && !whole) {
            throw new BenchException(
                    "--replicas, --clients, --first, --last and --without make one run smaller: say which by --seed");
        }
        if (time != null && time.toMillis() < 1) {
            throw new BenchException("--time is " + time.toMillis() + "ms but must be at least 1ms");
        }
        Totals totals = new Totals();
        List<Long> failed = new ArrayList<>();
        long begin = System.nanoTime();
        long done = 0;
        while (done < count && (time == null || System.nanoTime() - begin < time.toNanos())) {
            Scenario scenario = scenario(first + done);
            done++;
            try {
                SimulationResult result = SimulationRun.run(scenario);
                totals.add(result);
                if (count <= LINE_EVERY || done % LINE_EVERY == 0) {
                    tell(done, result);
                }
            } catch (ViolationError e) {
                failed.add(scenario.seed());
                output.line(String.valueOf(e.getMessage()));
                if (shrink) {
                    output.line("smaller: " + e.shrunk().getMessage());
                }
            }
        }
        Report report = totals.report(done, (System.nanoTime() - begin) / 1e9, first, failed);
        output.line(String.format(
                Locale.ROOT,
                "%,d seeds from %d: %,d failed; %,d transactions acknowledged, %,d aborted, %,d were in doubt; %,d faults in %.1f"
                        + " hours of virtual time",
                report.seeds(),
                report.from(),
                report.failures(),
                report.acknowledged(),
                report.aborted(),
                report.inDoubt(),
                report.faults(),
                report.simulatedHours()));
        output.result(report);
        return failed.isEmpty() ? 0 : 1;
    }

    private Scenario scenario(long number) {
        return new Scenario(number, replicas, clients, firstTransaction, lastTransaction, without);
    }

    /** Of the seeds in which nothing was found. Confined to one thread. */
    private static final class Totals {
        private long virtualMillis;
        private long faults;
        private long acknowledged;
        private long aborted;
        private long inDoubt;
        private long lost;
        private long crashes;
        private long epochs;

        void add(SimulationResult result) {
            virtualMillis += result.virtualTime().toMillis();
            faults += result.faults();
            acknowledged += result.acknowledged();
            aborted += result.aborted();
            inDoubt += result.inDoubt();
            lost += result.lost();
            crashes += result.crashes();
            epochs += result.epochs();
        }

        Report report(long seeds, double seconds, long from, List<Long> failed) {
            return new Report(
                    seeds,
                    failed.size(),
                    rounded(virtualMillis / 3_600_000.0),
                    faults,
                    rounded(seeds / seconds),
                    from,
                    failed,
                    acknowledged,
                    aborted,
                    inDoubt,
                    lost,
                    crashes,
                    epochs);
        }
    }

    private static double rounded(double value) {
        return Math.round(value * 100) / 100.0;
    }

    private void tell(long done, SimulationResult result) {
        output.line(String.format(
                Locale.ROOT,
                "%6d  seed %d  hash %016x  %.1f s of virtual time, %d replicas, %d acknowledged, %d faults, %d crashes, %d epochs",
                done,
                result.seed(),
                result.hash(),
                result.virtualTime().toMillis() / 1e3,
                result.members(),
                result.acknowledged(),
                result.faults(),
                result.crashes(),
                result.epochs()));
    }
}
