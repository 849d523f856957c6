package org.gorda.bindings.postgresql;

import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Makes the socket of a session that PostgreSQL's driver opens, for who uses that session besides the driver. Public for the driver alone. Thread-safe.
 */
public final class SharedSockets extends UnconnectedSockets {

    /** What was made for whom. */
    private static final Map<String, Socket> MADE = new ConcurrentHashMap<>();

    private final String key;

    /** @param key of who takes it */
    public SharedSockets(String key) {
        this.key = key;
    }

    /** The one that was made last, if any was; to be called in any case. */
    static @Nullable Socket take(String key) {
        return MADE.remove(key);
    }

    @Override
    public Socket createSocket() {
        Socket socket = new Socket();
        MADE.put(key, socket);
        return socket;
    }
}
