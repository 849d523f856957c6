package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** All rows of all tables of a program, as it reads them through JDBC. */
final class Contents {

    private Contents() {}

    static Map<String, String> of(String url) throws SQLException {
        Map<String, String> contents = new TreeMap<>();
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            List<String> tables = new ArrayList<>();
            try (ResultSet found =
                    connection.getMetaData().getTables(null, "APP", "%", new String[] {"TABLE", "VIEW"})) {
                while (found.next()) {
                    tables.add(found.getString("TABLE_NAME"));
                }
            }
            for (String table : tables) {
                contents.put(table, rows(statement, table));
            }
        }
        return contents;
    }

    private static String rows(Statement statement, String table) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery("SELECT * FROM APP.\"" + table + "\"")) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                List<String> values = new ArrayList<>();
                for (int column = 1; column <= columns; column++) {
                    values.add(rows.getString(column));
                }
                lines.add(values.toString());
            }
        }
        lines.sort(null);
        return String.join("\n", lines);
    }
}
