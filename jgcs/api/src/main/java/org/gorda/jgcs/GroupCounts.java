package org.gorda.jgcs;

/**
 * What membership of a group has cost since it was opened. Immutable.
 *
 * @param frames how often something was sent to another member: several messages at once, or none, as a heartbeat
 * @param bytes of all frames
 * @param forces how often the log was forced to disk, for what was to be acknowledged or by its user
 */
public record GroupCounts(long frames, long bytes, long forces) {

    public static final GroupCounts NONE = new GroupCounts(0, 0, 0);
}
