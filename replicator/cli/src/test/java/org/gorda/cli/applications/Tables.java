package org.gorda.cli.applications;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** What programs do with tables beside their frameworks. */
final class Tables {

    private static final String EXISTS = "X0Y32";

    private Tables() {}

    /** Makes a table unless it is there. */
    static void create(DataSource pool, String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            if (!EXISTS.equals(e.getSQLState())) {
                throw e;
            }
        }
    }

    /** The number that a query finds. */
    static long number(DataSource pool, String query) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }
}
