package org.gorda.jgcs;

import java.nio.ByteBuffer;

/**
 * What a group tells its user. All methods but {@link #onDeliverable} and {@link #onDirect} are called by the group's one delivery thread,
 * never two at a time; an exception from any of them stops this member.
 */
public interface GroupListener extends MessageListener {

    /** The view has changed. Only the newest is told when several changed meanwhile. */
    void onView(View view);

    /**
     * The log no longer holds what follows the position that was asked for, or its history differs at that position, so that
     * this member must be brought up to date by other means. Nothing is delivered until {@link ControlSession#join} is called
     * again with a position the log holds.
     *
     * @param firstHeld the oldest position that can be asked for
     * @param reason what was asked for and why it cannot be had
     */
    void onGap(Position firstHeld, String reason);

    /**
     * Messages up to this index of a {@link Position} wait for nothing but the delivery of those before them. Told before they are
     * delivered, by any thread, never two at a time; must return at once. A toolkit may leave it out.
     */
    default void onDeliverable(long index) {}

    /**
     * Whether this member may form a group with the others if there is none yet, as it may unless it holds what an earlier one has made. Asked once, when it
     * joins; if not, it waits for a group that exists. A toolkit whose groups are not formed by their members leaves it out.
     */
    default boolean mayForm() {
        return true;
    }

    /**
     * A member has sent this by {@link DirectSession}. Called by any thread, beside the other methods; must return at once.
     *
     * @param payload may be kept
     */
    default void onDirect(MemberId from, ByteBuffer payload) {}

    /**
     * This member has stopped for good because going on could lose or change what others rely on, for instance after a disk
     * error. The last call of all.
     */
    void onStop(GroupException cause);
}
