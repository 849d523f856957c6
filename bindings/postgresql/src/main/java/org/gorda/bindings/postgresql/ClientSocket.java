package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;

/**
 * A client in this JVM: what it writes and reads goes through the door in its own threads. Of a socket it is what PostgreSQL's driver uses. Thread-safe as a
 * socket is.
 */
final class ClientSocket extends Socket {

    private final Door door;
    private volatile boolean connected;
    private volatile boolean closed;
    private volatile int timeoutMillis;

    private final OutputStream out = new OutputStream() {
        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            checkOpen();
            ClientSession session = door.session();
            if (session == null) {
                door.give(bytes, offset, length);
                return;
            }
            session.enter();
            try {
                door.give(bytes, offset, length);
            } finally {
                session.exit();
            }
        }

        @Override
        public void flush() throws IOException {
            door.flush();
        }

        @Override
        public void close() {
            ClientSocket.this.close();
        }
    };

    private final InputStream in = new InputStream() {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int greeted = door.greeting().take(target, offset, length);
            ClientSession session = door.session();
            if (greeted > 0 || session == null) {
                return greeted > 0 ? greeted : -1;
            }
            session.enter();
            try {
                session.interceptor().socket().setSoTimeout(timeoutMillis);
                return session.interceptor().take(target, offset, length);
            } finally {
                session.exit();
            }
        }

        @Override
        public int available() throws IOException {
            ClientSession session = door.session();
            return session == null || closed ? 0 : session.interceptor().available();
        }

        @Override
        public void close() {
            ClientSocket.this.close();
        }
    };

    ClientSocket(Door door) {
        this.door = door;
    }

    private void checkOpen() throws SocketException {
        if (closed) {
            throw new SocketException("the connection is closed");
        }
    }

    @Override
    public void connect(SocketAddress endpoint, int timeout) {
        connected = true;
    }

    @Override
    public boolean isConnected() {
        return connected;
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public InputStream getInputStream() {
        return in;
    }

    @Override
    public OutputStream getOutputStream() {
        return out;
    }

    @Override
    public synchronized void setSoTimeout(int timeout) {
        timeoutMillis = timeout;
    }

    @Override
    public synchronized int getSoTimeout() {
        return timeoutMillis;
    }

    // Those of the connection to the server are ours.

    @Override
    public void setTcpNoDelay(boolean on) {}

    @Override
    public boolean getTcpNoDelay() {
        return true;
    }

    @Override
    public void setKeepAlive(boolean on) {}

    @Override
    public boolean getKeepAlive() {
        return true;
    }

    @Override
    public synchronized void setSendBufferSize(int size) {}

    @Override
    public synchronized int getSendBufferSize() {
        return 8192;
    }

    @Override
    public synchronized void setReceiveBufferSize(int size) {}

    @Override
    public synchronized int getReceiveBufferSize() {
        return 8192;
    }

    @Override
    public synchronized void close() {
        closed = true;
        door.leave();
    }
}
