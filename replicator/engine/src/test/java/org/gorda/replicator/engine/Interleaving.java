package org.gorda.replicator.engine;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;

/**
 * One run of a schedule: its statements one after the other, each in its transaction's own thread. A transaction that waits for a lock goes
 * on when it can; the others do not wait for it. Confined to the test's thread.
 */
final class Interleaving implements AutoCloseable {

    /** No replica is held. */
    static final int NONE = -1;

    /** What a session that waits for a lock is called, by the name of its user. */
    private static final String WAITING =
            "SELECT T.USERNAME FROM SYSCS_DIAG.LOCK_TABLE L, SYSCS_DIAG.TRANSACTION_TABLE T"
                    + " WHERE L.XID = T.XID AND L.STATE = 'WAIT'";

    private static final Duration WAIT = Duration.ofSeconds(60);

    /** A lock that is handed over is still waited for, for a moment. */
    private static final int SEEN_WAITING = 3;

    private final Cluster cluster;
    private final int held;
    private final List<Session> sessions = new ArrayList<>();
    private boolean holding;
    private Connection holder;
    private String end = "";

    /** A transaction with its client's thread. */
    private final class Session {
        final String user;
        final int replica;
        final Connection connection;
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        final AtomicInteger pending = new AtomicInteger();
        final List<String> reads = new ArrayList<>();
        volatile String failure = "";
        volatile boolean committing;
        volatile boolean committed;

        Session(int number, int replica, int level) throws SQLException {
            this.user = "S" + number;
            this.replica = replica;
            Properties properties = new Properties();
            properties.setProperty("user", user);
            this.connection = cluster.replica(replica).connect(properties);
            connection.setTransactionIsolation(level);
            connection.setAutoCommit(false);
        }

        void submit(String sql) {
            pending.incrementAndGet();
            thread.execute(() -> {
                try {
                    if (failure.isEmpty()) {
                        execute(sql);
                    }
                } catch (SQLException e) {
                    failure = String.valueOf(e.getSQLState());
                    rollback();
                } finally {
                    pending.decrementAndGet();
                }
            });
        }

        /** As an application does; not every failure has done so. */
        private void rollback() {
            try {
                connection.rollback();
            } catch (SQLException e) {
                failure = e.toString();
            }
        }

        private void execute(String sql) throws SQLException {
            if (sql.equals("COMMIT")) {
                committing = true;
                connection.commit();
                committed = true;
            } else if (sql.equals("ROLLBACK")) {
                connection.rollback();
            } else {
                try (Statement statement = connection.createStatement()) {
                    if (statement.execute(sql)) {
                        reads.add(rows(statement));
                    }
                }
            }
        }

        void close() throws SQLException {
            thread.shutdown();
            connection.rollback();
            connection.close();
        }
    }

    /**
     * Starts the sessions.
     *
     * @param replicas where each is
     * @param held the replica that hears nothing of the others from the first commit on until all have asked for theirs, or {@link #NONE}
     */
    Interleaving(Cluster cluster, int level, int held, int... replicas) throws SQLException {
        this.cluster = cluster;
        this.held = held;
        this.holder = cluster.connect(Math.max(held, 0));
        execute(cluster.connect(0), IsolationCase.RESET);
        awaitVisible();
        for (int replica : replicas) {
            sessions.add(new Session(sessions.size() + 1, replica, level));
        }
    }

    static void execute(Connection connection, List<String> statements) throws SQLException {
        try (connection;
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String sql : statements) {
                statement.execute(sql);
            }
            connection.commit();
        }
    }

    private static String rows(Statement statement) throws SQLException {
        Set<String> rows = new TreeSet<>();
        try (ResultSet set = statement.getResultSet()) {
            while (set.next()) {
                rows.add(set.getInt(1) + "=" + set.getInt(2));
            }
        }
        return String.join(" ", rows);
    }

    /** Runs it to its end; returns itself. */
    Interleaving run(IsolationCase schedule) throws SQLException {
        for (String step : schedule.steps()) {
            Session session = sessions.get(step.charAt(0) - '1');
            String sql = step.substring(2);
            if (sql.equals("COMMIT") && held != NONE && !holding) {
                hold();
            }
            session.submit(sql);
            awaitQuiet();
            if (sql.equals("COMMIT")) {
                awaitVisible();
            }
        }
        holder.rollback();
        holding = false;
        Awaitility.await("all have ended")
                .atMost(WAIT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> sessions.stream().allMatch(session -> session.pending.get() == 0));
        awaitVisible();
        for (int i = 0; i < cluster.size(); i++) {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement()) {
                statement.execute("SELECT ID, V FROM APP.T");
                String here = rows(statement);
                if (i > 0 && !here.equals(end)) {
                    throw new AssertionError(
                            schedule.name() + ": replica " + i + " holds " + here + ", replica 0 " + end);
                }
                end = here;
            }
        }
        return this;
    }

    /** Who reads is not in the way of others for ever, but here for longer than it takes. */
    private void hold() throws SQLException {
        holder.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        holder.setAutoCommit(false);
        try (Statement statement = holder.createStatement()) {
            statement.execute("SELECT N, N FROM APP.GATE");
            rows(statement);
        }
        execute(cluster.connect((held + 1) % cluster.size()), List.of("UPDATE APP.GATE SET N = N + 1"));
        holding = true;
    }

    /** Until each session has ended its statements, or waits for a lock or for its commit's turn at the held replica. */
    private void awaitQuiet() throws SQLException {
        long last = System.nanoTime() + WAIT.toNanos();
        int waitingSeen = 0;
        while (true) {
            List<Session> busy = sessions.stream()
                    .filter(session -> session.pending.get() > 0)
                    .toList();
            if (busy.isEmpty()) {
                return;
            }
            Set<String> waiting = waiting();
            boolean quiet = busy.stream().allMatch(session -> waiting.contains(session.user) || isSent(session));
            waitingSeen = quiet ? waitingSeen + 1 : 0;
            if (waitingSeen >= SEEN_WAITING) {
                return;
            }
            if (System.nanoTime() > last) {
                throw new AssertionError("neither ended nor waiting for a lock: "
                        + busy.stream().map(session -> session.user).toList());
            }
            pause();
        }
    }

    private boolean isSent(Session session) {
        return holding
                && session.replica == held
                && session.committing
                && cluster.replica(held).status().inFlight()
                        >= sessions.stream()
                                .filter(one -> one.replica == held && one.committing && one.pending.get() > 0)
                                .count();
    }

    private Set<String> waiting() throws SQLException {
        Set<String> users = new HashSet<>();
        for (int replica :
                sessions.stream().map(session -> session.replica).distinct().toList()) {
            try (Connection connection = cluster.connect(replica);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(WAITING)) {
                while (rows.next()) {
                    users.add(rows.getString(1));
                }
            }
        }
        return users;
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(2);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }

    /** Until all replicas but the held one show what is ordered. */
    private void awaitVisible() {
        long newest = 0;
        for (int i = 0; i < cluster.size(); i++) {
            newest = Math.max(newest, cluster.replica(i).status().orderedIndex());
        }
        long wanted = newest;
        Awaitility.await("all show it")
                .atMost(WAIT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> {
                    for (int i = 0; i < cluster.size(); i++) {
                        if (!(holding && i == held)
                                && cluster.replica(i).status().appliedIndex() < wanted) {
                            return false;
                        }
                    }
                    return true;
                });
    }

    /** Whether the transaction of this number was told that it is committed. */
    boolean committed(int number) {
        return sessions.get(number - 1).committed;
    }

    /** What each of its queries that succeeded gave, as {@code 1=10 2=20}. */
    List<String> reads(int number) {
        return sessions.get(number - 1).reads;
    }

    /** The table at the end, the same on all replicas. */
    String end() {
        return end;
    }

    /** The SQLSTATEs of the transactions that failed. */
    Set<String> failures() {
        Set<String> states = new TreeSet<>();
        sessions.forEach(session -> states.add(session.failure));
        states.remove("");
        return states;
    }

    @Override
    public void close() throws SQLException {
        holder.rollback();
        holder.close();
        for (Session session : sessions) {
            session.close();
        }
    }
}
