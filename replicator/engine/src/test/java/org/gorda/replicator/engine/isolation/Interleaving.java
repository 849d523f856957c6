package org.gorda.replicator.engine.isolation;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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
public final class Interleaving implements AutoCloseable {

    /** No replica is held. */
    public static final int NONE = -1;

    private static final Duration WAIT = Duration.ofSeconds(60);

    /** A lock that is handed over is still waited for, for a moment. */
    private static final int SEEN_WAITING = 3;

    private final IsolationReplicas replicas;
    private final int held;
    private final List<Session> sessions = new ArrayList<>();
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
            this.connection = replicas.connect(replica, user);
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
     * @param where each is
     * @param held the replica that hears nothing of the others from the first commit on until all have asked for theirs, or {@link #NONE}
     */
    public Interleaving(IsolationReplicas replicas, int level, int held, int... where) throws SQLException {
        this.replicas = replicas;
        this.held = held;
        execute(0, IsolationCase.RESET);
        awaitVisible();
        for (int replica : where) {
            sessions.add(new Session(sessions.size() + 1, replica, level));
        }
    }

    private void execute(int replica, List<String> statements) throws SQLException {
        Connection connection = replicas.other(replica);
        try (Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String sql : statements) {
                statement.execute(sql);
            }
            connection.setAutoCommit(true);
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
    public Interleaving run(IsolationCase schedule) throws SQLException {
        for (String step : schedule.steps()) {
            Session session = sessions.get(step.charAt(0) - '1');
            String sql = step.substring(2);
            if (sql.equals("COMMIT") && held != NONE && holder == null) {
                hold();
            }
            session.submit(sql);
            awaitQuiet();
            if (sql.equals("COMMIT")) {
                awaitVisible();
            }
        }
        letGo();
        Awaitility.await("all have ended")
                .atMost(WAIT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> sessions.stream().allMatch(session -> session.pending.get() == 0));
        awaitVisible();
        for (int i = 0; i < replicas.size(); i++) {
            try (Statement statement = replicas.other(i).createStatement()) {
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

    private void hold() throws SQLException {
        holder = replicas.hold(held);
        execute((held + 1) % replicas.size(), List.of("UPDATE APP.GATE SET N = N + 1"));
    }

    private void letGo() throws SQLException {
        if (holder != null) {
            holder.rollback();
            holder.close();
            holder = null;
        }
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
            pause(); // most statements have ended after it, and nobody need look at locks
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
        }
    }

    private boolean isSent(Session session) {
        return holder != null
                && session.replica == held
                && session.committing
                && replicas.replica(held).status().inFlight()
                        >= sessions.stream()
                                .filter(one -> one.replica == held && one.committing && one.pending.get() > 0)
                                .count();
    }

    private Set<String> waiting() throws SQLException {
        Set<String> users = new HashSet<>();
        for (int replica :
                sessions.stream().map(session -> session.replica).distinct().toList()) {
            users.addAll(replicas.waiting(replica));
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
        for (int i = 0; i < replicas.size(); i++) {
            newest = Math.max(newest, replicas.replica(i).status().orderedIndex());
        }
        long wanted = newest;
        Awaitility.await("all show it")
                .atMost(WAIT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> {
                    for (int i = 0; i < replicas.size(); i++) {
                        if (!(holder != null && i == held)
                                && replicas.replica(i).status().appliedIndex() < wanted) {
                            return false;
                        }
                    }
                    return true;
                });
    }

    /** Whether the transaction of this number was told that it is committed. */
    public boolean committed(int number) {
        return sessions.get(number - 1).committed;
    }

    /** What each of its queries that succeeded gave, as {@code 1=10 2=20}. */
    public List<String> reads(int number) {
        return sessions.get(number - 1).reads;
    }

    /** The table at the end, the same on all replicas. */
    public String end() {
        return end;
    }

    /** The SQLSTATEs of the transactions that failed. */
    public Set<String> failures() {
        Set<String> states = new TreeSet<>();
        sessions.forEach(session -> states.add(session.failure));
        states.remove("");
        return states;
    }

    @Override
    public void close() throws SQLException {
        letGo();
        for (Session session : sessions) {
            session.close();
        }
    }
}
