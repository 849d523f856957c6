package org.gorda.jgcs.raft.core;

import org.gorda.jgcs.GroupId;

/**
 * Which history a member's log is a part of: kept beside the log from the moment it is learned, because the log's end may not reach
 * where its timeline begins. Immutable.
 *
 * @param group the group's identity
 * @param timeline as in {@link Configuration#timeline}
 */
public record History(GroupId group, long timeline) {

    /** Of a member that has not heard from its group yet. */
    public static final History UNKNOWN = new History(GroupId.UNKNOWN, 0);

    /** That of a log which holds this configuration. */
    public static History of(Configuration configuration) {
        return new History(configuration.group(), configuration.timeline());
    }

    public boolean isKnown() {
        return group.isKnown();
    }
}
