package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The request to commit reaches the primary long after its client has asked another replica and was told that it did not happen. */
class LateRequestTest {

    /** So many places later the group does not know any more what was given up. */
    private static final int FORGOTTEN_AFTER = 100_100;

    private static final int TRIES = 3;

    private static final Logger LOG = LoggerFactory.getLogger(LateRequestTest.class);

    @TempDir
    Path directory;

    @Test
    @Timeout(300)
    void whatWasToldNotToHaveHappenedDoesNotHappenLater() throws Exception {
        try (Cluster cluster =
                new Cluster(directory, 3, builder -> builder.protocol(ReplicationProtocol.PRIMARY_BACKUP))) {
            cluster.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)");
            StringBuilder values = new StringBuilder("(0, 0)");
            for (int i = 1; i <= 32; i++) {
                values.append(", (" + i + ", 0)");
            }
            cluster.execute("INSERT INTO t VALUES " + values);
            cluster.awaitEverywhere();
            int tries = 1;
            while (!isToldLate(cluster)) {
                assertThat(tries++).as("changes of the primary meanwhile").isLessThan(TRIES);
            }
        }
    }

    /** False if another member has become the primary meanwhile, as on a machine that stands still: that undoes the transaction before, and ends the load. */
    private static boolean isToldLate(Cluster cluster) throws Exception {
        int primary = cluster.primary();
        long epoch = cluster.replica(primary).status().epoch();
        UUID session = UUID.randomUUID();
        TransactionId id = new TransactionId(SessionId.of(session), 1);
        try (Connection late = cluster.connect(primary);
                Statement statement = late.createStatement()) {
            late.setAutoCommit(false);
            statement.executeUpdate("UPDATE t SET n = n + 1 WHERE id = 0");
            long since = cluster.replica(primary).status().orderedIndex();
            // Its COMMIT_AS is on its way; the client has lost the connection and asks another replica.
            Outcome told = cluster.replica((primary + 1) % 3).outcome(id, since).get(10, TimeUnit.SECONDS);
            assertThat(told).isEqualTo(Outcome.ABORTED);
            load(cluster, primary, since + FORGOTTEN_AFTER);
            ReplicaStatus now = cluster.replica(cluster.primary()).status();
            boolean isSame = now.epoch() == epoch;
            assertThatThrownBy(() -> commitAs(late, session))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining(isSame ? "given up by its client" : "did not happen");
            cluster.awaitEverywhere();
            assertThat(cluster.number((primary + 2) % 3, "SELECT n FROM t WHERE id = 0"))
                    .isZero();
            return isSame && now.orderedIndex() >= since + FORGOTTEN_AFTER;
        }
    }

    private static void commitAs(Connection late, UUID session) throws SQLException {
        try (PreparedStatement commit = late.prepareStatement("CALL GORDA.COMMIT_AS(?, ?)")) {
            commit.setString(1, session.toString());
            commit.setLong(2, 1);
            commit.execute();
        }
    }

    private static void load(Cluster cluster, int primary, long upTo) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i <= 32; i++) {
            int row = i;
            Thread thread = new Thread(() -> {
                try (Connection connection = cluster.connect(primary);
                        PreparedStatement update =
                                connection.prepareStatement("UPDATE t SET n = n + 1 WHERE id = " + row)) {
                    while (cluster.replica(primary).status().orderedIndex() < upTo) {
                        update.executeUpdate();
                    }
                } catch (SQLException e) {
                    LOG.info("the load on row {} ends: {}", row, e.getMessage());
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
