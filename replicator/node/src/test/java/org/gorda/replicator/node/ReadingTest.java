package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.gorda.replicator.node.behaviours.Routines;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a connection may do while it is read-only, and where it reads. */
@Timeout(180)
@SuppressWarnings("try") // closed before the end: lost
class ReadingTest {

    @TempDir
    Path directory;

    private static void assertRefused(String state, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo(state))
                .hasMessageContaining("the connection is read-only");
    }

    private static long count(Connection connection, String condition) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM ITEM WHERE " + condition)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Test
    void aSchemaThatTheReaderDoesNotShowYetIsTheWritersAlready() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2);
                Connection connection = DriverManager.getConnection(group.url());
                Statement writing = connection.createStatement()) {
            connection.setReadOnly(true);
            connection.setReadOnly(false);
            connection.setAutoCommit(false);
            writing.execute("CREATE SCHEMA S1");
            connection.setSchema("S1");
            writing.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20))");
            connection.commit();
            for (int i = 2; i <= 20; i++) {
                writing.execute("CREATE SCHEMA S" + i);
                connection.setSchema("S" + i);
                connection.commit();
                connection.setReadOnly(true);
                assertThat(connection.getSchema()).isEqualTo("S" + i);
                connection.setSchema("S1");
                assertThat(count(connection, "1 = 1")).isZero();
                connection.commit();
                connection.setReadOnly(false);
                assertThat(connection.getSchema()).isEqualTo("S1");
            }
        }
    }

    /** As behind a machine that lost its power, and has told nobody. */
    @Test
    void whatGoesToAnEarlierRunOfAReplicaEnds() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1);
                AnswerThief thief = new AnswerThief(group.service(0), group.clients(0));
                Connection connection = DriverManager.getConnection("jdbc:gorda://" + thief.address() + "/shop");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY)");
            thief.tell(Map.of("run", "another"));
            NodeGroup.patiently("it is ended").until(connection::isClosed);
            assertThatThrownBy(() -> statement.execute("INSERT INTO ITEM VALUES (1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"))
                    .hasMessageContaining("was started again");
            try (Connection next = DriverManager.getConnection("jdbc:gorda://" + thief.address() + "/shop")) {
                assertThat(count(next, "1 = 1")).isZero();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"certification, 2", "primary-backup, 1"})
    void changesAreRefusedByAReplicaThatTakesWritesToo(String protocol, int size) throws Exception {
        try (NodeGroup group = new NodeGroup(directory, size, Map.of("protocol", protocol));
                Connection connection = DriverManager.getConnection(group.url() + ";reads=session");
                Statement writing = connection.createStatement()) {
            writing.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20))");
            writing.execute("CREATE SEQUENCE NUMBERS");
            writing.execute("CREATE PROCEDURE ADD_ITEM (ID INTEGER) LANGUAGE JAVA PARAMETER STYLE JAVA"
                    + " MODIFIES SQL DATA EXTERNAL NAME '" + Routines.class.getName() + ".addItem'");
            writing.executeUpdate("INSERT INTO ITEM VALUES (1, 'one')");
            connection.setReadOnly(true);
            for (boolean autoCommit : new boolean[] {true, false}) {
                connection.setAutoCommit(autoCommit);
                changeByStatements(connection);
                changeByRows(connection);
                assertThat(count(connection, "ID = 1 AND NAME = 'one'")).isEqualTo(1);
                assertThat(count(connection, "1 = 1")).isEqualTo(1);
                connection.commit();
            }
            connection.setReadOnly(false);
            assertThat(count(connection, "ID = 1 AND NAME = 'one'")).isEqualTo(1);
            assertThat(count(connection, "1 = 1")).isEqualTo(1);
            connection.commit();
        }
    }

    private static void changeByStatements(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : new String[] {
                "INSERT INTO ITEM VALUES (2, 'two')",
                "DELETE FROM ITEM",
                "VALUES NEXT VALUE FOR NUMBERS",
                "CREATE TABLE OTHER (ID INTEGER)"
            }) {
                assertRefused("25006", () -> statement.execute(sql));
            }
            assertRefused("38000", () -> statement.execute("CALL ADD_ITEM(2)")); // as whatever fails within one
        }
    }

    private interface Change {
        void by(ResultSet rows) throws SQLException;
    }

    private static void changeByRows(Connection connection) throws SQLException {
        for (Change change : List.<Change>of(ReadingTest::update, ResultSet::deleteRow, ReadingTest::insert)) {
            try (Statement statement =
                            connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery("SELECT ID, NAME FROM ITEM")) {
                assertThat(rows.next()).isTrue();
                assertRefused("25006", () -> change.by(rows));
            }
        }
    }

    private static void update(ResultSet rows) throws SQLException {
        rows.updateString(2, "changed");
        rows.updateRow();
    }

    private static void insert(ResultSet rows) throws SQLException {
        rows.moveToInsertRow();
        rows.updateInt(1, 2);
        rows.insertRow();
    }

    /** The reader is held up by another one, to which it owes that much. */
    @Test
    void whoseReaderStaysBehindReadsElsewhereNextTime() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2, Map.of("read-grace", "60s", "election-timeout", "1s"));
                Connection connection = DriverManager.getConnection(group.url() + ";reads=session");
                Statement writing = connection.createStatement()) {
            writing.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY)");
            int backup = group.backup();
            connection.setReadOnly(true);
            assertThat(connection.toString()).startsWith("connection to " + group.service(backup) + " ");
            assertThat(count(connection, "1 = 1")).isZero();
            connection.setReadOnly(false);
            try (Connection holder = DriverManager.getConnection(group.engineUrl(backup))) {
                holder.setAutoCommit(false);
                holder.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                assertThat(count(holder, "1 = 1")).isZero();
                writing.executeUpdate("INSERT INTO ITEM VALUES (1)");
                assertThatThrownBy(() -> connection.setReadOnly(true))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("is behind");
                assertThat(connection.isReadOnly()).isFalse();
                connection.setReadOnly(true);
                assertThat(count(connection, "ID = 1")).isEqualTo(1);
                holder.rollback();
            }
        }
    }

    @Test
    void nothingStaysOpenOfAConnectionThatIsAbortedWhileItTurnsToAReader() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            int backup = group.backup();
            try (AnswerThief thief = new AnswerThief(group.service(backup), group.clients(backup))) {
                Connection connection = DriverManager.getConnection(
                        "jdbc:gorda://" + group.service(group.primary()) + "," + thief.address() + "/shop");
                thief.gate().acquire();
                CompletableFuture<String> turning = CompletableFuture.supplyAsync(() -> {
                    try {
                        connection.setReadOnly(true);
                        return "it reads";
                    } catch (SQLException e) {
                        return e.getSQLState();
                    }
                });
                NodeGroup.patiently("it logs in").until(thief.gate()::hasQueuedThreads);
                connection.abort(Runnable::run);
                thief.gate().release();
                assertThat(turning.get(30, TimeUnit.SECONDS)).isEqualTo("08003");
                NodeGroup.patiently("the reader is closed").until(() -> !thief.hasOpen());
            }
        }
    }

    private static String at(AnswerThief thief) {
        return "connection to " + thief.address() + " ";
    }

    private static void await(String what, Callable<Boolean> isSo) {
        NodeGroup.patiently(what).until(isSo);
    }

    private static boolean readsAt(String url, String at) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setReadOnly(true);
            return connection.toString().startsWith(at);
        }
    }

    private static boolean findsNoPrimary(String url) {
        try (Connection found = DriverManager.getConnection(url)) {
            return found == null;
        } catch (SQLException e) {
            return true;
        }
    }

    private static boolean isKeptWhileSilent(String url, AnswerThief primary, AnswerThief backup) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setReadOnly(true);
            assertThat(connection.toString()).startsWith(at(backup));
            connection.setReadOnly(false);
            backup.silent(true);
            await("others read elsewhere", () -> readsAt(url, at(primary)));
            connection.setReadOnly(true);
            boolean isKept = connection.toString().startsWith(at(backup));
            backup.silent(false);
            await("others read there again", () -> readsAt(url, at(backup)));
            return isKept;
        }
    }

    /** Each of a pool's connections would log in anew, and all of them at the same replica. */
    @Test
    void theReaderIsKeptWhileItsServiceIsSlowOrNoOtherIsBetterAndLeftWhenItIsLost() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2);
                AnswerThief primary = new AnswerThief(group.service(group.primary()), group.clients(group.primary()));
                AnswerThief backup = new AnswerThief(group.service(group.backup()), group.clients(group.backup()))) {
            String url = "jdbc:gorda://" + primary.address() + "," + backup.address() + "/shop;connect-timeout=2s";
            try (Connection connection = DriverManager.getConnection(url);
                    Statement writing = connection.createStatement()) {
                writing.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY)");
                connection.setReadOnly(true);
                assertThat(connection.toString()).startsWith(at(backup));
                connection.setReadOnly(false);

                await("the reader is kept, unless that takes 3 s", () -> isKeptWhileSilent(url, primary, backup));

                primary.tell(Map.of("working", "false"));
                backup.tell(Map.of("working", "false"));
                await("the majority is lost", () -> findsNoPrimary(url));
                connection.setReadOnly(true);
                assertThat(connection.toString()).startsWith(at(backup));
                assertThat(count(connection, "1 = 1")).isZero();
                connection.setReadOnly(false);
                primary.tell(Map.of());
                backup.tell(Map.of());
                await("others read there again", () -> !findsNoPrimary(url) && readsAt(url, at(backup)));

                backup.close();
                await("others read elsewhere", () -> readsAt(url, at(primary)));
                connection.setReadOnly(true);
                assertThat(connection.toString()).startsWith(at(primary));
                assertThat(count(connection, "1 = 1")).isZero();
            }
        }
    }

    /** It is held up by another reader, and lost while it is waited for. */
    @Test
    void whoseReaderIsLostBeforeItShowsWhatWasWrittenReadsElsewhere() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2, Map.of("read-grace", "60s", "election-timeout", "10s"));
                AnswerThief thief = new AnswerThief(group.service(group.backup()), group.clients(group.backup()))) {
            String url =
                    "jdbc:gorda://" + group.service(group.primary()) + "," + thief.address() + "/shop;reads=session";
            try (Connection connection = DriverManager.getConnection(url);
                    Statement writing = connection.createStatement()) {
                writing.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY)");
                connection.setReadOnly(true);
                assertThat(connection.toString()).startsWith(at(thief));
                assertThat(count(connection, "1 = 1")).isZero();
                connection.setReadOnly(false);
                try (Connection holder = DriverManager.getConnection(group.engineUrl(group.backup()))) {
                    holder.setAutoCommit(false);
                    holder.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                    assertThat(count(holder, "1 = 1")).isZero();
                    writing.executeUpdate("INSERT INTO ITEM VALUES (1)");
                    Thread waiting = Thread.currentThread();
                    CompletableFuture<Void> lost = CompletableFuture.runAsync(() -> {
                        await(
                                "the reader is waited for",
                                () -> Stream.of(waiting.getStackTrace())
                                        .anyMatch(frame -> frame.getMethodName().equals("awaitPosition")));
                        try {
                            thief.close();
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    });
                    connection.setReadOnly(true);
                    lost.get(10, TimeUnit.SECONDS);
                    assertThat(count(connection, "ID = 1")).isEqualTo(1);
                    connection.setReadOnly(false);
                    writing.executeUpdate("INSERT INTO ITEM VALUES (2)");
                    holder.rollback();
                }
            }
        }
    }
}
