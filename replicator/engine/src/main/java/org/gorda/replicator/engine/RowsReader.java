package org.gorda.replicator.engine;

import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.io.PushbackReader;
import java.io.Reader;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.temporal.ChronoField;
import java.util.List;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSetWriter;

/**
 * Reads the rows of tables through JDBC, of any database, and writes them as the write sets of who inserts them, or deletes them. Confined to one thread.
 */
final class RowsReader {

    /** A write set ends behind the row with which it has become so long. */
    private static final int WRITE_SET_BYTES = 256 << 10;

    /** A text or binary that is not longer is not read piece by piece where it is applied. */
    private static final int SHORT = 8 << 10;

    private final WriteSetWriter writeSet;
    private final RowsFile.Writer target;

    /** @param spool where what is large is kept for a while; belongs to this */
    RowsReader(RowsFile.Writer target, Path spool) {
        this.target = target;
        this.writeSet = new WriteSetWriter(0, Long.MAX_VALUE, spool);
    }

    /** Has generators go on behind a value. */
    void generated(boolean identity, String schema, String name, long last) {
        writeSet.generated(identity, schema, name, last);
    }

    /**
     * Inserts all rows of a table.
     *
     * @return how many there are
     * @throws IOException if one has a value that write sets cannot hold
     */
    long insert(Connection connection, TableShape table) throws SQLException, IOException {
        return read(
                connection,
                table,
                table.columns(),
                () -> writeSet.insert(table, table.columns().size()));
    }

    /** As {@link #insert}, but deletes them. */
    long delete(Connection connection, TableShape table) throws SQLException, IOException {
        List<TableShape.Column> key = table.key().stream()
                .map(position -> table.columns().get(position - 1))
                .toList();
        return read(connection, table, key, () -> writeSet.delete(table));
    }

    /**
     * Whether a table has rows.
     *
     * @param table its schema and name, as SQL writes them
     */
    static boolean isAny(Connection connection, String table) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setMaxRows(1);
            try (ResultSet found = statement.executeQuery("SELECT 1 FROM " + table)) {
                return found.next();
            }
        }
    }

    private long read(Connection connection, TableShape table, List<TableShape.Column> columns, Runnable begin)
            throws SQLException, IOException {
        try (TableRows rows = new TableRows(connection, table, columns)) {
            while (rows.next()) {
                long before = writeSet.mark().changes();
                begin.run();
                for (int i = 0; i < columns.size(); i++) {
                    put(table, columns.get(i), rows.row(), i + 1);
                }
                long bytes = writeSet.mark().changes();
                rows.had(bytes - before);
                if (bytes >= WRITE_SET_BYTES) {
                    flush();
                }
            }
            return rows.count();
        }
    }

    /** Writes what was read. */
    void flush() throws IOException {
        if (!writeSet.isEmpty()) {
            target.write(writeSet.finish());
            writeSet.clear();
        }
    }

    private void put(TableShape table, TableShape.Column column, ResultSet row, int position)
            throws SQLException, IOException {
        SqlType type = column.type();
        switch (type) {
            case BOOLEAN -> put(row.getBoolean(position), row, writeSet::putBoolean);
            case SMALLINT, INTEGER, BIGINT ->
                put(row.getLong(position), row, value -> writeSet.putInteger(type, value));
            case REAL -> put(row.getFloat(position), row, writeSet::putReal);
            case DOUBLE -> put(row.getDouble(position), row, writeSet::putDouble);
            case DECIMAL, CHAR, VARCHAR, DATE, TIME, TIMESTAMP ->
                put(row.getString(position), row, value -> putText(table, column, value));
            case LONGVARCHAR, CLOB, XML ->
                put(row.getCharacterStream(position), row, value -> putCharacters(type, value));
            case BINARY, VARBINARY ->
                put(row.getBytes(position), row, value -> writeSet.putBytes(type, value, 0, value.length));
            case LONGVARBINARY, BLOB -> put(row.getBinaryStream(position), row, value -> putBinary(type, value));
        }
    }

    private interface Put<T> {
        void put(T value) throws IOException;
    }

    /** @param value as the driver has just given it */
    private <T> void put(T value, ResultSet row, Put<T> how) throws SQLException, IOException {
        if (row.wasNull()) {
            writeSet.putNull();
        } else {
            how.put(value);
        }
    }

    /** Numbers and moments as SQL writes them: so there is no time zone in between. */
    private void putText(TableShape table, TableShape.Column column, String value) throws IOException {
        try {
            switch (column.type()) {
                case DECIMAL -> writeSet.putDecimal(new BigDecimal(value));
                case DATE -> {
                    LocalDate day = LocalDate.parse(value);
                    writeSet.putDate(day.getYear(), day.getMonthValue(), day.getDayOfMonth());
                }
                case TIME -> {
                    LocalTime time = LocalTime.parse(value);
                    writeSet.putTime(time.toSecondOfDay(), time.get(ChronoField.NANO_OF_SECOND));
                }
                case TIMESTAMP -> {
                    int space = Math.max(0, value.indexOf(' '));
                    LocalDate day = LocalDate.parse(value.substring(0, space));
                    LocalTime time = LocalTime.parse(value.substring(space + 1));
                    writeSet.putTimestamp(
                            day.getYear(),
                            day.getMonthValue(),
                            day.getDayOfMonth(),
                            time.toSecondOfDay(),
                            time.get(ChronoField.NANO_OF_SECOND));
                }
                default -> writeSet.putString(column.type(), value);
            }
        } catch (DateTimeException | NumberFormatException e) {
            throw new IOException(
                    "the value " + value + " of column " + TableShape.quoted(column.name()) + " in table " + table
                            + " is none that databases of other kinds have: change it",
                    e);
        }
    }

    private void putCharacters(SqlType type, Reader value) throws IOException {
        char[] head = new char[SHORT];
        try (PushbackReader in = new PushbackReader(value, SHORT)) {
            int length = TableChecksum.fill(in, head);
            if (length < SHORT) {
                writeSet.putChars(type, head, 0, length);
            } else {
                in.unread(head, 0, length);
                writeSet.putText(type, in);
            }
        }
    }

    private void putBinary(SqlType type, InputStream value) throws IOException {
        try (PushbackInputStream in = new PushbackInputStream(value, SHORT)) {
            byte[] head = in.readNBytes(SHORT);
            if (head.length < SHORT) {
                writeSet.putBytes(type, head, 0, head.length);
            } else {
                in.unread(head);
                writeSet.putBinary(type, in);
            }
        }
    }
}
