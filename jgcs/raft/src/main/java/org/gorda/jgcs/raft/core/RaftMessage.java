package org.gorda.jgcs.raft.core;

import java.util.List;

/** What members' cores tell each other. Immutable. */
public sealed interface RaftMessage {

    /** The sender's term; receivers of an older term follow it. */
    long term();

    /**
     * Asks for a vote (section 3.4), or with {@code pre} whether a vote would be given (section 9.6).
     *
     * @param term the term that would be led
     * @param transfer the current leader has asked the sender to take over, so that nobody need protect it
     */
    record VoteRequest(long term, long lastIndex, long lastTerm, boolean pre, boolean transfer)
            implements RaftMessage {}

    /**
     * Answers a {@link VoteRequest}.
     *
     * @param uncertain the voter has lost the end of its log: its vote counts only if all voters agree
     */
    record VoteReply(long term, boolean granted, boolean pre, boolean uncertain) implements RaftMessage {}

    /**
     * Entries that follow {@code prevIndex}, none as a heartbeat (section 3.5).
     *
     * @param storedIndex up to where the leader has stored its own log: what the receiver has stored, too, may be decided by that
     * @param round numbers the leader's rounds; echoed, so that a leader knows who answered what it asked since (section 6.4)
     * @param run the receiver's run that the leader has heard of: what it acknowledged in earlier runs does not count any more
     * @param urgent whether the leader waits for the answer; else it may come with the next tick
     */
    record Append(
            long term,
            long prevIndex,
            long prevTerm,
            long commitIndex,
            long storedIndex,
            long round,
            long run,
            boolean urgent,
            List<Entry> entries)
            implements RaftMessage {}

    /**
     * Answers an {@link Append} or {@link Install}.
     *
     * @param success whether the follower's log held {@code prevIndex} in {@code prevTerm}
     * @param index on success the last index that is stored and known to be equal to the leader's; on refusal the first index the
     *     follower suggests to try, by the leader's knowledge of {@code conflictTerm}
     * @param prevIndex of the request, so that a late refusal is recognised
     * @param conflictTerm on refusal the term the follower holds at {@code prevIndex}, 0 if its log is shorter
     */
    record AppendReply(long term, boolean success, long index, long prevIndex, long conflictTerm, long round)
            implements RaftMessage {}

    /** Replaces a log that ends before the leader's begins. The content is the shell's. */
    record Install(long term, Checkpoint checkpoint, long round) implements RaftMessage {}

    /** Tells the receiver to campaign at once (section 3.10). */
    record TimeoutNow(long term) implements RaftMessage {}

    /**
     * Tells of a member that is not part of the group yet, or answers one that is not. A group is formed when every configured
     * member has told every other that it is new.
     *
     * @param fresh the sender's directory is new and it belongs to no group
     * @param configuration what the sender believes the group to be; of a fresh sender, the members it was configured with
     * @param answer whether this answers a hello, so that it is not answered again
     */
    record Hello(long term, boolean fresh, Configuration configuration, boolean answer) implements RaftMessage {}
}
