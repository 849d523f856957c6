package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;

/** What becomes of transactions that are open while the schema changes, where every replica takes writes. */
@Timeout(180)
class OpenWhileTheSchemaChangesTest extends ThreeReplicas {

    OpenWhileTheSchemaChangesTest() {
        super(ReplicationProtocol.CERTIFICATION);
    }

    private static String shown(Statement statement, String setting) throws SQLException {
        try (ResultSet row = statement.executeQuery("SHOW " + setting)) {
            row.next();
            return row.getString(1);
        }
    }

    /** The server takes back what the session was set to, too; as migration tools set the role, and the search path. */
    @Test
    void aSchemaChangeThatIsMadeAgainKeepsItsConnection() throws SQLException {
        for (int i = 0; i < 3; i++) {
            try (Connection connection = cluster.connect(0);
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE h" + i + " (id SERIAL PRIMARY KEY, d INTEGER NOT NULL)");
                statement.execute("CREATE TABLE c" + i + " (id INTEGER PRIMARY KEY, b INTEGER)");
                statement.execute("INSERT INTO c" + i + " VALUES (1, 3)");
                connection.setAutoCommit(false);
                statement.execute("SET LOCAL work_mem = '5MB'");
                statement.execute("SET search_path TO public");
                statement.execute("ALTER TABLE c" + i + " ALTER b TYPE TEXT");
                statement.execute("INSERT INTO h" + i + " (d) VALUES (1)");
                statement.execute("SET statement_timeout TO 770" + i);
                statement.execute("RESET search_path");
                statement.execute("SET TimeZone TO 'Asia/Tokyo'");
                try (PreparedStatement configure =
                        connection.prepareStatement("SELECT set_config('application_name', ?, false)")) {
                    configure.setString(1, "it's \\");
                    configure.execute();
                }
                connection.commit();
                assertThat(shown(statement, "application_name")).isEqualTo("it's \\");
                assertThat(shown(statement, "work_mem")).isNotEqualTo("5MB");
                assertThat(shown(statement, "search_path")).isEqualTo("\"$user\", public");
                assertThat(shown(statement, "statement_timeout")).isEqualTo("770" + i + "ms");
                assertThat(connection.unwrap(PGConnection.class).getParameterStatus("TimeZone"))
                        .isEqualTo("Asia/Tokyo");
                try (ResultSet row = statement.executeQuery("SELECT b FROM c" + i)) {
                    row.next();
                    assertThat(row.getString(1)).isEqualTo("3");
                }
                connection.commit();
            }
        }
    }

    /** What is the session's own and cannot be made again is not missing silently. */
    @Test
    void aSchemaChangeThatIsMadeAgainLosesNothingOfItsConnectionSilently() throws SQLException {
        execute(0, "CREATE TABLE h (id SERIAL PRIMARY KEY, d INTEGER NOT NULL)", "CREATE TABLE c (id INTEGER, b TEXT)");
        Map<String, String> looksByOwn = Map.of(
                "CREATE TEMPORARY TABLE own AS SELECT 7 AS n", "SELECT n FROM own",
                "DECLARE own CURSOR WITH HOLD FOR SELECT 7", "FETCH own",
                "SELECT set_config(name, '7', false) FROM pg_settings WHERE name = 'deadlock_timeout'",
                        "SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout'");
        int tried = 0;
        for (Map.Entry<String, String> look : looksByOwn.entrySet()) {
            execute(0, "ALTER TABLE c ALTER b TYPE TEXT");
            try (Connection connection = cluster.connect(0);
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                statement.execute(look.getKey());
                statement.execute("ALTER TABLE c ALTER b TYPE VARCHAR");
                statement.execute("INSERT INTO h (d) VALUES (1)");
                connection.commit();
                assertThat(number(statement, look.getValue())).isEqualTo(7);
            } catch (SQLException e) {
                assertThat(e.getSQLState()).as(look.getKey() + ": " + e).startsWith("08");
            }
            tried++;
            assertThat(number(0, "SELECT count(*) FROM h")).isEqualTo(tried);
        }
    }

    /** It is asked who is in its way: often while somebody is, and when something has just begun. */
    @Test
    void anIdleTransactionThatHasChangedTheSchemaHasTheServerAskedSeldom() throws SQLException {
        String sinceAsked =
                "SELECT 1000 * extract(epoch FROM clock_timestamp() - max(query_start)) FROM pg_stat_activity"
                        + " WHERE datname = '" + database(0) + "' AND query LIKE '%pg_blocking_pids%'";
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement();
                Connection around = TestServer.connect("postgres");
                Statement watching = around.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("CREATE TABLE h (id INTEGER PRIMARY KEY)");
            watching.execute("SELECT pg_sleep(1)");
            double millis = 0;
            for (int i = 0; i < 100; i++) {
                watching.execute("SELECT pg_sleep(0.01)");
                millis += number(watching, sinceAsked) / 100.0;
            }
            assertThat(millis).isBetween(10.0, 200.0);
            connection.commit();
        }
    }

    @Test
    void whatFollowsASchemaChangeThatIsMadeAgainIsInTheTransactionThatItBegins() throws SQLException {
        execute(0, "CREATE TABLE h (id SERIAL PRIMARY KEY, d INTEGER NOT NULL)", "CREATE TABLE c (id INTEGER, b TEXT)");
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            statement.execute("BEGIN");
            statement.execute("ALTER TABLE c ALTER b TYPE VARCHAR");
            statement.execute("INSERT INTO h (d) VALUES (1)");
            statement.execute("COMMIT AND CHAIN");
            statement.execute("INSERT INTO h (d) VALUES (2)");
            statement.execute("ROLLBACK");
        } catch (SQLException e) {
            assertThat(e.getSQLState()).as(e.toString()).startsWith("08");
        }
        assertThat(number(0, "SELECT count(*) FROM h")).isEqualTo(1);
    }

    /** As Flyway does, which holds an advisory lock in a transaction while its other connection changes the schema. */
    @Test
    void whoHasOnlyReadBeforeASchemaChangeMayChangeRowsAfterIt() throws SQLException {
        execute(0, "CREATE TABLE history (id INTEGER PRIMARY KEY)");
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("SELECT pg_advisory_xact_lock(1)");
            execute(0, "CREATE TABLE first (id INTEGER PRIMARY KEY REFERENCES history)");
            statement.executeUpdate("INSERT INTO history VALUES (1)");
            connection.commit();
            connection.commit();
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            statement.execute("SELECT count(*) FROM history");
            execute(1, "CREATE TABLE third (id INTEGER PRIMARY KEY)");
            statement.executeUpdate("INSERT INTO history VALUES (3)");
            assertRefused("40001", connection::commit);
        }
        assertThat(number(2, "SELECT count(*) FROM history")).isEqualTo(1);
        cluster.assertIdentical();
    }

    /** The server holds the locks of tables to the end: what changes meanwhile are others. */
    @Test
    void whoHasChangedRowsGoesOnWhenOtherTablesAreChanged() throws SQLException {
        execute(
                0,
                "CREATE TABLE history (id SERIAL PRIMARY KEY, parent INTEGER REFERENCES history)",
                "CREATE TABLE other (id INTEGER PRIMARY KEY)",
                "CREATE TABLE more (id INTEGER PRIMARY KEY)");
        List<String> changes = List.of(
                "CREATE TABLE first (id INTEGER PRIMARY KEY)",
                "ALTER TABLE other ADD COLUMN n INTEGER NOT NULL DEFAULT 3",
                "CREATE UNIQUE INDEX ON other (n)",
                "CREATE OR REPLACE VIEW seen AS SELECT n FROM other",
                "TRUNCATE more",
                "CREATE OR REPLACE FUNCTION twice(n INTEGER) RETURNS INTEGER LANGUAGE SQL AS 'SELECT 2 * n'",
                "CREATE TYPE mood AS ENUM ('sad'); ALTER TYPE mood ADD VALUE 'glad'",
                "ALTER TABLE more RENAME TO less; COMMENT ON TABLE less IS 'of what there is'",
                "DROP TABLE first, less");
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO history VALUES (0, NULL)");
            for (int i = 0; i < changes.size(); i++) {
                execute(i % SIZE, changes.get(i));
                statement.executeUpdate("INSERT INTO history (parent) VALUES (0)");
            }
            connection.commit();
            statement.executeUpdate("INSERT INTO history (parent) VALUES (0)");
            execute(1, "ALTER TABLE history ADD COLUMN n INTEGER");
            assertRefused("40001", connection::commit);
        }
        assertThat(number(2, "SELECT count(*) FROM history")).isEqualTo(1 + changes.size());
        cluster.assertIdentical();
    }

    /**
     * PostgreSQL renames an index without its table's lock, and a table without those of tables that refer to it, whose triggers are made anew; and what changes the
     * schema may change rows behind that.
     */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void whoHoldsWhatTheTransactionOfASchemaChangeNeedsMakesWay() throws SQLException {
        execute(
                0,
                "CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT CONSTRAINT once UNIQUE)",
                "CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent)",
                "INSERT INTO child VALUES (0, NULL)");
        assertMakesWay("INSERT INTO parent VALUES (1, 'a')", "ALTER INDEX once RENAME TO one");
        assertMakesWay("INSERT INTO child VALUES (1, NULL)", "ALTER TABLE parent RENAME TO mother");
        assertMakesWay(
                "UPDATE child SET parent = NULL",
                "CREATE TABLE other (id INTEGER PRIMARY KEY)",
                "DELETE FROM child WHERE id = 0");
        cluster.assertIdentical();
    }

    private void assertMakesWay(String row, String... changes) throws SQLException {
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate(row);
            execute(0, changes);
            assertRefused("40001", connection::commit);
        }
    }

    /** What names and functions and values mean is locked by nobody. */
    @Test
    void whoHasChangedRowsIsRefusedWhenWhatNoLockGuardsIsChanged() throws SQLException {
        execute(
                0,
                "CREATE FUNCTION fits(n INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE SQL AS 'SELECT n > 0'",
                "CREATE TYPE mood AS ENUM ('sad', 'glad')",
                "CREATE SCHEMA away",
                "CREATE TABLE between (n INTEGER PRIMARY KEY)",
                "CREATE TABLE checked (n INTEGER PRIMARY KEY CHECK (fits(n)))",
                "CREATE TABLE felt (m mood PRIMARY KEY)",
                "CREATE TABLE part (n INTEGER PRIMARY KEY, m INTEGER)",
                "CREATE TABLE whole (n INTEGER PRIMARY KEY, p part)",
                "CREATE TABLE called (n regclass PRIMARY KEY)",
                "CREATE TABLE away.t (n INTEGER PRIMARY KEY)");
        Map<String, String> changesByInsert = Map.of(
                "INSERT INTO checked VALUES (1)",
                "CREATE OR REPLACE FUNCTION fits(n INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE SQL AS 'SELECT n > 1'",
                "INSERT INTO felt VALUES ('sad')",
                "ALTER TYPE mood RENAME VALUE 'sad' TO 'sorry'",
                "INSERT INTO whole VALUES (1, ROW(2, 3))",
                "ALTER TABLE part ADD COLUMN o INTEGER",
                "INSERT INTO called VALUES ('between')",
                "ALTER TABLE between RENAME TO among",
                "INSERT INTO away.t VALUES (1)",
                "CREATE TABLE first (n INTEGER PRIMARY KEY); ALTER SCHEMA away RENAME TO here");
        for (Map.Entry<String, String> change : changesByInsert.entrySet()) {
            try (Connection connection = cluster.connect(0);
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                statement.executeUpdate(change.getKey());
                execute(1, change.getValue());
                assertRefused("40001", connection::commit);
            }
        }
        cluster.assertIdentical();
    }
}
