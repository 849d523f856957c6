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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A group changes its protocol while it works. */
class ProtocolChangeTest {

    private static final ReplicationProtocol ONE = ReplicationProtocol.PRIMARY_BACKUP;
    private static final ReplicationProtocol ALL = ReplicationProtocol.CERTIFICATION;
    private static final ReplicationProtocol ALONE = ReplicationProtocol.ASYNCHRONOUS;

    @TempDir
    Path directory;

    private final ExecutorService clients = Executors.newCachedThreadPool();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicLong committed = new AtomicLong();

    /** What clients were told is committed, and what they do not know of. */
    private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();

    private final Set<Long> unknown = ConcurrentHashMap.newKeySet();

    /** What they were told did not happen. */
    private final Set<Long> refused = ConcurrentHashMap.newKeySet();

    private Cluster cluster;

    private void start(ReplicationProtocol protocol) {
        start(protocol, Durability.GROUP);
    }

    private void start(ReplicationProtocol protocol, Durability durability) {
        cluster =
                new Cluster(directory, 3, builder -> builder.protocol(protocol).durability(durability));
    }

    @AfterEach
    void stop() {
        ended.set(true);
        clients.shutdownNow();
        cluster.close();
    }

    private void awaitProtocol(ReplicationProtocol wanted) {
        for (int i = 0; i < cluster.size(); i++) {
            Replica replica = cluster.replica(i);
            await("replica " + i + " runs " + wanted).until(() -> {
                ReplicaStatus now = replica.status();
                return now.protocol() == wanted && (now.everywhere() || now.primary() != null);
            });
        }
    }

    /** Schema changes under load can hold up the delivery for longer than it is waited for. */
    private void changeProtocol(int replica, ReplicationProtocol next) {
        try {
            cluster.replica(replica).changeProtocol(next);
        } catch (ReplicaException e) {
            assertThat(e).hasMessageContaining("but may be yet");
        }
        awaitProtocol(next);
    }

    private static ConditionFactory await(String what) {
        return Awaitility.await(what).atMost(Duration.ofSeconds(60));
    }

    private void awaitVisible(int replica) {
        long newest = cluster.replica(cluster.primary()).status().orderedIndex();
        await("it shows all").until(() -> cluster.replica(replica).status().appliedIndex() >= newest);
    }

    /** Each row takes its key and another number from generators, and says who wrote it. */
    private void insertWhereItGoes(int at, int client) {
        long number = 1_000_000L * client;
        int replica = at;
        while (!ended.get()) {
            try (Connection connection = cluster.connect(replica);
                    Statement schemas = connection.createStatement();
                    PreparedStatement insert =
                            connection.prepareStatement("INSERT INTO T (S, W) VALUES (NEXT VALUE FOR S, ?)");
                    PreparedStatement update = connection.prepareStatement("UPDATE C SET N = N + 1 WHERE ID = ?")) {
                connection.setAutoCommit(false);
                while (!ended.get()) {
                    insert.setLong(1, ++number);
                    insert.executeUpdate();
                    update.setInt(1, client);
                    update.executeUpdate();
                    if (number % 100 == 50) {
                        schemas.execute("CREATE SEQUENCE X" + number);
                    }
                    commit(connection, number);
                }
            } catch (SQLException e) {
                assertThat(e.getSQLState()).as(e.getMessage()).isIn("40001", "25006", "40XL1", "08006", "X0Y84");
                if (e.getSQLState().equals("25006")) {
                    replica = (replica + 1) % cluster.size();
                }
            }
        }
    }

    private void commit(Connection connection, long number) throws SQLException {
        try {
            connection.commit();
            acknowledged.add(number);
            committed.incrementAndGet();
        } catch (SQLException e) {
            if (e.getSQLState().equals("08007")) {
                unknown.add(number);
                return;
            }
            refused.add(number);
            throw e;
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"GROUP", "LOCAL"})
    void nothingIsLostOrMadeTwiceByChangesUnderLoad(Durability durability) throws Exception {
        start(ONE, durability);
        changeUnderLoad(ALL, ONE, ALL, ONE, ALL, ONE, ALL, ONE);
    }

    /** With patience, because a primary that is suspected on a busy machine would lose what only it has. */
    @Test
    void nothingIsLostByAnAsynchronousPrimaryThatDoesNotFail() throws Exception {
        cluster = new Cluster(directory, 3, builder -> builder.protocol(ALONE).electionTimeout(Duration.ofSeconds(10)));
        changeUnderLoad(ONE, ALONE, ALL, ALONE, ONE, ALONE);
    }

    private void changeUnderLoad(ReplicationProtocol... changes) throws Exception {
        cluster.execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY, S BIGINT NOT NULL, W BIGINT NOT NULL)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO C VALUES (0, 0), (1, 0), (2, 0), (3, 0)",
                "CREATE SEQUENCE S AS BIGINT START WITH 1");
        for (int i = 0; i < cluster.size(); i++) {
            awaitVisible(i);
        }
        List<Future<?>> running = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            int number = client;
            running.add(clients.submit(() -> insertWhereItGoes(number % 3, number)));
        }
        for (int change = 0; change < changes.length; change++) {
            awaitCommits(100, running);
            changeProtocol(change % 3, changes[change]);
        }
        awaitCommits(50, running);
        ended.set(true);
        for (Future<?> one : running) {
            one.get(30, TimeUnit.SECONDS);
        }
        cluster.assertIdentical();
        try (Connection connection = cluster.connect(1);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT S, W FROM T")) {
            Set<Long> values = new HashSet<>();
            Set<Long> writers = new HashSet<>();
            while (rows.next()) {
                assertThat(values.add(rows.getLong(1))).as("a value twice").isTrue();
                assertThat(writers.add(rows.getLong(2))).as("a row twice").isTrue();
            }
            assertThat(writers).containsAll(acknowledged).doesNotContainAnyElementsOf(refused);
            writers.removeAll(acknowledged);
            assertThat(unknown).containsAll(writers);
        }
        try (Connection connection = cluster.connect(2);
                Statement statement = connection.createStatement();
                ResultSet sum = statement.executeQuery("SELECT SUM(N) FROM C")) {
            assertThat(sum.next()).isTrue();
            assertThat(sum.getLong(1)).isEqualTo(cluster.count(2, "T"));
        }
    }

    /** Or until a client has failed; if neither comes, it is told what all threads wait for. */
    private void awaitCommits(int more, List<Future<?>> running) {
        long before = committed.get();
        try {
            await("it goes on")
                    .until(() ->
                            committed.get() > before + more || running.stream().anyMatch(Future::isDone));
        } catch (ConditionTimeoutException e) {
            StringBuilder found = new StringBuilder("only " + (committed.get() - before) + " commits more\n");
            for (int i = 0; i < cluster.size(); i++) {
                found.append(cluster.replica(i).status()).append('\n');
            }
            Thread.getAllStackTraces().forEach((thread, stack) -> {
                found.append(thread).append('\n');
                Stream.of(stack)
                        .forEach(frame -> found.append("    ").append(frame).append('\n'));
            });
            throw new AssertionError(found.toString(), e);
        }
    }

    @Test
    void allKeepToItWhenTheyAreStartedAgain() throws Exception {
        start(ONE);
        cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)");
        cluster.replica(1).changeProtocol(ALL);
        cluster.replica(0).changeProtocol(ALL); // as it is
        awaitProtocol(ALL);
        for (int i = 0; i < cluster.size(); i++) {
            execute(i, "INSERT INTO T VALUES (" + i + ", 0)");
        }
        for (int i = 0; i < cluster.size(); i++) {
            cluster.replica(i).close();
        }
        for (int i = 0; i < cluster.size(); i++) {
            cluster.start(i);
        }
        cluster.awaitOnline();
        for (int i = 0; i < cluster.size(); i++) {
            assertThat(cluster.replica(i).status().everywhere()).isTrue();
            execute(i, "UPDATE T SET N = N + 1 WHERE ID = " + i);
        }
        cluster.assertIdentical();
    }

    private void execute(int replica, String sql) throws SQLException {
        awaitVisible(replica);
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void whoHasReadBeforeDoesNotWriteAfterwards() throws Exception {
        start(ONE);
        cluster.execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)", "INSERT INTO T VALUES (0, 0)");
        int backup = cluster.backup();
        awaitVisible(backup);
        try (Connection connection = cluster.connect(backup);
                Statement statement = connection.createStatement();
                PreparedStatement read = connection.prepareStatement("SELECT COUNT(*) FROM T")) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            count(read);
            cluster.replica(backup).changeProtocol(ALL);
            assertThatThrownBy(() -> {
                        statement.executeUpdate("INSERT INTO T VALUES (1, 0)");
                        connection.commit();
                    })
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("before every replica took writes");
            connection.rollback();
            // The same statement tells what it reads from now on: no row may come beside it.
            assertThat(count(read)).isEqualTo(1);
            int other = (backup + 1) % 3;
            execute(other, "INSERT INTO T VALUES (2, 0)");
            awaitVisible(backup);
            assertThatThrownBy(() -> {
                        statement.executeUpdate("INSERT INTO T VALUES (3, 0)");
                        connection.commit();
                    })
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            connection.rollback();
        }
        cluster.assertIdentical();
    }

    private static int count(PreparedStatement read) throws SQLException {
        try (ResultSet rows = read.executeQuery()) {
            rows.next();
            return rows.getInt(1);
        }
    }

    @Test
    void whoCannotTakePartIsToldWhy() {
        start(ONE);
        assertThatThrownBy(() -> cluster.replica(0).changeProtocol(ReplicationProtocol.LOOPBACK))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("protocol loopback has no group");
        cluster.replica(1).close();
        cluster.replica(2).close();
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .until(() -> !cluster.replica(0).status().working());
        assertThatThrownBy(() -> cluster.replica(0).changeProtocol(ALL))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("not changed")
                .hasMessageContaining("cannot reach a majority");
    }
}
