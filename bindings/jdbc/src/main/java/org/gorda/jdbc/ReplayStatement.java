package org.gorda.jdbc;

import java.lang.reflect.Method;
import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.gorda.jdbc.Replay.DiffersException;
import org.jspecify.annotations.Nullable;

/**
 * A statement whose executions can be done again, also once the application has closed it or has given it other parameters. As a
 * connection, for one thread at a time.
 */
final class ReplayStatement extends ReplayProxy {

    private static final int TEXT_MAX = 100;

    /** What leaves nothing behind when it is rolled back, neither in the session nor outside of the database. */
    private static final Pattern REPLAYABLE = Pattern.compile(
            "(\\s|--[^\\n]*\\n|/\\*.*?\\*/)*+(select|values|table|with|insert|update|delete|merge|lock)\\b.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    /** Cursors, temporary tables, settings and the last generated key are the session's: no rollback brings back what they were. */
    private static final Pattern OF_SESSION = Pattern.compile(
            "\\bwhere\\s+current\\s+of\\b|\\bsession\"?\\s*\\.|\\bidentity_val_local\\b"
                    + "|\\b(currval|lastval|set_config|pg_\\w*advisory_\\w+)\\s*\\(|\\bpg_temp\\b",
            Pattern.CASE_INSENSITIVE);

    private static final Pattern STRING = Pattern.compile("'[^']*'|\"[^\"]*\"");

    /** By which applications begin transactions themselves, in autocommit mode, too. */
    private static final Pattern BEGIN = Pattern.compile(
            "(\\s|--[^\\n]*\\n|/\\*.*?\\*/)*+\\b(begin|start)\\b", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final ReplayConnection connection;
    private final ReplayCall made;
    private final Map<String, ReplayCall> settings = new LinkedHashMap<>();
    private Statement statement;

    /** For the next execution; not to be changed any more if it is shared with an earlier one. */
    private Map<Integer, ReplayCall> parameters = new LinkedHashMap<>();

    private boolean shared;
    private final List<Batched> batch = new ArrayList<>();
    private boolean named;
    private boolean reopened;
    private String text;
    private @Nullable ReplayRows rows;

    /** A part of a batch: a statement's text, or parameters. */
    private record Batched(ReplayCall call, Map<Integer, ReplayCall> parameters) {}

    /** @param made how the connection made the statement */
    ReplayStatement(Replay replay, ReplayConnection connection, ReplayCall made, Statement statement) {
        super(replay);
        this.connection = connection;
        this.made = made;
        this.statement = statement;
        this.text = made.sql();
    }

    @Override
    Statement target() {
        return statement;
    }

    Statement proxy() {
        return (Statement) proxy(
                statement instanceof CallableStatement
                        ? CallableStatement.class
                        : statement instanceof PreparedStatement ? PreparedStatement.class : Statement.class);
    }

    /** Whether a text may have several statements, of which one could end the transaction. */
    private static boolean isSeveral(String sql) {
        // Where a backslash or a dollar can be something else in a string, strings are not looked for.
        boolean hasPlainStrings = sql.indexOf('\\') < 0 && sql.indexOf('$') < 0;
        String text = (hasPlainStrings ? STRING.matcher(sql).replaceAll("") : sql).stripTrailing();
        int end = text.indexOf(';');
        return end >= 0 && end < text.length() - 1;
    }

    /** What it executes, for people. */
    String describe() {
        return "'" + (text.length() > TEXT_MAX ? text.substring(0, TEXT_MAX) + "..." : text) + "'";
    }

    @Override
    @Nullable
    Object call(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        String name = method.getName();
        if (name.startsWith("execute")) {
            return execute(new Execution(ReplayCall.of(method, arguments)));
        }
        return switch (name) {
            case "getConnection" -> connectionOf(method);
            case "getResultSet" -> results(pass(method, arguments));
            case "getMoreResults" -> moreResults(method, arguments);
            case "getGeneratedKeys" -> keys(pass(method, arguments));
            case "close" -> close(method);
            default -> {
                Object result = pass(method, arguments);
                note(ReplayCall.of(method, arguments));
                yield result;
            }
        };
    }

    private Object connectionOf(Method method) throws SQLException {
        pass(method, null); // which it does not answer once it is closed
        return connection.proxy();
    }

    /** Remembers what the next execution depends on. */
    private void note(ReplayCall call) {
        String name = call.method().getName();
        @Nullable Object @Nullable [] given = call.arguments();
        if (name.startsWith("set") && given != null && given.length > 1 && given[0] instanceof Integer index) {
            if (shared) {
                parameters = new LinkedHashMap<>(parameters);
                shared = false;
            }
            parameters.put(index, call);
        } else if (name.equals("setCursorName")) {
            named = true;
        } else if (name.startsWith("set") || name.equals("closeOnCompletion")) {
            settings.put(name, call);
        } else if (name.equals("clearParameters")) {
            parameters = new LinkedHashMap<>();
            shared = false;
        } else if (name.equals("addBatch")) {
            batch.add(new Batched(call, share()));
        } else if (name.equals("clearBatch")) {
            batch.clear();
        }
    }

    private Map<Integer, ReplayCall> share() {
        shared = true;
        return parameters;
    }

    // ---------------------------------------------------------------------------------------------------- executions

    private @Nullable Object execute(Execution step) throws SQLException {
        replay.executing(this);
        String reason = step.obstacle();
        if (reason != null) {
            replay.never(reason);
        }
        if (step.begins()) {
            replay.neverAgain("the application begins transactions by SQL");
        }
        closeRows(false);
        step.name();
        Object result;
        try {
            result = replay.run(() -> step.call.on(statement));
        } catch (SQLException e) {
            step.given = new ReplayChecksum().add(e).value();
            if (!Replay.isRefusal(e)) {
                replay.failed(e, step, step.bytes());
            }
            replay.autoCommitted();
            throw e;
        } finally {
            if (step.isBatch()) {
                batch.clear();
            }
        }
        step.given = given(result);
        ResultSet found = rowsOf(result);
        rows = found == null ? null : new ReplayRows(replay, this, found, true);
        step.rows = rows;
        replay.add(step, step.bytes());
        if (rows == null) {
            replay.autoCommitted();
        }
        return result instanceof ResultSet && rows != null ? rows.proxy() : result;
    }

    private long given(@Nullable Object result) throws SQLException {
        ReplayChecksum sum = new ReplayChecksum().add(result);
        if (Boolean.FALSE.equals(result)) {
            try {
                sum.add(statement.getUpdateCount());
            } catch (SQLException e) {
                if (!"08007".equals(e.getSQLState())) {
                    throw e;
                }
                // it is committed, and the connection is lost: there is nothing to run again, and the application has
                // not asked
            }
        }
        return sum.value();
    }

    private @Nullable ResultSet rowsOf(@Nullable Object result) throws SQLException {
        return result instanceof ResultSet found
                ? found
                : Boolean.TRUE.equals(result) ? statement.getResultSet() : null;
    }

    private final class Execution implements Replay.Step {
        private final ReplayCall call;
        private final Map<Integer, ReplayCall> values = share();
        private final List<Batched> parts;
        private @Nullable ReplayRows rows;
        private long given;

        Execution(ReplayCall call) {
            this.call = call;
            this.parts = isBatch(call) ? List.copyOf(batch) : List.of();
        }

        private static boolean isBatch(ReplayCall call) {
            return call.method().getName().endsWith("Batch");
        }

        boolean isBatch() {
            return isBatch(call);
        }

        /** From now on it is this that the statement executes. */
        void name() {
            text = made.sql().isEmpty()
                    ? parts.isEmpty() ? call.sql() : parts.get(0).call().sql()
                    : made.sql();
        }

        /** Why it cannot be done again, if so. */
        @Nullable
        String obstacle() throws SQLException {
            if (!replay.isRecording()) {
                return null;
            }
            if (statement instanceof CallableStatement) {
                return "it calls a procedure";
            }
            if (named
                    || statement.getResultSetType() != ResultSet.TYPE_FORWARD_ONLY
                    || statement.getResultSetConcurrency() != ResultSet.CONCUR_READ_ONLY) {
                return "its rows can be moved in, changed or named";
            }
            if (parts.size() > 1 && replay.commitsParts()) {
                return "parts of the batch may be committed already";
            }
            boolean again = call.again() && areAgain(values);
            for (Batched part : parts) {
                again &= part.call().again() && areAgain(part.parameters());
                String sql = part.call().sql();
                if (!sql.isEmpty() && !isReplayable(sql)) {
                    return notAgain(sql);
                }
            }
            String sql = made.sql().isEmpty() ? call.sql() : made.sql();
            return !again
                    ? "a parameter is a stream, a LOB or an object that may have changed"
                    : sql.isEmpty() || isReplayable(sql) ? null : notAgain(sql);
        }

        /** Whether it begins a transaction by SQL. */
        boolean begins() {
            return begins(made.sql().isEmpty() ? call.sql() : made.sql())
                    || parts.stream().anyMatch(part -> begins(part.call().sql()));
        }

        private static boolean begins(String sql) {
            return isSeveral(sql)
                    ? BEGIN.matcher(sql).find()
                    : BEGIN.matcher(sql).lookingAt();
        }

        private static boolean areAgain(Map<Integer, ReplayCall> parameters) {
            return parameters.values().stream().allMatch(ReplayCall::again);
        }

        private static boolean isReplayable(String sql) {
            return REPLAYABLE.matcher(sql).matches() && !OF_SESSION.matcher(sql).find() && !isSeveral(sql);
        }

        private static String notAgain(String sql) {
            return "it does what a rollback may leave something of: '"
                    + (sql.length() > TEXT_MAX ? sql.substring(0, TEXT_MAX) + "..." : sql) + "'";
        }

        long bytes() {
            long bytes = call.bytes() + bytes(values);
            for (Batched part : parts) {
                bytes += part.call().bytes() + bytes(part.parameters());
            }
            return bytes;
        }

        private static long bytes(Map<Integer, ReplayCall> parameters) {
            return parameters.values().stream().mapToLong(ReplayCall::bytes).sum();
        }

        @Override
        public void again() throws SQLException, DiffersException {
            reopen();
            name();
            set(values, parts);
            long now;
            try {
                Object result = call.on(statement);
                now = given(result);
                ResultSet found = rowsOf(result);
                if (rows != null && found != null) {
                    rows.target(found);
                }
            } catch (SQLException e) {
                if (Replay.isRefusal(e) || !Replay.isOfStatementOnly(e)) {
                    throw e;
                }
                now = new ReplayChecksum().add(e).value();
            }
            if (now != given) {
                throw new DiffersException(
                        describe() + " has another result now than the one that the application has");
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- results

    private @Nullable Object results(@Nullable Object found) {
        if (!(found instanceof ResultSet result)) {
            return found;
        }
        ReplayRows known = rows;
        if (known == null || known.target() != result) {
            replay.never("a statement gave several results");
            known = new ReplayRows(replay, this, result, true);
            rows = known;
        }
        return known.proxy();
    }

    private @Nullable Object moreResults(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        ReplayRows known = rows;
        if (known == null || known.isClosed() || known.number() != replay.number()) {
            return pass(method, arguments);
        }
        Object more = replay.run(() -> pass(method, arguments));
        if (Boolean.TRUE.equals(more)) {
            replay.never("a statement gave several results");
        } else {
            ReplayCall call = ReplayCall.of(method, arguments);
            replay.add(() -> call.on(statement), call.bytes());
        }
        known.closedBy(true);
        return more;
    }

    private @Nullable Object keys(@Nullable Object found) {
        if (!(found instanceof ResultSet result)) {
            return found;
        }
        ReplayRows keys = new ReplayRows(replay, this, result, !replay.isAutoCommit());
        replay.add(() -> keys.target(statement.getGeneratedKeys()), 0);
        return keys.proxy();
    }

    private @Nullable Void close(Method method) throws SQLException {
        closeRows(true);
        pass(method, null);
        return null;
    }

    /** Executing or closing it closes the rows that it gave before. */
    private void closeRows(boolean last) throws SQLException {
        ReplayRows known = rows;
        rows = null;
        if (known == null) {
            return;
        }
        boolean open = !known.isClosed() && known.number() == replay.number();
        if (open && last) {
            replay.add(() -> known.target().close(), 0);
        }
        known.closedBy(open && last);
    }

    // ------------------------------------------------------------------------------------------------------- replays

    /** For a replay, if the application has closed it. */
    private void reopen() throws SQLException {
        if (statement.isClosed()) {
            statement = (Statement) java.util.Objects.requireNonNull(made.on(connection.target()));
            reopened = true;
            for (ReplayCall setting : settings.values()) {
                setting.on(statement);
            }
        }
    }

    private void set(Map<Integer, ReplayCall> values, List<Batched> parts) throws SQLException {
        statement.clearBatch();
        for (Batched part : parts) {
            setParameters(part.parameters());
            part.call().on(statement);
        }
        setParameters(values);
    }

    private void setParameters(Map<Integer, ReplayCall> values) throws SQLException {
        if (statement instanceof PreparedStatement prepared) {
            prepared.clearParameters();
            for (ReplayCall parameter : values.values()) {
                parameter.on(statement);
            }
        }
    }

    /** After a replay: as the application has left it. */
    void restore() throws SQLException {
        if (reopened) {
            reopened = false;
            statement.close();
        } else if (!statement.isClosed()) {
            set(parameters, batch);
        }
    }
}
