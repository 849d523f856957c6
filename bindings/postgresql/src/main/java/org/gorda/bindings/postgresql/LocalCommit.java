package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSet;
import org.jspecify.annotations.Nullable;

/** A client's commit, its thread waiting for the meta level's answer before the server is asked to commit. Thread-safe. */
final class LocalCommit implements SuspendedCommit {

    private enum State {
        /** The client's thread waits; the transaction is open. */
        WAITING,
        /** As before; and it is sent, so that only the group decides. */
        SENT,
        /** The client's thread waits; it rolls back for an ordered change, or has. */
        LOST,
        /** Another thread is committing it. */
        COMMITTING,
        /** Committed; the client's thread still waits. */
        COMMITTED,
        /** Committed; the client's thread goes on. */
        RELEASED,
        /** About to be {@link #ABORTED}. */
        REFUSING,
        /** To be rolled back by the client's thread. */
        ABORTED,
        /** The commit failed in the middle. */
        FAILED
    }

    private final LocalTransaction transaction;
    private final Sessions sessions;
    private final WriteSet writeSet;
    private final String sql;
    private final Thread client = Thread.currentThread();
    private final long sinceNanos = System.nanoTime();
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private volatile @Nullable Refusal refusal;

    /** Set with {@link State#LOST} and for good. */
    private volatile boolean lost;

    /** @param sql the statement that commits */
    LocalCommit(LocalTransaction transaction, Sessions sessions, WriteSet writeSet, String sql) {
        this.transaction = transaction;
        this.sessions = sessions;
        this.writeSet = writeSet;
        this.sql = sql;
    }

    @Override
    public TransactionContext transaction() {
        return transaction;
    }

    @Override
    public WriteSet writeSet() {
        return writeSet;
    }

    @Override
    public long sinceNanos() {
        return sinceNanos;
    }

    /**
     * Tells the listener and waits for the answer, in the client's thread. An interrupt is kept for later: the transaction is not the
     * client's alone any more.
     *
     * @return why it is refused, and must be rolled back if it {@linkplain #isLost was not}; null if it is committed
     */
    @Nullable
    Refusal awaitAnswer() {
        TransactionListener listener = sessions.listener();
        sessions.suspended(this);
        boolean interrupted = false;
        try {
            long patience = committing(listener);
            // From now on: a large transaction has taken its time to be sent.
            long deadline = System.nanoTime() + patience;
            boolean overdue = false;
            boolean undone = false;
            while (!isAnswered() || (lost && !undone)) {
                long left = deadline - System.nanoTime();
                if (lost && !undone) {
                    undone = true;
                    transaction.connection().undo();
                } else if (left <= 0 && !overdue) {
                    overdue = true;
                    listener.overdue(this);
                } else {
                    // Once overdue was told there is an answer, or a commit under way that ends soon.
                    LockSupport.parkNanos(overdue ? 1_000_000_000 : left);
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            sessions.answered(this);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (state.get() == State.FAILED) {
            return new Refusal(
                    Refusal.Cause.UNKNOWN_OUTCOME,
                    "the commit of transaction " + transaction.id()
                            + " failed in this replica's database: ask another replica for its outcome");
        }
        return refusal;
    }

    private long committing(TransactionListener listener) {
        try {
            return listener.committing(this);
        } catch (RefusedException e) {
            refuse(e.refusal());
            return 0;
        }
    }

    /** Whether the server's transaction was rolled back for an ordered change, or has ended by itself. */
    boolean isLost() {
        return lost;
    }

    @Override
    public boolean isAnswered() {
        State now = state.get();
        return now == State.RELEASED || now == State.ABORTED || now == State.FAILED;
    }

    @Override
    public boolean handOver() {
        return state.compareAndSet(State.WAITING, State.SENT);
    }

    /** Gives up the transaction's locks for an ordered change. If it is sent, its commit is for the group to decide, and its client waits on. */
    void giveWay(Refusal why) {
        if (state.compareAndSet(State.SENT, State.LOST)) {
            // Only the thread that calls this answers what it has taken away.
            lost = true;
            LockSupport.unpark(client);
        } else {
            refuse(State.WAITING, why);
        }
    }

    private boolean refuse(Refusal why) {
        return refuse(State.WAITING, why) || refuse(State.SENT, why) || refuse(State.LOST, why);
    }

    private boolean refuse(State from, Refusal why) {
        // The reason must be there before the client's thread sees the state.
        if (!state.compareAndSet(from, State.REFUSING)) {
            return false;
        }
        refusal = why;
        state.set(State.ABORTED);
        LockSupport.unpark(client);
        return true;
    }

    /** The client's thread does not use the server's connection meanwhile: this one does. */
    @Override
    public boolean commit(@Nullable StoredPosition position, boolean durable) {
        if (position != null) {
            sessions.database().checkNew(position);
        }
        if (!state.compareAndSet(State.SENT, State.COMMITTING)
                && !state.compareAndSet(State.WAITING, State.COMMITTING)) {
            return false;
        }
        try {
            if (!commitOnServer(position, durable)) {
                lost = true;
                state.set(State.LOST);
                LockSupport.unpark(client);
                return false;
            }
            if (position != null) {
                sessions.database().committed(position);
            }
            state.set(State.COMMITTED);
            return true;
        } catch (SQLException | RuntimeException e) {
            state.set(State.FAILED);
            LockSupport.unpark(client);
            throw new ReflectionException(
                    "the database could not commit transaction " + transaction.id() + " at " + position, e);
        }
    }

    /**
     * Commits.
     *
     * @return false if the server has lost the transaction
     * @throws SQLException if it is not known, or if it is lost after it was told to be executed
     */
    private boolean commitOnServer(@Nullable StoredPosition position, boolean durable) throws SQLException {
        ClientSession session = transaction.connection();
        // What may fail in the server's commit is told to be executed only when it has not: others may then take this
        // one for younger than it is.
        boolean isSure = !session.mayFailToCommit();
        if (!session.isAlive()) {
            return false;
        }
        if (position != null && isSure) {
            sessions.listener().executed(position);
        }
        try {
            session.commitNow(position, durable, sql);
        } catch (IOException e) {
            if (position == null || !sessions.holds(position, session.process())) {
                return lostOnServer(isSure && position != null, e);
            }
        } catch (SQLException e) {
            return lostOnServer(isSure && position != null, e);
        }
        if (position != null && !isSure) {
            sessions.listener().executed(position);
        }
        return true;
    }

    private static boolean lostOnServer(boolean wasTold, Exception failure) throws SQLException {
        if (wasTold) {
            throw new SQLException("the server has lost a transaction in its commit", "40003", failure);
        }
        return false;
    }

    @Override
    public void release() {
        if (state.compareAndSet(State.COMMITTED, State.RELEASED) || state.compareAndSet(State.LOST, State.RELEASED)) {
            LockSupport.unpark(client);
        }
    }

    @Override
    public boolean abort(Refusal why) {
        return refuse(why);
    }

    @Override
    public boolean leaveUnknown(Refusal why) {
        if (refuse(why)) {
            return true;
        }
        // Committed, but not on disk as was promised.
        boolean undecided = state.compareAndSet(State.COMMITTED, State.FAILED);
        LockSupport.unpark(client);
        return undecided;
    }
}
