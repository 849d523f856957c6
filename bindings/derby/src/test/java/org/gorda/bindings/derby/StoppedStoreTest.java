package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.apache.derby.iapi.store.access.conglomerate.TransactionManager;
import org.apache.derby.impl.jdbc.EmbedConnection;
import org.apache.derby.impl.store.raw.xact.Xact;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A database whose disk fails while clients use it: what they read then may be what was on disk, from before what was committed since. */
@Timeout(60)
class StoppedStoreTest {

    /** Far fewer pages than Derby keeps in memory. */
    private static final int ROWS = 1_000;

    @TempDir
    private Path directory;

    private final DerbyUnderTest derby = new DerbyUnderTest();
    private final MetaLevel meta = new MetaLevel();
    private ReflectedDatabase database;

    @BeforeEach
    void open() throws SQLException {
        database = derby.binding().open(derby.configuration(directory, "stopped"), meta);
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER NOT NULL, TEXT VARCHAR(1000) NOT NULL)");
            statement.execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
            connection.setAutoCommit(false);
            for (int i = 0; i < ROWS; i++) {
                statement.execute("INSERT INTO T VALUES (" + i + ", 0, '" + "x".repeat(900) + "')");
            }
            connection.commit();
            database.flush();
            statement.execute("UPDATE T SET A = 1");
            connection.commit();
        }
        meta.takeWriteSets();
    }

    /** With its connections, which cannot be closed in order. */
    @AfterEach
    void close() {
        database.close();
    }

    private Connection connect(int isolation) throws SQLException {
        Connection connection = database.connect(new Properties());
        connection.setAutoCommit(false);
        connection.setTransactionIsolation(isolation);
        return connection;
    }

    /** As Derby does when it cannot write. */
    private void failTheDisk() throws Exception {
        TransactionManager store = (TransactionManager) database.connect(new Properties())
                .unwrap(EmbedConnection.class)
                .getLanguageConnection()
                .getTransactionExecute();
        ((Xact) store.getRawStoreXact())
                .getLogFactory()
                .markCorrupt(StandardException.newException(SQLState.LOG_IO_ERROR, "no room"));
    }

    @ParameterizedTest
    @ValueSource(ints = {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ})
    void whoReadsOnIsToldAndNotGivenWhatWasBefore(int isolation) throws Exception {
        Connection connection = connect(isolation);
        ResultSet rows = connection.createStatement().executeQuery("SELECT A FROM T");
        assertThat(rows.next()).isTrue();
        failTheDisk();
        assertThatThrownBy(() -> {
                    while (rows.next()) {
                        assertThat(rows.getInt(1)).isEqualTo(1);
                    }
                    connection.commit();
                })
                .isInstanceOf(SQLException.class);
    }

    @Test
    void whatWasReadIsNotCommitted() throws Exception {
        Connection connection = connect(Connection.TRANSACTION_REPEATABLE_READ);
        ResultSet rows = connection.createStatement().executeQuery("SELECT COUNT(*) FROM T WHERE ID < 0");
        assertThat(rows.next()).isTrue();
        failTheDisk();
        assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
    }

    @Test
    void whatWasWrittenIsNotSent() throws Exception {
        Connection connection = connect(Connection.TRANSACTION_READ_COMMITTED);
        connection.createStatement().execute("INSERT INTO U VALUES (1)");
        failTheDisk();
        assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        assertThat(meta.takeWriteSets()).isEmpty();
    }

    /** Derby would open it anew, without its replica, and what is written then would be acknowledged and sent to nobody. */
    @Test
    void nobodyGetsItAnewBeforeItsReplicaIsClosed() throws Exception {
        ReflectedConnection session = (ReflectedConnection)
                database.connect(new Properties()).unwrap(EmbedConnection.class).getLanguageConnection();
        DerbyDatabase.within(
                session,
                () -> session.getContextManager()
                        .cleanupOnError(StandardException.newException(SQLState.SHUTDOWN_DATABASE, "stopped"), false));
        String path = derby.configuration(directory, "stopped").location();
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> database.connect(new Properties()))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("has stopped: connect to another replica");
            assertThatThrownBy(() -> DriverManager.getConnection("jdbc:derby:" + path))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("its replica would not see");
        }
        database.close();
        try (ReflectedDatabase again = derby.binding().open(derby.configuration(directory, "stopped"), meta);
                Connection connection = again.connect(new Properties())) {
            connection.createStatement().execute("INSERT INTO U VALUES (1)");
            assertThat(meta.takeWriteSets()).hasSize(1);
        }
    }
}
