package org.gorda.jgcs.raft.core;

/** What a member's directory told at its start about what the member may have forgotten. */
public enum Standing {
    /** The directory is new: it belongs to no group, neither votes nor stores. */
    FRESH,
    /**
     * The end of the log may be lost, but not term and vote: its vote counts only if all voters agree, until its log has caught
     * up with a leader's.
     */
    UNCERTAIN,
    /** Nothing is forgotten. */
    CERTAIN
}
