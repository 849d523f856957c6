package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/** Clerks who write into one ledger through plain JDBC and a pool, and who run a transaction again if they are told to. */
final class Ledger implements Application {

    private static final int CLERKS = 4;
    private static final int ENTRIES = 60;

    private final DataSource pool;

    Ledger(DataSource pool) {
        this.pool = pool;
    }

    @Override
    public void run(Runnable midway) throws Exception {
        Tables.create(
                pool, "CREATE TABLE entry (clerk INTEGER, line INTEGER, note VARCHAR(20), PRIMARY KEY (clerk, line))");
        Tables.create(pool, "CREATE TABLE total (clerk INTEGER PRIMARY KEY, entries INTEGER NOT NULL)");
        ExecutorService threads = Executors.newFixedThreadPool(CLERKS);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (int clerk = 0; clerk < CLERKS; clerk++) {
                int own = clerk;
                ends.add(threads.submit(() -> {
                    work(own, midway);
                    return null;
                }));
            }
            for (Future<?> end : ends) {
                end.get(90, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private void work(int clerk, Runnable midway) throws SQLException {
        int line = (int) retried(() ->
                Tables.number(pool, "SELECT COUNT(*) FROM entry WHERE clerk = " + clerk)); // a clerk leaves out no line
        while (line < ENTRIES) {
            int next = line + 1;
            retried(() -> enter(clerk, next, clerk == 0 && next == ENTRIES / 2 ? midway : () -> {}));
            line = next;
        }
    }

    private interface Work {
        long run() throws SQLException;
    }

    private static long retried(Work work) throws SQLException {
        while (true) {
            try {
                return work.run();
            } catch (SQLException e) {
                if (!Interruptions.isOne(e)) {
                    throw e;
                }
            }
        }
    }

    private long enter(int clerk, int line, Runnable inTransaction) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO entry VALUES (?, ?, ?)");
                    Statement statement = connection.createStatement()) {
                insert.setInt(1, clerk);
                insert.setInt(2, line);
                insert.setString(3, "line " + line);
                insert.executeUpdate();
                inTransaction.run();
                if (line == 1) {
                    statement.executeUpdate("INSERT INTO total VALUES (" + clerk + ", 0)");
                }
                statement.executeUpdate("UPDATE total SET entries = entries + 1 WHERE clerk = " + clerk);
                connection.commit();
            } catch (SQLException e) {
                if (!connection.isClosed()) {
                    connection.rollback();
                }
                throw e;
            }
        }
        return line;
    }

    @Override
    public void check() throws Exception {
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM entry")).isEqualTo(CLERKS * ENTRIES);
        assertThat(Tables.number(pool, "SELECT SUM(entries) FROM total")).isEqualTo(CLERKS * ENTRIES);
    }
}
