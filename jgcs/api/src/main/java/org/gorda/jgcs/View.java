package org.gorda.jgcs;

import java.util.List;
import java.util.Optional;

/**
 * Who belongs to the group and whether it can order messages, as this member sees it. Views tell of progress and failure;
 * they are not ordered with respect to messages. Immutable.
 *
 * @param members those whose majority decides, sorted
 * @param learners those that receive everything but do not count yet, sorted
 * @param leader who orders messages now, if this member knows one
 * @param working whether this member is in touch with a leader that has a majority, so that a message sent now can be
 *     ordered
 */
public record View(List<MemberId> members, List<MemberId> learners, Optional<MemberId> leader, boolean working) {

    public View {
        members = List.copyOf(members);
        learners = List.copyOf(learners);
    }

    /** Whether {@code member} orders the messages of the group in this view. */
    public boolean isLeader(MemberId member) {
        return leader.isPresent() && leader.get().equals(member);
    }
}
