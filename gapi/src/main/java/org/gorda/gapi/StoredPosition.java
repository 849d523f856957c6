package org.gorda.gapi;

/**
 * Up to which place of a group's order a database holds everything, as it is stored in the database itself, in the transactions
 * that bring it there. To a binding it is opaque but for its order. Immutable.
 *
 * @param groupHigh with {@code groupLow} the identity of the group
 * @param term tells apart entries that were given the same index
 * @param index orders positions
 */
public record StoredPosition(long groupHigh, long groupLow, long term, long index) {

    @Override
    public String toString() {
        return term + "." + index;
    }
}
