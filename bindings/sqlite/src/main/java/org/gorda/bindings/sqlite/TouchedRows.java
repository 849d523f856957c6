package org.gorda.bindings.sqlite;

import java.sql.SQLException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which rows a transaction has touched, by table and rowid. What it has done to them is not known, nor whether it has taken that back: rows are looked at before the commit. Confined
 * to the thread that uses the connection.
 */
final class TouchedRows {

    private static final int ROWS = 16;

    private final Map<String, Rows> byTable = new LinkedHashMap<>();
    private final long max;
    private long room;

    /** @param max how many there may be */
    TouchedRows(long max) {
        this.max = max;
    }

    /** Of one table, in the order of their numbers once they were {@linkplain #settle settled}. */
    private static final class Rows {
        private long[] ids = new long[ROWS];
        private int count;

        /** Forgets repetitions. */
        void settle() {
            Arrays.sort(ids, 0, count);
            int kept = 0;
            for (int i = 0; i < count; i++) {
                if (i == 0 || ids[i] != ids[i - 1]) {
                    ids[kept++] = ids[i];
                }
            }
            count = kept;
        }
    }

    /** @throws SQLException with 54000 if they are too many */
    void add(String table, long rowid) throws SQLException {
        Rows rows = byTable.computeIfAbsent(table, name -> new Rows());
        if (rows.count > 0 && rows.ids[rows.count - 1] == rowid) {
            return;
        }
        if (rows.count == rows.ids.length) {
            rows.settle();
            if (rows.count > rows.ids.length / 2) {
                room += rows.ids.length;
                if (room > max) {
                    throw new SQLException(
                            "the transaction has changed more than " + max
                                    + " rows, which would be more than write-set-bytes-max allows: change fewer rows in one transaction, or raise it",
                            "54000");
                }
                rows.ids = Arrays.copyOf(rows.ids, 2 * rows.ids.length);
            }
        }
        rows.ids[rows.count++] = rowid;
    }

    boolean isEmpty() {
        return byTable.isEmpty();
    }

    /** Each of them once, by table. */
    Map<String, long[]> rows() {
        Map<String, long[]> all = new LinkedHashMap<>();
        byTable.forEach((table, rows) -> {
            rows.settle();
            all.put(table, Arrays.copyOf(rows.ids, rows.count));
        });
        return all;
    }

    /** The transaction has ended. */
    void clear() {
        byTable.clear();
        room = 0;
    }
}
