package org.gorda.bench.torture;

import java.sql.Connection;

/** A level that a transaction asks for. */
public enum Isolation {
    READ_COMMITTED(Connection.TRANSACTION_READ_COMMITTED),
    REPEATABLE_READ(Connection.TRANSACTION_REPEATABLE_READ),
    SERIALIZABLE(Connection.TRANSACTION_SERIALIZABLE);

    private final int jdbc;

    Isolation(int jdbc) {
        this.jdbc = jdbc;
    }

    /** As {@link Connection#setTransactionIsolation} takes it. */
    int jdbc() {
        return jdbc;
    }

    /** Whether what was read must stay as it was until the transaction's place in the order or, if it only reads, its end. */
    boolean keepsWhatItReads() {
        return this != READ_COMMITTED;
    }
}
