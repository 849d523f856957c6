package org.gorda.bench.ladder;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.gorda.bench.DatabaseServer;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.ServerEngine;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.gorda.jgcs.LoopbackPorts;
import org.jspecify.annotations.Nullable;

/** Clients in this JVM, and servers: the engine's own, or three replicas' processes, each with a server of its own if the engine has any. */
final class NetworkRung implements Rung {

    private static final int REPLICAS = 3;
    private static final String HEAP = "1g";
    private static final Duration WAIT = Duration.ofMinutes(5);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Until all connections are there and have prepared their statements. */
    private static final Duration CONNECTED = Duration.ofSeconds(1);

    private final String name;
    private final TpcB bank;
    private final String url;
    private final List<ReplicaProcess> processes;
    private final @Nullable DatabaseServer server;
    private final @Nullable ReplicaGroup group;

    private NetworkRung(
            String name,
            TpcB bank,
            String url,
            List<ReplicaProcess> processes,
            @Nullable DatabaseServer server,
            @Nullable ReplicaGroup group) {
        this.name = name;
        this.bank = bank;
        this.url = url;
        this.processes = processes;
        this.server = server;
        this.group = group;
    }

    /**
     * Describes it; nothing is started yet.
     *
     * @param engine null for Derby
     * @param retry how often the driver of replicas runs a refused transaction again
     */
    static NetworkRung of(String name, Ladder.Load load, @Nullable ServerEngine engine, Path directory, int retry) {
        TpcB bank = load.bank();
        Path own = directory.resolve(name);
        if (engine != null) {
            int standbys = name.equals(Ladder.STREAMING) ? REPLICAS - 1 : 0;
            DatabaseServer alone = engine.alone(own, "bank", standbys);
            if (name.equals(Ladder.VANILLA) || name.equals(Ladder.STREAMING)) {
                return new NetworkRung(name, bank, engine.url(alone), List.of(), alone, null);
            }
            if (name.equals(Ladder.LOOPBACK)) {
                String url = "jdbc:gorda:" + engine.key() + ":" + alone.database() + ";protocol=" + name + ";directory="
                        + own.resolve("gorda") + ";user=" + engine.user();
                return new NetworkRung(name, bank, url, List.of(), alone, null);
            }
        }
        if (name.equals(Ladder.VANILLA)) {
            ReplicaProcess alone =
                    ReplicaProcess.engineAlone(own, LoopbackPorts.free(1).get(0), HEAP);
            return new NetworkRung(name, bank, alone.embeddedUrl(), List.of(alone), null, null);
        }
        ReplicaGroup group = ReplicaGroup.of(REPLICAS, own, Map.of("protocol", name), HEAP, List.of(), engine);
        String url = group.url() + (retry > 0 ? ";retry=" + retry : "");
        return new NetworkRung(name, bank, url, group.replicas(), null, group);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void load(Consumer<String> progress) {
        if (server != null) {
            server.start();
        }
        processes.forEach(ReplicaProcess::start);
        if (group == null) {
            awaitConnection();
        } else {
            group.awaitOnline(WAIT, progress);
        }
        progress.accept("loading     " + name + ", " + url);
        try {
            LoadTest.load(() -> DriverManager.getConnection(url), bank, progress, (rows, ofAll) -> {});
        } catch (SQLException e) {
            throw new BenchException("SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        }
        if (group != null) {
            group.awaitOnline(WAIT, progress);
        }
    }

    private void awaitConnection() {
        long end = System.nanoTime() + WAIT.toNanos();
        while (true) {
            processes.forEach(ReplicaProcess::requireAlive);
            try {
                DriverManager.getConnection(url).close();
                return;
            } catch (SQLException e) {
                boolean starts = String.valueOf(e.getSQLState()).startsWith("08");
                if (!starts || System.nanoTime() > end) {
                    throw new BenchException(name + " lets nobody in: " + e.getMessage(), e);
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
    }

    @Override
    public Turn run(int clients, Duration time, long seed) {
        LoadReport report = LoadTest.of(bank)
                .target(url)
                .clients(clients)
                .seed(seed)
                .warmUp(CONNECTED)
                .duration(time)
                .processorClock(this::cpu)
                .services(processes.stream()
                        .map(ReplicaProcess::service)
                        .filter(service -> !service.isEmpty())
                        .toList())
                .run();
        report.requireConsistent();
        return new Turn(
                report.throughputPerS(),
                Objects.requireNonNull(report.replicasCpuMicros()),
                null,
                report.abortedShare(),
                report.failures(),
                report.latency(),
                report.cost());
    }

    /** The replica in this JVM, while its server runs. */
    private void shutDown() {
        try {
            DriverManager.getConnection(url + ";shutdown=true").close();
        } catch (SQLException e) {
            // as engines do, a shutdown is told by an exception
        }
    }

    private Duration cpu() {
        Duration all = processes.stream().map(ReplicaProcess::cpu).reduce(Duration.ZERO, Duration::plus);
        return server == null ? all : all.plus(server.cpu());
    }

    /** Of each replica, after they have compared themselves. */
    @Override
    public List<TpcB.Sums> sums() {
        List<TpcB.Sums> sums = new ArrayList<>();
        if (group != null && !group.verify(WAIT).identical()) {
            throw new BenchException("the replicas of " + name + " DO NOT HOLD THE SAME: see "
                    + processes.get(0).directory().getParent());
        }
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            sums.add(TpcB.sums(connection));
            connection.rollback();
        } catch (SQLException e) {
            throw new BenchException("SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        }
        return sums;
    }

    @Override
    public void close() {
        if (name.equals(Ladder.LOOPBACK)) {
            shutDown();
        }
        processes.parallelStream().forEach(ReplicaProcess::retire);
        if (server != null) {
            server.stop();
        }
    }
}
