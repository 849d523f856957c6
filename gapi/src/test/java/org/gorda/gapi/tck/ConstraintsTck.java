package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Constraints: what they do to other rows, when they are checked, and keys that meet in passing. */
public abstract class ConstraintsTck extends BindingTck {

    @Test
    void foreignKeyCascades() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P ON DELETE CASCADE)",
                "CREATE TABLE N (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P ON DELETE SET NULL)",
                "INSERT INTO P VALUES (1), (2)",
                "INSERT INTO C VALUES (1, 1), (2, 1), (3, 2)",
                "INSERT INTO N VALUES (1, 1), (2, 2)");
        execute("DELETE FROM P WHERE ID = 1");
        assertEqual();
        assertThat(count(replica, "C")).isEqualTo(1);
    }

    @Test
    void keysThatCollideInPassing() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER NOT NULL UNIQUE, V VARCHAR(5))",
                "INSERT INTO T VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')");
        execute("UPDATE T SET ID = ID + 1", "UPDATE T SET U = 40 - U");
        execute("UPDATE T SET U = CASE WHEN U = 30 THEN -31 ELSE U END");
        assertEqual();
    }

    @Test
    void foreignKeyActionsOverSeveralTablesAndWithinOne() throws SQLException {
        execute(
                "CREATE TABLE A (ID INTEGER NOT NULL PRIMARY KEY, BOSS INTEGER REFERENCES A ON DELETE CASCADE)",
                "CREATE TABLE B (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER REFERENCES A ON DELETE CASCADE)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, B INTEGER REFERENCES B ON DELETE SET NULL, N INTEGER)",
                "INSERT INTO A VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)",
                "INSERT INTO B VALUES (10, 1), (20, 2), (30, 3), (40, 4)",
                "INSERT INTO C VALUES (100, 10, 0), (200, 20, 0), (300, 30, 0), (400, 40, 0)");
        execute("UPDATE C SET N = 1 WHERE B = 30", "DELETE FROM A WHERE ID = 1");
        assertEqual();
        assertThat(count(replica, "A")).isEqualTo(1);
        assertThat(count(replica, "B")).isEqualTo(1);
        assertThat(query(replica, "SELECT ID FROM C WHERE B IS NULL ORDER BY ID"))
                .containsExactly("100", "200", "300");
    }

    @Test
    void uniqueKeysChangePlacesInOneStatementAndInSeveral() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER UNIQUE, A INTEGER NOT NULL, B VARCHAR(5) NOT NULL, "
                        + "UNIQUE (A, B))",
                "INSERT INTO T VALUES (1, 1, 1, 'x'), (2, 2, 1, 'y'), (3, NULL, 2, 'x'), (4, NULL, 2, 'y')");
        execute("UPDATE T SET U = 3 - U WHERE U IS NOT NULL", "UPDATE T SET A = 3 - A");
        execute(
                "UPDATE T SET U = -1 WHERE ID = 1",
                "UPDATE T SET U = 2 WHERE ID = 2",
                "UPDATE T SET U = 1 WHERE ID = 1",
                "UPDATE T SET U = NULL WHERE ID = 2",
                "UPDATE T SET U = 2 WHERE ID = 4");
        execute("UPDATE T SET ID = 5 - ID", "UPDATE T SET B = CASE B WHEN 'x' THEN 'y' ELSE 'x' END");
        execute("DELETE FROM T WHERE ID = 1", "INSERT INTO T VALUES (1, 7, 9, 'z')", "UPDATE T SET ID = ID + 1");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(4);
    }

    @Test
    void deferredConstraintsMayBeViolatedUntilTheCommit() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, "
                        + "P INTEGER CONSTRAINT FK REFERENCES P DEFERRABLE INITIALLY DEFERRED, "
                        + "A INTEGER CONSTRAINT CK CHECK (A > 0) DEFERRABLE)");
        execute(
                "SET CONSTRAINTS CK DEFERRED",
                "INSERT INTO C VALUES (1, 7, -1), (2, 8, -2)",
                "INSERT INTO P VALUES (7), (8)",
                "UPDATE C SET A = -A");
        execute("SET CONSTRAINTS ALL DEFERRED", "DELETE FROM P WHERE ID = 7", "INSERT INTO P VALUES (7)");
        assertEqual();
        assertThat(count(replica, "C")).isEqualTo(2);
    }

    @Test
    void deferredUniqueKeysMayMeetUntilTheCommit() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, "
                        + "U INTEGER NOT NULL CONSTRAINT UQ UNIQUE DEFERRABLE INITIALLY DEFERRED, "
                        + "N INTEGER CONSTRAINT UN UNIQUE DEFERRABLE)",
                "INSERT INTO T VALUES (1, 1, 1), (2, 2, 2), (3, 3, NULL), (4, 4, NULL)");
        execute(
                "UPDATE T SET U = 2 WHERE ID = 1",
                "UPDATE T SET U = 3 WHERE ID = 2",
                "INSERT INTO T VALUES (5, 3, 5)",
                "DELETE FROM T WHERE ID = 5",
                "UPDATE T SET U = 1 WHERE ID = 3");
        execute(
                "SET CONSTRAINTS UN DEFERRED",
                "UPDATE T SET N = 2 WHERE ID IN (1, 3)",
                "UPDATE T SET N = 10 + ID, U = U + 1");
        execute("UPDATE T SET N = N + 1 WHERE N IS NOT NULL", "DELETE FROM T WHERE U = 2");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(3);
    }

    @Test
    void constraintViolatedAtTheCommitIsNotSent() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER CONSTRAINT UQ UNIQUE DEFERRABLE INITIALLY DEFERRED, "
                        + "A INTEGER CONSTRAINT CK CHECK (A > 0) DEFERRABLE INITIALLY DEFERRED, "
                        + "P INTEGER CONSTRAINT FK REFERENCES T DEFERRABLE INITIALLY DEFERRED)",
                "INSERT INTO T VALUES (1, 1, 1, 1)");
        assertEqual();
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String row : List.of("(2, 1, 1, 1)", "(2, 2, -1, 1)", "(2, 2, 1, 9)")) {
                statement.executeUpdate("INSERT INTO T VALUES " + row);
                assertThatThrownBy(connection::commit)
                        .as(row)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).startsWith("23"));
                connection.rollback();
            }
            assertThat(meta.takeWriteSets()).isEmpty();
            statement.executeUpdate("INSERT INTO T VALUES (2, 2, 2, 1)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }

    @Test
    void deferrablePrimaryKeyIsRefusedOrReplicated() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL, A INTEGER, CONSTRAINT PK PRIMARY KEY (ID) DEFERRABLE INITIALLY DEFERRED)",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO U VALUES (1)");
            try {
                statement.executeUpdate("INSERT INTO T VALUES (1, 1), (1, 2)");
                statement.executeUpdate("UPDATE T SET ID = 2 WHERE A = 2");
            } catch (SQLException e) {
                assertThat(e.getSQLState()).isEqualTo("0A000");
                assertThat(e.getMessage()).contains("PK", "DEFERRABLE");
            }
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "U")).isEqualTo(1);
    }
}
