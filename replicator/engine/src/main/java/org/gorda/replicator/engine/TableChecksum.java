package org.gorda.replicator.engine;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import org.gorda.gapi.Hash64;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.gorda.replicator.core.FirstRows;
import org.jspecify.annotations.Nullable;

/**
 * The content of a table in two numbers: how many rows, and the sum of their hashes, which does not depend on their order. Equal
 * contents give equal checksums on any engine. Immutable.
 *
 * @param table schema and name, quoted
 * @param damage what the database found wrong with the table, for instance with an index; null if nothing
 */
public record TableChecksum(
        String table, long rows, long checksum, @Nullable String damage) {

    private static final int CHUNK = 8192;

    /** Of a fraction of seconds, which some engines write with as many zeros as they like. */
    private static final Pattern ZEROS = Pattern.compile("\\.?0+$");

    /**
     * Reads the table.
     *
     * @param damage what the database has found wrong with it; null if nothing, or if it was not asked
     */
    static TableChecksum of(Connection connection, TableShape table, @Nullable String damage)
            throws SQLException, IOException {
        long sum = 0;
        Hash64 hash = new Hash64();
        List<TableShape.Column> columns = table.columns();
        try (TableRows rows = new TableRows(connection, table, columns)) {
            while (rows.next()) {
                hash.reset();
                long bytes = 0;
                for (int i = 0; i < columns.size(); i++) {
                    bytes += add(hash, columns.get(i).type(), rows.row(), i + 1);
                }
                rows.had(bytes);
                sum += hash.value();
            }
            return new TableChecksum(table.toString(), rows.count(), sum, damage);
        }
    }

    /** Of tables that have rows; those that have none are not compared. */
    static FirstRows together(List<TableChecksum> tables) {
        Hash64 hash = new Hash64();
        long rows = 0;
        List<TableChecksum> ordered = tables.stream()
                .filter(table -> table.rows() > 0)
                .sorted(Comparator.comparing(TableChecksum::table))
                .toList();
        for (TableChecksum one : ordered) {
            addText(hash, one.table());
            hash.add(one.rows());
            hash.add(one.checksum());
            rows += one.rows();
        }
        return rows == 0 ? FirstRows.NONE : new FirstRows(rows, hash.value());
    }

    /** @return how many bytes the value has, about */
    private static long add(Hash64 hash, SqlType type, ResultSet row, int column) throws SQLException, IOException {
        long bytes = Long.BYTES;
        switch (type) {
            case BOOLEAN -> hash.add(row.getBoolean(column) ? 1 : 0);
            case SMALLINT, INTEGER, BIGINT -> hash.add(row.getLong(column));
            case REAL -> hash.add(Float.floatToRawIntBits(row.getFloat(column)));
            case DOUBLE -> hash.add(Double.doubleToRawLongBits(row.getDouble(column)));
            case DECIMAL -> {
                String text = row.getString(column);
                if (text != null) {
                    boolean isNumber = !text.equals("NaN") && !text.endsWith("Infinity");
                    bytes = addText(hash, isNumber ? row.getBigDecimal(column).toString() : text);
                }
            }
            case CHAR, VARCHAR -> {
                String value = row.getString(column);
                if (value != null) {
                    bytes = addText(hash, value);
                }
            }
            case DATE, TIME, TIMESTAMP -> {
                String value = row.getString(column);
                if (value != null) {
                    bytes = addText(
                            hash,
                            value.indexOf('.') < 0
                                    ? value
                                    : ZEROS.matcher(value).replaceFirst(""));
                }
            }
            case LONGVARCHAR, CLOB, XML -> bytes = addCharacters(hash, row.getCharacterStream(column));
            case BINARY, VARBINARY -> {
                byte[] value = row.getBytes(column);
                if (value != null) {
                    bytes = value.length;
                    hash.add(value, 0, value.length);
                }
            }
            case LONGVARBINARY, BLOB -> bytes = addBytes(hash, row.getBinaryStream(column));
        }
        hash.add(row.wasNull() ? 1 : 2);
        return bytes;
    }

    private static long addText(Hash64 hash, String value) {
        byte[] bytes = value.getBytes(StandardCharsets.UTF_16BE);
        hash.add(bytes, 0, bytes.length);
        return bytes.length;
    }

    /** In chunks of fixed size, because the hash depends on how its input is cut. */
    private static long addBytes(Hash64 hash, @Nullable InputStream stream) throws IOException {
        long bytes = 0;
        if (stream == null) {
            return bytes;
        }
        try (stream) {
            byte[] chunk = new byte[CHUNK];
            int read = stream.readNBytes(chunk, 0, CHUNK);
            while (read > 0) {
                hash.add(chunk, 0, read);
                bytes += read;
                read = stream.readNBytes(chunk, 0, CHUNK);
            }
        }
        return bytes;
    }

    private static long addCharacters(Hash64 hash, @Nullable Reader stream) throws IOException {
        long bytes = 0;
        if (stream == null) {
            return bytes;
        }
        try (stream) {
            char[] chunk = new char[CHUNK];
            int filled = fill(stream, chunk);
            while (filled > 0) {
                bytes += addText(hash, new String(chunk, 0, filled));
                filled = fill(stream, chunk);
            }
        }
        return bytes;
    }

    static int fill(Reader stream, char[] chunk) throws IOException {
        int filled = 0;
        while (filled < chunk.length) {
            int read = stream.read(chunk, filled, chunk.length - filled);
            if (read < 0) {
                break;
            }
            filled += read;
        }
        return filled;
    }
}
