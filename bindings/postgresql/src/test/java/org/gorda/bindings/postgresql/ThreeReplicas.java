package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Properties;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.Verification;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Three replicas in this process, each with a database of its own on a real server; new ones for each test. */
abstract class ThreeReplicas {

    static final int SIZE = 3;
    static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private final ReplicationProtocol protocol;
    private final String[] members =
            LoopbackPorts.free(SIZE).stream().map(port -> "127.0.0.1:" + port).toArray(String[]::new);
    private final @Nullable Replica[] replicas = new Replica[SIZE];

    ThreeReplicas(ReplicationProtocol protocol) {
        this.protocol = protocol;
    }

    @BeforeEach
    void startAll() throws SQLException {
        TestServer.dropOthers(directory);
        for (int i = 0; i < SIZE; i++) {
            start(i);
        }
        awaitOnline();
    }

    @AfterEach
    void stopAll() {
        running().forEach(Replica::close);
    }

    void start(int i) {
        replicas[i] = Replica.builder()
                .database(
                        "postgresql",
                        TestServer.configuration(directory, "replica" + i).location())
                .attribute("user", "postgres")
                .directory(directory.resolve("replica" + i))
                .group("test")
                .self(members[i])
                .members(members)
                .protocol(protocol)
                .logRetainBytes(1 << 20)
                .electionTimeout(Duration.ofSeconds(2))
                .start();
    }

    void stop(int i) {
        take(i).close();
    }

    /** One that counts as gone from now on, and is to be closed. */
    Replica take(int i) {
        Replica gone = replica(i);
        replicas[i] = null;
        return gone;
    }

    boolean isGone(int i) {
        return replicas[i] == null;
    }

    /** Whether one is there and takes writes; another thread may stop it meanwhile. */
    boolean takesWrites(int i) {
        Replica one = replicas[i];
        return one != null && one.status().executesHere();
    }

    Replica replica(int i) {
        return Objects.requireNonNull(replicas[i]);
    }

    private Stream<Replica> running() {
        return Arrays.stream(replicas).filter(Objects::nonNull);
    }

    String database(int i) {
        String location = TestServer.configuration(directory, "replica" + i).location();
        return location.substring(location.lastIndexOf('/') + 1);
    }

    /** Deletes all that a replica has had that is gone. */
    void deleteAll(int i) throws SQLException, IOException {
        TestServer.execute("DROP DATABASE " + database(i) + " WITH (FORCE)");
        deleteDirectory(i);
    }

    /** Its group's log, and all else but the database. */
    void deleteDirectory(int i) throws IOException {
        FileTree.delete(directory.resolve("replica" + i));
    }

    /** All that are there, which take writes if all do. */
    void awaitOnline() {
        running().forEach(replica -> replica.awaitPrimary(PATIENCE));
        Awaitility.await("all work")
                .atMost(PATIENCE)
                .until(() -> running()
                        .allMatch(replica -> replica.status().working()
                                && (replica.status().executesHere()
                                        || protocol == ReplicationProtocol.PRIMARY_BACKUP)));
        awaitEverywhere();
    }

    void awaitEverywhere() {
        long newest = running()
                .mapToLong(replica -> replica.status().orderedIndex())
                .max()
                .orElseThrow();
        Awaitility.await("all show it")
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> running().allMatch(replica -> replica.status().appliedIndex() >= newest));
    }

    /** The first one that takes writes. */
    int primary() {
        int[] found = {-1};
        Awaitility.await("there is a primary").atMost(PATIENCE).until(() -> {
            for (int i = 0; i < SIZE; i++) {
                Replica one = replicas[i];
                if (one != null && one.status().executesHere() && one.status().working()) {
                    found[0] = i;
                    return true;
                }
            }
            return false;
        });
        return found[0];
    }

    Connection connect(int i) throws SQLException {
        return replica(i).connect(new Properties());
    }

    /** In one transaction that sees all that was ordered; then waits until all replicas show it. */
    void execute(int i, String... statements) throws SQLException {
        awaitEverywhere();
        try (Connection connection = connect(i);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String sql : statements) {
                statement.execute(sql);
            }
            connection.commit();
        }
        awaitEverywhere();
    }

    static long number(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            assertThat(row.next()).isTrue();
            return row.getLong(1);
        }
    }

    /** Once that replica shows all that was ordered. */
    long number(int i, String sql) throws SQLException {
        awaitEverywhere();
        try (Connection connection = connect(i);
                Statement statement = connection.createStatement()) {
            return number(statement, sql);
        }
    }

    static void assertRefused(String sqlState, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo(sqlState));
    }

    /** All replicas compare all rows of all tables, at one place in the order. */
    void assertIdentical() {
        awaitEverywhere();
        Verification own = replica(primary()).verify(PATIENCE);
        running().forEach(replica -> {
            Awaitility.await("all have compared")
                    .atMost(PATIENCE)
                    .until(() -> replica.verification(own.request()).isPresent());
            assertThat(replica.verification(own.request()).orElseThrow().tables())
                    .isEqualTo(own.tables());
        });
        assertThat(own.tables()).isNotEmpty();
    }
}
