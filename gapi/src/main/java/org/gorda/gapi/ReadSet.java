package org.gorda.gapi;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction has read that is to be SERIALIZABLE: rows by their primary keys, whether they were there or not, and whole tables for
 * all else, so that rows that come into a condition are noticed, too. It says too much rather than too little: of many keys it keeps
 * only the tables. Reused from transaction to transaction. Confined to the transaction's thread.
 */
public final class ReadSet {

    /** So many keys are told apart; with more of them, only their tables. */
    public static final int KEYS_MAX = 4096;

    private record Key(TableShape table, RowKey row) {}

    private final Map<Long, Key> keys = new HashMap<>();
    private final Map<TableShape, KeyMode> tables = new HashMap<>();
    private final Set<TableShape> inserted = new HashSet<>();
    private @Nullable TableShape lastInserted;

    /**
     * A row was looked for by its primary key.
     *
     * @param hash of the key, as of a row that is written
     * @param values of the key, for people
     */
    public void key(TableShape table, long hash, List<? extends @Nullable Object> values) {
        if (tables.containsKey(table) || keys.containsKey(hash)) {
            return;
        }
        keys.put(hash, new Key(table, RowKey.of(table, values)));
        if (keys.size() > KEYS_MAX) {
            keys.values().forEach(key -> table(key.table()));
            keys.clear();
        }
    }

    /** Rows were looked for in another way. */
    public void table(TableShape table) {
        tables.putIfAbsent(table, KeyMode.READ);
    }

    /** The client was told of rows of a table that no lock keeps as they are: by a violated constraint. */
    public void tableWithoutLock(TableShape table) {
        tables.put(table, KeyMode.READ_UNLOCKED);
    }

    /**
     * A SERIALIZABLE transaction inserts a row into a table. What is read of that table, before or after, counts as read without locks: the lock that keeps rows away which
     * would come into a range is one on the row before them, and the transaction's own new row is not locked so.
     */
    @SuppressWarnings("ReferenceEquality") // for each row; two equal ones are only added twice
    public void inserted(TableShape table) {
        if (table != lastInserted) {
            lastInserted = table;
            inserted.add(table);
        }
    }

    /**
     * Adds what was read to what was written.
     *
     * @param isSerializable whether all of the transaction was, and not only single statements: else its updates, too, may leave a range open, and
     *     all that was read counts as read without locks
     */
    public void addTo(WriteSetWriter out, boolean isSerializable) {
        keys.forEach((hash, key) -> out.read(key.row(), mode(key.table(), KeyMode.READ, isSerializable), hash));
        tables.forEach((table, mode) ->
                out.read(new RowKey(table.toString(), ""), mode(table, mode, isSerializable), table.hash()));
    }

    private KeyMode mode(TableShape table, KeyMode mode, boolean isSerializable) {
        return isSerializable && !inserted.contains(table) ? mode : KeyMode.READ_UNLOCKED;
    }

    /** Forgets everything, for the next transaction. */
    public void clear() {
        keys.clear();
        tables.clear();
        inserted.clear();
        lastInserted = null;
    }
}
