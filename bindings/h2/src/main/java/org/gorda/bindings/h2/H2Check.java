package org.gorda.bindings.h2;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;

/** Looks for what in a database cannot be replicated, by its catalogue. Stateless. */
final class H2Check {

    private static final String OURS = " NOT IN ('INFORMATION_SCHEMA', 'GORDA')";

    private H2Check() {}

    /** @throws ReflectionException if clients could change something there without its being seen */
    static void requireFit(Connection connection) throws SQLException {
        List<Finding> found = new ArrayList<>();
        unseen(connection, found);
        if (!found.isEmpty()) {
            throw new ReflectionException("the database is not fit to be replicated: "
                    + found.stream()
                            .map(finding -> finding.object() + ": " + finding.problem() + " (" + finding.fix() + ")")
                            .collect(Collectors.joining("; ")));
        }
    }

    static List<Finding> findings(Connection connection) throws SQLException {
        List<Finding> found = new ArrayList<>();
        unseen(connection, found);
        try (Statement statement = connection.createStatement()) {
            try (ResultSet tables = statement.executeQuery(
                    "SELECT T.TABLE_SCHEMA, T.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES T WHERE T.TABLE_TYPE = 'BASE TABLE' AND T.TABLE_SCHEMA"
                            + OURS
                            + " AND NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS C WHERE C.TABLE_SCHEMA = T.TABLE_SCHEMA"
                            + " AND C.TABLE_NAME = T.TABLE_NAME AND C.CONSTRAINT_TYPE = 'PRIMARY KEY') ORDER BY 1, 2")) {
                while (tables.next()) {
                    String table = name(tables);
                    found.add(new Finding(
                            true,
                            "table " + table,
                            "it has no primary key, by which replicas find a row: its rows cannot be updated or deleted",
                            "ALTER TABLE " + table + " ADD PRIMARY KEY (...)"));
                }
            }
            try (ResultSet columns = statement.executeQuery(
                    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA"
                            + OURS
                            + " AND (DATA_TYPE IN ('DECFLOAT', 'TIME WITH TIME ZONE', 'TIMESTAMP WITH TIME ZONE', 'JAVA_OBJECT', 'GEOMETRY',"
                            + " 'JSON', 'ARRAY', 'ROW') OR DATA_TYPE LIKE 'INTERVAL%') ORDER BY 1, 2, 3")) {
                while (columns.next()) {
                    found.add(new Finding(
                            true,
                            "table " + name(columns),
                            "its column " + TableShape.quoted(columns.getString(3)) + " is of type "
                                    + columns.getString(4) + ", which cannot be replicated",
                            "store it as a type that can"));
                }
            }
        }
        return found;
    }

    private static void unseen(Connection connection, List<Finding> found) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet aliases = statement.executeQuery(
                    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA" + OURS
                            + " ORDER BY 1, 2")) {
                while (aliases.next()) {
                    found.add(new Finding(
                            true, "routine " + name(aliases), "what its Java code does is not seen", "drop it"));
                }
            }
            try (ResultSet tables = statement.executeQuery(
                    "SELECT TABLE_SCHEMA, TABLE_NAME, STORAGE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
                            + " AND TABLE_SCHEMA" + OURS
                            + " AND STORAGE_TYPE NOT IN ('CACHED', 'MEMORY') ORDER BY 1, 2")) {
                while (tables.next()) {
                    found.add(new Finding(
                            true,
                            "table " + name(tables),
                            "it is a " + tables.getString(3) + ", whose rows are not in this database",
                            "drop it"));
                }
            }
        }
    }

    private static String name(ResultSet row) throws SQLException {
        return TableShape.quoted(row.getString(1)) + "." + TableShape.quoted(row.getString(2));
    }
}
