package org.gorda.bindings.h2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.TimeZone;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.gorda.bindings.triggers.tck.OwnStandardTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.tck.MetaLevel;
import org.h2.engine.SessionLocal;
import org.h2.jdbc.JdbcConnection;
import org.h2.jdbc.JdbcResultSet;
import org.h2.mvstore.MVStore;
import org.h2.util.DateTimeUtils;
import org.h2.util.JdbcUtils;
import org.h2.util.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What H2 has in a way of its own, replicated or refused. */
class H2OwnTest extends OwnStandardTck {

    private static final TriggeredUnderTest H2 = new H2UnderTest();

    @Override
    protected TriggeredUnderTest tested() {
        return H2;
    }

    private static String trigger(String event, Class<?> action) {
        return "CREATE TRIGGER TR AFTER " + event + " ON T FOR EACH ROW CALL '" + action.getName() + "'";
    }

    private void makeTables() throws SQLException {
        makeTable();
        execute("CREATE TABLE L (ID INTEGER NOT NULL PRIMARY KEY CHECK (ID < 10), A INTEGER)");
    }

    @Test
    void triggerEffectsAreAppliedOnceAndTakenBackWithTheirStatement() throws SQLException {
        makeTables();
        execute(trigger("INSERT", TestTriggers.Copying.class));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1, 1), (2, 2)");
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (3, 3), (11, 11)"))
                    .isInstanceOf(SQLException.class);
            statement.executeUpdate("INSERT INTO T VALUES (4, 4)");
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM L ORDER BY ID")).containsExactly("1", "2", "4");
    }

    @Test
    void whatTriggersCommitOrMakeIsRefused() throws SQLException {
        for (Class<?> action : List.of(TestTriggers.Committing.class, TestTriggers.Making.class)) {
            makeTables();
            execute(trigger("INSERT", action));
            meta.takeWriteSets();
            try (Connection connection = connect();
                    Statement statement = connection.createStatement()) {
                assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (1, 1)"))
                        .isInstanceOf(SQLException.class);
                connection.commit();
            }
            assertThat(count(origin, "T")).isZero();
            assertThat(meta.takeWriteSets()).isEmpty();
            assertThat(origin.tables()).hasSize(2);
            execute("DROP TABLE T", "DROP TABLE L");
        }
    }

    @Test
    void aStatementThatGoesOnAfterAPartOfItWasTakenBackIsRefused() throws SQLException {
        makeTables();
        execute(trigger("INSERT", TestTriggers.Forgiving.class));
        assertRefused("40001", () -> execute("INSERT INTO T VALUES (1, 1)"));
        assertThat(count(origin, "T")).isZero();
        execute("UPDATE T SET A = 1");
        assertEqual();
    }

    @Test
    void keysOfTablesWithTriggersAreNotUpdated() throws SQLException {
        makeTables();
        execute("INSERT INTO T VALUES (1, 1)", trigger("DELETE", TestTriggers.Copying.class));
        assertRefused("0A000", () -> execute("UPDATE T SET ID = ID + 1"));
        execute("UPDATE T SET A = 7");
        assertEqual();
    }

    private void entangle(String event, String does) throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1), (2, 2), (3, 3)", trigger(event, TestTriggers.Entangling.class));
        TestTriggers.Entangling.does(does);
    }

    /** H2 changes all rows of a statement before it calls triggers for the first of them. */
    @Test
    void rowsThatATriggerChangesBeforeTheirOwnChangeIsTold() throws SQLException {
        entangle("UPDATE", "UPDATE T SET A = 100 WHERE ID = 2");
        execute("UPDATE T SET A = A + 1");
        assertEqual();
        TestTriggers.Entangling.does("DELETE FROM T WHERE ID = 2");
        execute("UPDATE T SET A = A + 1");
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T ORDER BY ID")).containsExactly("3", "5");
    }

    @Test
    void rowsThatATriggerDeletesOrPutsInBeforeTheirOwnEndIsTold() throws SQLException {
        entangle("DELETE", "INSERT INTO T VALUES (2, 100)");
        assertRefused("0A000", () -> execute("DELETE FROM T"));
        TestTriggers.Entangling.does("INSERT INTO T VALUES (1, 100)");
        execute("DELETE FROM T");
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T")).containsExactly("100");
    }

    /** H2 calls triggers in the order of their numbers once it was opened anew, of which new ones may have low ones. */
    @Test
    void whatATriggerDoesIsToldAfterWhatItIsCalledForAlsoAfterARestart() throws SQLException {
        execute("CREATE TABLE X (ID INTEGER NOT NULL PRIMARY KEY)");
        makeTable();
        execute("DROP TABLE X", trigger("INSERT", TestTriggers.Entangling.class));
        TestTriggers.Entangling.does("UPDATE T SET A = 100 WHERE ID = 1");
        assertEqual();
        origin.close();
        origin = tested().binding().open(configuration("origin"), meta);
        execute("INSERT INTO T VALUES (1, 1)");
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T")).containsExactly("100");
    }

    @Test
    void keysThatAreReferredToWithinTheirTable() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER UNIQUE, P INTEGER REFERENCES T ON UPDATE CASCADE, Q INTEGER REFERENCES T (U) ON UPDATE CASCADE)",
                "INSERT INTO T VALUES (1, 1, 1, NULL), (2, 2, NULL, 1), (3, 3, 1, 1)",
                "UPDATE T SET Q = 2 WHERE ID = 1");
        execute("UPDATE T SET U = U + 1");
        assertEqual();
        execute("UPDATE T SET ID = 9 WHERE ID = 1", "UPDATE T SET U = 30 WHERE ID = 3");
        assertEqual();
        assertRefused("0A000", () -> execute("UPDATE T SET ID = ID + 1"));
    }

    @Test
    void aFileThatAClientHasNotFoundIsNotTheDatabases() throws SQLException {
        makeTable();
        assertRefused("90031", () -> execute("SELECT FILE_READ('/no/such/file')"));
        assertRefused("90028", () -> execute("INSERT INTO T SELECT * FROM CSVREAD('/no/such/file', 'ID,A')"));
        assertThat(meta.hasFailed()).isFalse();
        execute("INSERT INTO T VALUES (1, 1)");
        assertEqual();
    }

    /** As H2 does on a full disk: the transaction is ordered, and others have it. Connections are open still, and nobody can close them in order. */
    @Test
    void whoseDatabaseEndsInACommitIsToldThatNobodyHereKnowsItsOutcome() throws SQLException {
        MetaLevel own = new MetaLevel();
        ReflectedDatabase ending = tested().binding().open(configuration("ending"), own);
        Connection connection = connect(ending, new Properties());
        MVStore store = store(configuration("ending").location());
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            own.answer(commit -> {
                store.closeImmediately();
                assertThatThrownBy(() -> commit.commit(own.nextPosition(), false))
                        .isInstanceOf(ReflectionException.class);
                ending.close(); // as a replica does then: until it has, nobody goes on
            });
            assertRefused("08007", connection::commit);
        }
    }

    /** Java closes the channel to a file whose reader is interrupted, whereupon H2 closes the database. */
    @Test
    void aClientWhoIsInterruptedClosesNothing() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(5000))",
                "INSERT INTO T SELECT X, REPEAT('x', 5000) FROM SYSTEM_RANGE(1, 1000)");
        origin.close();
        origin = tested().binding().open(configuration("origin"), meta); // so that it is not in memory
        List<String> found = clients.submit(() -> {
                    Thread.currentThread().interrupt();
                    return query(origin, "SELECT COUNT(DISTINCT A) FROM T");
                })
                .get(20, TimeUnit.SECONDS);
        assertThat(found).containsExactly("1");
        execute("DELETE FROM T WHERE ID > 10");
        assertEqual();
    }

    @Test
    void aRollbackOfWhoIsInterruptedWhileTheDatabaseWritesTakesAllBack() throws Exception {
        makeTable();
        MVStore store = store(configuration("origin").location());
        CountDownLatch isHeld = new CountDownLatch(1);
        CountDownLatch mayWrite = new CountDownLatch(1);
        clients.submit(() -> store.executeFilestoreOperation(() -> {
            isHeld.countDown();
            awaitUninterrupted(mayWrite);
        }));
        Thread writing = new Thread(() -> origin.flush());
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1, 1)");
            isHeld.await();
            writing.start();
            await("it waits to write", () -> isIn(writing, H2Store.class.getName()));
            Thread interrupted = new Thread(() -> {
                Thread.currentThread().interrupt();
                try {
                    connection.rollback();
                } catch (SQLException | RuntimeException e) {
                    // It may not be told that it was.
                }
            });
            interrupted.start();
            await("it waits, or has given up", () -> interrupted.getState() != Thread.State.RUNNABLE);
            mayWrite.countDown();
            interrupted.join();
            writing.join();
            if (!connection.isClosed()) {
                connection.commit();
            }
        }
        assertEqual();
        assertThat(count(origin, "T")).isZero();
    }

    private static boolean isIn(Thread thread, String type) {
        return thread.getState() != Thread.State.RUNNABLE
                && Stream.of(thread.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().equals(type));
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** H2 has its file's header lead to what it has written before that. */
    @Test
    void whatIsForcedIsFoundInTheFileAlsoWhereItsRoomIsUsedAgain() throws SQLException {
        store(configuration("origin").location()).setRetentionTime(0);
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20000))");
        Random random = new Random(7);
        for (int round = 0; round < 100; round++) {
            int first = round * 100;
            try (Connection connection = connect();
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)");
                    Statement statement = connection.createStatement()) {
                int rows = 1 + random.nextInt(50);
                for (int i = 0; i < rows; i++) {
                    insert.setInt(1, first + i);
                    insert.setString(2, "x".repeat(random.nextInt(10_000)));
                    insert.executeUpdate();
                }
                statement.executeUpdate("DELETE FROM T WHERE ID BETWEEN " + (first - 300) + " AND " + (first - 200));
                connection.commit();
            }
            meta.takeWriteSets();
            origin.flush();
            try (FrozenRows frozen = origin.freeze(directory.resolve("frozen" + round))) {
                assertThat(frozen.position()).isEqualTo(origin.storedPosition());
            }
        }
    }

    /** H2 itself leaves a table T_COPY_n_m, with other numbers on each replica, and forgets the default in memory. */
    @Test
    void aSchemaChangeThatFailsInItsMidstLeavesNothing() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, A VARCHAR(10) DEFAULT 'q' UNIQUE)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P)",
                "INSERT INTO P (A) VALUES ('1'), ('01')",
                "INSERT INTO C VALUES (1, 1)");
        List<String> before = catalogue(origin);
        assertRefused("23505", () -> execute("ALTER TABLE P ALTER COLUMN A SET DATA TYPE INTEGER"));
        execute("INSERT INTO P (A) VALUES (DEFAULT)");
        assertRefused("22018", () -> execute("ALTER TABLE P ALTER COLUMN A SET DATA TYPE INTEGER"));
        assertThat(catalogue(origin)).isEqualTo(before);
        assertEqual();
        origin.flush();
        origin = tested().kill(origin, configuration("origin"), meta);
        assertEqual();
        execute("INSERT INTO P (A) VALUES ('next')", "INSERT INTO C SELECT 2, MAX(ID) FROM P");
        assertEqual();
    }

    /** H2 itself goes by what it knows of a view that cannot be compiled any more, until it is opened anew. */
    @Test
    void whatAViewKeepsFromBeingDroppedDoesNotDependOnARestart() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, B INTEGER)",
                "CREATE VIEW V AS SELECT A FROM T",
                "ALTER TABLE T ALTER COLUMN A RENAME TO C");
        assertEqual();
        origin.close();
        origin = tested().binding().open(configuration("origin"), meta);
        execute("ALTER TABLE T DROP COLUMN B", "INSERT INTO T VALUES (1, 1)");
        assertEqual();
    }

    /** H2 itself opens a file in which it has written a part of a change, if it does, and fails later. */
    @ParameterizedTest
    @ValueSource(strings = {"few", "wide", "many"})
    @Timeout(400)
    void aKillInASchemaChangeLeavesWhatWasBefore(String which) throws Exception {
        boolean isLarge = !which.equals("few");
        long heap = Runtime.getRuntime().maxMemory();
        int rows = (int) (which.equals("few") ? 50 : which.equals("wide") ? heap / 8 / 13_000 : heap / 4 / 350);
        String text = which.equals("many") ? "NULL, NULL" : "REPEAT(X, 2000), 'long'";
        execute(
                "CREATE TABLE T (ID INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, A VARCHAR(20000), L CLOB)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, T INTEGER REFERENCES T)",
                "CREATE INDEX I ON T (ID, A)",
                "CREATE TRIGGER TR AFTER UPDATE ON T FOR EACH ROW CALL '" + TestTriggers.Made.class.getName() + "'");
        int step = which.equals("many") ? 50_000 : 1_000;
        for (int i = 0; i < rows; i += step) {
            execute("INSERT INTO T (A, L) SELECT " + text + " FROM SYSTEM_RANGE(" + (i + 1) + ", "
                    + Math.min(rows, i + step) + ")");
        }
        execute("INSERT INTO C VALUES (1, 1)");
        origin.flush();
        List<String> before = catalogue(origin);
        Path running = Path.of(configuration("origin").location());
        Path killed = Path.of(configuration("killed").location());
        Files.createDirectory(killed);
        MVStore store = store(running.toString());
        TestTriggers.Made.then(() -> store.executeFilestoreOperation(() -> copyFiles(running, killed)));
        execute("ALTER TABLE T ADD COLUMN B INTEGER");
        assertThat(new H2Files(killed.toString()).isAside()).isEqualTo(isLarge);
        assertThat(new H2Files(running.toString()).isAside()).isFalse();
        MetaLevel own = new MetaLevel();
        try (ReflectedDatabase opened = tested().binding().open(configuration("killed"), own)) {
            own.continueAfter(opened.storedPosition().orElseThrow().index());
            assertThat(catalogue(opened)).isEqualTo(before);
            assertThat(count(opened, "T")).isEqualTo(rows);
            try (Connection connection = connect(opened, new Properties());
                    Statement statement = connection.createStatement()) {
                statement.execute("ALTER TABLE T ADD COLUMN B INTEGER");
                statement.execute("INSERT INTO T (A, L) VALUES ('next', 'next')");
                statement.execute("INSERT INTO C SELECT 2, MAX(ID) FROM T");
                connection.rollback();
            }
            assertThat(catalogue(opened)).isEqualTo(catalogue(origin));
            assertThat(new H2Files(killed.toString()).isAside()).isFalse();
        }
        assertEqual();
    }

    @Test
    void aSchemaChangeThatIsBeingMadeIsNotOverdue() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TRIGGER TR AFTER UPDATE ON T FOR EACH ROW CALL '" + TestTriggers.Made.class.getName() + "'");
        AtomicBoolean isOverdue = new AtomicBoolean();
        meta.overdue(Duration.ofMillis(10), commit -> isOverdue.set(true));
        AtomicBoolean isBeingMade = new AtomicBoolean();
        meta.answer(commit -> {
            clients.submit(() -> meta.succeed(commit));
            await("it is being made", isBeingMade::get);
        });
        TestTriggers.Made.then(() -> {
            isBeingMade.set(true);
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(300); // many times as long
            await("it has taken long", () -> isOverdue.get() || System.nanoTime() > end);
        });
        execute("ALTER TABLE T ADD COLUMN B INTEGER");
        assertThat(isOverdue).isFalse();
        assertEqual();
    }

    @Test
    void aSchemaChangeInWhichTheReplicaIsClosedLeavesWhatWasBefore() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(100))",
                "CREATE TRIGGER TR AFTER UPDATE ON T FOR EACH ROW CALL '" + TestTriggers.Made.class.getName() + "'",
                "INSERT INTO T VALUES (1, 'a'), (2, 'b')");
        origin.flush();
        List<String> before = catalogue(origin);
        ReflectedDatabase closed = origin;
        TestTriggers.Made.then(closed::close);
        assertThatThrownBy(() -> execute("ALTER TABLE T ADD COLUMN B INTEGER")).isInstanceOf(Exception.class);
        origin = tested().binding().open(configuration("origin"), meta);
        assertThat(catalogue(origin)).isEqualTo(before);
        execute("ALTER TABLE T ADD COLUMN C INTEGER", "INSERT INTO T VALUES (3, 'c', 3)");
        assertThat(query(origin, "SELECT COUNT(*) FROM T")).containsExactly("3");
    }

    private static void copyFiles(Path from, Path to) {
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void columnsAreNotAddedTogetherWithTheirConstraints() throws SQLException {
        makeTables();
        execute("INSERT INTO T VALUES (1, 1), (2, 2)");
        assertRefusedEach(
                "ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 1 UNIQUE",
                "ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 1 CHECK (B > 1)",
                "ALTER TABLE T ADD COLUMN (B INTEGER, D INTEGER REFERENCES L)");
        execute("ALTER TABLE T ADD COLUMN (B INTEGER NOT NULL DEFAULT 1, D INTEGER)");
        assertRefused("23505", () -> execute("ALTER TABLE T ADD CONSTRAINT U UNIQUE (B)"));
        assertEqual();
    }

    /** H2 fails at that without saying how. */
    @Test
    void whatH2FailsAtIsRefusedBeforeItIsOrdered() throws SQLException {
        makeTables();
        execute(
                "CREATE SYNONYM Y FOR T",
                "INSERT INTO T VALUES (1, 1)",
                "CREATE TABLE G (ID INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)",
                "CREATE SYNONYM Z FOR G",
                "CREATE VIEW V AS SELECT ID FROM T",
                "CREATE VIEW W AS SELECT ID FROM V");
        assertRefusedEach(
                "ALTER TABLE T ADD COLUMN B INTEGER",
                "ALTER TABLE T DROP COLUMN A",
                "ALTER TABLE T ALTER COLUMN A SET DATA TYPE BIGINT",
                "CREATE OR REPLACE VIEW V AS SELECT * FROM V",
                "CREATE OR REPLACE VIEW V AS SELECT ID FROM T WHERE ID IN (SELECT ID FROM W)");
        execute(
                "CREATE INDEX I ON T (A)",
                "CREATE OR REPLACE VIEW V AS SELECT ID FROM T WHERE ID > 0",
                "ALTER TABLE G ALTER COLUMN ID RESTART WITH 7",
                "DROP SYNONYM Y",
                "ALTER TABLE T ADD COLUMN B INTEGER",
                "CREATE SYNONYM Y FOR T");
        assertEqual();
    }

    @Test
    void columnsAreNotAddedWithDefaultsThatOnlyBeginWithALiteral() throws SQLException {
        makeTables();
        execute("CREATE SEQUENCE S", "INSERT INTO T VALUES (1, 1), (2, 2)");
        assertRefusedEach(
                "ALTER TABLE T ADD COLUMN B DOUBLE PRECISION DEFAULT 1 + RAND()",
                "ALTER TABLE T ADD COLUMN B VARCHAR(50) DEFAULT '' || RANDOM_UUID()",
                "ALTER TABLE T ADD COLUMN B BOOLEAN DEFAULT TRUE AND RAND() > 0.5",
                "ALTER TABLE T ADD COLUMN B BIGINT DEFAULT 0 + NEXT VALUE FOR S NOT NULL",
                "ALTER TABLE T ADD COLUMN B INTEGER SEQUENCE S",
                "ALTER TABLE T ADD COLUMN B INTEGER GENERATED ALWAYS AS IDENTITY",
                "ALTER TABLE T ADD COLUMN (C INTEGER, B INTEGER AS (A * RAND()))",
                "ALTER TABLE T ADD COLUMN B DOUBLE PRECISION USING RAND()",
                "ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 1 USING A + 1 BEFORE A",
                "CREATE DOMAIN D AS DOUBLE PRECISION DEFAULT 1 + RAND()");
        execute(
                "ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 1 NOT NULL",
                "ALTER TABLE T ADD C DATE DEFAULT DATE '2024-02-29' BEFORE B",
                "ALTER TABLE T ADD (SEQUENCE INTEGER DEFAULT -5, \"AS\" VARCHAR(9) DEFAULT 'a', E ENUM('e', 'f') DEFAULT 'f')");
        assertEqual();
    }

    /** H2 copies rows where it adds, drops or changes a column. */
    @Test
    void rowsAreNotCopiedOfWhichEachReplicaWouldComputeSomethingAgain() throws SQLException {
        execute(
                "CREATE TABLE G (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, B INTEGER, R DOUBLE PRECISION AS (A * RAND()))",
                "CREATE TABLE N (ID INTEGER NOT NULL PRIMARY KEY, A DOUBLE PRECISION, B INTEGER)",
                "CREATE TABLE D (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, B INTEGER, R INTEGER AS (A + 1))",
                "INSERT INTO G (ID, A) VALUES (1, 1), (2, 2)",
                "INSERT INTO N (ID) VALUES (1), (2)",
                "INSERT INTO D (ID, A) VALUES (1, 1), (2, NULL)",
                "ALTER TABLE N ALTER COLUMN A SET DEFAULT RAND()",
                "ALTER TABLE N ALTER COLUMN A SET DEFAULT ON NULL");
        for (String table : List.of("G", "N")) {
            assertRefusedEach(
                    "ALTER TABLE " + table + " ADD COLUMN C INTEGER",
                    "ALTER TABLE " + table + " DROP COLUMN B",
                    "ALTER TABLE " + table + " ALTER COLUMN B SET DATA TYPE VARCHAR(9)");
            execute("CREATE INDEX OF_" + table + " ON " + table + " (B)");
        }
        execute(
                "INSERT INTO N VALUES (3, NULL, 3)",
                "UPDATE G SET A = 3",
                "ALTER TABLE D ADD COLUMN C INTEGER DEFAULT 4",
                "ALTER TABLE D ALTER COLUMN C SET DEFAULT ON NULL",
                "UPDATE D SET C = NULL WHERE ID = 1",
                "ALTER TABLE D DROP COLUMN B",
                "ALTER TABLE N ALTER COLUMN A DROP DEFAULT ON NULL",
                "ALTER TABLE N DROP COLUMN B");
        assertEqual();
    }

    /** Replicas may be in several time zones. */
    @Test
    void timesInSchemaChangesHaveNoZone() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1)");
        assertRefusedEach(
                "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00+05'",
                "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT '2020-01-01 00:00:00 Z'",
                "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT '2020-01-01T00:00:00.5-03:30'",
                "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT TIMESTAMP WITH TIME ZONE '2020-01-01 00:00:00+5:00'",
                "ALTER TABLE T ADD COLUMN B TIME DEFAULT '10:00 Europe/Lisbon'",
                "CREATE TABLE U (ID INTEGER PRIMARY KEY, B TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 00:00:00+05')");
        execute(
                "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT TIMESTAMP '2020-01-01 10:00:00.25' NOT NULL",
                "ALTER TABLE T ADD COLUMN C TIMESTAMP DEFAULT '2020-01-01 10:00:00'",
                "ALTER TABLE T ADD COLUMN D DATE DEFAULT DATE '2020-01-01'",
                "ALTER TABLE T ADD COLUMN E TIME",
                "ALTER TABLE T ADD COLUMN F VARCHAR(20) DEFAULT 'at 10 Z'");
        assertEqual();
    }

    @Test
    void aCheckByChanceIsNotAddedByAQuotedNameEither() throws SQLException {
        makeTable();
        assertRefusedEach("ALTER TABLE T ADD CHECK (A < \"RAND\"())");
    }

    /** H2 computes constants when it reads a statement. */
    @Test
    void whatHidesAZoneIsTheSameInEachZone() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1)");
        TimeZone here = TimeZone.getDefault();
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("America/New_York"));
            DateTimeUtils.resetCalendar();
            execute(
                    "ALTER TABLE T ADD COLUMN B TIMESTAMP DEFAULT CAST('2020-01-01 00:00:00+00' AS TIMESTAMP)",
                    "ALTER TABLE T ADD COLUMN C TIMESTAMP DEFAULT ('2020-01-01 00:00:00' || '+00')");
        } finally {
            TimeZone.setDefault(here);
            DateTimeUtils.resetCalendar();
        }
        assertEqual();
        assertThat(query(replica, "SELECT CAST(B AS VARCHAR) FROM T")).containsExactly("2020-01-01 00:00:00");
    }

    @Test
    void sequencesDoNotBeginWhereEachReplicaWouldComputeIt() throws SQLException {
        execute(
                "CREATE SEQUENCE S START WITH -5 INCREMENT BY -1 MINVALUE -100 CACHE 7",
                "CREATE SEQUENCE N AS NUMERIC(9)");
        assertRefusedEach(
                "CREATE SEQUENCE Q START WITH CURRENT_DATE - DATE '2020-01-01'",
                "CREATE SEQUENCE Q MAXVALUE 7 + RAND() * 1000",
                "ALTER SEQUENCE S RESTART WITH NEXT VALUE FOR N",
                "CREATE TABLE T (ID INTEGER GENERATED ALWAYS AS IDENTITY (START WITH RAND() * 1000) PRIMARY KEY)");
        execute(
                "ALTER SEQUENCE S RESTART",
                "ALTER SEQUENCE N RESTART WITH 8",
                "CREATE TABLE T (ID INTEGER GENERATED BY DEFAULT AS IDENTITY (START WITH 5 INCREMENT BY 7) PRIMARY KEY, A INTEGER)",
                "INSERT INTO T (A) VALUES (NEXT VALUE FOR S), (NEXT VALUE FOR N)",
                "ALTER TABLE T ALTER COLUMN ID RESTART WITH 100",
                "INSERT INTO T (A) VALUES (1)");
        assertRefusedEach("ALTER TABLE T ALTER COLUMN ID RESTART WITH CURRENT_DATE - DATE '2020-01-01'");
        assertEqual();
    }

    /** Clients cannot make it. */
    @Test
    void columnsAreNotAddedOfADomainWhoseDefaultIsComputed() throws SQLException {
        try (Connection made = past("domains");
                Statement statement = made.createStatement()) {
            statement.execute("CREATE DOMAIN D AS DOUBLE PRECISION DEFAULT RAND()");
            statement.execute("CREATE DOMAIN OF_D AS D");
            statement.execute("CREATE DOMAIN L AS INTEGER DEFAULT 7");
            statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY)");
            statement.execute("INSERT INTO T VALUES (1), (2)");
        }
        try (var database = tested().binding().open(configuration("domains"), meta);
                Connection connection = connect(database, new Properties());
                Statement statement = connection.createStatement()) {
            for (String sql : List.of("ALTER TABLE T ADD COLUMN B D", "ALTER TABLE T ADD COLUMN B OF_D NOT NULL")) {
                assertRefused("0A000", () -> statement.execute(sql));
            }
            statement.execute("ALTER TABLE T ADD COLUMN B L");
            statement.execute("ALTER TABLE T ADD COLUMN C D DEFAULT 1");
            assertThat(meta.takeWriteSets()).hasSize(2);
        }
    }

    private static MVStore store(String location) throws SQLException {
        try (Connection past = DriverManager.getConnection(new H2Files(location).url(), "sa", "")) {
            return ((SessionLocal) past.unwrap(JdbcConnection.class).getSession())
                    .getDatabase()
                    .getStore()
                    .getMvStore();
        }
    }

    /** H2 keeps those that it has made for clients for minutes, who may read them. */
    @Test
    void largeValuesThatAreAppliedAndDeletedAgainLeaveNothing() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A CLOB, B BLOB)",
                "INSERT INTO T SELECT X, REPEAT('x', 50000), CAST(REPEAT('ab', 50000) AS VARBINARY) FROM SYSTEM_RANGE(1, 20)",
                "UPDATE T SET ID = ID + 100, A = A || 'y'",
                "UPDATE T SET A = A || 'z'");
        assertEqual();
        execute("DELETE FROM T");
        assertEqual();
        MVStore store = store(configuration("replica").location());
        for (String map : List.of("lobMap", "lobRef", "lobData", "tempLobMap")) {
            Awaitility.await(map + " is empty").atMost(Duration.ofMinutes(1)).untilAsserted(() -> {
                replica.flush();
                assertThat(store.openMap(map).sizeAsLong()).isZero();
            });
        }
    }

    @Test
    void preparedBatchThatFailsInTheMiddle() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P)",
                "INSERT INTO P VALUES (1)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            for (int[] row : new int[][] {{1, 1}, {2, 99}, {3, 1}}) {
                insert.setInt(1, row[0]);
                insert.setInt(2, row[1]);
                insert.addBatch();
            }
            assertThatThrownBy(insert::executeBatch)
                    .isInstanceOfSatisfying(
                            BatchUpdateException.class,
                            e -> assertThat(e.getUpdateCounts()).containsExactly(1, Statement.EXECUTE_FAILED, 1));
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "3");
    }

    /** As with Derby's own driver: what is behind a refusal is not executed. */
    @Test
    void aBatchThatIsRefusedInTheMiddleCountsWhatIsBeforeThat() throws SQLException {
        makeTables();
        execute(trigger("INSERT", TestTriggers.Forgiving.class));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(true);
            for (String sql : List.of(
                    "INSERT INTO L VALUES (1, 1)", "INSERT INTO T VALUES (1, 1)", "INSERT INTO L VALUES (2, 2)")) {
                statement.addBatch(sql);
            }
            assertThatThrownBy(statement::executeBatch).isInstanceOfSatisfying(BatchUpdateException.class, e -> {
                assertThat(e.getSQLState()).isEqualTo("40001");
                assertThat(e.getUpdateCounts()).containsExactly(1);
            });
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM L")).containsExactly("1");
    }

    @Test
    void aBatchThatIsTooLargeDoesNotGoOnInANewTransaction() throws SQLException {
        DatabaseConfiguration usual = configuration("small");
        DatabaseConfiguration small = new DatabaseConfiguration(
                usual.location(), usual.attributes(), usual.readGrace(), 8 << 10, usual.spoolDirectory());
        try (ReflectedDatabase database = tested().binding().open(small, new MetaLevel());
                Connection connection = connect(database, new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(100000))");
            for (String sql : List.of(
                    "INSERT INTO T VALUES (1, '')",
                    "INSERT INTO T VALUES (2, REPEAT('x', 100000))",
                    "INSERT INTO T VALUES (3, '')")) {
                statement.addBatch(sql);
            }
            assertThatThrownBy(statement::executeBatch).isInstanceOfSatisfying(BatchUpdateException.class, e -> {
                assertThat(e.getSQLState()).isEqualTo("54000");
                assertThat(e.getUpdateCounts()).containsExactly(1);
            });
            connection.commit();
            assertThat(count(database, "T")).isZero();
        }
    }

    @Test
    void schemaChangesWaitForWhoChangesRowsAndTheOtherWayRound() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1)");
        try (Connection writer = connect();
                Statement statement = writer.createStatement()) {
            statement.executeUpdate("UPDATE T SET A = 2");
            Future<?> change = clients.submit(() -> {
                execute("ALTER TABLE T ADD COLUMN B INTEGER");
                return null;
            });
            assertThatThrownBy(() -> change.get(200, TimeUnit.MILLISECONDS))
                    .isInstanceOf(java.util.concurrent.TimeoutException.class);
            writer.commit();
            change.get(20, TimeUnit.SECONDS);
            statement.executeUpdate("UPDATE T SET B = 3");
            writer.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT B FROM T")).containsExactly("3");
    }

    @Test
    void schemaChangesWinAgainstRowsThatAreOnlyLocked() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 1)",
                "CREATE VIEW V AS SELECT * FROM T FOR UPDATE");
        try (Connection locking = connect();
                Statement statement = locking.createStatement()) {
            try (ResultSet rows = statement.executeQuery("SELECT * FROM V")) {
                assertThat(rows.next()).isTrue();
            }
            execute("ALTER TABLE T ADD COLUMN B INTEGER");
            assertRefused("40001", locking::commit);
        }
        assertEqual();
    }

    @Test
    void cascadesOfChangedKeys() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P ON UPDATE CASCADE ON DELETE CASCADE)",
                "INSERT INTO P VALUES (1), (2)",
                "INSERT INTO C VALUES (1, 1), (2, 1), (3, 2)");
        execute("UPDATE P SET ID = ID + 10", "DELETE FROM P WHERE ID = 12");
        assertEqual();
        assertThat(count(replica, "C")).isEqualTo(2);
    }

    @Test
    void columnsOfTypesThatCannotBeReplicated() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, J JSON)");
        assertThatThrownBy(() -> execute("INSERT INTO T VALUES (1, NULL)"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("column J is of type JSON");
        assertThat(count(origin, "T")).isZero();
    }

    /** As another kind of database would receive them. */
    @Test
    void rowsThatCannotBeReplicatedAreNotLeftOutWithoutAWord() throws SQLException {
        for (String name : List.of("without rows", "with rows")) {
            try (Connection made = past(name);
                    Statement statement = made.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY)");
                statement.execute("CREATE TABLE \"a table\" (ID INTEGER PRIMARY KEY, J JSON)");
                if (name.equals("with rows")) {
                    statement.execute("INSERT INTO \"a table\" VALUES (1, NULL)");
                }
            }
        }
        try (var database = tested().binding().open(configuration("without rows"), meta);
                FrozenRows frozen = database.freeze(directory.resolve("frozen"))) {
            assertThat(frozen.tables()).hasSize(1);
        }
        try (var database = tested().binding().open(configuration("with rows"), meta)) {
            assertThatThrownBy(() -> database.freeze(directory.resolve("not frozen")))
                    .isInstanceOf(ReflectionException.class)
                    .hasMessageContaining("\"a table\"")
                    .hasMessageContaining("column J is of type JSON");
        }
    }

    @Test
    void databasesThatAreNotFit() throws SQLException {
        try (Connection made = past("unfit");
                Statement statement = made.createStatement()) {
            statement.execute("CREATE ALIAS F FOR 'java.lang.Math.abs(int)'");
            statement.execute("CREATE TABLE T (J JSON)");
            assertThat(tested().binding().examine(made).orElseThrow())
                    .extracting(finding -> finding.object() + " " + finding.obstacle())
                    .containsExactlyInAnyOrder(
                            "routine \"PUBLIC\".\"F\" true",
                            "table \"PUBLIC\".\"T\" true",
                            "column \"PUBLIC\".\"T\".\"J\" true");
        }
        assertThatThrownBy(() -> tested().binding().open(configuration("unfit"), meta))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("routine \"PUBLIC\".\"F\"");
    }

    /** H2 has states of its own for who waited in vain, or met another's change. */
    @Override
    protected boolean isRefusal(String sqlState) {
        return super.isRefusal(sqlState) || sqlState.equals("HYT00") || sqlState.equals("90131");
    }

    @Override
    protected String change(Random random, int row, int other) {
        return switch (random.nextInt(9)) {
            case 0 ->
                "INSERT INTO T VALUES (" + row + ", " + other + ", 1, " + row % 10 + "), (" + other + ", " + row
                        + ", 1, 0)";
            case 1 -> "DELETE FROM T WHERE ID BETWEEN " + row + " AND " + (row + 3);
            case 2 -> "UPDATE T SET A = A + 1 WHERE P = " + row % 10;
            case 3 -> "UPDATE T SET U = 100 - U WHERE ID < " + row;
            case 4 -> "UPDATE T SET ID = ID + 1 WHERE ID BETWEEN " + row + " AND " + (row + 5);
            case 5 -> "MERGE INTO T KEY (ID) VALUES (" + row + ", " + other + ", 2, " + other % 10 + ")";
            case 6 -> "UPDATE P SET ID = " + row + " WHERE ID = " + other;
            case 7 -> "INSERT INTO L (A) SELECT A FROM T WHERE ID < " + row % 7;
            default ->
                "MERGE INTO T USING (SELECT X FROM SYSTEM_RANGE(" + row + ", " + (row + 4)
                        + ")) S ON T.ID = S.X WHEN MATCHED AND T.A > 3 THEN DELETE WHEN MATCHED THEN UPDATE SET A = 5"
                        + " WHEN NOT MATCHED THEN INSERT VALUES (S.X, NULL, 0, NULL)";
        };
    }

    @Test
    void onlyTheAdministratorChangesTheSchema() throws SQLException {
        try (Connection made = past("users");
                Statement statement = made.createStatement()) {
            statement.execute("CREATE USER ALICE PASSWORD 'a'");
            statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY)");
            statement.execute("GRANT ALL ON T TO ALICE");
        }
        Properties alice = new Properties();
        alice.setProperty("user", "ALICE");
        alice.setProperty("password", "a");
        try (var database = tested().binding().open(configuration("users"), meta);
                Connection connection = database.connect(alice);
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertRefused("0A000", () -> statement.execute("CREATE TABLE U (ID INTEGER PRIMARY KEY)"));
            assertThat(meta.takeWriteSets()).hasSize(1);
        }
    }

    @Test
    void whatBeginsTransactionsOrSetsMoreThanTheSessionIsRefused() throws SQLException {
        makeTables();
        assertRefusedEach("BEGIN", "SET SCHEMA_SEARCH_PATH PUBLIC", "SET TIME ZONE 'UTC'");
        assertRefusedEach("SET VARIABLE_BINARY TRUE", "SET NON_KEYWORDS VALUE", "SET WRITE_DELAY 1", "SET CLUSTER ''");
        execute("SET @X = 1", "SET LOCK_TIMEOUT 500", "SET QUERY_TIMEOUT 0", "INSERT INTO T VALUES (@X, 1)");
        assertRefusedEach("CREATE VIEW V AS SELECT @X AS X");
        assertEqual();
    }

    @Test
    void schemaChangesWhoseTextHidesSomethingAreRefused() throws SQLException {
        makeTables();
        assertRefusedEach("/* */ CREATE TEMP TABLE U (ID INTEGER)", "CREATE TABLE U AS ((SELECT RAND() AS R))");
        assertRefusedEach("ALTER TABLE T ADD COLUMN B INTEGER -- ", "DROP TABLE U&\"\\0047ORDA\".POSITION");
        assertRefusedEach("ALTER TABLE T ALTER COLUMN A SET DATA TYPE TIMESTAMP");
        assertRefusedEach("DROP TABLE DATABASE.GORDA.POSITION");
        execute("COMMENT ON TABLE T IS 'http://x /* -- */'");
        assertEqual();
    }

    /** Other replicas do not have it. */
    @Test
    void schemaChangesReadNoFiles() throws Exception {
        makeTables();
        Path file = directory.resolve("rows.csv");
        Files.writeString(file, "ID,A\n1,1\n");
        assertRefusedEach(
                "CREATE VIEW V AS SELECT * FROM CSVREAD('" + file + "')",
                "CREATE VIEW V AS SELECT FILE_READ('" + file + "') AS F",
                "ALTER TABLE T ADD CHECK (FILE_WRITE(X'00', '" + file + "') > A)");
        execute("INSERT INTO T SELECT * FROM CSVREAD('" + file + "')");
        assertEqual();
    }

    @Test
    void whoLacksATriggersClassMakesNoTriggerOrderedNorLeavesItOut() throws SQLException {
        makeTables();
        AtomicBoolean isThere = new AtomicBoolean();
        JdbcUtils.addClassFactory(new Utils.ClassFactory() {
            @Override
            public boolean match(String name) {
                return name.equals("org.gorda.Lacking");
            }

            @Override
            public Class<?> loadClass(String name) throws ClassNotFoundException {
                if (!isThere.get()) {
                    throw new ClassNotFoundException(name);
                }
                return TestTriggers.Copying.class;
            }
        });
        String trigger = "CREATE TRIGGER TR AFTER INSERT ON T FOR EACH ROW CALL 'org.gorda.Lacking'";
        assertRefused("90086", () -> execute(trigger));
        assertEqual();
        isThere.set(true);
        execute(trigger);
        isThere.set(false);
        assertThatThrownBy(this::replicate)
                .isInstanceOf(ReflectionException.class)
                .hasStackTraceContaining("org.gorda.Lacking");
    }

    @Test
    void savepointsHaveOneNameEach() throws SQLException {
        makeTables();
        assertRefusedEach("SAVEPOINT S /* T */", "SAVEPOINT \"a\"\"b\"");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("INSERT INTO T VALUES (1, 1)");
            Savepoint set = connection.setSavepoint("S");
            assertRefused("0A000", () -> statement.execute("SAVEPOINT s"));
            statement.execute("INSERT INTO T VALUES (2, 2)");
            statement.execute("SAVEPOINT \"a name\"");
            statement.execute("INSERT INTO T VALUES (3, 3)");
            statement.execute("ROLLBACK TO SAVEPOINT \"a name\"");
            connection.rollback(set);
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    @Test
    void generatorsThatBeginAnewAreSentAgain() throws SQLException {
        makeTables();
        execute("CREATE SEQUENCE S", "INSERT INTO T VALUES (NEXT VALUE FOR S, 1)");
        replicate();
        execute("DELETE FROM T", "ALTER SEQUENCE S RESTART WITH 1", "INSERT INTO T VALUES (NEXT VALUE FOR S, 1)");
        assertEqual();
        assertThat(query(replica, "SELECT BASE_VALUE FROM INFORMATION_SCHEMA.SEQUENCES"))
                .containsExactly("2");
    }

    @Test
    void aGeneratorsValueThatIsOnlyKeptByItsSessionIsSentToo() throws SQLException {
        execute("CREATE SEQUENCE S", "SET @X = NEXT VALUE FOR S");
        assertEqual();
        assertThat(query(replica, "SELECT BASE_VALUE FROM INFORMATION_SCHEMA.SEQUENCES"))
                .containsExactly("2");
    }

    @Test
    void schemaChangesHaveNoTimeoutOfTheirClient() throws Exception {
        makeTables();
        execute("INSERT INTO T SELECT X, X FROM SYSTEM_RANGE(1, 50000)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET QUERY_TIMEOUT 5"); // less than to copy the table takes
            statement.execute("SET @X = 1");
            statement.execute("ALTER TABLE T ADD COLUMN B INTEGER");
        }
        assertEqual();
    }

    /** Of a view H2 does not tell that it locks them. */
    @Test
    void rowsThatAreOnlyLockedOnABackupAreInNobodysWay() throws SQLException {
        makeTables();
        execute("INSERT INTO T VALUES (1, 1)", "CREATE VIEW V AS SELECT * FROM T FOR UPDATE");
        replicate();
        replicaMeta.becomeBackup();
        try (Connection locking = connect(replica, new Properties());
                Statement statement = locking.createStatement()) {
            assertRefused("25006", () -> statement.executeQuery("SELECT * FROM T WHERE ID = 1 FOR UPDATE"));
            try (ResultSet rows = statement.executeQuery("SELECT * FROM V")) {
                assertThat(rows.next()).isTrue();
            }
            execute("UPDATE T SET A = 2");
            replicate();
            assertRefused("40001", locking::commit);
        }
        assertEqual();
    }

    /** Nor are those that were only locked. */
    @ParameterizedTest
    @ValueSource(strings = {"UPDATE T SET A = 7", "SELECT * FROM T FOR UPDATE", "SELECT * FROM V"})
    void rowsThatWereRestoredAreNotRestoredAgainOverWhatIsApplied(String sql) throws Exception {
        makeTable();
        execute(
                "INSERT INTO T VALUES (1, 1)",
                trigger("UPDATE, ROLLBACK", TestTriggers.TakingBack.class),
                "CREATE VIEW V AS SELECT * FROM T FOR UPDATE");
        replicate();
        Thread writing = new Thread(() -> replica.flush());
        try (Connection local = connect(replica, new Properties());
                Statement statement = local.createStatement()) {
            statement.execute(sql);
            execute("UPDATE T SET A = 2");
            TestTriggers.TakingBack.then(() -> {
                replicate();
                writing.start();
                await(
                        "it has written, or waits",
                        () -> !writing.isAlive() || isIn(writing, "org.gorda.bindings.triggers.Changes"));
            });
            local.rollback();
        }
        writing.join();
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T")).containsExactly("2");
    }

    /** H2 holds up to 40,000 rows of a result for each GB of heap, however large they are, unless it is told to find them one by one. */
    @Test
    void whatIsComparedNeedsNotFitIntoMemory() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1), (2, 2)", "ALTER TABLE T ADD CHECK (A < 9)");
        replicate();
        try (Statement statement = applier.reading().createStatement();
                ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
            assertThat(rows.unwrap(JdbcResultSet.class).getResult().isLazy()).isTrue();
            assertThat(rows.next()).isTrue();
        } finally {
            applier.rollback();
        }
        assertEqual();
    }

    /** Also while they look again and again whether they wait in vain. */
    @Test
    void whoHasComeFirstGetsTheTurnFirst() throws Exception {
        makeTable();
        execute("INSERT INTO T VALUES (1, 0)");
        int number = 10;
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<Thread> waiting = new ArrayList<>();
        try (Connection holder = connect();
                Statement statement = holder.createStatement()) {
            statement.executeUpdate("UPDATE T SET A = A + 1");
            for (int i = 0; i < number; i++) {
                int client = i;
                Thread thread = new Thread(() -> {
                    try (Connection connection = connect();
                            Statement own = connection.createStatement()) {
                        own.executeUpdate("UPDATE T SET A = A + 1");
                        served.add(client);
                        connection.commit();
                    } catch (SQLException e) {
                        served.add(-1);
                    }
                });
                waiting.add(thread);
                thread.start();
                long next = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(7);
                await(
                        "it waits for its turn, and looks at other times than the others",
                        () -> isIn(thread, "org.gorda.bindings.triggers.Turn") && System.nanoTime() > next);
            }
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500);
            await("they have looked several times", () -> System.nanoTime() > end);
            holder.commit();
        }
        for (Thread thread : waiting) {
            thread.join();
        }
        assertThat(served)
                .containsExactlyElementsOf(IntStream.range(0, number).boxed().toList());
        assertEqual();
    }

    /** What all databases behind triggers have, as their own tests would show for each of them in the same minute. */
    @Test
    void whoWaitsForATurnIsToldWhoHoldsItAndGetsItFromWhoDoesNothing() throws Exception {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1)");
        try (Connection idle = connect();
                Statement statement = idle.createStatement()) {
            statement.executeUpdate("UPDATE T SET A = 7");
            assertThatThrownBy(() -> execute("UPDATE T SET A = A + 1"))
                    .asInstanceOf(InstanceOfAssertFactories.type(SQLException.class))
                    .returns("40001", SQLException::getSQLState)
                    .extracting(Throwable::getMessage, InstanceOfAssertFactories.STRING)
                    .contains(
                            meta.lastBegun().id().session().toString(),
                            Thread.currentThread().getName(),
                            "idle for 10 s after UPDATE T SET A = 7");
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).isEqualTo(7);
            }
            Awaitility.await("nobody does nothing for that long")
                    .atMost(Duration.ofSeconds(40))
                    .ignoreExceptionsMatching(e ->
                            e instanceof SQLException late && late.getSQLState().equals("40001"))
                    .untilAsserted(() -> execute("UPDATE T SET A = A + 1"));
            assertThatThrownBy(idle::commit)
                    .isInstanceOf(SQLTransactionRollbackException.class)
                    .hasMessageContaining("did nothing for 30 s");
            statement.executeUpdate("UPDATE T SET A = A * 10");
            idle.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T")).containsExactly("20");
    }

    /** As {@link #whoWaitsForATurnIsToldWhoHoldsItAndGetsItFromWhoDoesNothing}, from who waits for what its client gives. */
    @Test
    @SuppressWarnings("InputStreamSlowMultibyteRead") // it has none
    void whoWaitsForATurnGetsItFromWhoseClientGivesNothing() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARBINARY(100))");
        CountDownLatch isOver = new CountDownLatch(1);
        try (Connection giving = connect();
                Statement statement = giving.createStatement();
                PreparedStatement insert = giving.prepareStatement("INSERT INTO T VALUES (2, ?)")) {
            statement.executeUpdate("INSERT INTO T VALUES (1, NULL)");
            Future<?> client = clients.submit(() -> {
                InputStream nothing = new InputStream() {
                    @Override
                    public int read() {
                        awaitUninterrupted(isOver);
                        return -1;
                    }
                };
                assertRefused("40001", () -> insert.setBinaryStream(1, nothing, 10));
            });
            Awaitility.await("nobody gives nothing for that long")
                    .atMost(Duration.ofSeconds(40))
                    .ignoreExceptionsMatching(e ->
                            e instanceof SQLException late && late.getSQLState().equals("40001"))
                    .untilAsserted(() -> execute("INSERT INTO T VALUES (3, NULL)"));
            isOver.countDown();
            client.get(20, TimeUnit.SECONDS);
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T")).containsExactly("3");
    }
}
