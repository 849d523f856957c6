package org.gorda.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.gorda.gapi.FileTree;
import org.gorda.replicator.node.NodeStatus;

/**
 * How fast one replica applies what three have written together: three replica processes take TPC-B from clients, each on its own, and
 * keep the log. Then all are ended, one is put back to where its database was before, and works off its log while nothing else happens.
 *
 * @param scale how many branches
 * @param accounts of each branch
 * @param clients how many at once, over all replicas
 * @param warmUp how long the load runs before it is measured; what is written then warms the one that applies
 * @param duration of the load that is measured
 * @param directory where the replicas keep everything
 */
public record ApplyRate(int scale, int accounts, int clients, Duration warmUp, Duration duration, Path directory) {

    private static final int REPLICAS = 3;

    /** A log that is cut cannot be worked off. */
    private static final Map<String, String> SETTINGS =
            Map.of("protocol", "certification", "log-retain-bytes", "512GB");

    private static final Duration WAIT = Duration.ofMinutes(5);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /**
     * Transactions and what they cost. Immutable.
     *
     * @param perS transactions in a second
     * @param rowsPerS rows changed in a second
     * @param cpuMicros processor time of all replica processes for one transaction
     */
    public record Rate(long transactions, double seconds, double perS, double rowsPerS, double cpuMicros) {
        static Rate of(long transactions, double seconds, Duration cpu) {
            double perS = transactions / seconds;
            return new Rate(
                    transactions,
                    rounded(seconds),
                    rounded(perS),
                    rounded(perS * TpcB.ROWS_CHANGED),
                    rounded(cpu.toNanos() / 1e3 / Math.max(1, transactions)));
        }

        private String toText(String what) {
            return String.format(
                    Locale.ROOT,
                    "%-11s %,d transactions in %.1f s: %,.0f/s, %,.0f rows/s, %,.0f us of processor time each",
                    what,
                    transactions,
                    seconds,
                    perS,
                    rowsPerS,
                    cpuMicros);
        }
    }

    /**
     * What came of it. Immutable.
     *
     * @param aborted transactions that lost a conflict while the load was measured
     * @param produced by the three together
     * @param applied by the one alone
     * @param ratio of the rates, applied to produced
     * @param identical whether all replicas hold the same afterwards
     */
    public record Result(
            int scale, int clients, long aborted, Rate produced, Rate applied, double ratio, boolean identical) {

        /** For people. */
        public String toText() {
            return produced.toText("produced") + "\n" + applied.toText("applied") + "\n"
                    + String.format(
                            Locale.ROOT, "ratio       %.1f, %s", ratio, identical ? "identical" : "NOT IDENTICAL");
        }
    }

    /** How far a replica was at a moment. */
    private record Mark(long index, long transactions, long nanos, Duration cpu) {}

    private static double rounded(double value) {
        return Math.round(value * 10) / 10.0;
    }

    /**
     * Runs it.
     *
     * @throws BenchException if a value cannot be, before anything is started; or if a replica does not do what it should
     */
    public Result run(Consumer<String> progress) {
        TpcB bank = TpcB.of(scale, accounts);
        LoadTest.of(bank).clients(clients).duration(warmUp).duration(duration);
        try (ReplicaGroup group = ReplicaGroup.of(REPLICAS, directory, SETTINGS)) {
            Runtime.getRuntime().addShutdownHook(new Thread(group::close, "end-of-bench"));
            return run(group, bank, progress);
        } catch (IOException e) {
            throw new BenchException("the database of a replica in " + directory + " could not be copied: " + e, e);
        } catch (SQLException e) {
            throw new BenchException("SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        }
    }

    private Result run(ReplicaGroup group, TpcB bank, Consumer<String> progress) throws IOException, SQLException {
        ReplicaProcess alone = group.replicas().get(REPLICAS - 1);
        group.start();
        group.awaitOnline(WAIT, progress);
        progress.accept(String.format(Locale.ROOT, "loading     %,d accounts", (long) scale * accounts));
        try (Connection connection = DriverManager.getConnection(group.url())) {
            bank.load(connection, (rows, ofAll) -> {});
        }
        group.awaitOnline(WAIT, progress);
        Path kept = directory.resolve("before");
        alone.stop();
        copy(database(alone.directory()), database(kept));
        copyCheckpoint(alone.directory(), kept);
        alone.start();
        group.awaitOnline(WAIT, progress);

        progress.accept("load        on all three replicas");
        load(group, bank, warmUp, progress);
        long begin = ordered(group);
        Duration used = cpu(group);
        LoadReport report = load(group, bank, duration, progress);
        long end = ordered(group);
        Rate produced = Rate.of(report.committed(), report.seconds(), cpu(group).minus(used));
        group.awaitOnline(WAIT, progress);
        group.stop();

        FileTree.delete(database(alone.directory()));
        copy(database(kept), database(alone.directory()));
        copyCheckpoint(kept, alone.directory());
        group.start();
        Rate applied = apply(group, alone, begin, end);
        progress.accept("load        applied by " + alone.name() + " alone");
        group.awaitOnline(WAIT, progress);
        return new Result(
                scale,
                clients,
                report.abortedInAll(),
                produced,
                applied,
                rounded(applied.perS() / produced.perS()),
                group.verify(WAIT).identical());
    }

    private LoadReport load(ReplicaGroup group, TpcB bank, Duration time, Consumer<String> progress) {
        LoadReport report = LoadTest.of(bank)
                .target(group.url())
                .clients(clients)
                .duration(time)
                .progress(progress)
                .run();
        report.requireConsistent();
        return report;
    }

    private static long ordered(ReplicaGroup group) {
        return group.replicas().stream()
                .mapToLong(replica -> group.status(replica)
                        .orElseThrow(() -> new BenchException(replica.name() + " does not answer any more"))
                        .ordered())
                .max()
                .orElseThrow();
    }

    private static Duration cpu(ReplicaGroup group) {
        return group.replicas().stream().map(ReplicaProcess::cpu).reduce(Duration.ZERO, Duration::plus);
    }

    /**
     * Watches it work off what lies between two places in the order. If nothing is left of that once the first place has been seen passed, it
     * is measured from the start of the process, with what was before.
     */
    private static Rate apply(ReplicaGroup group, ReplicaProcess replica, long from, long to) {
        long deadline = System.nanoTime() + WAIT.toNanos();
        Mark start = new Mark(0, 0, System.nanoTime(), Duration.ZERO);
        Mark begin = start;
        while (System.nanoTime() < deadline) {
            replica.requireAlive();
            NodeStatus now = group.status(replica).orElse(null);
            if (now != null) {
                Mark mark = new Mark(now.applied(), now.appliedOfOthers(), System.nanoTime(), replica.cpu());
                if (mark.index() >= to) {
                    boolean seen = begin.transactions() < mark.transactions()
                            && begin.cpu().compareTo(mark.cpu()) < 0; // which the system counts in steps
                    Mark since = seen ? begin : start;
                    return Rate.of(
                            mark.transactions() - since.transactions(),
                            (mark.nanos() - since.nanos()) / 1e9,
                            mark.cpu().minus(since.cpu()));
                }
                if (begin.index() < from) {
                    begin = mark;
                }
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        throw new BenchException(
                replica.name() + " has not applied what lies at " + to + " within " + WAIT.toSeconds() + " s");
    }

    private static Path database(Path directory) {
        return directory.resolve(ReplicaGroup.DATABASE);
    }

    /** What a replica knows beside its database; a young one has none yet. */
    private static void copyCheckpoint(Path from, Path to) throws IOException {
        Path own = Path.of(ReplicaGroup.DATABASE + ".gorda", "checkpoint");
        Files.createDirectories(to.resolve(own).getParent());
        Files.deleteIfExists(to.resolve(own));
        if (Files.exists(from.resolve(own))) {
            Files.copy(from.resolve(own), to.resolve(own));
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Path copy = to.resolve(from.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(copy);
                } else {
                    Files.copy(file, copy);
                }
            }
        }
    }
}
