package org.gorda.gapi;

import org.jspecify.annotations.Nullable;

/**
 * A commit that waits for the meta level, its locks held and its client suspended. To be answered once, by any thread: {@link
 * #commit} and then {@link #release}, or {@link #abort}, or {@link #leaveUnknown}. Thread-safe.
 */
public interface SuspendedCommit {

    TransactionContext transaction();

    /** What the transaction has changed. */
    WriteSet writeSet();

    /**
     * The transaction is about to be sent: from now on, if an applied change needs its locks, it gives them up but not its commit. Until
     * then it is rolled back like one that runs.
     *
     * @return false if that has happened, or it was answered otherwise
     */
    boolean handOver();

    /** Whether it has given up its locks for an applied change since it was handed over. */
    boolean hasGivenWay();

    /** Whether it was answered, so that nobody waits for it any more. */
    boolean isAnswered();

    /**
     * Whether the database has lost its transaction by itself, as a server does when somebody ends the session: its locks are free, and who has waited for them
     * has not seen what it did. Where every transaction ends in this process only, none is.
     */
    default boolean isLost() {
        return false;
    }

    /** Since when it waits, by {@link System#nanoTime}. */
    long sinceNanos();

    /**
     * Commits in the database, in this thread, together with the position. On return the transaction is visible; its client is told
     * by {@link #release}, later.
     *
     * @param position after all that the database holds; null if there is no order
     * @param durable whether it must also be on the database's own disk on return
     * @return false if the database has lost the transaction meanwhile, to an applied change or otherwise: its write set must be
     *     applied instead
     * @throws IllegalArgumentException if the database holds that position already
     * @throws ReflectionException if the database refuses, so that it is not known what it holds: nobody may commit any more, and only then {@link #leaveUnknown} tells the
     *     client, who keeps its locks until then
     */
    boolean commit(@Nullable StoredPosition position, boolean durable);

    /** Whether {@link #commit} may take its time, because it makes a change of the schema: that is no standstill. */
    default boolean mayTakeLong() {
        return false;
    }

    /**
     * Its write set is about to be applied instead, by this thread: it gives up its locks, if it has not yet, and what it has changed is rolled back on
     * return. Otherwise the database might find there what the write set makes, and call by another name what the first one has none for. A client's thread
     * that takes longer than some seconds is not waited for.
     */
    void awaitUndone();

    /** Lets the client go on: its transaction is committed, here or, after {@link #commit} was false, by its write set. */
    void release();

    /**
     * Rolls back and tells the client. The rollback may not have ended on return.
     *
     * @return false if it was answered already
     */
    boolean abort(Refusal refusal);

    /**
     * Tells the client that the outcome is not known here, and gives up the database's transaction; {@link #commit} then returns
     * false.
     *
     * @return false if it was answered already
     */
    boolean leaveUnknown(Refusal refusal);

    /** As {@link #leaveUnknown}, because this replica stops. */
    default void leaveAtStop() {
        leaveUnknown(new Refusal(
                Refusal.Cause.UNKNOWN_OUTCOME,
                "this replica is stopping; ask another one for the outcome of transaction "
                        + transaction().id()));
    }
}
