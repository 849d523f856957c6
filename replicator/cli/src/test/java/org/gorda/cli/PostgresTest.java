package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.gorda.bench.Acknowledged;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three PostgreSQL servers, a replica process for each, and clients that have nothing of ours: PostgreSQL's own driver. */
final class PostgresTest {

    private static final Duration WAIT = Duration.ofMinutes(2);

    @TempDir
    private Path directory;

    private final List<EmbeddedPostgres> servers = new ArrayList<>();

    @AfterEach
    void stopServers() throws IOException {
        for (EmbeddedPostgres server : servers) {
            server.close();
        }
    }

    private String database(int number) {
        return "//localhost:" + servers.get(number - 1).getPort() + "/bank";
    }

    /** Of the relay of a replica, or of all for who looks for the one that takes writes. */
    private static String url(List<String> addresses, String more) {
        return "jdbc:postgresql://" + String.join(",", addresses) + "/bank?user=postgres" + more;
    }

    private static String relay(ReplicaGroup group, ReplicaProcess replica) {
        String url = group.status(replica).orElseThrow().clients();
        return url.replaceFirst("jdbc:postgresql://([^/]+)/.*", "$1");
    }

    private static void awaitMore(LoadTest load, CompletableFuture<LoadReport> report) {
        long before = load.acknowledged().count();
        Awaitility.await("the load goes on")
                .atMost(WAIT)
                .until(() -> report.isDone() || load.acknowledged().count() > before + 100);
        assertThat(report).isNotDone();
    }

    @Test
    void clientsOfPostgresqlsOwnDriverGoOnAfterThePrimaryIsKilled() throws Exception {
        for (int i = 0; i < 3; i++) {
            servers.add(EmbeddedPostgres.builder().start());
        }
        Map<String, String> settings = Map.of("engine", "postgresql", "user", "postgres");
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, settings, this::database)) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            List<String> relays = group.replicas().stream()
                    .map(replica -> relay(group, replica))
                    .collect(Collectors.toList());
            LoadTest load = LoadTest.of(TpcB.of(2, 1_000))
                    .target(url(relays, "&targetServerType=primary&connectTimeout=5"))
                    .clients(4)
                    .duration(WAIT.multipliedBy(5));
            CompletableFuture<LoadReport> report = CompletableFuture.supplyAsync(load::run);
            awaitMore(load, report);

            ReplicaProcess killed = group.primary().orElseThrow();
            killed.kill();
            awaitMore(load, report);
            killed.start();
            group.awaitOnline(WAIT, line -> {});
            awaitMore(load, report);

            load.finish();
            report.get(2, TimeUnit.MINUTES).requireConsistent();
            assertThat(group.verify(WAIT).identical()).isTrue();
            for (ReplicaProcess replica : group.replicas()) {
                Acknowledged.Lookup lookup = load.acknowledged().lookup();
                try (Connection connection = DriverManager.getConnection(url(List.of(relay(group, replica)), ""))) {
                    lookup.in(connection);
                    assertThat(TpcB.sums(connection).equal()).isTrue();
                }
                assertThat(lookup.lost()).isZero();
                assertThat(lookup.unexpected()).isZero();
            }
        }
    }
}
