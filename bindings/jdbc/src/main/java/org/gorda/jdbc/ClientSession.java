package org.gorda.jdbc;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.Socket;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What the engine's driver knows of a connection but does not tell: the one place where it is reached by reflection. */
final class ClientSession {

    private record Key(Class<?> type, String name) {}

    private static final Map<Key, Field> FIELDS = new ConcurrentHashMap<>();
    private static final Map<Class<?>, Method> COMMITTED = new ConcurrentHashMap<>();

    private ClientSession() {}

    /** Whether the engine's driver believes that a transaction is open. */
    static boolean inTransaction(Connection connection) {
        try {
            return field(connection.getClass(), "inUnitOfWork_").getBoolean(connection);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Tells the engine's driver that a transaction was committed without its doing: it closes rows and frees LOBs on its side. */
    static void committed(Connection connection) {
        try {
            COMMITTED
                    .computeIfAbsent(connection.getClass(), ClientSession::committedMethod)
                    .invoke(connection);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method committedMethod(Class<?> type) {
        try {
            return type.getMethod("completeLocalCommit");
        } catch (NoSuchMethodException e) {
            throw unknownVersion(type, "completeLocalCommit", e);
        }
    }

    /** Whether the engine's driver commits after each statement. Other than by JDBC, an open transaction stays open. */
    static void autoCommit(Connection connection, boolean value) {
        try {
            field(connection.getClass(), "autoCommit_").setBoolean(connection, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether a statement has open rows other than these. */
    static boolean hasRowsBeside(Statement statement, @Nullable ResultSet rows) {
        try {
            Object one = field(statement.getClass(), "resultSet_").get(statement);
            Object all = field(statement.getClass(), "resultSetList_").get(statement);
            Stream<?> open = all instanceof Object[] several ? Arrays.stream(several) : Stream.of(one);
            return open.anyMatch(other -> other instanceof ResultSet found && found != rows && !isClosed(found));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isClosed(ResultSet rows) {
        try {
            return rows.isClosed();
        } catch (SQLException e) {
            return true;
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
        throw unknownVersion(key.type(), key.name(), null);
    }

    private static IllegalStateException unknownVersion(Class<?> type, String name, @Nullable Exception cause) {
        return new IllegalStateException(type + " has no " + name + ": unknown version of the engine's driver", cause);
    }
}
