package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where all replicas take writes: rows of two replicas that a constraint excludes, which is checked late, or by operators of its own. */
@Timeout(180)
class LateChecksTest {

    private static final int ATTEMPTS = 60;

    @TempDir
    Path directory;

    private final List<Replica> replicas = new ArrayList<>();
    private final ExecutorService clients = Executors.newFixedThreadPool(2);

    @BeforeEach
    void start() throws SQLException {
        TestServer.dropOthers(directory);
        String[] members =
                LoopbackPorts.free(3).stream().map(port -> "127.0.0.1:" + port).toArray(String[]::new);
        for (int i = 0; i < members.length; i++) {
            replicas.add(Replica.builder()
                    .database(
                            "postgresql",
                            TestServer.configuration(directory, "replica" + i).location())
                    .attribute("user", "postgres")
                    .directory(directory.resolve("replica" + i))
                    .group("test")
                    .self(members[i])
                    .members(members)
                    .protocol(ReplicationProtocol.CERTIFICATION)
                    .electionTimeout(Duration.ofSeconds(2))
                    .start());
        }
        Awaitility.await("all take writes")
                .atMost(Duration.ofSeconds(60))
                .until(() -> replicas.stream()
                        .allMatch(replica -> replica.status().executesHere()
                                && replica.status().working()));
    }

    @AfterEach
    void stop() {
        clients.shutdownNow();
        replicas.forEach(Replica::close);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "UNIQUE (e) DEFERRABLE INITIALLY DEFERRED",
                "UNIQUE (e) DEFERRABLE",
                "EXCLUDE USING gist (r WITH &&)",
                "EXCLUDE USING gist (r WITH &&) DEFERRABLE INITIALLY DEFERRED",
                "UNIQUE (e)"
            })
    void oneOfTwoIsCommitted(String constraint) throws Exception {
        try (Connection first = replicas.get(0).connect(new Properties());
                Connection second = replicas.get(1).connect(new Properties())) {
            first.createStatement()
                    .execute("CREATE TABLE t (id INTEGER PRIMARY KEY, e INTEGER, r INT4RANGE, " + constraint + ")");
            awaitEverywhere();
            first.setAutoCommit(false);
            second.setAutoCommit(false);
            CyclicBarrier together = new CyclicBarrier(2);
            int committed = 0;
            for (int i = 0; i < ATTEMPTS; i++) {
                Future<Boolean> one = clients.submit(insert(first, together, 2 * i, i));
                Future<Boolean> other = clients.submit(insert(second, together, 2 * i + 1, i));
                boolean isFirst = one.get(30, TimeUnit.SECONDS);
                boolean isSecond = other.get(30, TimeUnit.SECONDS);
                assertThat(isFirst && isSecond)
                        .as("both of attempt %d are committed", i)
                        .isFalse();
                committed += isFirst || isSecond ? 1 : 0;
            }
            assertThat(committed).as("attempts of which one was committed").isGreaterThan(ATTEMPTS / 2);
        }
        awaitEverywhere();
        for (Replica replica : replicas) {
            try (Connection connection = replica.connect(new Properties());
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(
                            "SELECT count(*) FROM t a JOIN t b ON a.id < b.id AND (a.e = b.e OR a.r && b.r)")) {
                row.next();
                assertThat(row.getInt(1)).as("rows that exclude each other").isZero();
            }
        }
    }

    private static Callable<Boolean> insert(Connection connection, CyclicBarrier together, int id, int e) {
        return () -> {
            boolean isInserted = inTime(() -> {
                try (Statement statement = connection.createStatement()) {
                    statement.execute("INSERT INTO t VALUES (" + id + ", " + e + ", int4range(" + (10 * e + id % 2)
                            + ", " + (10 * e + 5 + id % 2) + "))");
                }
            });
            together.await(30, TimeUnit.SECONDS);
            boolean isCommitted = isInserted && inTime(connection::commit);
            if (!isCommitted) {
                connection.rollback();
            }
            return isCommitted;
        };
    }

    private interface Step {
        void run() throws SQLException;
    }

    /** False if the other one was in time. */
    private static boolean inTime(Step step) {
        try {
            step.run();
            return true;
        } catch (SQLException e) {
            assertThat(e.getSQLState()).as("%s", e.getMessage()).isIn("40001", "23505", "23P01");
            return false;
        }
    }

    private void awaitEverywhere() {
        Awaitility.await("all show the same")
                .atMost(Duration.ofSeconds(60))
                .until(() -> replicas.stream()
                                .map(replica -> replica.status().appliedIndex())
                                .distinct()
                                .count()
                        == 1);
    }
}
