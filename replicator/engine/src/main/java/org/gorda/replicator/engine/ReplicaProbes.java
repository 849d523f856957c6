package org.gorda.replicator.engine;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.gorda.jgcs.GroupCounts;
import org.gorda.jgcs.MemberId;

/**
 * Where a replica's time goes, and what its transactions cost. Immutable.
 *
 * @param on whether its probes are on; all else but the times is counted always, since it was started or received the database
 * @param times of transactions that were committed, since the probes were switched on; of one that lost its locks before its turn,
 *     and was applied here too, only as of another's
 * @param committed how many of its clients' transactions that changed something
 * @param applied how many of others, and of its clients' that lost their locks before their turn
 * @param group what membership of the group has cost
 * @param flushes how often the database was forced to disk; more often by itself
 */
public record ReplicaProbes(
        MemberId self,
        boolean on,
        Map<Stage, StageTimes> times,
        long committed,
        long applied,
        GroupCounts group,
        long flushes) {

    public ReplicaProbes {
        times = Collections.unmodifiableMap(new TreeMap<>(times));
    }
}
