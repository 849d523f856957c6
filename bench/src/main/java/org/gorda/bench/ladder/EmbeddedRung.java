package org.gorda.bench.ladder;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.gorda.bench.Latencies;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.gorda.jgcs.LoopbackPorts;

/** Clients in the processes that have the database: one process, or a replica in each of three. */
final class EmbeddedRung implements Rung {

    private static final int REPLICAS = 3;
    private static final Duration WAIT = Duration.ofMinutes(2);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final String HEAP = "1g";

    private final String name;
    private final int replicas;
    private final boolean everywhere;
    private final Ladder.Load load;
    private final Path directory;
    private final boolean inMemory;
    private final List<EmbeddedProcess> processes = new ArrayList<>();

    private EmbeddedRung(
            String name, int replicas, boolean everywhere, Ladder.Load load, Path directory, boolean inMemory) {
        this.name = name;
        this.replicas = replicas;
        this.everywhere = everywhere;
        this.load = load;
        this.directory = directory.toAbsolutePath().resolve(name);
        this.inMemory = inMemory;
    }

    /** @param directory where it keeps what it keeps; if it is in memory, something must be there all the same */
    static EmbeddedRung of(String name, Ladder.Load load, Path directory, boolean inMemory) {
        boolean replicated = !name.equals(Ladder.VANILLA) && !name.equals(Ladder.LOOPBACK);
        return new EmbeddedRung(
                name, replicated ? REPLICAS : 1, name.equals("certification"), load, directory, inMemory);
    }

    @Override
    public String name() {
        return name;
    }

    private String database(Path own) {
        return inMemory ? "memory:bank" : own.resolve("bank").toString();
    }

    private List<String> urls() {
        if (name.equals(Ladder.VANILLA)) {
            return List.of("jdbc:derby:" + database(directory) + ";create=true");
        }
        if (replicas == 1) {
            return List.of("jdbc:gorda:derby:" + database(directory) + ";protocol=" + name);
        }
        List<String> members = LoopbackPorts.free(replicas).stream()
                .map(port -> "127.0.0.1:" + port)
                .toList();
        List<String> urls = new ArrayList<>();
        for (int i = 0; i < replicas; i++) {
            Path own = directory.resolve("replica" + (i + 1));
            urls.add("jdbc:gorda:derby:" + database(own) + ";directory=" + own.resolve("gorda") + ";protocol=" + name
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

    private static Duration cpu(List<EmbeddedProcess> of) {
        return of.stream().map(EmbeddedProcess::cpu).reduce(Duration.ZERO, Duration::plus);
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
        List<Duration> marks = new ArrayList<>();
        List<EmbeddedProcess.Answer> answers = new ArrayList<>();
        for (EmbeddedProcess process : running) {
            boolean first = answers.isEmpty();
            answers.add(process.answer(() -> {
                if (first) {
                    marks.add(cpu(others));
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
        double usedMicros = answers.stream()
                .mapToDouble(answer -> answer.cpuMicros() * answer.committed())
                .sum();
        usedMicros += marks.get(marks.size() - 1).minus(marks.get(0)).toNanos() / 1e3;
        return new Turn(
                answers.stream().mapToDouble(EmbeddedProcess.Answer::perS).sum(),
                usedMicros / Math.max(1, committed),
                1 - committed / Math.max(1, attempts),
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
        return awaitSame();
    }

    @Override
    public void close() {
        synchronized (processes) {
            processes.forEach(EmbeddedProcess::close);
        }
    }
}
