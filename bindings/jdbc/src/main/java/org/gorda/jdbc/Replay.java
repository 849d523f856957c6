package org.gorda.jdbc;

import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a connection's transaction has done since it began, so that it can be done again when the transaction is refused with 40001: each
 * execution with its parameters, each row that the application has read, in that order. Of what the application was given a checksum
 * is kept; if what it would be given is another one, the application may have drawn conclusions from it, and only the application can
 * run the transaction again. As a connection, for one thread at a time.
 */
final class Replay {

    private static final Logger LOG = LoggerFactory.getLogger(Replay.class);

    /** A transaction that does more is not replayed. */
    static final int STEPS_MAX = 10_000;

    static final long BYTES_MAX = 4 << 20;
    private static final int ROWS_MAX = 1000;
    private static final int PAUSE_MILLIS_MAX = 64;

    /** What a transaction has done. */
    interface Step {
        /**
         * Does it again.
         *
         * @throws DiffersException if the application would be given something else now
         */
        void again() throws SQLException, DiffersException;
    }

    /** A call, to be made once more after a replay. */
    interface Action {
        @Nullable
        Object run() throws SQLException;
    }

    /** What is told is another thing than what was told. */
    static final class DiffersException extends Exception {
        private static final long serialVersionUID = 1L;

        DiffersException(String message) {
            super(message, null, false, false);
        }
    }

    private final Connection connection;
    private final int retries;
    private final boolean wholeBatches;
    private final List<Step> steps = new ArrayList<>();
    private final Set<ReplayStatement> used = new LinkedHashSet<>();
    private final Set<ReplayRows> open = new LinkedHashSet<>();
    private @Nullable Step schema;
    private long bytes;
    private long number;
    private boolean autoCommit;
    private @Nullable String obstacle;
    private @Nullable String lasting;

    /**
     * @param connection whose transactions they are
     * @param retries how often a transaction is replayed at the most
     * @param wholeBatches whether in autocommit mode all of a batch is committed, or nothing
     */
    Replay(Connection connection, int retries, boolean wholeBatches) throws SQLException {
        this.connection = connection;
        this.retries = retries;
        this.wholeBatches = wholeBatches;
        this.autoCommit = connection.getAutoCommit();
    }

    boolean isAutoCommit() {
        return autoCommit;
    }

    void autoCommit(boolean value) {
        autoCommit = value;
    }

    /** Whether of a batch that is refused parts may be committed: engines' drivers commit each by itself. */
    boolean commitsParts() {
        return autoCommit && !wholeBatches;
    }

    /** Which transaction it is, of this connection's. */
    long number() {
        return number;
    }

    /** Whether nothing was executed yet that a replay would have to execute again. */
    boolean isEmpty() {
        return steps.isEmpty() && obstacle == null;
    }

    /** Whether the transaction may be replayed, as far as is known. */
    boolean isRecording() {
        return obstacle == null;
    }

    // ------------------------------------------------------------------------------------------------------ recording

    /** A new transaction begins, or will with the next statement. */
    void begin() {
        steps.clear();
        schema = null;
        used.clear();
        open.removeIf(ReplayRows::isClosed);
        bytes = 0;
        obstacle = lasting;
        number++;
    }

    /** A statement is about to be executed. */
    void executing(ReplayStatement statement) {
        if (autoCommit) {
            begin();
            if (!open.isEmpty()) {
                never("rows of an earlier statement were still open");
            }
        }
        if (obstacle == null) {
            used.add(statement);
        }
    }

    /** A step was done. */
    void add(Step step, long size) {
        if (obstacle != null) {
            return;
        }
        steps.add(step);
        bytes += size;
        if (steps.size() > STEPS_MAX) {
            never("it has done more than " + STEPS_MAX + " things");
        } else if (bytes > BYTES_MAX) {
            never("its statements and parameters take more than " + (BYTES_MAX >> 20) + " MB");
        }
    }

    /** The schema was set before all steps: with some engines a rollback takes that back. */
    void setSchema(Step step) {
        schema = step;
    }

    @Nullable
    Step lastStep() {
        return steps.isEmpty() ? null : steps.get(steps.size() - 1);
    }

    /** The transaction cannot be replayed, for a reason that goes on "because". */
    void never(String reason) {
        if (obstacle == null) {
            obstacle = reason;
            steps.clear();
            used.clear();
        }
    }

    /** As {@link #never}, for this transaction and all that follow. */
    void neverAgain(String reason) {
        never(reason);
        lasting = lasting == null ? reason : lasting;
    }

    /** A statement has failed; whether it was the statement alone is known for what is wrong with it or its values. */
    void failed(SQLException failure, Step step, long size) {
        if (isOfStatementOnly(failure)) {
            add(step, size);
        } else {
            never("a statement has failed with SQLSTATE " + failure.getSQLState());
        }
    }

    /** In autocommit mode: what the last statement did is committed. */
    void autoCommitted() {
        if (autoCommit) {
            begin();
        }
    }

    void opened(ReplayRows rows) {
        open.add(rows);
        if (open.size() > ROWS_MAX) {
            open.clear();
            neverAgain("more than " + ROWS_MAX + " result sets were open at a time");
        }
    }

    void closed(ReplayRows rows) {
        open.remove(rows);
    }

    // ------------------------------------------------------------------------------------------------------ replaying

    /** Makes a call that belongs to the transaction or ends it; if the transaction is refused, again after a replay. */
    @Nullable
    Object run(Action action) throws SQLException {
        try {
            return action.run();
        } catch (SQLException e) {
            if (!isRefusal(e)) {
                throw e;
            }
            return runAgain(action, e);
        }
    }

    /** Rows could not be read for a reason that says nothing: if it is that the transaction is refused, this throws that. */
    void meetRefusal() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery(DerbyConnection.ASK_REFUSAL).close();
        }
    }

    private @Nullable Object runAgain(Action action, SQLException first) throws SQLException {
        SQLException refused = first;
        for (int tries = 1; tries <= retries; tries++) {
            String reason = obstacle();
            if (reason != null) {
                throw gaveUp(refused, reason);
            }
            if (isLost(refused)) {
                never("the connection was lost");
                throw refused;
            }
            pause(tries);
            LOG.debug("replay {} after: {}", tries, refused.getMessage());
            try {
                replay();
            } catch (DiffersException e) {
                throw gaveUp(refused, String.valueOf(e.getMessage()));
            } catch (SQLException e) {
                if (!isRefusal(e)) {
                    SQLException told = gaveUp(refused, "that failed: " + e.getMessage());
                    told.setNextException(e);
                    throw told;
                }
                refused = e;
                continue;
            }
            try {
                return action.run();
            } catch (SQLException e) {
                if (!isRefusal(e)) {
                    throw e;
                }
                refused = e;
            }
        }
        throw gaveUp(refused, "it was refused each time");
    }

    private @Nullable String obstacle() {
        if (obstacle == null && open.stream().anyMatch(rows -> rows.number() != number)) {
            never("rows of an earlier transaction are still open");
        }
        return Thread.currentThread().isInterrupted() ? "the thread is interrupted" : obstacle;
    }

    private void replay() throws SQLException, DiffersException {
        if (!autoCommit) {
            connection.rollback();
        }
        if (schema != null) {
            schema.again();
        }
        try {
            for (Step step : steps) {
                step.again();
            }
        } finally {
            for (ReplayStatement statement : used) {
                statement.restore();
            }
        }
    }

    /** So that two that are in each other's way do not meet again. */
    private static void pause(int tries) {
        int most = Math.min(PAUSE_MILLIS_MAX, 1 << Math.min(tries, 10));
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(TimeUnit.MILLISECONDS.toNanos(most)));
    }

    private SQLException gaveUp(SQLException refused, String reason) {
        if (!autoCommit) {
            try {
                connection.rollback();
            } catch (SQLException e) {
                LOG.debug("after a replay was given up", e);
            }
        }
        begin();
        never("the application has not ended the transaction that was refused before");
        String text = refused.getMessage() + ". The driver has not run it again (retry=" + retries + "): " + reason;
        SQLException told = refused instanceof BatchUpdateException batch
                ? new BatchUpdateException(
                        text, refused.getSQLState(), refused.getErrorCode(), batch.getLargeUpdateCounts(), refused)
                : new SQLTransactionRollbackException(text, refused.getSQLState(), refused.getErrorCode(), refused);
        if (refused.getNextException() != null) {
            told.setNextException(refused.getNextException());
        }
        return told;
    }

    /** A batch tells what failed only in what follows it. */
    static boolean isRefusal(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if ("40001".equals(e.getSQLState())) {
                return true;
            }
        }
        return false;
    }

    private static boolean isLost(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if (Translation.endsConnection(e)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the transaction goes on: by the classes of SQLSTATEs for values, constraints, names and what is not supported. */
    static boolean isOfStatementOnly(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            String state = e.getSQLState();
            if (state == null || !state.matches("(21|22|23|42|0A).*")) {
                return false;
            }
        }
        return true;
    }
}
