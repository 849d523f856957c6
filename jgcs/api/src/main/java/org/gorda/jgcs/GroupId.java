package org.gorda.jgcs;

/**
 * Identifies one history of a group: drawn at random when the group is formed, so that a group formed anew under the same
 * name is not mistaken for the old one. Immutable.
 */
public record GroupId(long high, long low) {

    /** Stands for "not known yet", before a member has seen the first entry of its group's log. */
    public static final GroupId UNKNOWN = new GroupId(0, 0);

    /** The identity of this text, which {@link #toString} has made. */
    public static GroupId parse(String text) {
        if (text.length() != 32) {
            throw new IllegalArgumentException(
                    "'" + text + "' is no group's identity, which has 32 hexadecimal digits");
        }
        return new GroupId(Long.parseUnsignedLong(text, 0, 16, 16), Long.parseUnsignedLong(text, 16, 32, 16));
    }

    /** Whether this is a real identity and not {@link #UNKNOWN}. */
    public boolean isKnown() {
        return high != 0 || low != 0;
    }

    @Override
    public String toString() {
        return String.format("%016x%016x", high, low);
    }
}
