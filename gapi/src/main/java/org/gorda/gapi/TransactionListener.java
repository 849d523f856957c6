package org.gorda.gapi;

import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a meta level is told of a database's transactions, each in the thread of its client. Transactions that change nothing are
 * not told of. Methods must not throw anything but what they declare.
 */
public interface TransactionListener {

    /** Up to which place in the order the database shows everything now. */
    default long visible() {
        return 0;
    }

    /**
     * A connection is about to execute the first statement of a transaction, of whatever kind, and holds no locks. May wait for a moment,
     * so that who has lost against another transaction sees that one now; an interrupt ends that.
     *
     * @return what is {@link #visible} then, to be given back as {@link TransactionContext#begunAt}
     */
    default long beginning(ConnectionContext connection) {
        return visible();
    }

    /** Whether a transaction that changes something would not be refused now because another replica takes them. Clients may be told. */
    default boolean takesWrites() {
        return true;
    }

    /** Up to which place in the order anybody may have seen anything in the database: not less than {@link #visible}. */
    default long seen() {
        return visible();
    }

    /**
     * Waits until the database shows everything up to a place in the order that {@link #seen} was, here or at another replica. An
     * interrupt ends that: who waits may hold locks.
     *
     * @throws RefusedException if that takes too long
     */
    default void awaitVisible(long index) {}

    /** Whether transactions are to {@link #pace} themselves. */
    default boolean isPacing() {
        return false;
    }

    /**
     * Called before {@link #begin} if {@link #isPacing}: waits, so that no replica falls too far behind. An interrupt ends that: who waits may hold locks.
     *
     * @throws RefusedException to refuse the change; the transaction goes on without it
     */
    default void pace() {}

    /**
     * A transaction is about to make its first change.
     *
     * @throws RefusedException to refuse the change; the transaction goes on without it
     */
    void begin(TransactionContext transaction);

    /**
     * Whether the write set of a transaction must carry certification keys, and what it has read if it is SERIALIZABLE. Asked once, after {@link
     * #begin}; if the answer changes after that, the transaction is refused.
     */
    default boolean wantsKeys() {
        return false;
    }

    /**
     * Whether the values of sequences and identity columns come from {@link #leased} and {@link #lease}, and not from the database's own
     * generators. What a transaction creates itself generates its values by itself, until its
     * commit.
     */
    default boolean leases() {
        return false;
    }

    /**
     * A transaction that has begun takes a value. Does not wait.
     *
     * @param generator by its identity in this database: another one once it was dropped or restarted
     * @return empty if there is none at hand, whereupon {@link #lease} is called
     */
    default OptionalLong leased(String generator) {
        return OptionalLong.empty();
    }

    /**
     * As {@link #leased}, but waits for new values. An interrupt ends that: who waits holds locks.
     *
     * @param state as the transaction sees it, so not older than where it {@linkplain TransactionContext#begunAt began}
     * @return empty if the generator has none left
     * @throws RefusedException if there is none for now, or if the transaction cannot be committed any more
     */
    default OptionalLong lease(TransactionContext transaction, String generator, GeneratorState state) {
        return OptionalLong.empty();
    }

    /**
     * As {@link #lease}, for databases whose own generators give the values, in which nobody can be asked for each: values for any transaction of this
     * database. An interrupt ends the wait.
     *
     * @param wanted how many of each generator, as the database shows it
     * @param seen what was {@link #visible} before the database was asked for that
     * @return for each of them, fewer if there are not as many
     * @throws RefusedException if there are none for now, or if the schema has changed since
     */
    default Map<Generator, GeneratorRange> leaseRanges(Map<GeneratorState, Integer> wanted, long seen) {
        return Map.of();
    }

    /**
     * A transaction that has begun is about to change the schema, for the first time or after {@link #schemaUnchanged}. May wait; an
     * interrupt ends that: who waits holds locks.
     *
     * @param first whether nothing was executed in it before: then it is begun anew after this call, where the database shows more, as
     *     {@link TransactionContext#begunAt} tells
     * @throws RefusedException to refuse the schema change
     */
    default void changesSchema(TransactionContext transaction, boolean first) {}

    /** A transaction goes on, all of whose changes of the schema have failed or were rolled back to a savepoint. */
    default void schemaUnchanged(TransactionContext transaction) {}

    /** Whether a transaction that changes the schema wins now, like an applied change, against those that hold locks it needs. */
    default boolean wins(TransactionContext transaction) {
        return false;
    }

    /**
     * A transaction is about to commit: all checks have passed and its locks are held. It waits for the answer, which may come later
     * and from another thread.
     *
     * @return how long it may wait, in nanoseconds; then {@link #overdue} is called
     * @throws RefusedException to refuse the commit at once
     */
    long committing(SuspendedCommit commit);

    /**
     * A suspended commit is about to be committed at this place in the order, and cannot be lost any more; its locks are still held. Called by
     * {@link SuspendedCommit#commit}, only if that does not return false.
     */
    default void executed(StoredPosition position) {}

    /**
     * A suspended commit has waited as long as it may: how much longer it may, because something that takes its time, and is no failure, holds up what is
     * ordered. Asked again then; 0 if there is nothing like that.
     */
    default long overtimeNanos(SuspendedCommit commit) {
        return 0;
    }

    /** A suspended commit has waited as long as it may. It must be answered by now or by this call. */
    void overdue(SuspendedCommit commit);

    /**
     * An applied change needs locks that clients' transactions hold: what those are told that are rolled back for it. Called in the
     * applier's thread; or in the thread of a client whose transaction {@linkplain #wins wins} like it.
     *
     * @param row that is about to be changed, null if none is: the schema is changed, or the applier reads
     */
    default Refusal makeWay(@Nullable RowKey row) {
        return new Refusal(Refusal.Cause.PRIORITY, "the transaction was in the way of an ordered change: run it again");
    }

    /**
     * A transaction of this connection, not sent yet, is rolled back because an applied change needs its locks.
     *
     * @param row as for {@link #makeWay}
     */
    default void gaveWay(ConnectionContext connection, @Nullable RowKey row) {}

    /** A transaction that had begun has ended, by its client, by the database or by the meta level; called once for each. */
    void ended(TransactionContext transaction, boolean committed);

    /**
     * A client asks for a statement's data to be as new as the group's order is now, before the statement begins. Only called if
     * {@link #wantsReads} is true.
     *
     * @throws RefusedException if that cannot be had
     */
    void reading(ConnectionContext connection);

    /** Whether {@link #reading} is to be called; asked once, when the database is opened. */
    boolean wantsReads();

    /**
     * The database has stopped by itself, for instance because its disk is full: nothing can be committed or applied any more. Called
     * once, by whatever thread met it.
     */
    default void databaseFailed(ReflectionException cause) {}
}
