package org.gorda.gapi;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Brings changes of others into the database: without triggers, cascades or capture, and with priority over local transactions,
 * of which those in the way are rolled back. One of them whose commit was {@linkplain SuspendedCommit#handOver handed over} goes
 * on waiting for its answer without its changes: {@link SuspendedCommit#commit} then returns false. Changes applied since the last
 * commit become visible together. Confined to one thread.
 */
public interface Applier extends AutoCloseable {

    /**
     * Applies a write set within the current transaction, which it begins if there is none. One that changes the schema is the only one of its transaction:
     * databases commit such changes by themselves, or let only the next transaction use what they have made.
     *
     * @throws DivergenceException if the database does not hold what the write set expects
     * @throws ReflectionException if the database fails; the transaction must be rolled back
     */
    void apply(WriteSet writeSet);

    /**
     * Changes what {@link #apply} has only gathered: from now on the transaction holds the locks of all that it changes. Before that
     * a local transaction may change the same, and not know of it.
     *
     * @throws DivergenceException as {@link #apply}
     * @throws ReflectionException as {@link #apply}
     */
    default void execute() {}

    /**
     * Has generators go on with the values given, within the current transaction: what was leased since the last schema change is found
     * in the catalogue by the next one, which may rename, restart or drop them.
     *
     * @param next by generator; empty if it has none left
     * @throws DivergenceException if there is no such generator
     * @throws ReflectionException if the database fails; the transaction must be rolled back
     */
    void settle(Map<Generator, OptionalLong> next);

    /**
     * From this transaction on the values of generators are {@linkplain TransactionListener#leases leased}, or not any more. To be told where the order
     * says so, for databases that have to know before anybody asks for a value.
     *
     * @throws ReflectionException if the database fails; the transaction must be rolled back
     */
    default void leaseGenerators(boolean begins) {}

    /**
     * Commits what was applied together with its position.
     *
     * @param position after all that the database holds
     * @param durable whether it must also be on the database's own disk on return
     * @throws IllegalArgumentException if the database holds that position already; what was applied must be rolled back
     */
    void commit(StoredPosition position, boolean durable);

    /**
     * A connection that reads with the same priority, so that it never waits for a local transaction's end. It is the applier's own: to
     * be used when nothing is applied and not committed, until {@link #rollback} is called, and not to be closed. Of the rows of a query it
     * holds a few in memory, or as many as it was told to fetch at once: all of a table are read by it.
     */
    Connection reading();

    /** The tables whose changes are reflected. To be used like {@link #reading}. */
    List<TableShape> tables() throws SQLException;

    /**
     * Has the database look for contradictions between what it keeps of a table, for instance its rows and its indexes. To be used
     * like {@link #reading}; reads all of the table.
     *
     * @return what it found, null if nothing
     */
    @Nullable
    String damage(TableShape table) throws SQLException;

    /** Rolls back what was applied since the last commit. */
    void rollback();

    @Override
    void close();
}
