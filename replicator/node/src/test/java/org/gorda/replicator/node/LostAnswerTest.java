package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.gorda.replicator.node.behaviours.Routines;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Answers to commits that the application did not ask for itself are resolved, too, when they are lost. */
@Timeout(120)
class LostAnswerTest {

    /** Read by Derby when it opens a database: after how many seconds it looks for a deadlock. */
    private static final String DEADLOCK_WAIT = "derby.locks.deadlockTimeout";

    @TempDir
    static Path directory;

    private static NodeGroup group;
    private static AnswerThief thief;
    private static String url;

    @BeforeAll
    static void open() throws Exception {
        System.setProperty(DEADLOCK_WAIT, "1");
        group = new NodeGroup(directory, 1);
        thief = new AnswerThief(group.service(0), group.clients(0));
        url = "jdbc:gorda://" + thief.address() + "/shop";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE ITEM (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20))");
            statement.execute("CREATE PROCEDURE ADD_AND_LIST (IN ID INTEGER) LANGUAGE JAVA PARAMETER STYLE JAVA "
                    + "MODIFIES SQL DATA DYNAMIC RESULT SETS 1 EXTERNAL NAME '" + Routines.class.getName()
                    + ".addAndList'");
        }
    }

    @AfterAll
    static void close() throws Exception {
        System.clearProperty(DEADLOCK_WAIT);
        thief.close();
        group.close();
    }

    /** A connection whose driver has prepared by what it commits. */
    private static Connection connect() throws SQLException {
        Connection connection = DriverManager.getConnection(url);
        update(connection, "DELETE FROM ITEM WHERE ID < 0");
        return connection;
    }

    private static int update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        }
    }

    private static boolean isThere(int id) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID FROM ITEM WHERE ID = " + id)) {
            return rows.next();
        }
    }

    @Test
    void callThatChangesAndReturnsRowsIsKnownToHaveHappened() throws SQLException {
        Connection connection = connect();
        CallableStatement call = connection.prepareCall("CALL ADD_AND_LIST(1)");
        assertThat(call.execute()).isTrue();
        ResultSet rows = call.getResultSet();
        thief.steal(AnswerThief.Steal.ANSWER);
        while (rows.next()) {
            assertThat(rows.getInt(1)).isPositive();
        }
        assertThat(connection.isValid(5)).isFalse();
        connection.close();
        assertThat(isThere(1)).isTrue();
    }

    @Test
    void callThatChangesAndReturnsRowsIsKnownNotToHaveHappened() throws SQLException {
        Connection connection = connect();
        CallableStatement call = connection.prepareCall("CALL ADD_AND_LIST(2)");
        ResultSet rows = call.executeQuery();
        thief.steal(AnswerThief.Steal.REQUEST);
        assertThatThrownBy(() -> {
                    while (rows.next()) {
                        assertThat(rows.getInt(1)).isPositive();
                    }
                })
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        connection.close();
        assertThat(isThere(2)).isFalse();
    }

    @Test
    void changeOfIsolationThatCommitsIsKnownToHaveHappened() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        update(connection, "INSERT INTO ITEM VALUES (3, 'three')");
        thief.steal(AnswerThief.Steal.ANSWER);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        connection.close();
        assertThat(isThere(3)).isTrue();
    }

    /** It commits, and by no name. */
    @Test
    void changeOfIsolationBySqlDoesNotHaveWhatWasBeforeItRunAgain() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        update(connection, "INSERT INTO ITEM VALUES (31, 'three')");
        thief.steal(AnswerThief.Steal.ANSWER);
        assertThatThrownBy(() -> update(connection, "SET CURRENT ISOLATION SERIALIZABLE"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08007"))
                .hasMessageContaining("is committed");
        connection.close();
        assertThat(isThere(31)).isTrue();
        try (Connection next = connect()) {
            next.setAutoCommit(false);
            update(next, "INSERT INTO ITEM VALUES (32, 'three')");
            update(next, "SET ISOLATION RS");
            next.rollback();
            assertThat(next.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
        }
        assertThat(isThere(32)).isTrue();
    }

    @Test
    void whatIsAskedAboutWhatHappenedDoesNotSayThatItDidNot() throws SQLException {
        Connection connection = connect();
        CallableStatement call = connection.prepareCall("CALL ADD_AND_LIST(33)");
        ResultSet rows = call.executeQuery();
        thief.steal(AnswerThief.Steal.ANSWER);
        while (rows.next()) {
            assertThat(rows.getInt(1)).isPositive();
        }
        for (ThrowingCallable question : List.<ThrowingCallable>of(
                call::getUpdateCount, call::getMoreResults, call::getGeneratedKeys, call::getWarnings)) {
            assertThatThrownBy(question)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08007"))
                    .hasMessageContaining("is committed");
        }
        assertThatThrownBy(call::execute)
                .as("the next one did not happen")
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).startsWith("08").isNotEqualTo("08007"));
        connection.close();
        assertThat(isThere(33)).isTrue();
    }

    @Test
    void autocommitThatIsSetOnIsKnownToHaveHappened() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        update(connection, "INSERT INTO ITEM VALUES (4, 'four')");
        thief.steal(AnswerThief.Steal.ANSWER);
        connection.setAutoCommit(true);
        connection.close();
        assertThat(isThere(4)).isTrue();
    }

    @Test
    void whatWasChangedByTheEnginesOwnObjectIsKnownToHaveHappened() throws Exception {
        Connection connection = connect();
        connection.setAutoCommit(false);
        Class<?> engines = Class.forName("org.apache.derby.client.am.ClientConnection");
        update((Connection) connection.unwrap(engines), "INSERT INTO ITEM VALUES (30, 'thirty')");
        thief.steal(AnswerThief.Steal.ANSWER);
        connection.commit();
        connection.close();
        assertThat(isThere(30)).isTrue();
    }

    @Test
    void whatHasOnlyReadCanBeRunAgainWhateverBecameOfItsCommit() throws SQLException {
        for (AnswerThief.Steal stolen : List.of(AnswerThief.Steal.ANSWER, AnswerThief.Steal.REQUEST)) {
            Connection connection = connect();
            connection.setAutoCommit(false);
            update(connection, "DELETE FROM ITEM WHERE ID < 0");
            connection.commit();
            assertThat(one(connection)).isEqualTo(1);
            thief.steal(stolen);
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("only read");
            assertThat(connection.isValid(5)).isFalse();
            connection.close();
        }
    }

    /** As a pool does it when the connection is given back; by an error there the application would be told that what it did has failed. */
    @Test
    void whatHappenedThoughItsAnswerWasLostIsNoErrorWhenTheConnectionIsPutInOrder() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url + ";retry=3")) {
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO ITEM VALUES (7, 'seven')");
            connection.commit();
            update(connection, "INSERT INTO ITEM VALUES (8, 'eight')");
            thief.steal(AnswerThief.Steal.ANSWER);
            connection.commit();
            connection.rollback();
            connection.setReadOnly(false);
            connection.setAutoCommit(true);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            connection.clearWarnings();
        }
        assertThat(isThere(8)).isTrue();
    }

    /** What the driver compares with, to run a transaction again, is its own matter: this one never is. */
    @Test
    void whatIsExecutedInAutocommitModeIsKnownToHaveHappenedWithRetry() throws SQLException {
        Connection connection = DriverManager.getConnection(url + ";retry=3");
        update(connection, "DELETE FROM ITEM WHERE ID < 0");
        Statement statement = connection.createStatement();
        thief.steal(AnswerThief.Steal.ANSWER, 1);
        assertThat(statement.execute("INSERT INTO ITEM VALUES (9, 'nine')")).isFalse();
        assertThat(connection.isValid(5)).isFalse();
        connection.close();
        assertThat(isThere(9)).isTrue();
    }

    private static int one(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(" Values 1")) {
            rows.next();
            return rows.getInt(1);
        }
    }

    @Test
    void rowThatIsInsertedAmongWhatIsReadIsKnownToBeThere() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        try (Statement statement =
                        connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet rows = statement.executeQuery("SELECT ID, NAME FROM ITEM")) {
            rows.moveToInsertRow();
            rows.updateInt(1, 6);
            rows.insertRow();
        }
        thief.steal(AnswerThief.Steal.ANSWER);
        connection.commit();
        connection.close();
        assertThat(isThere(6)).isTrue();
    }

    /** Derby counts the first one as done though its deadlock rolled it back. */
    @Test
    void batchInWhichTheEngineRolledBackHasDoneNothingAndSaysSo() throws Exception {
        try (Connection connection = connect();
                Connection other = connect()) {
            update(connection, "INSERT INTO ITEM VALUES (51, 'a'), (52, 'b')");
            other.setAutoCommit(false);
            update(other, "UPDATE ITEM SET NAME = 'c' WHERE ID = 52");
            update(other, "UPDATE ITEM SET NAME = 'c' WHERE ID = 52");
            Thread thread = new Thread(() -> {
                try {
                    // Waits for the first of the batch, and is not the one that is chosen: it has done more.
                    NodeGroup.patiently("the batch waits").until(() -> waiting(other) > 0);
                    update(other, "UPDATE ITEM SET NAME = 'd' WHERE ID = 51");
                    other.commit();
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            thread.start();
            try (Statement statement = connection.createStatement()) {
                statement.addBatch("UPDATE ITEM SET NAME = 'x' WHERE ID = 51");
                statement.addBatch("UPDATE ITEM SET NAME = 'x' WHERE ID = 52");
                statement.addBatch("INSERT INTO ITEM VALUES (53, 'x')");
                assertThatThrownBy(statement::executeBatch).isInstanceOfSatisfying(BatchUpdateException.class, e -> {
                    assertThat(e.getSQLState()).startsWith("40");
                    assertThat(e.getUpdateCounts()).containsOnly(Statement.EXECUTE_FAILED);
                });
            }
            thread.join();
        }
        assertThat(isThere(53)).isFalse();
    }

    /** Derby's driver says of each batch that it has failed, XJ208, and why only in what follows. */
    @Test
    void batchInWhichTheConnectionIsLostSaysSoItself() throws SQLException {
        for (boolean autoCommit : new boolean[] {false, true}) {
            Connection connection = connect();
            connection.setAutoCommit(autoCommit);
            try (Statement statement = connection.createStatement()) {
                statement.addBatch("INSERT INTO ITEM VALUES (54, 'x')");
                thief.steal(AnswerThief.Steal.REQUEST);
                assertThatThrownBy(statement::executeBatch)
                        .isInstanceOfSatisfying(
                                BatchUpdateException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("08006"));
            }
            assertThat(connection.isClosed()).isTrue();
            connection.close();
        }
        assertThat(isThere(54)).isFalse();
    }

    private static int waiting(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows =
                        statement.executeQuery("SELECT COUNT(*) FROM SYSCS_DIAG.LOCK_TABLE WHERE STATE = 'WAIT'")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
