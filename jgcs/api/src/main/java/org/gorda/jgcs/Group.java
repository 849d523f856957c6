package org.gorda.jgcs;

import java.util.Optional;

/**
 * This process's membership of one group. Thread-safe.
 *
 * <p>Closing stops at once, like a crash that is polite to the operating system: use {@link ControlSession#leave} to leave in
 * order.
 */
public interface Group extends AutoCloseable {

    /** This member. */
    MemberId self();

    /** Whether it was sent in this run of this member, and not by another one or in an earlier run. */
    boolean isOwn(MessageId id);

    /** What a person should know of this member's part in the group now, above all why it does not work if so. */
    String explanation();

    DataSession data();

    ControlSession control();

    /** Empty if the toolkit's membership is fixed. */
    Optional<MembershipSession> membership();

    /** Empty if the toolkit keeps no log. */
    Optional<LogSession> log();

    /** Empty if the toolkit has no way from one member to another outside the order. */
    default Optional<DirectSession> direct() {
        return Optional.empty();
    }

    /** Which history this member is on, as far as it knows; {@link History#UNKNOWN} if the toolkit tells none. */
    default History history() {
        return log().map(log -> new History(log.lastCommitted().group(), 0)).orElse(History.UNKNOWN);
    }

    /** What it has cost so far; all 0 if the toolkit does not count. */
    default GroupCounts counts() {
        return GroupCounts.NONE;
    }

    @Override
    void close();
}
