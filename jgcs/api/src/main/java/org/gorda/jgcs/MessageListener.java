package org.gorda.jgcs;

/** Receives the group's messages, in order, on the group's one delivery thread. */
@FunctionalInterface
public interface MessageListener {

    /**
     * A message is delivered. The call may take its time: meanwhile messages wait in the group's log, not in memory. An
     * exception stops this member, because a message must not be skipped.
     *
     * @param endOfBatch true if no further message is ready now: the moment to flush what was gathered
     */
    void onMessage(Message message, boolean endOfBatch);
}
