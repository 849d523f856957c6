package org.gorda.bindings.triggers;

import java.io.FilterInputStream;
import java.io.FilterReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * Streams that clients give as parameters. While they are read the database writes what it has of them, so that it need not have all in memory. Who reads them waits
 * for the client.
 */
final class LargeParameter {

    private LargeParameter() {}

    /** The value itself if it is no stream. */
    static @Nullable Object of(@Nullable Object value, ClientConnection connection) {
        if (value instanceof InputStream binary) {
            return new FilterInputStream(binary) {
                @Override
                public int read(byte[] into, int from, int length) throws IOException {
                    relieve(connection);
                    return connection.awaitClient(() -> super.read(into, from, length));
                }
            };
        }
        if (value instanceof Reader text) {
            return new FilterReader(text) {
                @Override
                public int read(char[] into, int from, int length) throws IOException {
                    relieve(connection);
                    return connection.awaitClient(() -> super.read(into, from, length));
                }
            };
        }
        return value;
    }

    private static void relieve(ClientConnection connection) throws IOException {
        try {
            connection.relieve(false);
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }
}
