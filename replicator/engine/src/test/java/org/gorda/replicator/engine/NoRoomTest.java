package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who waits for room in what is to be sent, with locks that what is ordered needs, gives way: only that makes the room. */
@Timeout(60)
class NoRoomTest {

    /** Much less than {@code commit-timeout}. */
    private static final Duration SOON = Duration.ofSeconds(10);

    @TempDir
    Path directory;

    @Test
    void whoWaitsForRoomGivesWayToWhatIsOrdered() throws Exception {
        try (Cluster cluster = new Cluster(
                directory,
                3,
                builder -> builder.toolkit(HeldSends.NAME)
                        .protocol(ReplicationProtocol.CERTIFICATION)
                        .commitTimeout(Duration.ofMinutes(1)))) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)", "INSERT INTO T VALUES (1, 0)");
            cluster.awaitEverywhere();
            HeldSends.Sender sender = HeldSends.of(cluster.id(0));
            try (Connection connection = cluster.connect(0);
                    Statement statement = connection.createStatement();
                    Connection other = cluster.connect(1);
                    Statement ordered = other.createStatement()) {
                connection.setAutoCommit(false);
                statement.executeUpdate("UPDATE T SET N = 1");
                sender.full(true);
                CompletableFuture<Void> asked = CompletableFuture.runAsync(() -> {
                    try {
                        connection.commit();
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
                Awaitility.await().atMost(SOON).until(() -> sender.turnedAway() > 0);
                ordered.executeUpdate("UPDATE T SET N = 2");
                long index = cluster.replica(1).status().appliedIndex();
                Awaitility.await("what is ordered is applied")
                        .atMost(SOON)
                        .until(() -> cluster.replica(0).status().appliedIndex() >= index);
                assertThatThrownBy(() -> asked.get(SOON.toSeconds(), TimeUnit.SECONDS))
                        .isInstanceOf(ExecutionException.class)
                        .rootCause()
                        .hasMessageContaining("gave way before it was sent");
                connection.rollback();
                sender.full(false);
                statement.executeUpdate("UPDATE T SET N = N + 1");
                connection.commit();
            }
            assertThat(cluster.number(0, "SELECT N FROM T")).isEqualTo(3);
            cluster.assertIdentical();
        }
    }

    /** What follows the answer is not done by who delivers. */
    @Test
    void whoAskedForAnOutcomeMayCommitUponIt() throws Exception {
        try (Cluster cluster =
                new Cluster(directory, 2, builder -> builder.protocol(ReplicationProtocol.CERTIFICATION))) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            cluster.awaitEverywhere();
            cluster.stop(1);
            CompletableFuture<Void> committed = cluster.replica(0)
                    .outcome(new TransactionId(new SessionId(1, 2), 3), 0)
                    .thenAccept(outcome -> {
                        try {
                            cluster.execute("INSERT INTO T VALUES (1)");
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        }
                    });
            cluster.start(1);
            committed.get(SOON.toSeconds(), TimeUnit.SECONDS);
            assertThat(cluster.count(0, "T")).isEqualTo(1);
        }
    }
}
