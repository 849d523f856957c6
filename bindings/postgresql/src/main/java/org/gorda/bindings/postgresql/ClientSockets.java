package org.gorda.bindings.postgresql;

import java.net.Socket;

/** Makes the sockets by which PostgreSQL's driver, in this JVM, reaches its server through the door. Public for the driver alone. */
public final class ClientSockets extends UnconnectedSockets {

    private final Sessions sessions;

    /** @param key of the database's sessions */
    public ClientSockets(String key) {
        this.sessions = Sessions.of(key);
    }

    @Override
    public Socket createSocket() {
        return new ClientSocket(new Door(sessions, false));
    }
}
