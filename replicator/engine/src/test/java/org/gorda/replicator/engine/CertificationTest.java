package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.gorda.gapi.Refusal;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every replica takes writes, on real databases. */
@Timeout(120)
@Order(1)
class CertificationTest {

    @TempDir
    Path directory;

    private final ExecutorService clients = Executors.newCachedThreadPool();
    private Cluster cluster;

    @BeforeEach
    void start() {
        cluster = new Cluster(directory, 3, builder -> builder.protocol(ReplicationProtocol.CERTIFICATION));
    }

    @AfterEach
    void stop() {
        clients.shutdownNow();
        cluster.close();
    }

    private interface Work {
        void on(Connection connection, Statement statement) throws SQLException;
    }

    /** Runs a transaction at a replica; false if it lost against another one, or the group will not have it now. */
    private boolean transaction(int replica, Work work) throws SQLException {
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            try {
                work.on(connection, statement);
                connection.commit();
                return true;
            } catch (SQLException e) {
                if ("08006".equals(e.getSQLState())) {
                    return false; // there is no leader for a moment, as when one was closed just before; the connection
                    // is gone
                }
                connection.rollback();
                if (!"40001".equals(e.getSQLState())) {
                    throw e;
                }
                return false;
            }
        }
    }

    private void execute(int replica, String... statements) throws SQLException {
        boolean done = transaction(replica, (connection, statement) -> {
            for (String sql : statements) {
                statement.execute(sql);
            }
        });
        assertThat(done).isTrue();
    }

    private void giveReadersTwoMinutes(int replica) {
        cluster.replica(replica).close();
        cluster.start(
                replica,
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION).readGrace(Duration.ofMinutes(2)));
        cluster.awaitOnline();
    }

    private void makeTwoRows() throws SQLException {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 1)");
        cluster.awaitEverywhere();
    }

    private void awaitWaitingForLocks(int replica, int count) {
        Awaitility.await(count + " wait")
                .atMost(Duration.ofMinutes(1))
                .until(() -> cluster.number(replica, "SELECT COUNT(*) FROM SYSCS_DIAG.LOCK_TABLE WHERE STATE = 'WAIT'")
                        >= count);
    }

    @Test
    void writersOnAllReplicasLoseNoUpdateAndSeeTheSame() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0), (1, 0), (2, 0), (3, 0)");
        cluster.awaitEverywhere();
        AtomicInteger committed = new AtomicInteger();
        AtomicInteger lost = new AtomicInteger();
        List<Future<?>> running = new ArrayList<>();
        for (int client = 0; client < 6; client++) {
            int number = client;
            running.add(clients.submit(() -> {
                SplittableRandom random = new SplittableRandom(number);
                for (int i = 0; i < 60; i++) {
                    String row = " WHERE ID = " + random.nextInt(4);
                    boolean done = transaction(number % 3, (connection, statement) -> {
                        statement.executeUpdate("UPDATE T SET N = N + 1" + row);
                    });
                    (done ? committed : lost).incrementAndGet();
                }
                return null;
            }));
        }
        for (Future<?> one : running) {
            one.get(90, TimeUnit.SECONDS);
        }
        cluster.assertIdentical();
        for (int i = 0; i < cluster.size(); i++) {
            assertThat(cluster.number(i, "SELECT SUM(N) FROM T")).isEqualTo(committed.get());
        }
        assertThat(committed.get()).isGreaterThan(60);
        assertThat(lost.get()).as("those rows are hot").isPositive();
    }

    @Test
    void writersOfOneHotRowOnOneReplicaNeverLoseAgainstEachOther() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0)");
        cluster.awaitEverywhere();
        List<Future<Boolean>> running = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            running.add(clients.submit(() -> {
                boolean all = true;
                for (int i = 0; i < 100; i++) {
                    all &= transaction(
                            1,
                            (connection, statement) -> statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"));
                }
                return all;
            }));
        }
        for (Future<Boolean> one : running) {
            assertThat(one.get(90, TimeUnit.SECONDS)).isTrue();
        }
        cluster.awaitEverywhere();
        assertThat(cluster.number(1, "SELECT N FROM T")).isEqualTo(400);
        assertThat(cluster.replica(1).status().refused()).isEmpty();
        cluster.assertIdentical();
    }

    @Test
    void whoLosesIsToldTableKeyAndWinner() throws Exception {
        execute(
                0,
                "CREATE TABLE \"Läden\" (CITY VARCHAR(20) NOT NULL, NR DECIMAL(5, 1) NOT NULL, N INTEGER, PRIMARY KEY (NR, CITY))",
                "INSERT INTO \"Läden\" VALUES ('Braga', 7.0, 0)");
        cluster.awaitEverywhere();
        List<String> told = new ArrayList<>();
        Map<Refusal.Cause, Long> refused = Map.of();
        for (int i = 0; i < 200 && !refused.containsKey(Refusal.Cause.CONFLICT); i++) {
            List<Future<?>> both = new ArrayList<>();
            for (int replica = 0; replica < 2; replica++) {
                int at = replica;
                both.add(clients.submit(() -> {
                    try (Connection connection = cluster.connect(at);
                            Statement statement = connection.createStatement()) {
                        statement.executeUpdate("UPDATE \"Läden\" SET N = N + 1 WHERE NR = 7");
                    } catch (SQLException e) {
                        synchronized (told) {
                            told.add(e.getSQLState() + " " + e.getMessage());
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> one : both) {
                one.get(30, TimeUnit.SECONDS);
            }
            refused = cluster.replica(i % 2).status().refused();
        }
        assertThat(told).allMatch(text -> text.startsWith("40001 "));
        assertThat(told)
                .anySatisfy(text -> assertThat(text)
                        .contains("conflict on \"APP\".\"Läden\" key (7.0, Braga)")
                        .contains("of replica 127.0.0.1:")
                        .contains(" ms ago")
                        .contains("run it again"));
    }

    @Test
    void whoGivesWayIsToldTableKeyAndWinner() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL, A VARCHAR(9) NOT NULL, N INTEGER UNIQUE, PRIMARY KEY (A, ID))",
                "INSERT INTO T VALUES (1, 'x', 1), (2, 'y', 2)");
        cluster.awaitEverywhere();
        assertGivesWay("UPDATE T SET N = N", "UPDATE T SET N = 7 WHERE ID = 2", "\"APP\".\"T\" key (y, 2)");
        assertGivesWay(
                "INSERT INTO T VALUES (3, 'z', 3)", "INSERT INTO T VALUES (4, 'z', 3)", "\"APP\".\"T\" key (z, 4)");
        assertThat(cluster.replica(0).hotRows())
                .extracting(hot -> hot.row() + " " + hot.gaveWay() + " " + hot.conflicts())
                .containsExactlyInAnyOrder("\"APP\".\"T\" key (y, 2) 1 0", "\"APP\".\"T\" key (z, 4) 1 0");
        assertThat(cluster.replica(0).hotRows())
                .allSatisfy(hot -> assertThat(hot.winner()).contains("of replica 127.0.0.1:"));
        assertThat(cluster.replica(1).hotRows()).isEmpty();
    }

    /** What is open at replica 0 is in the way of what replica 1 commits. */
    private void assertGivesWay(String open, String ordered, String row) throws Exception {
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute(open);
            execute(1, ordered);
            cluster.awaitEverywhere();
            assertThatThrownBy(() -> {
                        statement.execute("VALUES 1");
                        connection.commit();
                    })
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("conflict on " + row)
                    .hasMessageContaining(
                            " of replica " + cluster.replica(1).status().self() + ", ordered at ")
                    .hasMessageContaining(" ms ago, came first and needed a lock that this one held")
                    .hasMessageContaining("run it again");
        }
    }

    /** Derby alone would miss the savepoint, and who has lost would not know that it can run again. */
    @Test
    void whoHasLostIsToldSoAtItsSavepoints() throws Exception {
        makeTwoRows();
        assertLoses((connection, savepoint) -> connection.rollback(savepoint));
        assertLoses((connection, savepoint) -> connection.releaseSavepoint(savepoint));
        assertLoses((connection, savepoint) -> connection.setSavepoint());
    }

    /** What is done once another replica has come first. */
    private interface AtSavepoint {
        void run(Connection connection, Savepoint savepoint) throws SQLException;
    }

    private void assertLoses(AtSavepoint last) throws SQLException {
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            Savepoint savepoint = connection.setSavepoint();
            statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 1");
            execute(1, "UPDATE T SET N = 7 WHERE ID = 1");
            cluster.awaitEverywhere();
            assertThatThrownBy(() -> last.run(connection, savepoint))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 1");
            connection.commit();
        }
        cluster.awaitEverywhere(); // or replica 1 would lose the next round
    }

    @Test
    void whoHasLostSeesWhoHasWon() throws Exception {
        makeTwoRows();
        try (Connection reader = cluster.connect(0);
                Statement reading = reader.createStatement();
                Connection loser = cluster.connect(0);
                Statement statement = loser.createStatement()) {
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            reading.executeQuery("SELECT N FROM T WHERE ID = 2").next();
            loser.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 1");
            // For its second change it waits for the reader, and the third cannot be seen before.
            execute(
                    1,
                    "UPDATE T SET N = 7 WHERE ID = 1",
                    "UPDATE T SET N = 7 WHERE ID = 2",
                    "INSERT INTO T VALUES (3, 7)");
            Awaitility.await("it gave way")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> !cluster.replica(0).hotRows().isEmpty());
            assertThatThrownBy(() -> statement.execute("VALUES 1"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            loser.rollback();
            try (ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM T WHERE ID = 3")) {
                row.next();
                assertThat(row.getInt(1)).isEqualTo(1);
            }
            loser.rollback();
        }
    }

    @Test
    void noChildIsLeftWithoutItsParent() throws Exception {
        execute(
                0,
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P)");
        int both = 0;
        for (int i = 0; i < 60; i++) {
            int id = i;
            execute(0, "INSERT INTO P VALUES (" + id + ")");
            cluster.awaitEverywhere();
            Future<Boolean> child =
                    clients.submit(() -> ownOrForeign(1, "INSERT INTO C VALUES (" + id + ", " + id + ")"));
            Future<Boolean> gone = clients.submit(() -> ownOrForeign(2, "DELETE FROM P WHERE ID = " + id));
            boolean inserted = child.get(30, TimeUnit.SECONDS);
            boolean deleted = gone.get(30, TimeUnit.SECONDS);
            assertThat(inserted && deleted).as("both at %s", i).isFalse();
            both += inserted || deleted ? 0 : 1;
        }
        cluster.assertIdentical();
        for (int i = 0; i < cluster.size(); i++) {
            assertThat(cluster.number(i, "SELECT COUNT(*) FROM C WHERE P NOT IN (SELECT ID FROM P)"))
                    .isZero();
        }
        assertThat(both).as("neither won").isLessThan(30);
    }

    /** False also if the foreign key forbids it, because the other one was first and is there already. */
    private boolean ownOrForeign(int replica, String sql) throws SQLException {
        try {
            return transaction(replica, (connection, statement) -> statement.executeUpdate(sql));
        } catch (SQLException e) {
            if (!"23503".equals(e.getSQLState())) {
                throw e;
            }
            return false;
        }
    }

    @Test
    void uniqueConstraintsAndIndexesHoldAcrossReplicas() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20) UNIQUE, B INTEGER)",
                "CREATE UNIQUE INDEX T_B ON T (B)");
        cluster.awaitEverywhere();
        for (int i = 0; i < 40; i++) {
            List<Future<Boolean>> all = new ArrayList<>();
            for (int replica = 0; replica < 3; replica++) {
                int at = replica;
                int round = i;
                all.add(clients.submit(() -> {
                    int id = 3 * round + at;
                    String unique = round % 2 == 0 ? "'same " + round + "', " + id : "'" + id + "', " + -round;
                    try {
                        return transaction(
                                at,
                                (connection, statement) ->
                                        statement.executeUpdate("INSERT INTO T VALUES (" + id + ", " + unique + ")"));
                    } catch (SQLException e) {
                        assertThat(e.getSQLState()).isEqualTo("23505");
                        return false;
                    }
                }));
            }
            int winners = 0;
            for (Future<Boolean> one : all) {
                winners += one.get(30, TimeUnit.SECONDS) ? 1 : 0;
            }
            assertThat(winners).as("round %s", i).isEqualTo(1);
        }
        assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(40);
    }

    @Test
    void aTransactionThatGaveWayToAnotherTablesLockIsCommittedAllTheSame() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0), (1, 0), (2, 0)");
        cluster.awaitEverywhere();
        List<Future<Integer>> running = new ArrayList<>();
        for (int replica = 0; replica < 3; replica++) {
            int at = replica;
            running.add(clients.submit(() -> {
                int done = 0;
                for (int i = 0; i < 60; i++) {
                    done += transaction(at, (connection, statement) -> {
                                // Of all rows, though only one's own is written: it is always in the others' way.
                                statement.execute("LOCK TABLE T IN EXCLUSIVE MODE");
                                statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = " + at);
                            })
                            ? 1
                            : 0;
                }
                return done;
            }));
        }
        int[] done = new int[3];
        for (int replica = 0; replica < 3; replica++) {
            done[replica] = running.get(replica).get(90, TimeUnit.SECONDS);
        }
        cluster.assertIdentical();
        for (int row = 0; row < 3; row++) {
            assertThat(cluster.number(0, "SELECT N FROM T WHERE ID = " + row)).isEqualTo(done[row]);
            assertThat(cluster.replica(row).status().refused())
                    .as("what is certified is never taken for lost")
                    .doesNotContainKey(Refusal.Cause.CONFLICT);
        }
        assertThat(done).as("each made progress").doesNotContain(0);
    }

    /** It would hold up everything: what it waits for is delivered by the thread that waits for its locks. */
    @Test
    void aLargeTransactionThatIsOnlyPartlySentMakesWay() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "CREATE TABLE L (ID INTEGER NOT NULL PRIMARY KEY, B BLOB)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0)",
                "INSERT INTO S VALUES (0, 0)");
        cluster.awaitEverywhere();
        byte[] large = new byte[24 << 20];
        Future<Integer> writing = clients.submit(() -> {
            int lost = 0;
            for (int i = 0; i < 4; i++) {
                int id = i;
                boolean done = transaction(0, (connection, statement) -> {
                    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO L VALUES (?, ?)")) {
                        insert.setInt(1, id);
                        insert.setBytes(2, large);
                        insert.executeUpdate();
                    }
                    // Last, so that others meet its lock while it is sent.
                    statement.executeUpdate("UPDATE T SET N = N + 1");
                });
                lost += done ? 0 : 1;
            }
            return lost;
        });
        long slowest = 0;
        int done = 0;
        while (!writing.isDone()) {
            long begin = System.nanoTime();
            // Of the replica that sends, too, whose delivery would stand still.
            transaction(0, (connection, statement) -> statement.executeUpdate("UPDATE S SET N = N + 1"));
            done += transaction(1, (connection, statement) -> statement.executeUpdate("UPDATE T SET N = N + 1"))
                    ? 1
                    : 0;
            slowest = Math.max(slowest, System.nanoTime() - begin);
        }
        assertThat(writing.get()).as("large ones that lost").isPositive();
        assertThat(Duration.ofNanos(slowest)).isLessThan(Duration.ofSeconds(15));
        cluster.assertIdentical();
        assertThat(cluster.number(2, "SELECT N FROM T")).isEqualTo(done + 4 - writing.get());
    }

    @Test
    void schemaChangesOfOneReplicaAreUsedByTheOthers() throws Exception {
        for (int i = 0; i < 6; i++) {
            int table = i;
            execute(i % 3, "CREATE TABLE T" + i + " (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(9))");
            cluster.awaitEverywhere();
            execute((i + 1) % 3, "INSERT INTO T" + i + " VALUES (1, 'x')");
            cluster.awaitEverywhere();
            execute(
                    (i + 2) % 3,
                    "ALTER TABLE T" + table + " ADD COLUMN B INTEGER DEFAULT 7",
                    "UPDATE T" + i + " SET A = 'y'");
            cluster.awaitEverywhere();
        }
        assertThat(cluster.assertIdentical()).hasSize(6).allMatch(table -> table.rows() == 1);
    }

    /** Each at the first try, though the others' rows never rest; also after reads, as migration tools make them. */
    @Test
    void schemaChangesOfAnyReplicaFindTheirTurnUnderLoad() throws Exception {
        execute(0, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)");
        for (int i = 0; i < 6; i++) {
            execute(0, "INSERT INTO T VALUES (" + i + ", 0)");
        }
        cluster.awaitEverywhere();
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger committed = new AtomicInteger();
        List<Future<?>> load = new ArrayList<>();
        for (int client = 0; client < 6; client++) {
            int own = client;
            load.add(clients.submit(() -> {
                while (goesOn.get()) {
                    if (transaction(
                            own % 3,
                            (connection, statement) ->
                                    statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = " + own))) {
                        committed.incrementAndGet();
                    }
                }
                return null;
            }));
        }
        try {
            for (int i = 0; i < 12; i++) {
                int before = committed.get();
                Awaitility.await("the load goes on")
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> committed.get() > before + 30);
                String change = i % 2 == 0
                        ? "CREATE TABLE U" + i + " (ID INTEGER)"
                        : "ALTER TABLE T ADD COLUMN C" + i + " INTEGER";
                boolean reads = i % 4 > 1;
                int rowsBefore = committed.get();
                try (Connection connection = cluster.connect(i % 3);
                        Statement statement = connection.createStatement()) {
                    if (reads) {
                        cluster.awaitEverywhere(); // the schema change before
                        connection.setAutoCommit(false);
                        statement
                                .executeQuery("SELECT COUNT(*) FROM SYS.SYSTABLES")
                                .close();
                        Awaitility.await("the load goes on")
                                .atMost(Duration.ofSeconds(30))
                                .until(() -> committed.get() > rowsBefore + 30);
                    }
                    statement.execute(change);
                    if (reads) {
                        connection.commit();
                    }
                }
            }
        } finally {
            goesOn.set(false);
        }
        for (Future<?> one : load) {
            one.get(60, TimeUnit.SECONDS);
        }
        cluster.assertIdentical();
        assertThat(cluster.number(1, "SELECT SUM(N) FROM T")).isEqualTo(committed.get());
        assertThat(cluster.number(2, "SELECT COUNT(*) FROM SYS.SYSTABLES WHERE TABLENAME LIKE 'U%'"))
                .isEqualTo(6);
    }

    /** It holds what the delivery needs, by which alone its wait could end. */
    @Test
    void whoWaitsForAPositionMakesWay() throws Exception {
        execute(0, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)", "INSERT INTO T VALUES (1, 1)");
        cluster.awaitEverywhere();
        try (Connection connection = cluster.connect(1);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET N = 2 WHERE ID = 1");
            long next;
            try (ResultSet position = statement.executeQuery("VALUES GORDA.POSITION()")) {
                position.next();
                next = position.getLong(1) + 1;
            }
            Future<Boolean> update = clients.submit(() -> {
                Awaitility.await("it waits for the position")
                        .atMost(Duration.ofMinutes(1))
                        .until(() -> Thread.getAllStackTraces().values().stream()
                                .anyMatch(stack -> Arrays.stream(stack)
                                        .anyMatch(frame -> frame.getMethodName().equals("awaitPosition"))));
                return transaction(0, (other, change) -> change.executeUpdate("UPDATE T SET N = 3"));
            });
            long begin = System.nanoTime();
            assertThatThrownBy(() -> statement.execute("CALL GORDA.AWAIT_POSITION(" + (next + 1000) + ")"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            connection.rollback();
            assertThat(update.get(20, TimeUnit.SECONDS)).isTrue();
            cluster.awaitEverywhere();
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(20));
        }
        assertThat(cluster.number(1, "SELECT N FROM T")).isEqualTo(3);
    }

    /** It has read what the delivery needs, and waits for one that cannot commit before the delivery goes on: no grace can help. */
    @Test
    void whoOnlyReadsAndWaitsMakesWayAtOnce() throws Exception {
        giveReadersTwoMinutes(1);
        makeTwoRows();
        try (Connection writer = cluster.connect(1);
                Statement change = writer.createStatement();
                Connection reader = cluster.connect(1);
                Statement select = reader.createStatement()) {
            writer.setAutoCommit(false);
            change.executeUpdate("UPDATE T SET N = 2 WHERE ID = 2");
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            assertThat(number(select, "SELECT N FROM T WHERE ID = 1")).isEqualTo(1);
            execute(0, "UPDATE T SET N = 3 WHERE ID = 1");
            long begin = System.nanoTime();
            assertThatThrownBy(() -> number(select, "SELECT N FROM T WHERE ID = 2"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("needed a lock that this one held");
            reader.rollback();
            writer.commit();
            cluster.awaitEverywhere();
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(20));
        }
        cluster.assertIdentical();
    }

    /** It has nothing that anybody needs. */
    @Test
    void whoOnlyQueuesForARowIsLeftAlone() throws Exception {
        execute(0, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)", "INSERT INTO T VALUES (1, 1)");
        cluster.awaitEverywhere();
        try (Connection writer = cluster.connect(1);
                Statement change = writer.createStatement()) {
            writer.setAutoCommit(false);
            change.executeUpdate("UPDATE T SET N = 2 WHERE ID = 1");
            List<Future<Long>> readers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                readers.add(clients.submit(() -> cluster.number(1, "SELECT N FROM T WHERE ID = 1")));
            }
            awaitWaitingForLocks(1, 4);
            execute(0, "UPDATE T SET N = 3 WHERE ID = 1");
            for (Future<Long> reader : readers) {
                assertThat(reader.get(20, TimeUnit.SECONDS)).isIn(1L, 3L);
            }
            writer.rollback();
        }
        cluster.awaitEverywhere();
        assertThat(cluster.number(1, "SELECT N FROM T WHERE ID = 1")).isEqualTo(3);
    }

    /** It wants the whole table, which a writer's row keeps from it; what is ordered would get its row, and waits behind it. */
    @Test
    void whoQueuesAheadMakesWay() throws Exception {
        giveReadersTwoMinutes(1);
        makeTwoRows();
        try (Connection writer = cluster.connect(1);
                Statement change = writer.createStatement();
                Connection reader = cluster.connect(1);
                Statement select = reader.createStatement()) {
            writer.setAutoCommit(false);
            change.executeUpdate("UPDATE T SET N = 2 WHERE ID = 1");
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            Future<Long> sum = clients.submit(() -> number(select, "SELECT SUM(N) FROM T"));
            awaitWaitingForLocks(1, 1);
            execute(0, "UPDATE T SET N = 3 WHERE ID = 2");
            assertThatThrownBy(() -> sum.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            reader.rollback();
            writer.commit();
        }
        cluster.awaitEverywhere();
        assertThat(cluster.number(1, "SELECT SUM(N) FROM T")).isEqualTo(5);
        cluster.assertIdentical();
    }

    /** Nobody who waits for them has to wait for long; Derby alone looks for them after 20 s. */
    @Test
    void clientsOfOneReplicaThatWaitForEachOtherAreSetFreeSoon() throws Exception {
        makeTwoRows();
        try (Connection one = cluster.connect(0);
                Statement first = one.createStatement();
                Connection other = cluster.connect(0);
                Statement second = other.createStatement()) {
            one.setAutoCommit(false);
            other.setAutoCommit(false);
            first.executeUpdate("UPDATE T SET N = 2 WHERE ID = 1");
            second.executeUpdate("UPDATE T SET N = 2 WHERE ID = 2");
            Future<Boolean> wins = clients.submit(() -> wins(one, first, 2));
            Future<Boolean> alsoWins = clients.submit(() -> wins(other, second, 1));
            assertThat(List.of(wins.get(10, TimeUnit.SECONDS), alsoWins.get(10, TimeUnit.SECONDS)))
                    .containsExactlyInAnyOrder(true, false);
        }
    }

    private static boolean wins(Connection connection, Statement statement, int row) throws SQLException {
        try {
            statement.executeUpdate("UPDATE T SET N = 3 WHERE ID = " + row);
            connection.commit();
            return true;
        } catch (SQLException e) {
            assertThat(e.getSQLState()).isEqualTo("40001");
            connection.rollback();
            return false;
        }
    }

    /** Of one table, on one replica and on several. None knows of the others, and each finds what those before it did. */
    @Test
    void schemaChangesAtOnceWaitForEachOther() throws Exception {
        execute(0, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        cluster.awaitEverywhere();
        CyclicBarrier together = new CyclicBarrier(6);
        List<Future<?>> changes = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int own = i;
            changes.add(clients.submit(() -> {
                try (Connection connection = cluster.connect(own % 3);
                        Statement statement = connection.createStatement()) {
                    together.await(20, TimeUnit.SECONDS);
                    statement.execute("ALTER TABLE T ADD COLUMN C" + own + " INTEGER DEFAULT 7");
                }
                return null;
            }));
        }
        for (Future<?> change : changes) {
            change.get(60, TimeUnit.SECONDS);
        }
        cluster.awaitEverywhere();
        for (int i = 0; i < cluster.size(); i++) {
            assertThat(cluster.number(i, "SELECT C0 + C1 + C2 + C3 + C4 + C5 FROM T"))
                    .isEqualTo(42);
        }
        cluster.assertIdentical();
    }

    private void createTablesTAndU() throws SQLException {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        cluster.awaitEverywhere();
    }

    /** As by a program that makes what it needs if it is not there. */
    @Test
    void aSchemaChangeThatFailedHoldsUpNobody() throws Exception {
        createTablesTAndU();
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO T VALUES (1)");
            assertThatThrownBy(() -> statement.execute("CREATE TABLE U (ID INTEGER)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("X0Y32"));
            Awaitility.await("the others hear of it")
                    .atMost(Duration.ofSeconds(15))
                    .until(() -> transaction(1, (other, insert) -> insert.execute("INSERT INTO U VALUES (1)")));
            // To Derby it goes on changing the schema, and what is applied needs way.
            cluster.awaitEverywhere();
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            connection.rollback();

            statement.execute("INSERT INTO T VALUES (3)");
            assertThatThrownBy(() -> statement.execute("CREATE TABLE U (ID INTEGER)"))
                    .isInstanceOf(SQLException.class);
            statement.execute("INSERT INTO T VALUES (4)");
            connection.commit();

            statement.execute("INSERT INTO T VALUES (5)");
            statement.execute("CREATE TABLE V (ID INTEGER NOT NULL PRIMARY KEY)");
            connection.commit();
        }
        cluster.awaitEverywhere();
        assertThat(cluster.number(2, "SELECT COUNT(*) FROM T")).isEqualTo(3);
        assertThat(cluster.number(2, "SELECT COUNT(*) FROM V")).isZero();
        cluster.assertIdentical();
    }

    /** Others wait for a schema change that is not committed only for so long as for a commit. */
    @Test
    void aSchemaChangeLeftOpenHoldsUpOthersForABoundedTime() throws Exception {
        cluster.close();
        cluster = new Cluster(
                directory.resolve("short"),
                3,
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION).commitTimeout(Duration.ofSeconds(2)));
        createTablesTAndU();
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("ALTER TABLE T ADD COLUMN A INTEGER");
            long begin = System.nanoTime();
            while (!transaction(1, (other, insert) -> insert.execute("INSERT INTO U VALUES (1)"))) {
                // has waited as long as for a commit
            }
            assertThat(Duration.ofNanos(System.nanoTime() - begin))
                    .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(20));
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("the schema");
            connection.rollback();

            statement.execute("ALTER TABLE T ADD COLUMN A INTEGER");
            Future<?> waiting = clients.submit(() -> {
                while (!transaction(1, (other, insert) -> insert.execute("INSERT INTO U VALUES (2)"))) {
                    // was sent before its replica knew of the turn
                }
                return null;
            });
            connection.rollback();
            long ended = System.nanoTime();
            waiting.get(20, TimeUnit.SECONDS);
            assertThat(Duration.ofNanos(System.nanoTime() - ended)).isLessThan(Duration.ofMillis(2500));
        }
        cluster.assertIdentical();
    }

    /** Each keeps a rule about what it reads, and breaks it together with another one if that does not count. */
    @Test
    void serializableTransactionsOnAllReplicasKeepRulesAboutWhatTheyRead() throws Exception {
        execute(
                0,
                "CREATE TABLE DOCTORS (ID INTEGER NOT NULL PRIMARY KEY, ONCALL INTEGER NOT NULL)",
                "INSERT INTO DOCTORS VALUES (0, 1), (1, 1), (2, 1), (3, 1)",
                "CREATE TABLE BOOKINGS (ID INTEGER NOT NULL PRIMARY KEY, ROOM INTEGER NOT NULL)",
                "CREATE INDEX ROOMS ON BOOKINGS (ROOM)");
        cluster.awaitEverywhere();
        // One on each: two of one replica would wait for each other, until Derby looks for deadlocks.
        int[] committed = new int[3];
        List<Future<?>> running = new ArrayList<>();
        for (int client = 0; client < committed.length; client++) {
            int own = client;
            running.add(clients.submit(() -> {
                SplittableRandom random = new SplittableRandom(own);
                for (int i = 0; i < 300; i++) {
                    int id = 1000 * own + i;
                    Work work = i % 2 == 0
                            ? (connection, statement) -> goOffDuty(connection, random.nextInt(4))
                            : (connection, statement) -> book(connection, id, random.nextInt(3));
                    committed[own] += transaction(own, work) ? 1 : 0;
                }
                return null;
            }));
        }
        for (Future<?> one : running) {
            one.get(90, TimeUnit.SECONDS);
        }
        for (int count : committed) {
            assertThat(count).as("each makes progress").isGreaterThan(30);
        }
        assertThat(cluster.replica(0).status().refused()).containsKey(Refusal.Cause.CONFLICT);
        cluster.assertIdentical();
    }

    /** No lock keeps others' rows away that come next to one's own. */
    @Test
    void whatComesNextToASerializableTransactionsOwnRowsIsNoticed() throws Exception {
        execute(
                0,
                "CREATE TABLE BOOKINGS (ID INTEGER NOT NULL PRIMARY KEY, ROOM INTEGER NOT NULL)",
                "CREATE INDEX ROOMS ON BOOKINGS (ROOM)",
                "INSERT INTO BOOKINGS VALUES (1, 1), (2, 1)");
        cluster.awaitEverywhere();
        try (Connection connection = cluster.connect(0)) {
            connection.setAutoCommit(false);
            book(connection, 3, 1);
            assertThat(transaction(1, (other, statement) -> book(other, 4, 1))).isTrue();
            cluster.awaitEverywhere();
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(cluster.number(0, "SELECT COUNT(*) FROM BOOKINGS")).isEqualTo(3);
        cluster.assertIdentical();
    }

    /** Two of them at least are on duty in each pair; looked for by their keys. */
    private static void goOffDuty(Connection connection, int doctor) throws SQLException {
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        int onDuty = 0;
        for (int id : new int[] {doctor, doctor ^ 1}) {
            onDuty += number(connection, "SELECT ONCALL FROM DOCTORS WHERE ID = ?", id);
        }
        assertThat(onDuty).as("on duty").isPositive();
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE DOCTORS SET ONCALL = " + (onDuty == 2 ? 0 : 1) + " WHERE ID = " + doctor);
        }
    }

    /** Three at most for each room; who finds so many cancels them. */
    private static void book(Connection connection, int id, int room) throws SQLException {
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        int bookings = number(connection, "SELECT COUNT(*) FROM BOOKINGS WHERE ROOM = ?", room);
        assertThat(bookings).as("bookings").isLessThanOrEqualTo(3);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(
                    bookings == 3
                            ? "DELETE FROM BOOKINGS WHERE ROOM = " + room
                            : "INSERT INTO BOOKINGS VALUES (" + id + ", " + room + ")");
        }
    }

    private static long number(Statement statement, String query) throws SQLException {
        try (ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    private static int number(Connection connection, String query, int parameter) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(query)) {
            select.setInt(1, parameter);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getInt(1);
            }
        }
    }

    @Test
    void serializableTransactionsThatReadOtherRowsByTheirKeysDoNotConflict() throws Exception {
        execute(0, "CREATE TABLE T (ID BIGINT NOT NULL PRIMARY KEY, N INTEGER NOT NULL)");
        for (int id = 0; id < 12; id++) {
            execute(0, "INSERT INTO T VALUES (" + id + ", 0)");
        }
        cluster.awaitEverywhere();
        List<Future<Boolean>> running = new ArrayList<>();
        for (int client = 0; client < 6; client++) {
            int own = client;
            running.add(clients.submit(() -> {
                boolean all = true;
                for (int i = 0; i < 60; i++) {
                    all &= transaction(own % 3, (connection, statement) -> {
                        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                        int n = number(connection, "SELECT N FROM T WHERE ID = ?", own);
                        statement.executeUpdate("UPDATE T SET N = " + (n + 1) + " WHERE ID = " + (6 + own));
                        statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = " + own);
                    });
                }
                return all;
            }));
        }
        for (Future<Boolean> one : running) {
            assertThat(one.get(90, TimeUnit.SECONDS)).isTrue();
        }
        cluster.awaitEverywhere();
        assertThat(cluster.number(1, "SELECT COUNT(*) FROM T WHERE N = 60")).isEqualTo(12);
        cluster.assertIdentical();
    }

    @Test
    void whoLosesByWhatItReadIsToldSo() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0), (1, 0)");
        cluster.awaitEverywhere();
        List<String> told = new ArrayList<>();
        for (int i = 0; i < 300 && told.isEmpty(); i++) {
            List<Future<?>> both = new ArrayList<>();
            for (int replica = 0; replica < 2; replica++) {
                int own = replica;
                both.add(clients.submit(() -> {
                    try (Connection connection = cluster.connect(own);
                            Statement statement = connection.createStatement()) {
                        connection.setAutoCommit(false);
                        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                        number(connection, "SELECT N FROM T WHERE ID = ?", 1 - own);
                        statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = " + own);
                        connection.commit();
                    } catch (SQLException e) {
                        assertThat(e.getSQLState()).isEqualTo("40001");
                        if (String.valueOf(e.getMessage()).contains("had read")) {
                            synchronized (told) {
                                told.add(e.getMessage());
                            }
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> one : both) {
                one.get(30, TimeUnit.SECONDS);
            }
        }
        assertThat(told)
                .isNotEmpty()
                .allSatisfy(message -> assertThat(message)
                        .matches("(?s).*conflict on \"APP\".\"T\" key \\([01]\\): transaction .*, ordered at .*"
                                + " came first and changed what this one had read; .*run it again.*"));
    }

    @Test
    void aReplicaThatWasAwayComesBackAndDecidesAsTheOthers() throws Exception {
        execute(
                0,
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)",
                "INSERT INTO T VALUES (0, 0)");
        for (int round = 0; round < 3; round++) {
            cluster.replica(round).close();
            for (int i = 0; i < 30; i++) {
                int at = (round + 1 + i % 2) % 3;
                transaction(at, (connection, statement) -> statement.executeUpdate("UPDATE T SET N = N + 1"));
            }
            cluster.start(round);
            cluster.awaitOnline();
            execute(round, "INSERT INTO T VALUES (" + (round + 1) + ", 0)");
        }
        cluster.assertIdentical();
    }

    /** Otherwise it would take writes, and lose most of them against what it does not show yet. */
    @Test
    void whoWasAwayIsUpToDateOnlyOnceItShowsWhatWasDecidedMeanwhile() throws Exception {
        execute(0, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        cluster.replica(2).close();
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            for (int id = 0; id < 3000; id++) {
                statement.executeUpdate("INSERT INTO T VALUES (" + id + ")");
            }
        }
        long decided = cluster.replica(0).status().orderedIndex();
        cluster.start(2);
        ReplicaStatus[] first = new ReplicaStatus[1];
        Awaitility.await("it is up to date")
                .atMost(Duration.ofMinutes(1))
                .pollInterval(Duration.ofMillis(1))
                .until(() -> {
                    first[0] = cluster.replica(2).status();
                    return first[0].state() == ReplicaState.ONLINE;
                });
        assertThat(first[0].appliedIndex()).isGreaterThanOrEqualTo(decided);
    }

    /** What applies others' changes keeps open what it knows of a table: its columns, and the indexes that it must keep. */
    @Test
    void whatIsAppliedKnowsWhatThisReplicaDidToItsSchemaBefore() throws SQLException {
        onOne(0, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER NOT NULL)");
        onOne(1, "INSERT INTO T VALUES (1, 10)");
        onOne(0, "CREATE UNIQUE INDEX BY_A ON T (A)");
        onOne(1, "INSERT INTO T VALUES (2, 20)");
        assertThat(cluster.count(0, "T --DERBY-PROPERTIES index=BY_A\n WHERE A = 20"))
                .isEqualTo(1);
        onOne(0, "ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 5");
        onOne(1, "INSERT INTO T (ID, A) VALUES (3, 30)");
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement();
                ResultSet check = statement.executeQuery("VALUES SYSCS_UTIL.SYSCS_CHECK_TABLE('APP', 'T')")) {
            assertThat(check.next()).isTrue();
            assertThat(check.getInt(1)).isEqualTo(1);
        }
    }

    /** Then waits until all show it; a verification would make the appliers begin anew. */
    private void onOne(int replica, String sql) throws SQLException {
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
        long ordered = cluster.replica(replica).status().orderedIndex();
        for (int i = 0; i < cluster.size(); i++) {
            Replica other = cluster.replica(i);
            Awaitility.await("shown by " + i)
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> other.status().appliedIndex() >= ordered);
        }
    }
}
