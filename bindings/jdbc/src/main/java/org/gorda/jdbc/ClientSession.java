package org.gorda.jdbc;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.Socket;
import java.sql.Connection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What the engine's driver knows of a connection but does not tell: the one place where it is reached by reflection. */
final class ClientSession {

    private record Key(Class<?> type, String name) {}

    private static final Map<Key, Field> FIELDS = new ConcurrentHashMap<>();

    private ClientSession() {}

    /** Whether the engine's driver believes that a transaction is open. */
    static boolean inTransaction(Connection connection) {
        try {
            return field(connection.getClass(), "inUnitOfWork_").getBoolean(connection);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Tells the engine's driver that a transaction has ended without its doing. */
    static void transactionEnded(Connection connection) {
        try {
            field(connection.getClass(), "inUnitOfWork_").setBoolean(connection, false);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends it at once: the engine's driver waits for a frozen server for ever. For any thread. */
    static void closeSocket(Connection connection) throws IOException {
        try {
            Object agent = field(connection.getClass(), "agent_").get(connection);
            if (agent != null && field(agent.getClass(), "socket_").get(agent) instanceof Socket socket) {
                socket.close();
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Class<?> type, String name) {
        return FIELDS.computeIfAbsent(new Key(type, name), ClientSession::find);
    }

    private static Field find(Key key) {
        for (Class<?> at = key.type(); at != null; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (field.getName().equals(key.name())) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        throw new IllegalStateException(
                key.type() + " has no " + key.name() + ": unknown version of the engine's driver");
    }
}
