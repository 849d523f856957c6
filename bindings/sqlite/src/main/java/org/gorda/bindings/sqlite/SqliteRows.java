package org.gorda.bindings.sqlite;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.MovedRows;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/** Changes rows by SQL, on a connection whose triggers do nothing, and on which neither foreign keys nor CHECK constraints are compared. Confined to the applier's thread. */
final class SqliteRows implements Dialect.Rows {

    private static final int STATEMENTS_MAX = 200;

    private final SqliteDialect dialect;
    private final ReflectedConnection connection;
    private final MovedRows<Moved> moved = new MovedRows<>(this::add);
    private final Map<String, PreparedStatement> statements = new LinkedHashMap<>(STATEMENTS_MAX, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, PreparedStatement> eldest) {
            boolean isFull = size() > STATEMENTS_MAX;
            if (isFull) {
                closeQuietly(eldest.getValue());
            }
            return isFull;
        }
    };

    /** Tables as they are until the next commit: a change of the schema is committed by itself. */
    private final Map<TableShape, SqliteCatalogue.Table> tables = new HashMap<>();

    private record Moved(TableShape table, List<@Nullable Object> values) {}

    private interface Work {
        boolean run() throws SQLException;
    }

    SqliteRows(SqliteDialect dialect, ReflectedConnection connection) {
        this.dialect = dialect;
        this.connection = connection;
    }

    private static void closeQuietly(PreparedStatement statement) {
        try {
            statement.close();
        } catch (SQLException ignored) {
            // Its connection is closed.
        }
    }

    private boolean change(Object table, Work work) throws Locked {
        try {
            connection.beginToChange();
            connection.ignoresChecks(true);
            return work.run();
        } catch (SQLException e) {
            if (dialect.isLocked(e)) {
                throw new Locked(e);
            }
            if (SqliteDialect.isConstraint(e)) {
                throw new DivergenceException("a row of " + table + " cannot be had here: " + e.getMessage(), e);
            }
            // The driver may have closed a statement that has failed, which is executed again after a rollback.
            statements.values().forEach(SqliteRows::closeQuietly);
            statements.clear();
            throw new ReflectionException("a row of " + table + " cannot be changed: " + e.getMessage(), e);
        }
    }

    private int execute(String sql, List<@Nullable Object> values) throws SQLException {
        PreparedStatement statement = prepared(sql);
        bind(statement, values);
        return statement.executeUpdate();
    }

    private PreparedStatement prepared(String sql) throws SQLException {
        PreparedStatement statement = statements.get(sql);
        if (statement == null) {
            statement = connection.prepareStatement(sql);
            statements.put(sql, statement);
        }
        return statement;
    }

    private static void bind(PreparedStatement statement, List<@Nullable Object> values) throws SQLException {
        for (int i = 0; i < values.size(); i++) {
            Object value = values.get(i);
            int parameter = i + 1;
            if (value == null) {
                statement.setObject(parameter, null);
            } else if (value instanceof Long number) {
                statement.setLong(parameter, number);
            } else if (value instanceof Double number) {
                statement.setDouble(parameter, number);
            } else if (value instanceof String text) {
                statement.setString(parameter, text);
            } else if (value instanceof byte[] bytes) {
                statement.setBytes(parameter, bytes);
            } else {
                throw new ReflectionException("SQLite has no values like " + value);
            }
        }
    }

    private static String column(TableShape table, int position) {
        return TableShape.quoted(table.columns().get(position - 1).name());
    }

    private SqliteCatalogue.Table described(TableShape table) throws SQLException {
        SqliteCatalogue.Table known = tables.get(table);
        if (known == null) {
            known = dialect.described(table.name());
            tables.put(table, known);
        }
        return known;
    }

    private String where(TableShape table) throws SQLException {
        return described(table).where();
    }

    @Override
    public void insert(TableShape table, List<@Nullable Object> values) throws Locked {
        change(table, () -> {
            add(table, values);
            return true;
        });
    }

    private void add(TableShape table, List<@Nullable Object> values) throws SQLException {
        String columns = table.columns().stream()
                .map(column -> TableShape.quoted(column.name()))
                .collect(Collectors.joining(", "));
        String places = String.join(", ", Collections.nCopies(values.size(), "?"));
        execute("INSERT OR ABORT INTO " + table + " (" + columns + ") VALUES (" + places + ")", values);
    }

    private void add(Moved row) {
        try {
            add(row.table(), row.values());
        } catch (SQLException e) {
            throw new DivergenceException("a row of " + row.table() + " cannot be had here: " + e.getMessage(), e);
        }
    }

    @Override
    public boolean update(
            TableShape table, List<@Nullable Object> key, List<Integer> columns, List<@Nullable Object> values)
            throws Locked {
        return change(table, () -> {
            if (columns.stream().anyMatch(described(table).captured().unique()::contains)) {
                return move(table, key, columns, values);
            }
            String changed = columns.stream()
                    .map(position -> column(table, position) + " = ?")
                    .collect(Collectors.joining(", "));
            List<@Nullable Object> all = new ArrayList<>(values);
            all.addAll(key);
            return changes("UPDATE OR ABORT " + table + " SET " + changed + where(table), all);
        });
    }

    /** Another row may have its new keys yet: it is put into its place when all have left theirs. */
    private boolean move(
            TableShape table, List<@Nullable Object> key, List<Integer> columns, List<@Nullable Object> values)
            throws SQLException {
        List<@Nullable Object> row = read(table, key);
        if (row == null && !moved.isEmpty()) {
            moved.settle();
            row = read(table, key);
        }
        if (row == null) {
            return false;
        }
        execute("DELETE FROM " + table + where(table), key);
        for (int i = 0; i < columns.size(); i++) {
            row.set(columns.get(i) - 1, values.get(i));
        }
        moved.add(new Moved(table, row));
        return true;
    }

    private @Nullable List<@Nullable Object> read(TableShape table, List<@Nullable Object> key) throws SQLException {
        String columns = table.columns().stream()
                .map(column -> TableShape.quoted(column.name()))
                .collect(Collectors.joining(", "));
        PreparedStatement statement = prepared("SELECT " + columns + " FROM " + table + where(table));
        bind(statement, key);
        try (ResultSet found = statement.executeQuery()) {
            if (!found.next()) {
                return null;
            }
            List<@Nullable Object> row = new ArrayList<>();
            for (int i = 1; i <= table.columns().size(); i++) {
                row.add(SqliteRow.value(found, i));
            }
            return row;
        }
    }

    @Override
    public boolean delete(TableShape table, List<@Nullable Object> key) throws Locked {
        return change(table, () -> changes("DELETE FROM " + table + where(table), key));
    }

    /** Whether a row was there; one that was moved has its new key as soon as nobody has it as the old one. */
    private boolean changes(String sql, List<@Nullable Object> values) throws SQLException {
        int found = execute(sql, values);
        if (found == 0 && !moved.isEmpty()) {
            moved.settle();
            found = execute(sql, values);
        }
        if (found > 1) {
            throw new DivergenceException(found + " rows have the key of one that was changed elsewhere: " + sql);
        }
        return found == 1;
    }

    @Override
    public void endOfStatement() {
        moved.settle();
    }

    /** Rows that are put in with their values have it come as far by themselves; others were deleted again. */
    @Override
    public void generated(Generator generator, long last) throws Locked {
        change(generator, () -> {
            List<@Nullable Object> values = List.of(last, generator.name());
            return execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", values) > 0
                    || execute("INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)", values) > 0;
        });
    }

    /** The lock is that of all changes. */
    @Override
    public void committing() throws Locked {
        tables.clear();
        change("", () -> true);
    }

    @Override
    public void rolledBack() {
        tables.clear();
        moved.clear();
    }
}
