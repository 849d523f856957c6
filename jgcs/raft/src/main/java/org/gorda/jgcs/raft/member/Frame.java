package org.gorda.jgcs.raft.member;

import java.nio.ByteBuffer;
import java.util.List;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.RaftMessage;

/** What travels between members: the cores' messages and what surrounds them. Immutable. */
sealed interface Frame {

    /** A message between cores. */
    record Core(RaftMessage message) implements Frame {}

    /** Asks the leader to append these messages of the sender, consecutive from {@code firstSequence}. */
    record Propose(long incarnation, long firstSequence, List<ByteBuffer> payloads) implements Frame {}

    /** Asks the leader to append the sender's new incarnation. */
    record Open(long incarnation) implements Frame {}

    /**
     * The leader could not append what was proposed, because its log has this of the sender.
     *
     * @param sequence the last message of that incarnation
     */
    record Expected(long incarnation, long sequence) implements Frame {}

    /** Asks the leader something; {@link Answer} carries the same number. */
    record Ask(long number, Question question, MemberId about) implements Frame {}

    /**
     * Answers an {@link Ask}.
     *
     * @param index the index asked for or the index of the change, or a negative number if the leader could not
     */
    record Answer(long number, long index) implements Frame {}

    /** What a member's user sends to this one's, outside the order. */
    record Direct(ByteBuffer payload) implements Frame {}
}
