package org.gorda.replicator.node;

import java.util.List;
import org.gorda.replicator.engine.Verification;
import org.jspecify.annotations.Nullable;

/**
 * What one replica holds at one place in the order, as its service tells it. Immutable.
 *
 * @param request the verification
 * @param position term and index
 */
public record ReplicaContent(long request, String replica, String position, List<Table> tables) {

    /**
     * A table's content.
     *
     * @param checksum the sum of its rows' hashes, in hexadecimal; does not depend on their order
     * @param damage what the database found wrong with the table, for instance with an index; null if nothing
     */
    public record Table(
            String table,
            long rows,
            String checksum,
            @Nullable String damage) {}

    static ReplicaContent of(Verification found) {
        return new ReplicaContent(
                found.request(),
                found.replica().toString(),
                found.position(),
                found.tables().stream()
                        .map(table -> new Table(
                                table.table(), table.rows(), String.format("%016x", table.checksum()), table.damage()))
                        .toList());
    }
}
