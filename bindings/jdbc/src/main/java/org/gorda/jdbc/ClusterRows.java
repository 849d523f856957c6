package org.gorda.jdbc;

import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Rows of the engine's driver, which may be the first to notice that the connection is lost, and by which rows are changed. As a
 * connection, for one thread at a time.
 */
final class ClusterRows extends Delegate {

    private static final Set<String> CHANGES = Set.of("insertRow", "updateRow", "deleteRow");

    private final ResultSet rows;
    private final @Nullable Statement statement;
    private final @Nullable Statement proxy;
    private final boolean atPrimary;

    /**
     * @param statement the engine's that made them, null for metadata
     * @param proxy what the application has of that
     */
    ClusterRows(
            ClusterConnection connection,
            EngineConnection engine,
            ResultSet rows,
            @Nullable Statement statement,
            @Nullable Statement proxy) {
        super(connection, engine, rows);
        this.rows = rows;
        this.statement = statement;
        this.proxy = proxy;
        this.atPrimary = connection.writesBy(engine);
    }

    @Override
    @Nullable
    Object delegate(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        String name = method.getName();
        if (atPrimary && statement != null && CHANGES.contains(name)) {
            return connection.changeRow(statement, rows, method);
        }
        Object result = connection.call(engine, rows, method, arguments);
        if (name.equals("getStatement")) {
            return result instanceof Statement made && made != statement
                    ? new ClusterStatement(connection, engine, made, "").proxy()
                    : result == null ? null : proxy;
        }
        if (atPrimary && statement != null && (name.equals("close") || (name.equals("next") && isAtEnd(result)))) {
            connection.rowsEnded(statement, rows);
        }
        return result;
    }

    private boolean isAtEnd(@Nullable Object next) throws SQLException {
        return Boolean.FALSE.equals(next) && (rows.isClosed() || rows.getType() == ResultSet.TYPE_FORWARD_ONLY);
    }
}
