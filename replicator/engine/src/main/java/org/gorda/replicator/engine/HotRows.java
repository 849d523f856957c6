package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RowKey;

/**
 * Counts by which rows local transactions have lost against others, for as many rows as are kept: the Space-Saving algorithm
 * (Metwally, Agrawal and El Abbadi 2005). A row that is not among them takes the place, and the count, of the one with fewest, so
 * that every row with more than 1/{@value #KEPT} of all is there, and none is counted too low. Thread-safe.
 */
final class HotRows {

    static final int KEPT = 100;

    private static final class Counted {
        private final RowKey row;
        private final long over;
        private long conflicts;
        private long gaveWay;
        private String winner = "";
        private long nanos;

        Counted(RowKey row, long over) {
            this.row = row;
            this.over = over;
        }

        long total() {
            return over + conflicts + gaveWay;
        }
    }

    private final Map<RowKey, Counted> rows = new HashMap<>();

    /**
     * A local transaction has lost.
     *
     * @param winner against whom, for people
     */
    synchronized void add(RowKey row, Refusal.Cause cause, String winner) {
        Counted counted = rows.get(row);
        if (counted == null) {
            counted = new Counted(row, rows.size() < KEPT ? 0 : removeColdest());
            rows.put(row, counted);
        }
        if (cause == Refusal.Cause.PRIORITY) {
            counted.gaveWay++;
        } else {
            counted.conflicts++;
        }
        counted.winner = winner;
        counted.nanos = System.nanoTime();
    }

    private long removeColdest() {
        Counted coldest = rows.values().stream()
                .min(Comparator.comparingLong(Counted::total))
                .orElseThrow();
        rows.remove(coldest.row);
        return coldest.total();
    }

    /** The hottest first. */
    synchronized List<HotRow> list() {
        long now = System.nanoTime();
        List<HotRow> found = new ArrayList<>();
        for (Counted counted : rows.values()) {
            found.add(new HotRow(
                    counted.row,
                    counted.conflicts,
                    counted.gaveWay,
                    counted.over,
                    counted.winner,
                    Duration.ofNanos(now - counted.nanos)));
        }
        found.sort(Comparator.comparingLong(HotRow::total).reversed());
        return found;
    }
}
