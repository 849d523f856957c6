package org.gorda.bench;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Calls a connection and what it gives, as {@link JdbcCall}s say: the end of a {@link JdbcLine} that is in the replica's process. What somebody else decides here
 * is nothing. Confined to one thread.
 */
final class JdbcSession implements AutoCloseable {

    private final Connection connection;
    private final Map<Integer, Object> objects = new HashMap<>();
    private int lastObject = JdbcCall.CONNECTION;

    JdbcSession(Connection connection) {
        this.connection = connection;
        objects.put(JdbcCall.CONNECTION, connection);
    }

    JdbcCall.Answer answer(JdbcCall call) {
        try {
            Method method = call.called();
            Object result = invoke(call, method);
            if (result != null && JdbcCall.isObject(method.getReturnType())) {
                objects.put(++lastObject, result);
                return new JdbcCall.Answer(null, null, lastObject, null);
            }
            return new JdbcCall.Answer(null, null, null, JdbcCall.json(result));
        } catch (SQLException e) {
            return new JdbcCall.Answer(String.valueOf(e.getSQLState()), e.getMessage(), null, null);
        }
    }

    private @Nullable Object invoke(JdbcCall call, Method method) throws SQLException {
        Object target = objects.get(call.object());
        if (!method.getDeclaringClass().isInstance(target)) {
            throw new SQLException("it is closed", "24000");
        }
        if (method.getName().equals("close")) {
            objects.remove(call.object());
        }
        try {
            return method.invoke(target, call.values(method, objects::get));
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof SQLException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether the connection was ended from below: by the replica, or by its database. */
    boolean isOver() {
        try {
            return connection.isClosed();
        } catch (SQLException e) {
            return true;
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
