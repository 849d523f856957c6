package org.gorda.replicator.core;

import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * Why a transaction was not certified: another one, ordered before it and not seen by it, had to do with the same key. Immutable.
 *
 * @param key stands for table, constraint and key, as in the write set of the one that lost
 * @param index the winner's place in the order
 * @param winner what was ordered there; null if that was so long ago, or before this replica was restarted, that it is not known here
 */
public record Conflict(long key, long index, @Nullable Winner winner) {

    /** A certified transaction and where it ran. Immutable. */
    public record Winner(TransactionId id, MemberId origin) {}
}
