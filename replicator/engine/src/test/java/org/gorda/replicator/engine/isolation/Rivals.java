package org.gorda.replicator.engine.isolation;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Two clients that insert what excludes each other and commit at the same moment, again and again: of the two at most one may be committed. */
public final class Rivals {

    /** A conflict, and keys and constraints of the databases. */
    private static final Set<String> LOST = Set.of("40001", "23505", "23506", "23P01");

    /** What they insert. */
    public interface Rows {

        /** The statement of one of the two. */
        String insert(int attempt, boolean isSecond);
    }

    private interface Step {
        void run() throws SQLException;
    }

    private final CyclicBarrier together = new CyclicBarrier(2);

    private Rivals() {}

    /** Returns in how many attempts one of them was committed. */
    public static int committed(Connection first, Connection second, int attempts, Rows rows) throws Exception {
        first.setAutoCommit(false);
        second.setAutoCommit(false);
        ExecutorService clients = Executors.newFixedThreadPool(2);
        try {
            Rivals rivals = new Rivals();
            int committed = 0;
            for (int i = 0; i < attempts; i++) {
                Future<Boolean> one = clients.submit(rivals.client(first, rows.insert(i, false)));
                Future<Boolean> other = clients.submit(rivals.client(second, rows.insert(i, true)));
                boolean isFirst = one.get(30, TimeUnit.SECONDS);
                boolean isSecond = other.get(30, TimeUnit.SECONDS);
                assertThat(isFirst && isSecond)
                        .as("both of attempt %d are committed", i)
                        .isFalse();
                committed += isFirst || isSecond ? 1 : 0;
            }
            return committed;
        } finally {
            clients.shutdownNow();
        }
    }

    private Callable<Boolean> client(Connection connection, String insert) {
        return () -> {
            boolean isInserted = inTime(() -> {
                try (Statement statement = connection.createStatement()) {
                    statement.execute(insert);
                }
            });
            together.await(30, TimeUnit.SECONDS);
            boolean isCommitted = isInserted && inTime(connection::commit);
            if (!isCommitted) {
                connection.rollback();
            }
            return isCommitted;
        };
    }

    /** False if the other one was. */
    private static boolean inTime(Step step) {
        try {
            step.run();
            return true;
        } catch (SQLException e) {
            assertThat(LOST).as("%s", e.getMessage()).contains(e.getSQLState());
            return false;
        }
    }
}
