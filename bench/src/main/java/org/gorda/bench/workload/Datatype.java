package org.gorda.bench.workload;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Of the column that makes rows as wide as they are to be; databases call two of them differently. */
enum Datatype {
    VARCHAR,
    BLOB,
    TEXT;

    /** What all databases take as VARCHAR. */
    static final int VARCHAR_MAX = 32_000;

    static final int WIDTH_MAX = 10_000_000;

    /** All of them, as users say it. */
    static List<String> words() {
        return Arrays.stream(values()).map(Datatype::word).toList();
    }

    static Datatype of(Parameters values) {
        Datatype datatype = valueOf(values.text("datatype").toUpperCase(Locale.ROOT));
        int width = values.number("datawidth");
        if (datatype == VARCHAR && width > VARCHAR_MAX) {
            throw new BenchException("datawidth is " + width + " but must be 1 to " + VARCHAR_MAX
                    + " with datatype varchar: use blob or text");
        }
        return datatype;
    }

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** As the database of a connection calls it. */
    String sql(Connection connection, int width) throws SQLException {
        String product = connection.getMetaData().getDatabaseProductName();
        boolean binary = this == BLOB;
        if (this == VARCHAR) {
            return "VARCHAR(" + width + ")";
        }
        return switch (product) {
            case "PostgreSQL" -> binary ? "BYTEA" : "TEXT";
            case "MySQL", "MariaDB" -> binary ? "LONGBLOB" : "LONGTEXT";
            case "Microsoft SQL Server" -> binary ? "VARBINARY(MAX)" : "VARCHAR(MAX)";
            default -> binary ? "BLOB" : "CLOB";
        };
    }

    void set(PreparedStatement statement, int index, String value) throws SQLException {
        if (this == BLOB) {
            statement.setBytes(index, value.getBytes(StandardCharsets.US_ASCII));
        } else {
            statement.setString(index, value);
        }
    }

    /** Fetches all of a value. */
    int length(ResultSet row, int index) throws SQLException {
        return this == BLOB ? row.getBytes(index).length : row.getString(index).length();
    }
}
