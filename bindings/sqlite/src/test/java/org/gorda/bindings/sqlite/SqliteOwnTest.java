package org.gorda.bindings.sqlite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.gorda.bindings.triggers.tck.OwnTck;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Test;

/** What SQLite has in a way of its own, replicated or refused. */
class SqliteOwnTest extends OwnTck {

    private static final SqliteUnderTest SQLITE = new SqliteUnderTest();

    @Override
    protected SqliteUnderTest tested() {
        return SQLITE;
    }

    @Override
    protected String generatedKey() {
        return "ID INTEGER PRIMARY KEY AUTOINCREMENT";
    }

    @Override
    protected String change(Random random, int row, int other) {
        return switch (random.nextInt(9)) {
            case 0 ->
                "INSERT INTO T VALUES (" + row + ", " + other + ", 1, " + row % 10 + "), (" + other + ", " + row
                        + ", 1, 0)";
            case 1 -> "UPDATE T SET ID = ID + 100, U = U + 1 WHERE ID BETWEEN " + row + " AND " + (row + 5);
            case 2 -> "UPDATE T SET A = A + 1 WHERE P = " + row % 10;
            case 3 -> "DELETE FROM T WHERE ID = " + row;
            case 4 -> "UPDATE P SET ID = ID + 10 WHERE ID = " + row % 20;
            case 5 -> "DELETE FROM P WHERE ID = " + row % 20;
            case 6 -> "INSERT OR IGNORE INTO P VALUES (" + row % 20 + ")";
            case 7 -> "REPLACE INTO T VALUES (" + row + ", " + other + ", 7, NULL)";
            default -> "INSERT INTO L (A) SELECT A FROM T WHERE ID < " + row;
        };
    }

    private static void change(ReflectedDatabase database, String... statements) throws SQLException {
        try (Connection connection = connect(database, new Properties());
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
            connection.commit();
        }
    }

    // ------------------------------------------------------------------------------------------------------------ rows

    @Test
    void conflictsThatReplaceIgnoreOrGoOn() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY, U TEXT UNIQUE COLLATE NOCASE, A INTEGER)",
                "INSERT INTO T VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)");
        assertRefusedEach(
                "ALTER TABLE T ADD COLUMN X INTEGER CHECK (random() > 0)",
                "CREATE TABLE U (ID INTEGER PRIMARY KEY, A INTEGER CHECK (A = 0 OR random() > 0))");
        execute(
                "REPLACE INTO T VALUES (4, 'ONE', 4)",
                "INSERT OR REPLACE INTO T VALUES (2, 'three', 5)",
                "INSERT OR IGNORE INTO T VALUES (4, 'four', 0), (5, 'five', 5)",
                "INSERT INTO T VALUES (5, 'six', 6) ON CONFLICT (ID) DO UPDATE SET A = A + excluded.A",
                "INSERT INTO T VALUES (5, 'six', 6) ON CONFLICT DO NOTHING");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            assertRefused(
                    "23505",
                    () -> statement.executeUpdate("INSERT OR FAIL INTO T VALUES (7, 'seven', 7), (4, 'four', 4)"));
            statement.executeUpdate("DELETE FROM T WHERE U = 'FIVE'");
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID || U FROM T ORDER BY ID")).containsExactly("2three", "4ONE", "7seven");
        try (Connection connection = connect();
                PreparedStatement update = connection.prepareStatement("UPDATE OR REPLACE T SET U = ? WHERE ID = ?")) {
            for (int id : new int[] {2, 4}) {
                update.setString(1, "seven");
                update.setInt(2, id);
                update.executeUpdate();
            }
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID || U FROM T ORDER BY ID")).containsExactly("4seven");
        execute("DELETE FROM T");
        assertEqual();
    }

    @Test
    void keysAreComparedAsTheirIndexDoes() throws SQLException {
        execute(
                "CREATE TABLE T (K TEXT COLLATE NOCASE, V INTEGER, PRIMARY KEY (K COLLATE BINARY))",
                "CREATE TABLE N (K TEXT PRIMARY KEY COLLATE NOCASE, V INTEGER)",
                "INSERT INTO T VALUES ('a', 1), ('A', 2)",
                "INSERT INTO N VALUES ('a', 1), ('b', 2)");
        execute(
                "UPDATE T SET V = 9 WHERE K = 'a' COLLATE BINARY",
                "UPDATE N SET K = 'A' WHERE K = 'a'",
                "UPDATE N SET V = 3 WHERE K = 'B'");
        execute("DELETE FROM T WHERE K = 'A' COLLATE BINARY", "DELETE FROM N WHERE K = 'a'");
        assertEqual();
        assertThat(query(replica, "SELECT K || V FROM T UNION ALL SELECT K || V FROM N"))
                .containsExactly("a9", "b3");
    }

    @Test
    void uniqueKeysThatHaveChangedPlacesInATransaction() throws SQLException {
        execute(
                "CREATE TABLE T (A INTEGER, B TEXT, U INTEGER UNIQUE, E INTEGER, PRIMARY KEY (A, B))",
                "CREATE UNIQUE INDEX I ON T (ABS(E)) WHERE B <> 'z'",
                "INSERT INTO T VALUES (1, 'x', 1, 1), (2, 'y', 2, 2), (3, 'z', 3, 2)");
        execute(
                "UPDATE T SET U = 0, E = 9 WHERE A = 1",
                "UPDATE T SET U = 1, E = -1 WHERE A = 2",
                "UPDATE T SET U = 2, E = -2 WHERE A = 1");
        execute(
                "UPDATE T SET A = 9 WHERE A = 1",
                "UPDATE T SET A = 1, B = 'x' WHERE A = 2",
                "UPDATE T SET A = 2 WHERE A = 9");
        execute(
                "DELETE FROM T WHERE U = 3",
                "INSERT INTO T VALUES (5, 'v', 3, 5)",
                "UPDATE T SET U = 8, E = 8 WHERE A = 5",
                "INSERT INTO T VALUES (6, 'v', 3, 5)");
        assertEqual();
        assertThat(query(replica, "SELECT A || B || U FROM T ORDER BY 1")).containsExactly("1x1", "2x2", "5v8", "6v3");
    }

    @Test
    void whatIsTakenBackIsNotTold() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1), (2, 2)");
        meta.takeWriteSets().forEach(this::apply);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE T SET A = 9");
            Savepoint savepoint = connection.setSavepoint("s");
            statement.executeUpdate("DELETE FROM T");
            statement.executeUpdate("INSERT INTO T VALUES (3, 3)");
            connection.rollback(savepoint);
            statement.executeUpdate("UPDATE T SET A = ID");
            connection.commit();
            assertThat(meta.takeWriteSets()).as("all is as it was").isEmpty();
            statement.executeUpdate("UPDATE T SET A = 9");
            connection.rollback();
            statement.executeUpdate("UPDATE T SET A = 5 WHERE ID = 2");
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T ORDER BY ID")).containsExactly("1", "5");
    }

    @Test
    void triggersOfClientsDoTheirWorkOnce() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY, A INTEGER, CHANGED INTEGER DEFAULT 0)",
                "CREATE TABLE L (ID INTEGER PRIMARY KEY AUTOINCREMENT, T INTEGER, WHAT TEXT)",
                "CREATE VIEW V AS SELECT ID, A FROM T",
                "CREATE TRIGGER T_AGAIN AFTER UPDATE OF A ON T BEGIN UPDATE T SET CHANGED = CHANGED + 1 WHERE ID = NEW.ID; END",
                "CREATE TRIGGER T_LOG AFTER INSERT ON T FOR EACH ROW WHEN NEW.A > 1 OR NEW.A IS NULL BEGIN"
                        + " INSERT INTO L (T, WHAT) VALUES (NEW.ID, CASE WHEN NEW.A > 5 THEN 'large' ELSE 'small' END); END",
                "CREATE TRIGGER T_SELF AFTER UPDATE OF CHANGED ON T BEGIN UPDATE T SET CHANGED = NEW.CHANGED WHERE ID = NEW.ID; END",
                "CREATE TRIGGER T_NO BEFORE DELETE ON T WHEN OLD.ID = 1 BEGIN SELECT RAISE(ABORT, 'kept'); END",
                "CREATE TRIGGER V_INTO INSTEAD OF INSERT ON V BEGIN INSERT INTO T (ID, A) VALUES (NEW.ID, NEW.A + 1); END");
        execute(
                "INSERT INTO T (ID, A) VALUES (1, 1), (2, 2), (3, 9)",
                "UPDATE T SET A = A + 1",
                "INSERT INTO V VALUES (4, 4)");
        execute("DROP TRIGGER T_LOG", "ALTER TABLE T RENAME COLUMN CHANGED TO N", "UPDATE T SET A = 0 WHERE ID = 2");
        assertThatThrownBy(() -> execute("DELETE FROM T"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("kept");
        assertEqual();
        assertThat(query(replica, "SELECT WHAT FROM L ORDER BY ID")).containsExactly("small", "large", "small");
        assertThat(query(replica, "SELECT N FROM T ORDER BY ID")).containsExactly("1", "2", "1", "0");
    }

    @Test
    void foreignKeysAreComparedWhereRowsAreChangedOnly() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER PRIMARY KEY, N INTEGER UNIQUE)",
                "CREATE TABLE C (ID INTEGER PRIMARY KEY, P INTEGER REFERENCES P ON DELETE SET NULL ON UPDATE CASCADE)",
                "CREATE TABLE G (ID INTEGER PRIMARY KEY, C INTEGER REFERENCES C ON DELETE CASCADE)",
                "INSERT INTO P VALUES (1, 1), (2, 2)",
                "INSERT INTO C VALUES (10, 1), (20, 2)",
                "INSERT INTO G VALUES (100, 10), (200, 20)");
        execute("UPDATE P SET ID = 5 WHERE ID = 1", "DELETE FROM P WHERE ID = 2", "DELETE FROM C WHERE ID = 20");
        assertRefused("23503", () -> execute("INSERT INTO C VALUES (30, 9)"));
        assertRefused("2BP01", () -> execute("DROP TABLE P"));
        execute("CREATE TABLE CK (ID INTEGER PRIMARY KEY)", "INSERT INTO CK VALUES (1)");
        assertThatThrownBy(() -> execute("ALTER TABLE CK ADD COLUMN C INTEGER DEFAULT 5 CHECK (C > 10)"))
                .isInstanceOf(SQLException.class);
        Properties on = new Properties();
        on.setProperty("foreign_keys", "on");
        try (Connection connection = connect(origin, on);
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER TABLE C ADD COLUMN Q INTEGER DEFAULT 7 REFERENCES P (N)");
            assertRefused("23503", () -> statement.execute("INSERT INTO G VALUES (300, 99)"));
            connection.rollback();
        }
        Properties unchecked = new Properties();
        unchecked.setProperty("foreign_keys", "false");
        try (Connection connection = connect(origin, unchecked);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE INDEX I ON G (C)");
            statement.execute("INSERT INTO G VALUES (300, 99)");
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID || '-' || C FROM G ORDER BY ID")).containsExactly("100-10", "300-99");
    }

    /** A row may be older than what it violates, or have been put in where nothing was checked. */
    @Test
    void rowsThatViolateAConstraintElsewhereDoSoHere() throws SQLException, IOException {
        origin.close();
        replica.close();
        for (String name : List.of("old origin", "old replica")) {
            Files.createDirectories(Path.of(configuration(name).location()));
            try (Connection made = past(name);
                    Statement statement = made.createStatement()) {
                for (String sql : List.of(
                        "CREATE TABLE T (ID INTEGER PRIMARY KEY, U TEXT UNIQUE, A INTEGER CHECK (A >= 0))",
                        "PRAGMA ignore_check_constraints = ON",
                        "INSERT INTO T VALUES (1, 'a', -5), (2, 'b', 1)")) {
                    statement.execute(sql);
                }
            }
        }
        origin = tested().binding().open(configuration("old origin"), meta);
        replica = tested().binding().open(configuration("old replica"), replicaMeta);
        applier = replica.applier();
        execute("UPDATE T SET U = 'c' WHERE ID = 1");
        assertEqual();
        assertRefused("23514", () -> execute("UPDATE T SET A = -1 WHERE ID = 2"));
        assertThatThrownBy(() -> execute("ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 5 CHECK (B > 10)"))
                .isInstanceOf(SQLException.class);
        execute("DELETE FROM T WHERE U = 'c'");
        assertEqual();
        assertThat(query(replica, "SELECT U FROM T")).containsExactly("b");
    }

    @Test
    void valuesAreOfTheirOwnTypes() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY, N NUMERIC, T TEXT, B BLOB, D DATETIME, X)",
                "CREATE TABLE S (K ANY PRIMARY KEY, V ANY) STRICT",
                "INSERT INTO T VALUES (1, 1, 1, 1, 1, 1), (2, '1.50', 1.5, 1.5, 1.5, 1.5), (3, 'x', 'x', 'x', 'x', 'x'),"
                        + " (4, X'00', '', X'', X'00', X''), (5, NULL, NULL, NULL, NULL, NULL), (6, 9e999, char(0), 1e15, CURRENT_TIMESTAMP, -9e999)",
                "INSERT INTO S VALUES (1, '1'), ('1', 1), (X'31', 1.0)");
        execute("UPDATE T SET X = N, N = X, B = 1 WHERE ID < 5", "UPDATE S SET V = 2 WHERE K = 1");
        assertEqual();
        for (String column : List.of("N", "T", "B", "D", "X")) {
            String types =
                    "SELECT group_concat(typeof(" + column + ")) FROM (SELECT " + column + " FROM T ORDER BY ID)";
            assertThat(query(replica, types)).isEqualTo(query(origin, types));
        }
        assertThat(query(replica, "SELECT typeof(K) || V FROM S ORDER BY 1"))
                .containsExactly("blob1.0", "integer2", "text1");
    }

    @Test
    void valuesThatReplicasCouldNotCompareAreRefused() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY, N INTEGER, R REAL, T TEXT)",
                "CREATE TABLE K (A TEXT PRIMARY KEY, B INTEGER)");
        assertRefusedEach(
                "INSERT INTO T (ID, N) VALUES (1, 'a text')",
                "INSERT INTO T (ID, N) VALUES (1, 1.5)",
                "INSERT INTO T (ID, R) VALUES (1, X'00')",
                "INSERT INTO T (ID, T) VALUES (1, CAST(X'ff' AS TEXT))",
                "INSERT INTO K VALUES (NULL, 1)");
        execute(
                "INSERT INTO T (ID, T) VALUES (3, 'SQLite_ GORDA$ pragma'), (4, sqlite_version())",
                "DELETE FROM T WHERE ID > 2");
        execute("INSERT INTO T VALUES (1, '2', 3, 4)", "INSERT INTO T (ID, T) VALUES (2, char(65533))");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }

    @Test
    void rowsThatNothingTellsApartAreOnlyAdded() throws SQLException {
        execute(
                "CREATE TABLE N (A INTEGER)",
                "CREATE TABLE T (ROWID INTEGER, OID TEXT PRIMARY KEY)",
                "INSERT INTO N VALUES (1), (1)",
                "INSERT INTO T VALUES (1, 'a'), (1, 'b')",
                "UPDATE T SET ROWID = 2");
        assertRefusedEach("UPDATE N SET A = 2", "DELETE FROM N");
        assertThatThrownBy(() -> execute("INSERT INTO ALL_NAMES VALUES (1, 2, 3)"))
                .isInstanceOf(SQLException.class);
        assertEqual();
        assertThat(count(replica, "N")).isEqualTo(2);
    }

    @Test
    void computedColumns() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY, D INTEGER AS (A * 2) STORED, A INTEGER, E INTEGER AS (A * 3))",
                "CREATE UNIQUE INDEX I ON T (E)",
                "INSERT INTO T (ID, A) VALUES (1, 1), (2, 2)",
                "UPDATE T SET A = 5 WHERE ID = 1");
        assertEqual();
        assertThat(query(replica, "SELECT D + E FROM T ORDER BY ID")).containsExactly("25", "10");
    }

    @Test
    void numbersThatAreTakenAreNotGivenAgain() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY AUTOINCREMENT, A TEXT)",
                "INSERT INTO T (A) VALUES ('a'), ('b')");
        execute("INSERT INTO T (A) VALUES ('gone')", "DELETE FROM T WHERE A = 'gone'");
        execute("INSERT INTO T VALUES (100, 'c')", "DELETE FROM T WHERE ID = 100");
        try (Connection connection = origin.connect(new Properties());
                PreparedStatement insert =
                        connection.prepareStatement("INSERT INTO T (A) VALUES ('d')", Statement.RETURN_GENERATED_KEYS);
                Statement statement = connection.createStatement()) {
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                assertThat(keys.next()).isTrue();
                assertThat(keys.getLong(1)).isEqualTo(101);
            }
            try (ResultSet last = statement.executeQuery("SELECT last_insert_rowid()")) {
                assertThat(last.next()).isTrue();
                assertThat(last.getLong(1)).isEqualTo(101);
            }
            statement.executeUpdate("UPDATE T SET A = 'e' WHERE ID = 101");
            try (ResultSet keys = statement.getGeneratedKeys()) {
                assertThat(keys.next()).isFalse();
            }
        }
        execute("INSERT INTO T VALUES (9223372036854775000, 'g')", "DELETE FROM T WHERE ID > 1000000");
        execute("UPDATE T SET ID = 9223372036854775100 WHERE A = 'b'");
        assertEqual();
        assertThat(query(replica, "SELECT seq FROM sqlite_sequence"))
                .isEqualTo(query(origin, "SELECT seq FROM sqlite_sequence"));
        execute("INSERT INTO T VALUES (9223372036854775807, 'last')");
        assertRefused("53100", () -> execute("INSERT INTO T (A) VALUES ('too many')"));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.addBatch("INSERT INTO T (A) VALUES ('too many')");
            assertRefused("53100", statement::executeBatch);
        }
        assertThat(meta.hasFailed()).isFalse();
        execute("UPDATE T SET A = 'goes on'");
        assertEqual();
        replica.takeOver();
        change(replica, "CREATE TABLE F (ID INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO F DEFAULT VALUES");
        assertThat(query(replica, "SELECT MAX(ID) FROM F")).containsExactly("1");
    }

    /** How many rows there are is told with those that triggers have changed. */
    @Test
    void whatATextChangesIsCounted() throws SQLException {
        makeTable();
        execute("CREATE TRIGGER TR AFTER UPDATE ON T BEGIN INSERT INTO T VALUES (NEW.ID + 10, 0); END");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            assertThat(statement.executeUpdate("INSERT INTO T VALUES (1, 1), (2, 2), (3, 3) RETURNING ID"))
                    .isEqualTo(3);
            assertThat(statement.executeUpdate("UPDATE T SET A = 5 WHERE ID < 3"))
                    .isEqualTo(4);
            assertThat(statement.executeUpdate("SELECT * FROM T")).isZero();
            assertThat(statement.executeUpdate(" -- nothing")).isZero();
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(5);
    }

    // ---------------------------------------------------------------------------------------------------- transactions

    @Test
    void whatAStatementReturnsIsReadBeforeTheCommit() throws SQLException {
        makeTable();
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery("INSERT INTO T VALUES (1, 1), (2, 2) RETURNING ID")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.next()).isTrue();
                assertThat(rows.next()).isFalse();
            }
            connection.commit();
            ResultSet left = statement.executeQuery("INSERT INTO T VALUES (3, 3), (4, 4) RETURNING ID");
            assertThat(left.next()).isTrue();
            assertRefused("0A000", connection::commit);
            assertRefused("24000", left::next);
            connection.commit();
            connection.setAutoCommit(true);
            assertRefused("0A000", () -> statement.executeQuery("INSERT INTO T VALUES (5, 5), (6, 6) RETURNING ID"));
            statement.executeUpdate("INSERT INTO T VALUES (7, 7) RETURNING ID");
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "2", "7");
    }

    @Test
    void rowsThatCannotBeReadMayEndTheTransaction() throws SQLException {
        makeTable();
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                Statement other = connection.createStatement()) {
            ResultSet rows = statement.executeQuery("INSERT INTO T VALUES (1, 1), (2, 2), (3, 3) RETURNING ID");
            assertThat(rows.next()).isTrue();
            statement.cancel();
            assertRefused("40001", () -> {
                while (rows.next()) {
                    assertThat(rows.getInt(1)).isPositive();
                }
            });
            other.executeUpdate("INSERT INTO T VALUES (9, 9)");
            assertThat(count(replica, "(SELECT 1)")).isEqualTo(1);
            assertThat(count(origin, "T")).as("what is not committed").isZero();
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T")).containsExactly("9");
    }

    /** Whatever is cancelled, and whenever: what is told to be committed is ordered, what is ordered is committed, and others can go on. */
    @Test
    void cancellationsMeetCommitsRollbacksAndRowsThatAreNotRead() throws Exception {
        makeTable();
        execute("INSERT INTO T SELECT X, 0 FROM " + SQLITE.numbers(-500, -1));
        replicate();
        Random random = new Random(3);
        for (int i = 0; i < 300; i++) {
            boolean told = false;
            try (Connection connection = connect();
                    Statement statement = connection.createStatement();
                    Statement reading = connection.createStatement()) {
                int id = i;
                int pause = random.nextInt(2000);
                Future<?> cancelling = null;
                try {
                    if (random.nextBoolean()) {
                        assertThat(reading.executeQuery("SELECT * FROM T").next())
                                .isTrue();
                    }
                    statement.executeUpdate("INSERT INTO T VALUES (" + id + ", 1)");
                    cancelling = clients.submit(() -> {
                        for (int spin = 0; spin < pause; spin++) {
                            Thread.onSpinWait();
                        }
                        reading.cancel();
                        return null;
                    });
                    switch (random.nextInt(4)) {
                        case 0 -> connection.rollback();
                        case 1 -> connection.abort(Runnable::run);
                        default -> {
                            connection.commit();
                            told = true;
                        }
                    }
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).as(e.toString()).isIn("40001", "57014", "08006", "24000");
                }
                if (cancelling != null) {
                    cancelling.get(20, TimeUnit.SECONDS);
                }
                if (!connection.isClosed()) {
                    try {
                        statement.executeUpdate("INSERT INTO T VALUES (" + (i + 1000) + ", 1)");
                    } catch (SQLException e) {
                        assertThat(e.getSQLState()).as(e.toString()).isIn("40001", "57014", "08006");
                    }
                    connection.rollback();
                }
            }
            assertThat(query(origin, "SELECT ID FROM T WHERE ID = " + i)).hasSize(told ? 1 : 0);
        }
        assertThat(query(origin, "SELECT ID FROM T WHERE ID >= 1000")).isEmpty();
        assertEqual();
    }

    @Test
    void rowsThatAreNotReadToTheirEndHoldUpNothing() throws SQLException {
        makeTable();
        execute("CREATE TABLE U (ID INTEGER PRIMARY KEY)", "INSERT INTO T VALUES (1, 1), (2, 2), (3, 3)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                Statement reading = connection.createStatement()) {
            ResultSet rows = reading.executeQuery("SELECT ID FROM T");
            assertThat(rows.next()).isTrue();
            execute("INSERT INTO T VALUES (5, 5)");
            statement.execute("DROP TABLE U");
            assertRefused("24000", rows::next);
            ResultSet again = reading.executeQuery("SELECT ID FROM T");
            assertThat(again.next()).isTrue();
            execute("INSERT INTO T VALUES (6, 6)");
            assertRefused("40001", () -> statement.executeUpdate("UPDATE T SET A = 0"));
            statement.executeUpdate("UPDATE T SET A = 0");
            connection.commit();
            ResultSet last = reading.executeQuery("SELECT ID FROM T");
            while (last.next()) {
                assertThat(last.getInt(1)).isPositive();
            }
        }
        assertEqual();
    }

    @Test
    void whoLooksAtTheCatalogueInAutocommitModeSeesWhatComesAfterIt() throws SQLException {
        makeTable();
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            try (ResultSet tables = connection.getMetaData().getTables(null, null, "%", null)) {
                assertThat(tables.next()).isTrue();
            }
            execute("INSERT INTO T VALUES (1, 1)");
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            statement.executeUpdate("INSERT INTO T VALUES (2, 2)");
            connection.setAutoCommit(false);
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            origin.flush();
            statement.executeUpdate("INSERT INTO T VALUES (3, 3)");
            connection.commit();
        }
        assertEqual();
    }

    /** SQLite rolls back the transaction then: what follows would be committed at once, and by nobody's order. */
    @Test
    void aTransactionThatSqliteHasEndedIsOver() throws Exception {
        makeTable();
        for (boolean reads : new boolean[] {false, true}) {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement();
                    Statement other = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (1, 1)");
                if (reads) {
                    assertThat(other.executeQuery("SELECT * FROM T, " + SQLITE.numbers(1, 9))
                                    .next())
                            .isTrue();
                }
                Future<?> client = clients.submit(() ->
                        statement.executeUpdate("INSERT INTO T SELECT X, 0 FROM " + SQLITE.numbers(2, 1_000_000_000)));
                TimeUnit.MILLISECONDS.sleep(200);
                statement.cancel();
                assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                        .cause()
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"));
                if (!connection.isClosed()) {
                    statement.executeUpdate("INSERT INTO T VALUES (5, 5)");
                    connection.rollback();
                }
            }
        }
        assertThat(count(origin, "T")).isZero();
        assertThat(meta.takeWriteSets()).hasSize(1);
    }

    @Test
    void whoHasReadWhatOthersHaveChangedDoesNotChangeIt() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            execute("UPDATE T SET A = 2");
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).as("of one moment").isEqualTo(1);
            }
            assertRefused("40001", () -> statement.executeUpdate("UPDATE T SET A = A + 10"));
            statement.executeUpdate("UPDATE T SET A = A + 10");
            connection.commit();
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            execute("UPDATE T SET A = A + 1");
            statement.executeUpdate("UPDATE T SET A = A * 2");
            connection.commit();
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            connection.setSavepoint("s");
            execute("UPDATE T SET A = A + 1");
            assertRefused("40001", () -> statement.executeUpdate("UPDATE T SET A = 0"));
        }
        assertEqual();
        assertThat(query(replica, "SELECT A FROM T")).containsExactly("27");
    }

    @Test
    void moreRowsThanAWriteSetMayHave() throws SQLException {
        DatabaseConfiguration usual = configuration("small");
        DatabaseConfiguration small = new DatabaseConfiguration(
                usual.location(), usual.attributes(), usual.readGrace(), 8 << 10, usual.spoolDirectory());
        try (ReflectedDatabase database = tested().binding().open(small, meta);
                Connection connection = connect(database, new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY, A TEXT)");
            assertRefused(
                    "54000",
                    () -> statement.executeUpdate("INSERT INTO T SELECT X, '' FROM " + SQLITE.numbers(1, 5000)));
            statement.executeUpdate("INSERT INTO T VALUES (1, printf('%.*c', 100000, 'x'))");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("54000"))
                    .hasMessageContaining("write-set-bytes-max");
            statement.executeUpdate("INSERT INTO T VALUES (1, 'short')");
            connection.commit();
            assertThat(count(database, "T")).isEqualTo(1);
        }
    }

    @Test
    void positionsAreStoredAlsoWhileSomebodyChangesSomething() throws SQLException {
        makeTable();
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                Applier own = origin.applier()) {
            statement.executeUpdate("UPDATE T SET A = 1");
            own.commit(meta.nextPosition(), false);
            assertRefused("40001", connection::commit);
            statement.executeUpdate("INSERT INTO T VALUES (1, 1)");
            assertThat(origin.flush()).as("does not wait for him").isPresent();
            connection.commit();
        }
        assertEqual();
    }

    @Test
    void savepointsInSql() throws SQLException {
        makeTable();
        execute(
                "INSERT INTO T VALUES (1, 1)",
                "SAVEPOINT S",
                "INSERT INTO T VALUES (2, 2)",
                "ROLLBACK TO SAVEPOINT S",
                "INSERT INTO T VALUES (3, 3)",
                "RELEASE SAVEPOINT S",
                "COMMIT",
                "INSERT INTO T VALUES (4, 4)",
                "ROLLBACK",
                "INSERT INTO T VALUES (5, 5)",
                "END TRANSACTION");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "3", "5");
    }

    // -------------------------------------------------------------------------------------------------------- schema

    @Test
    void schemaChangesAmongRows() throws SQLException {
        execute(
                "CREATE TABLE \"a \"\"table\"\"\" (\"the key\" TEXT PRIMARY KEY, \"ä\" TEXT)",
                "INSERT INTO \"a \"\"table\"\"\" VALUES ('k', 'ö€𝄞')",
                "ALTER TABLE \"a \"\"table\"\"\" RENAME TO 'it''s'",
                "INSERT INTO \"it's\" VALUES ('l', '')",
                "ALTER TABLE [it's] RENAME COLUMN ä TO b",
                "ALTER TABLE `it's` ADD COLUMN C INTEGER NOT NULL DEFAULT 5",
                "UPDATE \"it's\" SET C = 6, b = 'new' WHERE \"the key\" = 'k'",
                "CREATE UNIQUE INDEX I ON \"it's\" (b)",
                "ALTER TABLE \"it's\" DROP COLUMN C",
                "DELETE FROM \"it's\" WHERE b = ''",
                "PRAGMA user_version = 3",
                "CREATE TABLE U (ID INTEGER PRIMARY KEY)",
                "INSERT INTO U VALUES (1)",
                "DROP TABLE U",
                "REINDEX \"it's\"",
                "ANALYZE");
        assertThatThrownBy(() -> execute("ALTER TABLE \"it's\" DROP COLUMN b")).isInstanceOf(SQLException.class);
        assertEqual();
        assertThat(query(replica, "SELECT b FROM \"it's\"")).containsExactly("new");
        assertThat(query(replica, "PRAGMA user_version")).containsExactly("3");
    }

    @Test
    void restartsAmongSchemaChangesAndKeys() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER PRIMARY KEY AUTOINCREMENT, A INTEGER)");
        execute("INSERT INTO T (A) VALUES (1)", "INSERT INTO T (A) VALUES (2)");
        execute("ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 5", "CREATE UNIQUE INDEX I ON T (A)");
        execute("INSERT INTO T (A) VALUES (3)", "UPDATE T SET B = 6 WHERE ID = 1");
        execute("ALTER TABLE T DROP COLUMN B", "INSERT INTO T (A) VALUES (4)");
        List<WriteSet> all = meta.takeWriteSets();
        for (int killed = 0; applied < all.size(); killed++) {
            apply(all.get((int) applied));
            if (killed < all.size()) {
                replica = tested().kill(replica, configuration("replica"), replicaMeta);
                applier = replica.applier();
                applied = replica.storedPosition().orElseThrow().index();
            }
        }
        assertEqual();
        change(replica, "INSERT INTO T (A) VALUES (5)");
        assertThat(query(replica, "SELECT MAX(ID) FROM T")).containsExactly("5");
    }

    // --------------------------------------------------------------------------------------------------------- copies

    @Test
    void copiesUnderLoad() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER PRIMARY KEY AUTOINCREMENT, A INTEGER, B BLOB)",
                "CREATE TABLE SUMS (ID INTEGER PRIMARY KEY, N INTEGER)",
                "INSERT INTO SUMS VALUES (1, 0)");
        long before = origin.storedPosition().orElseThrow().index();
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger written = new AtomicInteger();
        Future<?> load = clients.submit(() -> write(goesOn, written));
        await("there is something to copy", () -> written.get() >= 50);
        Path snapshot = directory.resolve("it's a snapshot");
        origin.snapshot(snapshot);
        try (FrozenRows frozen = origin.freeze(directory.resolve("scratch"))) {
            int read = written.get();
            await("the load goes on", () -> written.get() >= read + 20);
            long commits = frozen.position().orElseThrow().index() - before;
            try (Statement statement = frozen.connection().createStatement();
                    ResultSet row = statement.executeQuery("SELECT N, (SELECT COUNT(*) FROM T) FROM SUMS")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getLong(1)).as("as of its position").isEqualTo(commits);
                assertThat(row.getLong(2)).isEqualTo(commits - commits / 2);
            }
            assertThat(frozen.generated()).containsEntry(new Generator(true, "main", "T"), commits);
        }
        goesOn.set(false);
        load.get(30, TimeUnit.SECONDS);

        List<WriteSet> all = meta.takeWriteSets();
        tested().binding().load(snapshot, configuration("copy"));
        try (ReflectedDatabase copy = tested().binding().open(configuration("copy"), new MetaLevel());
                Applier applierOfCopy = copy.applier()) {
            int held = (int) copy.storedPosition().orElseThrow().index();
            assertThat(held).isBetween(50, all.size() - 19);
            for (int next = held + 1; next <= all.size(); next++) {
                applierOfCopy.apply(all.get(next - 1));
                applierOfCopy.commit(position(next), false);
            }
            assertEqual(copy);
        }
    }

    private Void write(AtomicBoolean goesOn, AtomicInteger written) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            while (goesOn.get()) {
                int next = written.get() + 1;
                statement.executeUpdate("INSERT INTO T (A, B) VALUES (" + next + ", zeroblob(1000))");
                statement.executeUpdate("UPDATE SUMS SET N = N + 1");
                if (next % 2 == 0) {
                    statement.executeUpdate("DELETE FROM T WHERE ID = " + next / 2);
                }
                connection.commit();
                written.set(next);
            }
        }
        return null;
    }

    // --------------------------------------------------------------------------------------------------- who else does

    @Test
    void changesPastTheReplicaAreRefused() throws SQLException {
        makeTable();
        try (Connection past = past("origin");
                Statement statement = past.createStatement()) {
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (1, 1)"))
                    .hasMessageContaining("no such function: gorda_touched");
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void databasesThatAreNotFit() throws SQLException, IOException {
        Files.createDirectories(Path.of(configuration("unfit").location()));
        try (Connection made = past("unfit");
                Statement statement = made.createStatement()) {
            for (String sql : List.of(
                    "CREATE TABLE OK (ID INTEGER PRIMARY KEY, DEFERRED TEXT)",
                    "CREATE TABLE N (A INTEGER)",
                    "CREATE TABLE W (ID INTEGER PRIMARY KEY) WITHOUT ROWID",
                    "CREATE TABLE R (ID INTEGER PRIMARY KEY ON CONFLICT ROLLBACK)",
                    "CREATE TABLE D (ID INTEGER PRIMARY KEY REFERENCES OK DEFERRABLE INITIALLY DEFERRED)",
                    "CREATE VIRTUAL TABLE F USING fts5(body)",
                    "CREATE TRIGGER TR AFTER INSERT ON OK BEGIN DELETE FROM N; END")) {
                statement.execute(sql);
            }
            assertThat(tested().binding().examine(made).orElseThrow())
                    .extracting(finding -> finding.object())
                    .contains(
                            "table \"N\"", "table \"W\"", "table \"R\"", "table \"D\"", "table \"F\"", "trigger \"TR\"")
                    .doesNotContain("table \"OK\"");
        }
        assertThatThrownBy(() -> tested().binding().open(configuration("unfit"), meta))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("table \"W\"")
                .hasMessageContaining("trigger \"TR\"")
                .hasMessageNotContaining("table \"N\"");
    }

    /** Names and texts may have the words of what is refused. */
    @Test
    void whatClientsHaveMadeIsFitAgain() throws SQLException {
        execute(
                "CREATE TABLE SYNC_LOG (ID INTEGER PRIMARY KEY, ACTION TEXT, CONFLICT INT, REPLACED_BY INT)",
                "CREATE TABLE R (ID INTEGER PRIMARY KEY, RESOLUTION TEXT CHECK (RESOLUTION IN ('conflict', 'rollback')))",
                "CREATE TABLE FK (ID INTEGER PRIMARY KEY, INITIALLY_DEFERRED INT)");
        assertEqual();
        origin.close();
        origin = tested().binding().open(configuration("origin"), meta);
        execute("INSERT INTO R VALUES (1, 'rollback')");
        assertEqual();
    }

    @Test
    void aDatabaseIsOpenedOnceOnly() {
        assertThatThrownBy(() -> tested().binding().open(configuration("origin"), meta))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("is open already in this process");
    }

    @Test
    void connectionsEndWithTheirDatabase() throws SQLException {
        makeTable();
        Connection connection = connect();
        Statement statement = connection.createStatement();
        statement.executeUpdate("INSERT INTO T VALUES (1, 1)");
        origin.close();
        assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        assertThat(connection.isClosed()).isTrue();
        origin = tested().binding().open(configuration("origin"), meta);
        assertThat(count(origin, "T")).isZero();
    }
}
