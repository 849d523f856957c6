package org.gorda.replicator.engine;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.gorda.gapi.Refusal;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/** Replicas in this JVM, each with a database of its own. One thread starts and stops them, others may look at them and connect. */
public final class Cluster implements AutoCloseable {

    /** How long anything may take that is waited for. */
    public static final Duration PATIENCE = Duration.ofSeconds(60);

    /** So long that a busy machine changes no leader in the middle of a test that is about something else. */
    private static final Duration ELECTION_TIMEOUT = Duration.ofSeconds(2);

    private static final int TRIES = 5;

    private final String[] members;
    private final AtomicReferenceArray<@Nullable Replica> replicas;
    private final ObjIntConsumer<Replica.Builder> settings;
    private final List<String> told = new ArrayList<>();

    /**
     * None is started yet.
     *
     * @param settings says at least which database each has
     */
    public Cluster(int size, ObjIntConsumer<Replica.Builder> settings) {
        this.settings = settings;
        this.members = LoopbackPorts.free(size).stream()
                .map(port -> "127.0.0.1:" + port)
                .toArray(String[]::new);
        this.replicas = new AtomicReferenceArray<>(size);
    }

    /** All are started, with embedded Derby. */
    Cluster(Path directory, int size, Consumer<Replica.Builder> settings) {
        this(directory, size, "derby", settings);
    }

    /** All are started. */
    Cluster(Path directory, int size, String binding, Consumer<Replica.Builder> settings) {
        this(size, (builder, i) -> {
            builder.database(binding, directory.resolve("replica" + i).toString());
            settings.accept(builder);
        });
        startAll();
    }

    private static ConditionFactory patiently(String what) {
        return Awaitility.await(what)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .atMost(PATIENCE);
    }

    /** Starts all, and waits until they work. */
    public void startAll() {
        for (int i = 0; i < size(); i++) {
            start(i);
        }
        awaitOnline();
    }

    public void start(int i) {
        start(i, builder -> {});
    }

    /**
     * Starts one.
     *
     * @param own is this time otherwise than the settings of all
     */
    public void start(int i, Consumer<Replica.Builder> own) {
        Replica.Builder builder = Replica.builder()
                .group("test")
                .self(members[i])
                .members(members)
                .electionTimeout(ELECTION_TIMEOUT);
        settings.accept(builder, i);
        own.accept(builder);
        replicas.set(i, builder.start(told::add));
    }

    public void stop(int i) {
        take(i).close();
    }

    /** One that counts as gone from now on, and is to be closed. */
    public Replica take(int i) {
        return Objects.requireNonNull(replicas.getAndSet(i, null));
    }

    /** Whether one is not there. */
    public boolean isGone(int i) {
        return replicas.get(i) == null;
    }

    /** Waits until all that are there work, and take writes if all do. */
    public void awaitOnline() {
        running().forEach(replica -> replica.awaitPrimary(PATIENCE));
        patiently("all work")
                .until(() -> running()
                        .map(Replica::status)
                        .allMatch(status -> status.working() && (status.executesHere() || !status.everywhere())));
        primary();
    }

    /** What starts have told. */
    List<String> told() {
        return told;
    }

    public Replica replica(int i) {
        return Objects.requireNonNull(replicas.get(i));
    }

    /** Those that are there. */
    public Stream<Replica> running() {
        return IntStream.range(0, size()).mapToObj(replicas::get).filter(Objects::nonNull);
    }

    public int size() {
        return members.length;
    }

    /** Whether one is there and takes writes. */
    public boolean takesWrites(int i) {
        Replica one = replicas.get(i);
        if (one == null) {
            return false;
        }
        ReplicaStatus status = one.status();
        return status.executesHere() && status.working();
    }

    /** The first one that takes writes. */
    public int primary() {
        return patiently("there is a primary")
                .until(
                        () -> IntStream.range(0, size())
                                .filter(this::takesWrites)
                                .findFirst(),
                        OptionalInt::isPresent)
                .getAsInt();
    }

    public int backup() {
        return (primary() + 1) % size();
    }

    /** Has a replica lead the group, which makes it the primary, if it can be. */
    void lead(int i) {
        replica(primary())
                .engine()
                .group()
                .membership()
                .orElseThrow()
                .transferLeadership(id(i))
                .join();
    }

    public Connection connect(int i) throws SQLException {
        return replica(i).connect(new Properties());
    }

    /** Executes in one transaction at the primary, again if that has no majority or another member became it meanwhile: then nothing happened. */
    public void execute(String... statements) throws SQLException {
        for (int tries = 1; ; tries++) {
            try {
                executeOnce(statements);
                return;
            } catch (SQLException e) {
                boolean wasNothing = e instanceof SQLTransactionRollbackException
                        || Set.of("25006", Refusal.Cause.NO_MAJORITY.sqlState()).contains(e.getSQLState());
                if (tries == TRIES || !wasNothing) {
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
    public long number(int i, String query) throws SQLException {
        try (Connection connection = connect(i);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Waits until all that are there show what any of them knows to be ordered. */
    public void awaitEverywhere() {
        long newest = running()
                .map(Replica::status) // an asynchronous primary shows what is not decided yet
                .mapToLong(status -> Math.max(status.orderedIndex(), status.appliedIndex()))
                .max()
                .orElseThrow();
        patiently("all show it")
                .until(() -> running().allMatch(replica -> replica.status().appliedIndex() >= newest));
    }

    /** Has all that are there compare all rows of all tables, at one place in the order. */
    public List<TableChecksum> assertIdentical() {
        Verification first = replica(primary()).verify(PATIENCE);
        running().forEach(replica -> {
            patiently("all have compared")
                    .until(() -> replica.verification(first.request()).isPresent());
            Verification other = replica.verification(first.request()).orElseThrow();
            if (!other.tables().equals(first.tables()) || !other.position().equals(first.position())) {
                throw new AssertionError("replicas differ: " + first + " and " + other);
            }
        });
        if (first.tables().isEmpty() || !first.tables().stream().allMatch(table -> table.damage() == null)) {
            throw new AssertionError("nothing to compare, or damaged: " + first);
        }
        return first.tables();
    }

    public String member(int i) {
        return members[i];
    }

    MemberId id(int i) {
        return new MemberId(members[i]);
    }

    @Override
    public void close() {
        for (int i = 0; i < size(); i++) {
            Replica replica = replicas.getAndSet(i, null);
            if (replica != null) {
                replica.close();
            }
        }
    }
}
