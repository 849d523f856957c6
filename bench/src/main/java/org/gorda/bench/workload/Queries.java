package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.SplittableRandom;

/** What all workloads ask a database. Immutable. */
final class Queries {

    private static final int ROWS_AT_ONCE = 1_000;

    private Queries() {}

    /** Whether there is a table of a name that was not quoted. */
    static boolean exists(Connection connection, String table) throws SQLException {
        for (String name : List.of(table.toUpperCase(Locale.ROOT), table.toLowerCase(Locale.ROOT))) {
            try (ResultSet tables = connection.getMetaData().getTables(null, null, name, new String[] {"TABLE"})) {
                if (tables.next()) {
                    return true;
                }
            }
        }
        return false;
    }

    /** How many rows a table has. */
    static long count(Connection connection, String table) throws SQLException {
        return number(connection, "SELECT COUNT(*) FROM " + table);
    }

    /** Of all rows of a table, whatever their order is. */
    static long checksum(Connection connection, String table) throws SQLException {
        long checksum = 0;
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(ROWS_AT_ONCE);
            try (ResultSet rows = statement.executeQuery("SELECT * FROM " + table)) {
                int columns = rows.getMetaData().getColumnCount();
                while (rows.next()) {
                    long row = 0;
                    for (int column = 1; column <= columns; column++) {
                        row = 31 * row + Objects.hashCode(rows.getString(column));
                    }
                    checksum += new SplittableRandom(row).nextLong(); // spread, so that two changes do not cancel out
                }
            }
        }
        return checksum;
    }

    /** The one number that is the answer; 0 instead of NULL. */
    static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Runs statements each by itself: not all databases take back what makes tables. */
    static void execute(Connection connection, List<String> statements) throws SQLException {
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        } finally {
            connection.setAutoCommit(false);
        }
    }

    /**
     * How many rows have been loaded so far of a table whose ids begin with 0.
     *
     * @throws BenchException if they are other ones, or more than there should be
     */
    static int ids(Connection connection, String table, int rows) throws SQLException {
        long count = count(connection, table);
        long last = count == 0 ? -1 : number(connection, "SELECT MAX(id) FROM " + table);
        if (count > rows || last != count - 1) {
            throw new BenchException("table " + table + " has " + count + " rows up to id " + last + " but must have "
                    + rows + " from id 0: drop it");
        }
        return (int) count;
    }
}
