package org.gorda.gapi;

import org.jspecify.annotations.Nullable;

/**
 * Up to which place of a group's order a database holds everything, as it is stored in the database itself, in the transactions
 * that bring it there. To a binding it is opaque but for its order. Immutable.
 *
 * @param groupHigh with {@code groupLow} the identity of the group
 * @param term tells apart entries that were given the same index
 * @param index orders positions
 */
public record StoredPosition(long groupHigh, long groupLow, long term, long index) {

    /**
     * Makes sure that nothing is committed a second time.
     *
     * @param held up to where the database holds everything; null if nothing
     * @param database its name
     * @throws IllegalArgumentException if the database holds this position already
     */
    public void checkNew(@Nullable StoredPosition held, String database) {
        if (held != null && held.groupHigh == groupHigh && held.groupLow == groupLow && held.index >= index) {
            throw new IllegalArgumentException("position " + this + " was applied to " + database
                    + " already, which holds everything up to " + held + ": go on behind that");
        }
    }

    @Override
    public String toString() {
        return term + "." + index;
    }
}
