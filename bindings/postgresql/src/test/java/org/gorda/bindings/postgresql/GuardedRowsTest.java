package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows by which clients of several replicas keep each other out. */
class GuardedRowsTest extends ThreeReplicas {

    GuardedRowsTest() {
        super(ReplicationProtocol.CERTIFICATION);
    }

    /** As one does where row versions alone would let both through; the second one asks for its commit when the first is everywhere. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE box SET room = room WHERE id = 1",
                "UPDATE ONLY box SET room = room WHERE room = 1",
                "UPDATE box SET room = 1 WHERE id + 0 = 1",
                "UPDATE tag SET name = name WHERE name = 'a'"
            })
    void ofTwoThatWriteARowAsItWasOneIsRefused(String guard) throws SQLException {
        execute(
                0,
                "CREATE TABLE box (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, room INTEGER)",
                "CREATE TABLE tag (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT)",
                "CREATE TABLE item (id INTEGER PRIMARY KEY)",
                "INSERT INTO box OVERRIDING SYSTEM VALUE VALUES (1, 1)",
                "INSERT INTO tag (name) VALUES ('a')");
        try (Connection first = cluster.connect(0);
                Connection second = cluster.connect(1);
                Statement one = first.createStatement();
                Statement other = second.createStatement()) {
            first.setAutoCommit(false);
            second.setAutoCommit(false);
            for (Statement statement : new Statement[] {one, other}) {
                statement.execute(guard);
                assertThat(number(statement, "SELECT count(*) FROM item")).isZero();
            }
            one.execute("INSERT INTO item VALUES (1)");
            other.execute("INSERT INTO item VALUES (2)");
            first.commit();
            cluster.awaitEverywhere();
            assertRefused("40001", second::commit);
        }
        assertThat(number(0, "SELECT count(*) FROM item")).isEqualTo(1);
        cluster.assertIdentical();
    }

    /** Who deletes it has seen no child. Domains and other types are written in other words, or compared as what they are made of. */
    @Test
    void aParentWithAChildIsNotDeletedWhateverTheirTypes() throws SQLException {
        execute(0, "CREATE DOMAIN small AS INTEGER", "CREATE DOMAIN smaller AS small CHECK (VALUE < 100)");
        String[][] pairs = {
            {"INTEGER", "smaller", "'7'"},
            {"smaller", "BIGINT", "'7'"},
            {"NUMERIC", "small", "'7'"},
            {"DOUBLE PRECISION", "NUMERIC", "'0.5'"},
            {"DOUBLE PRECISION", "REAL", "'0.1'::REAL"},
            {"TIMESTAMP", "DATE", "'2020-02-03'"},
            {"TIMESTAMPTZ", "TIMESTAMPTZ", "'2020-02-03 04:05:06'"},
            {"TIMESTAMP", "DATE", "'0044-03-15 BC'"},
            {"DATE", "TIMESTAMP", "'0044-03-15 BC'"},
            {"INET", "CIDR", "'10.0.0.1'"},
            {"CIDR", "INET", "'10.0.0.1'"},
            {"OID", "INTEGER", "'-1'::INTEGER"},
            {"VARCHAR(9)", "CHAR(5)", "'ab'"}
        };
        for (int i = 0; i < pairs.length; i++) {
            String parent = "parent" + i;
            String child = "child" + i;
            String value = pairs[i][2];
            execute(
                    0,
                    "CREATE TABLE " + parent + " (id " + pairs[i][0] + " PRIMARY KEY)",
                    "CREATE TABLE " + child + " (id INTEGER PRIMARY KEY, p " + pairs[i][1] + " REFERENCES " + parent
                            + ")",
                    "INSERT INTO " + parent + " VALUES (" + value + ")");
            try (Connection deleting = cluster.connect(1);
                    Statement statement = deleting.createStatement()) {
                deleting.setAutoCommit(false);
                assertThat(statement.executeUpdate("DELETE FROM " + parent)).isEqualTo(1);
                execute(0, "INSERT INTO " + child + " VALUES (1, " + value + ")");
                assertRefused("40001", deleting::commit);
            }
        }
        execute(
                0,
                "CREATE TABLE moment (id TIMESTAMPTZ PRIMARY KEY)",
                "CREATE TABLE of_moment (id INTEGER PRIMARY KEY, m TIMESTAMP REFERENCES moment)",
                "INSERT INTO moment VALUES (current_date)");
        assertRefused("0A000", () -> execute(0, "INSERT INTO of_moment VALUES (1, current_date)"));
        cluster.assertIdentical();
    }

    /** By a table, a row of it, and a child of that row in another one. */
    private void assertKept(String[][] pairs) throws SQLException {
        for (String[] pair : pairs) {
            execute(0, "INSERT INTO " + pair[0] + " VALUES (" + pair[1] + ")");
            try (Connection deleting = cluster.connect(1);
                    Statement statement = deleting.createStatement()) {
                deleting.setAutoCommit(false);
                assertThat(statement.executeUpdate(
                                "DELETE FROM " + pair[0] + " WHERE id = " + pair[1].split(",", 2)[0]))
                        .isEqualTo(1);
                execute(0, "INSERT INTO " + pair[2]);
                assertRefused("40001", deleting::commit);
            }
        }
        cluster.assertIdentical();
    }

    @Test
    void aParentInAPartitionWithAChildIsNotDeleted() throws SQLException {
        execute(
                0,
                "CREATE TABLE part (id INTEGER PRIMARY KEY) PARTITION BY RANGE (id)",
                "CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE of_part (id INTEGER PRIMARY KEY, p INTEGER REFERENCES part) PARTITION BY RANGE (id)",
                "CREATE TABLE of_part_low PARTITION OF of_part FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE plain (id INTEGER PRIMARY KEY, p INTEGER REFERENCES part)",
                "CREATE TABLE \"high part\" (no INTEGER, id INTEGER PRIMARY KEY)");
        execute(
                0,
                "ALTER TABLE \"high part\" DROP COLUMN no",
                "ALTER TABLE part ATTACH PARTITION \"high part\" FOR VALUES FROM (10) TO (20)");
        assertKept(new String[][] {
            {"part", "1", "of_part VALUES (1, 1)"},
            {"part", "11", "of_part VALUES (2, 11)"},
            {"part", "12", "plain VALUES (1, 12)"}
        });
    }

    /** Who refers to it, or it itself, has values that are computed, or equal to others. */
    @Test
    void aParentWithAChildIsNotDeletedWhereTheirValuesCannotBeCompared() throws SQLException {
        execute(
                0,
                "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE computed (id INTEGER PRIMARY KEY, k INTEGER GENERATED ALWAYS AS (id * 2) STORED UNIQUE)",
                "CREATE TABLE of_computed (id INTEGER PRIMARY KEY, k INTEGER REFERENCES computed (k))",
                "CREATE TABLE given (id INTEGER PRIMARY KEY)",
                "CREATE TABLE of_given (id INTEGER PRIMARY KEY, k INTEGER GENERATED ALWAYS AS (id * 2) STORED REFERENCES given)",
                "CREATE TABLE cased (id INTEGER PRIMARY KEY, k TEXT COLLATE any_case UNIQUE)",
                "CREATE TABLE of_cased (id INTEGER PRIMARY KEY, k TEXT COLLATE any_case REFERENCES cased (k))");
        assertKept(new String[][] {
            {"computed", "1", "of_computed VALUES (1, 2)"},
            {"given", "2", "of_given VALUES (1)"},
            {"cased", "1, 'a'", "of_cased VALUES (1, 'A')"}
        });
        try (Connection first = cluster.connect(0);
                Connection second = cluster.connect(1);
                Statement one = first.createStatement();
                Statement other = second.createStatement()) {
            first.setAutoCommit(false);
            second.setAutoCommit(false);
            one.execute("INSERT INTO given VALUES (11)");
            other.execute("INSERT INTO given VALUES (12)");
            first.commit();
            second.commit();
        }
        cluster.assertIdentical();
    }
}
