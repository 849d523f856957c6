package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.derby.authentication.UserAuthenticator;
import org.awaitility.Awaitility;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A database that is closed while clients use it. */
@Timeout(180)
class ClosingTest {

    private static final int CLIENTS = 6;
    private static final int TRANSACTIONS_FIRST = 10;

    @TempDir
    private Path directory;

    private final DerbyUnderTest derby = new DerbyUnderTest();
    private final Queue<SQLException> ended = new ConcurrentLinkedQueue<>();

    /** Whom Derby asks whether a user may come in: for one of them it takes its time. */
    public static final class Doorkeeper implements UserAuthenticator {
        private static final CountDownLatch ASKED = new CountDownLatch(1);
        private static final CountDownLatch ANSWERS = new CountDownLatch(1);

        @Override
        public boolean authenticateUser(String user, String password, String database, Properties info)
                throws SQLException {
            if ("late".equals(user)) {
                ASKED.countDown();
                try {
                    ANSWERS.await();
                } catch (InterruptedException e) {
                    throw new SQLException(e);
                }
            }
            return true;
        }
    }

    private static Properties as(String user) {
        Properties given = new Properties();
        given.setProperty("user", user);
        given.setProperty("password", "any");
        return given;
    }

    /** Who comes in meanwhile holds up the end, and others have not met it yet. */
    @Test
    void whatIsExecutedWhileItClosesIsRefusedUntilTheEnd() throws Exception {
        DatabaseConfiguration plain = derby.configuration(directory, "closes");
        derby.binding().open(plain, new MetaLevel()).close();
        String url = "jdbc:derby:" + plain.location();
        try (Connection direct = DriverManager.getConnection(url);
                CallableStatement set = direct.prepareCall("CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY(?, ?)")) {
            for (String[] property : new String[][] {
                {"derby.authentication.provider", Doorkeeper.class.getName()},
                {"derby.connection.requireAuthentication", "true"}
            }) {
                set.setString(1, property[0]);
                set.setString(2, property[1]);
                set.execute();
            }
        }
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true", as("any")))
                .isInstanceOf(SQLException.class);
        MetaLevel level = new MetaLevel();
        ReflectedDatabase database = derby.binding()
                .open(
                        new DatabaseConfiguration(
                                plain.location(),
                                Map.of("user", "any", "password", "any"),
                                plain.readGrace(),
                                plain.writeSetBytesMax(),
                                plain.spoolDirectory()),
                        level);
        Thread late = new Thread(
                () -> {
                    try (Connection connection = database.connect(as("late"))) {
                        connection.isValid(1);
                    } catch (SQLException e) {
                        ended.add(e);
                    }
                },
                "late");
        Thread closing = new Thread(database::close, "closing");
        try (Connection idle = database.connect(as("early"));
                Statement statement = idle.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER)");
            level.takeWriteSets();
            late.start();
            assertThat(Doorkeeper.ASKED.await(60, TimeUnit.SECONDS)).isTrue();
            closing.start();
            Awaitility.await("it waits for who comes in")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> closing.getState() == Thread.State.WAITING);
            assertThatThrownBy(() -> statement.execute("INSERT INTO T VALUES (1)"))
                    .isInstanceOf(SQLException.class)
                    .extracting(e -> ((SQLException) e).getSQLState())
                    .isEqualTo("57P01");
            assertThat(level.takeWriteSets()).isEmpty();
        } catch (SQLException e) {
            ended.add(e); // of closing the connection
        } finally {
            Doorkeeper.ANSWERS.countDown();
            late.join();
            closing.join();
        }
    }

    /** What those have begun, or prepared, would be seen by nobody. */
    @Test
    void itIsNotOpenedWhereOthersHaveItOpen() throws Exception {
        DatabaseConfiguration configuration = derby.configuration(directory, "shared");
        derby.binding().open(configuration, new MetaLevel()).close();
        try (Connection direct = DriverManager.getConnection("jdbc:derby:" + configuration.location())) {
            direct.createStatement().execute("CREATE TABLE T (ID INTEGER)");
            assertThatThrownBy(() -> derby.binding().open(configuration, new MetaLevel()))
                    .isInstanceOf(ReflectionException.class)
                    .hasMessageContaining("open by connections that were not made by its replica");
            direct.createStatement().execute("INSERT INTO T VALUES (1)");
        }
        ReflectedDatabase opened = derby.binding().open(configuration, new MetaLevel());
        try (Connection connection = opened.connect(new Properties());
                ResultSet count = connection.createStatement().executeQuery("SELECT COUNT(*) FROM T")) {
            assertThat(count.next()).isTrue();
            assertThat(count.getInt(1)).isEqualTo(1);
        }
        opened.close();
    }

    private void write(ReflectedDatabase database, int client, CountDownLatch begun) {
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (int i = 0; ; i++) {
                statement.executeUpdate("INSERT INTO T VALUES (" + client + ", " + i + ", 0)");
                statement.executeUpdate("UPDATE T SET N = N + 1 WHERE CLIENT = " + client);
                statement
                        .executeQuery("SELECT SUM(N) FROM T WHERE CLIENT = " + client)
                        .close();
                statement.executeUpdate("DELETE FROM T WHERE CLIENT = " + client + " AND ID < " + (i - 20));
                connection.commit();
                if (i == TRANSACTIONS_FIRST) {
                    begun.countDown();
                }
            }
        } catch (SQLException e) {
            ended.add(e); // as was to be, once it is closed
        }
    }

    /** Derby's own shutdown may wait for ever for a page that a statement had latched which it has ended itself. */
    @RepeatedTest(8)
    void closingEndsWhateverClientsDo() throws Exception {
        ReflectedDatabase database = derby.binding().open(derby.configuration(directory, "closed"), new MetaLevel());
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE T (CLIENT INTEGER NOT NULL, ID INTEGER NOT NULL, N INTEGER, PRIMARY KEY (CLIENT, ID))");
        }
        CountDownLatch begun = new CountDownLatch(CLIENTS);
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            int client = i;
            Thread thread = new Thread(() -> write(database, client, begun), "client " + i);
            clients.add(thread);
            thread.start();
        }
        assertThat(begun.await(60, TimeUnit.SECONDS))
                .as(() -> "clients ended by " + ended)
                .isTrue();
        long start = System.nanoTime();
        database.close();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
        for (Thread client : clients) {
            client.join(TimeUnit.SECONDS.toMillis(20));
            assertThat(client.isAlive()).isFalse();
        }
        derby.binding()
                .open(derby.configuration(directory, "closed"), new MetaLevel())
                .close();
    }
}
