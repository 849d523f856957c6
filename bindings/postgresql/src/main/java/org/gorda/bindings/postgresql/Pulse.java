package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A session that asks the server for an answer and for nothing else, so that it waits for nobody. Used by one thread, closed by any. */
final class Pulse implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Pulse.class);

    /** How the server tells that it stops, or begins. */
    static final String LETS_NOBODY_IN = "57P03";

    private static final long KNOCK_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Server server;
    private long knockedNanos = System.nanoTime();
    private volatile @Nullable Connection connection;
    private volatile boolean closed;

    Pulse(Server server) {
        this.server = server;
    }

    /** @throws SQLException if the answer is an error; the next time another session is opened */
    void feel() throws SQLException {
        if (closed) {
            return;
        }
        if (System.nanoTime() - knockedNanos > KNOCK_NANOS) {
            knock();
            knockedNanos = System.nanoTime();
        }
        try {
            Connection asked = connection;
            if (asked == null) {
                asked = server.connect("");
                connection = asked;
            }
            SqlSession.of(asked).query("SELECT 1");
        } catch (SQLException e) {
            closeSession();
            throw e;
        }
        if (closed) {
            closeSession();
        }
    }

    /** Who was told to stop once all have left lets nobody in, and answers those who are there: it would wait for us, and we for it. */
    private void knock() throws SQLException {
        try {
            server.knock();
        } catch (SQLException e) {
            if (LETS_NOBODY_IN.equals(e.getSQLState())) {
                throw e;
            }
            LOG.debug("{} lets nobody in now", server, e); // who is there may be served all the same
        }
    }

    private void closeSession() {
        Connection asked = connection;
        connection = null;
        if (asked != null) {
            PostgresDatabase.close(asked);
        }
    }

    @Override
    public void close() {
        closed = true;
        closeSession();
    }
}
