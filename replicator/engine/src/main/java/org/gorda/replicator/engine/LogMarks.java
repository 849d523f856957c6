package org.gorda.replicator.engine;

import java.util.ArrayDeque;
import java.util.Deque;

/** How many bytes of the log lie where, about, so that enough of it can be kept for who comes back. Guarded by the order's lock. */
final class LogMarks {

    private static final long BYTES_BETWEEN = 1 << 20;

    /** What a message takes beside its payload, about. */
    private static final int OVERHEAD = 64;

    private record Mark(long index, long bytes) {}

    private final Deque<Mark> marks = new ArrayDeque<>();
    private long bytes;

    /** What an earlier run delivered: so many bytes lie behind one index and up to another one, as if messages were all alike. */
    void held(long first, long last, long heldBytes) {
        long parts = last > first ? heldBytes / BYTES_BETWEEN : 0;
        for (long part = 1; part <= parts; part++) {
            marks.addLast(new Mark(first + (last - first) * part / parts, part * BYTES_BETWEEN));
        }
        bytes = parts * BYTES_BETWEEN;
    }

    void delivered(long index, int payloadBytes) {
        bytes += payloadBytes + OVERHEAD;
        if (marks.isEmpty() || bytes - marks.getLast().bytes() > BYTES_BETWEEN) {
            marks.addLast(new Mark(index, bytes));
        }
    }

    /** All that was delivered since the start, and what the log held then. */
    long bytes() {
        return bytes;
    }

    /**
     * Up to where the log can be forgotten, if anything can since the last call; else 0.
     *
     * @param needless nobody needs what lies up to this index
     * @param retainBytes but so much is kept
     */
    long takeNeedless(long needless, long retainBytes) {
        long removed = 0;
        while (!marks.isEmpty()
                && marks.getFirst().index() <= needless
                && bytes - marks.getFirst().bytes() > retainBytes) {
            removed = marks.removeFirst().index();
        }
        return removed;
    }
}
