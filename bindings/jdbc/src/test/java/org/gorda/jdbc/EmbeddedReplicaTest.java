package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.jgcs.LoopbackPorts;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
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
            shutdown(path);
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
            shutdown(url);
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

    /** Connects, and is told what comes of it. */
    private static Thread connecting(String url, CompletableFuture<String> told) {
        Thread thread = new Thread(() -> {
            try {
                DriverManager.getConnection(url).close();
                told.complete("connected");
            } catch (SQLException e) {
                told.complete(e.getMessage());
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Waits until a thread is in a method, or has been told something. */
    private static void awaitWithin(String method, Thread thread, CompletableFuture<String> told) {
        Awaitility.await(method)
                .atMost(Duration.ofSeconds(60))
                .until(() ->
                        told.isDone() || Arrays.toString(thread.getStackTrace()).contains(method));
    }

    private static void shutdown(String url) {
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                .hasMessageContaining("is shut down");
    }

    @Test
    void whoWaitsForAPrimaryAndIsInterruptedIsToldThat(@TempDir Path directory) throws Exception {
        List<Integer> ports = LoopbackPorts.free(2);
        String url = "jdbc:gorda:derby:" + directory.resolve("shop") + ";self=127.0.0.1:" + ports.get(0)
                + ";members=127.0.0.1:" + ports.get(0) + ",127.0.0.1:" + ports.get(1) + ";connect-timeout=60s";
        CompletableFuture<String> told = new CompletableFuture<>();
        try {
            Thread waiting = connecting(url, told);
            awaitWithin("awaitPrimary", waiting, told);
            waiting.interrupt();
            assertThat(told.get(20, TimeUnit.SECONDS)).contains("the thread was interrupted that waits");
        } finally {
            shutdown(url);
        }
    }

    /** A file of the replica's whose disk does not answer: a pipe that nobody writes to, yet. */
    private static Path standstill(Path database) throws Exception {
        Path file = Files.createDirectories(database.resolveSibling(database.getFileName() + ".gorda"))
                .resolve("continues");
        assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                .isZero();
        return file;
    }

    private static void endStandstill(Path file) throws IOException {
        new RandomAccessFile(file.toFile(), "rw").close();
        Files.delete(file);
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aStartThatStandsStillHoldsUpNoOtherDatabaseAndGivesUpWhenItIsShutDown(@TempDir Path directory)
            throws Exception {
        List<Integer> ports = LoopbackPorts.free(2);
        String url = "jdbc:gorda:derby:" + directory.resolve("shop") + ";self=127.0.0.1:" + ports.get(0);
        String other = "jdbc:gorda:derby:" + directory.resolve("other") + ";self=127.0.0.1:" + ports.get(1);
        Path file = standstill(directory.resolve("shop"));
        CompletableFuture<String> told = new CompletableFuture<>();
        try {
            awaitWithin("ForgottenGroup", connecting(url, told), told);
            CompletableFuture<String> toldOther = new CompletableFuture<>();
            connecting(other, toldOther);
            assertThat(toldOther.get(30, TimeUnit.SECONDS)).isEqualTo("connected");
            shutdown(other);
            CompletableFuture<String> toldShutdown = new CompletableFuture<>();
            awaitWithin("lock", connecting(url + ";shutdown=true", toldShutdown), toldShutdown);
            endStandstill(file);
            assertThat(told.get(30, TimeUnit.SECONDS)).contains("is being shut down");
            assertThat(toldShutdown.get(30, TimeUnit.SECONDS)).contains("is shut down");
            DriverManager.getConnection(url).close();
        } finally {
            if (Files.exists(file)) {
                endStandstill(file);
            }
            shutdown(url);
            shutdown(other);
        }
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aStartThatStandsStillDoesNotKeepTheJvmFromEnding(@TempDir Path directory) throws Exception {
        List<Integer> ports = LoopbackPorts.free(2);
        standstill(directory.resolve("shop"));
        Path printed = directory.resolve("printed");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        EmbeddedReplicaTest.class.getName(),
                        "jdbc:gorda:derby:" + directory.resolve("other") + ";self=127.0.0.1:" + ports.get(0),
                        "jdbc:gorda:derby:" + directory.resolve("shop") + ";self=127.0.0.1:" + ports.get(1))
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        try {
            Awaitility.await("it stands still")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> Files.readString(printed).contains("stands still"));
            assertThat(directory.resolve("other/db.lck")).exists();
            process.destroy();
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(printed).content().contains("is still being started");
            assertThat(directory.resolve("other/db.lck")).doesNotExist(); // closed in order
        } finally {
            process.destroyForcibly();
        }
    }

    /** Connects to one after the other, goes on where that stands still, and stays. */
    public static void main(String[] urls) throws Exception {
        for (String url : urls) {
            CompletableFuture<String> told = new CompletableFuture<>();
            awaitWithin("ForgottenGroup", connecting(url, told), told);
            System.out.println(told.getNow("stands still"));
        }
        Thread.sleep(Duration.ofMinutes(2).toMillis());
    }

    @Test
    void whoConnectsWhileAReplicaThatHasFailedStillEndsGetsANewOne(@TempDir Path directory) throws Exception {
        String url = "jdbc:gorda:" + HeldDerby.NAME + ":" + directory.resolve("shop") + ";self=127.0.0.1:"
                + LoopbackPorts.free(1).get(0);
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (A INTEGER NOT NULL PRIMARY KEY)");
            HeldDerby.fails = true;
            assertThat(HeldDerby.CLOSING.await(60, TimeUnit.SECONDS)).isTrue();
            HeldDerby.fails = false;
            CompletableFuture<String> told = new CompletableFuture<>();
            awaitWithin("awaitEnd", connecting(url, told), told);
            HeldDerby.MAY_CLOSE.countDown();
            assertThat(told.get(60, TimeUnit.SECONDS)).isEqualTo("connected");
        } finally {
            HeldDerby.MAY_CLOSE.countDown();
            shutdown(url);
        }
    }
}
