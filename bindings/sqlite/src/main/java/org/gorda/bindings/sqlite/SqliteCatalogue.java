package org.gorda.bindings.sqlite;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.Dialect.Captured;
import org.gorda.bindings.triggers.Refused;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * What is in a database's catalogue, as a connection sees it at a moment. Immutable.
 *
 * @param version changes with the catalogue
 * @param tables that clients have made, by their names
 * @param sequences whether there are tables with AUTOINCREMENT
 */
record SqliteCatalogue(int version, Map<String, Table> tables, boolean sequences) {

    /** How names of our triggers begin. */
    private static final String TRIGGER = "GORDA$";

    /** A table's rowid, by the name that no column of its own hides. */
    private static final List<String> ROWIDS = List.of("rowid", "_rowid_", "oid");

    /**
     * A table of clients.
     *
     * @param select its replicated columns by its rowid
     * @param where finds a row by its key, compared as the key is
     */
    record Table(Captured captured, String rowid, String select, String where) {

        TableShape shape() {
            return captured.shape();
        }
    }

    static int version(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("PRAGMA schema_version")) {
            row.next();
            return row.getInt(1);
        }
    }

    static SqliteCatalogue of(Connection connection) throws SQLException {
        int version = version(connection);
        Map<String, Table> tables = new TreeMap<>();
        boolean sequences = false;
        for (String name :
                names(connection, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'GORDA$%'")) {
            if (name.equals("sqlite_sequence")) {
                sequences = true;
            } else if (!name.startsWith("sqlite_")) {
                tables.put(name, table(connection, name));
            }
        }
        return new SqliteCatalogue(version, tables, sequences);
    }

    private static List<String> names(Connection connection, String query, String... values) throws SQLException {
        List<String> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            for (int i = 0; i < values.length; i++) {
                statement.setString(i + 1, values[i]);
            }
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.add(rows.getString(1));
                }
            }
        }
        return found;
    }

    private static Table table(Connection connection, String name) throws SQLException {
        List<TableShape.Column> columns = new ArrayList<>();
        Map<Integer, Integer> key = new TreeMap<>();
        Set<String> all = new HashSet<>();
        try (PreparedStatement statement =
                connection.prepareStatement("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid")) {
            statement.setString(1, name);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    all.add(rows.getString(1).toLowerCase(Locale.ROOT));
                    if (rows.getInt(4) == 0) { // it is not computed of others
                        columns.add(new TableShape.Column(rows.getString(1), type(rows.getString(2))));
                        if (rows.getInt(3) > 0) {
                            key.put(rows.getInt(3), columns.size());
                        }
                    }
                }
            }
        }
        String rowid = ROWIDS.stream()
                .filter(alias -> !all.contains(alias))
                .findFirst()
                .orElse("");
        TableShape shape = new TableShape(ReflectedConnection.SCHEMA, name, columns, List.copyOf(key.values()));
        String select = "SELECT "
                + String.join(
                        ", ",
                        columns.stream()
                                .map(column -> TableShape.quoted(column.name()))
                                .toList()) + " FROM " + shape + " WHERE " + rowid + " = ?";
        return new Table(
                new Captured(shape, unique(connection, shape), false), rowid, select, where(connection, shape));
    }

    private static String where(Connection connection, TableShape shape) throws SQLException {
        Map<String, String> collations = new HashMap<>();
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT X.name, X.coll FROM pragma_index_list(?) L, pragma_index_xinfo(L.name) X WHERE L.origin = 'pk' AND X.key = 1")) {
            statement.setString(1, shape.name());
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    collations.put(rows.getString(1), " COLLATE " + TableShape.quoted(rows.getString(2)));
                }
            }
        }
        return " WHERE "
                + shape.key().stream()
                        .map(position -> shape.columns().get(position - 1).name())
                        .map(name -> TableShape.quoted(name) + collations.getOrDefault(name, "") + " = ?")
                        .collect(Collectors.joining(" AND "));
    }

    /** All columns if an index is of an expression, or of some rows only: whatever is changed may be what it compares. */
    private static Set<Integer> unique(Connection connection, TableShape shape) throws SQLException {
        Map<String, Integer> positions = new HashMap<>();
        for (int i = 0; i < shape.columns().size(); i++) {
            positions.put(shape.columns().get(i).name(), i + 1);
        }
        Set<Integer> unique = new HashSet<>(shape.key());
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT X.name, L.partial FROM pragma_index_list(?) L, pragma_index_info(L.name) X WHERE L.\"unique\" = 1")) {
            statement.setString(1, shape.name());
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    Integer position = rows.getString(1) == null ? null : positions.get(rows.getString(1));
                    if (position == null || rows.getBoolean(2)) {
                        unique.addAll(positions.values());
                    } else {
                        unique.add(position);
                    }
                }
            }
        }
        return unique;
    }

    /** By SQLite's rules for the affinity of columns: what values of them are converted to. Columns that take what they are given are texts here, or bytes. */
    static SqlType type(String declared) {
        String upper = declared.toUpperCase(Locale.ROOT);
        if (upper.contains("INT")) {
            return SqlType.BIGINT;
        }
        if (Stream.of("CHAR", "CLOB", "TEXT").anyMatch(upper::contains)) {
            return SqlType.VARCHAR;
        }
        if (upper.isEmpty() || upper.contains("BLOB")) {
            return SqlType.VARBINARY;
        }
        return Stream.of("REAL", "FLOA", "DOUB").anyMatch(upper::contains) ? SqlType.DOUBLE : SqlType.VARCHAR;
    }

    /** @throws SQLException with 0A000 if there is no such table of clients */
    Table table(String name) throws SQLException {
        Table found = tables.get(name);
        if (found == null) {
            throw Refused.unsupported("a table " + TableShape.quoted(name) + " is not a client's, and not changed");
        }
        return found;
    }

    // ------------------------------------------------------------------------------------------------------- triggers

    /** Has no table tell of its rows: what changes a table that triggers know may fail. */
    static void leave(Statement statement) throws SQLException {
        for (String name : names(
                statement.getConnection(),
                "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '" + TRIGGER + "%'")) {
            statement.execute("DROP TRIGGER " + TableShape.quoted(name));
        }
    }

    /** Has all tables tell of their rows that do not. */
    void captureAll(Statement statement) throws SQLException {
        Set<String> there = new HashSet<>(names(
                statement.getConnection(),
                "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '" + TRIGGER + "%'"));
        for (Table table : tables.values()) {
            for (String trigger : triggers(table)) {
                if (!there.contains(trigger)) {
                    statement.execute(trigger);
                }
            }
        }
    }

    private static List<String> triggers(Table table) {
        boolean isKeyless = table.shape().key().isEmpty();
        return List.of(
                trigger(table, "INSERT", "NEW"),
                isKeyless ? trigger(table, "UPDATE") : trigger(table, "UPDATE", "OLD", "NEW"),
                isKeyless ? trigger(table, "DELETE") : trigger(table, "DELETE", "OLD"));
    }

    /** @param rows of which it tells; none if the change is to be refused */
    private static String trigger(Table table, String event, String... rows) {
        String name = table.shape().name();
        String told =
                Stream.of(rows).map(row -> ", " + row + "." + table.rowid()).collect(Collectors.joining());
        return "CREATE TRIGGER " + TableShape.quoted(TRIGGER + event + "$" + name) + " AFTER " + event + " ON "
                + TableShape.quoted(name) + " BEGIN SELECT " + ReflectedConnection.TOUCHED + "('"
                + name.replace("'", "''") + "'" + told + "); END";
    }

    // ----------------------------------------------------------------------------------------------------- sequences

    /** How far tables with AUTOINCREMENT have come. */
    Map<String, Long> sequences(Connection connection) throws SQLException {
        Map<String, Long> found = new TreeMap<>();
        if (sequences) {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT name, seq FROM sqlite_sequence")) {
                while (rows.next()) {
                    found.put(rows.getString(1), rows.getLong(2));
                }
            }
        }
        return found;
    }

    /** A table that refers to another one; null if none does. */
    static @Nullable String referrer(Connection connection, String table) throws SQLException {
        List<String> found = names(
                connection,
                "SELECT S.name FROM sqlite_schema S, pragma_foreign_key_list(S.name) F WHERE S.type = 'table'"
                        + " AND F.\"table\" = ? COLLATE NOCASE AND S.name <> ? COLLATE NOCASE ORDER BY 1",
                table,
                table);
        return found.isEmpty() ? null : found.get(0);
    }
}
