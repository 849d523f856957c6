package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.replicator.node.NodeClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Large objects on replicas with heaps that do not hold them. {@code -Dgorda.lobs=20 -Dgorda.lob-megabytes=50} is the proof in full;
 * by default it is a smaller one, for time.
 */
@Isolated
final class LargeObjectsTest {

    private static final int LOBS = Integer.getInteger("gorda.lobs", 8);
    private static final long BYTES = Long.getLong("gorda.lob-megabytes", 4) << 20;
    private static final int CLIENTS = 4;
    private static final String LOCK_TIMEOUT = "40XL1";
    private static final Duration WAIT = Duration.ofMinutes(4);

    @TempDir
    private Path directory;

    private ReplicaGroup start() {
        ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("commit-timeout", "4m"), "128m");
        group.start();
        group.awaitOnline(WAIT, line -> {});
        return group;
    }

    private static void execute(ReplicaGroup group, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static long count(ReplicaGroup group, String query) throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static InputStream noise(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        return new InputStream() {
            private long left = BYTES;

            @Override
            public int read() {
                return left-- > 0 ? random.nextInt() & 0xff : -1;
            }

            @Override
            public int read(byte[] target, int offset, int length) {
                if (left <= 0) {
                    return -1;
                }
                byte[] some = new byte[(int) Math.min(left, length)];
                random.nextBytes(some);
                System.arraycopy(some, 0, target, offset, some.length);
                left -= some.length;
                return some.length;
            }
        };
    }

    /** Inserts one, again and again until it is there, whatever happens to the replicas; nothing else may be in its way. */
    private static void insert(ReplicaGroup group, int id) throws SQLException {
        long end = System.nanoTime() + WAIT.toNanos();
        while (true) {
            try (Connection connection = DriverManager.getConnection(group.url());
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO lobs VALUES (?, ?)")) {
                insert.setInt(1, id);
                insert.setBinaryStream(2, noise(id), BYTES);
                insert.executeUpdate();
                return;
            } catch (SQLException e) {
                if (System.nanoTime() > end || e.getSQLState().equals(LOCK_TIMEOUT)) {
                    throw e;
                }
                System.out.println("lob " + id + ": " + e.getSQLState() + " " + e.getMessage());
                if (isThere(group, id)) {
                    return;
                }
            }
        }
    }

    private static boolean isThere(ReplicaGroup group, int id) {
        try {
            return count(group, "SELECT COUNT(*) FROM lobs WHERE id = " + id) > 0;
        } catch (SQLException e) {
            return false;
        }
    }

    private static List<Future<?>> insertAll(ReplicaGroup group, ExecutorService clients) {
        List<Future<?>> all = new ArrayList<>();
        for (int client = 0; client < CLIENTS; client++) {
            int first = client;
            all.add(clients.submit(() -> {
                for (int id = first; id < LOBS; id += CLIENTS) {
                    insert(group, id);
                }
                return null;
            }));
        }
        return all;
    }

    /** Until stopped, commits small transactions one after the other; nine of ten took at most so many milliseconds. */
    private static long smallOnes(ReplicaGroup group, AtomicBoolean stopped) {
        List<Long> nanos = new ArrayList<>();
        int failed = 0;
        while (!stopped.get()) {
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                while (!stopped.get()) {
                    long begin = System.nanoTime();
                    statement.executeUpdate("UPDATE small SET n = n + 1 WHERE id = 1");
                    nanos.add(System.nanoTime() - begin);
                }
            } catch (SQLException e) {
                // On a starved machine the primary may change.
                failed++;
            }
        }
        nanos.sort(null);
        long millis = TimeUnit.NANOSECONDS.toMillis(nanos.get(nanos.size() * 9 / 10));
        System.out.println("large objects: " + nanos.size() + " small transactions meanwhile, and " + failed
                + " that failed; nine of ten took at most " + millis + " ms, the longest "
                + TimeUnit.NANOSECONDS.toMillis(nanos.get(nanos.size() - 1)) + " ms");
        return millis;
    }

    private static void assertIdentical(ReplicaGroup group) {
        NodeClient.Comparison found = group.verify(WAIT);
        assertThat(found.identical()).as(found.toString()).isTrue();
    }

    private static void assertNothingIsLeftBehind(ReplicaGroup group) throws IOException {
        for (ReplicaProcess replica : group.replicas()) {
            Path spool = replica.directory().resolve("bank.gorda").resolve("spool");
            if (Files.exists(spool)) {
                try (Stream<Path> files = Files.list(spool)) {
                    assertThat(files).as(replica.name()).isEmpty();
                }
            }
        }
    }

    @Test
    void fourClientsWriteThemAndSmallTransactionsGoOn() throws Exception {
        ExecutorService clients = Executors.newCachedThreadPool();
        AtomicBoolean stopped = new AtomicBoolean();
        try (ReplicaGroup group = start()) {
            execute(
                    group,
                    "CREATE TABLE lobs (id INTEGER PRIMARY KEY, content BLOB(64M))",
                    "CREATE TABLE small (id INTEGER PRIMARY KEY, n INTEGER)",
                    "INSERT INTO small VALUES (1, 0)");
            long begin = System.nanoTime();
            Future<Long> small = clients.submit(() -> smallOnes(group, stopped));
            for (Future<?> each : insertAll(group, clients)) {
                each.get(WAIT.multipliedBy(5).toMinutes(), TimeUnit.MINUTES);
            }
            stopped.set(true);
            System.out.println("large objects: " + LOBS + " of " + (BYTES >> 20) + " MB in "
                    + Duration.ofNanos(System.nanoTime() - begin).toSeconds() + " s");
            assertThat(small.get(1, TimeUnit.MINUTES))
                    .as("milliseconds that most small transactions took")
                    .isLessThan(2_000);
            group.awaitOnline(WAIT, line -> {});
            assertThat(count(group, "SELECT COUNT(*) FROM lobs")).isEqualTo(LOBS);
            assertThat(count(group, "SELECT SUM(CAST(LENGTH(content) AS BIGINT)) FROM lobs"))
                    .isEqualTo(LOBS * BYTES);
            assertIdentical(group);
            assertNothingIsLeftBehind(group);
        } finally {
            stopped.set(true);
            clients.shutdownNow();
        }
    }

    @Test
    void aPrimaryThatIsKilledWhileItSendsThemLeavesNothingInHalf() throws Exception {
        ExecutorService clients = Executors.newCachedThreadPool();
        try (ReplicaGroup group = start()) {
            execute(group, "CREATE TABLE lobs (id INTEGER PRIMARY KEY, content BLOB(64M))");
            List<Future<?>> writers = insertAll(group, clients);
            Awaitility.await("some are written")
                    .atMost(WAIT)
                    .until(() -> count(group, "SELECT COUNT(*) FROM lobs") > 0);
            ReplicaProcess primary = group.primary().orElseThrow();
            primary.kill();
            primary.start();
            for (Future<?> each : writers) {
                each.get(WAIT.multipliedBy(5).toMinutes(), TimeUnit.MINUTES);
            }
            group.awaitOnline(WAIT, line -> {});
            assertThat(count(group, "SELECT COUNT(*) FROM lobs")).isEqualTo(LOBS);
            assertThat(count(group, "SELECT SUM(CAST(LENGTH(content) AS BIGINT)) FROM lobs"))
                    .isEqualTo(LOBS * BYTES);
            assertIdentical(group);
            assertNothingIsLeftBehind(group);
        } finally {
            clients.shutdownNow();
        }
    }
}
