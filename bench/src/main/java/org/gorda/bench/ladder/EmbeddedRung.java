package org.gorda.bench.ladder;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.gorda.bench.DatabaseServer;
import org.gorda.bench.EmbeddedEngine;
import org.gorda.bench.Engine;
import org.gorda.bench.Latencies;
import org.gorda.bench.ServerEngine;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.gorda.jgcs.LoopbackPorts;
import org.jspecify.annotations.Nullable;

/**
 * Clients in the processes that have the database: one process, or a replica in each of three. An engine that is a server runs beside
 * each, and what GORDA does about it is in the process.
 */
final class EmbeddedRung implements Rung {

    private static final int REPLICAS = 3;
    private static final Duration WAIT = Duration.ofMinutes(2);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final String HEAP = "1g";

    private final String name;
    private final int replicas;
    private final boolean everywhere;
    private final Ladder.Load load;
    private final @Nullable Engine engine;
    private final Path directory;
    private final boolean inMemory;
    private final List<EmbeddedProcess> processes = new ArrayList<>();
    private final List<DatabaseServer> started = new ArrayList<>();

    private EmbeddedRung(
            String name,
            int replicas,
            boolean everywhere,
            Ladder.Load load,
            @Nullable Engine engine,
            Path directory,
            boolean inMemory) {
        this.name = name;
        this.replicas = replicas;
        this.everywhere = everywhere;
        this.load = load;
        this.engine = engine;
        this.directory = directory.toAbsolutePath().resolve(name);
        this.inMemory = inMemory;
    }

    /**
     * Describes it; nothing is started yet.
     *
     * @param engine null for Derby
     * @param directory where it keeps what it keeps; if it is in memory, something must be there all the same
     */
    static EmbeddedRung of(String name, Ladder.Load load, @Nullable Engine engine, Path directory, boolean inMemory) {
        boolean replicated =
                !List.of(Ladder.VANILLA, Ladder.LOOPBACK, Ladder.STREAMING).contains(name);
        return new EmbeddedRung(
                name, replicated ? REPLICAS : 1, name.equals("certification"), load, engine, directory, inMemory);
    }

    @Override
    public String name() {
        return name;
    }

    /** As the driver of replicas is told of it; a server is started. */
    private String database(Path own) {
        if (engine == null) {
            return "derby:" + (inMemory ? "memory:bank" : own.resolve("bank").toString());
        }
        if (!(engine instanceof ServerEngine servers)) {
            return engine.key() + ":" + own.resolve("bank");
        }
        DatabaseServer server = replicas == 1
                ? servers.alone(own, "bank", name.equals(Ladder.STREAMING) ? REPLICAS - 1 : 0)
                : servers.server(own, "bank");
        synchronized (started) {
            started.add(server);
        }
        server.start();
        return engine.key() + ":" + server.database() + ";user=" + servers.user();
    }

    /** By which clients use the database of the engine alone. */
    private String url(String database) {
        if (engine instanceof EmbeddedEngine embedded) {
            return embedded.url(directory.resolve("bank"));
        }
        return engine instanceof ServerEngine servers
                ? servers.url(started.get(0))
                : "jdbc:" + database + ";create=true";
    }

    private List<String> urls() {
        if (replicas == 1) {
            String database = database(directory);
            if (name.equals(Ladder.LOOPBACK)) {
                return List.of(
                        "jdbc:gorda:" + database + ";protocol=" + name + ";directory=" + directory.resolve("gorda"));
            }
            return List.of(url(database));
        }
        List<String> members = LoopbackPorts.free(replicas).stream()
                .map(port -> "127.0.0.1:" + port)
                .toList();
        List<String> urls = new ArrayList<>();
        for (int i = 0; i < replicas; i++) {
            Path own = directory.resolve("replica" + (i + 1));
            urls.add("jdbc:gorda:" + database(own) + ";directory=" + own.resolve("gorda") + ";protocol=" + name
                    + ";self=" + members.get(i) + ";members=" + String.join(",", members));
        }
        return urls;
    }

    @Override
    public void load(Consumer<String> progress) {
        List<String> urls = urls();
        for (int i = 0; i < replicas; i++) {
            synchronized (processes) {
                processes.add(new EmbeddedProcess(
                        name + (replicas == 1 ? "" : ", replica " + (i + 1)),
                        replicas == 1 ? directory : directory.resolve("replica" + (i + 1)),
                        urls.get(i),
                        load,
                        HEAP));
            }
        }
        progress.accept("loading     " + name);
        // All connect first: alone none of them would be in a majority.
        processes.forEach(process -> process.order(EmbeddedProcess.Task.ASK));
        processes.forEach(EmbeddedProcess::answer);
        loadAtOne();
        awaitSame();
    }

    /** At whichever takes writes. */
    private void loadAtOne() {
        long end = System.nanoTime() + WAIT.toNanos();
        while (true) {
            for (EmbeddedProcess process : processes) {
                try {
                    process.ask(EmbeddedProcess.Task.LOAD);
                    return;
                } catch (BenchException e) {
                    if (System.nanoTime() > end) {
                        throw e;
                    }
                }
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /** Who takes writes now: all, or the one primary. */
    private List<EmbeddedProcess> writers() {
        if (replicas == 1 || everywhere) {
            return processes;
        }
        long end = System.nanoTime() + WAIT.toNanos();
        while (System.nanoTime() < end) {
            for (EmbeddedProcess process : processes) {
                if (process.ask(EmbeddedProcess.Task.ASK).writes()) {
                    return List.of(process);
                }
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        throw new BenchException(name + " has had no primary for " + WAIT.toSeconds() + " s");
    }

    /** Processor time so far, of some of the processes and of all servers. */
    private record Used(Duration processes, Duration servers) {}

    private Used used(List<EmbeddedProcess> of) {
        return new Used(
                of.stream().map(EmbeddedProcess::cpu).reduce(Duration.ZERO, Duration::plus),
                started.stream().map(DatabaseServer::cpu).reduce(Duration.ZERO, Duration::plus));
    }

    @Override
    public Turn run(int clients, Duration time, long seed) {
        List<EmbeddedProcess> writers = writers();
        List<EmbeddedProcess> running = new ArrayList<>();
        for (int i = 0; i < writers.size(); i++) {
            int share = (clients + writers.size() - 1 - i) / writers.size();
            if (share > 0) {
                writers.get(i).order(share, time, seed * 31 + i);
                running.add(writers.get(i));
            }
        }
        // Those with clients tell what they used; the others are looked at when the first one's measured time begins
        // and ends.
        List<EmbeddedProcess> others =
                processes.stream().filter(each -> !running.contains(each)).toList();
        List<Used> marks = new ArrayList<>();
        List<EmbeddedProcess.Answer> answers = new ArrayList<>();
        for (EmbeddedProcess process : running) {
            boolean first = answers.isEmpty();
            answers.add(process.answer(() -> {
                if (first) {
                    marks.add(used(others));
                }
            }));
        }
        Histogram latencies = EmbeddedProcess.newHistogram();
        answers.forEach(answer -> answer.addTo(latencies));
        double committed =
                answers.stream().mapToLong(EmbeddedProcess.Answer::committed).sum();
        double attempts = answers.stream()
                .mapToDouble(answer -> answer.committed() / Math.max(1e-9, 1 - answer.abortedShare()))
                .sum();
        Map<String, Long> failures = new TreeMap<>();
        answers.forEach(answer -> Objects.requireNonNull(answer.failures())
                .forEach((cause, count) -> failures.merge(cause, count, Long::sum)));
        double usedMicros = answers.stream()
                .mapToDouble(answer -> answer.cpuMicros() * answer.committed())
                .sum();
        Used before = marks.get(0);
        Used after = marks.get(marks.size() - 1);
        double serverMicros = after.servers().minus(before.servers()).toNanos() / 1e3;
        usedMicros += after.processes().minus(before.processes()).toNanos() / 1e3 + serverMicros;
        return new Turn(
                answers.stream().mapToDouble(EmbeddedProcess.Answer::perS).sum(),
                usedMicros / Math.max(1, committed),
                started.isEmpty() ? null : serverMicros / Math.max(1, committed),
                1 - committed / Math.max(1, attempts),
                failures,
                Latencies.of(latencies),
                null);
    }

    private List<TpcB.Sums> askSums() {
        return processes.stream()
                .map(process -> Objects.requireNonNull(
                        process.ask(EmbeddedProcess.Task.SUM).sums()))
                .toList();
    }

    private List<TpcB.Sums> awaitSame() {
        long end = System.nanoTime() + WAIT.toNanos();
        while (true) {
            try {
                List<TpcB.Sums> sums = askSums();
                if (sums.stream().distinct().count() == 1 || System.nanoTime() > end) {
                    return sums;
                }
            } catch (BenchException e) { // refused, while it applies what others have done
                if (System.nanoTime() > end) {
                    throw e;
                }
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    @Override
    public List<TpcB.Sums> sums() {
        List<TpcB.Sums> sums = awaitSame();
        List<Map<String, Long>> checksums = processes.stream()
                .map(process -> Objects.requireNonNull(
                        process.ask(EmbeddedProcess.Task.CHECKSUM).checksums()))
                .toList();
        if (checksums.stream().distinct().count() > 1) {
            throw new BenchException("the replicas of " + name
                    + " DO NOT HOLD THE SAME: the checksums of their tables are " + checksums + "; see " + directory);
        }
        return sums;
    }

    @Override
    public void close() {
        synchronized (processes) {
            processes.forEach(EmbeddedProcess::close);
        }
        synchronized (started) {
            started.forEach(DatabaseServer::stop);
        }
    }
}
