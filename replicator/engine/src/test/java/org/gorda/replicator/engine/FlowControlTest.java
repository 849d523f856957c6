package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One replica cannot apply, because a reader there has what it needs, and a long grace; the others work. */
class FlowControlTest {

    private static final int LAG_MAX = 200;
    private static final int SLOW = 2;
    private static final int READ_TRIES = 100;
    private static final Duration PATIENCE = Duration.ofSeconds(4);

    @TempDir
    Path directory;

    private final ExecutorService clients = Executors.newCachedThreadPool();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicLong committed = new AtomicLong();
    private Cluster cluster;

    private static Replica.Builder settings(
            Replica.Builder builder, ReplicationProtocol protocol, int lagMax, Duration patience) {
        return builder.protocol(protocol).lagMax(lagMax).lagPatience(patience).readGrace(Duration.ofMinutes(2));
    }

    private void start(ReplicationProtocol protocol, int lagMax, Duration patience) throws SQLException {
        cluster = new Cluster(directory, 3, builder -> settings(builder, protocol, lagMax, patience));
        cluster.execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0), (1, 0), (2, 0), (3, 0)");
        cluster.assertIdentical();
    }

    @AfterEach
    void stop() {
        ended.set(true);
        clients.shutdownNow();
        if (cluster != null) {
            cluster.close();
        }
    }

    private List<Future<?>> write(int... replicas) {
        List<Future<?>> running = new ArrayList<>();
        for (int client = 0; client < 2; client++) {
            int row = client;
            int replica = replicas[client % replicas.length];
            running.add(clients.submit(() -> {
                try (Connection connection = cluster.connect(replica);
                        PreparedStatement update =
                                connection.prepareStatement("UPDATE T SET N = N + 1 WHERE ID = " + row)) {
                    while (!ended.get()) {
                        update.executeUpdate();
                        committed.incrementAndGet();
                    }
                }
                return null;
            }));
        }
        return running;
    }

    private static void read(Statement statement, String query) throws SQLException {
        try (ResultSet rows = statement.executeQuery(query)) {
            assertThat(rows.next()).isTrue();
        }
    }

    /** Has all rows locked afterwards. What is ordered may meet it half-way through them, and then it is the reader who loses. */
    private static void readAll(Statement statement) throws SQLException {
        for (int tries = 1; ; tries++) {
            try {
                read(statement, "SELECT SUM(N) FROM T");
                return;
            } catch (SQLException e) {
                if (!"40001".equals(e.getSQLState()) || tries == READ_TRIES) {
                    throw e;
                }
            }
        }
    }

    /** On a machine that others use, too, a few transactions can take long. */
    private static ConditionFactory await(String what) {
        return Awaitility.await(what).atMost(Duration.ofSeconds(90));
    }

    private void insert(int replica) throws SQLException {
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (4, 0)");
        }
    }

    private long behind(int replica) {
        return cluster.replica(0).status().appliedIndex()
                - cluster.replica(replica).status().appliedIndex();
    }

    private ReplicaStatus status(int replica) {
        return cluster.replica(replica).status();
    }

    @Test
    void othersWaitForWhoIsBehindButNotForEver() throws Exception {
        start(ReplicationProtocol.CERTIFICATION, LAG_MAX, PATIENCE);
        List<Future<?>> running = write(0, 1);
        await("it runs").until(() -> committed.get() > 50);
        long begun = committed.get();
        TimeUnit.MILLISECONDS.sleep(500);
        long inHalfASecond = committed.get() - begun;
        try (Connection reader = cluster.connect(SLOW);
                Statement select = reader.createStatement()) {
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            readAll(select);

            await("they wait").until(() -> status(SLOW).self().equals(status(0).pacedFor()));
            // What is committed until one hears of it is over the limit.
            for (int i = 0; i < 20; i++) {
                assertThat(behind(SLOW)).isLessThan(4 * LAG_MAX + inHalfASecond);
                TimeUnit.MILLISECONDS.sleep(50);
            }
            assertThat(status(0).paced()).isPositive();

            await("it is put out").until(() -> status(SLOW).state() == ReplicaState.CATCHING_UP);
            assertThat(status(SLOW).explanation()).contains("more than 100 transactions behind for 4 s");
            assertThatThrownBy(() -> insert(SLOW))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"));
            long before = committed.get();
            await("the others go on").until(() -> committed.get() > before + 4 * LAG_MAX);
            assertThat(status(0).pacedFor()).isNotEqualTo(status(SLOW).self());
            assertThat(behind(SLOW)).isGreaterThan(2 * LAG_MAX);
            reader.rollback();
        }
        await("it has caught up").until(() -> status(SLOW).state() == ReplicaState.ONLINE);
        ended.set(true);
        for (Future<?> one : running) {
            one.get(30, TimeUnit.SECONDS);
        }
        insert(SLOW);
        cluster.assertIdentical();
        double share = status(0).paced();
        await("the share falls").until(() -> status(0).paced() < 0.8 * share);
    }

    @Test
    void aPrimaryWaitsForABackup() throws Exception {
        start(ReplicationProtocol.PRIMARY_BACKUP, LAG_MAX, PATIENCE);
        int primary = cluster.primary();
        int backup = (primary + 1) % 3;
        List<Future<?>> running = write(primary);
        try (Connection reader = cluster.connect(backup);
                Statement select = reader.createStatement()) {
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            readAll(select);
            await("it waits")
                    .until(() -> status(backup).self().equals(status(primary).pacedFor()));
            reader.rollback();
        }
        await("it goes on").until(() -> status(primary).pacedFor() == null);
        ended.set(true);
        for (Future<?> one : running) {
            one.get(30, TimeUnit.SECONDS);
        }
        assertThat(status(backup).state()).isEqualTo(ReplicaState.ONLINE);
        cluster.assertIdentical();
    }

    /** What is ordered needs a lock that a transaction has which waits. */
    @Test
    void whoWaitsGivesWay() throws Exception {
        int few = 20;
        start(ReplicationProtocol.CERTIFICATION, few, Duration.ofMinutes(1));
        cluster.replica(1).close();
        cluster.start(
                1,
                builder -> settings(builder, ReplicationProtocol.CERTIFICATION, few, Duration.ofMinutes(1))
                        .readGrace(Duration.ofMillis(50)));
        cluster.awaitOnline();
        try (Connection writer = cluster.connect(0);
                Statement update = writer.createStatement();
                Connection waits = cluster.connect(1);
                Statement statement = waits.createStatement();
                Connection reader = cluster.connect(SLOW);
                Statement select = reader.createStatement()) {
            writer.setAutoCommit(false);
            update.execute("UPDATE T SET N = N + 1 WHERE ID = 2");
            waits.setAutoCommit(false);
            waits.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            readAll(select);
            List<Future<?>> running = write(0, 0);
            await("all stand still").untilAsserted(() -> {
                assertThat(running).noneMatch(Future::isDone);
                assertThat(behind(SLOW)).as("%s, %s", status(0), status(SLOW)).isGreaterThanOrEqualTo(few);
                assertThat(status(1).pacedFor())
                        .as("%s", status(1))
                        .isEqualTo(status(SLOW).self());
            });
            TimeUnit.MILLISECONDS.sleep(500); // until each has heard so, too
            read(statement, "SELECT N FROM T WHERE ID = 2");
            Future<?> waiting = clients.submit(() -> statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 3"));
            TimeUnit.MILLISECONDS.sleep(300);
            assertThat(waiting.isDone()).isFalse();
            writer.commit();
            assertThatThrownBy(() -> waiting.get(15, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("needed a lock that this one held");
            waits.rollback();
            reader.rollback();
        }
        ended.set(true);
        await("all show it").until(() -> behind(SLOW) == 0);
        cluster.assertIdentical();
    }

    /** It may be asked for another protocol, and must know what the others' databases can do. */
    @Test
    void whoDoesNotCountYetIsToldToo() {
        MemberId self = new MemberId("db1:7800");
        MemberId learner = new MemberId("db2:7800");
        View view = new View(List.of(self), List.of(learner), Optional.of(self), true, 1);
        Set<MemberId> told = ConcurrentHashMap.newKeySet();
        try (FlowControl flow = new FlowControl(
                self,
                new Lags(LAG_MAX, PATIENCE),
                () -> view,
                () -> 1,
                () -> true,
                Set.of(),
                (to, message) -> told.add(to),
                () -> {},
                () -> {})) {
            flow.start();
            await("it is told").until(() -> told.contains(learner));
        }
    }
}
