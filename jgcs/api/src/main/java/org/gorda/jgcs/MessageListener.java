package org.gorda.jgcs;

/** Receives the group's messages, in order, on the group's one delivery thread. */
public interface MessageListener {

    /**
     * A message is delivered. The call may take its time: meanwhile messages wait in the group's log, not in memory. An
     * exception stops this member, because a message must not be skipped.
     */
    void onMessage(Message message);

    /**
     * Everything that is decided so far was delivered: the moment to finish what was gathered.
     *
     * @param upTo the last place in the order, which need not be a message's
     */
    void onCaughtUp(Position upTo);
}
