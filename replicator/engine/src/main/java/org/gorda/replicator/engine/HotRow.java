package org.gorda.replicator.engine;

import java.time.Duration;
import org.gorda.gapi.RowKey;

/**
 * A row by which transactions of one replica have lost against ordered ones since its start. Immutable.
 *
 * @param conflicts how many were not certified because of it
 * @param gaveWay how many were rolled back before they were sent, because an ordered change of it needed a lock of theirs
 * @param over by how many at the most it is counted too high, because it was not among the hottest before
 * @param winner against whom the last one lost, for people
 * @param age how long ago that was
 */
public record HotRow(RowKey row, long conflicts, long gaveWay, long over, String winner, Duration age) {

    /** How many have lost by it, or more. */
    public long total() {
        return conflicts + gaveWay + over;
    }
}
