package org.gorda.bench.torture;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.gorda.bench.Timeline;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;

/**
 * Clients that execute transactions of several workloads one after the other, each on a connection that a HikariCP pool gives it, and
 * write down what they are told. Started and ended by one thread.
 */
final class Clients implements AutoCloseable {

    private static final Duration CONNECTION_WAIT = Duration.ofSeconds(10);
    private static final Duration LOAD_WAIT = Duration.ofSeconds(60);
    private static final Duration PAUSE_WITHOUT_CONNECTION = Duration.ofMillis(100);
    private static final long THINK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(10);
    private static final String OUTCOME_UNKNOWN = "08007";
    private static final String REFUSED = "40001";
    private static final int TRIES = 10;

    /** A workload and how many of all transactions are of it, in percent. */
    record Share(Workload workload, int percent) {}

    private final List<Share> shares;
    private final Findings findings;
    private final HikariDataSource pool;
    private final boolean tellsOutcomes;
    private final Timeline timeline = new Timeline();
    private final List<Client> clients = new ArrayList<>();
    private long beginNanos;
    private volatile boolean stopping;

    Clients(String url, int count, long seed, List<Share> shares, Findings findings) {
        this.shares = shares;
        this.findings = findings;
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        tellsOutcomes = url.startsWith("jdbc:gorda");
        config.setMaximumPoolSize(count);
        config.setAutoCommit(false);
        config.setConnectionTimeout(LOAD_WAIT.toMillis());
        config.setExceptionOverrideClassName("org.gorda.jdbc.HikariExceptionOverride");
        config.setPoolName("torture");
        pool = new HikariDataSource(config);
        for (int number = 0; number < count; number++) {
            clients.add(new Client(number, count, new SplittableRandom(seed * 31 + number)));
        }
    }

    /** Makes the tables, and starts all. */
    void start() {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (Share share : shares) {
                make(share.workload().schema(), connection, statement);
            }
        } catch (SQLException e) {
            throw new BenchException(
                    "the tables cannot be made: SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        }
        pool.getHikariConfigMXBean().setConnectionTimeout(CONNECTION_WAIT.toMillis());
        beginNanos = System.nanoTime();
        clients.forEach(Client::start);
    }

    /** Again if it is refused: where every replica takes writes one schema change may wait for another one. */
    private static void make(List<String> schema, Connection connection, Statement statement) throws SQLException {
        for (int tries = 1; ; tries++) {
            try {
                for (String line : schema) {
                    statement.execute(line);
                }
                connection.commit();
                return;
            } catch (SQLException e) {
                connection.rollback();
                if (tries == TRIES || !REFUSED.equals(e.getSQLState())) {
                    throw e;
                }
            }
        }
    }

    Timeline timeline() {
        return timeline;
    }

    /** How many transactions that change something clients have committed so far, each. */
    List<Long> changed() {
        return clients.stream().map(client -> client.changed.get()).toList();
    }

    /**
     * Ends all; who does not end is stuck, and what it does is of unknown outcome.
     */
    void stop(Duration wait) {
        stopping = true;
        long end = System.nanoTime() + wait.toNanos();
        for (Client client : clients) {
            client.awaitEnd(end);
        }
    }

    /** What clients of a workload wrote down, in the order of the beginnings. After the end. */
    List<Recorded> history(Workload workload) {
        return clients.stream()
                .flatMap(client -> client.history().stream())
                .filter(recorded -> recorded.workload().equals(workload.name()))
                .sorted((a, b) -> Long.compare(a.begunNanos(), b.begunNanos()))
                .toList();
    }

    @Override
    public void close() {
        stopping = true;
        pool.close();
    }

    /** One of them. */
    private final class Client {
        private final Thread thread;
        private final SplittableRandom random;
        private final int count;
        private final List<Recorded> history = new ArrayList<>();
        private final AtomicLong changed = new AtomicLong();
        private int process;
        private @Nullable Recorded running;

        Client(int number, int count, SplittableRandom random) {
            this.process = number;
            this.count = count;
            this.random = random;
            thread = new Thread(this::run, "client-" + number);
            thread.setDaemon(true);
        }

        void start() {
            thread.start();
        }

        void awaitEnd(long endNanos) {
            try {
                thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime())));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new BenchException("interrupted while the clients were ending", e);
            }
            if (thread.isAlive()) {
                findings.add(
                        Findings.STUCK,
                        thread.getName() + " does not come back from "
                                + Arrays.stream(thread.getStackTrace())
                                        .limit(12)
                                        .toList());
            }
        }

        /** Also of a client that does not come back. */
        synchronized List<Recorded> history() {
            List<Recorded> all = new ArrayList<>(history);
            if (running != null) {
                all.add(running);
            }
            return all;
        }

        private void run() {
            try {
                while (!stopping) {
                    execute();
                    LockSupport.parkNanos(random.nextLong(THINK_NANOS_MAX));
                }
            } catch (RuntimeException | Error e) {
                findings.add(
                        Findings.BROKEN,
                        thread.getName() + " in " + describeRunning() + ": " + e + " at "
                                + Arrays.stream(e.getStackTrace()).limit(6).toList());
            }
        }

        private synchronized String describeRunning() {
            return running == null ? "nothing" : running.operation().value(true);
        }

        private Workload workload() {
            int dice = random.nextInt(shares.stream().mapToInt(Share::percent).sum());
            for (Share share : shares) {
                dice -= share.percent();
                if (dice < 0) {
                    return share.workload();
                }
            }
            throw new AssertionError("shares of " + shares);
        }

        private void execute() {
            Workload workload = workload();
            Operation operation = workload.next(random);
            boolean[] begun = {false};
            try (Connection connection = pool.getConnection()) {
                connection.setTransactionIsolation(operation.isolation().jdbc());
                connection.setReadOnly(operation.readOnly());
                begun[0] = true;
                execute(workload, operation, connection);
            } catch (SQLException e) {
                if (!begun[0]) {
                    timeline.noConnection();
                    LockSupport.parkNanos(PAUSE_WITHOUT_CONNECTION.toNanos());
                }
            }
        }

        private void execute(Workload workload, Operation operation, Connection connection) throws SQLException {
            long begun = System.nanoTime();
            boolean committing = false;
            begin(workload, operation, begun);
            try {
                operation.run(connection);
                committing = true;
                connection.commit();
                record(workload, operation, begun, Outcome.OK, null);
                if (operation.changes()) {
                    changed.incrementAndGet();
                }
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                boolean unknown = state.equals(OUTCOME_UNKNOWN) || (committing && !tellsOutcomes && isLost(state));
                record(workload, operation, begun, unknown ? Outcome.UNKNOWN : Outcome.FAILED, state);
                process += unknown ? count : 0;
                if (!connection.isClosed()) {
                    connection.rollback();
                }
            }
        }

        /** Other drivers than ours do not ask the survivors what became of a commit. */
        private static boolean isLost(String state) {
            return state.startsWith("08") || state.startsWith("57P");
        }

        private synchronized void begin(Workload workload, Operation operation, long begun) {
            long since = begun - beginNanos;
            running = new Recorded(workload.name(), operation, process, since, since, Outcome.UNKNOWN, null);
        }

        private synchronized void record(
                Workload workload, Operation operation, long begun, Outcome outcome, @Nullable String state) {
            long now = System.nanoTime();
            switch (outcome) {
                case OK -> timeline.committed(now - begun);
                case FAILED -> timeline.failed();
                case UNKNOWN -> timeline.unknown();
            }
            running = null;
            history.add(new Recorded(
                    workload.name(), operation, process, begun - beginNanos, now - beginNanos, outcome, state));
        }
    }
}
