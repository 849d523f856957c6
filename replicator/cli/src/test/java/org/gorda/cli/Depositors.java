package org.gorda.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.slf4j.LoggerFactory;

/**
 * Clients that make deposits, each in a transaction of its own, and remember what they were told of each. They begin paused. Confined to
 * the test's thread.
 */
final class Depositors implements AutoCloseable {

    static final String TABLE = "CREATE TABLE deposit (name VARCHAR(20) PRIMARY KEY)";

    /** What a client knows after its commit. */
    enum Told {
        DONE,
        NOT_DONE,
        UNKNOWN
    }

    /** @param inDoubt whether the answer to the commit was lost, so that the driver had to ask */
    record Deposit(String name, Told told, String state, boolean inDoubt) {}

    private final HikariDataSource pool;
    private final List<Thread> threads = new ArrayList<>();
    private final List<Deposit> deposits = new ArrayList<>();
    private final AtomicInteger committing = new AtomicInteger();
    private final AtomicInteger done = new AtomicInteger();
    private final Doubts doubts = new Doubts();

    /** Each deposit is made under the read lock; who has the write lock is alone. */
    private final ReentrantReadWriteLock pause = new ReentrantReadWriteLock(true);

    private volatile boolean stopping;

    Depositors(String url, int clients) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(clients);
        pool = new HikariDataSource(config);
        pause.writeLock().lock();
        for (int client = 0; client < clients; client++) {
            int own = client;
            Thread thread = new Thread(() -> work(own), "depositor-" + client);
            thread.start();
            threads.add(thread);
        }
    }

    void goOn() {
        done.set(0);
        pause.writeLock().unlock();
    }

    /** Returns when each knows the outcome of its last deposit. */
    void pause() {
        pause.writeLock().lock();
    }

    /** How many deposits succeeded since they last went on. */
    int done() {
        return done.get();
    }

    /** How many clients wait for the answer to a commit at this moment. */
    int committing() {
        return committing.get();
    }

    /** All deposits up to now; only while paused. */
    List<Deposit> all() {
        return deposits;
    }

    static Set<String> held(Connection connection) throws SQLException {
        Set<String> names = new HashSet<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT name FROM deposit")) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }

    private void work(int client) {
        for (int number = 1; !stopping; number++) {
            pause.readLock().lock();
            try {
                if (!stopping) {
                    Deposit deposit = deposit(client + "-" + number, client % 3 == 0);
                    synchronized (deposits) {
                        deposits.add(deposit);
                    }
                }
            } finally {
                pause.readLock().unlock();
            }
        }
    }

    private Deposit deposit(String name, boolean autoCommit) {
        doubts.forget();
        Told told = null;
        String state = "00000";
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(autoCommit);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO deposit VALUES (?)")) {
                insert.setString(1, name);
                if (autoCommit) {
                    committing(insert::executeUpdate);
                } else {
                    insert.executeUpdate();
                    committing(connection::commit);
                }
                told = Told.DONE;
                done.incrementAndGet();
            }
        } catch (SQLException e) {
            if (told == null) {
                state = String.valueOf(e.getSQLState());
                told = state.equals("08007") ? Told.UNKNOWN : Told.NOT_DONE;
            }
        }
        return new Deposit(name, told, state, doubts.hadOne());
    }

    private interface Commit {
        void run() throws SQLException;
    }

    private void committing(Commit commit) throws SQLException {
        committing.incrementAndGet();
        try {
            commit.run();
        } finally {
            committing.decrementAndGet();
        }
    }

    @Override
    public void close() {
        stopping = true;
        if (pause.isWriteLockedByCurrentThread()) {
            pause.writeLock().unlock();
        }
        try {
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        pool.close();
        doubts.stop();
    }

    /** A commit that was in doubt and is committed returns like any other; the driver's log alone tells, in the client's thread. */
    private static final class Doubts extends UnsynchronizedAppenderBase<ILoggingEvent> {

        private final Logger log = (Logger) LoggerFactory.getLogger("org.gorda.jdbc.ClusterConnection");
        private final ThreadLocal<Boolean> ofThisThread = ThreadLocal.withInitial(() -> false);

        Doubts() {
            log.setLevel(Level.INFO);
            log.setAdditive(false);
            log.addAppender(this);
            start();
        }

        void forget() {
            ofThisThread.set(false);
        }

        boolean hadOne() {
            return ofThisThread.get();
        }

        @Override
        protected void append(ILoggingEvent event) {
            if (event.getMessage().startsWith("the answer to the commit of")) {
                ofThisThread.set(true);
            }
        }

        @Override
        public void stop() {
            super.stop();
            log.detachAppender(this);
            log.setAdditive(true);
            log.setLevel(null);
        }
    }
}
