package org.gorda.replicator.simulator;

import org.gorda.gapi.TransactionId;

/**
 * What a client wants a transaction to do in the simulated bank: an amount goes from one account to another, and with that goes now and
 * then a change that the bank's constraints allow or forbid. One from an account to itself stands for a change of the schema, which
 * must see all that is before it. Immutable.
 *
 * @param read an account that it only reads, because it is SERIALIZABLE; {@link #NONE} if there is none
 * @param counted a branch of which it counts the accounts, because it is SERIALIZABLE; {@link #NONE} if it does not
 * @param subject the name or the branch that the change is about, or {@link #NONE} to do without
 */
record Intent(TransactionId id, int from, int to, long amount, int read, int counted, Change change, int subject) {

    static final int NONE = -1;

    /** What a transaction may do besides. */
    enum Change {
        NOTHING,
        /** The account {@code from} gets a name, which no other account may have, or loses it. */
        RENAME,
        /** The account {@code from} goes to a branch, which must be there, or leaves all. */
        MOVE,
        /** A branch is opened, which must not be there. */
        OPEN,
        /** A branch is closed, in which no account may be. */
        CLOSE
    }

    Intent with(Change otherChange, int otherSubject) {
        return new Intent(id, from, to, amount, read, counted, otherChange, otherSubject);
    }

    boolean changesSchema() {
        return from == to;
    }

    boolean isOfBranch() {
        return change == Change.OPEN || change == Change.CLOSE;
    }
}
