package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The primary goes while one backup lags, because a reader there has what it needs; the other one shows everything. */
@Timeout(120)
class LaggingSuccessorTest {

    /** Who lags yields not before, so that whoever writes before has not waited for that. */
    private static final Duration ELECTION_TIMEOUT = Duration.ofSeconds(5);

    @TempDir
    Path directory;

    /** What happens while one backup lags. */
    private interface Lagging {
        void happens(int primary, int lagging) throws Exception;
    }

    private void whileOneLags(Cluster cluster, Lagging what) throws Exception {
        cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)", "INSERT INTO T VALUES (1, 0)");
        cluster.awaitEverywhere();
        int primary = cluster.primary();
        int lagging = firstOther(cluster, primary);
        try (Connection reader = cluster.connect(lagging);
                Statement select = reader.createStatement()) {
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            try (ResultSet row = select.executeQuery("SELECT * FROM T")) {
                assertThat(row.next()).isTrue();
            }
            for (int i = 0; i < 10; i++) {
                cluster.execute("UPDATE T SET N = N + 1");
            }
            what.happens(primary, lagging);
            reader.rollback();
        }
        cluster.start(primary);
        cluster.awaitOnline();
        cluster.assertIdentical();
    }

    /** Whom a group would take that knows only of logs. */
    private static int firstOther(Cluster cluster, int primary) {
        List<MemberId> members = cluster.replica(primary).status().members();
        return IntStream.range(0, cluster.size())
                .filter(i -> i != primary)
                .boxed()
                .min((a, b) -> Integer.compare(members.indexOf(cluster.id(a)), members.indexOf(cluster.id(b))))
                .orElseThrow();
    }

    private Cluster open() {
        return new Cluster(
                directory,
                3,
                builder -> builder.protocol(ReplicationProtocol.PRIMARY_BACKUP)
                        .electionTimeout(ELECTION_TIMEOUT)
                        .readGrace(Duration.ofMinutes(2)));
    }

    /** How long it takes until the one that shows everything takes a write. */
    private static Duration untilWritten(Cluster cluster, int successor) {
        long began = System.nanoTime();
        Awaitility.await("it is written")
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(20))
                .atMost(Duration.ofMinutes(1))
                .until(() -> isWritten(cluster, successor));
        return Duration.ofNanos(System.nanoTime() - began);
    }

    private static boolean isWritten(Cluster cluster, int replica) {
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement()) {
            return statement.executeUpdate("UPDATE T SET N = N + 1") == 1;
        } catch (SQLException e) {
            return false;
        }
    }

    @Test
    void whoLeavesHandsOverToWhoShowsMost() throws Exception {
        try (Cluster cluster = open()) {
            whileOneLags(cluster, (primary, lagging) -> {
                TimeUnit.MILLISECONDS.sleep(500); // until each has told what it shows
                cluster.replica(primary).close();
                assertThat(untilWritten(cluster, 3 - primary - lagging)).isLessThan(ELECTION_TIMEOUT);
            });
        }
    }

    @Test
    void whoLagsAndLeadsYieldsToWhoDoesNot() throws Exception {
        try (Cluster cluster = open()) {
            whileOneLags(cluster, (primary, lagging) -> {
                cluster.lead(lagging);
                cluster.replica(primary).close();
                assertThat(untilWritten(cluster, 3 - primary - lagging)).isLessThan(ELECTION_TIMEOUT.multipliedBy(4));
            });
        }
    }
}
