package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who is told that its transaction did not happen, because an epoch has ended, may run it again by the same name. */
@Timeout(60)
class NamesakeOfAnEpochBeforeTest {

    private static final String COMMIT = "CALL GORDA.COMMIT_AS('" + UUID.randomUUID() + "', 1)";

    @TempDir
    Path directory;

    private final ExecutorService client = Executors.newSingleThreadExecutor();

    @AfterEach
    void stop() {
        client.shutdownNow();
    }

    @Test
    void whatWasDiscardedWithItsEpochDoesNotAbortWhatIsRunAgainByItsName() throws Exception {
        try (Cluster cluster = new Cluster(
                directory, 3, builder -> builder.toolkit(HeldSends.NAME).protocol(ReplicationProtocol.CERTIFICATION))) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            cluster.awaitEverywhere();
            try (Connection connection = cluster.connect(0);
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                HeldSends.Sender sender = HeldSends.of(cluster.id(0));
                sender.hold();
                Future<?> first = commit(sender, statement);
                changeProtocol(cluster, ReplicationProtocol.PRIMARY_BACKUP);
                assertThatThrownBy(() -> first.get(20, TimeUnit.SECONDS))
                        .isInstanceOf(ExecutionException.class)
                        .cause()
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"));
                connection.rollback();
                changeProtocol(cluster, ReplicationProtocol.CERTIFICATION);
                Future<?> again = commit(sender, statement);
                sender.release();
                again.get(20, TimeUnit.SECONDS);
            }
            assertThat(cluster.count(0, "T")).isEqualTo(1);
            cluster.assertIdentical();
        }
    }

    /** Returns once it is on its way. */
    private Future<?> commit(HeldSends.Sender sender, Statement statement) throws SQLException {
        statement.executeUpdate("INSERT INTO T VALUES (1)");
        int before = sender.held();
        Future<?> asked = client.submit(() -> statement.execute(COMMIT));
        await(() -> sender.held() > before);
        return asked;
    }

    private static void changeProtocol(Cluster cluster, ReplicationProtocol next) {
        cluster.replica(0).changeProtocol(next);
        await(() -> {
            ReplicaStatus now = cluster.replica(0).status();
            return now.protocol() == next && (now.executesHere() || !next.isEverywhere());
        });
    }

    private static void await(Callable<Boolean> condition) {
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(condition);
    }
}
