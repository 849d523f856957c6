package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Readers of each row hold one replica up, and the other one's writers wait for it, but only so that it does not fall farther behind. */
@Timeout(120)
class AlwaysBehindTest {

    private static final int AHEAD = 0;
    private static final int BEHIND = 1;
    private static final int ROWS = 40;
    private static final int LAG_MAX = 200;
    private static final int COMMITS = 10;
    private static final long READ_MILLIS = 20;
    private static final Duration COMMIT_TIMEOUT = Duration.ofSeconds(15);

    /** Of all commits, on average: from when others see it. What comes next in the order, and the disk, may add to the 50 ms that it may take. */
    private static final Duration ANSWER = Duration.ofMillis(400);

    @TempDir
    Path directory;

    private final ExecutorService clients = Executors.newCachedThreadPool();
    private final AtomicBoolean ended = new AtomicBoolean();

    /** What happens while a replica is behind. */
    private interface Meanwhile {
        void happens(Cluster cluster) throws Exception;
    }

    private void whileOneIsBehind(Durability durability, Meanwhile what) throws Exception {
        try (Cluster cluster = new Cluster(
                directory,
                2,
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION)
                        .durability(durability)
                        .commitTimeout(COMMIT_TIMEOUT)
                        .lagMax(LAG_MAX)
                        .lagPatience(Duration.ofMinutes(2)))) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                    "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                    "INSERT INTO U VALUES (1, 0)");
            for (int row = 0; row < ROWS; row++) {
                cluster.execute("INSERT INTO T VALUES (" + row + ", 0)");
            }
            cluster.awaitEverywhere();
            try {
                for (int client = 0; client < ROWS; client++) {
                    int row = client;
                    clients.submit(() -> read(cluster, row));
                    clients.submit(() -> write(cluster, row));
                }
                awaitBehind(cluster);
                what.happens(cluster);
            } finally {
                ended.set(true);
                clients.shutdown();
                assertThat(clients.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
            }
            cluster.assertIdentical();
        }
    }

    private static long behind(Cluster cluster) {
        return cluster.replica(AHEAD).status().appliedIndex()
                - cluster.replica(BEHIND).status().appliedIndex();
    }

    private static void awaitBehind(Cluster cluster) {
        Awaitility.await("it is behind").atMost(Duration.ofSeconds(30)).until(() -> behind(cluster) > LAG_MAX / 4);
    }

    private Void read(Cluster cluster, int row) throws Exception {
        try (Connection connection = cluster.connect(BEHIND);
                PreparedStatement select = connection.prepareStatement("SELECT N FROM T WHERE ID = " + row)) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            while (!ended.get()) {
                try (ResultSet found = select.executeQuery()) {
                    found.next();
                    TimeUnit.MILLISECONDS.sleep(READ_MILLIS);
                    connection.commit();
                } catch (SQLException e) { // gave way
                    connection.rollback();
                }
            }
        }
        return null;
    }

    private Void write(Cluster cluster, int row) throws Exception {
        try (Connection connection = cluster.connect(AHEAD);
                PreparedStatement update = connection.prepareStatement("UPDATE T SET N = N + 1 WHERE ID = " + row)) {
            while (!ended.get()) {
                try {
                    update.executeUpdate();
                } catch (SQLException e) { // waited in vain
                    TimeUnit.MILLISECONDS.sleep(READ_MILLIS);
                }
            }
        }
        return null;
    }

    @Test
    void itsClientsAreAnsweredOnceWhatTheyCommittedIsOnDisk() throws Exception {
        whileOneIsBehind(Durability.LOCAL, cluster -> {
            try (Connection connection = cluster.connect(BEHIND);
                    Statement update = connection.createStatement()) {
                long waitedNanos = 0;
                for (int i = 1; i <= COMMITS; i++) {
                    awaitBehind(cluster);
                    long committed = i;
                    Future<Integer> answer = clients.submit(() -> update.executeUpdate("UPDATE U SET N = N + 1"));
                    Awaitility.await("it is committed")
                            .pollInterval(Duration.ofMillis(5))
                            .atMost(COMMIT_TIMEOUT.multipliedBy(2))
                            .until(() -> cluster.number(BEHIND, "SELECT N FROM U") == committed);
                    long began = System.nanoTime();
                    answer.get(COMMIT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
                    waitedNanos += System.nanoTime() - began;
                }
                assertThat(Duration.ofNanos(waitedNanos / COMMITS)).isLessThan(ANSWER);
            }
        });
    }

    @Test
    void itsDatabaseIsForcedToDiskNowAndThen() throws Exception {
        whileOneIsBehind(Durability.GROUP, cluster -> {
            Replica replica = cluster.replica(BEHIND);
            for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
                long now = replica.status().appliedIndex();
                Awaitility.await("a checkpoint")
                        .atMost(Duration.ofSeconds(20))
                        .until(() -> replica.status().durableIndex() > now);
            }
        });
    }
}
