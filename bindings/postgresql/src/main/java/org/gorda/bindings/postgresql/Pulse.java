package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import org.gorda.gapi.ReflectionException;
import org.jspecify.annotations.Nullable;

/** A session that asks the server for an answer and for nothing else, so that it waits for nobody. Used by one thread, closed by any. */
final class Pulse implements AutoCloseable {

    private final Server server;
    private volatile @Nullable Connection connection;
    private volatile boolean closed;

    Pulse(Server server) {
        this.server = server;
    }

    /** @throws ReflectionException if the answer is an error; the next time another session is opened */
    void feel() {
        if (closed) {
            return;
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
            throw new ReflectionException("the database " + server + " gives no answer: " + e.getMessage(), e);
        }
        if (closed) {
            closeSession();
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
