package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** Transactions: what is rolled back of them, and where they begin and end. */
public abstract class TransactionsTck extends BindingTck {

    @Test
    void rollbackOfTransactionStatementAndSavepoint() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (2, 2)");
            connection.rollback();
            statement.executeUpdate("INSERT INTO T VALUES (3, 3)");
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (4, 4), (5, 5), (1, 1)"))
                    .isInstanceOf(SQLException.class);
            Savepoint savepoint = connection.setSavepoint("s");
            statement.executeUpdate("INSERT INTO T VALUES (6, 6)");
            Savepoint inner = connection.setSavepoint("t");
            statement.executeUpdate("UPDATE T SET A = 100");
            connection.rollback(inner);
            statement.executeUpdate("INSERT INTO T VALUES (7, 7)");
            connection.rollback(savepoint);
            statement.executeUpdate("INSERT INTO T VALUES (8, 8)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(3);
    }

    @Test
    void savepointSetBeforeTheFirstChangeTakesAllBack() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        int before = meta.takeWriteSets().size();
        assertThat(before).isEqualTo(1);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            Savepoint savepoint = connection.setSavepoint();
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            connection.rollback(savepoint);
            connection.commit();
        }
        assertThat(meta.takeWriteSets()).as("nothing changed, nothing is sent").isEmpty();
    }

    @Test
    void transactionsThatOnlyReadAreNotToldOf() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        int begun = meta.begun();
        meta.takeWriteSets();
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
            assertThat(rows.next()).isTrue();
            connection.commit();
        }
        assertThat(meta.begun()).isEqualTo(begun);
        assertThat(meta.takeWriteSets()).isEmpty();
    }

    @Test
    void transactionsHaveTheirConnectionsSession() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        Set<SessionId> sessions = new HashSet<>();
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < 3; i++) {
                statement.executeUpdate("INSERT INTO T VALUES (" + i + ")");
                sessions.add(meta.lastBegun().id().session());
                assertThat(meta.lastBegun().id().number()).isEqualTo(i + 1);
                meta.lastBegun().attach("mine");
                assertThat(meta.lastBegun().attachment()).isEqualTo("mine");
                connection.commit();
            }
        }
        assertThat(sessions).hasSize(1);
    }

    @Test
    void firstChangeIsRefusedWhereWritesDoNotBelong() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.refuseChanges(new Refusal(Refusal.Cause.BACKUP, "writes belong to the primary"));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : List.of("INSERT INTO T VALUES (1)", "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)")) {
                assertThatThrownBy(() -> statement.execute(sql))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("25006"))
                        .hasMessageContaining("writes belong to the primary");
            }
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                assertThat(rows.next()).isFalse();
            }
            meta.refuseChanges(null);
            statement.execute("INSERT INTO T VALUES (1)");
            connection.commit();
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void transactionBeyondTheLimitIsRefusedAndNothingIsLost() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(40M))");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, 1);
            insert.setBytes(2, new byte[5 << 20]);
            assertThatThrownBy(() -> {
                        for (int i = 0; i < 20; i++) {
                            insert.setInt(1, i);
                            insert.executeUpdate();
                        }
                    })
                    .isInstanceOfSatisfying(
                            SQLException.class,
                            e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo("54000"))
                    .hasMessageContaining("write-set-bytes-max");
            connection.rollback();
            insert.setInt(1, 100);
            insert.executeUpdate();
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    @Test
    void savepointsInSqlOverSchemaChangesAndReleased() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute(
                "INSERT INTO T VALUES (1)",
                "SAVEPOINT S ON ROLLBACK RETAIN CURSORS",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO U VALUES (1)",
                "INSERT INTO T VALUES (2)",
                "ROLLBACK TO SAVEPOINT S",
                "INSERT INTO T VALUES (3)",
                "RELEASE SAVEPOINT S",
                "SAVEPOINT S ON ROLLBACK RETAIN CURSORS",
                "INSERT INTO T VALUES (4)",
                "ROLLBACK TO SAVEPOINT S");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "3");
    }

    @Test
    void statementThatATriggerFailsIsTakenBackWithAllItsEffects() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE L (ID INTEGER NOT NULL PRIMARY KEY CHECK (ID < 10))",
                "CREATE TRIGGER TR AFTER INSERT ON T REFERENCING NEW AS N FOR EACH ROW INSERT INTO L VALUES (N.ID)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (2), (3), (11)"))
                    .isInstanceOf(SQLException.class);
            statement.executeUpdate("INSERT INTO T VALUES (4)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "L")).isEqualTo(2);
    }

    @Test
    void changingAutocommitCommits() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            connection.setAutoCommit(true);
            assertThat(meta.takeWriteSets().size()).isEqualTo(2);
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            assertThat(meta.takeWriteSets().size()).isEqualTo(1);
        }
        assertThat(count(origin, "T")).isEqualTo(2);
    }

    @Test
    void cursorsHeldOverCommitsGoOn() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)");
        try (Connection connection = connect();
                Statement reading = connection.createStatement(
                        ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT);
                Statement updating = connection.createStatement(
                        ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE, ResultSet.HOLD_CURSORS_OVER_COMMIT);
                Statement statement = connection.createStatement();
                ResultSet read = reading.executeQuery("SELECT ID FROM T ORDER BY ID");
                ResultSet updated = updating.executeQuery("SELECT ID, A FROM T FOR UPDATE")) {
            for (int i = 1; i <= 5; i++) {
                assertThat(read.next()).isTrue();
                statement.executeUpdate("INSERT INTO T VALUES (" + (10 * i) + ", " + read.getInt(1) + ")");
                connection.commit();
            }
            for (int i = 0; i < 3; i++) {
                assertThat(updated.next()).isTrue();
                updated.updateInt(2, 7);
                updated.updateRow();
                if (i == 1) {
                    connection.commit();
                }
            }
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(10);
        assertThat(query(replica, "SELECT COUNT(*) FROM T WHERE A = 7")).containsExactly("3");
    }

    private void makeProcedures() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        for (TckBinding.Procedure procedure : TckBinding.Procedure.values()) {
            execute(tested().procedure(procedure));
        }
        meta.takeWriteSets().forEach(this::apply);
    }

    @Test
    void procedureThatCommitsInside() throws SQLException {
        makeProcedures();
        execute("INSERT INTO T VALUES (1, 0)", "CALL INSERT_AND_COMMIT(10)", "INSERT INTO T VALUES (2, 0)");
        List<WriteSet> two = meta.takeWriteSets();
        assertThat(two).hasSize(2);
        two.forEach(this::apply);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("CALL INSERT_AND_COMMIT(20)");
            connection.rollback();
        }
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CALL INSERT_AND_COMMIT(30)");
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID"))
                .containsExactly("1", "2", "10", "11", "20", "30", "31");
    }

    @Test
    void refusedCommitWithinAProcedure() throws SQLException {
        makeProcedures();
        meta.answer(commit -> commit.abort(conflict("not this one")));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.execute("CALL INSERT_AND_COMMIT(10)"))
                    .isInstanceOf(SQLException.class)
                    .hasStackTraceContaining("not this one");
            connection.rollback();
            meta.answer(meta::succeed);
            meta.takeWriteSets();
            statement.execute("CALL INSERT_AND_COMMIT(20)");
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("20", "21");
    }

    @Test
    void proceduresThatRollBackUseSavepointsAndChangeTheSchema() throws SQLException {
        makeProcedures();
        execute("INSERT INTO T VALUES (1, 0)", "CALL INSERT_AND_ROLL_BACK(10)", "INSERT INTO T VALUES (2, 0)");
        execute("INSERT INTO T VALUES (3, 0)", "CALL INSERT_AROUND_SAVEPOINT(20)", "CALL MAKE_TABLE(5)");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("2", "3", "11", "20", "22");
        assertThat(query(replica, "SELECT ID FROM MADE")).containsExactly("5");
    }

    @Test
    void triggersThatCallProcedures() throws SQLException {
        makeProcedures();
        execute(
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TRIGGER TR AFTER INSERT ON U REFERENCING NEW AS N FOR EACH ROW CALL INSERT_ROW(N.ID)");
        execute("INSERT INTO U VALUES (1), (2)");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }
}
