package org.gorda.jgcs;

/**
 * Which history a member's log is a part of. A group has one, until a person lets one member go on alone ({@link Recovery}): from there on that one's is
 * another. What is of two histories must never be mixed. Immutable.
 *
 * @param group the group's identity
 * @param timeline which continuation of its history, 0 until a person lets one member go on alone
 */
public record History(GroupId group, long timeline) {

    /** Of a member that has not heard from its group yet, or whose toolkit knows none. */
    public static final History UNKNOWN = new History(GroupId.UNKNOWN, 0);

    /** Whether this is a real one and not {@link #UNKNOWN}. */
    public boolean isKnown() {
        return group.isKnown();
    }

    /**
     * The group's identity; if a person has let a member go on alone, behind a dot how often up to here, and behind another one by what two timelines are told
     * apart that both are the n-th. Empty if it is unknown.
     */
    @Override
    public String toString() {
        if (!isKnown() || timeline == 0) {
            return isKnown() ? group.toString() : "";
        }
        long random = timeline & ((1L << Recovery.TIMELINE_TERM_BITS) - 1);
        return group + "." + (timeline >> Recovery.TIMELINE_TERM_BITS) + "." + Long.toHexString(random);
    }
}
