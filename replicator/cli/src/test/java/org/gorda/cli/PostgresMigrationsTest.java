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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.flywaydb.core.Flyway;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.replicator.node.NodeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three PostgreSQL servers that all take writes: the schema is changed as one does it, while clients write at each of them. */
@Timeout(300)
final class PostgresMigrationsTest {

    private static final Duration WAIT = Duration.ofMinutes(2);
    private static final String USER = PostgresEngine.USER;

    @TempDir
    private Path directory;

    private static String url(ReplicaGroup group, ReplicaProcess replica) {
        return group.status(replica).map(NodeStatus::clients).orElseThrow();
    }

    private static void execute(String url, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url, USER, "");
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static int number(String url, String query) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url, USER, "");
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            assertThat(row.next()).isTrue();
            return row.getInt(1);
        }
    }

    /** One that counts up in rows of its own, in transactions that stay open for a moment. */
    private static int write(String url, int first, AtomicBoolean ends, Set<String> failures) {
        int committed = 0;
        try (Connection connection = DriverManager.getConnection(url, USER, "");
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            while (!ends.get()) {
                try {
                    statement.executeUpdate("UPDATE counter SET n = n + 1 WHERE id = " + first);
                    TimeUnit.MILLISECONDS.sleep(20);
                    statement.executeUpdate("UPDATE counter SET n = n + 1 WHERE id = " + (first + 1));
                    connection.commit();
                    committed++;
                } catch (SQLException e) {
                    failures.add(e.getSQLState() + " " + e.getMessage());
                    connection.rollback();
                }
            }
        } catch (SQLException | InterruptedException e) {
            failures.add(e.toString());
        }
        return committed;
    }

    /** With Flyway's defaults: it locks by a transaction of one connection, and migrates by another one. */
    @Test
    void flywayMigratesWhileClientsWriteOtherTablesAtEveryReplica() throws Exception {
        try (ReplicaGroup group =
                ReplicaGroup.of(3, directory, Map.of("protocol", "certification"), new PostgresEngine())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            List<String> urls = new ArrayList<>();
            for (ReplicaProcess replica : group.replicas()) {
                urls.add(url(group, replica));
            }
            execute(
                    urls.get(0),
                    "CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
                    "INSERT INTO counter SELECT generate_series(1, 6), 0");
            assertThat(group.verify(WAIT).identical()).as("all have the table").isTrue();

            AtomicBoolean ends = new AtomicBoolean();
            Set<String> failures = new ConcurrentSkipListSet<>();
            List<CompletableFuture<Integer>> writers = new ArrayList<>();
            for (int i = 0; i < urls.size(); i++) {
                String url = urls.get(i);
                int first = 1 + 2 * i;
                writers.add(CompletableFuture.supplyAsync(() -> write(url, first, ends, failures)));
            }
            Flyway flyway = Flyway.configure()
                    .dataSource(urls.get(1), USER, "")
                    .locations("classpath:migrations-postgresql")
                    .baselineOnMigrate(true)
                    .baselineVersion("0")
                    .load();
            assertThat(flyway.migrate().migrationsExecuted).isEqualTo(4);
            ends.set(true);
            int committed = 0;
            for (CompletableFuture<Integer> writer : writers) {
                committed += writer.get(1, TimeUnit.MINUTES);
            }
            assertThat(committed).isPositive();
            // Who sent before it knew of a turn to change the schema.
            assertThat(failures).allMatch(failure -> failure.startsWith("40001"));

            assertThat(group.verify(WAIT).identical()).isTrue();
            for (String url : urls) {
                assertThat(number(url, "SELECT sum(n) FROM counter")).isEqualTo(2 * committed);
                assertThat(number(url, "SELECT count(*) FROM flyway_schema_history WHERE success"))
                        .isEqualTo(5);
                assertThat(number(url, "SELECT count(*) FROM audit")).isEqualTo(1);
                assertThat(number(url, "SELECT sum(points) FROM customer")).isEqualTo(4);
                assertThat(number(url, "SELECT count(*) FROM golden")).isEqualTo(1);
            }
            assertThat(flyway.validateWithResult().validationSuccessful).isTrue();
        }
    }
}
