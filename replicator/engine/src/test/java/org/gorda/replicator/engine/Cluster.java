package org.gorda.replicator.engine;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;

/** Replicas with embedded Derby in this JVM. Confined to the test's thread. */
final class Cluster implements AutoCloseable {

    /** So long that a busy machine changes no leader in the middle of a test that is about something else. */
    private static final Duration ELECTION_TIMEOUT = Duration.ofSeconds(2);

    private static final int TRIES = 5;

    private final Path directory;
    private final String[] members;
    private final Replica[] replicas;
    private final String binding;
    private final Consumer<Replica.Builder> settings;
    private final List<String> told = new ArrayList<>();

    Cluster(Path directory, int size, Consumer<Replica.Builder> settings) {
        this(directory, size, "derby", settings);
    }

    Cluster(Path directory, int size, String binding, Consumer<Replica.Builder> settings) {
        this.directory = directory;
        this.binding = binding;
        this.settings = settings;
        this.members = LoopbackPorts.free(size).stream()
                .map(port -> "127.0.0.1:" + port)
                .toArray(String[]::new);
        this.replicas = new Replica[size];
        for (int i = 0; i < size; i++) {
            start(i);
        }
        awaitOnline();
    }

    private static ConditionFactory patiently(String what) {
        return Awaitility.await(what)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .atMost(Duration.ofSeconds(30));
    }

    void start(int i) {
        start(i, settings);
    }

    void start(int i, Consumer<Replica.Builder> own) {
        Replica.Builder builder = Replica.builder()
                .database(binding, directory.resolve("replica" + i).toString())
                .group("test")
                .self(members[i])
                .members(members)
                .electionTimeout(ELECTION_TIMEOUT);
        own.accept(builder);
        replicas[i] = builder.start(told::add);
    }

    void awaitOnline() {
        for (Replica replica : replicas) {
            replica.awaitPrimary(Duration.ofSeconds(30));
        }
        patiently("all know the primary").until(() -> primaryNow() >= 0);
    }

    /** What starts have told. */
    List<String> told() {
        return told;
    }

    Replica replica(int i) {
        return replicas[i];
    }

    int size() {
        return replicas.length;
    }

    private int primaryNow() {
        for (int i = 0; i < replicas.length; i++) {
            ReplicaStatus status = replicas[i].status();
            if (status.executesHere() && status.working()) {
                return i;
            }
        }
        return -1;
    }

    int primary() {
        int[] found = {-1};
        patiently("there is a primary").until(() -> {
            found[0] = primaryNow();
            return found[0] >= 0;
        });
        return found[0];
    }

    int backup() {
        return (primary() + 1) % replicas.length;
    }

    /** Has a replica lead the group, which makes it the primary, if it can be. */
    void lead(int i) {
        replicas[primary()]
                .engine()
                .group()
                .membership()
                .orElseThrow()
                .transferLeadership(id(i))
                .join();
    }

    Connection connect(int i) throws SQLException {
        return replicas[i].connect(new Properties());
    }

    /** Executes in one transaction at the primary, again after another member became it: then nothing happened. */
    void execute(String... statements) throws SQLException {
        for (int tries = 1; ; tries++) {
            try {
                executeOnce(statements);
                return;
            } catch (SQLTransactionRollbackException e) {
                if (tries == TRIES) {
                    throw e;
                }
            }
        }
    }

    private void executeOnce(String... statements) throws SQLException {
        try (Connection connection = connect(primary());
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String sql : statements) {
                statement.execute(sql);
            }
            connection.commit();
        }
    }

    long count(int i, String table) throws SQLException {
        return number(i, "SELECT COUNT(*) FROM " + table);
    }

    /** What a query of one number gives at a replica. */
    long number(int i, String query) throws SQLException {
        try (Connection connection = connect(i);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Waits until all show what any knows to be ordered. */
    void awaitEverywhere() {
        long newest = Arrays.stream(replicas)
                .map(Replica::status) // an asynchronous primary shows what is not decided yet
                .mapToLong(status -> Math.max(status.orderedIndex(), status.appliedIndex()))
                .max()
                .orElseThrow();
        patiently("all show it")
                .until(() -> Arrays.stream(replicas)
                        .allMatch(replica -> replica.status().appliedIndex() >= newest));
    }

    /** Waits until all have everything, then compares all tables of all replicas. */
    List<TableChecksum> assertIdentical() {
        Verification first = replicas[primary()].verify(Duration.ofSeconds(30));
        for (Replica replica : replicas) {
            patiently("all get there")
                    .until(() -> replica.verification(first.request()).isPresent());
            Verification other = replica.verification(first.request()).orElseThrow();
            if (!other.tables().equals(first.tables()) || !other.position().equals(first.position())) {
                throw new AssertionError("replicas differ: " + first + " and " + other);
            }
        }
        if (!first.tables().stream().allMatch(table -> table.damage() == null)) {
            throw new AssertionError("damaged: " + first);
        }
        return first.tables();
    }

    MemberId id(int i) {
        return new MemberId(members[i]);
    }

    @Override
    public void close() {
        for (Replica replica : replicas) {
            if (replica != null) {
                replica.close();
            }
        }
    }
}
