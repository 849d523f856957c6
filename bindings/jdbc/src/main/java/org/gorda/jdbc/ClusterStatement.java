package org.gorda.jdbc;

import java.lang.reflect.Method;
import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Set;
import java.util.regex.Pattern;
import org.gorda.jdbc.EngineConnection.Effect;
import org.jspecify.annotations.Nullable;

/** A statement of the engine's driver, whose executions its connection commits by name. As a connection, for one thread at a time. */
final class ClusterStatement extends Delegate {

    private static final Pattern CALL = Pattern.compile("call|\\{", Pattern.CASE_INSENSITIVE);

    /** What is asked of a statement about its last execution. */
    private static final Set<String> ABOUT_LAST = Set.of(
            "getGeneratedKeys",
            "getLargeUpdateCount",
            "getMoreResults",
            "getResultSet",
            "getUpdateCount",
            "getWarnings");

    private final Statement statement;
    private final String text;
    private final boolean atPrimary;
    private @Nullable Effect own;

    /** Whether a text in its batch may begin a transaction or end one. */
    private boolean endsInBatch;

    /** Whether one may set something in the session. */
    private boolean setsInBatch;

    private @Nullable ResultSet lastRows;
    private @Nullable ResultSet lastProxy;

    /**
     * @param text what it executes, empty if that is told with each execution
     */
    ClusterStatement(ClusterConnection connection, EngineConnection engine, Statement statement, String text) {
        super(connection, engine, statement);
        this.statement = statement;
        this.text = text;
        this.atPrimary = connection.writesBy(engine);
    }

    Statement proxy() {
        return statement instanceof CallableStatement
                ? as(CallableStatement.class)
                : statement instanceof PreparedStatement ? as(PreparedStatement.class) : as(Statement.class);
    }

    @Override
    @Nullable
    Object delegate(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        String name = method.getName();
        if (name.startsWith("execute")) {
            String sql =
                    arguments != null && arguments.length > 0 && arguments[0] instanceof String given ? given : text;
            Effect effect = name.endsWith("Batch") && endsInBatch ? Effect.OWN : effect(sql);
            if (effect.maySet() || (name.endsWith("Batch") && setsInBatch)) {
                connection.sets(atPrimary);
            }
            endsInBatch = false;
            setsInBatch = false;
            if (atPrimary) {
                boolean call = CALL.matcher(EngineConnection.fromFirstWord(sql)).lookingAt();
                return guarded(connection.execute(statement, effect, !call, method, arguments), self);
            }
            connection.checkReads();
        }
        if (name.equals("addBatch") && arguments != null && arguments[0] instanceof String sql) {
            Effect part = connection.effect(sql);
            endsInBatch |= part == Effect.OWN;
            setsInBatch |= part.maySet();
        } else if (name.equals("clearBatch")) {
            endsInBatch = false;
            setsInBatch = false;
        }
        Object result = ABOUT_LAST.contains(name)
                ? connection.callAboutLast(engine, statement, method, arguments)
                : connection.call(engine, statement, method, arguments);
        if (name.equals("getConnection")) {
            return connection.proxy();
        }
        if (name.equals("close") || (name.equals("getMoreResults") && Boolean.FALSE.equals(result))) {
            connection.rowsEnded(statement, null);
        }
        return guarded(result, self);
    }

    /** Of the text that it has been made for it is looked for once. */
    @SuppressWarnings("ReferenceEquality")
    private Effect effect(String sql) {
        if (sql != text) {
            return connection.effect(sql);
        }
        Effect known = own;
        if (known == null) {
            known = connection.effect(sql);
            own = known;
        }
        return known;
    }

    private @Nullable Object guarded(@Nullable Object result, Object self) {
        if (!(result instanceof ResultSet rows)) {
            return result;
        }
        if (rows != lastRows) {
            lastRows = rows;
            lastProxy = new ClusterRows(connection, engine, rows, statement, (Statement) self).as(ResultSet.class);
        }
        return lastProxy;
    }
}
