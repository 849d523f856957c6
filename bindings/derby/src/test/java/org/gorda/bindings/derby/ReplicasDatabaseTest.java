package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Derby does beside transactions, and must not do to the database of a replica. */
class ReplicasDatabaseTest {

    /** What the name of a database can be followed by. */
    private static final List<String> ACTIONS = List.of(
            "shutdown",
            "drop",
            "startMaster",
            "stopMaster",
            "startSlave",
            "stopSlave",
            "internal_stopslave",
            "failover");

    @TempDir
    private Path directory;

    private DatabaseConfiguration configuration(String name) {
        return configuration(directory.resolve(name).toString(), Map.of());
    }

    private DatabaseConfiguration configuration(String location, Map<String, String> attributes) {
        return new DatabaseConfiguration(
                location, attributes, Duration.ofMillis(200), 1 << 20, directory.resolve("spool"));
    }

    /** As Liquibase does when it has ended. Derby would open it again for whoever comes next, and nobody would see what that one does. */
    @Test
    void databaseOfAReplicaIsNotShutDownByOthers() throws SQLException, IOException {
        MetaLevel meta = new MetaLevel();
        String url = "jdbc:derby:" + directory.resolve("own");
        try (ReflectedDatabase database = new DerbyBinding().open(configuration("own"), meta);
                Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY)");
            assertStaysOpen("jdbc:derby:", "shutdown");
            for (String action : ACTIONS) {
                assertStaysOpen(url, action);
            }
            String remote = database.listen(DerbyUnderTest.freeAddress(), null);
            for (String action : ACTIONS) {
                assertStaysOpen(remote, action);
            }
            meta.takeWriteSets();
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            try (Connection another = DriverManager.getConnection(url)) {
                another.createStatement().executeUpdate("INSERT INTO T VALUES (2)");
            }
            assertThat(meta.takeWriteSets()).hasSize(2);
        }
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                .hasMessageNotContaining("stays open"); // the replica has closed it
    }

    private static void assertStaysOpen(String url, String action) {
        Properties given = new Properties();
        given.setProperty(action, "true");
        for (ThrowingCallable login : List.<ThrowingCallable>of(
                () -> DriverManager.getConnection(url + ";slaveHost=127.0.0.1;" + action + "=true"),
                () -> DriverManager.getConnection(url, given))) {
            assertThatThrownBy(login)
                    .as("%s %s", url, action)
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("stays open for the replica");
        }
    }

    /** What is received has its log with it, and a copy of its own: by these both would have that of somebody else, or change what is there with each start. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "logDevice",
                "createFrom",
                "restoreFrom",
                "rollForwardRecoveryFrom",
                "newBootPassword",
                "newEncryptionKey",
                "decryptDatabase",
                "upgrade",
                "drop",
                "shutdown",
                "startMaster",
                "databaseName"
            })
    void attributesThatNoReplicaCanHaveAreRefused(String attribute) {
        DatabaseConfiguration configuration =
                configuration(directory.resolve("refused").toString(), Map.of(attribute, "true"));
        assertRefused(configuration, "no setting '" + attribute + "'");
        assertRefused(
                configuration(directory.resolve("refused") + ";" + attribute + "=true", Map.of()),
                "behind a semicolon");
        assertThat(directory.resolve("refused")).doesNotExist();
    }

    private static void assertRefused(DatabaseConfiguration configuration, String message) {
        DerbyBinding binding = new DerbyBinding();
        for (ThrowingCallable use : List.<ThrowingCallable>of(
                () -> binding.open(configuration, new MetaLevel()).close(),
                () -> binding.load(Path.of("none"), configuration),
                () -> binding.drop(configuration))) {
            assertThatThrownBy(use)
                    .isInstanceOf(ReflectionException.class)
                    .hasMessageContaining(message)
                    .hasMessageNotContaining("\n");
        }
    }

    /** It would be received to one place and opened in another. */
    @Test
    void aPathThatDerbyTakesFromElsewhereIsRefused() {
        System.setProperty("derby.system.home", directory.toString());
        try {
            assertRefused(configuration("shop", Map.of()), "give its path from the root");
        } finally {
            System.clearProperty("derby.system.home");
        }
    }

    @Test
    void whatADatabaseIsCreatedAndReadByIsGivenToIt() {
        Map<String, String> encrypted = Map.of(
                "territory",
                "de_DE",
                "collation",
                "TERRITORY_BASED",
                "dataEncryption",
                "true",
                "bootPassword",
                "longEnough");
        DatabaseConfiguration configuration =
                configuration(directory.resolve("encrypted").toString(), encrypted);
        for (int start = 0; start < 2; start++) {
            new DerbyBinding().open(configuration, new MetaLevel()).close();
        }
    }

    /** It would tell its users of a number that cannot be read. */
    @Test
    void addressThatDerbysDriverCannotReadIsNotListenedTo() throws UnknownHostException {
        byte[] loopback = new byte[16];
        loopback[15] = 1;
        InetSocketAddress address = new InetSocketAddress(InetAddress.getByAddress(loopback), 1);
        try (ReflectedDatabase database = new DerbyBinding().open(configuration("six"), new MetaLevel())) {
            assertThatThrownBy(() -> database.listen(address, null))
                    .isInstanceOf(ReflectionException.class)
                    .hasMessageContaining("no address of IPv6");
        }
    }

    /** Derby takes a value in a transaction of its own; on a backup that would be a change, and in the applier's way. */
    @Test
    void writeThatIsRefusedTakesNothingFromAGenerator() throws SQLException {
        MetaLevel meta = new MetaLevel();
        try (ReflectedDatabase database = new DerbyBinding().open(configuration("backup"), meta);
                Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)");
            statement.execute("CREATE SEQUENCE S AS INTEGER START WITH 7");
            meta.refuseChanges(new Refusal(Refusal.Cause.BACKUP, "writes belong to the primary"));
            for (String write : new String[] {"INSERT INTO T (A) VALUES (1), (2)", "VALUES NEXT VALUE FOR S"}) {
                assertThatThrownBy(() -> {
                            if (statement.execute(write)) {
                                statement.getResultSet().next();
                            }
                        })
                        .as(write)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("25006"));
            }
            meta.refuseChanges(null);
            statement.executeUpdate("INSERT INTO T (A) VALUES (3)");
            assertThat(number(statement, "SELECT ID FROM T")).isEqualTo(1);
            assertThat(number(statement, "VALUES NEXT VALUE FOR S")).isEqualTo(7);
        }
    }

    private static int number(Statement statement, String query) throws SQLException {
        try (ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getInt(1);
        }
    }
}
