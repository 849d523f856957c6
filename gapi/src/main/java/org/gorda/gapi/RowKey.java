package org.gorda.gapi;

import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A row, for people. Immutable.
 *
 * @param table as SQL writes it
 * @param key the primary key's values in their order, in parentheses; empty if only the table is known
 */
public record RowKey(String table, String key) {

    private static final int LENGTH_MAX = 200;

    /** The row of a table whose primary key has these values, of which no more is told than fits in a line. */
    public static RowKey of(TableShape table, List<? extends @Nullable Object> values) {
        String key = values.stream().map(RowKey::text).collect(Collectors.joining(", ", "(", ")"));
        return new RowKey(table.toString(), key.length() > LENGTH_MAX ? key.substring(0, LENGTH_MAX) + "...)" : key);
    }

    private static String text(@Nullable Object value) {
        return value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : String.valueOf(value);
    }

    @Override
    public String toString() {
        return key.isEmpty() ? "a key of " + table : table + " key " + key;
    }
}
