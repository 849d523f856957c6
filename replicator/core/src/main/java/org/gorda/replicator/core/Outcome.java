package org.gorda.replicator.core;

/** What became of a transaction. */
public enum Outcome {
    /** It is committed, for ever and everywhere. */
    COMMITTED,
    /** It is not, and never will be. */
    ABORTED,
    /** Too long ago to tell; never means "no". */
    FORGOTTEN
}
