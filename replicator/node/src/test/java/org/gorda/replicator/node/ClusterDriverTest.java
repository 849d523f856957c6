package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.nio.file.Path;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.gorda.replicator.node.behaviours.Routines;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The driver as a client of nodes, none of which fails. */
@Timeout(120)
class ClusterDriverTest {

    @TempDir
    static Path directory;

    private static NodeGroup group;
    private static HikariDataSource pool;

    @BeforeAll
    static void open() {
        group = new NodeGroup(directory, 3);
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(group.url());
        config.setMaximumPoolSize(3);
        config.setMinimumIdle(1);
        pool = new HikariDataSource(config);
    }

    @AfterAll
    static void close() {
        pool.close();
        group.close();
    }

    @BeforeEach
    void newTable() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            try {
                statement.execute("DROP TABLE T");
            } catch (SQLException e) {
                assertThat(e.getSQLState()).isEqualTo("42Y55");
            }
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
                    + "A VARCHAR(20) UNIQUE, C CLOB, B BLOB)");
        }
        group.assertIdentical();
    }

    private static long count(Connection connection, String condition) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T WHERE " + condition)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static long countAfresh(String condition) throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url())) {
            return count(connection, condition);
        }
    }

    private static void assertState(String state, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(state));
    }

    @Test
    void findsThePrimaryAndCommitsAreOnAllReplicas() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            assertThat(connection.unwrap(Connection.class).toString()).contains(group.service(group.primary()));
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T (A) VALUES ('one'), ('two')");
            assertThat(countAtBackup()).isZero();
            connection.commit();
        }
        NodeGroup.patiently("the backup has it").until(() -> countAtBackup() == 2);
        group.assertIdentical();
    }

    private static long countAtBackup() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.setReadOnly(true);
            return count(connection, "1 = 1");
        }
    }

    @Test
    void autocommitBatchesAndGeneratedKeys() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                PreparedStatement insert =
                        connection.prepareStatement("INSERT INTO T (A) VALUES (?)", Statement.RETURN_GENERATED_KEYS);
                PreparedStatement batch = connection.prepareStatement("INSERT INTO T (A) VALUES (?)")) {
            for (int i = 0; i < 3; i++) {
                insert.setString(1, "key " + i);
                assertThat(insert.executeUpdate()).isEqualTo(1);
                try (ResultSet keys = insert.getGeneratedKeys()) {
                    assertThat(keys.next()).isTrue();
                    assertThat(count(connection, "ID = " + keys.getInt(1) + " AND A = 'key " + i + "'"))
                            .isEqualTo(1);
                }
            }
            assertThat(connection.getAutoCommit()).isTrue();
            for (int i = 0; i < 10; i++) {
                batch.setString(1, "batch " + i);
                batch.addBatch();
            }
            assertThat(batch.executeBatch()).hasSize(10).containsOnly(1);
            statement.addBatch("UPDATE T SET A = 'B' || A WHERE A LIKE 'batch%'");
            statement.addBatch("DELETE FROM T WHERE A = 'Bbatch 0'");
            assertThat(statement.executeBatch()).containsExactly(10, 1);
            assertThat(countAfresh("A LIKE 'Bbatch%'")).isEqualTo(9);
            assertThat(statement.execute("UPDATE T SET A = 'X' || A")).isFalse();
            assertThat(statement.getUpdateCount()).isEqualTo(12);
            assertThat(statement.execute("SELECT A FROM T")).isTrue();
            try (ResultSet rows = statement.getResultSet()) {
                assertThat(rows.next()).isTrue();
            }
            assertThat(statement.executeUpdate("DELETE FROM T")).isEqualTo(12);
            assertThat(countAfresh("1 = 1")).isZero();
        }
    }

    @Test
    void preparedAndCallableStatementsOfAllKinds() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            try (PreparedStatement any = connection.prepareStatement("SELECT A FROM T WHERE A = ?")) {
                any.setString(1, "x");
                assertThat(any.execute()).isTrue();
                try (ResultSet rows = any.getResultSet()) {
                    assertThat(rows.next()).isFalse();
                }
                assertThat(any.getMetaData().getColumnCount()).isEqualTo(1);
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T (A) VALUES (?)")) {
                insert.setString(1, "prepared");
                assertThat(insert.execute()).isFalse();
                assertThat(insert.getUpdateCount()).isEqualTo(1);
                assertThat(insert).isInstanceOf(PreparedStatement.class);
            }
            try (CallableStatement call =
                    connection.prepareCall("CALL SYSCS_UTIL.SYSCS_INPLACE_COMPRESS_TABLE('APP', 'T', 1, 0, 0)")) {
                call.execute();
            }
            try (CallableStatement call =
                    connection.prepareCall("{? = CALL SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY('x')}")) {
                call.registerOutParameter(1, java.sql.Types.VARCHAR);
                call.execute();
                assertThat(call.getString(1)).isNull();
            }
            assertThat(count(connection, "A = 'prepared'")).isEqualTo(1);
            assertThat(connection.getMetaData().getConnection().isWrapperFor(Connection.class))
                    .isTrue();
            try (ResultSet tables = connection.getMetaData().getTables(null, "APP", "T", null)) {
                assertThat(tables.next()).isTrue();
            }
        }
        assertThat(countAfresh("A = 'prepared'")).isEqualTo(1);
    }

    @Test
    void rowsOfAnExecuteInAutocommitCanBeReadToTheEnd() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < 300; i++) {
                statement.addBatch("INSERT INTO T (A) VALUES ('row " + i + "')");
            }
            statement.executeBatch();
            try (PreparedStatement all = connection.prepareStatement("SELECT A FROM T")) {
                all.setFetchSize(10);
                assertThat(all.execute()).isTrue();
                int read = 0;
                try (ResultSet rows = all.getResultSet()) {
                    while (rows.next()) {
                        read++;
                    }
                }
                assertThat(read).isEqualTo(300);
            }
            assertThat(connection.getAutoCommit()).isTrue();
            assertThat(statement.executeUpdate("UPDATE T SET A = A || '!'")).isEqualTo(300);
        }
        assertThat(countAfresh("A LIKE '%!'")).isEqualTo(300);
    }

    @Test
    void largeObjectsGoThroughWhole() throws Exception {
        byte[] bytes = new byte[300_000];
        new java.util.Random(3).nextBytes(bytes);
        String text = "€ä𝄞 text ".repeat(20_000);
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T (A, C, B) VALUES (?, ?, ?)")) {
                insert.setString(1, "streams");
                insert.setCharacterStream(2, new StringReader(text));
                insert.setBinaryStream(3, new ByteArrayInputStream(bytes));
                insert.executeUpdate();
                insert.setString(1, "locators");
                var clob = connection.createClob();
                clob.setString(1, text);
                var blob = connection.createBlob();
                blob.setBytes(1, bytes);
                insert.setClob(2, clob);
                insert.setBlob(3, blob);
                insert.executeUpdate();
            }
            connection.commit();
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT C, B FROM T ORDER BY A")) {
                for (int i = 0; i < 2; i++) {
                    assertThat(rows.next()).isTrue();
                    var clob = rows.getClob(1);
                    assertThat(clob.getSubString(1, (int) clob.length())).isEqualTo(text);
                    assertThat(Arrays.equals(rows.getBlob(2).getBinaryStream().readAllBytes(), bytes))
                            .isTrue();
                }
            }
            connection.commit();
        }
        group.assertIdentical();
    }

    @Test
    void readOnlyConnectionReadsAtABackupAndRefusesWrites() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES ('read me')");
            connection.setReadOnly(true);
            assertThat(connection.isReadOnly()).isTrue();
            NodeGroup.patiently("the backup has it").until(() -> count(connection, "A = 'read me'") == 1);
            try (Statement reading = connection.createStatement()) {
                for (int i = 0; i < 2; i++) {
                    assertState("25006", () -> reading.executeUpdate("INSERT INTO T (A) VALUES ('no')"));
                    assertThat(connection.isValid(5)).isTrue();
                    assertThat(connection.isClosed()).isFalse();
                }
            }
            assertState("25006", () -> statement.executeUpdate("INSERT INTO T (A) VALUES ('no')"));
            connection.setAutoCommit(false);
            assertThat(count(connection, "1 = 1")).isEqualTo(1);
            connection.commit();
            connection.rollback();
            connection.setReadOnly(false);
            try (Statement writing = connection.createStatement()) {
                writing.executeUpdate("INSERT INTO T (A) VALUES ('yes')");
            }
            connection.commit();
        }
        assertThat(countAfresh("A = 'yes'")).isEqualTo(1);
        assertThat(countAfresh("A = 'no'")).isZero();
    }

    /** Both backups are held up for a while, by readers to whom they owe that much. */
    @Test
    void withSessionReadsAConnectionReadsWhatItHasWrittenAtAnyReplica() throws Exception {
        List<Connection> readers = new ArrayList<>();
        try (Connection any = DriverManager.getConnection(group.url());
                Connection session = DriverManager.getConnection(group.url() + ";reads=session");
                Statement statement = session.createStatement()) {
            for (int i = 0; i < group.size(); i++) {
                if (i != group.primary()) {
                    Connection reader = DriverManager.getConnection(group.engineUrl(i));
                    readers.add(reader);
                    reader.setAutoCommit(false);
                    reader.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                    assertThat(count(reader, "1 = 1")).isZero();
                }
            }
            statement.executeUpdate("INSERT INTO T (A) VALUES ('mine')");
            any.setReadOnly(true);
            assertThat(count(any, "1 = 1")).as("they are held up").isZero();
            CompletableFuture<Void> released = CompletableFuture.runAsync(
                    () -> readers.forEach(ClusterDriverTest::commit),
                    CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS));
            session.setReadOnly(true);
            assertThat(count(session, "A = 'mine'")).isEqualTo(1);
            assertThat(released).isCompleted();

            session.setReadOnly(false);
            session.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T (A) VALUES ('again')");
            session.commit();
            session.setReadOnly(true);
            assertThat(count(session, "A = 'again'")).isEqualTo(1);
            session.commit();
            session.setReadOnly(false);
        } finally {
            for (Connection reader : readers) {
                reader.rollback();
                reader.close();
            }
        }
    }

    private static void commit(Connection connection) {
        try {
            connection.commit();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** As an application hands it on, for instance in a cookie. */
    @Test
    void aPositionCanBeWaitedForOnAnotherConnection() throws SQLException {
        try (Connection one = DriverManager.getConnection(group.url());
                Connection other = DriverManager.getConnection(group.url());
                Statement writing = one.createStatement()) {
            writing.executeUpdate("INSERT INTO T (A) VALUES ('seen')");
            long position;
            try (ResultSet row = writing.executeQuery("VALUES GORDA.POSITION()")) {
                row.next();
                position = row.getLong(1);
            }
            other.setReadOnly(true);
            try (Statement reading = other.createStatement()) {
                reading.execute("CALL GORDA.AWAIT_POSITION(" + position + ")");
                assertThat(count(other, "A = 'seen'")).isEqualTo(1);
                assertThatThrownBy(() -> reading.execute("CALL GORDA.AWAIT_POSITION(" + (position + 1_000_000) + ")"))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                        .hasMessageContaining("is behind: it shows everything up to ")
                        .hasMessageContaining("wanted is " + (position + 1_000_000));
            }
        }
    }

    @Test
    void strongReadsAreNotForTheClientToChoose() {
        assertThatThrownBy(() -> DriverManager.getConnection(group.url() + ";reads=strong"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("reads is 'strong' but must be any or session");
    }

    @Test
    void readOnlyIsRefusedInTheMiddleOfATransactionAndNothingIsLost() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T (A) VALUES ('open')");
            assertState("25001", () -> connection.setReadOnly(true));
            connection.commit();
            connection.setReadOnly(true);
            assertThat(count(connection, "A <> 'never'")).isBetween(0L, 1L);
            assertState("25001", () -> connection.setReadOnly(false));
            connection.commit();
            connection.setReadOnly(false);
        }
        assertThat(countAfresh("A = 'open'")).isEqualTo(1);
    }

    @Test
    void whatIsSetBySqlHoldsWhereverItIsReadOrWritten() throws SQLException {
        for (boolean autoCommit : new boolean[] {true, false}) {
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement();
                    Statement batch = connection.createStatement()) {
                connection.setAutoCommit(autoCommit);
                connection.setReadOnly(true);
                connection.setReadOnly(false);
                statement.execute("/* of */ -- a tenant\n SET SCHEMA SYS");
                end(connection);
                assertSchema(connection, true, "SYS");
                assertSchema(connection, false, "SYS");
                batch.addBatch("SET SCHEMA SYSIBM");
                batch.executeBatch();
                end(connection);
                assertSchema(connection, true, "SYSIBM");
                try (Statement reading = connection.createStatement()) {
                    reading.execute("SET SCHEMA SYS");
                    reading.execute("SET CURRENT ISOLATION RR");
                }
                end(connection);
                assertSchema(connection, false, "SYS");
                assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_SERIALIZABLE);
                assertSchema(connection, true, "SYS");
                end(connection);
            }
        }
    }

    private static void end(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.commit();
        }
    }

    private static void assertSchema(Connection connection, boolean readOnly, String schema) throws SQLException {
        connection.setReadOnly(readOnly);
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("VALUES CURRENT SCHEMA")) {
            assertThat(row.next()).isTrue();
            assertThat(row.getString(1)).isEqualTo(schema);
        }
        end(connection);
    }

    @Test
    void isolationAndSchemaHoldForReadingToo() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES ('x')");
            connection.setReadOnly(true);
            connection.setReadOnly(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            connection.setSchema("SYS");
            connection.setReadOnly(true);
            assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_SERIALIZABLE);
            assertThat(connection.getSchema()).isEqualTo("SYS");
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
            connection.setSchema("APP");
            connection.setReadOnly(false);
            assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_READ_UNCOMMITTED);
            assertThat(connection.getSchema()).isEqualTo("APP");
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        }
    }

    @Test
    void violationsKeepConnectionTransactionAndState() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES ('taken')");
            assertState("23505", () -> statement.executeUpdate("INSERT INTO T (A) VALUES ('taken')"));
            assertState("42X05", () -> statement.executeUpdate("INSERT INTO NOWHERE VALUES (1)"));
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T (A) VALUES ('kept')");
            assertState("23505", () -> statement.executeUpdate("INSERT INTO T (A) VALUES ('taken')"));
            Savepoint savepoint = connection.setSavepoint();
            statement.executeUpdate("INSERT INTO T (A) VALUES ('undone')");
            connection.rollback(savepoint);
            connection.releaseSavepoint(savepoint);
            connection.commit();
            statement.executeUpdate("INSERT INTO T (A) VALUES ('rolled back')");
            connection.rollback();
            assertThat(connection.isValid(5)).isTrue();
        }
        assertThat(countAfresh("A = 'taken'")).isEqualTo(1);
        assertThat(countAfresh("A IN ('kept', 'undone', 'rolled back')")).isEqualTo(1);
        group.assertIdentical();
    }

    @Test
    void changeOfRowsWithoutPrimaryKeyIsRefusedAndTheConnectionGoesOn() throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE N (A INTEGER)");
            statement.executeUpdate("INSERT INTO N VALUES (1)");
            assertThatThrownBy(() -> statement.executeUpdate("UPDATE N SET A = 2"))
                    .isInstanceOfSatisfying(
                            SQLFeatureNotSupportedException.class,
                            e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                    .hasMessageContaining("primary key");
            assertThat(connection.isValid(5)).isTrue();
            assertThat(statement.executeUpdate("INSERT INTO T (A) VALUES ('on')"))
                    .isEqualTo(1);
            statement.execute("DROP TABLE N");
        }
    }

    @Test
    void changingAutocommitCommitsAndSettingTheSameAgainDoesNot() throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T (A) VALUES ('1')");
            connection.setAutoCommit(false);
            connection.rollback();
            statement.executeUpdate("INSERT INTO T (A) VALUES ('2')");
            connection.setAutoCommit(true);
            statement.executeUpdate("INSERT INTO T (A) VALUES ('3')");
            connection.commit(); // the engine allows it
            connection.rollback();
        }
        assertThat(countAfresh("A = '1'")).isZero();
        assertThat(countAfresh("A IN ('2', '3')")).isEqualTo(2);
    }

    @Test
    void closingWithAnOpenTransactionIsRefusedAsTheEngineDoesAndAfterACommitNot() throws SQLException {
        Connection connection = DriverManager.getConnection(group.url());
        connection.setAutoCommit(false);
        Statement statement = connection.createStatement();
        statement.executeUpdate("INSERT INTO T (A) VALUES ('c')");
        assertState("25001", connection::close);
        assertThat(connection.isClosed()).isFalse();
        connection.commit();
        connection.close();
        assertThat(connection.isClosed()).isTrue();
        connection.close();
        assertState("08003", connection::createStatement);
        assertState("08003", connection::commit);
        assertThat(connection.isValid(1)).isFalse();
        assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T (A) VALUES ('d')"))
                .isInstanceOf(SQLException.class);
        assertThat(countAfresh("A = 'c'")).isEqualTo(1);
    }

    /** What was executed after a commit is an open transaction again, whatever executed it. */
    @Test
    void closingAfterACommitDoesNotHideAnOpenTransaction() throws SQLException {
        Connection connection = DriverManager.getConnection(group.url());
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement();
                Statement updatable =
                        connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            statement.executeUpdate("INSERT INTO T (A) VALUES ('u')");
            connection.commit();
            try (ResultSet rows = updatable.executeQuery("SELECT ID, A FROM T")) {
                rows.next();
                rows.updateString(2, "v");
                rows.updateRow();
            }
        }
        assertState("25001", connection::close);
        connection.commit();
        connection.close();
        assertThat(countAfresh("A = 'v'")).isEqualTo(1);
    }

    @Test
    void abortEndsTheConnectionAtOnceAndItsTransaction() throws Exception {
        Connection connection = DriverManager.getConnection(group.url());
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES ('aborted')");
        }
        AtomicBoolean ran = new AtomicBoolean();
        connection.abort(task -> {
            ran.set(true);
            task.run();
        });
        assertThat(connection.isClosed()).isTrue();
        assertThat(connection.isValid(1)).isFalse();
        assertState("08003", connection::createStatement);
        connection.close();
        NodeGroup.patiently("it is rolled back").until(() -> countAfresh("A = 'aborted'") == 0);
    }

    @Test
    void abortWakesAThreadThatWaitsInTheDriver() throws Exception {
        try (Connection holder = DriverManager.getConnection(group.url());
                Statement holds = holder.createStatement()) {
            holder.setAutoCommit(false);
            holds.executeUpdate("INSERT INTO T (A) VALUES ('held')");
            Connection waiter = DriverManager.getConnection(group.url());
            AtomicReference<SQLException> thrown = new AtomicReference<>();
            Thread thread = new Thread(() -> {
                try (Statement waits = waiter.createStatement()) {
                    waits.executeUpdate("INSERT INTO T (A) VALUES ('held')");
                } catch (SQLException e) {
                    thrown.set(e);
                }
            });
            thread.start();
            NodeGroup.patiently("it waits").until(() -> isWaitedFor(holder));
            waiter.abort(Runnable::run);
            thread.join(10_000);
            assertThat(thread.isAlive()).isFalse();
            assertThat(thrown.get().getSQLState()).startsWith("08");
            holder.rollback();
        }
    }

    private static boolean isWaitedFor(Connection holder) throws SQLException {
        try (Statement statement = holder.createStatement();
                ResultSet rows =
                        statement.executeQuery("SELECT COUNT(*) FROM SYSCS_DIAG.LOCK_TABLE WHERE STATE = 'WAIT'")) {
            rows.next();
            return rows.getInt(1) > 0;
        }
    }

    /** Else a pool that asks before it lends or keeps a connection could neither close it nor have it read at a backup. */
    @Test
    void askingWhetherAConnectionIsValidLeavesNoTransaction() throws SQLException {
        Connection connection = DriverManager.getConnection(group.url());
        connection.setAutoCommit(false);
        assertThat(connection.isValid(5)).isTrue();
        connection.setReadOnly(true);
        assertThat(connection.isValid(5)).isTrue();
        connection.setReadOnly(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES ('valid')");
            assertThat(connection.isValid(5)).isTrue();
            connection.commit();
        }
        assertThat(connection.isValid(5)).isTrue();
        connection.close();
        assertThat(connection.isClosed()).isTrue();
        assertThat(countAfresh("A = 'valid'")).isEqualTo(1);
    }

    /** As with the engine's driver, whose close is refused in a transaction: so pools drop what they want to be rid of. */
    @Test
    void connectionThatIsDroppedInATransactionDoesNotHoldItsLocksForEver() throws SQLException {
        dropInATransaction();
        try (Connection other = DriverManager.getConnection(group.url());
                Statement statement = other.createStatement()) {
            NodeGroup.patiently("its locks are released").until(() -> {
                System.gc();
                try (ResultSet locks =
                        statement.executeQuery("SELECT COUNT(*) FROM SYSCS_DIAG.LOCK_TABLE WHERE TABLENAME = 'T'")) {
                    locks.next();
                    return locks.getInt(1) == 0;
                }
            });
        }
        assertThat(countAfresh("A = 'dropped'")).isZero();
    }

    private static void dropInATransaction() throws SQLException {
        Connection connection = DriverManager.getConnection(group.url());
        connection.setAutoCommit(false);
        connection.createStatement().executeUpdate("INSERT INTO T (A) VALUES ('dropped')");
        assertState("25001", connection::close);
    }

    /** For instance by a pool that keeps statements: it would read what is old, and is not locked, in the midst of a transaction. */
    @Test
    void statementMadeToReadAtABackupIsRefusedWhereTheConnectionWrites() throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url())) {
            connection.setReadOnly(true);
            try (PreparedStatement kept = connection.prepareStatement("SELECT COUNT(*) FROM T")) {
                kept.executeQuery().close();
                connection.setReadOnly(false);
                connection.setAutoCommit(false);
                assertThatThrownBy(kept::executeQuery)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("25000"))
                        .hasMessageContaining("made while the connection was read-only");
                assertThat(count(connection, "1 = 1")).isZero();
                connection.commit();
                connection.setReadOnly(true);
                kept.executeQuery().close();
                connection.commit();
            }
        }
    }

    @Test
    void userThatTheEnginesDriverRefusesIsToldAtOnce() {
        long begun = System.nanoTime();
        assertThatThrownBy(() -> DriverManager.getConnection(group.url(), "", "secret"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("User id length (0)");
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(10));
    }

    @Test
    void wrapsAsJdbcSays() throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                PreparedStatement statement = connection.prepareStatement("VALUES 1")) {
            assertThat(connection.isWrapperFor(Connection.class)).isTrue();
            assertThat(connection.unwrap(Connection.class)).isSameAs(connection);
            assertThat(connection.isWrapperFor(java.util.List.class)).isFalse();
            assertThatThrownBy(() -> connection.unwrap(java.util.List.class)).isInstanceOf(SQLException.class);
            assertThat(statement.isWrapperFor(PreparedStatement.class)).isTrue();
            assertThat(statement.unwrap(PreparedStatement.class)).isSameAs(statement);
            assertThat(statement.unwrap(Statement.class).getConnection()).isSameAs(connection);
            assertThat(statement.getConnection()).isSameAs(connection);
            assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
            assertState("XJ081", () -> isValid(connection, -1)); // as Derby's own
        }
    }

    private static void isValid(Connection connection, int seconds) throws SQLException {
        connection.isValid(seconds);
    }

    /** As engines' drivers allow it: whose change is acknowledged has it, whatever becomes of what another thread does beside it. */
    @Test
    void acknowledgedChangesStayWhereThreadsShareAConnection() throws Exception {
        try (Connection shared = DriverManager.getConnection(group.url());
                Statement failing = shared.createStatement();
                Statement inserting = shared.createStatement()) {
            failing.execute("CREATE PROCEDURE FAILS () LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME '"
                    + Routines.class.getName() + ".fails'");
            AtomicBoolean done = new AtomicBoolean();
            CompletableFuture<Void> fails = CompletableFuture.runAsync(() -> {
                while (!done.get()) {
                    assertState("38999", () -> failing.execute("CALL FAILS()"));
                }
            });
            int acknowledged = 0;
            try {
                while (acknowledged < 200) {
                    acknowledged += inserting.executeUpdate("INSERT INTO T (A) VALUES ('" + acknowledged + "')");
                }
            } finally {
                done.set(true);
            }
            fails.get(60, TimeUnit.SECONDS);
            assertThat(count(shared, "1 = 1")).isEqualTo(acknowledged);
            failing.execute("DROP PROCEDURE FAILS");
        }
    }

    /** The one by the end of what it waits for in the driver, the other by that of the one. */
    @Test
    void abortFreesAlsoWhoWaitsForAnotherThread() throws Exception {
        try (Connection holder = DriverManager.getConnection(group.url());
                Statement holds = holder.createStatement()) {
            holder.setAutoCommit(false);
            holds.executeUpdate("INSERT INTO T (A) VALUES ('held')");
            Connection shared = DriverManager.getConnection(group.url());
            List<CompletableFuture<SQLException>> waiting = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                waiting.add(CompletableFuture.supplyAsync(() -> {
                    try (Statement waits = shared.createStatement()) {
                        waits.executeUpdate("INSERT INTO T (A) VALUES ('held')");
                        return new SQLException("it was done");
                    } catch (SQLException e) {
                        return e;
                    }
                }));
            }
            NodeGroup.patiently("one waits").until(() -> isWaitedFor(holder));
            shared.abort(Runnable::run);
            for (CompletableFuture<SQLException> one : waiting) {
                assertThat(one.get(10, TimeUnit.SECONDS).getSQLState()).startsWith("08");
            }
            holder.rollback();
        }
    }

    @Test
    void queriesBehindCommentsAndParenthesesAreReads() throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement made = connection.createStatement()) {
            connection.setReadOnly(true);
            for (String query : List.of(
                    "-- of\n SELECT A FROM T", " /* of */SELECT A FROM T", "(SELECT A FROM T)", "( VALUES 1)")) {
                made.executeQuery(query).close();
            }
            assertState("25006", () -> made.executeUpdate("/* of */ DELETE FROM T"));
        }
    }

    /** Else what a pool has taken for closed would stay with the replica. */
    @Test
    void closeThatIsToldThatWhatItCommitsIsRefusedClosesAllTheSame() throws SQLException {
        try (Connection other = DriverManager.getConnection(group.url());
                Statement statement = other.createStatement()) {
            statement.execute("CREATE TABLE D (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL,"
                    + " CONSTRAINT D_N UNIQUE (N) INITIALLY DEFERRED)");
            statement.executeUpdate("INSERT INTO D VALUES (1, 1), (2, 2)");
            Connection connection = DriverManager.getConnection(group.url());
            Statement updating = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
            ResultSet rows = updating.executeQuery("SELECT ID, N FROM D WHERE ID = 1");
            assertThat(rows.next()).isTrue();
            rows.updateInt(2, 2);
            rows.updateRow();
            assertState("23506", connection::close);
            assertThat(connection.isClosed()).isTrue();
            connection.close();
            statement.execute("DROP TABLE D");
        }
    }
}
