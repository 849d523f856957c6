package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.bench.Acknowledged;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.engine.Replica;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three PostgreSQL servers, a replica process for each, and clients that have nothing of ours: PostgreSQL's own driver. */
final class PostgresTest {

    private static final Duration WAIT = Duration.ofMinutes(2);

    @TempDir
    private Path directory;

    private static void awaitMore(LoadTest load, CompletableFuture<LoadReport> report) {
        long before = load.acknowledged().count();
        Awaitility.await("the load goes on")
                .atMost(WAIT)
                .until(() -> report.isDone() || load.acknowledged().count() > before + 100);
        assertThat(report).isNotDone();
    }

    @Test
    void clientsOfPostgresqlsOwnDriverGoOnAfterThePrimaryIsKilled() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of(), new PostgresEngine())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            LoadTest load = LoadTest.of(TpcB.of(2, 1_000))
                    .target(group.engineUrl())
                    .clients(4)
                    .duration(WAIT.multipliedBy(5));
            CompletableFuture<LoadReport> report = CompletableFuture.supplyAsync(load::run);
            awaitMore(load, report);

            ReplicaProcess killed = group.primary().orElseThrow();
            killed.kill();
            awaitMore(load, report);
            killed.start();
            // Under load there is always something that one of them does not show yet.
            Awaitility.await("it is back")
                    .atMost(WAIT)
                    .until(() -> group.status(killed)
                            .filter(now -> now.state().equals("ONLINE"))
                            .isPresent());
            awaitMore(load, report);

            load.finish();
            report.get(2, TimeUnit.MINUTES).requireConsistent();
            assertThat(group.verify(WAIT).identical()).isTrue();
            for (ReplicaProcess replica : group.replicas()) {
                Acknowledged.Lookup lookup = load.acknowledged().lookup();
                try (Connection connection = group.connect(replica)) {
                    lookup.in(connection);
                    assertThat(TpcB.sums(connection).equal()).isTrue();
                }
                assertThat(lookup.lost()).isZero();
                assertThat(lookup.unexpected()).isZero();
            }
        }
    }

    /** Nothing is wrong with a disk of the replica. */
    @Test
    void aReplicaWhoseServerDiesSaysThat() {
        PostgresServer server = new PostgresServer(directory.resolve("server"), "bank");
        server.start();
        try (Replica replica = Replica.builder()
                .database("postgresql", server.database())
                .attribute("user", PostgresEngine.USER)
                .directory(directory.resolve("replica"))
                .self("127.0.0.1:" + LoopbackPorts.free(1).get(0))
                .start()) {
            replica.awaitPrimary(WAIT);
            server.kill();
            Awaitility.await().atMost(WAIT).until(() -> replica.failure().isPresent());
            assertThat(replica.status().explanation())
                    .contains("the database " + server.database() + " has stopped")
                    .doesNotContain("disk");
        } finally {
            server.stop();
        }
    }
}
