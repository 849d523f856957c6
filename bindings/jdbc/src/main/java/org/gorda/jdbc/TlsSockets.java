package org.gorda.jdbc;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Makes the TLS sockets of PostgreSQL's driver while GORDA's logs in by it. Public for that driver alone. */
public final class TlsSockets extends SSLSocketFactory {

    /** By their keys, each for as long as a login takes. */
    private static final Map<String, SSLContext> CONTEXTS = new ConcurrentHashMap<>();

    private final SSLSocketFactory sockets;

    /** @param key of a login that goes on */
    public TlsSockets(String key) {
        SSLContext context = CONTEXTS.get(key);
        if (context == null) {
            throw new IllegalArgumentException("there is no such login");
        }
        this.sockets = context.getSocketFactory();
    }

    /** Has sockets made by a context, until {@link #forget}. */
    static String keep(SSLContext context) {
        String key = UUID.randomUUID().toString();
        CONTEXTS.put(key, context);
        return key;
    }

    static void forget(String key) {
        CONTEXTS.remove(key);
    }

    /** Closing it would wait for whoever stands in a write to it, to say goodbye to the other side in order. */
    static void waitForNobody(Socket socket) throws IOException {
        if (socket instanceof SSLSocket && !socket.isClosed()) {
            socket.setSoLinger(true, 0);
        }
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return sockets.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return sockets.getSupportedCipherSuites();
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
        return sockets.createSocket(socket, host, port, autoClose);
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return sockets.createSocket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
        return sockets.createSocket(host, port, localHost, localPort);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return sockets.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort)
            throws IOException {
        return sockets.createSocket(address, port, localAddress, localPort);
    }
}
