package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.ReadSet;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** Write sets say by keys what else they may conflict with. */
public abstract class CertificationKeysTck extends BindingTck {

    private int nextRow;

    @Test
    void certificationKeysSayWhatWasWrittenRemovedAndReferenced() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY, U VARCHAR(10) NOT NULL UNIQUE)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P, V INTEGER)");
        meta.takeWriteSets();
        execute("INSERT INTO P VALUES (1, 'a')");
        execute("INSERT INTO C VALUES (7, 1, 0)");
        execute("INSERT INTO C VALUES (8, NULL, 0)");
        execute("UPDATE C SET V = 1 WHERE ID = 7");
        execute("UPDATE P SET U = 'b '");
        execute("DELETE FROM C WHERE ID = 7");
        execute("DELETE FROM P");
        List<List<String>> keys = new ArrayList<>();
        List<Long> known = new ArrayList<>();
        for (WriteSet writeSet : meta.takeWriteSets()) {
            List<String> names = new ArrayList<>();
            assertThat(schemaKey(writeSet)).isIn(KeyMode.REFERENCED, KeyMode.CHANGED);
            for (int i = 0; i < writeSet.keys(); i++) {
                if (writeSet.keyHash(i) == KeyHasher.SCHEMA || writeSet.keyMode(i) == KeyMode.CHANGED) {
                    continue;
                }
                if (!known.contains(writeSet.keyHash(i))) {
                    known.add(writeSet.keyHash(i));
                }
                names.add(writeSet.keyMode(i) + " " + known.indexOf(writeSet.keyHash(i)));
            }
            keys.add(names);
        }
        // 0: P(1), 1: U('a'), 2: C(7), 3: C(8), then U('b').
        assertThat(keys.get(0)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 0", KeyMode.WRITTEN + " 1");
        assertThat(keys.get(1)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 2", KeyMode.REFERENCED + " 0");
        assertThat(keys.get(2)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 3");
        assertThat(keys.get(3)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 2");
        assertThat(keys.get(4))
                .containsExactlyInAnyOrder(KeyMode.WRITTEN + " 0", KeyMode.REMOVED + " 1", KeyMode.WRITTEN + " 4");
        assertThat(keys.get(5)).containsExactlyInAnyOrder(KeyMode.REMOVED + " 2");
        assertThat(keys.get(6)).containsExactlyInAnyOrder(KeyMode.REMOVED + " 0", KeyMode.REMOVED + " 4");
        execute("CREATE INDEX V ON C (V)");
        assertThat(schemaKey(meta.takeWriteSets().get(0))).isIn(KeyMode.REMOVED, KeyMode.WRITTEN);
    }

    @Test
    void certificationKeysAreTheSameOnDatabasesOfAllKinds() throws SQLException {
        execute(
                "CREATE TABLE K (SM SMALLINT NOT NULL, BI BIGINT NOT NULL, RE REAL NOT NULL, DBL DOUBLE PRECISION NOT NULL, DE DECIMAL(10, 3) NOT NULL,"
                        + " CH CHAR(4) NOT NULL, VC VARCHAR(10) NOT NULL, BO BOOLEAN NOT NULL, DA DATE NOT NULL, TI TIME NOT NULL, TS TIMESTAMP NOT NULL,"
                        + " PRIMARY KEY (SM, BI, RE, DBL, DE, CH, VC, BO, DA, TI, TS))");
        meta.takeWriteSets();
        execute(
                "INSERT INTO K VALUES (-7, 9000000000, 0.1, 1E-300, 12.5, 'ä', 'b ', TRUE, CAST('2024-02-29' AS DATE), CAST('23:59:01' AS TIME),"
                        + " CAST('2016-03-27 02:30:00.123456' AS TIMESTAMP))");
        TableShape table = origin.tables().get(0);
        KeyHasher expected = new KeyHasher()
                .begin(KeyHasher.constraint(
                        table.schema(),
                        table.name(),
                        table.columns().stream().map(TableShape.Column::name).toList()));
        expected.addInteger(-7);
        expected.addInteger(9_000_000_000L);
        expected.addDouble(0.1f);
        expected.addDouble(1e-300);
        expected.addDecimal(new BigDecimal("12.5"));
        expected.addText("ä");
        expected.addText("b");
        expected.addBoolean(true);
        expected.addDate(2024, 2, 29);
        expected.addTime((23 * 60 + 59) * 60 + 1, 0);
        expected.addDate(2016, 3, 27);
        expected.addTime((2 * 60 + 30) * 60, 123_456_000);
        WriteSet writeSet = meta.takeWriteSets().get(0);
        assertThat(IntStream.range(0, writeSet.keys())
                        .filter(i -> writeSet.keyMode(i) == KeyMode.WRITTEN)
                        .mapToObj(writeSet::keyHash))
                .containsExactly(expected.value());
    }

    @Test
    void certificationKeysAreThereOnlyForWhoBeginsWhileTheyAreWanted() throws SQLException {
        execute("CREATE TABLE K (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER)", "INSERT INTO K VALUES (1, 0), (2, 0)");
        meta.takeWriteSets();
        List<Integer> keys = new ArrayList<>();
        try (Connection connection = connect();
                PreparedStatement update = connection.prepareStatement("UPDATE K SET V = V + 1 WHERE ID = 1");
                PreparedStatement read = connection.prepareStatement("SELECT V FROM K WHERE ID = 2")) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            for (boolean wanted : new boolean[] {true, false, true, false}) {
                meta.wantsKeys(wanted);
                try (ResultSet rows = read.executeQuery()) {
                    assertThat(rows.next()).isTrue();
                }
                update.executeUpdate();
                if (!wanted) {
                    meta.wantsKeys(true); // the transaction goes on as it has begun
                }
                update.executeUpdate();
                connection.commit();
                keys.add(meta.takeWriteSets().get(0).keys());
            }
        }
        assertThat(keys.get(0)).isGreaterThan(3);
        assertThat(keys).containsExactly(keys.get(0), 0, keys.get(0), 0);
    }

    @Test
    void whatIsReadOfATableThatRowsWereInsertedIntoIsComparedFromTheBegin() throws SQLException {
        execute(
                "CREATE TABLE A (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER)",
                "CREATE TABLE B (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER)",
                "INSERT INTO B VALUES (1, 0)");
        meta.takeWriteSets();
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            for (boolean inserts : new boolean[] {true, false}) {
                for (String query : List.of("SELECT COUNT(*) FROM A WHERE V = 5", "SELECT V FROM B WHERE ID = 1")) {
                    try (ResultSet rows = statement.executeQuery(query)) {
                        assertThat(rows.next()).isTrue();
                    }
                }
                statement.executeUpdate(inserts ? "INSERT INTO A VALUES (7, 5)" : "UPDATE A SET V = 6 WHERE ID = 7");
                connection.commit();
                WriteSet writeSet = meta.takeWriteSets().get(0);
                assertThat(IntStream.range(0, writeSet.keys()).mapToObj(writeSet::keyMode))
                        .filteredOn(mode -> mode == KeyMode.READ || mode == KeyMode.READ_UNLOCKED)
                        .containsExactlyInAnyOrder(inserts ? KeyMode.READ_UNLOCKED : KeyMode.READ, KeyMode.READ);
            }
        }
    }

    private static KeyMode schemaKey(WriteSet writeSet) {
        return IntStream.range(0, writeSet.keys())
                .filter(i -> writeSet.keyHash(i) == KeyHasher.SCHEMA)
                .mapToObj(writeSet::keyMode)
                .reduce((one, other) -> {
                    throw new AssertionError("two");
                })
                .orElseThrow();
    }

    @Test
    void uniqueIndexesHaveCertificationKeysToo() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER, A INTEGER UNIQUE)",
                "CREATE UNIQUE INDEX U ON T (U)");
        meta.takeWriteSets();
        execute("INSERT INTO T VALUES (1, NULL, NULL)");
        execute("DELETE FROM T");
        execute("INSERT INTO T VALUES (2, NULL, NULL)");
        List<List<Long>> keys = new ArrayList<>();
        for (WriteSet writeSet : meta.takeWriteSets()) {
            keys.add(IntStream.range(0, writeSet.keys())
                    .filter(i -> writeSet.keyMode(i) != KeyMode.CHANGED)
                    .mapToObj(writeSet::keyHash)
                    .filter(key -> key != KeyHasher.SCHEMA)
                    .toList());
        }
        // The index holds one NULL at most, the constraint any number.
        assertThat(keys.get(0)).hasSize(2);
        assertThat(keys.get(1)).containsExactlyInAnyOrderElementsOf(keys.get(0));
        assertThat(keys.get(2)).hasSize(2).containsAnyElementsOf(keys.get(0));
    }

    @Test
    void serializableTransactionsTellWhichRowsTheyLookedFor() throws SQLException {
        execute(
                "CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE A (ID BIGINT NOT NULL PRIMARY KEY, V INTEGER)",
                "CREATE TABLE B (N DECIMAL(9, 2) NOT NULL, C CHAR(5) NOT NULL, D DATE NOT NULL, V INTEGER,"
                        + " PRIMARY KEY (C, D, N))",
                "INSERT INTO A VALUES (1, 0), (2, 0)");
        long a2 = rowKey("UPDATE A SET V = 1 WHERE ID = 2");
        long a3 = rowKey("INSERT INTO A VALUES (3, 0)");
        long b = rowKey("INSERT INTO B VALUES (1.5, 'x', '2020-02-29', 0)");
        try (Connection connection = serializable()) {
            assertThat(readsOf(connection, "SELECT V FROM A WHERE ID = 2")).containsExactly(a2);
            assertThat(readsOf(connection, "SELECT V FROM A WHERE 3 = ID AND V > 100", "SELECT 1 FROM A WHERE ID = 2"))
                    .containsExactlyInAnyOrder(a2, a3);
            assertThat(readsOf(connection, "UPDATE A SET V = V + 1 WHERE ID = 2"))
                    .containsExactly(a2);
            assertThat(readsOf(connection, "DELETE FROM A WHERE ID = 3")).containsExactly(a3);
            assertThat(readsOf(connection, "SELECT V FROM A WHERE ID = 3"))
                    .as("is not there any more")
                    .containsExactly(a3);
            assertThat(readsOf(connection, "SELECT V FROM B WHERE N = 1.50 AND D = DATE('2020-02-29') AND C = 'x    '"))
                    .containsExactly(b);
            assertThat(readsOf(
                            connection,
                            "SELECT A.V FROM B, A WHERE A.ID = 2 AND B.C = 'x' AND B.N = 1.5"
                                    + " AND B.D = DATE('2020-02-29')"))
                    .containsExactlyInAnyOrder(a2, b);
            try (PreparedStatement select = connection.prepareStatement("SELECT V FROM A WHERE ID = ?")) {
                for (long[] keys : new long[][] {{2, a2}, {3, a3}, {2, a2}}) {
                    select.setLong(1, keys[0]);
                    select.executeQuery().close();
                    assertThat(readsOf(connection)).containsExactly(keys[1]);
                }
            }
        }
    }

    @Test
    void serializableTransactionsTellOfWhichTablesTheyReadMore() throws SQLException {
        execute(
                "CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE \"Täble\" (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER NOT NULL UNIQUE, V INTEGER)",
                "CREATE INDEX V ON \"Täble\" (V)",
                "CREATE TABLE PAIRS (A INTEGER NOT NULL, B INTEGER NOT NULL, PRIMARY KEY (A, B))",
                "CREATE VIEW SUMS AS SELECT SUM(V) AS S FROM \"Täble\"",
                "CREATE TRIGGER LOOKS AFTER DELETE ON PAIRS FOR EACH STATEMENT"
                        + " INSERT INTO W SELECT 1000 + COUNT(*) FROM \"Täble\" WHERE V > 5");
        long table = tableKey("INSERT INTO \"Täble\" VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)");
        long pairs = tableKey("INSERT INTO PAIRS VALUES (1, 1), (1, 2)");
        List<String> queries = List.of(
                "SELECT * FROM \"Täble\"",
                "SELECT COUNT(*) FROM \"Täble\"",
                "SELECT MAX(V) FROM \"Täble\"",
                "SELECT MIN(ID) FROM \"Täble\"",
                "SELECT MAX(ID) FROM \"Täble\"",
                "SELECT DISTINCT V FROM \"Täble\"",
                "SELECT V FROM \"Täble\" WHERE U = 2",
                "SELECT ID FROM \"Täble\" WHERE V = 2",
                "SELECT V FROM \"Täble\" WHERE ID > 1 AND ID < 3",
                "SELECT V FROM \"Täble\" WHERE ID >= 2",
                "SELECT V FROM \"Täble\" WHERE ID <= 2",
                "SELECT V FROM \"Täble\" WHERE ID IN (1, 2)",
                "SELECT V FROM \"Täble\" WHERE ID = 1.5",
                "SELECT V FROM \"Täble\" ORDER BY V DESC FETCH FIRST ROW ONLY",
                "SELECT S FROM SUMS",
                "VALUES (SELECT SUM(V) FROM \"Täble\")",
                "SELECT 1 FROM SYSIBM.SYSDUMMY1 WHERE EXISTS (SELECT 1 FROM \"Täble\" WHERE V = 77)",
                "SELECT T.V FROM \"Täble\" T, \"Täble\" U WHERE T.V = U.V",
                "SELECT V FROM \"Täble\" WHERE V > 1 FOR UPDATE",
                "UPDATE \"Täble\" SET V = 5 WHERE V = 99",
                "DELETE FROM \"Täble\" WHERE U > 99",
                "INSERT INTO W SELECT 10000 + ID FROM \"Täble\" WHERE ID > 99",
                "MERGE INTO W USING \"Täble\" T ON W.ID = T.V AND T.ID > 99 WHEN MATCHED THEN DELETE");
        try (Connection connection = serializable()) {
            for (String query : queries) {
                assertThat(readsOf(connection, query)).as(query).contains(table);
            }
            for (String query : queries) {
                assertThat(readsOf(connection, query)).as(query + ", once more").contains(table);
                if (query.startsWith("SELECT")) {
                    try (PreparedStatement statement = connection.prepareStatement(query)) {
                        for (int time = 1; time <= 3; time++) {
                            statement.executeQuery().close();
                            assertThat(readsOf(connection))
                                    .as(query + ", prepared, time " + time)
                                    .contains(table);
                        }
                    }
                }
            }
            assertThat(readsOf(connection, "SELECT B FROM PAIRS WHERE A = 1")).containsExactly(pairs);
            assertThat(readsOf(connection, "DELETE FROM PAIRS WHERE A = 1 AND B = 2"))
                    .as("a trigger reads")
                    .contains(table)
                    .doesNotContain(pairs);
        }
    }

    @Test
    void onlySerializableTransactionsTellWhatTheyHaveRead() throws SQLException {
        execute(
                "CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (1), (2)");
        long table = tableKey("DELETE FROM T WHERE ID = 2");
        try (Connection connection = connect();
                PreparedStatement sum = connection.prepareStatement("SELECT COUNT(*) FROM T")) {
            for (int level : new int[] {
                Connection.TRANSACTION_REPEATABLE_READ,
                Connection.TRANSACTION_SERIALIZABLE,
                Connection.TRANSACTION_READ_COMMITTED,
                Connection.TRANSACTION_SERIALIZABLE,
                Connection.TRANSACTION_READ_UNCOMMITTED
            }) {
                connection.setTransactionIsolation(level);
                sum.executeQuery().close();
                assertThat(readsOf(connection))
                        .isEqualTo(level == Connection.TRANSACTION_SERIALIZABLE ? Set.of(table) : Set.of());
            }
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            sum.executeQuery().close();
            connection.rollback();
            assertThat(readsOf(connection))
                    .as("what was rolled back has read nothing")
                    .isEmpty();
            sum.executeQuery().close();
            connection.commit();
            assertThat(readsOf(connection)).as("it was another transaction's").isEmpty();
            Savepoint savepoint = connection.setSavepoint();
            sum.executeQuery().close();
            connection.rollback(savepoint);
            assertThat(readsOf(connection)).as("the client has seen it").containsExactly(table);
        }
    }

    @Test
    void whatIsFetchedAfterACommitIsReadByTheNextTransaction() throws SQLException {
        execute(
                "CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (1), (2), (3)");
        long table = tableKey("DELETE FROM T WHERE ID = 3");
        try (Connection connection = serializable();
                Statement statement = connection.createStatement(
                        ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT)) {
            try (ResultSet rows = statement.executeQuery("SELECT ID FROM T")) {
                rows.next();
                assertThat(readsOf(connection)).containsExactly(table);
                rows.next();
                assertThat(readsOf(connection)).containsExactly(table);
            }
            connection.commit();
            assertThat(readsOf(connection)).as("it is closed").isEmpty();
            try (ResultSet rows = statement.executeQuery("SELECT ID FROM T")) {
                rows.next();
                connection.rollback();
                assertThat(readsOf(connection)).as("a rollback closes it").isEmpty();
            }
        }
    }

    @Test
    void whatAViolatedConstraintTellsIsRead() throws SQLException {
        execute(
                "CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE G (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY, G INTEGER REFERENCES G ON DELETE CASCADE)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P, U INTEGER UNIQUE)",
                "CREATE TABLE OTHER (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TRIGGER COPIES AFTER INSERT ON OTHER REFERENCING NEW AS N FOR EACH ROW"
                        + " INSERT INTO C VALUES (100 + N.ID, 1000, NULL)");
        long g = tableKey("INSERT INTO G VALUES (1)");
        long p = tableKey("INSERT INTO P VALUES (1, 1)");
        long c = tableKey("INSERT INTO C VALUES (1, 1, 7)");
        List<String> violating = List.of(
                "INSERT INTO C VALUES (1, 1, 8)",
                "INSERT INTO C VALUES (2, 1, 7)",
                "INSERT INTO C VALUES (2, 99, 8)",
                "UPDATE C SET P = 99 WHERE ID = 1",
                "DELETE FROM P WHERE ID = 1",
                "DELETE FROM G WHERE ID = 1",
                "INSERT INTO OTHER VALUES (1)");
        try (Connection connection = serializable();
                Statement statement = connection.createStatement()) {
            for (String sql : violating) {
                assertThatThrownBy(() -> statement.execute(sql))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).startsWith("23"));
                assertThat(readsOf(connection)).as(sql).contains(g, p, c);
            }
            assertThat(readsOf(connection)).as("it was another transaction's").isEmpty();
        }
    }

    @Test
    void whoReadsManyRowsTellsOnlyTheirTable() throws SQLException {
        execute("CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY)", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        long table = tableKey("INSERT INTO T VALUES (1)");
        try (Connection connection = serializable();
                PreparedStatement select = connection.prepareStatement("SELECT 1 FROM T WHERE ID = ?")) {
            for (int keys : new int[] {ReadSet.KEYS_MAX, ReadSet.KEYS_MAX + 1}) {
                for (int i = 0; i < keys; i++) {
                    select.setInt(1, i);
                    select.executeQuery().close();
                }
                Set<Long> reads = readsOf(connection);
                if (keys <= ReadSet.KEYS_MAX) {
                    assertThat(reads).hasSize(keys).doesNotContain(table);
                } else {
                    assertThat(reads).containsExactly(table);
                }
            }
        }
    }

    private Connection serializable() throws SQLException {
        Connection connection = connect();
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        return connection;
    }

    /** The key of the only row that the statement changes. */
    private long rowKey(String statement) throws SQLException {
        return onlyKey(statement, KeyMode.WRITTEN);
    }

    private long tableKey(String statement) throws SQLException {
        return onlyKey(statement, KeyMode.CHANGED);
    }

    private long onlyKey(String statement, KeyMode mode) throws SQLException {
        meta.takeWriteSets();
        execute(statement);
        Set<Long> keys = keys(meta.takeWriteSets().get(0), mode);
        keys.remove(KeyHasher.SCHEMA);
        assertThat(keys).hasSize(1);
        return keys.iterator().next();
    }

    /** Executes statements, changes a row of the table W, and commits: what the transaction says it has read. */
    private Set<Long> readsOf(Connection connection, String... statements) throws SQLException {
        meta.takeWriteSets();
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                if (statement.execute(sql)) {
                    statement.getResultSet().next();
                }
            }
            statement.execute("INSERT INTO W VALUES (" + nextRow++ + ")");
        }
        connection.commit();
        return keys(meta.takeWriteSets().get(0), KeyMode.READ, KeyMode.READ_UNLOCKED);
    }

    private static Set<Long> keys(WriteSet writeSet, KeyMode... modes) {
        return IntStream.range(0, writeSet.keys())
                .filter(i -> List.of(modes).contains(writeSet.keyMode(i)))
                .mapToObj(writeSet::keyHash)
                .collect(Collectors.toSet());
    }
}
