package org.gorda.jgcs;

/**
 * A place in a group's total order. The term says which leader's log the index was assigned in: after a lost tail an index
 * can be used again, and then only the term tells the two entries apart. Immutable.
 *
 * @param group the history the position belongs to
 * @param term the term under which the entry was appended, 0 only in {@link #START}
 * @param index counted from 1 and without holes over the log's entries, but not every entry is a message
 */
public record Position(GroupId group, long term, long index) implements Comparable<Position> {

    /** The position before the first entry of a group whose identity is not known yet. */
    public static final Position START = new Position(GroupId.UNKNOWN, 0, 0);

    public Position {
        if (term < 0 || index < 0) {
            throw new IllegalArgumentException("negative position: term " + term + ", index " + index);
        }
    }

    /** Orders by index; positions of different groups do not compare. */
    @Override
    public int compareTo(Position other) {
        if (group.isKnown() && other.group.isKnown() && !group.equals(other.group)) {
            throw new IllegalArgumentException("positions of different groups: " + this + " and " + other);
        }
        return Long.compare(index, other.index);
    }

    /** Term and index as {@code term.index}, the form that logs and messages use. */
    @Override
    public String toString() {
        return term + "." + index;
    }
}
