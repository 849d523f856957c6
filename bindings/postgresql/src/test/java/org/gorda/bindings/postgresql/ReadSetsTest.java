package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** SERIALIZABLE transactions tell of which tables they have read. */
@Timeout(120)
class ReadSetsTest {

    /** A table that only says that the transaction has changed something. */
    private static final String WRITES = "INSERT INTO w DEFAULT VALUES";

    private final MetaLevel meta = new MetaLevel();
    private final Map<Long, String> tables = Stream.of(
                    table("public", "w"),
                    table("public", "a"),
                    table("public", "b"),
                    table("public", "parent"),
                    table("public", "child"),
                    table("public", "part_1"),
                    table("public", "part_2"),
                    table("public", "made"),
                    table("Näme,)(\"", "Täble|"))
            .collect(Collectors.toMap(TableShape::hash, TableShape::name));

    private ReflectedDatabase database;
    private Connection connection;

    @TempDir
    private Path directory;

    private static TableShape table(String schema, String name) {
        return new TableShape(schema, name, List.of(), List.of());
    }

    @BeforeEach
    void open() throws SQLException {
        TestServer.dropOthers(directory);
        database = new PostgresBinding().open(TestServer.configuration(directory, "db"), meta);
        connection = database.connect(new Properties());
        execute(
                "CREATE TABLE w (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
                "CREATE TABLE a (id int PRIMARY KEY, u int UNIQUE, v int)",
                "CREATE INDEX ON a (v)",
                "CREATE INDEX hash ON a USING hash (u)",
                "CREATE TABLE b (id int PRIMARY KEY, v int)",
                "CREATE TABLE parent (id int PRIMARY KEY)",
                "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent DEFERRABLE)",
                "CREATE TABLE part (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
                "CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100)",
                "CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (100) TO (200)",
                "CREATE SCHEMA \"Näme,)(\"\"\"",
                "CREATE TABLE \"Näme,)(\"\"\".\"Täble|\" (id int PRIMARY KEY)",
                "CREATE VIEW sums AS SELECT sum(v) FROM a",
                "CREATE FUNCTION looks() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM b'",
                "CREATE FUNCTION tries(i int) RETURNS void LANGUAGE plpgsql AS $$ begin insert into child values (i, i); set constraints all immediate;"
                        + " exception when foreign_key_violation then null; end $$",
                "INSERT INTO a SELECT i, i, i FROM generate_series(1, 1000) i",
                "INSERT INTO b SELECT i, i FROM generate_series(1, 1000) i",
                "INSERT INTO parent VALUES (1)",
                "INSERT INTO part VALUES (1, 1), (101, 1)");
        connection.setAutoCommit(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    private void execute(String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** What the transaction has read by what it says when it commits, having changed something. */
    private Set<String> reads() throws SQLException {
        meta.takeWriteSets();
        execute(WRITES);
        connection.commit();
        List<WriteSet> writeSets = meta.takeWriteSets();
        assertThat(writeSets).hasSize(1);
        WriteSet writeSet = writeSets.get(0);
        Function<KeyMode, List<Long>> keys = mode -> IntStream.range(0, writeSet.keys())
                .filter(i -> writeSet.keyMode(i) == mode)
                .mapToObj(writeSet::keyHash)
                .toList();
        assertThat(keys.apply(KeyMode.READ)).as("nothing is locked").isEmpty();
        return keys.apply(KeyMode.READ_UNLOCKED).stream()
                .map(key -> tables.getOrDefault(key, "another"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private Set<String> readsOf(String... statements) throws SQLException {
        execute(statements);
        return reads();
    }

    @Test
    void whateverWayTheyAreRead() throws SQLException {
        List<String> readers = new ArrayList<>(List.of(
                "SELECT * FROM a",
                "SELECT v FROM a WHERE id = 7",
                "SELECT v FROM a WHERE id = 7777",
                "SELECT id FROM a WHERE v = 7",
                "SELECT id FROM a WHERE v BETWEEN 3 AND 4",
                "SELECT id FROM a WHERE u = 7",
                "SELECT max(v) FROM a",
                "SELECT v FROM a WHERE ctid = '(0,1)'",
                "SELECT * FROM sums",
                "SELECT v FROM a WHERE id = 3 FOR UPDATE",
                "UPDATE a SET v = 7 WHERE id = 7",
                "UPDATE a SET v = 7 WHERE id = 7777",
                "DELETE FROM a WHERE v = -1",
                "INSERT INTO w SELECT FROM a WHERE v = 77777",
                "MERGE INTO w USING a ON w.id = a.id AND a.id < 0 WHEN MATCHED THEN DELETE"));
        if (connection.getMetaData().getDatabaseMajorVersion() == 14) {
            readers.removeIf(reader -> reader.startsWith("MERGE"));
        }
        for (String how : List.of("seqscan", "indexscan", "bitmapscan", "indexonlyscan")) {
            for (String other : List.of("seqscan", "indexscan", "bitmapscan", "indexonlyscan")) {
                execute("SET enable_" + other + " TO " + (other.equals(how) ? "on" : "off"));
            }
            for (String reader : readers) {
                assertThat(readsOf(reader))
                        .as(reader + " by " + how)
                        .contains("a")
                        .isSubsetOf("a", "w");
                if (reader.startsWith("SELECT")) {
                    try (PreparedStatement select = connection.prepareStatement(reader)) {
                        for (int time = 1; time <= 7; time++) {
                            select.executeQuery().close();
                            assertThat(reads())
                                    .as(reader + ", prepared, time " + time)
                                    .containsExactly("a");
                        }
                    }
                }
            }
        }
    }

    @Test
    void whatIsWrittenOnlyIsNotRead() throws SQLException {
        assertThat(readsOf("INSERT INTO b VALUES (7000, 0)", "INSERT INTO b VALUES (7001, 0)"))
                .isEmpty();
        assertThat(readsOf(
                        "SELECT 1",
                        "SELECT count(*) FROM pg_class",
                        "CREATE TEMPORARY TABLE mine (i int)",
                        "SELECT * FROM mine"))
                .isEmpty();
    }

    @Test
    void functionsPartitionsAndStrangeNames() throws SQLException {
        assertThat(readsOf("SELECT looks()")).containsExactly("b");
        assertThat(readsOf(
                        "SET application_name TO 'transaction snapshot'",
                        "DECLARE snapshot CURSOR FOR SELECT * FROM b"))
                .isEmpty();
        assertThat(readsOf("SELECT v FROM part WHERE id = 5")).containsExactly("part_1");
        assertThat(readsOf("SELECT v FROM part")).containsExactly("part_1", "part_2");
        assertThat(readsOf("SELECT * FROM \"Näme,)(\"\"\".\"Täble|\"")).containsExactly("Täble|");
        assertThat(readsOf("CREATE TABLE made (id int PRIMARY KEY)", "SELECT * FROM made, b WHERE b.id = made.id"))
                .contains("made")
                .isSubsetOf("made", "b");
    }

    @Test
    void transactionsOfOtherLevelsAndThatAreOver() throws SQLException {
        for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ}) {
            connection.setTransactionIsolation(level);
            assertThat(readsOf("SELECT * FROM a")).isEmpty();
        }
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        execute("SELECT * FROM a");
        connection.rollback();
        assertThat(reads()).as("what was rolled back has read nothing").isEmpty();
        execute("SELECT * FROM a");
        connection.commit();
        assertThat(reads()).as("it was another transaction's").isEmpty();
        try (Connection other = database.connect(new Properties());
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            other.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            statement.executeQuery("SELECT * FROM b").close();
            assertThat(readsOf("SELECT * FROM a")).containsExactly("a");
            assertThat(reads())
                    .as("the server remembers that because of the other one")
                    .isEmpty();
        }
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        assertThat(readsOf("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT * FROM a"))
                .containsExactly("a");
        meta.wantsKeys(false);
        assertThat(readsOf("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT * FROM a"))
                .isEmpty();
    }

    @Test
    void whatIsTakenBackWasRead() throws SQLException {
        Savepoint savepoint = connection.setSavepoint();
        execute("SELECT * FROM a");
        connection.rollback(savepoint);
        assertThat(reads()).as("the client has seen it").containsExactly("a");
        savepoint = connection.setSavepoint();
        assertThatThrownBy(() -> execute("INSERT INTO b VALUES (7, 7)")).hasMessageContaining("duplicate key");
        connection.rollback(savepoint);
        assertThat(reads()).as("a key that was there").containsExactly("b");
        savepoint = connection.setSavepoint();
        assertThatThrownBy(() -> execute("INSERT INTO child VALUES (1, 99)")).hasMessageContaining("foreign key");
        connection.rollback(savepoint);
        assertThat(reads()).as("a parent that was not").containsExactly("parent");
        assertThat(readsOf("SELECT tries(99)"))
                .as("one that nobody was told of")
                .containsExactly("parent");
    }

    @Test
    void whatCannotBeToldIsRefusedWhereEveryReplicaTakesWrites() throws SQLException {
        for (boolean everywhere : new boolean[] {true, false}) {
            meta.wantsKeys(everywhere);
            for (String later : List.of(
                    "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM a",
                    "SET TRANSACTION SNAPSHOT '" + exported() + "'")) {
                execute(later, WRITES);
                if (everywhere) {
                    assertThatThrownBy(connection::commit)
                            .hasMessageContaining("SERIALIZABLE transaction must tell what it has read")
                            .isInstanceOfSatisfying(
                                    SQLException.class,
                                    e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
                } else {
                    connection.commit();
                }
            }
            execute("CLOSE ALL");
            connection.commit();
        }
        meta.wantsKeys(true);
        try (Statement statement = connection.createStatement(
                ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT)) {
            statement.setFetchSize(1);
            try (ResultSet rows = statement.executeQuery("SELECT * FROM b")) {
                rows.next();
                assertThat(reads()).as("a cursor of the driver's").containsExactly("b");
            }
        }
    }

    /** The snapshot of a transaction that goes on. */
    private String exported() throws SQLException {
        Connection other = database.connect(new Properties());
        other.setAutoCommit(false);
        other.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        try (Statement statement = other.createStatement();
                ResultSet rows = statement.executeQuery("SELECT pg_export_snapshot()")) {
            rows.next();
            return rows.getString(1);
        }
    }
}
