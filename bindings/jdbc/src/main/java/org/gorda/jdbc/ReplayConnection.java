package org.gorda.jdbc;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * A connection whose transactions are run again when another one has won against them, for {@code retry=N}: see {@link Replay}. Stands
 * before connections of either form of URL. As a JDBC connection, for one thread at a time.
 */
final class ReplayConnection extends ReplayProxy {

    private final Connection connection;

    private ReplayConnection(Connection connection, Replay replay) {
        super(replay);
        this.connection = connection;
    }

    /**
     * @param retries how often a transaction is run again at the most; if 0, it is the connection itself that is returned
     * @param wholeBatches whether in autocommit mode all of a batch is committed, or nothing
     */
    static Connection of(Connection connection, int retries, boolean wholeBatches) throws SQLException {
        return retries == 0
                ? connection
                : new ReplayConnection(connection, new Replay(connection, retries, wholeBatches)).proxy();
    }

    @Override
    Connection target() {
        return connection;
    }

    Connection proxy() {
        return (Connection) proxy(Connection.class);
    }

    @Override
    @Nullable
    Object call(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        switch (method.getName()) {
            case "commit" -> {
                return end(method, arguments);
            }
            case "setAutoCommit" -> {
                return setAutoCommit(method, arguments);
            }
            case "setTransactionIsolation" -> {
                return setIsolation(method, arguments);
            }
            case "rollback" -> {
                return rollback(method, arguments);
            }
            case "setSavepoint" -> replay.never("it has savepoints");
            case "setSchema", "setCatalog", "setReadOnly", "setHoldability" -> {
                if (!replay.isEmpty()) {
                    replay.never("the session was changed in the middle of it (" + method.getName() + ")");
                }
            }
            default -> {}
        }
        // Engines compile with locks, upon which a transaction that is refused is told so.
        Object result = method.getName().startsWith("prepare")
                ? replay.run(() -> pass(method, arguments))
                : pass(method, arguments);
        if (method.getName().equals("setSchema") && replay.isEmpty()) {
            ReplayCall call = ReplayCall.of(method, arguments);
            replay.setSchema(() -> call.on(connection));
        }
        if (result instanceof DatabaseMetaData metaData) {
            return new MetaData(metaData).proxy(DatabaseMetaData.class);
        }
        return result instanceof Statement made
                ? new ReplayStatement(replay, this, ReplayCall.of(method, arguments), made).proxy()
                : result;
    }

    private @Nullable Object end(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        boolean ended = false;
        try {
            Object result = replay.run(() -> pass(method, arguments));
            ended = true;
            return result;
        } finally {
            if (ended) {
                replay.begin();
            } else {
                replay.never("its commit has failed");
            }
        }
    }

    /** The same again leaves the transaction open. */
    private @Nullable Object setAutoCommit(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        boolean value = arguments != null && Boolean.TRUE.equals(arguments[0]);
        if (value == replay.isAutoCommit()) {
            return pass(method, arguments);
        }
        end(method, arguments);
        replay.autoCommit(value);
        return null;
    }

    /** Another level commits; the same level does with one form of URL, and not with the other. */
    private @Nullable Object setIsolation(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        boolean same = replay.isEmpty() // then it does not matter, nor would one that was lost tell
                || (arguments != null
                        && Integer.valueOf(connection.getTransactionIsolation()).equals(arguments[0]));
        if (!same) {
            return end(method, arguments);
        }
        if (!replay.isEmpty()) {
            replay.never("its isolation was set in the middle of it");
        }
        return pass(method, arguments);
    }

    private @Nullable Object rollback(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        Object result = pass(method, arguments);
        if (arguments == null) {
            replay.begin();
        }
        return result;
    }

    /** What it reads is not compared. */
    private final class MetaData extends ReplayProxy {
        private final DatabaseMetaData metaData;

        MetaData(DatabaseMetaData metaData) {
            super(ReplayConnection.this.replay);
            this.metaData = metaData;
        }

        @Override
        DatabaseMetaData target() {
            return metaData;
        }

        @Override
        @Nullable
        Object call(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
            Object result = replay.run(() -> pass(method, arguments));
            if (result instanceof ResultSet) {
                replay.never("the application reads metadata in it");
            }
            return result instanceof Connection ? ReplayConnection.this.proxy() : result;
        }
    }
}
