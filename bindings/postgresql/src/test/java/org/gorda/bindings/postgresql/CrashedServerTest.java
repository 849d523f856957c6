package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Cluster;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server begins again by itself, beside its living replica, without what it had told to be committed and had not written yet. */
class CrashedServerTest {

    private static final int SIZE = 3;
    private static final Duration PATIENCE = Cluster.PATIENCE;

    @TempDir
    Path directory;

    private final List<EmbeddedPostgres> servers = new ArrayList<>();
    private final Cluster cluster = new Cluster(SIZE, this::describe);

    private void describe(Replica.Builder builder, int i) {
        builder.database("postgresql", "//localhost:" + servers.get(i).getPort() + "/bank")
                .attribute("user", "postgres")
                .directory(directory.resolve("replica" + i))
                .protocol(ReplicationProtocol.PRIMARY_BACKUP);
    }

    @BeforeEach
    void start() throws IOException {
        for (int i = 0; i < SIZE; i++) {
            servers.add(EmbeddedPostgres.builder()
                    .setDataDirectory(directory.resolve("data" + i))
                    .setServerConfig("restart_after_crash", "on") // as is PostgreSQL's default
                    .setServerConfig("wal_writer_delay", "10s") // what nobody forces stays in memory
                    .start());
        }
        cluster.startAll();
    }

    @AfterEach
    void stop() throws IOException {
        cluster.close();
        for (EmbeddedPostgres server : servers) {
            server.close();
        }
    }

    private void execute(int i, String... statements) throws SQLException {
        try (Connection client = cluster.connect(i);
                Statement statement = client.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private boolean isTold(int i, String statement) {
        try {
            execute(i, statement);
            return true;
        } catch (SQLException e) {
            return false; // the server begins again, or the replica has met it
        }
    }

    private Connection around(int i) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://localhost:" + servers.get(i).getPort() + "/bank?user=postgres");
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    private long held(int i) throws SQLException {
        try (Connection connection = around(i)) {
            return number(connection, "SELECT n FROM counter");
        }
    }

    /** As the kernel does when there is no memory left: the server's other processes end, and it begins again. */
    private void killOneProcessOfServer(int i) throws Exception {
        try (Connection connection = around(i)) {
            long process = number(connection, "SELECT pg_backend_pid()");
            ProcessHandle.of(process).orElseThrow().destroyForcibly();
        }
    }

    @Test
    @Timeout(180)
    void whatWasAcknowledgedOutlivesACrashOfTheServerBesideItsReplica() throws Exception {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
                "INSERT INTO counter VALUES (1, 0)");
        try (Connection connection = around(primary);
                Statement statement = connection.createStatement()) {
            statement.execute("CHECKPOINT");
        }
        String increment = "UPDATE counter SET n = n + 1 WHERE id = 1";
        execute(primary, Collections.nCopies(100, increment).toArray(String[]::new));
        for (int i = 0; i < SIZE; i++) {
            int replica = i;
            Awaitility.await("it is everywhere").atMost(PATIENCE).until(() -> held(replica) == 100);
        }
        killOneProcessOfServer(primary);
        boolean[] isTold = {false};
        Awaitility.await("the replica has met it")
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> {
                    isTold[0] |= isTold(primary, increment);
                    return isTold[0] || cluster.replica(primary).status().state() == ReplicaState.STOPPED;
                });
        assertThat(isTold[0]).as("the server has forgotten what others know of").isFalse();
        execute(cluster.primary(), increment);
        for (int i = 0; i < SIZE; i++) {
            if (i != primary) {
                int replica = i;
                Awaitility.await("it is on both others").atMost(PATIENCE).until(() -> held(replica) == 101);
            }
        }
    }

    /** Nobody else would meet it, and become the primary. */
    @Test
    @Timeout(180)
    void aCrashOfTheServerIsNoticedWhileNobodyDoesAnything() throws Exception {
        int primary = cluster.primary();
        long[] flushes = {-1};
        Awaitility.await("there is nothing to flush")
                .atMost(PATIENCE)
                .pollInterval(Duration.ofSeconds(8))
                .until(() -> {
                    try (Connection connection = around(primary)) {
                        long before = flushes[0];
                        flushes[0] = number(connection, "SELECT flushes FROM gorda.flush");
                        return flushes[0] == before;
                    }
                });
        killOneProcessOfServer(primary);
        Awaitility.await("the replica has met it")
                .atMost(PATIENCE)
                .until(() -> cluster.replica(primary).status().state() == ReplicaState.STOPPED);
        execute(cluster.primary(), "CREATE TABLE t (id INTEGER PRIMARY KEY)");
    }

    /** As by {@code pg_ctl stop -m smart}: it would wait for its replica, and its replica for it. */
    @Test
    @Timeout(180)
    void aServerThatStopsOnceAllHaveLeftIsLeft() throws Exception {
        int primary = cluster.primary();
        Path pid = directory.resolve("data" + primary).resolve("postmaster.pid");
        ProcessHandle server =
                ProcessHandle.of(Long.parseLong(Files.readAllLines(pid).get(0))).orElseThrow();
        server.destroy();
        Awaitility.await("the replica has met it")
                .atMost(PATIENCE)
                .until(() -> cluster.replica(primary).status().state() == ReplicaState.STOPPED);
        assertThat(server.onExit()).succeedsWithin(PATIENCE);
        execute(cluster.primary(), "CREATE TABLE t (id INTEGER PRIMARY KEY)");
    }
}
