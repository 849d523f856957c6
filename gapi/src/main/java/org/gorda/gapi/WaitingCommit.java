package org.gorda.gapi;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A suspended commit whose client's thread, the one that makes this, waits for the answer: where it stands, the same for all bindings. A
 * binding adds how its database commits and rolls back. Thread-safe.
 *
 * @param <T> the binding's transactions
 * @param <E> what the database fails with
 */
public abstract class WaitingCommit<T extends TransactionContext, E extends Exception> implements SuspendedCommit {

    private enum State {
        /** The transaction is open. */
        WAITING,
        /** As before; and it is sent, so that only the group decides. */
        SENT,
        /** As before; but its locks are for an ordered change: the client's thread rolls back, or has. */
        LOST,
        /** Another thread is committing it. */
        COMMITTING,
        /** Committed; the client's thread still waits. */
        COMMITTED,
        /** The database could not commit what is ordered: the client's thread keeps its locks until the replica has stopped, so that nobody builds on what is missing. */
        FAILED,
        /** Committed; the client's thread goes on. */
        RELEASED,
        /** It was lost, and its write set was applied; the client's thread goes on once it has rolled back. */
        REPLAYED,
        /** The client's thread rolls back what there is, and tells why. */
        REFUSED
    }

    private static final Set<State> UNSENT = EnumSet.of(State.WAITING);
    private static final Set<State> OPEN = EnumSet.of(State.WAITING, State.SENT);
    private static final Set<State> UNDECIDED = EnumSet.of(State.WAITING, State.SENT, State.LOST);
    private static final Set<State> UNTOLD =
            EnumSet.of(State.WAITING, State.SENT, State.LOST, State.COMMITTED, State.FAILED);
    private static final Set<State> ROLLS_BACK = EnumSet.of(State.LOST, State.REPLAYED);
    private static final Set<State> ANSWERED = EnumSet.of(State.RELEASED, State.REPLAYED, State.REFUSED);

    /** How long a client's thread may take to roll back before what was ordered goes on without it, and a commit before it may be lost. */
    private static final long OTHER_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final T transaction;
    private final WriteSet writeSet;
    private final Thread client = Thread.currentThread();
    private final long sinceNanos = System.nanoTime();

    /** Guarded by this, as what follows. */
    private State state = State.WAITING;

    /** Whether it is rolled back for what was ordered, or that has failed. */
    private boolean undone;

    /** With {@link State#REFUSED}. */
    private @Nullable Refusal refusal;

    /** Of the transaction with what it has changed. */
    protected WaitingCommit(T transaction, WriteSet writeSet) {
        this.transaction = transaction;
        this.writeSet = writeSet;
    }

    @Override
    public final T transaction() {
        return transaction;
    }

    @Override
    public final WriteSet writeSet() {
        return writeSet;
    }

    /** Wakes the client's thread if it has something to do then. False if it was in none of these states. */
    private synchronized boolean move(Set<State> from, State to, @Nullable Refusal why) {
        if (!from.contains(state)) {
            return false;
        }
        state = to;
        refusal = why;
        notifyAll();
        if (ROLLS_BACK.contains(to) || ANSWERED.contains(to)) {
            LockSupport.unpark(client);
        }
        return true;
    }

    private synchronized State state() {
        return state;
    }

    private synchronized @Nullable Refusal refusal() {
        return refusal;
    }

    // ---------------------------------------------------------------------------------------------- the binding adds

    /**
     * Makes sure that nothing is committed a second time.
     *
     * @throws IllegalArgumentException if the database holds the position already
     */
    protected abstract void checkNew(StoredPosition position);

    /**
     * As {@link SuspendedCommit#commit}, of a transaction that is open: after this call others see it.
     *
     * @return false if the database has lost it, which the listener was not told to be executed
     */
    protected abstract boolean commitOpen(@Nullable StoredPosition position, boolean durable) throws E;

    /** Rolls back, in the client's thread. */
    protected abstract void undo() throws E;

    // ------------------------------------------------------------------------------------------- the client's thread

    /**
     * Tells the listener and waits for the answer. An interrupt is kept for later: the transaction is not the client's alone any more.
     *
     * @return why it is refused and is to be rolled back; null if it is committed
     */
    protected final @Nullable Refusal await(TransactionListener listener) throws E {
        boolean interrupted = false;
        try {
            long patience = committing(listener);
            // From now on: a large transaction has taken its time to be sent.
            long deadline = System.nanoTime() + patience;
            boolean overdue = false;
            while (true) {
                State now = state();
                long left = deadline - System.nanoTime();
                if (ROLLS_BACK.contains(now) && !isUndone()) {
                    undoOnce();
                } else if (ANSWERED.contains(now)) {
                    return refusal();
                } else if (left <= 0 && now == State.COMMITTING && mayTakeLong()) {
                    deadline = System.nanoTime() + patience;
                } else if (left <= 0 && !overdue) {
                    long more = listener.overtimeNanos(this);
                    if (more > 0) {
                        deadline = System.nanoTime() + more;
                    } else {
                        overdue = true;
                        listener.overdue(this);
                    }
                } else {
                    // Once overdue was told there is an answer, or a commit under way that ends soon.
                    LockSupport.parkNanos(overdue ? 1_000_000_000 : left);
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void undoOnce() throws E {
        try {
            undo();
        } finally {
            synchronized (this) {
                undone = true;
                notifyAll();
            }
        }
    }

    /** Whether it was rolled back for an ordered change, so that only its write set is left of it. */
    public final synchronized boolean isUndone() {
        return undone;
    }

    private long committing(TransactionListener listener) {
        try {
            return listener.committing(this);
        } catch (RefusedException e) {
            abort(e.refusal());
            return 0;
        }
    }

    // ------------------------------------------------------------------------------------------------- other threads

    @Override
    public final long sinceNanos() {
        return sinceNanos;
    }

    @Override
    public final boolean isAnswered() {
        return ANSWERED.contains(state());
    }

    @Override
    public final boolean hasGivenWay() {
        return state() == State.LOST;
    }

    @Override
    public final boolean handOver() {
        return move(UNSENT, State.SENT, null);
    }

    /**
     * For {@link SuspendedCommit#isLost}, once it is sent. Waits for the end of a commit that is under way; one that takes long may be lost.
     *
     * @param ended whether the database has ended the transaction; asked while no other thread uses the database's session
     */
    protected final synchronized boolean isLost(BooleanSupplier ended) {
        awaitOther(() -> state != State.COMMITTING);
        return switch (state) {
            case SENT -> ended.getAsBoolean();
            case COMMITTING, LOST, FAILED -> true;
            default -> false;
        };
    }

    /** Waits for another thread, but not for long. The caller has this locked. */
    private void awaitOther(BooleanSupplier done) {
        long end = System.nanoTime() + OTHER_NANOS;
        boolean interrupted = false;
        while (!done.getAsBoolean() && end - System.nanoTime() > 0) {
            try {
                TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Gives up the transaction's locks for an ordered change. If it is sent, its commit is for the group to decide: the client's thread
     * rolls back and waits on. Does nothing if it is answered.
     *
     * @return whether it was not sent, and is refused now
     */
    public final boolean giveWay(Refusal why) {
        boolean refused = giveUp(why);
        if (!refused) {
            move(EnumSet.of(State.SENT), State.LOST, null);
        }
        return refused;
    }

    /**
     * Refuses it unless it is sent: then only the group decides. As {@link TransactionContext#abort}.
     *
     * @return whether it is refused now
     */
    public final boolean giveUp(Refusal why) {
        return move(UNSENT, State.REFUSED, why);
    }

    @Override
    public final boolean commit(@Nullable StoredPosition position, boolean durable) {
        if (position != null) {
            checkNew(position);
        }
        if (!move(OPEN, State.COMMITTING, null)) {
            return false;
        }
        State next = State.FAILED;
        try {
            boolean committed = commitOpen(position, durable);
            next = committed ? State.COMMITTED : State.LOST;
            return committed;
        } catch (Exception e) { // what the database declares
            throw new ReflectionException(
                    "the database could not commit transaction " + transaction.id() + " at " + position, e);
        } finally {
            move(EnumSet.of(State.COMMITTING), next, null);
        }
    }

    @Override
    public final synchronized void awaitUndone() {
        move(EnumSet.of(State.SENT), State.LOST, null);
        awaitOther(() -> state != State.LOST || undone);
    }

    @Override
    public final void release() {
        if (!move(EnumSet.of(State.COMMITTED), State.RELEASED, null)) {
            move(EnumSet.of(State.LOST), State.REPLAYED, null);
        }
    }

    @Override
    public final boolean abort(Refusal why) {
        return move(UNDECIDED, State.REFUSED, why);
    }

    @Override
    public final boolean leaveUnknown(Refusal why) {
        // If it is committed, it may not be on disk as was promised.
        return move(UNTOLD, State.REFUSED, why);
    }
}
