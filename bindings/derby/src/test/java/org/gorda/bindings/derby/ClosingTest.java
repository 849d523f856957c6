package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.RepeatedTest;
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
