package org.gorda.bindings.hsqldb;

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
final class HsqldbCheck {

    private static final String OURS = " NOT IN ('INFORMATION_SCHEMA', 'SYSTEM_LOBS', 'SQLJ', 'GORDA')";

    /** What is looked for, as rows of a schema and a name, and what to do about it. */
    private record Search(boolean opens, String kind, String query, String problem, String fix) {}

    private static final List<Search> SEARCHES = List.of(
            new Search(
                    false,
                    "routine",
                    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA" + OURS,
                    "what it does in a statement, and takes back, is not seen",
                    "drop it"),
            new Search(
                    false,
                    "trigger",
                    "SELECT TRIGGER_SCHEMA, TRIGGER_NAME FROM INFORMATION_SCHEMA.TRIGGERS WHERE TRIGGER_SCHEMA" + OURS
                            + " AND TRIGGER_NAME NOT LIKE 'GORDA$%'",
                    "what it does in a statement, and takes back, is not seen",
                    "drop it"),
            new Search(
                    false,
                    "table",
                    "SELECT TABLE_SCHEM, TABLE_NAME FROM INFORMATION_SCHEMA.SYSTEM_TABLES WHERE TABLE_TYPE = 'TABLE'"
                            + " AND HSQLDB_TYPE <> 'MEMORY' AND TABLE_SCHEM" + OURS,
                    "its rows are in a file of their own, which a crash may leave otherwise than the log",
                    "SET TABLE ... TYPE MEMORY"),
            new Search(
                    true,
                    "table",
                    "SELECT T.TABLE_SCHEMA, T.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES T WHERE T.TABLE_TYPE = 'BASE TABLE'"
                            + " AND T.TABLE_SCHEMA" + OURS
                            + " AND NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS C WHERE C.TABLE_SCHEMA = T.TABLE_SCHEMA"
                            + " AND C.TABLE_NAME = T.TABLE_NAME AND C.CONSTRAINT_TYPE = 'PRIMARY KEY')",
                    "it has no primary key, by which replicas find a row: its rows cannot be updated or deleted",
                    "ALTER TABLE ... ADD PRIMARY KEY (...)"),
            new Search(
                    true,
                    "table",
                    "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA" + OURS
                            + " AND (DATA_TYPE LIKE '%LARGE OBJECT%' OR DATA_TYPE LIKE 'BIT%' OR DATA_TYPE LIKE 'INTERVAL%'"
                            + " OR DATA_TYPE LIKE '%WITH TIME ZONE' OR DATA_TYPE LIKE '%ARRAY%' OR DATA_TYPE = 'OTHER')",
                    "a column of it is of a type that cannot be replicated",
                    "store it as a type that can"));

    private HsqldbCheck() {}

    /** @throws ReflectionException if clients could change something there without its being seen */
    static void requireFit(Connection connection) throws SQLException {
        List<Finding> found = new ArrayList<>();
        for (Search search : SEARCHES) {
            if (!search.opens()) {
                look(connection, search, found);
            }
        }
        if (!found.isEmpty()) {
            throw new ReflectionException("the database is not fit to be replicated: "
                    + found.stream()
                            .map(finding -> finding.object() + ": " + finding.problem() + " (" + finding.fix() + ")")
                            .collect(Collectors.joining("; ")));
        }
    }

    static List<Finding> findings(Connection connection) throws SQLException {
        List<Finding> found = new ArrayList<>();
        for (Search search : SEARCHES) {
            look(connection, search, found);
        }
        return found;
    }

    private static void look(Connection connection, Search search, List<Finding> found) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(search.query() + " ORDER BY 1, 2")) {
            while (rows.next()) {
                String object = search.kind() + " " + TableShape.quoted(rows.getString(1)) + "."
                        + TableShape.quoted(rows.getString(2));
                found.add(new Finding(true, object, search.problem(), search.fix()));
            }
        }
    }
}
