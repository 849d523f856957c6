package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.replicator.node.NodeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** All replicas generate keys; kills of one and of all. */
final class GeneratedKeysTest {

    private static final Duration WAIT = Duration.ofSeconds(90);

    @TempDir
    private Path directory;

    private final Queue<Long> acknowledged = new ConcurrentLinkedQueue<>();
    private final Set<ReplicaProcess> killed = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean ends = new AtomicBoolean();

    private static Connection connect(ReplicaGroup group, ReplicaProcess replica) throws SQLException {
        String clients = group.status(replica).map(NodeStatus::clients).orElse("");
        if (clients.isEmpty()) {
            throw new SQLNonTransientConnectionException(replica.name() + " does not answer", "08001");
        }
        return DriverManager.getConnection(clients);
    }

    /** Inserts until it is told to end or its replica is gone. What happened to the last one when a connection ended, nobody knows. */
    private Void insert(ReplicaGroup group, ReplicaProcess replica) throws SQLException {
        while (!ends.get()) {
            try (Connection connection = connect(group, replica);
                    Statement statement = connection.createStatement()) {
                while (!ends.get()) {
                    statement.executeUpdate(
                            "INSERT INTO orders (item) VALUES (NEXT VALUE FOR items)", Statement.RETURN_GENERATED_KEYS);
                    try (ResultSet key = statement.getGeneratedKeys()) {
                        assertThat(key.next()).isTrue();
                        acknowledged.add(key.getLong(1));
                    }
                }
            } catch (SQLException e) {
                // With its leader the group is without a majority for a moment.
                if (!String.valueOf(e.getSQLState()).startsWith("08")) {
                    throw e;
                }
                if (killed.contains(replica)) {
                    break;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            }
        }
        return null;
    }

    private List<CompletableFuture<Void>> insertOnAll(ReplicaGroup group) {
        ends.set(false);
        killed.clear();
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (ReplicaProcess replica : group.replicas()) {
            running.add(CompletableFuture.supplyAsync(() -> {
                try {
                    return insert(group, replica);
                } catch (SQLException e) {
                    throw new IllegalStateException(replica.name() + ": " + e.getSQLState() + " " + e.getMessage(), e);
                }
            }));
        }
        return running;
    }

    private void awaitMore(int keys) {
        int wanted = acknowledged.size() + keys;
        Awaitility.await("keys").atMost(WAIT).until(() -> acknowledged.size() >= wanted);
    }

    private void end(List<CompletableFuture<Void>> running) throws Exception {
        ends.set(true);
        for (CompletableFuture<Void> one : running) {
            one.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void noKeyIsGeneratedTwiceWhoeverIsKilled() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("protocol", "certification"))) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            ReplicaProcess victim = group.replicas().get(1);
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute(
                        "CREATE TABLE orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item BIGINT UNIQUE)");
                statement.execute("CREATE SEQUENCE items AS BIGINT START WITH 0 INCREMENT BY -1");
            }
            assertThat(group.verify(WAIT).identical()).isTrue();

            List<CompletableFuture<Void>> first = insertOnAll(group);
            awaitMore(400);
            killed.add(victim);
            victim.kill();
            awaitMore(200);
            end(first);
            victim.start();
            group.awaitOnline(WAIT, line -> {});

            List<CompletableFuture<Void>> second = insertOnAll(group);
            awaitMore(300);
            killed.addAll(group.replicas());
            group.replicas().forEach(ReplicaProcess::kill);
            end(second);
            group.start();
            group.awaitOnline(WAIT, line -> {});

            List<CompletableFuture<Void>> third = insertOnAll(group);
            awaitMore(200);
            end(third);

            assertThat(group.verify(WAIT).identical()).isTrue();
            Set<Long> told = new HashSet<>(acknowledged);
            assertThat(told).as("each key once").hasSize(acknowledged.size());
            try (Connection connection = connect(group, victim);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT id FROM orders")) {
                Set<Long> there = new HashSet<>();
                while (rows.next()) {
                    there.add(rows.getLong(1));
                }
                assertThat(there).containsAll(told);
            }
        }
    }
}
