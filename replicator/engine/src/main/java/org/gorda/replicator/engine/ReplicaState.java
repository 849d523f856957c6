package org.gorda.replicator.engine;

/** What a replica is doing. */
public enum ReplicaState {
    /** Opens its database and its log. */
    STARTING,
    /** Waits for a majority of its group, or for all members when the group is formed. */
    JOINING,
    /** Receives the database from another replica, because the group's log does not reach back to what it holds. */
    RECEIVING,
    /** Works off what was ordered while it was away, or waits for its database to answer. */
    CATCHING_UP,
    /** Takes part. */
    ONLINE,
    /** Has lost its majority: takes no writes, and its reads may be old. */
    ISOLATED,
    /** Has stopped, by request or because going on was not safe. */
    STOPPED
}
