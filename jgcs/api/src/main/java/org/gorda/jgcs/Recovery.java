package org.gorda.jgcs;

import java.util.List;

/**
 * What the directory of a member that does not run holds, for the person who must decide with which member a group goes on that has
 * lost its majority for good. Made by {@link Protocol#recovery}; nobody else can use the directory until it is closed. Confined to one
 * thread.
 */
public interface Recovery extends AutoCloseable {

    /** The terms of a timeline differ from those of the one that it continues in the bits above these. */
    int TIMELINE_TERM_BITS = 40;

    /** Whether two positions of one group, by their terms, can lie on the same timeline. */
    static boolean mayShareTimeline(long term, long otherTerm) {
        return term >> TIMELINE_TERM_BITS == otherTerm >> TIMELINE_TERM_BITS;
    }

    /**
     * What was found. Immutable. Of two members of one timeline the one with the higher last term, or with the same and the higher last
     * index, has everything that the other has.
     *
     * @param group the group's name
     * @param member whose directory it is
     * @param certain whether the end of its log cannot have been lost, for instance with the power
     * @param timeline which continuation of the group's history it has, 0 if none was ever told to go on alone
     * @param firstHeld the log begins after this index
     * @param lastTerm of the newest entry
     * @param lastIndex of the newest entry
     * @param voters those of whom a majority is needed, as far as this member knows
     * @param learners the other members
     */
    record Remains(
            String group,
            MemberId member,
            boolean certain,
            long timeline,
            long firstHeld,
            long lastTerm,
            long lastIndex,
            List<MemberId> voters,
            List<MemberId> learners) {

        public Remains {
            voters = List.copyOf(voters);
            learners = List.copyOf(learners);
        }
    }

    /** What there is now. */
    Remains remains();

    /**
     * Makes this member the group's only one, on a timeline of its own: when it is started it works at once, and everything in its log
     * is decided. What the others were answered and did not send here is lost. They are strangers to it from now on and must never
     * work with each other again; each may be taken in anew with an empty directory.
     *
     * @throws GroupException if it never belonged to a group, or is its only voter already
     */
    void goOnAlone();

    @Override
    void close();
}
