package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.SplittableRandom;

/** Transactions of one kind, and what must hold of them in the end. Thread-safe. */
interface Workload {

    /** By which its history is called. */
    String name();

    /** Statements that make its tables and fill them. */
    List<String> schema();

    /** The next transaction of a client. */
    Operation next(SplittableRandom random);

    /**
     * Compares what clients were told with what a replica holds.
     *
     * @param history all transactions of this workload
     * @param replica a connection to its own database; nothing changes any more
     */
    void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException;

    /** Looks whether what a replica holds can be, whatever clients were told; a part of {@link #check}. */
    default void checkState(Connection replica, Findings findings) throws SQLException {}
}
