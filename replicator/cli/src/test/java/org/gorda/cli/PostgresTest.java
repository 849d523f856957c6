package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.awaitility.Awaitility;
import org.gorda.bench.Acknowledged;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three PostgreSQL servers, a replica process for each, and clients that have nothing of ours: PostgreSQL's own driver. */
final class PostgresTest {

    private static final Duration WAIT = Duration.ofMinutes(2);

    /** Where a checkpoint tells how much the database held. */
    private static final int STORED_INDEX = Integer.BYTES + 7 * Long.BYTES;

    @TempDir
    private Path directory;

    private final String self = "127.0.0.1:" + LoopbackPorts.free(1).get(0);

    @Test
    void clientsOfPostgresqlsOwnDriverGoOnAfterThePrimaryIsKilled() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of(), new PostgresEngine())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            LoadTest load = LoadTest.of(TpcB.of(2, 1_000))
                    .target(group.engineUrl())
                    .clients(4)
                    .duration(WAIT.multipliedBy(5));
            BackgroundLoad running = new BackgroundLoad(load);
            running.awaitMore(100);

            ReplicaProcess killed = group.primary().orElseThrow();
            killed.kill();
            running.awaitMore(100);
            killed.start();
            // Under load there is always something that one of them does not show yet.
            Awaitility.await("it is back")
                    .atMost(WAIT)
                    .until(() -> group.status(killed)
                            .filter(now -> now.state().equals("ONLINE"))
                            .isPresent());
            running.awaitMore(100);

            running.end().requireConsistent();
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
        try (Replica replica = alone(server)) {
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

    private Replica alone(PostgresServer server) {
        return Replica.builder()
                .database("postgresql", server.database())
                .attribute("user", PostgresEngine.USER)
                .directory(directory.resolve("replica"))
                .self(self)
                .start();
    }

    private static void administer(PostgresServer server, String sql) throws SQLException {
        String url = "jdbc:postgresql:" + server.database().replaceFirst("/[^/]*$", "/postgres");
        try (Connection connection = DriverManager.getConnection(url, PostgresEngine.USER, null);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void aReplicaWhoseDatabaseWasRenamedMakesNoOther() throws Exception {
        PostgresServer server = new PostgresServer(directory.resolve("server"), "bank");
        server.start();
        try {
            try (Replica replica = alone(server)) {
                replica.awaitPrimary(WAIT);
                try (Connection connection = replica.connect(new Properties());
                        Statement statement = connection.createStatement()) {
                    statement.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
                }
                Path checkpoint = directory.resolve("replica").resolve("checkpoint");
                Awaitility.await("there is a checkpoint of that")
                        .atMost(WAIT)
                        .until(() -> Files.exists(checkpoint)
                                && ByteBuffer.wrap(Files.readAllBytes(checkpoint))
                                                .getLong(STORED_INDEX)
                                        > 0);
            }
            administer(server, "ALTER DATABASE bank RENAME TO other");
            assertThatThrownBy(() -> alone(server))
                    .isInstanceOf(ReplicaException.class)
                    .hasMessageContaining("the database " + server.database() + " is not there")
                    .hasMessageContaining("was made when it held everything up to 1.")
                    .hasMessageContaining("if it was renamed, rename it back or name it")
                    .hasMessageContaining("no other replica has what it held")
                    .hasMessageNotContaining("by the group");
            administer(server, "ALTER DATABASE other RENAME TO bank");
            try (Replica replica = alone(server)) {
                replica.awaitPrimary(WAIT);
            }
        } finally {
            server.stop();
        }
    }

    /** As by who wants to rename the database. */
    @Test
    void aReplicaWhoseSessionsAreEndedSaysThatItsServerRuns() throws Exception {
        PostgresServer server = new PostgresServer(directory.resolve("server"), "bank");
        server.start();
        try {
            try (Replica replica = alone(server)) {
                replica.awaitPrimary(WAIT);
                administer(
                        server,
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'bank' AND pid <> pg_backend_pid()");
                Awaitility.await().atMost(WAIT).until(() -> replica.failure().isPresent());
                assertThat(replica.status().explanation())
                        .contains("somebody has had it end the replica's sessions (FATAL: ")
                        .endsWith("start this replica again once the server runs");
            }
            try (Replica replica = alone(server)) {
                replica.awaitPrimary(WAIT);
            }
        } finally {
            server.stop();
        }
    }
}
