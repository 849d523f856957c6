package org.gorda.bindings.postgresql.wire;

import java.sql.SQLException;

/** An error that the server has told of, as it came. */
public final class ServerError extends SQLException {

    private static final long serialVersionUID = 1L;

    private final transient byte[] message;

    ServerError(String text, String sqlState, byte[] message) {
        super(text, sqlState);
        this.message = message;
    }

    /** The server's own message. */
    byte[] message() {
        return message;
    }
}
