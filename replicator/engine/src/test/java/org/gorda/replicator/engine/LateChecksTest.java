package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where all replicas take writes: the same value of a unique key on two of them, which may be checked late. */
@Timeout(180)
class LateChecksTest {

    private static final int ATTEMPTS = 200;

    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE", ""})
    void oneOfTwoIsCommitted(String when) throws Exception {
        ExecutorService clients = Executors.newFixedThreadPool(2);
        try (Cluster cluster =
                        new Cluster(directory, 3, builder -> builder.protocol(ReplicationProtocol.CERTIFICATION));
                Connection first = cluster.connect(0);
                Connection second = cluster.connect(1)) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, E INTEGER NOT NULL, CONSTRAINT U UNIQUE (E) "
                            + when + ")");
            cluster.awaitEverywhere();
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
            cluster.assertIdentical();
            assertThat(cluster.count(0, "T")).isEqualTo(committed);
        } finally {
            clients.shutdownNow();
        }
    }

    private static Callable<Boolean> insert(Connection connection, CyclicBarrier together, int id, int e) {
        return () -> {
            boolean isInserted = inTime(() -> {
                try (Statement statement = connection.createStatement()) {
                    statement.execute("INSERT INTO T VALUES (" + id + ", " + e + ")");
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
            assertThat(e.getSQLState()).as("%s", e.getMessage()).isIn("40001", "23505", "23506");
            return false;
        }
    }
}
