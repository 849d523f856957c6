package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** What a replica does whose database, or disk, stands still or fails in a way that nobody expects. */
@Isolated
@Timeout(180)
class FailingDatabaseTest {

    @TempDir
    private Path directory;

    private final CountDownLatch goesOn = new CountDownLatch(1);

    @AfterEach
    void databasesAnswer() {
        goesOn.countDown();
        FailingDerby.ON_CALL.set(FailingDerby.NOTHING);
    }

    private Cluster cluster(Consumer<Replica.Builder> settings) throws Exception {
        Cluster cluster = new Cluster(directory, 3, FailingDerby.NAME, settings);
        cluster.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY, B BLOB)");
        cluster.awaitEverywhere();
        return cluster;
    }

    /** Has a replica's database do something else before it does what it is called for. */
    private static void before(String call, int replica, Runnable action) {
        FailingDerby.ON_CALL.set((location, called) -> {
            if (called.equals(call) && location.endsWith("replica" + replica)) {
                action.run();
            }
        });
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void whoWaitsForItsDiskBecomesThePrimaryAllTheSame() throws Exception {
        try (Cluster cluster = cluster(builder -> {})) {
            int next = cluster.backup();
            CountDownLatch waits = new CountDownLatch(1);
            before("flush", next, () -> {
                waits.countDown();
                await(goesOn);
            });
            cluster.execute("INSERT INTO T VALUES (1, NULL)");
            waits.await();
            cluster.lead(next);
            Awaitility.await("it is the primary")
                    .atMost(Duration.ofSeconds(10))
                    .until(() -> cluster.replica(next).status().executesHere());
            goesOn.countDown();
            cluster.execute("INSERT INTO T VALUES (2, NULL)");
            cluster.assertIdentical();
        }
    }

    @Test
    void anErrorStopsTheReplica() throws Exception {
        try (Cluster cluster = cluster(builder -> {})) {
            int fails = cluster.backup();
            before("flush", fails, () -> {
                throw new AssertionError("planted");
            });
            cluster.execute("INSERT INTO T VALUES (1, NULL)");
            Awaitility.await("it stops")
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> cluster.replica(fails).status().state() == ReplicaState.STOPPED);
            assertThat(cluster.replica(fails).status().explanation()).contains("planted");
        }
    }

    /** It may not even be told why when it happens, and where it is ended it is not at first, either. */
    @Test
    void anErrorThatThereIsNoMemoryToTellStopsTheReplica() throws Exception {
        try (Cluster cluster = cluster(builder -> {})) {
            int fails = cluster.backup();
            AtomicInteger asked = new AtomicInteger();
            before("flush", fails, () -> {
                throw new AssertionError("planted") {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public synchronized Throwable getCause() {
                        if (asked.incrementAndGet() <= 2) {
                            throw new InternalError("no word can be said");
                        }
                        return super.getCause();
                    }
                };
            });
            cluster.execute("INSERT INTO T VALUES (1, NULL)");
            Awaitility.await("it stops")
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> cluster.replica(fails).status().state() == ReplicaState.STOPPED);
            assertThat(cluster.replica(fails).status().explanation()).contains("planted");
            Awaitility.await("it has left the group")
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> !cluster.replica(fails)
                            .engine()
                            .group()
                            .membership()
                            .orElseThrow()
                            .view()
                            .working());
        }
    }

    /** Behind it in the order is one that takes long to apply. */
    @Test
    void whatIsCommittedIsAnsweredBeforeWhatTakesLong() throws Exception {
        try (Cluster cluster = cluster(
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION).durability(Durability.LOCAL))) {
            AtomicInteger applied = new AtomicInteger();
            CountDownLatch isHeld = new CountDownLatch(1);
            before("apply", 0, () -> {
                if (applied.incrementAndGet() == 1) {
                    isHeld.countDown();
                    await(goesOn);
                } else {
                    await(new CountDownLatch(1), 5);
                }
            });
            insert(cluster, 1, 1, 0);
            isHeld.await();
            FutureTask<Long> own = inThread(() -> insert(cluster, 0, 2, 0));
            Awaitility.await("it is sent")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> cluster.replica(0).status().inFlight() == 1);
            insert(cluster, 1, 3, 4 << 20);
            Awaitility.await("both are decided")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> cluster.replica(0).status().orderedIndex()
                            >= cluster.replica(1).status().appliedIndex());
            long began = System.nanoTime();
            goesOn.countDown();
            assertThat(Duration.ofNanos(own.get() - began)).isLessThan(Duration.ofSeconds(4));
            Awaitility.await("it is applied behind that")
                    .atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(applied).hasValue(2));
        }
    }

    @Test
    void aVerificationEndsInItsTimeThoughWhatIsBeforeItTakesLong() throws Exception {
        try (Cluster cluster = cluster(builder -> builder.protocol(ReplicationProtocol.CERTIFICATION))) {
            CountDownLatch isHeld = new CountDownLatch(1);
            before("apply", 0, () -> {
                isHeld.countDown();
                await(goesOn);
            });
            insert(cluster, 1, 1, 0);
            isHeld.await();
            FutureTask<Long> asked = inThread(
                    () -> cluster.replica(0).verify(Duration.ofMillis(200)).request());
            assertThatThrownBy(() -> asked.get(20, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(ReplicaException.class)
                    .hasMessageContaining("did not end within 200 ms");
            goesOn.countDown();
            cluster.assertIdentical();
        }
    }

    private static void await(CountDownLatch latch, int seconds) {
        try {
            latch.await(seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns when it was answered. */
    private static long insert(Cluster cluster, int replica, int id, int bytes) throws Exception {
        try (Connection connection = cluster.connect(replica);
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, id);
            insert.setBytes(2, new byte[bytes]);
            insert.executeUpdate();
            return System.nanoTime();
        }
    }

    private static <T> FutureTask<T> inThread(Callable<T> task) {
        FutureTask<T> begun = new FutureTask<>(task);
        new Thread(begun).start();
        return begun;
    }

    /** Which a client may do in a thread with more room for it. */
    @Test
    void whatIsDeeplyNestedIsAppliedAsItWasExecuted() throws Exception {
        try (Cluster cluster = cluster(builder -> {})) {
            StringBuilder view = new StringBuilder("CREATE VIEW V AS SELECT ID FROM T WHERE ID = 0");
            for (int i = 1; i < 12_000; i++) {
                view.append(" OR ID = ").append(i);
            }
            FutureTask<Void> made = new FutureTask<>(() -> {
                try (Connection connection = cluster.replica(cluster.primary()).connect(new Properties());
                        Statement statement = connection.createStatement()) {
                    statement.execute(view.toString());
                }
                return null;
            });
            new Thread(null, made, "deep", 128L << 20).start();
            made.get();
            cluster.awaitEverywhere();
            cluster.execute("INSERT INTO T VALUES (1, NULL)");
            cluster.assertIdentical();
            for (int i = 0; i < cluster.size(); i++) {
                assertThat(cluster.replica(i).status().state()).isEqualTo(ReplicaState.ONLINE);
            }
        }
    }
}
