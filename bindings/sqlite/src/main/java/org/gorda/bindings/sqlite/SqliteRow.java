package org.gorda.bindings.sqlite;

import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/** A row as it is in its table, each value of the class that SQLite stores it as: Long, Double, String or bytes. */
record SqliteRow(List<@Nullable Object> values) implements RowCapture.Row {

    private static final char REPLACEMENT = '\uFFFD';

    /**
     * The current row of a result set, whose columns are the table's.
     *
     * @param isSent whether more of it is than its key
     * @throws SQLException with 0A000 if it cannot be replicated
     */
    static SqliteRow of(TableShape table, ResultSet found, boolean isSent) throws SQLException {
        List<@Nullable Object> values = new ArrayList<>(table.columns().size());
        for (TableShape.Column column : table.columns()) {
            Object value = value(found, values.size() + 1);
            if (isSent) {
                check(table, column, value);
            }
            values.add(value);
        }
        for (int position : table.key()) {
            if (values.get(position - 1) == null) {
                throw Refused.unsupported("a row of " + table + " cannot be replicated: "
                        + table.columns().get(position - 1).name()
                        + " is NULL, and is of the primary key, by which replicas find a row");
            }
        }
        return new SqliteRow(values);
    }

    static @Nullable Object value(ResultSet found, int column) throws SQLException {
        Object value = found.getObject(column);
        if (value instanceof Integer small) {
            return small.longValue();
        }
        if (value instanceof String text && text.indexOf(REPLACEMENT) >= 0) {
            checkEncoding(found, column, text);
        }
        return value;
    }

    /** Of bytes that are no text the driver makes one, which would be another value. */
    private static void checkEncoding(ResultSet found, int column, String text) throws SQLException {
        if (!Arrays.equals(found.getBytes(column), text.getBytes(StandardCharsets.UTF_8))) {
            throw Refused.unsupported("column " + found.getMetaData().getColumnName(column)
                    + " has a text that is not encoded as UTF-8, and cannot be replicated: store it as BLOB");
        }
    }

    /** What a column of a certain type has of another class could not be compared between replicas. */
    private static void check(TableShape table, TableShape.Column column, @Nullable Object value) throws SQLException {
        boolean fits = value == null
                || switch (column.type()) {
                    case BIGINT -> value instanceof Long;
                    case DOUBLE -> value instanceof Double;
                    default -> true;
                };
        if (!fits) {
            throw Refused.unsupported("column " + column.name() + " of " + table + " is declared as a number of type "
                    + column.type() + ", and would have "
                    + (value instanceof byte[] ? "bytes" : "'" + value + "'") + ", which is not replicated");
        }
    }

    @Override
    public @Nullable Object value(SqlType type, int column) {
        return values.get(column - 1);
    }

    @Override
    public SqlType type(SqlType declared, int column) {
        Object value = values.get(column - 1);
        if (value instanceof Long) {
            return SqlType.BIGINT;
        }
        if (value instanceof Double) {
            return SqlType.DOUBLE;
        }
        return value instanceof String ? SqlType.VARCHAR : SqlType.VARBINARY;
    }
}
