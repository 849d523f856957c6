package org.gorda.bindings.postgresql;

import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.gorda.bindings.postgresql.wire.StartupMessage;
import org.gorda.gapi.KeepAlive;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's connection over the network, with TLS or without. One thread reads from it and one writes to it; closing is for any, and waits for nobody. */
final class ClientConnection implements Closeable {

    private static final Logger LOG = LoggerFactory.getLogger(ClientConnection.class);

    /** So long may a client take until it is spoken to with TLS, however slowly it sends. */
    private static final long HANDSHAKE_MILLIS = 60_000;

    /** So long may it take to be told that there is no more to come. */
    private static final long END_MILLIS = 5_000;

    /** With this a handshake begins, and no message of PostgreSQL's protocol. */
    private static final int HANDSHAKE = 0x16;

    /** Which protocol a client of TLS names by which it means PostgreSQL's. */
    private static final String PROTOCOL = "postgresql";

    /** Closing this one ends whatever anybody does with the connection; closing the other one would wait for who writes. */
    private final Socket raw;

    private @Nullable SSLSocket encrypted;
    private InputStream in;
    private OutputStream out;

    ClientConnection(Socket raw) throws IOException {
        this.raw = raw;
        this.in = raw.getInputStream();
        this.out = raw.getOutputStream();
        raw.setTcpNoDelay(true);
        KeepAlive.on(raw);
    }

    /**
     * Speaks TLS from now on, if the client asks for it. Nothing of what it sends before is taken for what it sends behind that. In the thread that reads.
     *
     * @return whether it does; if not, the client's first message is still to be read
     */
    boolean encrypt(SSLContext context) throws IOException {
        CompletableFuture<Void> done = closeAfter(HANDSHAKE_MILLIS);
        try {
            byte[] first = first(in);
            if (StartupMessage.isGssRequest(first)) {
                out.write('N');
                first = first(in);
            }
            if (first.length > 0 && first[0] == HANDSHAKE) {
                if (!PROTOCOL.equals(handshake(context, first).getApplicationProtocol())) {
                    throw new SSLException("a client that begins with TLS must name the protocol " + PROTOCOL);
                }
            } else if (StartupMessage.isTlsRequest(first)) {
                if (in.available() > 0) {
                    throw new SSLException("a client has sent plain text behind its request for TLS");
                }
                out.write('S');
                handshake(context, new byte[0]);
            } else {
                PushbackInputStream again = new PushbackInputStream(in, StartupMessage.REQUEST_BYTES);
                again.unread(first);
                in = again;
                return false;
            }
            return true;
        } finally {
            done.complete(null);
        }
    }

    /** Not a byte more than a request has, so that what is behind it is nobody's but TLS's. */
    private static byte[] first(InputStream in) throws IOException {
        byte[] first = in.readNBytes(1);
        if (first.length == 0 || first[0] == HANDSHAKE) {
            return first;
        }
        byte[] rest = in.readNBytes(StartupMessage.REQUEST_BYTES - 1);
        return ByteBuffer.allocate(1 + rest.length).put(first).put(rest).array();
    }

    private SSLSocket handshake(SSLContext context, byte[] read) throws IOException {
        SSLSocket socket =
                (SSLSocket) context.getSocketFactory().createSocket(raw, new ByteArrayInputStream(read), true);
        encrypted = socket;
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {PROTOCOL});
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        in = socket.getInputStream();
        out = socket.getOutputStream();
        return socket;
    }

    /** Closes it after a while, unless the result is completed before. */
    @SuppressWarnings("FutureReturnValueIgnored") // what follows the time-out is all there is to do
    private CompletableFuture<Void> closeAfter(long millis) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        done.orTimeout(millis, TimeUnit.MILLISECONDS).whenComplete((nothing, late) -> {
            if (late != null) {
                close();
            }
        });
        return done;
    }

    /** The client's own. */
    int port() {
        return raw.getPort();
    }

    /** How long {@link #read} waits; 0 is for ever. */
    void timeout(int millis) throws IOException {
        raw.setSoTimeout(millis);
    }

    /** As a stream does. */
    int read(byte[] target) throws IOException {
        return in.read(target);
    }

    void write(byte[] source, int length) throws IOException {
        out.write(source, 0, length);
    }

    /** Closes it in order: with TLS, the client is told. In the thread that writes. */
    void end() {
        SSLSocket socket = encrypted;
        if (socket != null) {
            CompletableFuture<Void> done = closeAfter(END_MILLIS);
            try {
                socket.close();
            } catch (IOException e) {
                LOG.trace("a client is not told of the end", e);
            } finally {
                done.complete(null);
            }
        }
        close();
    }

    @Override
    public void close() {
        try {
            raw.close();
        } catch (IOException e) {
            LOG.trace("not closed in order", e);
        }
    }
}
