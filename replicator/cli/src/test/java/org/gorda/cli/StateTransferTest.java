package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.gapi.FileTree;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeStatus;
import org.gorda.replicator.node.ReplicaContent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A replica that lost everything receives a database from the others, which go on. {@code -Dgorda.database-megabytes=1024} is the proof in
 * full; by default it is a smaller one, for time, that says nothing of speed.
 */
@Isolated
final class StateTransferTest {

    private static final int MEGABYTES = Integer.getInteger("gorda.database-megabytes", 12);
    private static final boolean IN_FULL = MEGABYTES >= 1024;
    private static final String RATE = IN_FULL ? "64MB" : "3MB";
    private static final Duration WAIT = Duration.ofMinutes(IN_FULL ? 10 : 2);
    private static final Duration MEASURED_BEFORE = Duration.ofSeconds(IN_FULL ? 15 : 3);
    private static final int ROW_BYTES = 256 << 10;
    private static final Pattern PROGRESS =
            Pattern.compile("receives the database from (\\S+): ([\\d,]+) of ([\\d,]+) MB, .* s left");

    @TempDir
    private Path directory;

    private ReplicaGroup start() throws SQLException {
        ReplicaGroup group =
                ReplicaGroup.of(3, directory, Map.of("log-retain-bytes", "2MB", "transfer-bytes-per-second", RATE));
        group.start();
        group.awaitOnline(WAIT, line -> {});
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE ballast (id INTEGER NOT NULL PRIMARY KEY, b BLOB(1M))");
            fill(connection, 0, (int) ((long) MEGABYTES * (1 << 20) / ROW_BYTES));
        }
        group.awaitOnline(WAIT, line -> {});
        return group;
    }

    private static void fill(Connection connection, int from, int to) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO ballast VALUES (?, ?)")) {
            SplittableRandom random = new SplittableRandom(from);
            byte[] bytes = new byte[ROW_BYTES];
            for (int i = from; i < to; i++) {
                random.nextBytes(bytes);
                insert.setInt(1, i);
                insert.setBytes(2, bytes);
                insert.executeUpdate();
            }
        }
    }

    private static LoadTest load(ReplicaGroup group) {
        return LoadTest.of(TpcB.of(1, 10_000)).target(group.url()).clients(4).duration(WAIT);
    }

    private static BackgroundLoad run(LoadTest load) {
        BackgroundLoad running = new BackgroundLoad(load);
        running.awaitMore(100);
        return running;
    }

    private static NodeStatus status(ReplicaGroup group, ReplicaProcess replica) {
        return Awaitility.await(replica.name() + " answers")
                .atMost(WAIT)
                .until(() -> group.status(replica), java.util.Optional::isPresent)
                .orElseThrow();
    }

    /** Waits until a replica has received a part of its database; returns who gives it. */
    private static ReplicaProcess awaitReceived(ReplicaGroup group, ReplicaProcess joiner, double part) {
        AtomicReference<NodeStatus> seen = new AtomicReference<>();
        String donor;
        try {
            donor = Awaitility.await(joiner.name() + " receives")
                    .atMost(WAIT)
                    .pollInterval(Duration.ofMillis(50))
                    .until(
                            () -> {
                                NodeStatus status = status(group, joiner);
                                seen.set(status);
                                Matcher progress = PROGRESS.matcher(status.explanation());
                                return progress.matches()
                                                && number(progress.group(2)) >= part * number(progress.group(3))
                                        ? progress.group(1)
                                        : "";
                            },
                            found -> !found.isEmpty());
        } catch (ConditionTimeoutException e) {
            throw new AssertionError(
                    joiner.name() + " does not receive a database but says: " + seen + "\nand wrote:\n"
                            + joiner.output(),
                    e);
        }
        return group.replicas().stream()
                .filter(replica -> status(group, replica).self().equals(donor))
                .findFirst()
                .orElseThrow();
    }

    private static long number(String text) {
        return Long.parseLong(text.replace(",", ""));
    }

    /** Its database, its log: everything, and the others' logs do not hold it any more. */
    private static ReplicaProcess loseABackup(ReplicaGroup group) throws Exception {
        ReplicaProcess lost = group.backup().orElseThrow();
        lost.kill();
        FileTree.delete(lost.directory());
        Awaitility.await("the others' logs are cut").atMost(WAIT).until(() -> logsBeginAfter(group, lost, 1));
        return lost;
    }

    /** Whether the logs of all but one replica begin after a place of the order: then they can not bring it there. */
    private static boolean logsBeginAfter(ReplicaGroup group, ReplicaProcess except, long index) throws IOException {
        for (ReplicaProcess replica : group.replicas()) {
            if (replica != except && logBegins(replica) <= index) {
                return false;
            }
        }
        return true;
    }

    /** The first place of the order that a replica's log holds. */
    static long logBegins(ReplicaProcess replica) throws IOException {
        try (Stream<Path> files =
                Files.list(replica.directory().resolve("bank.gorda").resolve("log"))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".log"))
                    .mapToLong(name -> Long.parseLong(name.substring(0, name.length() - ".log".length())))
                    .min()
                    .orElse(0);
        }
    }

    @Test
    void whoLostEverythingReceivesItWhileTheLoadGoesOn() throws Exception {
        try (ReplicaGroup group = start()) {
            ReplicaProcess joiner = loseABackup(group);
            LoadTest load = load(group);
            BackgroundLoad running = run(load);
            long countBefore = load.acknowledged().count();
            long before = System.nanoTime();
            TimeUnit.NANOSECONDS.sleep(MEASURED_BEFORE.toNanos());
            double rateBefore = rate(load, countBefore, before);

            long begin = System.nanoTime();
            joiner.start();
            double lowest = Double.MAX_VALUE;
            StringBuilder seconds = new StringBuilder();
            while (!status(group, joiner).state().equals("ONLINE")) {
                long count = load.acknowledged().count();
                long since = System.nanoTime();
                TimeUnit.SECONDS.sleep(1);
                if (!running.isOver()) {
                    double rate = rate(load, count, since);
                    lowest = Math.min(lowest, rate);
                    seconds.append(String.format(
                            "%n    %3.0f %%  %s",
                            100 * rate / rateBefore, status(group, joiner).explanation()));
                }
                assertThat(System.nanoTime() - begin).isLessThan(WAIT.toNanos());
            }
            Duration took = Duration.ofNanos(System.nanoTime() - begin);
            running.end().requireConsistent();
            LoadTest.Silence silence = load.longestSilence(begin, took);
            long stall = silence == null ? 0 : silence.millis();
            System.out.printf(
                    "state transfer of %d MB in %.1f s: %.0f committed/s before, at least %.0f/s (%.0f %%) in each second of it, longest stall %d ms%n",
                    MEGABYTES, took.toMillis() / 1e3, rateBefore, lowest, 100 * lowest / rateBefore, stall);
            NothingLost.anywhere(group, load.acknowledged(), WAIT);
            if (IN_FULL) {
                System.out.println("in each second:" + seconds);
                assertThat(lowest / rateBefore).isGreaterThanOrEqualTo(0.7);
                assertThat(stall).isLessThanOrEqualTo(500);
            }
        }
    }

    private static double rate(LoadTest load, long countBefore, long sinceNanos) {
        return (load.acknowledged().count() - countBefore) / ((System.nanoTime() - sinceNanos) / 1e9);
    }

    /** How many copies were made to be given. */
    private static int copies(ReplicaGroup group) {
        return group.replicas().stream()
                .mapToInt(replica -> replica.output().split("copies its database for", -1).length - 1)
                .sum();
    }

    @Test
    void theDeathsOfTheJoinerAndOfTheDonorInTheMiddleAreSurvived() throws Exception {
        try (ReplicaGroup group = start()) {
            ReplicaProcess joiner = loseABackup(group);
            LoadTest load = load(group);
            BackgroundLoad running = run(load);
            joiner.start();
            awaitReceived(group, joiner, 0.3);
            joiner.kill();
            joiner.start();
            ReplicaProcess donor = awaitReceived(group, joiner, 0.5);
            assertThat(copies(group)).as("it goes on with what it had").isEqualTo(1);
            donor.kill();
            donor.start();
            Awaitility.await("all are back")
                    .atMost(WAIT)
                    .until(() -> group.replicas().stream()
                            .allMatch(replica -> group.status(replica)
                                    .filter(status -> status.state().equals("ONLINE"))
                                    .isPresent()));
            running.end().requireConsistent();
            NothingLost.anywhere(group, load.acknowledged(), WAIT);
        }
    }

    @Test
    void aReplicaIsAddedAndADeadOneRemovedWhileTheGroupWorks() throws Exception {
        try (ReplicaGroup group = start()) {
            String service = group.primary().orElseThrow().service();
            ReplicaProcess dead = group.backup().orElseThrow();
            String removed = group.status(dead).orElseThrow().self();
            LoadTest load = load(group);
            BackgroundLoad running = run(load);
            ReplicaProcess another = group.another();
            another.start();
            try {
                String added = status(group, another).self();
                GordaRun add = GordaRun.in(directory, "member", "add", added, "--at", service);
                assertThat(add.status()).as(add.err()).isZero();
                assertThat(add.out()).contains(added);
                Awaitility.await("it is there, and counts").atMost(WAIT).until(() -> {
                    NodeStatus status = status(group, another);
                    return status.state().equals("ONLINE") && status.members().contains(added);
                });

                dead.kill();
                GordaRun remove = GordaRun.in(directory, "member", "remove", removed, "--at", service, "--json");
                assertThat(remove.status()).as(remove.err()).isZero();
                assertThat(remove.lastLine().getAsJsonArray("members").toString())
                        .contains(added)
                        .doesNotContain(removed);
                GordaRun again = GordaRun.in(directory, "member", "remove", removed, "--at", service);
                assertThat(again.status()).isEqualTo(1);
                assertThat(again.err()).contains(removed + " does not belong to the group");

                running.end().requireConsistent();
                NodeClient.Comparison comparison = group.verify(WAIT);
                assertThat(comparison.identical()).isTrue();
                assertThat(comparison.replicas())
                        .extracting(ReplicaContent::replica)
                        .contains(added)
                        .doesNotContain(removed);
                NothingLost.on(status(group, another).clients(), another.name(), load.acknowledged());

                GordaRun silent = GordaRun.in(directory, "member", "add", removed, "--at", service);
                assertThat(silent.status()).as(silent.err()).isZero();
                assertThat(silent.out())
                        .contains(removed + " receives what it lacks, and counts, once a replica runs there")
                        .contains("if that address is a mistake: gorda member remove " + removed + " --at " + service);

                GordaRun.in(directory, "member", "remove", added, "--at", service);
                GordaRun old = GordaRun.in(directory, "status", "--at", another.service());
                assertThat(old.status()).isEqualTo(1);
                assertThat(old.out()).contains("this member was removed from the group");
            } finally {
                another.stop();
            }
        }
    }

    @Test
    void whoStoodStillForTooLongReceivesTheDatabaseInTheSameProcess() throws Exception {
        try (ReplicaGroup group = start()) {
            ReplicaProcess still = group.backup().orElseThrow();
            ReplicaProcess primary = group.primary().orElseThrow();
            String clients = status(group, still).clients();
            still.freeze();
            int rows = 32; // more bytes than may be on their way to it: whoever wakes up receives those
            long began = System.nanoTime();
            try (Connection connection = DriverManager.getConnection(group.url())) {
                fill(connection, 1_000_000, 1_000_000 + rows);
                long onItsWay = status(group, primary).ordered();
                while (!logsBeginAfter(group, still, onItsWay)) {
                    assertThat(System.nanoTime() - began)
                            .as("the others cut their logs")
                            .isLessThan(WAIT.toNanos());
                    fill(connection, 1_000_000 + rows, 1_000_000 + rows + 4);
                    rows += 4;
                    TimeUnit.MILLISECONDS.sleep(500); // they do so now and then
                }
            } finally {
                still.thaw();
            }
            awaitReceived(group, still, 0);
            group.awaitOnline(WAIT, line -> {});
            assertThat(still.isAlive()).isTrue();
            assertThat(status(group, still).clients()).isEqualTo(clients);
            try (Connection connection = DriverManager.getConnection(clients);
                    Statement statement = connection.createStatement();
                    ResultSet count = statement.executeQuery("SELECT COUNT(*) FROM ballast WHERE id >= 1000000")) {
                assertThat(count.next()).isTrue();
                assertThat(count.getInt(1)).isEqualTo(rows);
            }
            assertThat(group.verify(WAIT).identical()).isTrue();
        }
    }
}
