package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.BindingTck;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DerbyTckTest extends BindingTck {

    @TempDir
    Path directory;

    @Override
    protected DatabaseBinding binding() {
        return new DerbyBinding();
    }

    @Override
    protected DatabaseConfiguration configuration(String name) {
        return new DatabaseConfiguration(
                directory.resolve(name).toString(), Map.of(), Duration.ofMillis(200), 32 << 20, true);
    }

    @Override
    protected String binaryColumns() {
        return "BI3 CHAR(3) FOR BIT DATA, BIV VARCHAR(100) FOR BIT DATA";
    }

    @Override
    protected Set<String> constraintNames(ReflectedDatabase database) throws SQLException {
        Set<String> names = new TreeSet<>();
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet rows =
                        statement.executeQuery("SELECT CONSTRAINTNAME FROM SYS.SYSCONSTRAINTS C JOIN SYS.SYSSCHEMAS S "
                                + "ON C.SCHEMAID = S.SCHEMAID WHERE SCHEMANAME <> 'GORDA'")) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }

    @Test
    void statisticsAndLayoutOfTablesAreEachReplicasOwn() throws SQLException {
        execute(
                "CREATE SCHEMA \"my schema\"",
                "CREATE TABLE \"my schema\".\"a table\" (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, STATISTICS INTEGER)",
                "CREATE INDEX \"my schema\".\"an index\" ON \"my schema\".\"a table\" (A)",
                "INSERT INTO \"my schema\".\"a table\" VALUES (1, 1, 1), (2, 2, 2)",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE INDEX I ON T (ID DESC)");
        for (String table : new String[] {"'my schema', 'a table'", "'APP', 'T'"}) {
            String index = table.endsWith("'T'") ? "'I'" : "'an index'";
            execute(
                    "CALL SYSCS_UTIL.SYSCS_UPDATE_STATISTICS(" + table + ", NULL)",
                    "CALL SYSCS_UTIL.SYSCS_UPDATE_STATISTICS(" + table + ", " + index + ")",
                    "CALL SYSCS_UTIL.SYSCS_DROP_STATISTICS(" + table + ", " + index + ")",
                    "CALL SYSCS_UTIL.SYSCS_DROP_STATISTICS(" + table + ", NULL)");
            execute("CALL SYSCS_UTIL.SYSCS_COMPRESS_TABLE(" + table + ", 1)");
            execute("CALL SYSCS_UTIL.SYSCS_INPLACE_COMPRESS_TABLE(" + table + ", 1, 1, 1)");
        }
        execute("UPDATE \"my schema\".\"a table\" SET A = 7 WHERE ID = 2", "INSERT INTO T VALUES (1)");
        assertEqual();
        execute(
                "/* a comment */ ALTER TABLE \"my schema\".\"a table\" -- another\n DROP STATISTICS",
                "INSERT INTO \"my schema\".\"a table\" VALUES (3, 3)");
        assertEqual();
    }

    @Test
    void temporaryTablesAreNotReplicatedHoweverTheyAreWritten() throws SQLException {
        String columns = " (A INTEGER) ON COMMIT PRESERVE ROWS NOT LOGGED";
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute(
                "/* one /* in another */ */ DECLARE GLOBAL TEMPORARY TABLE SESSION.X" + columns,
                "INSERT INTO SESSION.X VALUES (1), (2)",
                "INSERT INTO T SELECT A FROM SESSION.X",
                "DROP TABLE \"SESSION\".\"X\"",
                "-- a comment\ndeclare global temporary table x" + columns,
                "/* a comment */ drop table session . x",
                "\n\tDECLARE GLOBAL TEMPORARY TABLE \"my table\"" + columns,
                "DROP /* a comment */ TABLE SESSION.\"my table\" ",
                "DECLARE GLOBAL TEMPORARY TABLE Y" + columns,
                "SET SCHEMA SESSION",
                "DROP TABLE y",
                "SET SCHEMA APP",
                "INSERT INTO T VALUES (3)");
        assertEqual();
        execute(
                "CREATE TABLE SESSION.T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE SESSION.Z (ID INTEGER NOT NULL PRIMARY KEY)",
                "DROP TABLE SESSION.Z");
        assertEqual();
    }

    @Test
    void proceduresThatCannotBeReplicatedAreRefusedInAnySpelling() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            refused(statement, "CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('a', 'b')");
            refused(statement, "call \"SYSCS_UTIL\" . \"SYSCS_SET_DATABASE_PROPERTY\"('a', 'b')");
            statement.execute("SET SCHEMA SYSCS_UTIL");
            refused(statement, "CALL SYSCS_SET_DATABASE_PROPERTY('a', 'b')");
            statement.execute("CALL SYSCS_SET_STATISTICS_TIMING(0) -- SYSCS_SET_DATABASE_PROPERTY");
            connection.commit();
        }
    }

    @Test
    void schemaOfGordaItselfIsNotForClients() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            refused(statement, "UPDATE GORDA.POSITION SET ENTRY = 5");
            refused(statement, "DELETE FROM GORDA.POSITION");
            refused(statement, "INSERT INTO GORDA.GENERATED VALUES (1, 'A', 'B', 1)");
            refused(statement, "CREATE TABLE GORDA.T (ID INTEGER NOT NULL PRIMARY KEY)");
            refused(statement, "CREATE INDEX I ON \"GORDA\" . POSITION (ENTRY)");
            refused(statement, "/* */ drop table gorda.generated");
            refused(statement, "TRUNCATE TABLE GORDA.GENERATED");
            statement.execute("SET SCHEMA GORDA");
            refused(statement, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            refused(statement, "UPDATE POSITION SET ENTRY = 5");
            statement.execute("SET SCHEMA APP");
            statement.execute("INSERT INTO T VALUES (1)");
            connection.commit();
        }
        execute("INSERT INTO T VALUES (2)");
        assertEqual();
    }

    private static void refused(Statement statement, String sql) {
        assertThatThrownBy(() -> statement.execute(sql))
                .as(sql)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
    }
}
