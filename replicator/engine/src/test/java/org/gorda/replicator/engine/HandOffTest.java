package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How often a commit is handed from one thread to another, which costs more than anything else of it. */
@Timeout(120)
class HandOffTest {

    private static final int WARM_UP = 300;
    private static final int ROUNDS = 5;
    private static final int COMMITS = 400;

    @TempDir
    Path directory;

    /**
     * The client's thread encodes and sends, the thread that reads the network finds that a majority has it and wakes the delivery
     * (one), which commits and wakes the client (two). A thread that waits is one that must be woken: so the waits of all the
     * primary's threads are counted. That of the thread that reads the network is not among them: a socket wakes it, once for the
     * answer that makes the majority and once for the one after.
     */
    @Test
    void commitIsHandedOnTwiceBetweenThePrimarysThreads() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.electionTimeout(Duration.ofSeconds(3)))) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            int primary = cluster.primary();
            Thread client = Thread.currentThread();
            try (Connection connection = cluster.connect(primary);
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?)")) {
                insert(insert, 0, WARM_UP);
                // A busy machine adds waits for locks and those of threads that look by the clock: the best round
                // tells.
                Map<String, Long> least = Map.of();
                for (int round = 0; round < ROUNDS; round++) {
                    Map<String, Long> before = waits(client, cluster.id(primary).toString());
                    insert(insert, WARM_UP + round * COMMITS, COMMITS);
                    Map<String, Long> after = waits(client, cluster.id(primary).toString());
                    after.replaceAll((thread, count) -> count - before.getOrDefault(thread, 0L));
                    least = least.isEmpty() || sum(after) < sum(least) ? after : least;
                }
                assertThat((double) sum(least) / COMMITS)
                        .as("waits per commit, of %s", least)
                        .isBetween(1.0, 2.5);
            }
        }
    }

    private static void insert(PreparedStatement insert, int from, int count) throws SQLException {
        for (int i = from; i < from + count; i++) {
            insert.setInt(1, i);
            insert.executeUpdate();
        }
    }

    private static long sum(Map<String, Long> waits) {
        return waits.values().stream().mapToLong(Long::longValue).sum();
    }

    private static Map<String, Long> waits(Thread client, String member) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        Map<String, Long> waits = new TreeMap<>();
        for (ThreadInfo info : threads.getThreadInfo(threads.getAllThreadIds())) {
            if (info != null
                    && (info.getThreadId() == client.getId()
                            || info.getThreadName().contains(member))) {
                waits.merge(info.getThreadName(), info.getWaitedCount() + info.getBlockedCount(), Long::sum);
            }
        }
        return waits;
    }
}
