package org.gorda.bindings.postgresql;

import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/** Makes sockets that PostgreSQL's driver connects itself: it asks for no others. */
abstract class UnconnectedSockets extends SocketFactory {

    @Override
    public abstract Socket createSocket();

    @Override
    public final Socket createSocket(String host, int port) {
        return createSocket();
    }

    @Override
    public final Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
        return createSocket();
    }

    @Override
    public final Socket createSocket(InetAddress host, int port) {
        return createSocket();
    }

    @Override
    public final Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
        return createSocket();
    }
}
