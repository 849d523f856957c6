package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.sql.SQLException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.WaitingCommit;
import org.gorda.gapi.WriteSet;
import org.jspecify.annotations.Nullable;

/** A client's commit, its thread waiting for the meta level's answer before the server is asked to commit. Thread-safe. */
final class LocalCommit extends WaitingCommit<LocalTransaction, SQLException> {

    private static final String MORE =
            "the transaction is committed, but for rows that the server was to change within its COMMIT, by a cursor"
                    + " WITH HOLD or a deferred trigger that other triggers have put off: look at its rows, and change those by statements before COMMIT";

    /** Of what our triggers refuse. */
    private static final String UNTOLD = "GW002";

    private final Sessions sessions;
    private final String sql;

    /** Written and read by the client's thread. */
    private boolean losesMore;

    /** The server has changed rows in its COMMIT, as by a function that a cursor WITH HOLD calls: nobody was told of them. */
    private volatile boolean isMore;

    /** @param sql the statement that commits */
    LocalCommit(LocalTransaction transaction, Sessions sessions, WriteSet writeSet, String sql) {
        super(transaction, writeSet);
        this.sessions = sessions;
        this.sql = sql;
    }

    /**
     * Tells the listener and waits for the answer, in the client's thread.
     *
     * @return why it is refused, and must be rolled back if it was not {@linkplain #isUndone undone}; null if it is committed
     */
    @Nullable
    Refusal awaitAnswer() throws SQLException {
        sessions.suspended(this);
        try {
            Refusal refusal = await(sessions.listener());
            return refusal == null && isMore ? new Refusal(Refusal.Cause.UNKNOWN_OUTCOME, MORE) : refusal;
        } finally {
            sessions.answered(this);
        }
    }

    @Override
    protected void undo() {
        losesMore = transaction().connection().undoWithOwn(transaction()) || !sql.equals("COMMIT");
    }

    /** Whether with the transaction, which is {@linkplain #isUndone undone}, more is lost than its changes and settings: what is the session's own, or the transaction that was to follow. */
    boolean losesMore() {
        return losesMore;
    }

    @Override
    protected void checkNew(StoredPosition position) {
        sessions.database().checkNew(position);
    }

    /** The server tells that it ends a session before it frees its locks. */
    @Override
    public boolean isLost() {
        return isLost(() -> !transaction().connection().isAlive());
    }

    /** The client's thread does not use the server's connection meanwhile: this one does. */
    @Override
    protected boolean commitOpen(@Nullable StoredPosition position, boolean durable) throws SQLException {
        boolean committed = commitOnServer(position, durable);
        if (committed && position != null) {
            sessions.database().committed(position);
        }
        return committed;
    }

    /**
     * Commits.
     *
     * @return false if the server has lost the transaction
     * @throws SQLException if it is not known, or if it is lost after it was told to be executed
     */
    private boolean commitOnServer(@Nullable StoredPosition position, boolean durable) throws SQLException {
        ClientSession session = transaction().connection();
        // What may fail in the server's commit is told to be executed only when it has not: others may then take this
        // one for younger than it is.
        boolean isSure = !session.mayFailToCommit();
        if (!session.isAlive()) {
            return false;
        }
        boolean isTold = isSure && position != null;
        if (position != null && isSure) {
            sessions.listener().executed(position);
        }
        try {
            session.commitNow(position, durable, sql);
        } catch (IOException e) {
            if (position == null || !sessions.holds(position, session.process())) {
                return lostOnServer(isTold, e);
            }
        } catch (SQLException e) {
            isMore = UNTOLD.equals(e.getSQLState());
            return lostOnServer(isTold, e);
        }
        if (position != null && !isSure) {
            sessions.listener().executed(position);
        }
        return true;
    }

    /** Where one replica takes writes, nobody looks at what was told to be executed. */
    private boolean lostOnServer(boolean wasTold, Exception failure) throws SQLException {
        if (wasTold && sessions.listener().wantsKeys()) {
            throw new SQLException("the server has lost a transaction in its commit", "40003", failure);
        }
        return false;
    }
}
