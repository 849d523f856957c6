package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Applications with replicas in their JVM interrupt their threads and abort their connections at any moment, among schema changes, large
 * transactions and verifications. Nobody else may notice, and nothing may be left of it. {@code -Dgorda.stress-seconds=N} for longer
 * than a few seconds.
 */
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class HostileClientsTest {

    private static final long SECONDS = Long.getLong("gorda.stress-seconds", 8);

    /** Shorter than a lock time-out, and longer than any wait for what is decided by others. */
    private static final Duration END_WAIT = Duration.ofSeconds(50);

    private static final int CLIENTS = 8;
    private static final int HOT_ROWS = 6;
    private static final int LARGE_BYTES = 1_500_000;

    @TempDir
    Path directory;

    private final AtomicReferenceArray<Connection> connections = new AtomicReferenceArray<>(CLIENTS);
    private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
    private final Set<Long> refused = ConcurrentHashMap.newKeySet();
    private final Set<Throwable> surprises = ConcurrentHashMap.newKeySet();
    private final AtomicLong unknown = new AtomicLong();
    private volatile boolean ended;
    private Cluster cluster;

    @AfterEach
    void stop() {
        ended = true;
        if (cluster != null) {
            cluster.close();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ReplicationProtocol.class,
            names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void leaveNothingBehind(ReplicationProtocol protocol) throws Exception {
        cluster =
                new Cluster(directory, 3, builder -> builder.protocol(protocol).commitTimeout(Duration.ofSeconds(20)));
        cluster.execute(
                "CREATE TABLE T (ID BIGINT NOT NULL PRIMARY KEY, W INTEGER, L BLOB)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, N BIGINT NOT NULL)",
                "INSERT INTO C VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)");
        cluster.awaitEverywhere();
        long helpersBefore = helpers();

        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            int client = i;
            Thread thread = new Thread(() -> run(client), "client-" + i);
            clients.add(thread);
            thread.start();
        }
        annoy(clients);
        ended = true;
        for (Thread client : clients) {
            client.join(END_WAIT.toMillis());
            assertThat(client.isAlive())
                    .as(() -> client + " hangs in " + List.of(client.getStackTrace()) + locks())
                    .isFalse();
        }

        assertThat(surprises).isEmpty();
        assertThat(acknowledged).hasSizeGreaterThan(20);
        cluster.awaitEverywhere();
        cluster.assertIdentical();
        Set<Long> there = rows(cluster.primary());
        assertThat(acknowledged.stream().filter(number -> !there.contains(number)))
                .as("acknowledged and lost")
                .isEmpty();
        assertThat(refused.stream().filter(there::contains))
                .as("refused and there")
                .isEmpty();
        assertThat(cluster.number(cluster.primary(), "SELECT SUM(N) FROM C")).isEqualTo(there.size());
        for (int i = 0; i < cluster.size(); i++) {
            int replica = i;
            Awaitility.await("replica " + i + " keeps no locks")
                    .atMost(Duration.ofSeconds(30))
                    .until(() ->
                            cluster.number(replica, "SELECT COUNT(*) FROM SYSCS_DIAG.LOCK_TABLE WHERE TABLETYPE <> 'S'")
                                    == 0);
        }
        Awaitility.await("no helpers are left").atMost(Duration.ofMinutes(1)).until(() -> helpers() <= helpersBefore);
        System.out.printf(
                "%s: %d acknowledged, %d refused, %d of unknown outcome%n",
                protocol, acknowledged.size(), refused.size(), unknown.get());
    }

    /** Of all replicas, for people. */
    private String locks() {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < cluster.size(); i++) {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT XID, TYPE, MODE, TABLENAME, LOCKNAME, STATE"
                            + " FROM SYSCS_DIAG.LOCK_TABLE ORDER BY XID")) {
                while (rows.next()) {
                    all.append(String.format("%nreplica %d:", i));
                    for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
                        all.append(' ').append(rows.getString(column));
                    }
                }
            } catch (SQLException e) {
                all.append(e);
            }
        }
        return all.toString();
    }

    /** Threads that replicas have for clients: not their own, called by their addresses, nor those of the classes beside this one. */
    private static long helpers() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("gorda") && !name.contains("127.0.0.1"))
                .filter(name -> Stream.of("transport", "force-", "derby-shutdown", "derby-server", "schema-turn")
                        .noneMatch(own -> name.startsWith("gorda-" + own)))
                .count();
    }

    private void annoy(List<Thread> clients) {
        SplittableRandom random = new SplittableRandom(1);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(random.nextLong(40_000_000));
            int victim = random.nextInt(CLIENTS);
            Connection connection = connections.get(victim);
            int way = random.nextInt(20);
            try {
                if (way < 10) {
                    clients.get(victim).interrupt();
                } else if (way < 18 && connection != null) {
                    connection.abort(Runnable::run);
                } else if (way == 18) {
                    cluster.replica(random.nextInt(cluster.size())).verify(Duration.ofSeconds(1));
                }
            } catch (SQLException | ReplicaException e) {
                // It is not there any more, or there are too many who write.
            }
        }
    }

    private void run(int client) {
        SplittableRandom random = new SplittableRandom(client);
        long number = 1_000_000L * client;
        int replica = client % cluster.size();
        while (!ended) {
            if (!transaction(client, ++number, replica, random)) {
                replica = random.nextInt(cluster.size());
            }
            Thread.interrupted();
        }
    }

    /** False if it is better tried elsewhere. */
    private boolean transaction(int client, long number, int replica, SplittableRandom random) {
        boolean commits = false;
        try {
            Connection connection = cluster.connect(replica);
            connections.set(client, connection);
            try (Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                connection.setTransactionIsolation(
                        random.nextBoolean()
                                ? Connection.TRANSACTION_SERIALIZABLE
                                : Connection.TRANSACTION_READ_COMMITTED);
                work(connection, statement, number, client, random);
                if (random.nextInt(10) == 0) {
                    connection.rollback();
                    refused.add(number);
                    return true;
                }
                commits = true;
                connection.commit();
                acknowledged.add(number);
                return true;
            } finally {
                leave(client, connection);
            }
        } catch (SQLException e) {
            if (commits && !"40001".equals(e.getSQLState())) {
                unknown.incrementAndGet();
            } else {
                refused.add(number);
            }
            return false;
        } catch (RuntimeException | Error e) {
            surprises.add(e);
            return false;
        }
    }

    private static void work(
            Connection connection, Statement statement, long number, int client, SplittableRandom random)
            throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?, ?)")) {
            insert.setLong(1, number);
            insert.setInt(2, client);
            insert.setBytes(3, new byte[random.nextInt(30) == 0 ? LARGE_BYTES : 10]);
            insert.executeUpdate();
        }
        statement.executeUpdate("UPDATE C SET N = N + 1 WHERE ID = " + random.nextInt(HOT_ROWS));
        if (random.nextInt(5) == 0) {
            Savepoint before = connection.setSavepoint();
            statement.executeUpdate("UPDATE C SET N = N + 5");
            connection.rollback(before);
        }
        if (random.nextInt(60) == 0) {
            statement.execute("CREATE TABLE X" + number + " (ID INTEGER)");
        }
    }

    /** As a pool does that has lost its patience. */
    private void leave(int client, Connection connection) {
        connections.set(client, null);
        try {
            connection.rollback();
            connection.close();
        } catch (SQLException e) {
            try {
                connection.abort(Runnable::run);
            } catch (SQLException alsoAborted) {
                // It is gone.
            }
        }
    }

    private Set<Long> rows(int replica) throws SQLException {
        Set<Long> rows = new HashSet<>();
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement();
                ResultSet all = statement.executeQuery("SELECT ID FROM T")) {
            while (all.next()) {
                rows.add(all.getLong(1));
            }
        }
        return rows;
    }
}
