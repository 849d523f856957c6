package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What every binding must do. An origin and a replica are opened; what is done at the origin is captured, encoded, decoded and
 * applied to the replica, which must then hold the same rows.
 */
@Timeout(120)
public abstract class BindingTck {

    private final ExecutorService clients = Executors.newCachedThreadPool();
    private MetaLevel meta;
    private ReflectedDatabase origin;
    private MetaLevel replicaMeta;
    private ReflectedDatabase replica;
    private Applier applier;
    private long applied;

    protected abstract DatabaseBinding binding();

    /** A configuration for a new database; the same name gives the same database. */
    protected abstract DatabaseConfiguration configuration(String name);

    /** The process is killed and started again: what was not on disk is lost, if the binding can do that to itself. */
    protected ReflectedDatabase restart(ReflectedDatabase database, String name, MetaLevel listener) {
        database.close();
        return binding().open(configuration(name), listener);
    }

    @BeforeEach
    void open() {
        meta = new MetaLevel();
        replicaMeta = new MetaLevel();
        origin = binding().open(configuration("origin"), meta);
        replica = binding().open(configuration("replica"), replicaMeta);
        applier = replica.applier();
    }

    @AfterEach
    void close() {
        clients.shutdownNow();
        origin.close();
        replica.close();
        assertThat(meta.ended())
                .as("each transaction that began was told to have ended")
                .isEqualTo(meta.begun());
    }

    // --------------------------------------------------------------------------------------------------- the tools

    protected final Connection connect() throws SQLException {
        Connection connection = origin.connect(new Properties());
        connection.setAutoCommit(false);
        return connection;
    }

    /** Executes statements in one transaction and commits. */
    protected final void execute(String... statements) throws SQLException {
        try (Connection connection = connect()) {
            for (String sql : statements) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute(sql);
                }
            }
            connection.commit();
        }
    }

    /** Brings the replica up to the origin. */
    protected final void replicate() {
        for (WriteSet writeSet : meta.takeWriteSets()) {
            applier.apply(writeSet);
            applier.commit(new StoredPosition(1, 2, 3, ++applied), false);
        }
    }

    /** All rows of all tables at both, which must be the same ones. */
    protected final void assertEqual() throws SQLException {
        replicate();
        List<TableShape> tables = origin.tables();
        assertThat(replica.tables()).isEqualTo(tables);
        for (TableShape table : tables) {
            assertThat(rows(replica, table)).as("rows of %s", table).isEqualTo(rows(origin, table));
        }
    }

    private static List<List<Object>> rows(ReflectedDatabase database, TableShape table) throws SQLException {
        String order = table.key().isEmpty()
                ? ""
                : " ORDER BY "
                        + String.join(
                                ", ", table.key().stream().map(String::valueOf).toList());
        List<List<Object>> rows = new ArrayList<>();
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT * FROM " + table + order)) {
            int columns = found.getMetaData().getColumnCount();
            while (found.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= columns; i++) {
                    row.add(comparable(found, i));
                }
                rows.add(row);
            }
        }
        return rows;
    }

    private static Object comparable(ResultSet found, int column) throws SQLException {
        int type = found.getMetaData().getColumnType(column);
        if (type == Types.BLOB || type == Types.BINARY || type == Types.VARBINARY || type == Types.LONGVARBINARY) {
            byte[] bytes = found.getBytes(column);
            return bytes == null ? null : Arrays.toString(bytes);
        }
        return found.getString(column);
    }

    private int count(ReflectedDatabase database, String table) throws SQLException {
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
            found.next();
            return found.getInt(1);
        }
    }

    private static void await(String what, java.util.function.BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within 30 s: " + what);
            }
            Thread.onSpinWait();
        }
    }

    private static Refusal conflict(String text) {
        return new Refusal(Refusal.Cause.CONFLICT, text);
    }

    // ---------------------------------------------------------------------------------------------- every way to
    // change

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
    void keysThatCollideInPassing() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER NOT NULL UNIQUE, V VARCHAR(5))",
                "INSERT INTO T VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')");
        execute("UPDATE T SET ID = ID + 1", "UPDATE T SET U = 40 - U");
        execute("UPDATE T SET U = CASE WHEN U = 30 THEN -31 ELSE U END");
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
    void valuesOfAllTypesWithTheirExtremes() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, BO BOOLEAN, SM SMALLINT, IT INTEGER, BI BIGINT, RE REAL, "
                        + "DO DOUBLE PRECISION, DE DECIMAL(31, 10), CH CHAR(5), VC VARCHAR(100), CL CLOB(100K), "
                        + binaryColumns() + ", BL BLOB(100K), DA DATE, TI TIME, TS TIMESTAMP)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO T VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            insert.setInt(1, 1);
            for (int i = 2; i <= 17; i++) {
                insert.setNull(i, insert.getParameterMetaData().getParameterType(i));
            }
            insert.executeUpdate();
            Object[][] rows = {
                {
                    true,
                    Short.MAX_VALUE,
                    Integer.MAX_VALUE,
                    Long.MAX_VALUE,
                    Float.MAX_VALUE,
                    Double.MAX_VALUE,
                    new BigDecimal("123456789012345678901.0123456789"),
                    "abcde",
                    "voll \u0000 ä€𝄞 \ud800",
                    "clob",
                    new byte[] {0, -1, 127},
                    new byte[] {1},
                    new byte[] {0, 1, 2, -128},
                    "9999-12-31",
                    "23:59:59",
                    "9999-12-31 23:59:59.999999999"
                },
                {
                    false,
                    Short.MIN_VALUE,
                    Integer.MIN_VALUE,
                    Long.MIN_VALUE,
                    -Float.MAX_VALUE,
                    -Double.MAX_VALUE,
                    new BigDecimal("-0.0000000001"),
                    "",
                    "",
                    "",
                    new byte[3],
                    new byte[0],
                    new byte[0],
                    "0001-01-01",
                    "00:00:00",
                    "0001-01-01 00:00:00.0"
                },
                {
                    false,
                    (short) 0,
                    0,
                    0L,
                    1e-37f,
                    2.3e-300,
                    BigDecimal.ZERO,
                    "a",
                    " ",
                    "x".repeat(70_000),
                    new byte[] {32, 32, 32},
                    new byte[] {32},
                    new byte[90_000],
                    "2016-03-27",
                    "02:30:00",
                    "2016-03-27 02:30:00.000000001"
                }
            };
            for (int i = 0; i < rows.length; i++) {
                insert.setInt(1, i + 2);
                for (int c = 0; c < rows[i].length; c++) {
                    set(insert, c + 2, rows[i][c]);
                }
                insert.executeUpdate();
            }
            connection.commit();
        }
        execute(
                "UPDATE T SET SM = 5, VC = VC || 'x' WHERE ID > 1",
                "UPDATE T SET DA = NULL, CL = NULL, BL = NULL WHERE ID = 2");
        assertEqual();
    }

    /** Two columns, one of fixed length 3 and one of variable length up to 100, for bytes. */
    protected abstract String binaryColumns();

    private static void set(PreparedStatement insert, int column, Object value) throws SQLException {
        if (value instanceof String text && column >= 15) {
            insert.setString(column, text);
        } else if (value instanceof byte[] bytes) {
            insert.setBytes(column, bytes);
        } else {
            insert.setObject(column, value);
        }
    }

    @Test
    void largeObjectsFromStreams() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER, B BLOB(2M), C CLOB(2M))");
        byte[] bytes = new byte[700_000];
        new Random(3).nextBytes(bytes);
        String text = "zeile ä\n".repeat(60_000);
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, 0, ?, ?)")) {
            insert.setInt(1, 1);
            insert.setBinaryStream(2, new ByteArrayInputStream(bytes));
            insert.setCharacterStream(3, new StringReader(text));
            insert.executeUpdate();
            connection.commit();
        }
        execute("UPDATE T SET N = 1");
        try (Connection connection = connect();
                PreparedStatement update = connection.prepareStatement("UPDATE T SET B = ? WHERE ID = 1")) {
            update.setBinaryStream(1, new ByteArrayInputStream(bytes, 5, 300_000), 300_000);
            update.executeUpdate();
            connection.commit();
        }
        List<WriteSet> writeSets = meta.takeWriteSets();
        assertThat(writeSets.get(2).length())
                .as("an update of another column does not carry the large ones")
                .isLessThan(200);
        for (WriteSet writeSet : writeSets) {
            applier.apply(writeSet);
            applier.commit(new StoredPosition(1, 2, 3, ++applied), false);
        }
        assertEqual();
    }

    @Test
    void identityAndSequenceValuesAreNotGivenTwiceAfterTakingOver() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)",
                "CREATE TABLE D (ID BIGINT NOT NULL GENERATED BY DEFAULT AS IDENTITY (START WITH 1000, INCREMENT BY -5) PRIMARY KEY)",
                "CREATE SEQUENCE S AS BIGINT START WITH 7",
                "CREATE TABLE U (ID BIGINT NOT NULL PRIMARY KEY)");
        for (int i = 0; i < 3; i++) {
            execute(
                    "INSERT INTO T (A) VALUES (1), (2), (3)",
                    "INSERT INTO D VALUES (DEFAULT)",
                    "INSERT INTO U VALUES (NEXT VALUE FOR S)");
        }
        replicate();
        replica.takeOver();
        try (Connection connection = replica.connect(new Properties());
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < 3; i++) {
                statement.executeUpdate("INSERT INTO T (A) VALUES (9), (9)");
                statement.executeUpdate("INSERT INTO D VALUES (DEFAULT)");
                statement.executeUpdate("INSERT INTO U VALUES (NEXT VALUE FOR S)");
            }
        }
        assertThat(count(replica, "T")).isEqualTo(15);
        assertThat(count(replica, "D")).isEqualTo(6);
        assertThat(count(replica, "U")).isEqualTo(6);
    }

    // ---------------------------------------------------------------------------------------------- schema changes

    @Test
    void schemaChangesInTheirPlaceAmongRows() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 1)",
                "ALTER TABLE T ADD COLUMN B VARCHAR(10) DEFAULT 'new'",
                "INSERT INTO T VALUES (2, 2, 'two')",
                "CREATE INDEX I ON T (B)",
                "CREATE VIEW V AS SELECT B FROM T",
                "UPDATE T SET A = 3");
        execute("DROP VIEW V", "DROP INDEX I", "ALTER TABLE T DROP COLUMN A", "INSERT INTO T VALUES (3, 'three')");
        assertEqual();
        execute("CREATE TABLE GONE (ID INTEGER NOT NULL PRIMARY KEY)", "DROP TABLE GONE");
        execute("TRUNCATE TABLE T", "INSERT INTO T VALUES (4, 'four')");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    @Test
    void schemaChangeThatIsRolledBackIsNotReplicated() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("INSERT INTO T VALUES (1)");
            connection.rollback();
        }
        execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        assertEqual();
        assertThat(replica.tables()).hasSize(1);
    }

    @Test
    void generatedConstraintNamesAreTheSameEverywhere() throws SQLException {
        execute("CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER NOT NULL UNIQUE, CHECK (A > 0))");
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P)");
        try (Connection connection = connect();
                PreparedStatement create =
                        connection.prepareStatement("CREATE TABLE R (ID INTEGER NOT NULL PRIMARY KEY)");
                Statement statement = connection.createStatement()) {
            create.execute();
            statement.execute("DROP TABLE R");
            create.execute();
            connection.commit();
        }
        replicate();
        assertThat(constraintNames(replica)).isEqualTo(constraintNames(origin)).hasSize(6);
        for (String name : constraintNames(origin)) {
            if (constraintNames(origin).contains(name)) {
                execute("ALTER TABLE T DROP PRIMARY KEY");
                break;
            }
        }
        replicate();
        assertThat(constraintNames(replica)).isEqualTo(constraintNames(origin)).hasSize(5);
    }

    /** The names of all constraints of clients' tables. */
    protected abstract Set<String> constraintNames(ReflectedDatabase database) throws SQLException;

    @Test
    void tableWithoutPrimaryKeyIsRefusedAtTheFirstChangeAndNothingIsLost() throws SQLException {
        execute("CREATE TABLE T (A INTEGER)", "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO U VALUES (1)");
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                    .hasMessageContaining("primary key")
                    .hasMessageContaining("T");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "U")).isEqualTo(1);
    }

    @Test
    void tableMayGetItsPrimaryKeyAfterItsFirstRowsInTheTransactionThatMakesIt() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL, A INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 2)",
                "ALTER TABLE T ADD CONSTRAINT P PRIMARY KEY (ID)",
                "UPDATE T SET A = A + 1 WHERE ID = 2",
                "INSERT INTO T VALUES (3, 3)");
        execute("DELETE FROM T WHERE ID = 1");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
        execute("CREATE TABLE GONE (ID INTEGER)", "INSERT INTO GONE VALUES (1)", "DROP TABLE GONE");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE U (ID INTEGER NOT NULL)");
            statement.executeUpdate("INSERT INTO U VALUES (1)");
            assertThatThrownBy(() -> statement.executeUpdate("UPDATE U SET ID = 2"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                    .hasMessageContaining("primary key");
            statement.execute("ALTER TABLE U ADD PRIMARY KEY (ID)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "U")).isEqualTo(1);
    }

    // --------------------------------------------------------------------------------------------------- rollbacks

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

    // ------------------------------------------------------------------------------------------ answers to commits

    @Test
    void refusedCommitIsRolledBackAndTheConnectionGoesOn() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.answer(commit -> commit.abort(conflict("row (1) of T was taken by another")));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("row (1) of T was taken by another");
            meta.answer(meta::succeed);
            meta.takeWriteSets();
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            connection.commit();
        }
        assertThat(meta.rolledBack()).isEqualTo(1);
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void refusedAutocommitIsRolledBackAndTheConnectionGoesOn() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            meta.answer(commit -> commit.abort(conflict("no")));
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            meta.answer(meta::succeed);
            statement.executeUpdate("INSERT INTO T VALUES (2)");
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void commitWaitsForAnAnswerFromAnotherThreadAndIsInvisibleUntilThen() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            await("the commit is suspended", () -> suspended.get() != null);
            assertThat(origin.suspended()).hasSize(1);
            assertThat(client.isDone()).isFalse();
            assertThat(suspended.get().commit(meta.nextPosition(), false)).isTrue();
            assertThat(count(origin, "T"))
                    .as("visible before the client is told")
                    .isEqualTo(1);
            assertThat(client.isDone()).isFalse();
            suspended.get().release();
            client.get(10, TimeUnit.SECONDS);
            assertThat(suspended.get().abort(conflict("too late"))).isFalse();
            assertThat(origin.suspended()).isEmpty();
        }
    }

    @Test
    void interruptDoesNotEndASuspendedCommit() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        AtomicReference<Thread> thread = new AtomicReference<>();
        meta.answer(suspended::set);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            Future<Boolean> client = clients.submit(() -> {
                thread.set(Thread.currentThread());
                connection.commit();
                return Thread.interrupted();
            });
            await("the commit is suspended", () -> suspended.get() != null);
            thread.get().interrupt();
            meta.succeed(suspended.get());
            assertThat(client.get(10, TimeUnit.SECONDS))
                    .as("the interrupt is kept")
                    .isTrue();
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void overdueCommitIsAnsweredByTheListener() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.answer(commit -> {});
        meta.overdue(
                Duration.ofMillis(50),
                commit -> commit.abort(new Refusal(Refusal.Cause.OVERDUE, "not ordered in time")));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void unknownOutcomeEndsTheSessionAndItsDecisionIsAppliedLater() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        replicate();
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        meta.overdue(
                Duration.ofMillis(50),
                commit -> commit.leaveUnknown(new Refusal(
                        Refusal.Cause.UNKNOWN_OUTCOME,
                        "ask for " + commit.transaction().id())));
        Connection connection = connect();
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08007"))
                    .hasMessageContaining(suspended.get().transaction().id().toString());
        }
        assertThat(connection.isClosed()).isTrue();
        assertThat(suspended.get().commit(meta.nextPosition(), false))
                .as("the transaction is gone and must be applied instead")
                .isFalse();
        try (Applier own = origin.applier()) {
            own.apply(suspended.get().writeSet());
            own.commit(meta.nextPosition(), false);
        }
        assertEqual();
        assertThat(count(origin, "T")).isEqualTo(1);
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

    // ----------------------------------------------------------------------------------- aborts from another thread

    @Test
    void abortOfAnIdleTransaction() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            int before = meta.rolledBack();
            meta.lastBegun().abort(conflict("idle"));
            await("it is rolled back", () -> meta.rolledBack() > before);
            assertThatThrownBy(() -> statement.executeQuery("SELECT * FROM T").next())
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("idle");
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            connection.commit();
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void abortOfAnIdleTransactionMeetsItsCommit() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            meta.lastBegun().abort(conflict("idle"));
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void abortOfATransactionThatWaitsForALock() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        try (Connection holder = connect();
                Connection waiter = connect();
                Statement hold = holder.createStatement();
                Statement wait = waiter.createStatement()) {
            hold.executeUpdate("UPDATE T SET A = 10 WHERE ID = 1");
            wait.executeUpdate("UPDATE T SET A = 20 WHERE ID = 2");
            var waiting = meta.lastBegun();
            CountDownLatch started = new CountDownLatch(1);
            Future<?> client = clients.submit(() -> {
                started.countDown();
                return wait.executeUpdate("UPDATE T SET A = 11 WHERE ID = 1");
            });
            started.await();
            waiting.abort(conflict("waiting"));
            assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            assertThat(waiter.isClosed()).isFalse();
            wait.executeUpdate("UPDATE T SET A = 22 WHERE ID = 2");
            waiter.commit();
            holder.commit();
        }
        assertEqual();
    }

    @Test
    void abortOfASuspendedCommit() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        CountDownLatch suspended = new CountDownLatch(1);
        meta.answer(commit -> suspended.countDown());
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            suspended.await();
            meta.lastBegun().abort(conflict("suspended"));
            assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    // -------------------------------------------------------------------------------------------------------- apply

    @Test
    void applierWinsAgainstLocalTransactions() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        execute("UPDATE T SET A = 100");
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            local.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET A = 5 WHERE ID = 1");
            replicate();
            assertThatThrownBy(local::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertEqual();
    }

    @Test
    void applierWinsAgainstReadersAfterTheirGraceTime() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        execute("UPDATE T SET A = 100");
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            local.setAutoCommit(false);
            local.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                rows.next();
            }
            replicate();
            assertThatThrownBy(() -> {
                        try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                            rows.next();
                        }
                    })
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertEqual();
    }

    @Test
    void severalWriteSetsBecomeVisibleTogether() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        replicate();
        for (int i = 0; i < 10; i++) {
            execute("INSERT INTO T VALUES (" + i + ", 0)", "UPDATE T SET A = A + 1");
        }
        for (WriteSet writeSet : meta.takeWriteSets()) {
            applier.apply(writeSet);
        }
        applied = 30;
        applier.commit(new StoredPosition(1, 2, 3, applied), false);
        assertThat(replica.storedPosition().orElseThrow().index()).isEqualTo(30);
        assertEqual();
    }

    @Test
    void rolledBackApplyLeavesNothingAndCanBeRepeated() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)");
        replicate();
        execute("INSERT INTO T (A) VALUES (1), (2)", "UPDATE T SET A = 7");
        List<WriteSet> writeSets = meta.takeWriteSets();
        writeSets.forEach(applier::apply);
        applier.rollback();
        assertThat(count(replica, "T")).isZero();
        writeSets.forEach(applier::apply);
        applier.commit(new StoredPosition(1, 2, 3, ++applied), true);
        assertEqual();
    }

    @Test
    void divergenceIsNoticedAndNamed() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        execute("UPDATE T SET A = 5 WHERE ID = 2", "DELETE FROM T WHERE ID = 2");
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            statement.executeUpdate("DELETE FROM T WHERE ID = 2");
        }
        assertThatThrownBy(this::replicate)
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("(2)")
                .hasMessageContaining("T");
        applier.rollback();
    }

    @Test
    void tableOfAnotherShapeIsNoticed() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        meta.takeWriteSets();
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            statement.executeUpdate("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A BIGINT)");
        }
        execute("INSERT INTO T VALUES (1, 1)");
        assertThatThrownBy(this::replicate)
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("T");
        applier.rollback();
    }

    // --------------------------------------------------------------------------------------------------- positions

    @Test
    void positionIsStoredWithTheRowsOfItsTransaction() throws SQLException {
        assertThat(replica.storedPosition()).isEmpty();
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute("INSERT INTO T VALUES (1)");
        assertThat(origin.storedPosition().orElseThrow()).isEqualTo(new StoredPosition(1, 2, 3, 2));
        replicate();
        assertThat(replica.storedPosition().orElseThrow()).isEqualTo(new StoredPosition(1, 2, 3, 2));
        assertThat(replica.flush().orElseThrow()).isEqualTo(new StoredPosition(1, 2, 3, 2));
    }

    @Test
    void restartedDatabaseContinuesFromItsStoredPosition() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        for (int i = 0; i < 20; i++) {
            execute("INSERT INTO T VALUES (" + i + ", " + i + ")");
        }
        List<WriteSet> all = meta.takeWriteSets();
        for (WriteSet writeSet : all.subList(0, 10)) {
            applier.apply(writeSet);
            applier.commit(new StoredPosition(1, 2, 3, ++applied), false);
        }
        replica = restart(replica, "replica", replicaMeta);
        applier = replica.applier();
        int from = (int) replica.storedPosition().orElseThrow().index();
        assertThat(from).isLessThanOrEqualTo(10);
        applied = from;
        for (WriteSet writeSet : all.subList(from, all.size())) {
            applier.apply(writeSet);
            applier.commit(new StoredPosition(1, 2, 3, ++applied), false);
        }
        assertEqual();
    }

    // --------------------------------------------------------------------------------------------- certification keys

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
            for (int i = 0; i < writeSet.keys(); i++) {
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
    }

    // --------------------------------------------------------------------------------------------------------- limits

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
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("54000"))
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
    void timestampsKeepTheirNanoseconds() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, MOMENT TIMESTAMP)");
        Random random = new Random(11);
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            for (int i = 0; i < 200; i++) {
                Timestamp moment = new Timestamp(Math.abs(random.nextLong() % 4_000_000_000_000L));
                moment.setNanos(random.nextInt(1_000_000_000));
                insert.setInt(1, i);
                insert.setTimestamp(2, moment);
                insert.executeUpdate();
            }
            connection.commit();
        }
        assertEqual();
    }
}
