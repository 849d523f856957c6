package org.gorda.bindings.derby;

import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSet;
import org.jspecify.annotations.Nullable;

/** A client's commit, its thread waiting in Derby's commit for the meta level's answer. Thread-safe. */
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
    private final ReflectedConnection connection;
    private final WriteSet writeSet;
    private final boolean byUser;
    private final Thread client = Thread.currentThread();
    private final long sinceNanos = System.nanoTime();
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private volatile @Nullable Refusal refusal;

    /** Set with {@link State#LOST} and for good. */
    private volatile boolean lost;

    LocalCommit(LocalTransaction transaction, ReflectedConnection connection, WriteSet writeSet, boolean byUser) {
        this.transaction = transaction;
        this.connection = connection;
        this.writeSet = writeSet;
        this.byUser = byUser;
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
     * @throws StandardException the refusal, upon which Derby rolls back
     */
    void awaitAnswer(DerbyDatabase database) throws StandardException {
        TransactionListener listener = database.listener();
        database.suspended(this);
        boolean interrupted = false;
        try {
            long patience = committing(listener);
            // From now on: a large transaction has taken its time to be sent.
            long deadline = System.nanoTime() + patience;
            boolean overdue = false;
            boolean undone = false;
            while (!isAnswered() || (lost && !undone)) {
                if (lost && !undone) {
                    undone = true;
                    connection.undo();
                    continue;
                }
                long left = deadline - System.nanoTime();
                if (left <= 0 && !overdue) {
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
        Refusal refused = refusal;
        if (state.get() == State.ABORTED && refused != null) {
            throw DerbyRefusal.ofCommit(refused);
        }
        if (state.get() == State.FAILED) {
            throw new DerbyRefusal(new Refusal(
                    Refusal.Cause.UNKNOWN_OUTCOME,
                    "the commit of transaction " + transaction.id()
                            + " failed in this replica's database: ask another replica for " + "its outcome"));
        }
    }

    private long committing(TransactionListener listener) {
        try {
            return listener.committing(this);
        } catch (org.gorda.gapi.RefusedException e) {
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

    /**
     * Gives up the transaction's locks for an ordered change. If it is sent, its commit is for the group to decide: the client's thread
     * rolls back and waits on. Does nothing if it is answered.
     *
     * @return whether it was not sent, and is refused now
     */
    boolean giveWay(Refusal why) {
        if (state.compareAndSet(State.SENT, State.LOST)) {
            lost = true;
            LockSupport.unpark(client);
            return false;
        }
        return refuse(State.WAITING, why);
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
            connection.database().checkNew(position);
        }
        if (!state.compareAndSet(State.SENT, State.COMMITTING)
                && !state.compareAndSet(State.WAITING, State.COMMITTING)) {
            return false;
        }
        try {
            if (position != null) {
                connection.database().listener().executed(position);
            }
            connection.commitInStore(position, durable, byUser);
            if (position != null) {
                connection.database().committed(position);
            }
            state.set(State.COMMITTED);
            return true;
        } catch (Error e) {
            state.set(State.FAILED);
            LockSupport.unpark(client);
            throw e;
        } catch (StandardException | RuntimeException e) {
            state.set(State.FAILED);
            LockSupport.unpark(client);
            throw new ReflectionException(
                    "Derby could not commit transaction " + transaction.id() + " at " + position, e);
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
