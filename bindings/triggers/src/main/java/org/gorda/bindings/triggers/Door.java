package org.gorda.bindings.triggers;

import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.BatchUpdateException;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Wrapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Calendar;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The only way to what the database's driver gives: connections, statements and rows by their JDBC interfaces, with what executes and ends transactions led
 * through the {@link ClientConnection}. Used as its client uses it.
 */
final class Door implements InvocationHandler {

    private static final List<Class<?>> BEHIND = List.of(
            CallableStatement.class,
            PreparedStatement.class,
            Statement.class,
            ResultSet.class,
            DatabaseMetaData.class,
            ResultSetMetaData.class,
            ParameterMetaData.class);

    private final ClientConnection connection;
    private final Object inner;

    /** The outer statement of rows. */
    private final @Nullable Object parent;

    /** Of a prepared statement. */
    private final @Nullable String sql;

    private final Map<Object, Work> parameters = new HashMap<>();
    private final List<Work> batch = new ArrayList<>();
    private boolean isBatchExecuted;

    /** What is left to be told of a statement that the driver was not given; null if it was. */
    private @Nullable Long ownCount;

    private interface Work {
        @Nullable
        Object run() throws SQLException;
    }

    private Door(ClientConnection connection, Object inner, @Nullable Object parent, @Nullable String sql) {
        this.connection = connection;
        this.inner = inner;
        this.parent = parent;
        this.sql = sql;
    }

    static Connection to(ClientConnection connection) {
        return (Connection) proxy(Connection.class, new Door(connection, connection.inner(), null, null));
    }

    private static Object proxy(Class<?> kind, Door door) {
        return Proxy.newProxyInstance(Door.class.getClassLoader(), new Class<?>[] {kind}, door);
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given) throws SQLException {
        Object[] arguments = given == null ? new Object[0] : given;
        String name = method.getName();
        if (method.getDeclaringClass() == Object.class) {
            return switch (name) {
                case "equals" -> proxy == arguments[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> String.valueOf(inner);
            };
        }
        if (method.getDeclaringClass() == Wrapper.class) {
            return unwrap(proxy, name, (Class<?>) arguments[0]);
        }
        if (name.equals("getConnection")) {
            return connection.outer();
        }
        if (inner instanceof Connection) {
            return ofConnection(name, method, arguments);
        }
        if (inner instanceof Statement) {
            return ofStatement(proxy, name, method, arguments);
        }
        if (inner instanceof ResultSet) {
            return ofRows(name, method, arguments);
        }
        return behind(method, null, null, connection.within(() -> call(method, arguments)));
    }

    private static Object unwrap(Object proxy, String name, Class<?> wanted) throws SQLException {
        if (name.equals("isWrapperFor")) {
            return wanted.isInstance(proxy);
        }
        if (!wanted.isInstance(proxy)) {
            throw Refused.unsupported(
                    "the database's own " + wanted.getName() + " is not given: what it does would not be replicated");
        }
        return proxy;
    }

    private @Nullable Object ofConnection(String name, Method method, Object[] arguments) throws SQLException {
        switch (name) {
            case "commit" -> connection.commit();
            case "rollback" -> {
                if (arguments.length == 0) {
                    connection.rollback();
                } else {
                    connection.rollback((Savepoint) arguments[0]);
                }
            }
            case "setAutoCommit" -> connection.autoCommit((Boolean) arguments[0]);
            case "getAutoCommit" -> {
                return connection.autoCommit();
            }
            case "setSavepoint" -> {
                return connection.setSavepoint(arguments.length == 0 ? null : (String) arguments[0]);
            }
            case "releaseSavepoint" -> connection.release((Savepoint) arguments[0]);
            case "setTransactionIsolation" -> {
                connection.commit(); // as the driver would
                connection.within(() -> call(method, arguments));
            }
            case "isClosed" -> {
                return connection.isClosed();
            }
            case "close" -> connection.close();
            case "abort" ->
                ((Executor) arguments[0]).execute(() -> {
                    try {
                        connection.close();
                    } catch (SQLException ignored) {
                        // Nobody uses it any more.
                    }
                });
            default -> {
                String prepared = name.startsWith("prepare") ? (String) arguments[0] : null;
                if (prepared == null) {
                    return behind(method, null, null, connection.within(() -> call(method, arguments)));
                }
                connection.check(prepared);
                return behind(method, null, prepared, connection.prepare(() -> call(method, arguments)));
            }
        }
        return null;
    }

    private @Nullable Object ofStatement(Object proxy, String name, Method method, Object[] arguments)
            throws SQLException {
        switch (name) {
            case "execute", "executeQuery", "executeUpdate", "executeLargeUpdate" -> {
                isBatchExecuted = false;
                ownCount = null;
                String text = arguments.length == 0 ? sql : (String) arguments[0];
                Object result = connection.execute(String.valueOf(text), () -> call(method, arguments));
                if (result != null) {
                    return behind(method, proxy, null, result);
                }
                ownCount = 0L;
                return nothing(method);
            }
            case "getUpdateCount", "getLargeUpdateCount", "getResultSet", "getMoreResults" -> {
                Long count = ownCount;
                if (count != null) {
                    ownCount = name.equals("getMoreResults") ? -1L : count;
                    return own(method.getReturnType(), count);
                }
            }
            case "executeBatch", "executeLargeBatch" -> {
                isBatchExecuted = true;
                return executeBatch(name.equals("executeLargeBatch"));
            }
            case "addBatch" -> {
                addBatch(arguments);
                return null;
            }
            case "clearBatch" -> {
                batch.clear();
                return null;
            }
            case "getGeneratedKeys" -> {
                if (isBatchExecuted) {
                    throw Refused.unsupported(
                            "keys that a batch has generated are not given: execute its statements one by one");
                }
            }
            case "cancel" -> {
                connection.cancel(() -> call(method, arguments));
                return null;
            }
            case "close", "isClosed" -> {
                return call(method, arguments);
            }
            case "clearParameters" -> parameters.clear();
            default -> {
                if (name.startsWith("set") && arguments.length > 1 && arguments[0] instanceof Integer at) {
                    boolean isRead = arguments[1] instanceof InputStream || arguments[1] instanceof Reader;
                    if (comesInPieces(arguments[1])) {
                        PreparedStatement prepared = (PreparedStatement) inner;
                        connection.checkPieces(
                                () -> prepared.getParameterMetaData().getParameterType(at));
                    }
                    Object[] kept = arguments.clone();
                    Arrays.setAll(kept, i -> copied(kept[i]));
                    parameters.put(at, isRead ? Door::onlyOnce : () -> call(method, kept));
                    arguments[1] = LargeParameter.of(arguments[1], connection);
                }
            }
        }
        return behind(method, proxy, null, connection.give(() -> call(method, arguments)));
    }

    private static boolean comesInPieces(@Nullable Object value) {
        return value instanceof InputStream
                || value instanceof Reader
                || value instanceof Blob
                || value instanceof Clob;
    }

    private static Object onlyOnce() throws SQLException {
        throw Refused.unsupported(
                "a batch does not take streams, which can be read only once: set a value, or execute the statements one by one");
    }

    /** A value that its client does not change any more. */
    @SuppressWarnings("JavaUtilDate")
    private static @Nullable Object copied(@Nullable Object value) {
        if (value instanceof byte[] bytes) {
            return bytes.clone();
        }
        if (value instanceof Date date) {
            return date.clone();
        }
        return value instanceof Calendar zone ? zone.clone() : value;
    }

    private static @Nullable Object own(Class<?> type, long count) {
        if (type == ResultSet.class) {
            return null;
        }
        return type == boolean.class ? (Object) false : type == long.class ? (Object) count : (Object) (int) count;
    }

    /** What a statement gives that the driver did not execute. */
    private static @Nullable Object nothing(Method method) throws SQLException {
        Class<?> type = method.getReturnType();
        if (type == ResultSet.class) {
            throw new SQLException("the statement gives no rows", "02000");
        }
        if (type == boolean.class) {
            return false;
        }
        return type == long.class ? (Object) 0L : (Object) 0;
    }

    /** Its statements are executed one by one, because each of them may fail. */
    private void addBatch(Object[] arguments) {
        Statement statement = (Statement) inner;
        if (arguments.length == 1) {
            String text = (String) arguments[0];
            batch.add(() -> update(text, () -> statement.executeLargeUpdate(text)));
            return;
        }
        List<Work> row = List.copyOf(parameters.values());
        PreparedStatement prepared = (PreparedStatement) inner;
        batch.add(() -> {
            for (Work parameter : row) {
                parameter.run();
            }
            return update(String.valueOf(sql), prepared::executeLargeUpdate);
        });
    }

    /** Returns how many rows it has changed. */
    private Long update(String text, ClientConnection.Work<Long> work) throws SQLException {
        Long count = connection.execute(text, () -> {
            try {
                return work.run();
            } catch (SQLException e) {
                throw connection.told(e);
            }
        });
        return count == null ? 0L : count;
    }

    private Object executeBatch(boolean isLarge) throws SQLException {
        long[] counts = new long[batch.size()];
        SQLException failed = null;
        for (int i = 0; i < counts.length; i++) {
            try {
                counts[i] = (Long) Objects.requireNonNull(batch.get(i).run());
            } catch (SQLException e) {
                if (failed != null) {
                    failed.setNextException(e);
                } else {
                    failed = e;
                }
                if (ClientConnection.endsTransaction(e)) {
                    counts = Arrays.copyOf(counts, i); // the rest would be of another transaction
                    break;
                }
                counts[i] = Statement.EXECUTE_FAILED;
            }
        }
        batch.clear();
        if (failed != null) {
            BatchUpdateException all = new BatchUpdateException(
                    failed.getMessage(), failed.getSQLState(), failed.getErrorCode(), counts, failed);
            all.setNextException(failed);
            throw all;
        }
        return isLarge
                ? counts
                : Arrays.stream(counts).mapToInt(Math::toIntExact).toArray();
    }

    private @Nullable Object ofRows(String name, Method method, Object[] arguments) throws SQLException {
        return switch (name) {
            case "getStatement" -> parent;
            case "updateRow", "insertRow", "deleteRow" -> connection.changeRow(() -> call(method, arguments));
            case "next" -> {
                connection.checkNotRefused();
                try {
                    Object isThere = call(method, arguments);
                    if (Boolean.FALSE.equals(isThere)) {
                        connection.checkNotCut((ResultSet) inner);
                    }
                    yield isThere;
                } catch (SQLException e) {
                    throw connection.readFailed(e);
                }
            }
            default -> {
                if (name.startsWith("update") && arguments.length > 1 && comesInPieces(arguments[1])) {
                    ResultSet rows = (ResultSet) inner;
                    connection.checkPieces(() -> rows.getMetaData()
                            .getColumnType(
                                    arguments[0] instanceof String label
                                            ? rows.findColumn(label)
                                            : (Integer) arguments[0]));
                }
                yield behind(method, parent, null, call(method, arguments));
            }
        };
    }

    /** What the driver gives, with a door before it where it needs one. One object of a driver may be of several kinds. */
    private @Nullable Object behind(
            Method method, @Nullable Object statement, @Nullable String prepared, @Nullable Object result) {
        if (result instanceof Connection) {
            return connection.outer();
        }
        for (Class<?> kind : BEHIND) {
            if (kind.isInstance(result) && method.getReturnType().isAssignableFrom(kind)) {
                return proxy(kind, new Door(connection, result, statement, prepared));
            }
        }
        return result;
    }

    private @Nullable Object call(Method method, Object[] arguments) throws SQLException {
        try {
            return method.invoke(inner, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof SQLException cause) {
                throw connection.told(cause);
            }
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
