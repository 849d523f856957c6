package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.replicator.node.NodeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * How long clients wait when the primary is killed or frozen. {@code -Dgorda.failovers=10} repeats each so often and prints the
 * medians. Nothing else of this module runs meanwhile.
 */
@Isolated
final class FailoverTest {

    private static final int TIMES = Integer.getInteger("gorda.failovers", 3);
    private static final Duration WAIT = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private static void start(ReplicaGroup group) {
        group.start();
        group.awaitOnline(WAIT, line -> {});
    }

    /** Runs a load, has the fault happen to the primary in the middle, and tells how long there was no success. */
    private static long gapMillis(ReplicaGroup group, ReplicaProcess primary, Consumer<ReplicaProcess> fault)
            throws Exception {
        LoadTest load = LoadTest.of(TpcB.of(1, 10_000))
                .target(group.url())
                .clients(4)
                .duration(WAIT)
                .progress(System.out::println);
        BackgroundLoad running = new BackgroundLoad(load);
        running.awaitMore(100);
        long at = System.nanoTime();
        fault.accept(primary);
        running.awaitMore(50);
        TimeUnit.NANOSECONDS.sleep(Math.max(0, at + TimeUnit.SECONDS.toNanos(3) - System.nanoTime()));
        assertThat(running.isOver()).isFalse();
        running.end().requireConsistent();
        LoadTest.Silence silence = load.longestSilence(at, Duration.ofSeconds(2));
        return silence == null ? 0 : silence.millis();
    }

    private static long median(String what, List<Long> millis) {
        long median = millis.stream().sorted().toList().get(millis.size() / 2);
        System.out.println("failover, primary " + what + ": median " + median + " ms of " + millis);
        return median;
    }

    private static ReplicaProcess primary(ReplicaGroup group) {
        Awaitility.await("a primary").atMost(WAIT).until(() -> group.primary().isPresent());
        return group.primary().orElseThrow();
    }

    private static Connection own(ReplicaGroup group, ReplicaProcess replica) throws SQLException {
        return DriverManager.getConnection(group.status(replica).orElseThrow().clients());
    }

    @Test
    void clientsGoOnWithinHalfASecondAfterThePrimaryIsKilled() throws Exception {
        List<Long> gaps = new ArrayList<>();
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            start(group);
            for (int i = 0; i < TIMES; i++) {
                ReplicaProcess primary = primary(group);
                gaps.add(gapMillis(group, primary, ReplicaProcess::kill));
                primary.start();
                group.awaitOnline(WAIT, line -> {});
            }
            assertThat(group.verify(WAIT).identical()).isTrue();
        }
        assertThat(median("killed", gaps)).isLessThan(500);
    }

    @Test
    void clientsGoOnWithinThreeSecondsAfterThePrimaryIsFrozenAndTheWokenOneCommitsAndShowsNothingOld()
            throws Exception {
        List<Long> gaps = new ArrayList<>();
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("reads", "strong"))) {
            start(group);
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE marks (id INTEGER PRIMARY KEY, note VARCHAR(20))");
                statement.execute("INSERT INTO marks VALUES (0, 'old')");
            }
            for (int i = 1; i <= TIMES; i++) {
                freezeAndWake(group, i, gaps);
            }
            assertThat(group.verify(WAIT).identical()).isTrue();
        }
        assertThat(median("frozen", gaps)).isLessThan(3000);
    }

    @Test
    void whereEveryReplicaTakesWritesTheClientsOfAFrozenOneGoOnAtTheOthers() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("protocol", "certification"))) {
            start(group);
            LoadTest load = LoadTest.of(TpcB.of(2, 10_000))
                    .target(group.url())
                    .clients(6)
                    .duration(WAIT);
            BackgroundLoad running = new BackgroundLoad(load);
            running.awaitMore(100);
            ReplicaProcess frozen = primary(group);
            frozen.freeze();
            long before = load.acknowledged().count();
            TimeUnit.SECONDS.sleep(6); // twice what it takes to be left
            assertThat(load.acknowledged().count()).as("committed meanwhile").isGreaterThan(before + 50);
            LoadReport whole = running.end();
            frozen.thaw();
            assertThat(whole.abortedInAll()).as("what the frozen one was doing").isPositive();
            assertThat(whole.unknown()).isZero();
            NothingLost.anywhere(group, load.acknowledged(), WAIT);
        }
    }

    private static void freezeAndWake(ReplicaGroup group, int number, List<Long> gaps) throws Exception {
        ReplicaProcess primary = primary(group);
        NodeStatus before = group.status(primary).orElseThrow();
        Connection writer = own(group, primary);
        Connection reader = own(group, primary);
        try {
            writer.setAutoCommit(false);
            writer.createStatement().executeUpdate("INSERT INTO marks VALUES (" + number + ", 'frozen')");
            // Its client holds the transaction open: the load is on other tables.
            gaps.add(gapMillis(group, primary, ReplicaProcess::freeze));

            try (Connection connection = DriverManager.getConnection(group.url())) {
                connection.createStatement().executeUpdate("UPDATE marks SET note = 'new " + number + "' WHERE id = 0");
            }
            // Both wait in the frozen one's sockets and are the first that it works off.
            CompletableFuture<String> commit = CompletableFuture.supplyAsync(() -> commit(writer));
            CompletableFuture<String> read = CompletableFuture.supplyAsync(() -> note(reader));
            assertThat(within(commit, Duration.ofMillis(200))).isEqualTo("no answer");
            primary.thaw();
            assertThat(within(commit, WAIT)).as("the woken one's commit").startsWith("refused");
            assertThat(within(read, WAIT))
                    .as("what the woken one reads")
                    .isNotEqualTo("old")
                    .isNotEqualTo("new " + (number - 1));
        } finally {
            primary.thaw(); // or Derby's driver waits for it for ever
            abort(writer);
            abort(reader);
        }
        group.awaitOnline(WAIT, line -> {});
        Awaitility.await("the woken one knows of the new primary")
                .atMost(WAIT)
                .until(() -> group.status(primary)
                        .filter(after -> after.epoch() > before.epoch())
                        .isPresent());
        for (ReplicaProcess replica : group.replicas()) {
            try (Connection connection = own(group, replica);
                    ResultSet row = connection.createStatement().executeQuery("SELECT COUNT(*) FROM marks")) {
                row.next();
                assertThat(row.getInt(1)).as("marks on " + replica.name()).isEqualTo(1);
            }
        }
    }

    /** Not closed: Derby's driver refuses that while it believes in a transaction. */
    private static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException e) {
            // Derby's driver, too, when the other end has gone or another thread still waits in it.
            System.out.println("the woken one's client: " + e);
        }
    }

    private static String within(CompletableFuture<String> answer, Duration wait)
            throws InterruptedException, ExecutionException {
        try {
            return answer.get(wait.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return "no answer";
        }
    }

    private static String commit(Connection connection) {
        try {
            connection.commit();
            return "committed";
        } catch (SQLException e) {
            return "refused " + e.getSQLState();
        }
    }

    private static String note(Connection connection) {
        try (ResultSet row = connection.createStatement().executeQuery("SELECT note FROM marks WHERE id = 0")) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            return "refused " + e.getSQLState();
        }
    }
}
