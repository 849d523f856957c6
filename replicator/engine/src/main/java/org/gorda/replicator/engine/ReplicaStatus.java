package org.gorda.replicator.engine;

import java.util.List;
import java.util.Map;
import org.gorda.gapi.Refusal;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.core.ReplicationProtocol;
import org.jspecify.annotations.Nullable;

/**
 * A replica at one moment. Immutable.
 *
 * @param explanation why it is in this state, for people
 * @param history which one of which group it is on, as far as it knows
 * @param continued the group whose rows this one has begun with here, if a person had them forget it ({@code gorda recover --new-group})
 * @param primary who executes, if one does and that is decided here
 * @param protocol the group's; the one that is configured here as long as the group has none
 * @param executesHere whether this one executes
 * @param epoch the place in the order from which on that is so
 * @param working whether the replica is in touch with a majority
 * @param members those that count
 * @param learners those that are catching up
 * @param orderedIndex the newest place in the order that is decided here
 * @param appliedIndex up to where the database shows everything
 * @param durableIndex up to where the database would come back after a crash
 * @param lagSeconds for how long something has been decided here that the database does not show, to a tenth of a second or so
 * @param undecided how many places in the order the database shows here that no majority has yet, and that are lost with this replica: an
 *     asynchronous primary's
 * @param undecidedSeconds for how long there has been such a one
 * @param inFlight commits that wait to be ordered
 * @param committed local transactions committed since the start
 * @param applied transactions of others applied since the start
 * @param paced in which share of the last ten seconds or so local transactions have waited for a replica that is behind, 0 to 1
 * @param pacedFor for which one they wait now; null if they do not
 * @param refused local transactions refused since the start, by cause
 */
public record ReplicaStatus(
        MemberId self,
        ReplicaState state,
        String explanation,
        History history,
        @Nullable GroupId continued,
        @Nullable MemberId primary,
        ReplicationProtocol protocol,
        boolean executesHere,
        long epoch,
        boolean working,
        List<MemberId> members,
        List<MemberId> learners,
        long orderedIndex,
        long appliedIndex,
        long durableIndex,
        double lagSeconds,
        long undecided,
        double undecidedSeconds,
        int inFlight,
        long committed,
        long applied,
        double paced,
        @Nullable MemberId pacedFor,
        Map<Refusal.Cause, Long> refused) {

    /** Whether every replica executes. */
    public boolean everywhere() {
        return epoch > 0 && protocol.isEverywhere();
    }
}
