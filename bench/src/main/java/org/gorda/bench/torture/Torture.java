package org.gorda.bench.torture;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.gorda.bench.EmbeddedEngine;
import org.gorda.bench.Engine;
import org.gorda.bench.Links;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.Timeline;
import org.gorda.bench.workload.BenchException;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.ReplicaContent;
import org.jspecify.annotations.Nullable;

/**
 * Runs replica processes under faults and under the load of clients that write down what they are told; then heals everything, and
 * compares that with what the replicas hold.
 *
 * @param duration of the load, 10 s to 2 h: histories are kept in memory
 * @param seed of the faults and of what the clients do; where threads and processes meet, each run is another one
 * @param replicas how many processes, 1 to 9
 * @param clients how many at once
 * @param protocol by its name; not the asynchronous one, whose promise is another one
 * @param durability by its name
 * @param faults which kinds, by name
 * @param isolation of all transactions but those whose check needs more; null for a mixture
 * @param engine of the databases; null for Derby
 * @param directory where the replicas keep everything
 * @param report where histories and the page go
 */
public record Torture(
        Duration duration,
        long seed,
        int replicas,
        int clients,
        String protocol,
        String durability,
        Set<String> faults,
        @Nullable Isolation isolation,
        @Nullable Engine engine,
        Path directory,
        Path report) {

    private static final List<String> PROTOCOLS =
            List.of(ReplicationProtocol.PRIMARY_BACKUP.key(), ReplicationProtocol.CERTIFICATION.key());
    private static final Duration SHORTEST = Duration.ofSeconds(10);
    private static final Duration LONGEST = Duration.ofHours(2);
    private static final Duration START_WAIT = Duration.ofMinutes(2);
    private static final Duration HEAL_WAIT = Duration.ofMinutes(5);
    private static final Duration END_WAIT = Duration.ofMinutes(2);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int TELL_EVERY_SECONDS = 5;

    /** Of each seed one: how much log is kept decides whether who was away receives the log or the database. */
    private static final List<String> LOG_RETAINED = List.of("1GB", "4MB", "1MB");

    /**
     * What came of it; the names are those of the JSON that {@code gorda torture --json} ends with. Immutable.
     *
     * @param verdict "OK", or "FAILED" if anything was found
     * @param operations transactions that clients have begun
     * @param faults how many there were
     * @param lost what was acknowledged and is missing
     * @param duplicated what is there more than once, or was given to two
     * @param diverged replicas that hold something else than the first
     * @param anomalies all else that no order of the transactions explains
     * @param unknown transactions whose clients could not be told what became of them
     * @param findings how much of what was found
     * @param history the folder of the histories
     */
    public record Result(
            String verdict,
            String protocol,
            String durability,
            int replicas,
            long seed,
            double seconds,
            long operations,
            long committed,
            long failed,
            int faults,
            Map<String, Integer> faultsByKind,
            long lost,
            long duplicated,
            long diverged,
            long anomalies,
            long unknown,
            long longestSilenceMs,
            Map<String, Long> findings,
            String history,
            String page) {

        /** Whether nothing was found. */
        public boolean ok() {
            return verdict.equals("OK");
        }
    }

    public Torture {
        if (duration.compareTo(SHORTEST) < 0 || duration.compareTo(LONGEST) > 0) {
            throw new BenchException("duration is " + duration.toSeconds() + " s but must be " + SHORTEST.toSeconds()
                    + " s to " + LONGEST.toHours() + " h");
        }
        if (clients < 1 || clients > 100) {
            throw new BenchException("clients is " + clients + " but must be 1 to 100");
        }
        if (!PROTOCOLS.contains(protocol)) {
            throw new BenchException("protocol is '" + protocol + "' but must be one of " + String.join(", ", PROTOCOLS)
                    + ": others may lose what they have acknowledged");
        }
        faults = Set.copyOf(faults);
        if (engine instanceof EmbeddedEngine && !protocol.equals(ReplicationProtocol.PRIMARY_BACKUP.key())) {
            throw new BenchException("protocol is '" + protocol + "', which " + engine.name() + " does not have: use "
                    + ReplicationProtocol.PRIMARY_BACKUP.key());
        }
        if (engine != null && !promise(engine, protocol).isSerializable() && isolation == Isolation.SERIALIZABLE) {
            throw new BenchException("isolation is SERIALIZABLE, which is no more than a snapshot in " + engine.name()
                    + ": use REPEATABLE_READ");
        }
    }

    private static Promise promise(@Nullable Engine engine, String protocol) {
        return Dialect.of(engine).promise(protocol.equals(ReplicationProtocol.PRIMARY_BACKUP.key()));
    }

    /** Runs it. */
    public Result run(Consumer<String> progress) {
        FaultPlan plan = FaultPlan.of(seed, duration, replicas, faults);
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("protocol", protocol);
        settings.put("durability", durability);
        settings.put("log-retain-bytes", LOG_RETAINED.get((int) Math.floorMod(seed, (long) LOG_RETAINED.size())));
        try (ReplicaGroup group = ReplicaGroup.of(replicas, directory, settings, engine);
                Links links = Links.between(group)) {
            // Who interrupts it finds no processes left behind.
            Thread end = new Thread(group::close, "end-of-torture");
            Runtime.getRuntime().addShutdownHook(end);
            try {
                return run(group, links, plan, progress);
            } finally {
                forget(end);
            }
        }
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // This program is ending: the hook runs.
        }
    }

    private Result run(ReplicaGroup group, Links links, FaultPlan plan, Consumer<String> progress) {
        progress.accept(String.format(
                "%d replicas of one %s database, each its own process, in %s; %s, durability %s, seed %d, %d faults",
                replicas,
                engine == null ? "Derby" : engine.name(),
                directory,
                protocol,
                durability,
                seed,
                plan.faults().size()));
        if (faults.contains(Fault.Kind.CLOCK.family())) {
            group.replicas().forEach(ReplicaProcess::giveClock);
            group.replicas().forEach(replica -> replica.moveClock(Duration.ZERO));
        }
        group.start();
        group.awaitOnline(START_WAIT, progress);
        return new Run(group, links, plan, progress).run();
    }

    /** One run of it. Confined to one thread. */
    private final class Run {
        private final ReplicaGroup group;
        private final FaultInjector injector;
        private final Consumer<String> progress;
        private final Findings findings = new Findings();
        private final List<Clients.Share> shares;
        private final Clients load;
        private final List<Recorded> all = new ArrayList<>();
        private final HistoryFiles files = new HistoryFiles(created(report));

        Run(ReplicaGroup group, Links links, FaultPlan plan, Consumer<String> progress) {
            this.group = group;
            this.progress = progress;
            this.injector = new FaultInjector(plan, group.replicas(), links, findings, progress);
            Dialect dialect = Dialect.of(engine);
            Promise promise = promise(engine, protocol);
            Function<SplittableRandom, Isolation> level = random -> level(promise, random);
            this.shares = Stream.of(
                            new Clients.Share(new ListAppend(level, promise), 40),
                            new Clients.Share(new BankTransfers(dialect, level), 20),
                            new Clients.Share(new SkewPairs(), promise.isSerializable() ? 10 : 0),
                            new Clients.Share(new UniqueNames(level), 15),
                            new Clients.Share(new Orders(dialect, level), 12),
                            new Clients.Share(new Stock(dialect, level), 10),
                            new Clients.Share(new SchemaChanges(dialect.commitsSchemaAtOnce()), 3))
                    .filter(share -> share.percent() > 0)
                    .toList();
            this.load = new Clients(group.url(), clients, seed, shares, findings);
        }

        Result run() {
            try (load) {
                load.start();
                long begin = System.nanoTime();
                Thread clock = new Thread(() -> tell(begin), "torture-clock");
                clock.setDaemon(true);
                clock.start();
                try {
                    injector.run();
                    while (System.nanoTime() - begin < duration.toNanos()) {
                        injector.watch();
                        LockSupport.parkNanos(POLL_NANOS);
                    }
                    heal();
                    load.stop(END_WAIT);
                    injector.watch();
                } finally {
                    clock.interrupt();
                    record();
                    join(clock);
                }
                compare();
                return result();
            }
        }

        private void tell(long begin) {
            for (int second = 1; !Thread.currentThread().isInterrupted(); second++) {
                long next = begin + TimeUnit.SECONDS.toNanos(second);
                while (System.nanoTime() < next && !Thread.currentThread().isInterrupted()) {
                    LockSupport.parkNanos(next - System.nanoTime());
                }
                Timeline.Second now = load.timeline().endSecond();
                if (second % TELL_EVERY_SECONDS == 0) {
                    progress.accept(String.format(
                            Locale.ROOT,
                            "%4d s %,8d/s   refused %,d/s   p99 %s ms",
                            second,
                            now.committed(),
                            now.failed(),
                            now.p99Ms() == null ? "-" : String.format(Locale.ROOT, "%.1f", now.p99Ms())));
                }
            }
        }

        private static void join(Thread thread) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new BenchException("interrupted", e);
            }
        }

        /** All faults are over: all replicas must have everything soon, and each client must be able to commit a change. */
        private void heal() {
            progress.accept("  healed    all faults are over");
            List<String> waiting = await(group::waiting);
            if (!waiting.isEmpty()) {
                findings.add(Findings.STUCK, String.join("; ", waiting));
            }
            List<Long> before = load.changed();
            List<String> without = await(() -> haveAllChanged(before) ? List.of() : List.of("some"));
            if (!without.isEmpty()) {
                findings.add(
                        Findings.STUCK,
                        "not all clients could commit a change again: " + before + " before, " + load.changed()
                                + " after");
            }
        }

        /** Until nobody is waited for any more; whoever is in the end. */
        private List<String> await(Supplier<List<String>> waitingFor) {
            long begin = System.nanoTime();
            List<String> waiting = waitingFor.get();
            while (!waiting.isEmpty() && System.nanoTime() - begin < HEAL_WAIT.toNanos()) {
                injector.watch();
                LockSupport.parkNanos(POLL_NANOS);
                waiting = waitingFor.get();
            }
            return waiting;
        }

        private boolean haveAllChanged(List<Long> before) {
            List<Long> now = load.changed();
            for (int client = 0; client < now.size(); client++) {
                if (now.get(client) <= before.get(client)) {
                    return false;
                }
            }
            return true;
        }

        private void record() {
            for (Clients.Share share : shares) {
                List<Recorded> history = load.history(share.workload());
                files.edn(share.workload().name(), history);
                if (share.workload() instanceof UniqueNames) {
                    files.porcupine(share.workload().name(), history);
                }
                all.addAll(history);
                if (history.stream().noneMatch(recorded -> recorded.outcome() == Outcome.OK)) {
                    findings.add(
                            Findings.NOTHING_SHOWN, "no " + share.workload().name() + " transaction was committed");
                }
            }
            if (injector.done().isEmpty() && !faults.isEmpty()) {
                findings.add(Findings.NOTHING_SHOWN, "there was no fault");
            }
        }

        private void compare() {
            try {
                NodeClient.Comparison comparison = group.verify(HEAL_WAIT);
                ReplicaChecks checks = new ReplicaChecks(findings);
                checks.compare(comparison);
                progress.accept("identical   " + (comparison.identical() ? "yes" : "NO"));
                Map<Workload, List<Recorded>> histories = new LinkedHashMap<>();
                shares.forEach(share -> histories.put(share.workload(), load.history(share.workload())));
                for (ReplicaContent content : comparison.replicas()) {
                    int number = group.members().indexOf(content.replica());
                    try (Connection connection = group.connect(group.replicas().get(number))) {
                        checks.check(content.replica(), connection, histories);
                        if (content.equals(comparison.replicas().get(0))) {
                            dbcop(histories, connection);
                        }
                    }
                }
            } catch (RuntimeException | SQLException e) {
                findings.add(Findings.NOT_COMPARED, e.toString());
            }
        }

        private void dbcop(Map<Workload, List<Recorded>> histories, Connection replica) throws SQLException {
            for (Map.Entry<Workload, List<Recorded>> each : histories.entrySet()) {
                if (each.getKey() instanceof ListAppend && isolation != null && isolation.keepsWhatItReads()) {
                    files.dbcop(each.getKey().name(), each.getValue(), ListAppend.lists(replica));
                }
            }
        }

        private long count(Outcome outcome) {
            return all.stream()
                    .filter(recorded -> recorded.outcome() == outcome)
                    .count();
        }

        private long longestSilenceMs() {
            long[] ends = all.stream()
                    .filter(recorded -> recorded.outcome() == Outcome.OK)
                    .mapToLong(Recorded::endedNanos)
                    .sorted()
                    .toArray();
            long longest = 0;
            long last = 0;
            for (long end : ends) {
                longest = Math.max(longest, end - last);
                last = end;
            }
            longest = Math.max(longest, duration.toNanos() - last);
            return TimeUnit.NANOSECONDS.toMillis(longest);
        }

        private Result result() {
            findings.lines().forEach(line -> progress.accept("  FOUND     " + line));
            Map<String, Integer> byKind = new TreeMap<>();
            injector.done().forEach(done -> byKind.merge(done.fault().kind().family(), 1, Integer::sum));
            Path page = report.resolve("index.html");
            Result result = new Result(
                    findings.isEmpty() ? "OK" : "FAILED",
                    protocol,
                    durability,
                    replicas,
                    seed,
                    duration.toMillis() / 1e3,
                    all.size(),
                    count(Outcome.OK),
                    count(Outcome.FAILED),
                    injector.done().size(),
                    byKind,
                    findings.count(Findings.LOST),
                    findings.count(Findings.DUPLICATED),
                    findings.count(Findings.DIVERGED),
                    findings.anomalies(),
                    count(Outcome.UNKNOWN),
                    longestSilenceMs(),
                    findings.counts(),
                    report.toString(),
                    page.toString());
            TorturePage.write(page, result, load.timeline().seconds(), injector.done(), findings.lines());
            return result;
        }
    }

    private Isolation level(Promise promise, SplittableRandom random) {
        List<Isolation> levels = promise.levels();
        return isolation == null ? levels.get(random.nextInt(levels.size())) : isolation;
    }

    private static Path created(Path directory) {
        try {
            return Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
