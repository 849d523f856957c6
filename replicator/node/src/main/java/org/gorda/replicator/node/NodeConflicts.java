package org.gorda.replicator.node;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.gorda.replicator.engine.HotRow;
import org.gorda.replicator.engine.ReplicaStatus;

/**
 * What a replica's transactions have lost by since its start, as its service tells it. Immutable.
 *
 * @param committed how many were committed
 * @param refused how many were not, by cause
 * @param rows the rows by which most have lost against others, the hottest first
 */
public record NodeConflicts(String self, long committed, Map<String, Long> refused, List<Row> rows) {

    /**
     * As {@link HotRow}. Immutable.
     *
     * @param key empty if only the table is known
     */
    public record Row(
            String table, String key, long conflicts, long gaveWay, long over, String winner, long ageMillis) {}

    static NodeConflicts of(ReplicaStatus now, List<HotRow> rows) {
        return new NodeConflicts(
                now.self().toString(),
                now.committed(),
                counts(now),
                rows.stream()
                        .map(hot -> new Row(
                                hot.row().table(),
                                hot.row().key(),
                                hot.conflicts(),
                                hot.gaveWay(),
                                hot.over(),
                                hot.winner(),
                                hot.age().toMillis()))
                        .toList());
    }

    /** The transactions that were refused, by the names of the causes. */
    static Map<String, Long> counts(ReplicaStatus now) {
        return now.refused().entrySet().stream()
                .collect(Collectors.toMap(
                        entry -> entry.getKey().toString(), Map.Entry::getValue, Long::sum, TreeMap::new));
    }
}
