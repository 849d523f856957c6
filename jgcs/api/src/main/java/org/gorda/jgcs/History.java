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

    /** The history of this text. */
    public static History parse(String text) {
        if (text.isEmpty()) {
            return UNKNOWN;
        }
        int dot = text.indexOf('.');
        GroupId group = GroupId.parse(dot < 0 ? text : text.substring(0, dot));
        return new History(group, dot < 0 ? 0 : Long.parseUnsignedLong(text.substring(dot + 1), 16));
    }

    /** Whether this is a real one and not {@link #UNKNOWN}. */
    public boolean isKnown() {
        return group.isKnown();
    }

    /** How often a person has let a member go on alone up to here: of two histories of a group, the one with more continues the other or a part of it. */
    public long continuations() {
        return timeline >> Recovery.TIMELINE_TERM_BITS;
    }

    /** The group's identity and, behind a dot, the timeline if there is one; empty if it is unknown. */
    @Override
    public String toString() {
        return !isKnown() ? "" : timeline == 0 ? group.toString() : group + "." + Long.toHexString(timeline);
    }
}
