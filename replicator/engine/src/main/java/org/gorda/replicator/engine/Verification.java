package org.gorda.replicator.engine;

import java.util.List;
import org.gorda.jgcs.MemberId;

/**
 * What one replica holds at one place in the order. Immutable.
 *
 * @param request the same for all replicas that were asked at once
 * @param position term and index
 */
public record Verification(long request, MemberId replica, String position, List<TableChecksum> tables) {

    public Verification {
        tables = List.copyOf(tables);
    }
}
