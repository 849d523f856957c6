package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** Every way to change rows. */
public abstract class RowChangesTck extends BindingTck {

    @Test
    void multiRowInsertsUpdatesAndDeletes() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20), B INTEGER)",
                "INSERT INTO T VALUES (1, 'one', 10), (2, 'two', 20), (3, NULL, 30), (4, 'four', NULL)");
        execute("UPDATE T SET B = B + 1 WHERE ID < 4", "DELETE FROM T WHERE ID = 2");
        execute("UPDATE T SET A = 'x', B = NULL");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(3);
    }

    @Test
    void insertFromSelectOfTheSameTable() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        execute("INSERT INTO T SELECT ID + 10, A FROM T", "INSERT INTO T SELECT ID + 100, A FROM T WHERE ID > 5");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(6);
    }

    @Test
    void preparedBatchesAndAutocommit() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20))");
        try (Connection connection = origin.connect(new Properties());
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, 1);
            insert.setString(2, "alone");
            insert.executeUpdate();
            for (int i = 10; i < 20; i++) {
                insert.setInt(1, i);
                insert.setString(2, "batch " + i);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(11);
    }

    @Test
    void updatableResultSets() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20))",
                "INSERT INTO T VALUES (1, 'a'), (2, 'b')");
        try (Connection connection = connect();
                Statement statement =
                        connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                ResultSet rows = statement.executeQuery("SELECT ID, A FROM T FOR UPDATE")) {
            rows.next();
            rows.updateString(2, "changed");
            rows.updateRow();
            rows.next();
            rows.deleteRow();
            rows.moveToInsertRow();
            rows.updateInt(1, 3);
            rows.updateString(2, "new");
            rows.insertRow();
            connection.commit();
        }
        assertEqual();
    }

    @Test
    void mergeBothWays() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 2)",
                "INSERT INTO S VALUES (2, 20), (3, 30)");
        execute("MERGE INTO T USING S ON T.ID = S.ID WHEN MATCHED THEN UPDATE SET A = S.A "
                + "WHEN NOT MATCHED THEN INSERT VALUES (S.ID, S.A)");
        execute("MERGE INTO T USING S ON T.ID = S.ID WHEN MATCHED AND S.ID = 3 THEN DELETE");
        assertEqual();
    }

    @Test
    void triggerEffectsAreAppliedOnce() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE L (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, T INTEGER)",
                "CREATE TRIGGER TR AFTER INSERT ON T REFERENCING NEW AS N FOR EACH ROW INSERT INTO L (T) VALUES (N.ID)");
        execute("INSERT INTO T VALUES (1, 1), (2, 2)", "UPDATE T SET A = 5");
        assertEqual();
        assertThat(count(replica, "L")).isEqualTo(2);
    }

    @Test
    void generatedAndDefaultValues() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER DEFAULT 7, "
                        + "B INTEGER GENERATED ALWAYS AS (A * 2), MOMENT TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
                "INSERT INTO T (ID) VALUES (1), (2)",
                "INSERT INTO T (ID, A) VALUES (3, 4)",
                "UPDATE T SET A = 100 WHERE ID = 2");
        assertEqual();
    }

    @Test
    void compositeKeysInAnyOrderAndKeyUpdates() throws SQLException {
        execute(
                "CREATE TABLE T (A INTEGER NOT NULL, V VARCHAR(10), B VARCHAR(10) NOT NULL, C INTEGER, PRIMARY KEY (B, A))",
                "CREATE INDEX I ON T (C, V)",
                "INSERT INTO T VALUES (1, 'v1', 'x', 1), (2, 'v2', 'x', 2), (1, 'v3', 'y', 3)");
        execute("UPDATE T SET V = 'new' WHERE A = 1 AND B = 'x'", "UPDATE T SET A = A + 10 WHERE B = 'x'");
        execute("UPDATE T SET C = C + 1", "DELETE FROM T WHERE B = 'y'");
        assertEqual();
    }

    @Test
    void rowsChangedAgainAfterTheirUniquelyIndexedColumns() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER, V INTEGER)",
                "CREATE UNIQUE INDEX I ON T (U)",
                "INSERT INTO T VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, NULL, 0)");
        execute(
                "UPDATE T SET U = 5 WHERE ID = 1",
                "UPDATE T SET V = 1 WHERE ID = 1",
                "UPDATE T SET U = 6 WHERE ID = 1");
        execute("UPDATE T SET U = U + 1", "UPDATE T SET U = U + 1", "UPDATE T SET U = 9 WHERE ID = 4");
        assertEqual();
        execute("UPDATE T SET U = 50 WHERE ID = 2", "DELETE FROM T WHERE ID = 2", "INSERT INTO T VALUES (2, 50, 3)");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(4);
    }

    @Test
    void rowsPutInBetweenColumnsAddedInOneTransactionAfterMetadataWereRead() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        execute("INSERT INTO T VALUES (2)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            try (ResultSet columns = connection.getMetaData().getColumns(null, null, "T", null)) {
                assertThat(columns.next()).isTrue();
            }
            connection.commit();
            for (int round = 0; round < 2; round++) {
                try (ResultSet keys = connection.getMetaData().getPrimaryKeys(null, null, "T")) {
                    assertThat(keys.next()).isTrue();
                }
                statement.execute("ALTER TABLE T ADD COLUMN X" + round + " INTEGER");
                statement.execute("INSERT INTO T (ID, X" + round + ") VALUES (" + (10 + round) + ", 1)");
                statement.execute("ALTER TABLE T ADD COLUMN Y" + round + " VARCHAR(5)");
                statement.execute("INSERT INTO T (ID, Y" + round + ") VALUES (" + (20 + round) + ", 'y')");
                connection.commit();
            }
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(6);
    }

    @Test
    void quotedNamesSchemasAndCase() throws SQLException {
        execute(
                "CREATE SCHEMA \"my schema\"",
                "CREATE TABLE \"my schema\".\"a \"\"table\"\"\" (\"the key\" INTEGER NOT NULL PRIMARY KEY, \"ä\" VARCHAR(5))",
                "INSERT INTO \"my schema\".\"a \"\"table\"\"\" VALUES (1, 'ö€𝄞')");
        execute(
                "SET SCHEMA \"my schema\"",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (5)");
        execute("UPDATE \"my schema\".\"a \"\"table\"\"\" SET \"ä\" = '日本'");
        assertEqual();
    }

    @Test
    void scrollableUpdatableResultSetsAndPositionedStatements() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20))",
                "INSERT INTO T VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')");
        try (Connection connection = connect();
                Statement scrolling =
                        connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                Statement positioned =
                        connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                Statement other = connection.createStatement()) {
            try (ResultSet rows = scrolling.executeQuery("SELECT ID, A FROM T")) {
                assertThat(rows.absolute(3)).isTrue();
                rows.updateString(2, "third");
                rows.updateRow();
                assertThat(rows.first()).isTrue();
                rows.deleteRow();
            }
            positioned.setCursorName("C");
            try (ResultSet rows = positioned.executeQuery("SELECT ID, A FROM T WHERE ID > 1 FOR UPDATE OF A")) {
                assertThat(rows.next()).isTrue();
                assertThat(other.executeUpdate("UPDATE T SET A = 'here' WHERE CURRENT OF C"))
                        .isEqualTo(1);
                assertThat(rows.next()).isTrue();
                assertThat(other.executeUpdate("DELETE FROM T WHERE CURRENT OF C"))
                        .isEqualTo(1);
            }
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }

    @Test
    void batchesOfUnlikeStatementsAndABatchThatFailsInTheMiddle() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.addBatch("INSERT INTO T VALUES (1, 1), (2, 2)");
            statement.addBatch("UPDATE T SET A = A * 10");
            statement.addBatch("DELETE FROM T WHERE ID = 2");
            statement.executeBatch();
            statement.addBatch("INSERT INTO T VALUES (3, 3)");
            statement.addBatch("INSERT INTO T VALUES (4, 4), (1, 1)");
            statement.addBatch("INSERT INTO T VALUES (5, 5)");
            assertThatThrownBy(statement::executeBatch).isInstanceOf(SQLException.class);
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(count(origin, "T"));
    }

    @Test
    void mergeThatInsertsUpdatesAndDeletesAtOnce() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 2), (3, 3)",
                "INSERT INTO S VALUES (2, 20), (3, -1), (4, 40)");
        execute("MERGE INTO T USING S ON T.ID = S.ID WHEN MATCHED AND S.A < 0 THEN DELETE "
                + "WHEN MATCHED THEN UPDATE SET A = S.A WHEN NOT MATCHED THEN INSERT (ID, A) VALUES (S.ID, S.A)");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "2", "4");
    }

    @Test
    void triggersBeforeAfterAndUponOthers() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE L (ID INTEGER NOT NULL PRIMARY KEY, T INTEGER)",
                "CREATE TABLE SUMS (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO SUMS VALUES (1, 0), (2, 0)",
                "CREATE TRIGGER T_ROW AFTER INSERT ON T REFERENCING NEW AS N FOR EACH ROW INSERT INTO L VALUES (N.ID, N.A)",
                "CREATE TRIGGER T_STATEMENT AFTER INSERT ON T FOR EACH STATEMENT UPDATE SUMS SET N = N + 1 WHERE ID = 1",
                "CREATE TRIGGER T_WHEN AFTER UPDATE OF A ON T REFERENCING OLD AS O NEW AS N FOR EACH ROW "
                        + "WHEN (N.A > O.A) UPDATE L SET T = N.A WHERE ID = N.ID",
                "CREATE TRIGGER T_GONE AFTER DELETE ON T REFERENCING OLD AS O FOR EACH ROW DELETE FROM L WHERE ID = O.ID",
                "CREATE TRIGGER L_UPON AFTER DELETE ON L FOR EACH STATEMENT UPDATE SUMS SET N = N + 1 WHERE ID = 2");
        execute("INSERT INTO T VALUES (1, 1), (2, 2), (3, 3)");
        execute("UPDATE T SET A = CASE WHEN ID = 1 THEN 9 ELSE 0 END", "DELETE FROM T WHERE ID < 3");
        assertEqual();
        assertThat(query(replica, "SELECT N FROM SUMS ORDER BY ID"))
                .isEqualTo(query(origin, "SELECT N FROM SUMS ORDER BY ID"));
        assertThat(count(replica, "L")).isEqualTo(1);
    }

    @Test
    void bulkImportIntoEmptyAndIntoFilledTables() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20), B INTEGER)",
                "CREATE INDEX I ON T (B)");
        execute(tested().importing("T", file("1,\"one\",10", "2,,20", "3,\"drei, ä\","), false));
        execute("UPDATE T SET B = 11 WHERE ID = 1");
        execute(tested().importing("T", file("4,\"four\",40", "5,\"five\",50"), false));
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(5);
    }

    @Test
    void bulkImportThatReplacesAllRows() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20), B INTEGER)",
                "CREATE INDEX I ON T (B)",
                "INSERT INTO T VALUES (1, 'old', 1), (2, 'old', 2), (3, 'old', 3)");
        String replacing = tested().importing("T", file("2,\"new\",20", "4,\"new\",40"), true);
        execute(replacing);
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("2", "4");
        execute("INSERT INTO T VALUES (7, 'more', 7)");
        execute(replacing);
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("2", "4");
        String failing = tested().importing("T", file("9,\"a\",1", "9,\"b\",2"), true);
        assertThatThrownBy(() -> execute(failing)).isInstanceOf(SQLException.class);
        execute("INSERT INTO T VALUES (8, 'after', 8)");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("2", "4", "8");
    }

    private Path file(String... lines) throws IOException {
        return Files.write(Files.createTempFile(directory, "rows", ".csv"), List.of(lines));
    }
}
