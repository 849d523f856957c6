package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Replicas that lack more than the group's log holds. */
@Timeout(180)
class StateTransferTest {

    private static final int ROW_BYTES = 100_000;
    private static final int ROWS = 80;

    @TempDir
    Path directory;

    private Cluster open(ReplicationProtocol protocol) {
        return new Cluster(directory, 3, builder -> builder.protocol(protocol).logRetainBytes(1 << 20));
    }

    private static void fill(Cluster cluster, int from) throws SQLException {
        try (Connection connection = cluster.connect(cluster.primary());
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            byte[] bytes = new byte[ROW_BYTES];
            Random random = new Random(from);
            for (int i = from; i < from + ROWS; i++) {
                random.nextBytes(bytes);
                insert.setInt(1, i);
                insert.setBytes(2, bytes);
                insert.executeUpdate();
            }
        }
    }

    private long logBytes(int replica) {
        try {
            return FileTree.files(directory.resolve("replica" + replica + ".gorda/log")).stream()
                    .mapToLong(file -> file.toFile().length())
                    .sum();
        } catch (IOException | UncheckedIOException e) {
            return Long.MAX_VALUE; // a file was deleted meanwhile
        }
    }

    /** Writes until the others have forgotten what the one that is away lacks. */
    private void goOnWithout(Cluster cluster, int away) throws SQLException {
        fill(cluster, ROWS);
        Awaitility.await("the log is cut").atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (int i = 0; i < cluster.size(); i++) {
                cluster.execute("UPDATE COUNTER SET N = N + 1");
                assertThat(i == away ? 0 : logBytes(i)).isLessThan((long) ROWS * ROW_BYTES);
            }
        });
    }

    private static void create(Cluster cluster) throws SQLException {
        cluster.execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(1M))",
                "CREATE TABLE COUNTER (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO COUNTER VALUES (1, 0)");
        fill(cluster, 0);
    }

    private void deleteAllOf(int replica) throws IOException {
        FileTree.delete(directory.resolve("replica" + replica));
        FileTree.delete(directory.resolve("replica" + replica + ".gorda"));
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void whoComesBackTooLateOrHasNothingReceivesTheDatabaseWhileOthersWrite(ReplicationProtocol protocol)
            throws Exception {
        try (Cluster cluster = open(protocol)) {
            create(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            for (boolean empty : new boolean[] {false, true}) {
                AtomicBoolean enough = new AtomicBoolean();
                CompletableFuture<Integer> writer = CompletableFuture.supplyAsync(() -> {
                    int writes = 0;
                    try (Connection connection = cluster.connect(cluster.primary());
                            Statement statement = connection.createStatement()) {
                        while (!enough.get()) {
                            writes += statement.executeUpdate("UPDATE COUNTER SET N = N + 1");
                        }
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                    return writes;
                });
                if (empty) {
                    cluster.replica(away).close();
                    deleteAllOf(away);
                }
                cluster.start(away);
                try {
                    cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
                } finally {
                    enough.set(true);
                }
                assertThat(writer.get()).isPositive();
                assertThat(cluster.assertIdentical().stream()
                                .filter(table -> table.table().endsWith("\"T\""))
                                .findFirst()
                                .orElseThrow()
                                .rows())
                        .isEqualTo(2 * ROWS);
                assertThat(directory.resolve("replica" + away + ".gorda/received"))
                        .doesNotExist();
            }
            // What it received serves for a restart like what it had of its own.
            cluster.replica(away).close();
            cluster.start(away);
            cluster.awaitOnline();
            cluster.execute("UPDATE COUNTER SET N = N + 1");
            cluster.assertIdentical();
        }
    }

    @Test
    void aDatabaseThatTheGroupHasNotMadeIsNotReplaced() throws Exception {
        try (Cluster cluster = open(ReplicationProtocol.PRIMARY_BACKUP)) {
            create(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            deleteAllOf(away);
            String url = "jdbc:derby:" + directory.resolve("replica" + away);
            try (Connection own = DriverManager.getConnection(url + ";create=true");
                    Statement statement = own.createStatement()) {
                statement.execute("CREATE TABLE MINE (A INTEGER NOT NULL PRIMARY KEY)");
                statement.execute("INSERT INTO MINE VALUES 42");
            }
            assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                    .isInstanceOf(SQLException.class);
            cluster.start(away);
            assertThatThrownBy(() -> cluster.replica(away).awaitState(ReplicaState.ONLINE, Duration.ofSeconds(30)))
                    .hasMessageContaining("holds tables, but nothing of this group")
                    .hasMessageContaining("Move that database away");
            cluster.replica(away).close();
            try (Connection own = DriverManager.getConnection(url);
                    Statement statement = own.createStatement();
                    ResultSet row = statement.executeQuery("SELECT A FROM MINE")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getInt(1)).isEqualTo(42);
            }
        }
    }
}
