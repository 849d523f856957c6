package org.gorda.bindings.triggers;

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

/** A client's commit, its thread waiting for the meta level's answer before the database is asked to commit. Thread-safe. */
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
    private final TriggeredDatabase database;
    private final WriteSet writeSet;
    private final @Nullable SchemaChange schemaChange;
    private final Thread client = Thread.currentThread();
    private final long sinceNanos = System.nanoTime();
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private volatile @Nullable Refusal refusal;
    private volatile @Nullable SQLException failure;

    /** Set with {@link State#LOST} and for good. */
    private volatile boolean lost;

    /** A change of the schema that is made by the commit, because the database would commit it by itself. */
    record SchemaChange(String schema, String sql) {}

    LocalCommit(
            LocalTransaction transaction,
            TriggeredDatabase database,
            WriteSet writeSet,
            @Nullable SchemaChange schemaChange) {
        this.transaction = transaction;
        this.database = database;
        this.writeSet = writeSet;
        this.schemaChange = schemaChange;
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
     * @return why it is refused, and must be rolled back; null if it is committed
     * @throws SQLException what the change of the schema has failed with, on all replicas
     */
    @Nullable
    Refusal awaitAnswer() throws SQLException {
        TransactionListener listener = database.listener();
        database.suspended(this);
        boolean interrupted = false;
        try {
            long deadline = committing(listener) + System.nanoTime();
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
            database.answered(this);
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
        SQLException failed = failure;
        if (state.get() == State.RELEASED && failed != null) {
            throw failed;
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

    @Override
    public boolean commit(@Nullable StoredPosition position, boolean durable) {
        if (position != null) {
            database.checkNew(position);
        }
        if (!state.compareAndSet(State.SENT, State.COMMITTING)
                && !state.compareAndSet(State.WAITING, State.COMMITTING)) {
            return false;
        }
        try {
            if (position != null) {
                database.listener().executed(position);
            }
            SchemaChange change = schemaChange;
            failure = change == null ? null : database.changeSchema(transaction.connection(), change);
            database.commit(transaction.connection().inner(), position, durable);
            state.set(State.COMMITTED);
            return true;
        } catch (SQLException | RuntimeException e) {
            state.set(State.FAILED);
            LockSupport.unpark(client);
            throw new ReflectionException(
                    "the database could not commit transaction " + transaction.id() + " at " + position, e);
        }
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
