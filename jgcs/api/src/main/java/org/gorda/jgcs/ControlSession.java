package org.gorda.jgcs;

/** Joins and leaves the group. Thread-safe. */
public interface ControlSession {

    /**
     * Takes part in the group and delivers what follows {@code after}. Returns at once; {@link GroupListener#onView} tells when
     * the group works. Called again, moves the delivery to another position, for instance after a {@link GroupListener#onGap}.
     *
     * @param after the last position the caller has processed; {@link Position#START} for everything, and always where there is no log
     */
    void join(Position after);

    /**
     * Leaves in order: hands leadership over, makes the log durable and stops. Messages not yet ordered may or may not be
     * ordered later. Idempotent.
     */
    void leave();
}
