package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.SQLXML;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.gorda.bindings.postgresql.Behaviour.Body;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.core.BaseConnection;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** A client that writes down all that an application can see of what it does, errors too. */
final class Observer implements AutoCloseable {

    /** What is connected to, and how. */
    interface Target {
        Connection connect(String settings) throws SQLException;

        /** Whether a replica is there. */
        boolean isReplica();

        /** A session that has nothing to do with us. */
        Connection outside() throws SQLException;
    }

    private final Target target;
    private final String settings;
    private final String prefix;
    private final List<String> seen;
    private final Connection connection;
    private final List<Observer> others = new ArrayList<>();

    Observer(Target target, String settings) throws SQLException {
        this(target, settings, "", new ArrayList<>());
    }

    private Observer(Target target, String settings, String prefix, List<String> seen) throws SQLException {
        this.target = target;
        this.settings = settings;
        this.prefix = prefix;
        this.seen = seen;
        this.connection = target.connect(settings);
    }

    /** All that was seen, but for the name of the database, numbers of its objects, and addresses by which the driver prints bytes. */
    List<String> seen() throws SQLException {
        try (Connection outside = target.outside()) {
            String name = outside.getCatalog();
            return seen.stream()
                    .map(line -> line.replace(name, "DATABASE")
                            .replaceAll("\\[B@\\w+", "[B@")
                            .replaceAll("_\\d{5,}\\b", "_NUMBER"))
                    .toList();
        }
    }

    Connection connection() {
        return connection;
    }

    PGConnection postgres() throws SQLException {
        return connection.unwrap(PGConnection.class);
    }

    /** Another client of the same kind, which writes to the same place. */
    Observer other() throws SQLException {
        Observer other = new Observer(target, settings, "other: ", seen);
        others.add(other);
        return other;
    }

    // ------------------------------------------------------------------------------------------------------- to do

    /** Does something, and sees what it throws, and how the session is then. */
    void attempt(String what, Body body) {
        see(what);
        try {
            body.run(this);
        } catch (SQLException e) {
            see(e);
        } catch (Exception e) {
            see("threw", e.toString());
        }
        see("then", state());
    }

    /** Executes statements as they are, one after the other, also behind one that fails. */
    void run(String... statements) {
        for (String sql : statements) {
            attempt(abbreviated(sql), client -> {
                try (Statement statement = connection.createStatement()) {
                    results(statement, () -> statement.execute(sql));
                }
            });
        }
    }

    /** A statement in each line. */
    void lines(String statements) {
        run(statements.split("\n"));
    }

    /** Executes a statement with parameters. */
    void run(String sql, List<?> parameters) {
        attempt(abbreviated(sql) + " with " + parameters.size(), client -> {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                set(statement, parameters);
                results(statement, statement::execute);
            }
        });
    }

    static void set(PreparedStatement statement, List<?> parameters) throws SQLException {
        for (int i = 0; i < parameters.size(); i++) {
            statement.setObject(i + 1, parameters.get(i));
        }
    }

    void begin() {
        attempt("begin", client -> connection.setAutoCommit(false));
    }

    void commit() {
        attempt("commit", client -> {
            connection.commit();
            see("notifications", notifications());
        });
    }

    void rollback() {
        attempt("rollback", client -> connection.rollback());
    }

    /** What we refuse on purpose: the server does something else, whatever it is. Nothing stays of it. */
    void refused(String message, Body body) throws Exception {
        String state = "0A000";
        connection.setAutoCommit(false);
        String outcome;
        try {
            body.run(this);
            outcome = "nothing was thrown";
        } catch (SQLException e) {
            outcome = e.getSQLState() + " "
                    + (e instanceof PSQLException p && p.getServerErrorMessage() != null
                            ? p.getServerErrorMessage().getMessage()
                            : e.getMessage());
        }
        connection.rollback();
        connection.setAutoCommit(true);
        if (target.isReplica()) {
            assertThat(outcome).isEqualTo(state + " " + message);
        } else {
            assertThat(outcome).isNotEqualTo(state + " " + message);
        }
    }

    void refused(String message, String sql) throws Exception {
        refused(message, client -> execute(sql));
    }

    /** A difference that there is on purpose. */
    void differs(String what, Object value, Object plain, Object replica) {
        assertThat(value).as(what).isEqualTo(target.isReplica() ? replica : plain);
    }

    /** Executes without looking. */
    void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Does it in another thread, once {@code first} is done. */
    Future<?> meanwhile(Body body) {
        return CompletableFuture.runAsync(() -> {
            try {
                body.run(this);
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    /** Waits until the server's session of this client waits for that. */
    void awaitWaiting(String event) throws SQLException {
        awaitOutside(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event_type || wait_event ~ '"
                        + event + "' AND pid = " + postgres().getBackendPID());
    }

    /** Waits until the server's session of this client is gone. */
    void awaitGone(int process) throws SQLException {
        awaitOutside("SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE pid = " + process);
    }

    private void awaitOutside(String sql) throws SQLException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        try (Connection outside = target.outside();
                PreparedStatement statement = outside.prepareStatement(sql)) {
            long found = 0;
            while (found == 0) {
                assertThat(System.nanoTime()).as(sql).isLessThan(end);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    found = rows.getLong(1);
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- to see

    void see(String line) {
        seen.add(prefix + line);
    }

    void see(String what, @Nullable Object value) {
        see("    " + what + ": " + text(value));
    }

    /** What a getter gives, or throws. */
    void get(String what, java.util.concurrent.Callable<?> getter) {
        try {
            see(what, getter.call());
        } catch (SQLException e) {
            see(e);
        } catch (Exception e) {
            see(what, e.toString());
        }
    }

    /** Executes, and sees all results and warnings. */
    void results(Statement statement, java.util.concurrent.Callable<Boolean> execution) throws Exception {
        try {
            boolean areRows = execution.call();
            long count = areRows ? 0 : statement.getLargeUpdateCount();
            while (areRows || count >= 0) {
                if (areRows) {
                    see(statement.getResultSet());
                } else {
                    see("count", count);
                }
                areRows = statement.getMoreResults();
                count = areRows ? 0 : statement.getLargeUpdateCount();
            }
        } finally {
            see(statement.getWarnings());
        }
    }

    /** Its columns, as far as they are known without asking the server, and all its rows from here on. */
    void see(ResultSet rows) throws SQLException {
        ResultSetMetaData columns = rows.getMetaData();
        for (int i = 1; i <= columns.getColumnCount(); i++) {
            see("    column " + columns.getColumnLabel(i) + " " + columns.getColumnTypeName(i) + " "
                    + columns.getColumnType(i) + " " + columns.getColumnClassName(i) + " " + columns.getPrecision(i)
                    + "," + columns.getScale(i) + " " + columns.getColumnDisplaySize(i) + " " + columns.isSigned(i));
        }
        while (rows.next()) {
            see(current(rows));
        }
        see(rows.getWarnings());
    }

    /** The row that it is at. */
    static String current(ResultSet rows) throws SQLException {
        StringBuilder row = new StringBuilder("    row");
        for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
            String value;
            try {
                value = text(rows.getObject(i));
            } catch (SQLException | RuntimeException e) {
                value = e.toString();
            }
            row.append(" | ").append(value).append(" = ").append(rows.getString(i));
        }
        return row.toString();
    }

    private void see(@Nullable SQLWarning first) {
        for (SQLWarning warning = first; warning != null; warning = warning.getNextWarning()) {
            ServerErrorMessage told =
                    warning instanceof org.postgresql.util.PSQLWarning own ? own.getServerErrorMessage() : null;
            see("    warning " + warning.getSQLState() + " " + warning.getMessage()
                    + (told == null ? "" : fields(told)));
        }
    }

    void see(SQLException first) {
        for (SQLException e = first; e != null; e = e.getNextException()) {
            see("    " + e.getClass().getSimpleName() + " " + e.getSQLState() + " " + e.getMessage());
            if (e instanceof BatchUpdateException batch) {
                see("    counts", Arrays.toString(batch.getLargeUpdateCounts()));
            }
            ServerErrorMessage told = e instanceof PSQLException own ? own.getServerErrorMessage() : null;
            if (told != null) {
                see("    told " + fields(told));
            } else if (e.getCause() != null) {
                // Which one it is when the server ends a connection is a matter of luck.
                boolean isLuck = e.getCause() instanceof EOFException || e.getCause() instanceof SocketException;
                see("    cause "
                        + (isLuck ? "connection lost" : e.getCause().getClass().getName()));
            }
        }
    }

    private static String fields(ServerErrorMessage told) {
        StringBuilder fields = new StringBuilder();
        List<Function<ServerErrorMessage, @Nullable Object>> all = List.of(
                ServerErrorMessage::getSeverity,
                ServerErrorMessage::getSQLState,
                ServerErrorMessage::getMessage,
                ServerErrorMessage::getDetail,
                ServerErrorMessage::getHint,
                ServerErrorMessage::getPosition,
                ServerErrorMessage::getInternalPosition,
                ServerErrorMessage::getInternalQuery,
                ServerErrorMessage::getWhere,
                ServerErrorMessage::getSchema,
                ServerErrorMessage::getTable,
                ServerErrorMessage::getColumn,
                ServerErrorMessage::getDatatype,
                ServerErrorMessage::getConstraint,
                ServerErrorMessage::getFile,
                ServerErrorMessage::getLine,
                ServerErrorMessage::getRoutine);
        all.forEach(field -> fields.append(" | ").append(field.apply(told)));
        return fields.toString();
    }

    static String text(@Nullable Object value) {
        try {
            if (value instanceof byte[] bytes) {
                return "bytes " + HexFormat.of().formatHex(bytes);
            } else if (value instanceof Array array) {
                return "array of " + array.getBaseTypeName() + " " + array.getBaseType() + " "
                        + Arrays.deepToString(new Object[] {array.getArray()});
            } else if (value instanceof PGobject object) {
                return value.getClass().getSimpleName() + " " + object.getType() + " " + object.getValue();
            } else if (value instanceof SQLXML xml) {
                return "xml " + xml.getString();
            } else if (value instanceof ResultSet rows) {
                StringBuilder all = new StringBuilder("rows");
                while (rows.next()) {
                    all.append(current(rows));
                }
                return all.toString();
            } else if (value instanceof java.io.InputStream in) {
                return "stream " + HexFormat.of().formatHex(in.readAllBytes());
            } else if (value instanceof int[] numbers) {
                return Arrays.toString(numbers);
            } else if (value instanceof Object[] objects) {
                return Arrays.deepToString(objects);
            }
        } catch (SQLException | IOException e) {
            return e.toString();
        }
        return value == null || value instanceof String
                ? String.valueOf(value)
                : value.getClass().getSimpleName() + " " + value;
    }

    private static String abbreviated(String sql) {
        return sql.length() < 1000 ? sql : sql.substring(0, 1000) + "… " + sql.getBytes(StandardCharsets.UTF_8).length;
    }

    /** What the session says of itself without asking the server. */
    private String state() {
        try {
            return connection.isClosed()
                    ? "closed"
                    : connection.unwrap(BaseConnection.class).getTransactionState() + ", autocommit "
                            + connection.getAutoCommit();
        } catch (SQLException e) {
            return e.toString();
        }
    }

    List<String> notifications() throws SQLException {
        List<String> all = new ArrayList<>();
        for (PGNotification one : postgres().getNotifications()) {
            all.add(one.getName() + " " + one.getParameter() + " "
                    + (one.getPID() == postgres().getBackendPID()));
        }
        return all;
    }

    /** How the session is, whether it goes on, and what the database holds then. */
    void aftermath() throws SQLException {
        others.forEach(Observer::afterwards);
        afterwards();
        try (Connection outside = target.outside();
                Statement statement = outside.createStatement();
                ResultSet held = statement.executeQuery(
                        "SELECT relname, array_remove(xpath('//row/row/text()', query_to_xml(CASE relkind WHEN 'S' THEN format("
                                + "'SELECT ROW(last_value, is_called) AS row FROM public.%I', relname) ELSE format("
                                + "'SELECT x::text AS row FROM public.%I x ORDER BY 1', relname) END, true, false, ''))::text[], NULL)"
                                + " FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'm', 'S')"
                                + " ORDER BY relname")) {
            while (held.next()) {
                see("holds " + held.getString(1) + " " + held.getString(2));
            }
        }
    }

    private void afterwards() {
        see("afterwards", state());
        attempt("parameters", client -> {
            see("process", postgres().getBackendPID() != 0);
            see("parameters", new TreeMap<>(postgres().getParameterStatuses()).toString());
        });
        attempt("warnings", client -> see(connection.getWarnings()));
        attempt("valid", client -> see("valid", connection.isValid(5)));
        attempt("end", client -> {
            if (!connection.getAutoCommit()) {
                connection.rollback();
                connection.setAutoCommit(true);
            }
        });
        attempt("properties", client -> {
            see("isolation", connection.getTransactionIsolation());
            see("read only", connection.isReadOnly());
            see("schema", connection.getSchema());
            see("hold", connection.getHoldability());
        });
        run("SELECT count(*) FROM t");
    }

    @Override
    public void close() throws SQLException {
        for (Observer other : others) {
            other.close();
        }
        connection.close();
    }
}
