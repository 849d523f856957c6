package org.gorda.jgcs;

import java.util.concurrent.CompletableFuture;

/**
 * Changes who belongs to the group. One change at a time; each is itself ordered and decided by a majority. The futures fail
 * with a {@link GroupException} when the change is refused, or when its outcome is unknown because the leader was lost.
 * Thread-safe.
 */
public interface MembershipSession {

    /** Adds a member that learns but does not count; it is promoted by itself once it has caught up. */
    CompletableFuture<View> add(MemberId member);

    /** Removes a member. Nothing is delivered to it any more; it goes on to run, without the group, until it is closed or added again. */
    CompletableFuture<View> remove(MemberId member);

    /** Hands leadership to {@code member}; completes once it leads. */
    CompletableFuture<View> transferLeadership(MemberId member);

    /** The view as of now. */
    View view();
}
