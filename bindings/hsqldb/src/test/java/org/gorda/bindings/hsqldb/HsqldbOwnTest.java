package org.gorda.bindings.hsqldb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Blob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.gorda.bindings.triggers.tck.OwnStandardTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What HSQLDB has in a way of its own, replicated or refused. */
class HsqldbOwnTest extends OwnStandardTck {

    private static final HsqldbUnderTest HSQLDB = new HsqldbUnderTest();

    /** Of the log's file, when a new script is written. */
    private static final long LOG_BYTES_MAX = 50 << 20;

    @Override
    protected TriggeredUnderTest tested() {
        return HSQLDB;
    }

    private Path file(String database, String name) {
        return Path.of(configuration(database).location(), name);
    }

    @Test
    void truncateIsReplicatedAlthoughNoTriggerIsToldOfIt() throws SQLException {
        makeTable();
        execute("INSERT INTO T SELECT X, X FROM " + HSQLDB.numbers(1, 100), "/* all */ DELETE FROM T WHERE ID > 50");
        assertRefusedEach("/* all */ TRUNCATE TABLE T");
        execute("TRUNCATE TABLE T", "INSERT INTO T VALUES (7, 7)");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    @Test
    void queriesThatTakeLongKeepNobodyFromCommitting() throws Exception {
        makeTable();
        execute("INSERT INTO T SELECT X, X FROM " + HSQLDB.numbers(1, 1000));
        try (Connection reading = connect();
                Statement query = reading.createStatement()) {
            Future<?> taking = clients.submit(() -> query.executeQuery("SELECT COUNT(*) FROM T A, T B, T C, T D, T E"));
            try {
                await("it is executed", () -> isExecuted("SELECT COUNT(*) FROM T A%"));
                clients.submit(origin::flush).get(20, TimeUnit.SECONDS);
                clients.submit(() -> {
                            execute("INSERT INTO T VALUES (0, 0)");
                            return null;
                        })
                        .get(20, TimeUnit.SECONDS);
                assertThat(taking).isNotDone();
                execute("ALTER TABLE T ADD COLUMN B INTEGER"); // which ends it
            } finally {
                query.cancel();
            }
            assertThatThrownBy(() -> taking.get(20, TimeUnit.SECONDS))
                    .hasStackTraceContaining("in the way of an ordered change");
        }
        assertEqual();
    }

    /** More come while those end who are in its way. */
    @Test
    void queriesThatTakeLongKeepNobodyFromChangingTheSchema() throws Exception {
        makeTable();
        execute("INSERT INTO T SELECT X, X FROM " + HSQLDB.numbers(1, 1000));
        AtomicBoolean ends = new AtomicBoolean();
        List<Statement> queries = new CopyOnWriteArrayList<>();
        List<Future<?>> all = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            all.add(clients.submit(() -> {
                try (Connection connection = connect();
                        Statement query = connection.createStatement()) {
                    queries.add(query);
                    while (!ends.get()) {
                        assertThatThrownBy(() -> query.executeQuery("SELECT COUNT(*) FROM T A, T B, T C, T D, T E"));
                    }
                }
                return null;
            }));
        }
        await("they are executed", () -> isExecuted("SELECT COUNT(*) FROM T A%"));
        try {
            clients.submit(() -> {
                        for (int i = 0; i < 20; i++) {
                            execute("ALTER TABLE T ADD COLUMN B INTEGER", "ALTER TABLE T DROP COLUMN B");
                        }
                        return null;
                    })
                    .get(60, TimeUnit.SECONDS);
        } finally {
            ends.set(true);
            while (!all.stream().allMatch(Future::isDone)) {
                for (Statement query : queries) {
                    query.cancel();
                }
            }
        }
        assertEqual();
    }

    @Test
    void aFileThatAClientHasNotFoundIsNotTheDatabases() throws SQLException {
        makeTable();
        assertThatThrownBy(() -> execute("CALL LOAD_FILE('/no/such/file')")).isInstanceOf(SQLException.class);
        assertThat(meta.hasFailed()).isFalse();
        execute("INSERT INTO T VALUES (1, 1)");
        assertEqual();
    }

    /** HSQLDB has them take values of generators, which are ordered. */
    @Test
    void whoOnlyReadsMayTakeValuesAndChangesNothingElse() throws SQLException {
        makeTable();
        execute("CREATE SEQUENCE S");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setReadOnly(true);
            statement.executeQuery("CALL NEXT VALUE FOR S").close();
            connection.commit();
            for (String sql : List.of("INSERT INTO T VALUES (1, 1)", "CREATE TABLE U (ID INTEGER PRIMARY KEY)")) {
                assertRefused("25006", () -> statement.execute(sql));
            }
            connection.setReadOnly(false);
            statement.executeUpdate("INSERT INTO T VALUES (1, 1)");
            connection.setReadOnly(true);
            assertRefused("25006", () -> statement.execute("CREATE TABLE U (ID INTEGER PRIMARY KEY)"));
            connection.commit();
            assertThat(connection.isReadOnly()).isTrue();
            assertRefused("25006", () -> statement.execute("DELETE FROM T"));
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    /** By 40001, whatever HSQLDB's name for it is: it has another one for rows that others have changed since. */
    @Test
    void whoComesSecondIsToldToRunAgain() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(100))", "INSERT INTO T VALUES (1, 'a')");
        try (Connection second = connect();
                Statement statement = second.createStatement()) {
            second.setAutoCommit(false);
            second.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            statement.executeQuery("SELECT A FROM T").close();
            execute("UPDATE T SET A = A || 'b' WHERE ID = 1");
            assertThatThrownBy(() -> statement.executeUpdate("UPDATE T SET A = A || 'c' WHERE ID = 1"))
                    .isInstanceOf(SQLTransactionRollbackException.class)
                    .extracting(failure -> ((SQLException) failure).getSQLState())
                    .isEqualTo("40001");
            statement.executeQuery("SELECT A FROM T").close();
            execute("UPDATE T SET A = A || 'd' WHERE ID = 1");
            statement.addBatch("UPDATE T SET A = A || 'e' WHERE ID = 1");
            assertRefused("40001", statement::executeBatch);
        }
        assertEqual();
    }

    /** Migration tools do it, to be alone; it is let go with the transaction. */
    @Test
    void whoLocksATableKeepsOthersFromChangingAnything() throws Exception {
        makeTable();
        try (Connection locking = connect();
                Statement statement = locking.createStatement()) {
            locking.setAutoCommit(false);
            statement.execute("LOCK TABLE T WRITE");
            assertThat(statement.getUpdateCount()).isZero();
            Future<?> other = clients.submit(() -> {
                execute("INSERT INTO T VALUES (2, 2)");
                return null;
            });
            statement.executeUpdate("INSERT INTO T VALUES (1, 1)");
            assertThat(query(origin, "SELECT COUNT(*) FROM T").toString()).contains("0");
            assertThat(other).isNotDone();
            locking.commit();
            other.get(20, TimeUnit.SECONDS);
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }

    /** Flyway's table has one. */
    @Test
    void aSingleBitIsReplicatedAsTheBooleanThatItIs() throws SQLException {
        execute(
                "CREATE TABLE B (ON_OFF BIT NOT NULL, A BIT(1), PRIMARY KEY (ON_OFF))",
                "INSERT INTO B VALUES (B'1', B'0'), (FALSE, NULL)",
                "UPDATE B SET A = TRUE WHERE ON_OFF = FALSE",
                "DELETE FROM B WHERE ON_OFF = TRUE");
        assertEqual();
        assertThat(query(replica, "SELECT ON_OFF, A FROM B WHERE ON_OFF = FALSE AND A = TRUE"))
                .hasSize(1);
        execute("CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, A BIT(2))");
        assertThatThrownBy(() -> execute("INSERT INTO C VALUES (1, B'01')"))
                .hasMessageContaining("column A is of type BIT");
    }

    private boolean isExecuted(String like) {
        try {
            return !query(
                            origin,
                            "SELECT SESSION_ID FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE CURRENT_STATEMENT LIKE '"
                                    + like + "'")
                    .isEmpty();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void mergeThatDoesNotDelete() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 2)",
                "INSERT INTO S VALUES (2, 20), (3, 30)",
                "MERGE INTO T USING S ON T.ID = S.ID WHEN MATCHED THEN UPDATE SET A = S.A WHEN NOT MATCHED THEN INSERT VALUES (S.ID, S.A)");
        assertThatThrownBy(() -> execute("MERGE INTO T USING S ON T.ID = S.ID WHEN MATCHED AND S.ID = 3 THEN DELETE"))
                .isInstanceOf(SQLException.class);
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(3);
    }

    @Test
    void generatedValuesAreNotGivenTwiceByWhoTakesOver() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 2) PRIMARY KEY, A INTEGER)",
                "CREATE SEQUENCE S",
                "CREATE SEQUENCE D AS INTEGER START WITH 3 INCREMENT BY -1 MINVALUE 1 MAXVALUE 3 CYCLE",
                "CREATE SEQUENCE E AS INTEGER START WITH 1 MINVALUE 1 MAXVALUE 2");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)", Statement.RETURN_GENERATED_KEYS)) {
            insert.executeUpdate();
            connection.rollback(); // both values are gone
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                assertThat(keys.next()).isTrue();
                assertThat(keys.getInt(1)).isEqualTo(7);
            }
            connection.commit();
        }
        execute("CALL NEXT VALUE FOR D", "CALL NEXT VALUE FOR D", "CALL NEXT VALUE FOR D");
        execute("CALL NEXT VALUE FOR E", "CALL NEXT VALUE FOR E");
        assertEqual();
        replica.takeOver();
        try (Connection connection = connect(replica, new Properties());
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
            try (ResultSet row = statement.executeQuery("SELECT ID, A FROM T WHERE ID > 7")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getInt(1)).isEqualTo(9);
                assertThat(row.getInt(2)).isEqualTo(2);
            }
            try (ResultSet row = statement.executeQuery("CALL NEXT VALUE FOR D")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getInt(1)).isEqualTo(3);
            }
            assertThatThrownBy(() -> statement.executeQuery("CALL NEXT VALUE FOR E"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("2200H"));
        }
    }

    @Test
    void generatedValuesOutliveTheDatabase() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)",
                "CREATE SEQUENCE S",
                "INSERT INTO T (A) VALUES (NEXT VALUE FOR S), (NEXT VALUE FOR S)",
                "DELETE FROM T");
        replicate();
        replica.flush();
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        applier = replica.applier();
        try (Connection connection = connect(replica, new Properties());
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
            try (ResultSet row = statement.executeQuery("SELECT ID, A FROM T")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getInt(1)).isEqualTo(2);
                assertThat(row.getInt(2)).isEqualTo(2);
            }
            connection.rollback();
        }
    }

    @Test
    void schemaChangesEndWhoIsInTheirWayAtTheReplica() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1)");
        replicate();
        try (Connection reader = connect(replica, new Properties());
                Statement statement = reader.createStatement()) {
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            execute("ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 7");
            replicate();
            assertRefused("40001", reader::commit);
        }
        assertEqual();
    }

    /** HSQLDB fails at it, without saying how, where another view is made of it. */
    @Test
    void viewsAreNotAltered() throws SQLException {
        makeTable();
        execute("CREATE VIEW V AS SELECT ID, A FROM T", "CREATE VIEW W AS SELECT * FROM V");
        assertRefusedEach("ALTER VIEW V AS SELECT ID FROM T", "ALTER VIEW W AS SELECT ID FROM V");
        assertRefused("S1000", () -> execute("ALTER TABLE V DROP PRIMARY KEY"));
        execute("DROP VIEW W", "DROP VIEW V", "CREATE VIEW V AS SELECT ID FROM T");
        assertEqual();
    }

    @Test
    void whatCannotBeSeenOrWouldDifferIsRefused() throws SQLException {
        makeTable();
        assertRefusedEach(
                "CREATE SCHEMA S CREATE TABLE U (ID INTEGER PRIMARY KEY) GRANT SELECT ON U TO PUBLIC",
                "/* */ CREATE TABLE U (ID INTEGER PRIMARY KEY)",
                "ALTER TABLE T ALTER COLUMN A SET DATA TYPE TIMESTAMP",
                "ALTER TABLE T\nALTER COLUMN A\nSET DATA TYPE TIMESTAMP",
                "ALTER TABLE T ADD COLUMN R DOUBLE DEFAULT RAND()",
                "ALTER TABLE T ADD COLUMN R CLOB DEFAULT 'abc'",
                "ALTER TABLE T ALTER COLUMN A SET DATA TYPE BLOB(10)",
                "CREATE DOMAIN D AS CHARACTER LARGE OBJECT",
                "CREATE TABLE U (ID INTEGER PRIMARY KEY, SINCE TIMESTAMP GENERATED ALWAYS AS ROW START, "
                        + "TILL TIMESTAMP GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (SINCE, TILL)) WITH SYSTEM VERSIONING");
        assertRefusedEach("DROP TABLE PUBLIC.GORDA.POSITION");
        execute("CREATE SEQUENCE S");
        assertRefusedEach("ALTER SEQUENCE S RESTART");
        execute("ALTER SEQUENCE S RESTART WITH 7");
        execute("CREATE TABLE C (ID INTEGER PRIMARY KEY, B CLOB)");
        assertThatThrownBy(() -> execute("INSERT INTO C VALUES (1, NULL)"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("column B is of type CLOB");
        assertEqual();
    }

    @Test
    void columnsOfDatesAndTimesAreAdded() throws SQLException {
        makeTable();
        execute(
                "INSERT INTO T VALUES (1, 1)",
                "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 10:00:00.25' NOT NULL",
                "ALTER TABLE T ADD COLUMN D DATE BEFORE A",
                "ALTER TABLE T ADD E TIME DEFAULT TIME '23:59:59'",
                "UPDATE T SET D = CURRENT_DATE");
        assertRefusedEach(
                "ALTER TABLE T ADD COLUMN F TIMESTAMP DEFAULT LOCALTIMESTAMP",
                "ALTER TABLE T ALTER COLUMN A SET DATA TYPE DATE",
                "ALTER TABLE T ALTER D TIMESTAMP");
        assertEqual();
    }

    private interface Giving {
        void to(PreparedStatement insert) throws SQLException;
    }

    /** HSQLDB takes them while it executes their statement, which keeps the turn for as long as the client gives nothing. */
    @Test
    void largeObjectsAreRefusedBeforeTheirClientIsWaitedFor() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER PRIMARY KEY, B BLOB, C CLOB, V VARBINARY(9))");
        InputStream bytes = InputStream.nullInputStream();
        Reader text = Reader.nullReader();
        try (Connection connection = connect();
                Statement statement =
                        connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (1, ?, ?, ?)")) {
            Blob blob = connection.createBlob();
            for (Giving giving : List.<Giving>of(
                    one -> one.setBinaryStream(1, bytes),
                    one -> one.setBinaryStream(1, bytes, 5),
                    one -> one.setBlob(1, bytes),
                    one -> one.setBlob(1, blob),
                    one -> one.setObject(1, bytes),
                    one -> one.setCharacterStream(2, text),
                    one -> one.setClob(2, text),
                    one -> one.setAsciiStream(2, bytes))) {
                assertRefused("0A000", () -> giving.to(insert));
            }
            insert.setNull(1, Types.BLOB);
            insert.setNull(2, Types.CLOB);
            insert.setBinaryStream(3, bytes);
            assertRefused("0A000", insert::executeUpdate); // for its table's sake
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                rows.moveToInsertRow();
                assertRefused("0A000", () -> rows.updateBinaryStream(2, bytes));
                assertRefused("0A000", () -> rows.updateClob("C", text));
                rows.updateBinaryStream("V", bytes, 0);
            }
            connection.commit();
        }
        assertEqual();
    }

    @Test
    void databasesThatAreNotFit() throws SQLException, IOException {
        Files.createDirectories(Path.of(configuration("unfit").location()));
        try (Connection made = past("unfit");
                Statement statement = made.createStatement()) {
            statement.execute("CREATE FUNCTION F (N INTEGER) RETURNS INTEGER RETURN N + 1");
            statement.execute("CREATE CACHED TABLE T (B BLOB)");
            statement.execute(
                    "CREATE TABLE V (ID INTEGER PRIMARY KEY, SINCE TIMESTAMP GENERATED ALWAYS AS ROW START, "
                            + "TILL TIMESTAMP GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (SINCE, TILL)) WITH SYSTEM VERSIONING");
            assertThat(tested().binding().examine(made).orElseThrow())
                    .extracting(finding -> finding.object())
                    .containsExactlyInAnyOrder(
                            "routine \"PUBLIC\".\"F\"",
                            "table \"PUBLIC\".\"V\"",
                            "table \"PUBLIC\".\"V\"",
                            "table \"PUBLIC\".\"T\"",
                            "table \"PUBLIC\".\"T\"",
                            "table \"PUBLIC\".\"T\"");
            statement.execute("SHUTDOWN");
        }
        assertThatThrownBy(() -> tested().binding().open(configuration("unfit"), meta))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("routine \"PUBLIC\".\"F\"")
                .hasMessageContaining("table \"PUBLIC\".\"T\"")
                .hasMessageContaining("table \"PUBLIC\".\"V\"");
    }

    /** Nobody changes them as long as it is a replica's, and nobody may lose them. */
    @Test
    void largeObjectsThatWereThereBeforeAreCopied(@TempDir Path directory) throws SQLException, IOException {
        Files.createDirectories(Path.of(configuration("old").location()));
        try (Connection made = past("old");
                Statement statement = made.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY, A CLOB)");
            statement.execute("INSERT INTO T VALUES (1, 'from long ago')");
            statement.execute("SHUTDOWN");
        }
        try (ReflectedDatabase old = tested().binding().open(configuration("old"), new MetaLevel())) {
            old.snapshot(directory.resolve("snapshot"));
        }
        tested().binding().load(directory.resolve("snapshot"), configuration("joined"));
        try (ReflectedDatabase joined = tested().binding().open(configuration("joined"), new MetaLevel());
                Connection connection = joined.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT A FROM T")) {
            assertThat(row.next()).isTrue();
            assertThat(row.getString(1)).isEqualTo("from long ago");
        }
    }

    @Test
    void aDatabaseIsOpenedOnceOnly() {
        assertThatThrownBy(() -> tested().binding().open(configuration("origin"), meta))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("is open already in this process");
    }

    /** HSQLDB would execute what is left of the line, and drop another table. */
    @Test
    void aLineOfTheLogThatIsCutShortIsNotExecuted() throws SQLException, IOException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        replicate();
        replica.flush();
        Files.writeString(
                file("replica", "database.log"), "/*C99*/SET SCHEMA PUBLIC\nDROP TABLE T", StandardOpenOption.APPEND);
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        applier = replica.applier();
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    /** HSQLDB would leave out what it could not write, and go on with what comes next when there is room again. */
    @Test
    void aLogWithAHoleIsNeitherWrittenNorTakenForWhole() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(100000))");
        replicate();
        replica.flush();
        long before = applied;
        limitFiles(Long.toString(file("replica", "database.log").toFile().length() + 20_000));
        try {
            insertLong(1);
        } finally {
            limitFiles("unlimited");
        }
        insertLong(11);
        assertThatThrownBy(replica::flush)
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("the log could not be written");
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        applier = replica.applier();
        long whole = replica.storedPosition().orElseThrow().index();
        assertThat(whole).isBetween(before, applied - 10);
        assertThat(count(replica, "T")).as("two rows by each").isEqualTo(2 * (int) (whole - before));
    }

    private void insertLong(int first) throws SQLException {
        for (int i = first; i < first + 10; i++) {
            try (Connection connection = connect();
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?), (?, ?)")) {
                for (int column = 1; column < 5; column += 2) {
                    insert.setInt(column, column == 1 ? i : -i);
                    insert.setString(column + 1, "x".repeat(5_000));
                }
                insert.executeUpdate();
                connection.commit();
            }
            replicate();
        }
    }

    /** Of this process, as a disk that has no more room. */
    private static void limitFiles(String bytes) throws Exception {
        long pid = ProcessHandle.current().pid();
        assertThat(new ProcessBuilder("prlimit", "--pid", Long.toString(pid), "--fsize=" + bytes + ":")
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
    }

    /** HSQLDB puts a new table in the place of the old one; who has prepared the statement with the old one must not write to that. */
    @Test
    void whatIsPreparedWhileTheSchemaChangesIsWrittenToTheTableThatThereIsThen() throws Exception {
        makeTable();
        execute("INSERT INTO T SELECT X, X FROM " + HSQLDB.numbers(1, 2000));
        AtomicInteger last = new AtomicInteger(10_000);
        AtomicBoolean ends = new AtomicBoolean();
        List<Future<?>> all = new ArrayList<>();
        for (int client = 0; client < 3; client++) {
            all.add(clients.submit(() -> {
                while (!ends.get()) {
                    insertOne(last.incrementAndGet());
                }
                return null;
            }));
        }
        for (int i = 0; i < 150; i++) {
            execute("ALTER TABLE T ADD COLUMN B INTEGER", "ALTER TABLE T DROP COLUMN B");
        }
        ends.set(true);
        for (Future<?> client : all) {
            client.get(60, TimeUnit.SECONDS);
        }
        assertEqual();
    }

    private void insertOne(int id) throws SQLException {
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T (ID) VALUES (?)")) {
            insert.setInt(1, id);
            insert.executeUpdate();
            connection.commit();
        } catch (SQLException e) {
            if (!"40001".equals(e.getSQLState())) {
                throw e;
            }
        }
    }

    @Test
    void aLogThatHasBecomeLongIsReplacedAndNothingIsLost() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(100000))", "INSERT INTO T VALUES (1, '')");
        String value = "x".repeat(100_000);
        try (Connection connection = connect();
                PreparedStatement update = connection.prepareStatement("UPDATE T SET A = ? WHERE ID = 1")) {
            for (int i = 0; i < LOG_BYTES_MAX / 100_000; i++) {
                update.setString(1, value.substring(i));
                update.executeUpdate();
                connection.commit();
                replicate();
            }
        }
        assertThat(file("origin", "database.log").toFile().length()).isLessThan(LOG_BYTES_MAX);
        assertThat(file("replica", "database.log").toFile().length()).isLessThan(LOG_BYTES_MAX);
        assertEqual();
        replica.flush();
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        applier = replica.applier();
        assertThat(replica.storedPosition().orElseThrow().index()).isEqualTo(applied);
        assertEqual();
    }

    @Override
    protected String change(Random random, int row, int other) {
        return switch (random.nextInt(8)) {
            case 0 ->
                "INSERT INTO T VALUES (" + row + ", " + other + ", 1, " + row % 10 + "), (" + other + ", " + row
                        + ", 1, 0)";
            case 1 -> "UPDATE T SET ID = ID + 1, U = U + 1 WHERE ID BETWEEN " + row + " AND " + (row + 5);
            case 2 -> "UPDATE T SET A = A + 1 WHERE P = " + row % 10;
            case 3 -> "DELETE FROM T WHERE ID = " + row;
            case 4 -> "UPDATE P SET ID = ID + 10 WHERE ID = " + row % 20;
            case 5 -> "DELETE FROM P WHERE ID = " + row % 20;
            case 6 -> "INSERT INTO P VALUES (" + row % 20 + ")";
            default -> "INSERT INTO L (A) SELECT A FROM T WHERE ID < " + row;
        };
    }
}
