package org.gorda.jgcs.raft.core;

/** What a member does at the moment (section 3.3). */
public enum Role {
    /** Stores what a leader sends. */
    FOLLOWER,
    /** Asks whether it would be elected, without disturbing anybody (section 9.6). */
    PRE_CANDIDATE,
    /** Asks for votes. */
    CANDIDATE,
    /** Orders. */
    LEADER
}
