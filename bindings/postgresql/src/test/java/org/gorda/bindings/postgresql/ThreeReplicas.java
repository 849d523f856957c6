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
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.gorda.gapi.FileTree;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Cluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Three replicas in this process, each with a database of its own on a real server; new ones for each test. */
abstract class ThreeReplicas {

    static final int SIZE = 3;
    static final Duration PATIENCE = Cluster.PATIENCE;

    @TempDir
    Path directory;

    final Cluster cluster;

    ThreeReplicas(ReplicationProtocol protocol) {
        cluster = new Cluster(
                SIZE,
                (builder, i) -> builder.database(
                                "postgresql",
                                TestServer.configuration(directory, "replica" + i)
                                        .location())
                        .attribute("user", "postgres")
                        .directory(directory.resolve("replica" + i))
                        .protocol(protocol)
                        .logRetainBytes(1 << 20));
    }

    @BeforeEach
    void startAll() throws SQLException {
        TestServer.dropOthers(directory);
        cluster.startAll();
        cluster.awaitEverywhere();
    }

    @AfterEach
    void stopAll() {
        cluster.close();
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

    /** In one transaction that sees all that was ordered; then waits until all replicas show it. */
    void execute(int i, String... statements) throws SQLException {
        cluster.awaitEverywhere();
        try (Connection connection = cluster.connect(i);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String sql : statements) {
                statement.execute(sql);
            }
            connection.commit();
        }
        cluster.awaitEverywhere();
    }

    static long number(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            assertThat(row.next()).isTrue();
            return row.getLong(1);
        }
    }

    /** Once that replica shows all that was ordered. */
    long number(int i, String sql) throws SQLException {
        cluster.awaitEverywhere();
        return cluster.number(i, sql);
    }

    static void assertRefused(String sqlState, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo(sqlState));
    }
}
