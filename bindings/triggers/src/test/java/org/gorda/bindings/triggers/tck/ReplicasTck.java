package org.gorda.bindings.triggers.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.gapi.FileTree;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Cluster;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three replicas in this process, each with a database of its own. */
public abstract class ReplicasTck {

    private static final int SIZE = 3;
    private static final int WRITERS = 4;
    private static final int LARGE_ROWS = 100;
    private static final int LARGE_BYTES = 50_000;
    private static final int ACCOUNTS = 20;

    @TempDir
    Path directory;

    private final Cluster cluster = new Cluster(SIZE, this::describe);
    private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
    private final Set<Long> unknown = ConcurrentHashMap.newKeySet();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();
    private final AtomicBoolean ended = new AtomicBoolean();
    private long logRetainBytes = 1 << 30;

    protected abstract TriggeredUnderTest tested();

    @AfterEach
    final void stop() {
        ended.set(true);
        cluster.close();
    }

    private void describe(Replica.Builder builder, int i) {
        builder.database(
                        tested().binding().name(),
                        directory.resolve("replica" + i).toString())
                .protocol(ReplicationProtocol.PRIMARY_BACKUP)
                .logRetainBytes(logRetainBytes);
    }

    private void execute(String... statements) throws SQLException {
        try (Connection connection = cluster.connect(cluster.primary());
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    @Test
    void whatThePrimaryCommitsIsInAllDatabases() throws SQLException {
        cluster.startAll();
        List<String> statements = new ArrayList<>(tested().family());
        statements.add("UPDATE parent SET name = NULL WHERE id > 90");
        execute(statements.toArray(String[]::new));
        cluster.assertIdentical();
        try (Connection connection = cluster.connect((cluster.primary() + 1) % SIZE)) {
            assertThat(number(connection, "SELECT COUNT(*) FROM parent")).isEqualTo(90);
            assertThat(number(connection, "SELECT COUNT(*) FROM parent WHERE name IS NULL"))
                    .isEqualTo(10);
            assertThatThrownBy(() -> connection.createStatement().executeUpdate("DELETE FROM parent"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("is a backup and takes no writes");
        }
    }

    @Test
    void whatWasAcknowledgedIsThereAfterThePrimaryIsGoneAndWhoComesBackReceivesIt() throws Exception {
        cluster.startAll();
        makeBank();
        List<Thread> writers = startWriters();
        int first = cluster.primary();
        awaitMore(200);
        cluster.stop(first);
        cluster.primary();
        awaitMore(200);
        delete(directory.resolve("replica" + first), directory.resolve("replica" + first + ".gorda"));
        cluster.start(first);
        cluster.replica(first).awaitPrimary(Cluster.PATIENCE);
        awaitMore(100);
        end(writers);
        cluster.assertIdentical();
        assertNothingLost();
    }

    /** Which the others' logs do not reach back to any more. */
    @Test
    void whoComesBackTooLateOrHasNothingReceivesTheDatabase() throws Exception {
        logRetainBytes = 1 << 20;
        cluster.startAll();
        makeBank();
        execute("CREATE TABLE large (id INTEGER PRIMARY KEY, body " + tested().text() + ")");
        fill(0);
        int away = (cluster.primary() + 1) % SIZE;
        cluster.stop(away);
        fill(LARGE_ROWS);
        Awaitility.await("the others have forgotten what it lacks")
                .atMost(Cluster.PATIENCE)
                .untilAsserted(() -> {
                    execute("UPDATE account SET balance = balance");
                    for (int i = 0; i < SIZE; i++) {
                        assertThat(i == away ? 0 : logBytes(i)).isLessThan((long) LARGE_ROWS * LARGE_BYTES);
                    }
                });
        List<Thread> writers = startWriters();
        for (boolean hasNothing : new boolean[] {false, true}) {
            if (hasNothing) {
                cluster.stop(away);
                delete(directory.resolve("replica" + away), directory.resolve("replica" + away + ".gorda"));
            }
            cluster.start(away);
            cluster.replica(away).awaitPrimary(Cluster.PATIENCE);
            awaitMore(50);
        }
        end(writers);
        cluster.assertIdentical();
        assertNothingLost();
        try (Connection connection = cluster.connect(away)) {
            assertThat(number(connection, "SELECT SUM(LENGTH(body)) FROM large"))
                    .isEqualTo(2L * LARGE_ROWS * LARGE_BYTES);
        }
    }

    private void fill(int from) throws SQLException {
        try (Connection connection = cluster.connect(cluster.primary());
                PreparedStatement insert = connection.prepareStatement("INSERT INTO large VALUES (?, ?)")) {
            for (int id = from; id < from + LARGE_ROWS; id++) {
                insert.setInt(1, id);
                insert.setString(2, String.valueOf((char) ('a' + id % 26)).repeat(LARGE_BYTES));
                insert.executeUpdate();
            }
        }
    }

    private long logBytes(int i) {
        try (Stream<Path> files = Files.walk(directory.resolve("replica" + i + ".gorda/log"))) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        } catch (IOException | UncheckedIOException e) {
            return Long.MAX_VALUE; // a file was deleted meanwhile
        }
    }

    @Test
    void allComeBackAfterAllWereStoppedUnderLoad() throws Exception {
        cluster.startAll();
        makeBank();
        List<Thread> writers = startWriters();
        for (int round = 0; round < 2; round++) {
            awaitMore(100);
            cluster.close();
            cluster.startAll();
        }
        awaitMore(100);
        end(writers);
        cluster.assertIdentical();
        assertNothingLost();
    }

    /** In an application, by the driver and its URL. */
    @Test
    void aUrlMakesThisProcessAReplica() throws SQLException {
        String url = "jdbc:gorda:" + tested().binding().name() + ":" + directory.resolve("database") + ";self="
                + cluster.member(0) + ";members=" + cluster.member(0);
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)");
            statement.executeUpdate("INSERT INTO item VALUES (1), (2)");
            assertThat(number(connection, "SELECT COUNT(*) FROM item")).isEqualTo(2);
            assertThat(connection.getMetaData().getDatabaseProductName()).isEqualTo(tested().product());
        }
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"));
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";territory=de_DE"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("a replicated " + tested().database()
                        + " database has no setting 'territory', only user and password");
    }

    /** There are no keys by which transactions of several replicas could be compared. */
    @Test
    void certificationIsRefused() {
        assertThatThrownBy(() -> cluster.start(0, builder -> builder.protocol(ReplicationProtocol.CERTIFICATION)))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("CERTIFICATION_KEYS");
    }

    // ---------------------------------------------------------------------------------------------------------- load

    private void makeBank() throws SQLException {
        execute(
                "CREATE TABLE item (id BIGINT PRIMARY KEY, body VARCHAR(100))",
                "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT)",
                "INSERT INTO account SELECT x, 100 FROM " + tested().numbers(1, ACCOUNTS));
    }

    private List<Thread> startWriters() {
        List<Thread> writers = new ArrayList<>();
        for (int i = 0; i < WRITERS; i++) {
            long from = i * 1_000_000L;
            Thread thread = new Thread(() -> write(from));
            thread.start();
            writers.add(thread);
        }
        return writers;
    }

    private void awaitMore(int count) {
        int before = acknowledged.size();
        Awaitility.await("writers go on")
                .atMost(Cluster.PATIENCE)
                .until(() -> !failures.isEmpty() || acknowledged.size() > before + count);
        assertThat(failures).isEmpty();
    }

    private void end(List<Thread> writers) throws InterruptedException {
        ended.set(true);
        for (Thread writer : writers) {
            writer.join(Cluster.PATIENCE.toMillis());
        }
        assertThat(failures).isEmpty();
    }

    /** Writes at whoever is the primary: a row, and an amount from one account to another. */
    private void write(long from) {
        for (long id = from; !ended.get(); id++) {
            boolean asked = false;
            try (Connection connection = cluster.connect(cluster.primary());
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?)");
                    PreparedStatement move =
                            connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?")) {
                connection.setAutoCommit(false);
                insert.setLong(1, id);
                insert.setString(2, "body of " + id);
                insert.executeUpdate();
                for (int side = 0; side < 2; side++) {
                    move.setLong(1, side == 0 ? 7 : -7);
                    move.setInt(2, (int) ((id + 3L * side) % ACCOUNTS) + 1);
                    move.executeUpdate();
                }
                asked = true;
                connection.commit();
                acknowledged.add(id);
            } catch (SQLException e) {
                if (asked && !"40001".equals(e.getSQLState())) {
                    unknown.add(id);
                }
            } catch (RuntimeException e) {
                unknown.add(id); // it is being closed
            } catch (Error e) {
                failures.add(e);
                return;
            }
        }
    }

    private void assertNothingLost() throws SQLException {
        try (Connection connection = cluster.connect(cluster.primary());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id FROM item")) {
            Set<Long> there = ConcurrentHashMap.newKeySet();
            while (rows.next()) {
                there.add(rows.getLong(1));
            }
            assertThat(there).containsAll(acknowledged);
            there.removeAll(acknowledged);
            assertThat(unknown).containsAll(there);
            assertThat(number(connection, "SELECT SUM(balance) FROM account")).isEqualTo(100L * ACCOUNTS);
        }
    }

    private static void delete(Path... directories) throws IOException {
        for (Path one : directories) {
            FileTree.delete(one);
        }
    }
}
