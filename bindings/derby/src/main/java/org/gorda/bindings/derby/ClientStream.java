package org.gorda.bindings.derby;

import java.io.IOException;
import java.io.InputStream;
import org.apache.derby.shared.common.error.StandardException;

/**
 * A value that a client gives as a stream, while its connection reads it: that may take any time, and what the client has changed before stays locked meanwhile. Its
 * transaction can be rolled back during that, upon which no more is read. Confined to the connection's thread.
 */
final class ClientStream extends InputStream {

    private final InputStream client;
    private final ReflectedConnection connection;

    ClientStream(InputStream client, ReflectedConnection connection) {
        this.client = client;
        this.connection = connection;
    }

    private interface Read {
        int read() throws IOException;
    }

    @Override
    public int read() throws IOException {
        return guarded(client::read);
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        return guarded(() -> client.read(target, offset, length));
    }

    private int guarded(Read read) throws IOException {
        try {
            int result;
            connection.beginReading();
            try {
                connection.requireReading();
                result = read.read();
            } finally {
                connection.endReading();
            }
            connection.requireReading();
            return result;
        } catch (StandardException e) {
            throw new IOException(e);
        }
    }
}
