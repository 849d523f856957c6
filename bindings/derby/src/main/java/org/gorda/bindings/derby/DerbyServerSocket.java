package org.gorda.bindings.derby;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.function.Predicate;
import javax.net.ssl.SSLContext;
import org.gorda.gapi.NetworkClients;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Listens by another socket, and lets in who finds a place among the clients. With TLS the handshake is for who serves them. Thread-safe. */
final class DerbyServerSocket extends ServerSocket {

    private static final Logger LOG = LoggerFactory.getLogger(DerbyServerSocket.class);

    private final ServerSocket plain;
    private final @Nullable SSLContext tls;

    /** Without TLS: closing one of these waits for nobody. */
    private final NetworkClients clients;

    private final Predicate<Socket> isLoggedIn;

    DerbyServerSocket(
            ServerSocket plain, @Nullable SSLContext tls, NetworkClients clients, Predicate<Socket> isLoggedIn)
            throws IOException {
        this.plain = plain;
        this.tls = tls;
        this.clients = clients;
        this.isLoggedIn = isLoggedIn;
    }

    @Override
    public Socket accept() throws IOException {
        while (true) {
            Socket client = plain.accept();
            try {
                Socket served = tls == null ? client : encrypted(client, tls);
                clients.add(client, () -> isLoggedIn.test(served));
                return served;
            } catch (IOException e) { // Derby would end its server
                LOG.debug("a client was not let in", e);
                client.close();
            }
        }
    }

    private static Socket encrypted(Socket client, SSLContext tls) throws IOException {
        return tls.getSocketFactory().createSocket(client, new ByteArrayInputStream(new byte[0]), true);
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
