package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * The turn to commit of SERIALIZABLE transactions: one after the other, each sent only when its commit cannot fail on the server any more,
 * because what is ordered must be committed.
 *
 * <p>The server has a transaction fail, up to the end of its commit, if it has read what one that is committed has overwritten, and a third
 * one comes that has read what it overwrites itself (Ports and Grittner, Serializable Snapshot Isolation in PostgreSQL, VLDB 2012). While a
 * transaction has the turn none commits before it, so the first of the two is there by then or never; and the third one we are ourselves:
 * who would fail later fails now. Thread-safe.
 */
final class SerialTurn {

    /** As long as commits wait for their place in the order. */
    private static final int PATIENCE_SECONDS = 30;

    private final Server server;
    private final ReentrantLock lock = new ReentrantLock(true);

    /** Used by who has the turn. */
    private @Nullable Connection reader;

    SerialTurn(Server server) {
        this.server = server;
    }

    /** Waits for it. */
    void take() {
        boolean taken = false;
        try {
            taken = lock.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!taken) {
            throw new RefusedException(new Refusal(
                    Refusal.Cause.OVERDUE,
                    "other SERIALIZABLE transactions were being committed for " + PATIENCE_SECONDS
                            + " s: run the transaction again"));
        }
    }

    /** Others may take it. */
    void end() {
        lock.unlock();
    }

    /**
     * Has a transaction fail now that may do so later.
     *
     * @throws SQLException 40001 if it does
     */
    void requireSafe(SqlSession transaction) throws SQLException {
        transaction.query("SAVEPOINT gorda");
        transaction.query("INSERT INTO gorda.serial VALUES (0)");
        read();
        transaction.query("ROLLBACK TO gorda");
        transaction.query("SELECT FROM gorda.flush"); // any table will do: it is told when it reads
    }

    /** Reads what the transaction has written as it was before. */
    private void read() throws SQLException {
        try {
            if (reader == null) {
                reader = server.connect("");
                reader.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                reader.setAutoCommit(false);
            }
            SqlSession.of(reader).query("SELECT FROM gorda.serial");
            reader.rollback();
        } catch (SQLException e) {
            close();
            throw e;
        }
    }

    /** When nobody can take it any more, or by who has it. */
    void close() throws SQLException {
        Connection closing = reader;
        reader = null;
        if (closing != null) {
            closing.close();
        }
    }
}
