package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.derby.impl.jdbc.EmbedConnection;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.tck.BindingTck;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.TckBinding;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What only Derby has, by the means of the suites. */
class DerbyOwnTest extends BindingTck {

    private Applier own;

    @Override
    protected TckBinding tested() {
        return new DerbyUnderTest();
    }

    /** Derby takes it from a parameter, and reads it nowhere else. */
    @ParameterizedTest
    @CsvSource({"TIME, 24:00:00", "TIME, 12:00 AM", "TIMESTAMP, 2020-01-01 24:00:00"})
    void aTimeOfHour24IsRefusedAndNotLeftToOthers(String type, String text) throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A " + type + ")", "INSERT INTO T VALUES (1, NULL)");
        try (Connection connection = connect();
                PreparedStatement change = connection.prepareStatement("UPDATE T SET A = ?")) {
            change.setString(1, text);
            assertThatThrownBy(change::executeUpdate)
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("hour 24")
                    .extracting(e -> ((SQLException) e).getSQLState())
                    .isEqualTo("0A000");
            connection.rollback();
        }
        execute("INSERT INTO T VALUES (2, NULL)");
        assertEqual();
    }

    /** A procedure may go on for long. */
    @Test
    void whatATransactionsStatementsBeganAtIsNotKeptBehindThem() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO T VALUES (1, 0)",
                "CREATE TRIGGER G AFTER UPDATE ON T FOR EACH ROW UPDATE S SET N = 1 WHERE ID = 1",
                "CREATE TRIGGER H AFTER INSERT ON S FOR EACH ROW UPDATE T SET N = N + 1");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO S VALUES (-1, 0)");
            int before = marks(connection);
            for (int i = 0; i < 100; i++) {
                statement.execute("INSERT INTO S VALUES (" + (i + 2) + ", 0)");
            }
            assertThat(marks(connection)).isLessThanOrEqualTo(before + 2);
            connection.commit();
        }
        assertEqual();
    }

    private static int marks(Connection connection) throws ReflectiveOperationException {
        Field marks = ReflectedConnection.class.getDeclaredField("statementMarks");
        marks.setAccessible(true);
        return ((Map<?, ?>) marks.get(((EmbedConnection) connection).getLanguageConnection())).size();
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

    /** Derby takes the numbers of each record out of its log byte by byte, of those of all others, too. */
    @Test
    void whoRollsBackReadsTheLogByFewCallsOfTheSystem() throws SQLException, IOException {
        Path counts = Path.of("/proc/self/io");
        assumeTrue(Files.exists(counts), "this system does not count what a process reads");
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO T VALUES (0)");
            for (int i = 1; i <= 300; i++) {
                execute("INSERT INTO T VALUES (" + i + ")");
            }
            statement.execute("INSERT INTO T VALUES (1000)");
            long before = readCalls(counts);
            connection.rollback();
            assertThat(readCalls(counts) - before).isLessThan(1_000);
        }
        assertEqual();
    }

    private static long readCalls(Path counts) throws IOException {
        return Files.readAllLines(counts).stream()
                .filter(line -> line.startsWith("syscr: "))
                .mapToLong(line -> Long.parseLong(line.substring("syscr: ".length())))
                .sum();
    }

    /** Some statements find all their rows first, and change them later by where they were. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE SET N = S.N; DELETE FROM T WHERE ID = 1",
                "DELETE; DELETE FROM T WHERE ID = 1",
                "DELETE; UPDATE T SET ID = 101 WHERE ID = 1",
                "UPDATE SET N = S.N WHEN NOT MATCHED THEN INSERT VALUES (S.ID, S.N); DELETE FROM T WHERE ID = 1"
            })
    void othersDoNotChangeWhatAMergeHasFound(String actions) throws Exception {
        String merges = actions.substring(0, actions.indexOf(';'));
        assertKeepsWhatItHasFound(
                "MERGE INTO T USING S ON T.ID = S.ID WHEN MATCHED AND SLOWLY(S.ID) > 0 THEN " + merges,
                actions.substring(actions.indexOf(';') + 1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE T SET ID = ID + 1 WHERE SLOWLY(ID) > 0",
                "UPDATE T SET N = 3 WHERE SLOWLY(ID) > 0 AND N = (SELECT MIN(N) FROM T X WHERE X.ID = T.ID)",
                "UPDATE T SET N = 3 WHERE EXISTS (SELECT 1 FROM S WHERE S.ID = T.ID AND SLOWLY(S.ID) > 0)",
                "DELETE FROM T WHERE SLOWLY(ID) > 0 AND N IN (SELECT N FROM T X)",
                "DELETE FROM T WHERE SLOWLY(ID) > 0"
            })
    void othersDoNotChangeWhatAStatementHasFound(String sql) throws Exception {
        assertKeepsWhatItHasFound(sql, "DELETE FROM T WHERE ID = 1");
        execute("DELETE FROM T", "INSERT INTO T VALUES (1, 1), (2, 2)");
        assertKeepsWhatItHasFound(sql, "UPDATE T SET ID = 101 WHERE ID = 1");
    }

    private void assertKeepsWhatItHasFound(String sql, String another) throws Exception {
        if (count(origin, "SYS.SYSTABLES WHERE TABLENAME = 'T'") == 0) {
            execute(
                    "CREATE FUNCTION SLOWLY(N INTEGER) RETURNS INTEGER LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME '"
                            + TckRoutines.class.getName() + ".slowly'",
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                    "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                    "CREATE TABLE LOGGED (N INTEGER)",
                    "CREATE TRIGGER G AFTER DELETE ON T FOR EACH ROW INSERT INTO LOGGED VALUES 1",
                    "CREATE TRIGGER H AFTER UPDATE ON T FOR EACH ROW INSERT INTO LOGGED VALUES 2",
                    "INSERT INTO T VALUES (1, 1), (2, 2)",
                    "INSERT INTO S VALUES (1, 11), (2, 12), (3, 13)");
        }
        Future<?> changes = clients.submit(() -> {
            execute(sql);
            return null;
        });
        await("the first row is looked at", () -> TckRoutines.SLEEPING.get() > 0);
        await("another row is looked at", () -> TckRoutines.SLEEPING.get() == 0);
        execute(another);
        changes.get(30, TimeUnit.SECONDS);
        assertEqual();
    }

    @Test
    void aMergeWhoseTriggerRemovesWhatItHasFoundIsRefused() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (1, 1), (2, 2)",
                "INSERT INTO S VALUES (1), (2)",
                "CREATE TRIGGER G AFTER UPDATE ON T FOR EACH STATEMENT DELETE FROM T WHERE ID = 2");
        assertRefused(
                "0A000",
                () -> execute("MERGE INTO T USING S ON T.ID = S.ID"
                        + " WHEN MATCHED AND T.ID = 1 THEN UPDATE SET N = 5 WHEN MATCHED THEN DELETE"));
        assertEqual();
    }

    @Test
    void aTableThatIsMadeFromATemporaryOneIsRefused() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("DECLARE GLOBAL TEMPORARY TABLE X (A INTEGER) ON COMMIT PRESERVE ROWS NOT LOGGED");
            for (String temporary : List.of("SESSION.X", "\"SESSION\".x")) {
                assertRefused(
                        "0A000",
                        () -> statement.execute("CREATE TABLE U AS SELECT * FROM " + temporary + " WITH NO DATA"));
            }
            statement.execute("CREATE TABLE U AS SELECT ID AS X FROM T WITH NO DATA");
            connection.commit();
        }
        assertEqual();
    }

    /** Derby sets to NULL first and deletes then, and takes such a row out of its indexes by what it is no more. */
    @Test
    void rowsThatReferToEachOtherByAUniqueKeyAreNotDeletedTogether() throws SQLException {
        execute(
                "CREATE TABLE N (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER UNIQUE REFERENCES N ON DELETE SET NULL)",
                "CREATE TABLE OTHER (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER REFERENCES N ON DELETE CASCADE)",
                "INSERT INTO N VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL), (6, 5)",
                "INSERT INTO OTHER VALUES (1, 1), (2, 1), (3, 1), (4, 3), (5, 1)");
        assertRefused("0A000", () -> execute("DELETE FROM N WHERE ID IN (1, 2)"))
                .hasMessageContaining("make two statements of it");
        assertEqual();
        execute("DELETE FROM N WHERE ID IN (1, 3)", "DELETE FROM N WHERE ID = 2", "DELETE FROM N WHERE ID IN (5, 4)");
        assertEqual();
        assertThat(query(origin, "SELECT ID FROM N WHERE A IS NULL")).containsExactly("6");
        assertRefused( // or a row could be given two keys by one statement
                "42915",
                () -> execute(
                        "CREATE TABLE M (ID INTEGER NOT NULL PRIMARY KEY, "
                                + "A INTEGER REFERENCES M ON DELETE SET NULL, B INTEGER UNIQUE REFERENCES M ON DELETE SET NULL)"));
    }

    /** Whether Derby drops a trigger with it depends on whether that was compiled since the schema was last changed. */
    @Test
    void aColumnIsDroppedOnlyWhereNoTriggerMayGoWithIt() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, B INTEGER, C INTEGER)",
                "CREATE TABLE \"t 2\" (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE LOGGED (N INTEGER)",
                "ALTER TABLE T DROP COLUMN A",
                "CREATE TRIGGER G AFTER DELETE ON T REFERENCING OLD TABLE AS O FOR EACH STATEMENT INSERT INTO LOGGED SELECT ID FROM O",
                "CREATE TRIGGER H AFTER INSERT ON LOGGED FOR EACH ROW UPDATE \"t 2\" SET A = 1");
        for (String drop : List.of(
                "ALTER TABLE T DROP COLUMN B",
                "ALTER TABLE APP.T DROP B RESTRICT",
                "ALTER TABLE \"t 2\" DROP COLUMN A")) {
            assertRefused("0A000", () -> execute(drop));
        }
        execute("DROP TRIGGER G", "DROP TRIGGER H", "ALTER TABLE T DROP COLUMN B", "ALTER TABLE \"t 2\" DROP A");
        assertEqual();
    }

    /** Derby drops a view with a column that it reads, and a trigger with the view. */
    @Test
    void aColumnIsDroppedOnlyWhereNoTriggerSeesItThroughAViewOrSynonym() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE FIRING (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE LOGGED (N INTEGER)",
                "CREATE SYNONYM \"a synonym\" FOR T",
                "CREATE VIEW \"a view\" AS SELECT * FROM \"a synonym\"",
                "CREATE SYNONYM ANOTHER FOR \"a view\"",
                "CREATE TRIGGER G AFTER INSERT ON FIRING FOR EACH STATEMENT INSERT INTO LOGGED SELECT A FROM APP.ANOTHER");
        assertRefused("0A000", () -> execute("ALTER TABLE T DROP COLUMN A")).hasMessageContaining("DROP TRIGGER G");
        execute("ALTER TABLE U DROP COLUMN A", "DROP TRIGGER G", "ALTER TABLE T DROP COLUMN A");
        assertThat(query(origin, "SELECT TABLENAME FROM SYS.SYSTABLES WHERE TABLETYPE = 'V'"))
                .isEmpty();
        assertEqual();
    }

    /** Derby changes none that a trigger inserts, as far as it knows: on a replica where that was compiled since there is a default. */
    @Test
    void aDefaultIsChangedOnlyWhereNoTriggerMayInsertIt() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE X (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE Y (ID INTEGER NOT NULL PRIMARY KEY, B INTEGER)",
                "CREATE TABLE Z (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TRIGGER G AFTER INSERT ON T REFERENCING NEW AS N FOR EACH ROW"
                        + " INSERT INTO X (ID) SELECT B FROM Y WHERE ID = N.ID");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("LOCK TABLE Y IN EXCLUSIVE MODE");
            statement.execute("CREATE INDEX I ON Z (A)"); // so that what G does is not compiled here
            execute("ALTER TABLE X ALTER COLUMN A DEFAULT 5");
            for (String change : List.of("A DEFAULT 6", "A SET DEFAULT 6", "COLUMN A DROP DEFAULT")) {
                assertRefused("0A000", () -> execute("ALTER TABLE APP.X ALTER " + change))
                        .hasMessageContaining("DROP TRIGGER G");
            }
            connection.commit();
        }
        assertEqual();
        execute("DROP TRIGGER G", "ALTER TABLE X ALTER COLUMN A DEFAULT 6", "INSERT INTO X (ID) VALUES (1)");
        assertEqual();
        assertThat(query(origin, "SELECT A FROM X")).containsExactly("6");
    }

    @Test
    void theClientIsToldOfViewsThatAreDroppedWithAColumn() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE VIEW V AS SELECT * FROM T",
                "CREATE VIEW W AS SELECT * FROM V");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER TABLE T DROP COLUMN A");
            List<String> told = new ArrayList<>();
            for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
                told.add(warning.getSQLState() + " " + warning.getMessage());
            }
            assertThat(told)
                    .containsExactly("01501 The view W has been dropped.", "01501 The view V has been dropped.");
            connection.commit();
        }
        assertEqual();
    }

    /** Derby gives a row its old entry of the index again, without a look at others. */
    @Test
    void aKeyThatMayBeNullIsTakenBackOnlyWhereNoOtherRowHasIt() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, B VARCHAR(10), CONSTRAINT K UNIQUE (A, B))",
                "INSERT INTO T VALUES (1, 0, 'x')",
                "UPDATE T SET A = 1 WHERE ID = 1",
                "INSERT INTO T VALUES (2, 0, 'x')");
        assertThatThrownBy(() -> execute("UPDATE T SET A = 0 WHERE ID = 1"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("23505"))
                .hasMessageContaining("'K'")
                .hasMessageContaining("'T'");
        execute("UPDATE T SET A = CASE A WHEN 0 THEN 1 ELSE 0 END", "UPDATE T SET A = NULL", "UPDATE T SET A = ID");
        assertEqual();
    }

    @Test
    void ofManyKeysThatMayBeNullNoneIsTakenTwice() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER UNIQUE)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            connection.setAutoCommit(false);
            for (int id = 0; id < 1500; id++) {
                insert.setInt(1, id);
                insert.setInt(2, id);
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }
        execute("UPDATE T SET A = -1 - ID", "INSERT INTO T VALUES (9999, 777)");
        assertThatThrownBy(() -> execute("UPDATE T SET A = ID WHERE ID < 1500"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("23505"));
        execute("DELETE FROM T WHERE ID = 9999", "UPDATE T SET A = ID");
        assertEqual();
    }

    /** What a schema change made invalid is compiled at once, which another one may be in the way of. */
    @Test
    void aSchemaChangeWhoseTriggersCannotBeCompiledNowIsCommitted() throws SQLException {
        execute(
                "CREATE TABLE X (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER)",
                "CREATE TABLE Y (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE Z (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TRIGGER G AFTER INSERT ON T REFERENCING NEW AS N FOR EACH ROW"
                        + " UPDATE X SET V = (SELECT MAX(A) FROM Y) WHERE ID = N.ID");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("LOCK TABLE X IN EXCLUSIVE MODE");
            statement.execute("CREATE INDEX I ON Z(A)");
            execute("ALTER TABLE Y ADD COLUMN B INTEGER");
            connection.commit();
        }
        execute("INSERT INTO X VALUES (1, 0)", "INSERT INTO Y VALUES (1, 7, 8)", "INSERT INTO T VALUES (1)");
        assertEqual();
    }

    @Test
    void anImportReplacesTheRowsOfATableWithAnIdentityColumn() throws SQLException, IOException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)",
                "INSERT INTO T (A) VALUES (1), (2)");
        Path rows = Files.writeString(directory.resolve("rows"), "7\n8\n9\n");
        execute("CALL SYSCS_UTIL.SYSCS_IMPORT_DATA(NULL, 'T', 'A', '1', '" + rows + "', NULL, NULL, NULL, 1)");
        assertThat(query(origin, "SELECT A FROM T ORDER BY A")).containsExactly("7", "8", "9");
        assertEqual();
    }

    /** Whatever has become of the savepoint to which it is rolled back without a word to the disk. */
    @Test
    void rollbackTakesAllBackAfterSavepointsOfTheClient() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 0), (2, 0)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (boolean released : List.of(false, true)) {
                Savepoint first = connection.setSavepoint("FIRST");
                statement.execute("UPDATE T SET A = 10 WHERE ID = 1");
                if (released) {
                    connection.releaseSavepoint(first);
                } else {
                    connection.rollback(first);
                }
                statement.execute("UPDATE T SET A = 20 WHERE ID = 2");
                connection.rollback();
                assertThat(query(origin, "SELECT A FROM T ORDER BY ID")).containsExactly("0", "0");
            }
            statement.execute("UPDATE T SET A = 30 WHERE ID = 3");
            Savepoint later = connection.setSavepoint("LATER");
            statement.execute("UPDATE T SET A = 30");
            connection.rollback(later);
            statement.execute("INSERT INTO T VALUES (3, 30)");
            connection.rollback();
            statement.execute("INSERT INTO T VALUES (4, 40)");
            connection.commit();
            statement.execute("DELETE FROM T");
            connection.rollback();
        }
        assertThat(query(origin, "SELECT A FROM T ORDER BY ID")).containsExactly("0", "0", "40");
        assertEqual();
    }

    @Test
    void aStatementCanTellWhatItReadsForItself() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        for (String level : List.of("UR", "CS", "RS", "RR")) {
            meta.takeWriteSets();
            try (Connection connection = connect();
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT ID FROM T WITH " + level)) {
                assertThat(rows.next()).isFalse();
                try (Statement insert = connection.createStatement()) {
                    insert.execute("INSERT INTO U VALUES (" + level.hashCode() + ")");
                }
                connection.commit();
            }
            WriteSet writeSet = meta.takeWriteSets().get(0);
            assertThat(reads(writeSet)).as(level).isZero();
            assertThat(keys(writeSet, KeyMode.READ_UNLOCKED)).as(level).isEqualTo(level.equals("RR") ? 1 : 0);
        }
    }

    @Test
    void nobodyTellsOfReadingWhatIsNotReplicated() throws SQLException {
        execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.takeWriteSets();
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            statement.execute("DECLARE GLOBAL TEMPORARY TABLE SESSION.X (A INTEGER) NOT LOGGED");
            statement.execute("INSERT INTO SESSION.X VALUES 1");
            statement.execute("INSERT INTO U SELECT A FROM SESSION.X WHERE A < (SELECT COUNT(*) FROM SYS.SYSTABLES)");
            connection.commit();
        }
        assertThat(reads(meta.takeWriteSets().get(0))).isZero();
    }

    @Test
    void aMergeThatViolatesAConstraintEndsASerializableTransaction() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER UNIQUE)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (1, 1)",
                "INSERT INTO S VALUES (2)");
        meta.takeWriteSets();
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            assertThatThrownBy(() -> statement.execute(
                            "MERGE INTO T USING S ON T.ID = S.ID WHEN NOT MATCHED THEN INSERT VALUES (S.ID, 1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("23505"));
            statement.execute("INSERT INTO S VALUES (3)");
            try {
                connection.commit();
                assertThat(reads(meta.takeWriteSets().get(0))).isPositive();
            } catch (SQLException e) {
                assertThat(e.getSQLState()).isEqualTo("0A000");
                connection.rollback();
            }
            statement.execute("INSERT INTO S VALUES (4)");
            connection.commit();
        }
    }

    private static long reads(WriteSet writeSet) {
        return keys(writeSet, KeyMode.READ);
    }

    private static long keys(WriteSet writeSet, KeyMode mode) {
        return IntStream.range(0, writeSet.keys())
                .filter(i -> writeSet.keyMode(i) == mode)
                .count();
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

    @Test
    void callThatTakesLongDoesNotHoldUpTheAbortOfAnotherTransaction() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE PROCEDURE SLEEP (MILLIS INTEGER) LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME '"
                        + TckRoutines.class.getName() + ".sleep'");
        try (Connection busy = connect();
                Connection idle = connect();
                Statement sleeping = busy.createStatement();
                Statement statement = idle.createStatement()) {
            sleeping.executeUpdate("INSERT INTO T VALUES (1, 1)");
            TransactionContext inLongCall = meta.lastBegun();
            Future<?> call = clients.submit(() -> sleeping.execute("CALL SLEEP(3000)"));
            await("the call is under way", () -> TckRoutines.SLEEPING.get() > 0);
            inLongCall.abort(conflict("in a long call"));
            statement.executeUpdate("INSERT INTO T VALUES (2, 2)");
            int before = meta.rolledBack();
            meta.lastBegun().abort(conflict("idle"));
            await("it is rolled back", () -> meta.rolledBack() > before);
            assertThat(call.isDone()).as("the long call is still under way").isFalse();
            try {
                call.get(20, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                assertThat(e).hasStackTraceContaining("in a long call");
            }
            assertRefused("40001", busy::commit);
            assertRefused("40001", idle::commit);
        }
        assertThat(count(origin, "T")).isZero();
    }

    /** Who rolls back a transaction may come to wake its client only when that waits in the next one. */
    @Test
    void aRefusalThatIsMetAlreadyEndsNoWaitOfTheNextTransaction() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 0)");
        try (Connection holder = connect();
                Connection waiter = connect();
                Statement first = holder.createStatement();
                Statement second = waiter.createStatement()) {
            holder.setAutoCommit(false);
            waiter.setAutoCommit(false);
            second.executeUpdate("INSERT INTO T VALUES (2, 0)");
            meta.lastBegun().abort(conflict("met before the wait"));
            assertRefused("40001", () -> second.executeUpdate("INSERT INTO T VALUES (3, 0)"));
            waiter.rollback();
            first.executeUpdate("UPDATE T SET A = 1 WHERE ID = 1");
            Future<Boolean> update = clients.submit(() -> {
                second.executeUpdate("UPDATE T SET A = A + 1 WHERE ID = 1");
                waiter.commit();
                return Thread.currentThread().isInterrupted();
            });
            ReflectedConnection reflected =
                    (ReflectedConnection) waiter.unwrap(EmbedConnection.class).getLanguageConnection();
            await("it waits for the row", reflected::isWaiting);
            reflected.interruptWait();
            holder.commit();
            assertThat(update.get(20, TimeUnit.SECONDS)).as("interrupted").isFalse();
        }
        assertThat(query(origin, "SELECT A FROM T")).containsExactly("2");
        assertEqual();
    }

    /** Derby looks for the statement of such a question in a transaction within the client's, and leaves that open if it finds it not. */
    @Test
    void aRefusalThatMeetsAQuestionForTheCatalogueLeavesTheSession() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 0)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T VALUES (2, 0)");
            int before = meta.rolledBack();
            meta.lastBegun().abort(conflict("idle"));
            await("it is rolled back", () -> meta.rolledBack() > before);
            assertRefused("40001", () -> connection.getMetaData().getVersionColumns(null, "APP", "T"));
            statement.executeUpdate("INSERT INTO T VALUES (3, 0)");
            connection.commit();
        }
        assertThat(query(origin, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "3");
        assertEqual();
    }

    /** Upon a schema change Derby writes back what a sequence has not given, and if two have its row locked, rolls back the commit. */
    @Test
    void readersOfTheSequencesDoNotUndoTheCommitOfASchemaChange() throws SQLException {
        execute("CREATE SEQUENCE NUMBERS", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute("INSERT INTO T VALUES (NEXT VALUE FOR NUMBERS)");
        try (Connection reader = connect();
                Connection connection = connect();
                Statement statement = connection.createStatement()) {
            readSequences(reader);
            readSequences(connection);
            statement.execute("INSERT INTO T VALUES (1)");
            statement.execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
            connection.commit();
            statement.execute("INSERT INTO U VALUES (1)");
            connection.commit();
            reader.commit();
        }
        assertThat(count(origin, "T")).isEqualTo(2);
        assertThat(count(origin, "U")).isEqualTo(1);
        execute("INSERT INTO T VALUES (100 + NEXT VALUE FOR NUMBERS)");
        assertEqual();
    }

    /** Its locks stay. */
    private static void readSequences(Connection connection) throws SQLException {
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        try (Statement statement = connection.createStatement();
                ResultSet sequences = statement.executeQuery("SELECT SEQUENCENAME FROM SYS.SYSSEQUENCES")) {
            List<String> names = new ArrayList<>();
            while (sequences.next()) {
                names.add(sequences.getString(1));
            }
            assertThat(names).contains("NUMBERS");
        }
    }

    /** Else the first clients to fire it compile it, and may wait for each other for a minute. */
    @Test
    void whoChangesRowsDoesNotWaitForASchemaChangeOfOtherTables() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, T INTEGER REFERENCES T)",
                "CREATE UNIQUE INDEX I ON U (A)");
        try (Connection changing = connect();
                Statement schema = changing.createStatement();
                Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("DECLARE GLOBAL TEMPORARY TABLE X (A INTEGER) NOT LOGGED");
            schema.execute("CREATE TABLE V (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("INSERT INTO T VALUES 1");
            Future<?> waits = CompletableFuture.runAsync(() -> {
                try {
                    schema.execute("CREATE INDEX J ON T (ID DESC)");
                    changing.commit();
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            statement.execute("INSERT INTO SESSION.X VALUES 1");
            statement.execute("INSERT INTO U VALUES (1, 1, 1)");
            statement.execute("UPDATE U SET A = 2");
            statement.execute("INSERT INTO T VALUES 2");
            assertThat(waits.isDone()).isFalse();
            connection.commit();
            waits.get(20, TimeUnit.SECONDS);
        }
        assertEqual();
    }

    @Test
    void whatTriggersDoIsCompiledOnEveryReplicaBeforeItIsNeeded() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE SEEN (N INTEGER NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY, A INTEGER)",
                "CREATE TRIGGER TELL AFTER INSERT ON T REFERENCING NEW AS ROW FOR EACH ROW WHEN (ROW.A > 0) "
                        + "INSERT INTO SEEN (A) VALUES (ROW.A)",
                "ALTER TABLE T ADD COLUMN B INTEGER",
                "CREATE INDEX I ON SEEN (A)");
        replicate();
        for (ReflectedDatabase database : List.of(origin, replica)) {
            assertThat(query(database, "SELECT VALID FROM SYS.SYSSTATEMENTS WHERE TYPE = 'T'"))
                    .hasSize(2)
                    .allMatch(valid -> valid.contains("true"));
        }
        execute("INSERT INTO T VALUES (1, 1, 1), (2, 0, 2)");
        assertThat(count(origin, "SEEN")).isEqualTo(1);
        assertEqual();
    }

    @Test
    void importThatReplacesRowsThatOthersReferToIsRefused() throws Exception {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P ON DELETE CASCADE)",
                "INSERT INTO P VALUES (1)",
                "INSERT INTO C VALUES (1, 1)");
        Path rows = Files.writeString(directory.resolve("rows.csv"), "2\n");
        assertThatThrownBy(() -> execute(tested().importing("P", rows, true)))
                .isInstanceOf(SQLException.class)
                .hasStackTraceContaining("refer to it: DELETE the rows");
        assertEqual();
        assertThat(count(replica, "C")).isEqualTo(1);
    }

    /** Derby notices that while it makes a statement's plan, and not between that and its execution. */
    @ParameterizedTest
    @ValueSource(strings = {"INSERT INTO T (A) VALUES (%d)", "UPDATE T SET A = %d", "DELETE FROM T WHERE A < %d"})
    void whoWritesToATableThatIsJustDroppedIsToldThatItIsMissing(String sql) throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        Set<String> told = ConcurrentHashMap.newKeySet();
        Future<?> writer = clients.submit(() -> {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(true);
                for (int i = 0; !ended.get(); i++) {
                    try {
                        statement.execute(sql.formatted(i));
                    } catch (SQLException e) {
                        told.add(e.getSQLState());
                    }
                }
            }
            return null;
        });
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(true);
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
            while (System.nanoTime() - end < 0) {
                untilDone(statement, "CREATE TABLE T (ID INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)");
                Thread.sleep(1);
                untilDone(statement, "DROP TABLE T");
            }
        } finally {
            ended.set(true);
            writer.get();
        }
        assertThat(told).contains("42X05").isSubsetOf("42X05", "40001", "40XL1");
    }

    private static void untilDone(Statement statement, String sql) throws SQLException {
        boolean done = false;
        while (!done) {
            try {
                statement.execute(sql);
                done = true;
            } catch (SQLTransactionRollbackException e) {
                assertThat(e.getSQLState()).isIn("40001", "40XL1");
            }
        }
    }

    @Test
    void schemasOfADatabasesToolAreReplicated() throws SQLException {
        execute("CALL SYSCS_UTIL.SYSCS_REGISTER_TOOL('databaseMetaData', TRUE)");
        assertEqual();
        execute("CALL SYSCS_UTIL.SYSCS_REGISTER_TOOL('databaseMetaData', FALSE)");
        assertEqual();
    }

    @Test
    void committingUnderANameNeedsNoPrivilege() throws SQLException {
        replica.close();
        DatabaseConfiguration guarded = tested().configuration(directory, "guarded");
        tested().create(guarded, true);
        replica = tested().binding().open(guarded, replicaMeta);
        Properties properties = new Properties();
        properties.setProperty("user", "alice");
        try (Connection connection = connect(replica, properties);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("CALL GORDA.COMMIT_AS('" + SessionId.of(UUID.randomUUID()) + "', 1)");
            assertRefused("42502", () -> statement.executeQuery("SELECT ENTRY FROM GORDA.POSITION"));
            connection.rollback();
        }
        assertThat(count(replica, "ALICE.T")).isZero();
    }

    /** As where the replica's directory is on a disk of its own. */
    @Test
    void aSnapshotOnAnotherDiskIsCopied() throws Exception {
        Path memory = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(memory) && !Files.getFileStore(memory).equals(Files.getFileStore(directory)));
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        Path elsewhere = Files.createTempDirectory(memory, "gorda");
        try {
            Path snapshot = elsewhere.resolve("snapshot");
            origin.snapshot(snapshot);
            for (int times = 0; times < 2; times++) {
                tested().binding().load(snapshot, configuration("copy"));
                try (ReflectedDatabase copy = tested().binding().open(configuration("copy"), new MetaLevel())) {
                    assertThat(count(copy, "T")).isEqualTo(1);
                }
                tested().binding().drop(configuration("copy"));
            }
        } finally {
            DerbySnapshot.drop(elsewhere);
        }
    }

    /** While all processors are busy, whoever copies is seen to rest; the copy is whole. */
    @Test
    void aSnapshotLeavesProcessorsToOthers() throws Exception {
        int rows = 160;
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(64K) NOT NULL)");
        try (Connection connection = origin.connect(new Properties());
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            for (int i = 0; i < rows; i++) {
                insert.setInt(1, i);
                insert.setBytes(2, new byte[64 << 10]);
                insert.executeUpdate();
            }
        }
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> others = IntStream.range(0, 2 * Runtime.getRuntime().availableProcessors())
                .mapToObj(i -> new Thread(() -> {
                    while (!done.get()) {
                        Thread.onSpinWait();
                    }
                }))
                .toList();
        Path snapshot = directory.resolve("snapshot");
        Thread copier = new Thread(() -> origin.snapshot(snapshot));
        boolean rested = false;
        try {
            others.forEach(Thread::start);
            copier.start();
            while (copier.isAlive()) {
                rested |= Stream.of(copier.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().equals(LockSupport.class.getName()));
                TimeUnit.MILLISECONDS.sleep(1);
            }
        } finally {
            done.set(true);
        }
        assertThat(rested).isTrue();
        tested().binding().load(snapshot, configuration("copy"));
        try (ReflectedDatabase copy = tested().binding().open(configuration("copy"), new MetaLevel())) {
            assertThat(count(copy, "T")).isEqualTo(rows);
        }
    }

    /** Derby compiles a text once, for all who ask for it meanwhile: who waits for that executes it, too. */
    @Test
    void namesAreGivenWhoeverHasCompiledTheStatement() throws Exception {
        int clients = 3;
        CyclicBarrier together = new CyclicBarrier(clients);
        ExecutorService executor = Executors.newFixedThreadPool(clients);
        int successful = 0;
        try {
            for (int round = 0; round < 60; round++) {
                String sql = "CREATE TABLE R" + round
                        + " (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER UNIQUE, B INTEGER, CHECK (A > 0), UNIQUE (A, B))";
                List<Future<Boolean>> made = new ArrayList<>();
                for (int i = 0; i < clients; i++) {
                    made.add(executor.submit(() -> {
                        try (Connection connection = origin.connect(new Properties());
                                Statement statement = connection.createStatement()) {
                            together.await(60, TimeUnit.SECONDS);
                            statement.execute(sql);
                            return true;
                        } catch (SQLException e) {
                            return false; // another one has made it
                        }
                    }));
                }
                for (Future<Boolean> one : made) {
                    successful += one.get() ? 1 : 0;
                }
                replicate();
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(successful).isBetween(30, 60);
        assertEqual();
    }

    @Test
    void namesOfWhatCouldNotBeCompiledAreNotGiven() throws SQLException {
        String sql = "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER UNIQUE, CHECK (DISTANCE(A) > 0))";
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.execute(sql)).isInstanceOf(SQLException.class);
            statement.execute("CREATE FUNCTION DISTANCE(A INTEGER) RETURNS INTEGER LANGUAGE JAVA PARAMETER STYLE JAVA"
                    + " DETERMINISTIC NO SQL EXTERNAL NAME 'java.lang.Math.abs'");
            statement.execute(sql.replace("DISTANCE(A)", "A"));
            statement.execute("DROP TABLE T");
            statement.execute(sql);
        }
        replicate();
        assertEqual();
    }

    /** Derby lets nobody else make a schema of such a name. */
    @Test
    void tablesOfAUserWhoseNameBeginsAsTheSystemsAreReplicated() throws SQLException {
        executeAs("sysadmin", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1), (2)");
        replicate();
        assertThat(count(replica, "SYSADMIN.T")).isEqualTo(2);
        assertEqual();
    }

    @Test
    void ownTablesStayWhereTheyAre() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        for (ReflectedDatabase database : List.of(origin, replica)) {
            try (Connection connection = database.connect(new Properties());
                    Statement statement = connection.createStatement()) {
                assertThatThrownBy(
                                () -> statement.execute("CALL SYSCS_UTIL.SYSCS_COMPRESS_TABLE('GORDA', 'POSITION', 0)"))
                        .hasMessageContaining("schema GORDA is GORDA's own and cannot be changed");
                statement.execute("CALL SYSCS_UTIL.SYSCS_COMPRESS_TABLE('APP', 'T', 0)");
                statement.execute("CALL SYSCS_UTIL.SYSCS_UPDATE_STATISTICS('GORDA', 'POSITION', NULL)");
            }
            replicate();
        }
        execute("INSERT INTO T VALUES (1)");
        replicate();
        assertEqual();
    }

    @Test
    void aSequenceThatHasBegunAnewGoesOnThereWhereAnotherReplicaTakesOver() throws SQLException {
        execute(
                "CREATE SEQUENCE UP AS INTEGER START WITH 1 MINVALUE 1 MAXVALUE 1000 CYCLE",
                "CREATE SEQUENCE DOWN AS INTEGER START WITH -1 INCREMENT BY -1 MINVALUE -1000 MAXVALUE -1 CYCLE");
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < 1300; i++) {
                try (ResultSet row = statement.executeQuery("VALUES (NEXT VALUE FOR UP, NEXT VALUE FOR DOWN)")) {
                    row.next();
                }
            }
        }
        replicate();
        replica.takeOver();
        assertThat(Integer.parseInt(query(replica, "VALUES NEXT VALUE FOR UP").get(0)))
                .isBetween(301, 402);
        assertThat(Integer.parseInt(query(replica, "VALUES NEXT VALUE FOR DOWN").get(0)))
                .isBetween(-402, -301);
    }

    /** As a tool that copies all tables does. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT * FROM GORDA.POSITION WITH RR",
                "SELECT * FROM GORDA.POSITION WHERE SLOT = 1 WITH RR",
                "LOCK TABLE GORDA.POSITION IN SHARE MODE"
            })
    void whoReadsThePositionHoldsUpNoForceToTheDisk(String sql) throws SQLException {
        try (Connection reader = connect();
                Statement statement = reader.createStatement()) {
            if (statement.execute(sql)) {
                while (statement.getResultSet().next()) {
                    // keeps a lock on each row
                }
            }
            origin.flush();
            assertRefused("40001", () -> statement.execute("SELECT * FROM GORDA.POSITION"));
            reader.rollback();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SELECT * FROM GORDA.POSITION WITH RR", "LOCK TABLE GORDA.POSITION IN SHARE MODE"})
    void whoReadsThePositionHoldsUpNoCommit(String sql) throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection reader = connect();
                Statement statement = reader.createStatement()) {
            if (statement.execute(sql)) {
                while (statement.getResultSet().next()) {
                    // keeps a lock on each row
                }
            }
            execute("INSERT INTO T VALUES (1)");
            assertRefused("40001", () -> statement.execute("SELECT * FROM T"));
            reader.rollback();
        }
        replicate();
        assertEqual();
    }

    /** Derby fills a new column by an UPDATE of its own. */
    @Test
    void whatTriggersDoAsAColumnIsFilledIsNotDoneTwice() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE AUDIT (N INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, TID INTEGER)",
                "CREATE TABLE KEYLESS (TID INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 2)",
                "CREATE TRIGGER EACH_ROW AFTER UPDATE ON T REFERENCING NEW AS N FOR EACH ROW INSERT INTO AUDIT (TID) VALUES (N.ID)",
                "CREATE TRIGGER ALL_ROWS AFTER UPDATE ON T INSERT INTO KEYLESS SELECT ID FROM T");
        replicate();
        execute("ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 5");
        execute("ALTER TABLE T ADD COLUMN C INTEGER GENERATED ALWAYS AS (A + 1)");
        assertEqual();
        assertThat(count(replica, "AUDIT")).isEqualTo(4);
        execute("UPDATE T SET A = 3 WHERE ID = 1");
        assertEqual();
        assertThat(count(replica, "AUDIT")).isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ALTER TABLE T ADD COLUMN U VARCHAR(10) GENERATED ALWAYS AS (UPPER(NAME)) CONSTRAINT UU UNIQUE",
                "ALTER TABLE T ADD COLUMN U INTEGER GENERATED ALWAYS AS IDENTITY UNIQUE"
            })
    void rowsAreChangedBehindAColumnThatIsUnique(String added) throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(10))",
                "INSERT INTO T VALUES (1, 'a'), (2, 'b'), (3, 'd')");
        replicate();
        execute(added, "UPDATE T SET NAME = 'c' WHERE ID = 1", "DELETE FROM T WHERE ID = 2");
        assertEqual();
    }

    /** Those are taken back with the commit, and in no write set. */
    @Test
    void whoMayHaveLostTemporaryRowsByGivingWayIsSentAway() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection own = connect();
                Statement statement = own.createStatement()) {
            commitThatGivesWay(own, "INSERT INTO T VALUES (1)");
            assertThat(count(origin, "T")).isEqualTo(1);
            statement.execute("INSERT INTO T VALUES (2)");
            statement.execute("DECLARE GLOBAL TEMPORARY TABLE TEMP (A INTEGER) ON COMMIT PRESERVE ROWS NOT LOGGED");
            statement.execute("INSERT INTO SESSION.TEMP VALUES (1)");
            own.commit();
            commitThatGivesWay(own, "INSERT INTO T VALUES (3)");
            assertThat(count(origin, "T")).isEqualTo(3);
            assertRefused("57P01", () -> {
                statement.executeQuery("SELECT * FROM SESSION.TEMP").close();
                own.commit();
            });
        }
    }

    @Test
    void temporaryTablesStayUntilTheirSessionEnds() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection own = connect();
                Statement statement = own.createStatement()) {
            statement.execute("DECLARE GLOBAL TEMPORARY TABLE TEMP (A INTEGER) ON COMMIT PRESERVE ROWS NOT LOGGED");
            statement.execute("INSERT INTO SESSION.TEMP VALUES (1)");
            statement.execute("INSERT INTO T VALUES (1)");
            own.commit();
            statement.execute("INSERT INTO T SELECT A + 1 FROM SESSION.TEMP");
            own.commit();
            statement.execute("INSERT INTO T VALUES (3)");
            own.rollback();
            statement.execute("INSERT INTO T SELECT A + 2 FROM SESSION.TEMP");
            own.commit();
        }
        assertThat(count(origin, "T")).isEqualTo(3);
        assertEqual();
    }

    private void commitThatGivesWay(Connection connection, String sql) throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.takeWriteSets();
        meta.answer(suspended::set);
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
        Future<?> client = clients.submit(() -> {
            connection.commit();
            return null;
        });
        await("it is suspended", () -> suspended.get() != null);
        suspended.get().awaitUndone();
        if (own == null) {
            own = origin.applier();
        }
        own.apply(meta.takeWriteSets().get(0));
        own.commit(meta.nextPosition(), false);
        suspended.get().release();
        client.get(10, TimeUnit.SECONDS);
        meta.answer(meta::succeed);
    }

    /** Derby would make, restore or recover any that its process can reach, and ask for no password where there are no users. */
    @Test
    void clientsOfTheNetworkMakeAndOpenNoOtherDatabase() throws Exception {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        origin.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), null);
        Path other = directory.resolve("other");
        for (String attributes : List.of(";create=true", "")) {
            String url = "jdbc:derby://127.0.0.1:" + port + "/" + other + attributes;
            assertRefused("57P01", () -> DriverManager.getConnection(url).close());
            assertThatThrownBy(() -> DriverManager.getConnection(url))
                    .hasMessageContaining("not into " + other)
                    .hasMessageContaining("use the URL that `gorda status --json` shows as `clients`");
            assertThat(other).doesNotExist();
        }
    }

    @Test
    void aDatabaseOfAnotherCollationIsReplicated() throws SQLException {
        Path collated = directory.resolve("collated");
        String url = "jdbc:derby:" + collated;
        DriverManager.getConnection(url + ";create=true;territory=de_DE;collation=TERRITORY_BASED:SECONDARY")
                .close();
        assertRefused("08006", () -> DriverManager.getConnection(url + ";shutdown=true"));
        DatabaseConfiguration own = configuration("collated");
        MetaLevel listener = new MetaLevel();
        ReflectedDatabase opened = tested().binding().open(own, listener);
        try (Connection connection = connect(opened, new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE T (ID INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, NAME VARCHAR(10) UNIQUE)");
            statement.execute("INSERT INTO T (NAME) VALUES ('a'), ('\u00e4')");
            connection.commit();
            assertThat(opened.tables()).hasSize(1);
            assertThat(new CatalogueCheck(connection).findings()).noneMatch(Finding::obstacle);
            connection.rollback();
            opened.forget();
        } finally {
            opened.close();
        }
    }

    private static void refused(Statement statement, String sql) {
        assertRefused("0A000", () -> statement.execute(sql));
    }

    /** It is within a call, asks for no lock, and keeps what it has. */
    @ParameterizedTest
    @CsvSource({"B,false", "C,false", "B,true"})
    void aStreamOfAClientThatGivesNothingHoldsUpNothingThatIsOrdered(String column, boolean remote) throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE L (ID INTEGER NOT NULL PRIMARY KEY, B BLOB, C CLOB)",
                "INSERT INTO T VALUES (1, 1)");
        replicate();
        int length = 200_000;
        String url = remote ? replica.listen(DerbyUnderTest.freeAddress(), null) : "";
        CountDownLatch stalled = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        InputStream stream = new InputStream() {
            private int given;

            @Override
            public int read() {
                if (given == length / 2) {
                    stalled.countDown();
                    awaitUninterruptibly(goesOn);
                }
                return given++ < length ? 'x' : -1;
            }

            /** As a client's socket, what there is at that time. */
            @Override
            public int read(byte[] into, int offset, int wanted) {
                int one = read();
                if (one < 0 || wanted == 0) {
                    return wanted == 0 ? 0 : -1;
                }
                into[offset] = (byte) one;
                return 1;
            }
        };
        try (Connection client = url.isEmpty() ? connect(replica, new Properties()) : DriverManager.getConnection(url);
                Statement statement = client.createStatement();
                PreparedStatement insert =
                        client.prepareStatement("INSERT INTO L (ID, " + column + ") VALUES (1, ?)")) {
            client.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET A = 2");
            if (column.equals("B")) {
                insert.setBinaryStream(1, stream);
            } else {
                insert.setCharacterStream(1, new InputStreamReader(stream, StandardCharsets.US_ASCII));
            }
            Future<Integer> inserting = clients.submit(() -> insert.executeUpdate());
            try {
                stalled.await();
                int before = replicaMeta.rolledBack();
                execute("UPDATE T SET A = 3");
                replicate();
                await("it is rolled back", () -> replicaMeta.rolledBack() > before);
                assertThat(inserting.isDone()).isFalse();
                execute("UPDATE T SET A = 4");
                replicate();
            } finally {
                goesOn.countDown();
            }
            assertThatThrownBy(() -> inserting.get(60, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class,
                            e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo("40001"));
            client.commit();
            assertThat(query(replica, "SELECT A FROM T")).containsExactly("4");
            assertThat(count(replica, "L")).isZero();
            insert.setNull(1, column.equals("B") ? Types.BLOB : Types.VARCHAR);
            assertThat(insert.executeUpdate()).isEqualTo(1);
            client.rollback();
        }
        assertEqual();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }
}
