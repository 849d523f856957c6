package org.gorda.bindings.postgresql;

import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/** Makes the sockets by which PostgreSQL's driver, in this JVM, reaches its server through the door. Public for the driver alone. */
public final class ClientSockets extends SocketFactory {

    private final Sessions sessions;

    /** @param key of the database's sessions */
    public ClientSockets(String key) {
        this.sessions = Sessions.of(key);
    }

    @Override
    public Socket createSocket() {
        return new ClientSocket(new Door(sessions, false));
    }

    @Override
    public Socket createSocket(String host, int port) {
        return createSocket();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
        return createSocket();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
        return createSocket();
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
        return createSocket();
    }
}
