package org.gorda.bindings.postgresql;

import java.util.Arrays;

/**
 * How the changes told of have left rows, so that it is noticed if changes of one row are told in another order than they were made: as hashes, of which
 * another row or image has the same with a probability of about 2 to the power of -32. Confined to one thread.
 */
final class RowImages {

    /** Of a row of which nothing is known. */
    static final int UNKNOWN = 0;

    /** Of a row that is not there any more. */
    static final int GONE = 1;

    /** They take about 12 bytes each, twice when there come to be more. */
    static final int ROWS_MAX = 1 << 21;

    private static final int KEPT_MAX = 1 << 12;

    private long[] rows = new long[64];
    private int[] images = new int[64];
    private int size;

    /** What stands for an image. */
    static int of(Object image) {
        return image.hashCode() | 2;
    }

    private int place(long row) {
        int mask = rows.length - 1;
        int at = (int) (row ^ row >>> 32) & mask;
        while (images[at] != UNKNOWN && rows[at] != row) {
            at = at + 1 & mask;
        }
        return at;
    }

    /** How a row was left; {@link #UNKNOWN} if it was not changed. */
    int get(long row) {
        return images[place(row)];
    }

    /**
     * Notes how a row is left.
     *
     * @return false if there are too many
     */
    boolean put(long row, int image) {
        int at = place(row);
        if (images[at] == UNKNOWN) {
            if (size == ROWS_MAX) {
                return false;
            }
            size++;
            rows[at] = row;
        }
        images[at] = image;
        if (size > rows.length / 2) {
            grow();
        }
        return true;
    }

    private void grow() {
        long[] oldRows = rows;
        int[] oldImages = images;
        rows = new long[oldRows.length * 2];
        images = new int[rows.length];
        for (int i = 0; i < oldRows.length; i++) {
            if (oldImages[i] != UNKNOWN) {
                int at = place(oldRows[i]);
                rows[at] = oldRows[i];
                images[at] = oldImages[i];
            }
        }
    }

    void clear() {
        if (rows.length > KEPT_MAX) {
            rows = new long[64];
            images = new int[64];
        } else if (size > 0) {
            Arrays.fill(images, UNKNOWN);
        }
        size = 0;
    }
}
