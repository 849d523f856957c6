package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * A transaction that a client is about to execute, and what it was given in it. Confined to the client's thread until it has ended;
 * then nothing of it changes any more.
 */
abstract class Operation {

    private final Isolation isolation;
    private final boolean readOnly;

    /** @param readOnly whether any replica may execute it */
    Operation(Isolation isolation, boolean readOnly) {
        this.isolation = isolation;
        this.readOnly = readOnly;
    }

    Isolation isolation() {
        return isolation;
    }

    boolean readOnly() {
        return readOnly;
    }

    /** Whether it has changed something, once it is committed. */
    boolean changes() {
        return true;
    }

    /** All of it but the commit. */
    abstract void run(Connection connection) throws SQLException;

    /** Its kind, as Jepsen's histories name it: the value of {@code :f}. */
    abstract String function();

    /**
     * What it is about, in EDN.
     *
     * @param ended whether to say what it was given, too
     */
    abstract String value(boolean ended);
}
