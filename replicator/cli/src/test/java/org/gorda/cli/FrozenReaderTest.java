package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.bench.Links;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Reads go on elsewhere when the backup that they come from is frozen, or cut off from the others. */
@Timeout(180)
final class FrozenReaderTest {

    private static final Duration WAIT = Duration.ofSeconds(60);

    /** What docs/jdbc.md promises: 3 s of silence, and some for a machine that is busy. */
    private static final Duration BOUND = Duration.ofSeconds(10);

    @TempDir
    private Path directory;

    private static Connection reading(ReplicaGroup group) throws SQLException {
        Connection connection = DriverManager.getConnection(group.url());
        connection.setReadOnly(true);
        return connection;
    }

    private static int marks(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM MARKS")) {
            row.next();
            return row.getInt(1);
        }
    }

    /** As an application does: what fails is tried again on another connection. */
    private static int marksSomehow(ReplicaGroup group, Connection first) {
        List<String> states = new ArrayList<>();
        Connection connection = first;
        while (true) {
            try {
                int marks = marks(connection);
                assertThat(states).hasSizeLessThan(4);
                if (!states.isEmpty()) { // who noticed the silence before the statement moves on without a word
                    assertThat(states).contains("08006");
                }
                return marks;
            } catch (SQLException e) {
                states.add(e.getSQLState());
            }
            try {
                connection.close();
                connection = reading(group);
            } catch (SQLException e) {
                throw new CompletionException(e);
            }
        }
    }

    @Test
    void readsMoveOnToAnotherReplicaInTime() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE MARKS (ID INTEGER NOT NULL PRIMARY KEY)");
                statement.execute("INSERT INTO MARKS VALUES 1, 2, 3");
            }
            Connection connection = reading(group);
            Awaitility.await("the backup has it")
                    .ignoreExceptions()
                    .atMost(WAIT)
                    .until(() -> marks(connection) == 3);
            ReplicaProcess frozen = group.replicas().stream()
                    .filter(replica -> connection.toString().contains(" " + replica.service() + " "))
                    .findFirst()
                    .orElseThrow();
            assertThat(frozen.name()).isNotEqualTo(group.primary().orElseThrow().name());
            frozen.freeze();
            try {
                // One that reads there already, and one that comes before the silence is noticed.
                CompletableFuture<Integer> moved = CompletableFuture.supplyAsync(() -> marksSomehow(group, connection));
                CompletableFuture<Integer> fresh = CompletableFuture.supplyAsync(() -> {
                    try (Connection other = reading(group)) {
                        assertThat(other.toString()).doesNotContain(" " + frozen.service() + " ");
                        return marks(other);
                    } catch (SQLException e) {
                        throw new CompletionException(e);
                    }
                });
                assertThat(fresh.get(BOUND.toSeconds(), TimeUnit.SECONDS)).isEqualTo(3);
                assertThat(moved.get(BOUND.toSeconds(), TimeUnit.SECONDS)).isEqualTo(3);
            } finally {
                frozen.thaw();
            }
        }
    }

    /** It answers its clients, and shows what is old. */
    @Test
    void readsMoveOnFromAReplicaThatIsCutOff() throws Exception {
        ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of());
        try (group;
                Links links = Links.between(group)) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            try (Connection session = DriverManager.getConnection(group.url() + ";reads=session");
                    Statement writing = session.createStatement()) {
                writing.execute("CREATE TABLE MARKS (ID INTEGER NOT NULL PRIMARY KEY)");
                session.setReadOnly(true);
                int from = 0;
                while (!isAt(session, group.replicas().get(from))) {
                    from++;
                }
                session.setReadOnly(false);
                for (int other = 0; other < 3; other++) {
                    links.cut(from, other, other != from);
                    links.cut(other, from, other != from);
                }
                writing.execute("INSERT INTO MARKS VALUES 1");
                try {
                    session.setReadOnly(true);
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).isEqualTo("40001");
                    session.setReadOnly(true);
                }
                assertThat(marks(session)).isEqualTo(1);
                assertThat(isAt(session, group.replicas().get(from))).isFalse();
            }
        }
    }

    private static boolean isAt(Connection connection, ReplicaProcess replica) {
        return connection.toString().startsWith("connection to " + replica.service() + " ");
    }
}
