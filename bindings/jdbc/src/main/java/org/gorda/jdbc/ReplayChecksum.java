package org.gorda.jdbc;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.BatchUpdateException;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Date;
import org.gorda.gapi.Hash64;
import org.jspecify.annotations.Nullable;

/** A checksum over what the application was given, each value with its type. Not thread-safe. */
final class ReplayChecksum {

    private final Hash64 hash = new Hash64();

    long value() {
        return hash.value();
    }

    /** What a call returned: counts, or whether there are rows. */
    ReplayChecksum add(@Nullable Object result) throws SQLException {
        if (result instanceof int[] counts) {
            hash.add('C').add(counts.length);
            for (int count : counts) {
                hash.add(count);
            }
        } else if (result instanceof long[] counts) {
            hash.add('C').add(counts.length);
            for (long count : counts) {
                hash.add(count);
            }
        } else if (result instanceof ResultSet rows) {
            ResultSetMetaData columns = rows.getMetaData();
            hash.add('R').add(columns.getColumnCount());
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                hash.add(columns.getColumnType(i));
                text(columns.getColumnLabel(i));
            }
        } else if (!addValue(result)) {
            throw new IllegalStateException("a call returned " + result);
        }
        return this;
    }

    /** An error that the application was told. */
    ReplayChecksum add(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            hash.add('E');
            text(String.valueOf(e.getSQLState()));
        }
        if (failure instanceof BatchUpdateException batch) {
            for (long count : batch.getLargeUpdateCounts()) {
                hash.add(count);
            }
        }
        return this;
    }

    /** Whether rows have only values that can be read more than once. */
    static boolean isPossible(ResultSetMetaData columns) throws SQLException {
        for (int i = 1; i <= columns.getColumnCount(); i++) {
            switch (columns.getColumnType(i)) {
                case Types.BLOB,
                        Types.CLOB,
                        Types.NCLOB,
                        Types.LONGVARCHAR,
                        Types.LONGNVARCHAR,
                        Types.LONGVARBINARY,
                        Types.SQLXML,
                        Types.JAVA_OBJECT,
                        Types.STRUCT,
                        Types.REF,
                        Types.REF_CURSOR, // which is closed by being read
                        Types.ROWID -> {
                    return false;
                }
                default -> {}
            }
        }
        return true;
    }

    /** The row that these rows are at. */
    void addRow(ResultSet rows, int columns) throws SQLException {
        hash.add('r');
        ResultSetMetaData types = rows.getMetaData();
        for (int i = 1; i <= columns; i++) {
            // Of an engine's own type, or a serialised object, which is not to be made one.
            boolean isOther = types.getColumnType(i) == Types.OTHER;
            if (isOther || !addValue(rows.getObject(i))) {
                addValue(rows.getString(i));
            }
        }
    }

    void addEnd() {
        hash.add('e');
    }

    @SuppressWarnings("JavaUtilDate") // as JDBC has it
    private boolean addValue(@Nullable Object value) {
        if (value == null) {
            hash.add('0');
        } else if (value instanceof Integer
                || value instanceof Long
                || value instanceof Short
                || value instanceof Byte) {
            hash.add('N').add(((Number) value).longValue());
        } else if (value instanceof String string) {
            hash.add('S');
            text(string);
        } else if (value instanceof Boolean truth) {
            hash.add(truth ? 'T' : 'F');
        } else if (value instanceof BigDecimal number) {
            hash.add('D').add(number.scale());
            bytes(number.unscaledValue().toByteArray());
        } else if (value instanceof Double number) {
            hash.add('d').add(Double.doubleToLongBits(number));
        } else if (value instanceof Float number) {
            hash.add('f').add(Float.floatToIntBits(number));
        } else if (value instanceof byte[] bytes) {
            hash.add('B');
            bytes(bytes);
        } else if (value instanceof Timestamp moment) {
            hash.add('M').add(moment.getTime()).add(moment.getNanos());
        } else if (value instanceof Date date) {
            hash.add(value instanceof Time ? 't' : 'y').add(date.getTime());
        } else {
            return false;
        }
        return true;
    }

    private void text(String text) {
        bytes(text.getBytes(StandardCharsets.UTF_16BE));
    }

    private void bytes(byte[] bytes) {
        hash.add(bytes.length).add(bytes, 0, bytes.length);
    }
}
