package org.gorda.bindings.derby;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens by another socket, and speaks TLS with who comes; the handshake is for who serves it, within a minute. Thread-safe. */
final class EncryptedServerSocket extends ServerSocket {

    private static final Logger LOG = LoggerFactory.getLogger(EncryptedServerSocket.class);

    private static final long HANDSHAKE_SECONDS = 60;

    private final ServerSocket plain;
    private final SSLContext tls;

    /** Without TLS: closing one of these waits for nobody. Guarded by itself, as the next one. */
    private final List<Socket> clients = new ArrayList<>();

    private boolean isEnding;

    EncryptedServerSocket(ServerSocket plain, SSLContext tls) throws IOException {
        this.plain = plain;
        this.tls = tls;
    }

    @Override
    public Socket accept() throws IOException {
        while (true) {
            Socket client = plain.accept();
            try {
                return encrypted(client);
            } catch (IOException e) { // Derby would end its server
                LOG.debug("a client was not let in", e);
                client.close();
            }
        }
    }

    private Socket encrypted(Socket client) throws IOException {
        synchronized (clients) {
            if (isEnding) {
                throw new IOException("the server ends");
            }
            clients.removeIf(Socket::isClosed);
            clients.add(client);
        }
        SSLSocket socket =
                (SSLSocket) tls.getSocketFactory().createSocket(client, new ByteArrayInputStream(new byte[0]), true);
        CompletableFuture<Void> done = closeAfterHandshakeTime(client);
        socket.addHandshakeCompletedListener(event -> done.complete(null));
        return socket;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // what follows the time-out is all there is to do
    private static CompletableFuture<Void> closeAfterHandshakeTime(Socket client) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        done.orTimeout(HANDSHAKE_SECONDS, TimeUnit.SECONDS).whenComplete((nothing, late) -> {
            if (late != null) {
                close(client);
            }
        });
        return done;
    }

    private static void close(Socket client) {
        try {
            client.close();
        } catch (IOException e) {
            LOG.trace("not closed in order", e);
        }
    }

    /** Ends all connections at once. */
    void endClients() {
        synchronized (clients) {
            isEnding = true;
            clients.forEach(EncryptedServerSocket::close);
            clients.clear();
        }
    }

    @Override
    public void close() throws IOException {
        plain.close();
    }

    @Override
    public boolean isClosed() {
        return plain.isClosed();
    }

    @Override
    public boolean isBound() {
        return plain.isBound();
    }

    @Override
    public InetAddress getInetAddress() {
        return plain.getInetAddress();
    }

    @Override
    public int getLocalPort() {
        return plain.getLocalPort();
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return plain.getLocalSocketAddress();
    }
}
