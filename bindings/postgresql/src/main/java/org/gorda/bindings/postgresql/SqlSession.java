package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A session with the server, for statements of our own. Confined to one thread at a time. */
interface SqlSession {

    /** Executes one statement; its rows as texts. */
    List<List<@Nullable String>> query(String sql) throws SQLException;

    /** Executes a query of one number. */
    default long number(String sql) throws SQLException {
        return Long.parseLong(Objects.requireNonNull(query(sql).get(0).get(0)));
    }

    /** By JDBC. */
    static SqlSession of(Connection connection) {
        return sql -> {
            List<List<@Nullable String>> rows = new ArrayList<>();
            try (Statement statement = connection.createStatement()) {
                if (!statement.execute(sql)) {
                    return rows;
                }
                try (ResultSet found = statement.getResultSet()) {
                    int columns = found.getMetaData().getColumnCount();
                    while (found.next()) {
                        List<@Nullable String> row = new ArrayList<>(columns);
                        for (int i = 1; i <= columns; i++) {
                            row.add(found.getString(i));
                        }
                        rows.add(row);
                    }
                }
            }
            return rows;
        };
    }
}
