package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.jgcs.LoopbackPorts;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A replica that is started by the first connection of this JVM. */
@Timeout(120)
class EmbeddedReplicaTest {

    private static void assertRefused(String url, String message) {
        assertThatThrownBy(() -> DriverManager.getConnection(url))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08001"))
                .hasMessageContaining(message);
    }

    /** Who asks for more durability than there is must not believe to have it. */
    @Test
    void laterConnectionsGetWhatTheirUrlSaysOrNone(@TempDir Path directory) throws SQLException {
        String path = "jdbc:gorda:derby:" + directory.resolve("shop");
        String first = path + ";self=127.0.0.1:" + LoopbackPorts.free(1).get(0) + ";durability=group";
        try (Connection one = DriverManager.getConnection(first);
                Connection same = DriverManager.getConnection(first + ";user=app;retry=3");
                Connection silent = DriverManager.getConnection(path)) {
            assertThat(same.isValid(1) && silent.isValid(1) && one.isValid(1)).isTrue();
            assertRefused(
                    path + ";durability=group-disk",
                    "was started with durability=group, not with durability=group-disk");
            assertRefused(path + ";group=other", "was started without group=other");
        } finally {
            assertThatThrownBy(() -> DriverManager.getConnection(path + ";shutdown=true"))
                    .hasMessageContaining("is shut down");
        }
    }

    /** What is received is put where Derby opens it, and the replica's directory stands beside it. */
    @Test
    void aRelativePathIsFromDerbysHome(@TempDir Path directory) throws SQLException {
        String home = System.getProperty("derby.system.home");
        System.setProperty("derby.system.home", directory.toString());
        String url = "jdbc:gorda:derby:shop";
        try (Connection connection = DriverManager.getConnection(
                        url + ";self=127.0.0.1:" + LoopbackPorts.free(1).get(0));
                Connection same = DriverManager.getConnection("jdbc:gorda:derby:" + directory.resolve("shop"))) {
            assertThat(connection.isValid(1) && same.isValid(1)).isTrue();
            assertThat(directory.resolve("shop")).isDirectory();
            assertThat(directory.resolve("shop.gorda")).isDirectory();
        } finally {
            assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                    .hasMessageContaining("is shut down");
            if (home == null) {
                System.clearProperty("derby.system.home");
            } else {
                System.setProperty("derby.system.home", home);
            }
        }
    }

    /** What is received has its log with it. */
    @Test
    void aLogElsewhereIsRefused(@TempDir Path directory) throws SQLException {
        assertRefused(
                "jdbc:gorda:derby:" + directory.resolve("shop") + ";self=127.0.0.1:"
                        + LoopbackPorts.free(1).get(0) + ";logDevice=" + directory.resolve("log"),
                "has no setting 'logDevice'");
        assertThat(directory.resolve("shop")).doesNotExist();
    }

    @Test
    void whoWaitsForAPrimaryAndIsInterruptedIsToldThat(@TempDir Path directory) throws Exception {
        List<Integer> ports = LoopbackPorts.free(2);
        String url = "jdbc:gorda:derby:" + directory.resolve("shop") + ";self=127.0.0.1:" + ports.get(0)
                + ";members=127.0.0.1:" + ports.get(0) + ",127.0.0.1:" + ports.get(1) + ";connect-timeout=60s";
        CompletableFuture<SQLException> told = new CompletableFuture<>();
        Thread waiting = new Thread(() -> {
            try {
                DriverManager.getConnection(url).close();
                told.complete(new SQLException("there was a primary"));
            } catch (SQLException e) {
                told.complete(e);
            }
        });
        try {
            waiting.start();
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> told.isDone()
                            || Arrays.toString(waiting.getStackTrace()).contains("awaitPrimary"));
            waiting.interrupt();
            assertThat(told.get(20, TimeUnit.SECONDS).getMessage()).contains("the thread was interrupted that waits");
        } finally {
            assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                    .hasMessageContaining("is shut down");
        }
    }
}
