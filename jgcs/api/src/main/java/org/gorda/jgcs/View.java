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
 * @param decided up to which index everything was decided when this member last got in touch with the leader: who has
 *     been given less is behind the others. 0 if that is not known, or if this member does not count as working before
 */
public record View(
        List<MemberId> members, List<MemberId> learners, Optional<MemberId> leader, boolean working, long decided) {

    /** Before anything is known. */
    public static final View NOTHING = new View(List.of(), List.of(), Optional.empty(), false, 0);

    public View {
        members = List.copyOf(members);
        learners = List.copyOf(learners);
    }

    /** The same members, and no leader. */
    public View withoutLeader() {
        return new View(members, learners, Optional.empty(), false, decided);
    }

    /** Whether {@code member} orders the messages of the group in this view. */
    public boolean isLeader(MemberId member) {
        return leader.isPresent() && leader.get().equals(member);
    }
}
