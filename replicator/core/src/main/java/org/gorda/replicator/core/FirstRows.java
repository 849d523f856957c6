package org.gorda.replicator.core;

/**
 * What a database held before its group began, which nobody has replicated. Immutable.
 *
 * @param count how many rows
 * @param checksum of their tables' names and their values, whatever engine has them; if there are none 0, or 1 if there are tables
 */
public record FirstRows(long count, long checksum) {

    public static final FirstRows NONE = new FirstRows(0, 0);

    /** Tables of whatever names, and no rows. */
    public static final FirstRows TABLES = new FirstRows(0, 1);

    public FirstRows {
        if (count < 0 || (count == 0 && checksum != 0 && checksum != 1)) {
            throw new IllegalArgumentException(count + " rows with checksum " + checksum);
        }
    }
}
