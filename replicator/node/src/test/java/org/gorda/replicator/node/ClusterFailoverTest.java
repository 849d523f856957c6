package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The driver when primaries go and answers are lost. */
@Timeout(180)
class ClusterFailoverTest {

    @TempDir
    Path directory;

    private static void create(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        }
    }

    private static long count(String url, String condition) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T WHERE " + condition)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Test
    void applicationGoesOnAtTheNextPrimaryAndNothingAcknowledgedIsLost() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 3)) {
            create(group.url());
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(group.url());
            config.setMaximumPoolSize(3);
            config.setConnectionTimeout(60_000);
            try (HikariDataSource pool = new HikariDataSource(config)) {
                Set<Integer> acknowledged = ConcurrentHashMap.newKeySet();
                Set<String> failures = ConcurrentHashMap.newKeySet();
                AtomicBoolean goOn = new AtomicBoolean(true);
                AtomicInteger next = new AtomicInteger();
                Thread[] clients = new Thread[3];
                for (int i = 0; i < clients.length; i++) {
                    boolean autoCommit = i == 0;
                    clients[i] = new Thread(() -> {
                        while (goOn.get()) {
                            int id = next.incrementAndGet();
                            try (Connection connection = pool.getConnection()) {
                                connection.setAutoCommit(autoCommit);
                                try (PreparedStatement insert =
                                        connection.prepareStatement("INSERT INTO T VALUES (?)")) {
                                    insert.setInt(1, id);
                                    insert.executeUpdate();
                                }
                                if (!autoCommit) {
                                    connection.commit();
                                }
                                acknowledged.add(id);
                            } catch (SQLException e) {
                                failures.add(e.getSQLState());
                            }
                        }
                    });
                    clients[i].start();
                }
                for (int round = 0; round < 2; round++) {
                    int before = acknowledged.size();
                    NodeGroup.patiently("work is done").until(() -> acknowledged.size() > before + 50);
                    int old = group.primary();
                    group.stop(old);
                    int after = acknowledged.size();
                    NodeGroup.patiently("work goes on").until(() -> acknowledged.size() > after + 50);
                    group.start(old);
                }
                goOn.set(false);
                for (Thread client : clients) {
                    client.join();
                }
                assertThat(failures).isSubsetOf("40001", "08006", "08003", "08007");
                assertThat(failures).doesNotContain("08007");
                Set<Integer> found = ConcurrentHashMap.newKeySet();
                try (Connection connection = pool.getConnection();
                        Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery("SELECT ID FROM T")) {
                    while (rows.next()) {
                        found.add(rows.getInt(1));
                    }
                }
                assertThat(found).isEqualTo(acknowledged);
            }
            group.assertIdentical();
        }
    }

    @Test
    void commitWhoseAnswerIsLostIsResolved() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1);
                AnswerThief thief = new AnswerThief(group.service(0), group.clients(0))) {
            String url = "jdbc:gorda://" + thief.address() + "/shop";
            create(url);
            Connection connection = prepared(url, 1);
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (2)");
                thief.steal(AnswerThief.Steal.ANSWER);
                connection.commit();
            }
            assertThat(connection.isValid(1)).isFalse();
            assertThat(connection.isClosed()).isTrue();
            connection.close();
            assertThat(count(url, "ID = 2")).isEqualTo(1);

            Connection other = prepared(url, 3);
            try (Statement statement = other.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (4)");
                thief.steal(AnswerThief.Steal.REQUEST);
                assertThatThrownBy(other::commit)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                        .hasMessageContaining("did not happen");
            }
            other.close();
            assertThat(count(url, "ID = 4")).isZero();
            group.assertIdentical();
        }
    }

    @Test
    void commitWithoutMajorityIsToldAtOnceNotToHaveHappened() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            create(group.url());
            int primary = group.primary();
            String url = "jdbc:gorda://" + group.service(primary) + "/shop";
            try (Connection connection = prepared(url, 1);
                    Connection other = prepared(url, 2);
                    Statement statement = other.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (3)");
                group.stop(1 - primary);
                NodeGroup.patiently("it has no majority")
                        .untilAsserted(() -> withoutMajority(() -> {
                            try (Statement any = connection.createStatement()) {
                                any.executeUpdate("INSERT INTO T VALUES (4)");
                                connection.rollback();
                            }
                        }));
                Assertions.assertTimeoutPreemptively(
                        Duration.ofSeconds(15),
                        () -> withoutMajority(other::commit).hasMessageContaining("did not happen"));
            }
            group.start(1 - primary);
            assertThat(count(group.url(), "ID >= 3")).isZero();
        }
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> withoutMajority(ThrowingCallable call) {
        return assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"))
                .hasMessageStartingWith("replica 127.0.0.1:")
                .hasMessageContaining(" cannot reach a majority of its group: ");
    }

    @Test
    void commitAfterRowsOrTheEngineDriverNoticedTheLossFails() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            create(group.url());
            Connection noticedByRows = prepared(group.url(), 1);
            Connection noticedBelow = prepared(group.url(), 2);
            try (Statement statement = noticedByRows.createStatement();
                    Statement other = noticedBelow.createStatement()) {
                for (int count = 2; count < 30_000; count *= 2) {
                    statement.executeUpdate("INSERT INTO T SELECT ID + " + count + " FROM T");
                }
                noticedByRows.commit();
                statement.executeUpdate("INSERT INTO T VALUES (-1)");
                other.executeUpdate("INSERT INTO T VALUES (-2)");
                ResultSet rows = statement.executeQuery("SELECT ID FROM T WHERE ID > 0 ORDER BY ID");
                assertThat(rows.next()).isTrue();
                assertThat(rows.getStatement()).isSameAs(statement);
                assertThat(rows.getStatement().getConnection()).isSameAs(noticedByRows);
                group.stop(0);
                lost(() -> {
                    while (rows.next()) {
                        assertThat(rows.getInt(1)).isPositive();
                    }
                });
                assertThat(noticedByRows.isClosed()).isTrue();
                lost(noticedByRows::commit);

                Connection engines =
                        (Connection) noticedBelow.unwrap(Class.forName("org.apache.derby.client.am.ClientConnection"));
                try (Statement raw = engines.createStatement()) {
                    assertThatThrownBy(() -> raw.executeQuery("VALUES 1")).isInstanceOf(SQLException.class);
                }
                lost(noticedBelow::commit);
            }
            noticedByRows.close();
            noticedBelow.close();
            group.start(0);
            assertThat(count(group.url(), "ID < 0")).isZero();
        }
    }

    @Test
    void statementAndCommitEndThoughNoReplicaAnswersAnyMore() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1);
                AnswerThief thief = new AnswerThief(group.service(0), group.clients(0))) {
            String url = "jdbc:gorda://" + thief.address() + "/shop;connect-timeout=4s";
            create(url);
            Connection connection = prepared(url, 1);
            try (Statement statement = connection.createStatement()) {
                thief.freeze();
                Assertions.assertTimeoutPreemptively(
                        Duration.ofSeconds(30), () -> lost(() -> statement.executeQuery("VALUES 1")));
            }
            assertThat(connection.isClosed()).isTrue();
            connection.close();
        }
    }

    @Test
    void closeEndsThoughTheBackupThatWasReadFromDoesNotAnswerAnyMore() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            int backup = group.backup();
            try (AnswerThief thief = new AnswerThief(group.service(backup), group.clients(backup))) {
                String url = "jdbc:gorda://" + group.service(group.primary()) + "," + thief.address() + "/shop";
                create(url);
                Connection connection = prepared(url, 1);
                connection.setReadOnly(true);
                assertThat(connection.toString()).startsWith("connection to " + thief.address());
                try (Statement statement = connection.createStatement()) {
                    statement.executeQuery("VALUES 1").close();
                }
                thief.freeze();
                Assertions.assertTimeoutPreemptively(Duration.ofSeconds(30), connection::close);
                assertThat(connection.isClosed()).isTrue();
            }
        }
    }

    /** Derby's driver rolls back by asking the replica, also where there is nothing to be rolled back. */
    @Test
    void rollbackOfWhatWasWrittenDoesNotNeedTheReplicaThatWasReadFrom() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 3)) {
            create(group.url());
            Connection connection = prepared(group.url(), 1);
            connection.setReadOnly(true);
            String reader = connection.toString();
            connection.setReadOnly(false);
            for (int i = 0; i < group.size(); i++) {
                if (reader.startsWith("connection to " + group.service(i) + " ")) {
                    assertThat(i).isNotEqualTo(group.primary());
                    group.stop(i);
                }
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (2)");
                connection.rollback();
                statement.executeUpdate("INSERT INTO T VALUES (3)");
                connection.commit();
            }
            connection.close();
            assertThat(count(group.url(), "ID > 0")).isEqualTo(2);
        }
    }

    private interface Step {
        void with(Connection connection) throws SQLException;
    }

    /** Rows that were read there, and are read on, have a transaction there. */
    @Test
    void whatIsSetOrEndedWhereItIsWrittenDoesNotNeedTheReplicaThatWasReadFrom() throws Exception {
        Map<String, Step> steps = Map.of(
                "isolation", c -> c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE),
                "schema", c -> c.setSchema("SYS"),
                "autocommit", c -> c.setAutoCommit(true),
                "commit", Connection::commit,
                "rollback", Connection::rollback);
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            int backup = group.backup();
            try (AnswerThief thief = new AnswerThief(group.service(backup), group.clients(backup))) {
                String url = "jdbc:gorda://" + group.service(group.primary()) + "," + thief.address() + "/shop";
                create(url);
                int id = 0;
                for (Map.Entry<String, Step> step : steps.entrySet()) {
                    Connection connection = prepared(url, ++id);
                    connection.setReadOnly(true);
                    assertThat(connection.toString()).startsWith("connection to " + thief.address());
                    try (Statement reading = connection.createStatement()) {
                        ResultSet rows =
                                reading.executeQuery("SELECT A.COLUMNNAME FROM SYS.SYSCOLUMNS A, SYS.SYSCOLUMNS B");
                        connection.commit();
                        connection.setReadOnly(false);
                        for (int row = 0; row < 5000; row++) {
                            assertThat(rows.next()).isTrue();
                        }
                        try (Statement writing = connection.createStatement()) {
                            writing.executeUpdate("INSERT INTO T VALUES (" + (100 + id) + ")");
                        }
                        thief.steal(AnswerThief.Steal.REQUEST);
                        step.getValue().with(connection);
                        assertThat(connection.isClosed()).as(step.getKey()).isFalse();
                        thief.steal(AnswerThief.Steal.NOTHING);
                    }
                    connection.setAutoCommit(false);
                    int isolation = connection.getTransactionIsolation();
                    String schema = connection.getSchema();
                    connection.commit();
                    connection.setReadOnly(true);
                    assertThat(connection.getTransactionIsolation()).isEqualTo(isolation);
                    assertThat(connection.getSchema()).isEqualTo(schema);
                    connection.rollback();
                    connection.close();
                }
                assertThat(count(url, "ID > 100"))
                        .as("all but what was rolled back")
                        .isEqualTo(4);
            }
        }
    }

    private static void lost(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"));
    }

    /** A connection not in autocommit mode that has committed once. */
    private static Connection prepared(String url, int id) throws SQLException {
        Connection connection = DriverManager.getConnection(url);
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (" + id + ")");
        }
        connection.commit();
        return connection;
    }

    @Test
    void wrongDatabaseNameIsToldAtOnce() {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            assertThatThrownBy(() -> DriverManager.getConnection(group.url().replace("/shop", "/bank")))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08004"))
                    .hasMessageContaining("'shop', not 'bank'");
        }
    }

    /** Two replicas are held up, by readers to whom they owe that much; the third, which is read from, shows more, and is lost. */
    @Test
    void withSessionReadsNothingOlderIsReadWhereTheReaderIsAnotherOne() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 3, Map.of("protocol", "certification", "read-grace", "60s"))) {
            create(group.url());
            List<AnswerThief> thieves = new ArrayList<>();
            List<Connection> holders = new ArrayList<>();
            try {
                for (int i = 0; i < group.size(); i++) {
                    thieves.add(new AnswerThief(group.service(i), group.clients(i)));
                }
                String nodes = thieves.stream().map(AnswerThief::address).collect(Collectors.joining(","));
                Connection session = null;
                int at = -1;
                int from = -1;
                while (at == from) { // who is both has nothing to be compared
                    session = DriverManager.getConnection("jdbc:gorda://" + nodes + "/shop;reads=session");
                    at = goesTo(session, thieves);
                    session.setReadOnly(true);
                    from = goesTo(session, thieves);
                }
                for (int i = 0; i < group.size(); i++) {
                    if (i != from) {
                        Connection holder = DriverManager.getConnection(group.engineUrl(i));
                        holders.add(holder);
                        holder.setAutoCommit(false);
                        holder.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                        assertThat(count(holder, "1 = 1")).isZero();
                    }
                }
                try (Connection writer = DriverManager.getConnection(group.engineUrl(from));
                        Statement statement = writer.createStatement()) {
                    statement.executeUpdate("INSERT INTO T VALUES (1)");
                }
                assertThat(count(session, "ID = 1")).isEqualTo(1);
                session.setReadOnly(false);
                assertThat(count(session, "ID = 1")).as("it is held up").isZero();
                Connection probe = DriverManager.getConnection("jdbc:gorda://" + nodes + "/shop");
                while (goesTo(probe, thieves) != from) {
                    probe = DriverManager.getConnection("jdbc:gorda://" + nodes + "/shop");
                }
                thieves.get(from).freeze();
                NodeGroup.patiently("it is known to be lost").until(probe::isClosed);
                CompletableFuture<Void> released = CompletableFuture.runAsync(
                        () -> holders.forEach(ClusterFailoverTest::commit),
                        CompletableFuture.delayedExecutor(2, TimeUnit.SECONDS));
                session.setReadOnly(true);
                assertThat(goesTo(session, thieves)).isNotEqualTo(from);
                assertThat(count(session, "ID = 1")).isEqualTo(1);
                released.get(10, TimeUnit.SECONDS);
                session.close();
            } finally {
                for (Connection holder : holders) {
                    holder.rollback();
                    holder.close();
                }
                for (AnswerThief thief : thieves) {
                    thief.close();
                }
            }
        }
    }

    private static int goesTo(Connection connection, List<AnswerThief> thieves) {
        for (int i = 0; i < thieves.size(); i++) {
            if (connection
                    .toString()
                    .startsWith("connection to " + thieves.get(i).address() + " ")) {
                return i;
            }
        }
        throw new AssertionError(connection);
    }

    private static long count(Connection connection, String condition) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T WHERE " + condition)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static void commit(Connection connection) {
        try {
            connection.commit();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void lossOfTheReplicaThatIsReadFromIsToldAsThatAndConcernsNothingThatIsWritten() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            int backup = group.backup();
            try (AnswerThief thief = new AnswerThief(group.service(backup), group.clients(backup))) {
                String url = "jdbc:gorda://" + group.service(group.primary()) + "," + thief.address() + "/shop";
                create(url);
                Connection writing = prepared(url, 1);
                writing.setReadOnly(true);
                assertThat(writing.toString()).startsWith("connection to " + thief.address());
                try (Statement reading = writing.createStatement()) {
                    ResultSet rows =
                            reading.executeQuery("SELECT COUNTS.TABLENAME FROM SYS.SYSTABLES COUNTS, SYS.SYSCOLUMNS A,"
                                    + " SYS.SYSCOLUMNS B");
                    assertThat(rows.next()).isTrue();
                    writing.commit();
                    writing.setReadOnly(false);
                    try (Statement statement = writing.createStatement()) {
                        statement.executeUpdate("INSERT INTO T VALUES (2)");
                        thief.steal(AnswerThief.Steal.REQUEST);
                        assertThatThrownBy(() -> {
                                    while (rows.next()) {
                                        assertThat(rows.getString(1)).isNotNull();
                                    }
                                })
                                .isInstanceOf(SQLException.class)
                                .hasMessageContaining("the connection to replica " + thief.address() + " was lost");
                        statement.executeUpdate("INSERT INTO T VALUES (3)");
                    }
                }
                writing.commit();
                writing.close();
                assertThat(count(url, "ID IN (2, 3)")).isEqualTo(2);

                Connection connection = prepared(url, 4);
                connection.setReadOnly(true);
                assertThat(connection.toString()).startsWith("connection to " + thief.address());
                try (Statement reading = connection.createStatement()) {
                    thief.steal(AnswerThief.Steal.REQUEST);
                    assertThatThrownBy(() -> reading.executeQuery("VALUES 1"))
                            .isInstanceOf(SQLException.class)
                            .hasMessageContaining("the connection to replica " + thief.address() + " was lost");
                }
                assertThat(connection.isClosed()).isTrue();
            }
        }
    }
}
