package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** CREATE TABLE AS and SELECT INTO: all replicas have the rows of the one that has executed the query, whatever it computes. */
@Timeout(180)
class TablesOfQueriesTest extends ThreeReplicas {

    TablesOfQueriesTest() {
        super(ReplicationProtocol.CERTIFICATION);
    }

    private String rows(int i, String sql) throws SQLException {
        try (Connection connection = cluster.connect(i);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            StringBuilder row = new StringBuilder(rows.getString(1));
            for (int column = 2; column <= rows.getMetaData().getColumnCount(); column++) {
                row.append('|').append(rows.getString(column));
            }
            return row.toString();
        }
    }

    @Test
    void allHaveTheRowsOfTheOneThatHasExecutedTheQuery() throws SQLException {
        execute(
                0,
                "CREATE TYPE mood AS ENUM ('sad', 'glad')",
                "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(20) COLLATE \"C\", price NUMERIC(9, 2), at TIMESTAMPTZ, m mood[])",
                "INSERT INTO t SELECT i, 'name ' || i, i / 7.0, now(), '{sad,NULL}' FROM generate_series(1, 1000) i",
                "CREATE SCHEMA \"Other schema\"");
        cluster.awaitEverywhere();
        execute(
                0,
                "CREATE TABLE made AS SELECT *, random() AS chance, clock_timestamp() AS now, NULL AS nothing FROM t");
        execute(
                1,
                "SET search_path TO \"Other schema\", public",
                "SET DateStyle TO 'ISO, DMY'",
                "SELECT price, at, gen_random_uuid() AS \"key \"\"of\"\" it\" INTO \"the Rows\" FROM t",
                "CREATE TABLE filled (a, b) WITH (fillfactor = 50) AS VALUES (1, 'x'), (NULL, NULL)",
                "CREATE TABLE filled_again AS TABLE filled WITH NO DATA",
                "CREATE TABLE no_columns AS SELECT FROM t");
        execute(
                2,
                "CREATE TEMP TABLE own AS SELECT 1 AS id, 'one' AS name",
                "CREATE TABLE of_own AS SELECT * FROM own",
                "PREPARE p (int) AS SELECT $1 AS a",
                "CREATE TABLE of_prepared AS EXECUTE p (7)",
                "CREATE TABLE IF NOT EXISTS of_prepared AS SELECT 8 AS a",
                "CREATE TABLE large AS SELECT repeat('x', 30000) || i AS t FROM generate_series(1, 40) i");
        cluster.assertIdentical();
        for (int i = 0; i < SIZE; i++) {
            assertThat(rows(i, "SELECT count(DISTINCT chance), count(nothing) FROM made"))
                    .isEqualTo("1000|0");
            assertThat(rows(i, "SELECT count(DISTINCT \"key \"\"of\"\" it\") FROM \"Other schema\".\"the Rows\""))
                    .isEqualTo("1000");
            assertThat(rows(i, "SELECT reloptions::text FROM pg_class WHERE relname = 'filled'"))
                    .isEqualTo("{fillfactor=50}");
            assertThat(rows(i, "SELECT count(*) FROM \"Other schema\".no_columns"))
                    .isEqualTo("1000");
            assertThat(rows(
                            i,
                            "SELECT string_agg(format_type(atttypid, atttypmod) || coalesce(' ' || attcollation::regcollation, ''), ',' ORDER BY attnum)"
                                    + " FROM pg_attribute WHERE attrelid = 'made'::regclass AND attnum > 0"))
                    .isEqualTo(
                            "integer -,character varying(20) \"C\",numeric(9,2) -,timestamp with time zone -,mood[] -,double precision -,timestamp with time zone -,text \"default\"");
        }
    }

    @Test
    void suchATableIsLikeAnyOther() throws SQLException {
        execute(
                0,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)",
                "INSERT INTO t VALUES (1, 1), (2, 2)",
                "CREATE FUNCTION noting() RETURNS INTEGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (9, 9); RETURN 1; END'");
        cluster.awaitEverywhere();
        try (Connection connection = cluster.connect(1);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("UPDATE t SET v = 10 WHERE id = 1");
            statement.execute("CREATE TABLE u AS SELECT id, v, noting() AS n FROM t WHERE id = 1");
            statement.execute("SAVEPOINT a");
            statement.execute("SELECT * INTO gone FROM u");
            statement.execute("ROLLBACK TO a");
            statement.execute("ALTER TABLE u ADD PRIMARY KEY (id)");
            statement.execute("UPDATE u SET v = v + 1");
            connection.commit();
            statement.execute("CREATE TABLE gone AS TABLE u");
            connection.rollback();
        }
        cluster.awaitEverywhere();
        execute(2, "INSERT INTO u VALUES (3, 3, 3)", "DELETE FROM u WHERE id = 1", "SELECT 1 AS gone INTO gone");
        cluster.assertIdentical();
        for (int i = 0; i < SIZE; i++) {
            assertThat(rows(i, "SELECT string_agg(u::text, ' ') FROM u")).isEqualTo("(3,3,3)");
            assertThat(rows(i, "SELECT string_agg(t::text, ' ' ORDER BY id) FROM t"))
                    .isEqualTo("(1,10) (2,2) (9,9)");
        }
    }

    @Test
    void valuesOfSequencesInThemAreNotGivenAgain() throws SQLException {
        execute(0, "CREATE SEQUENCE s", "CREATE TABLE taken (n BIGINT PRIMARY KEY)");
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < SIZE; i++) {
                String made = "made" + round + i;
                execute(i, "INSERT INTO taken VALUES (nextval('s'))");
                execute(i, "CREATE TABLE " + made + " AS SELECT nextval('s') AS n FROM generate_series(1, 5)");
                execute(i, "INSERT INTO taken SELECT n FROM " + made);
            }
        }
        cluster.assertIdentical();
        assertThat(rows(0, "SELECT count(*) FROM taken")).isEqualTo("54");
    }

    @Test
    void whatIsOfOneSessionOnlyIsRefused() throws SQLException {
        execute(0, "CREATE SEQUENCE s", "CREATE TABLE u (id INTEGER)");
        try (Connection connection = cluster.connect(0);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TYPE pg_temp.own AS ENUM ('x')");
            for (String sql : List.of(
                    "CREATE TABLE t AS SELECT 'x'::pg_temp.own AS a", "CREATE TABLE t AS SELECT setval('s', 7) AS a")) {
                assertRefused("0A000", () -> statement.execute(sql));
            }
        }
        cluster.assertIdentical();
    }
}
