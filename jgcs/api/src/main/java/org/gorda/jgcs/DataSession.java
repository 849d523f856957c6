package org.gorda.jgcs;

import java.nio.ByteBuffer;
import java.time.Duration;

/** Sends messages to the group. Thread-safe. */
public interface DataSession {

    /**
     * Sends a message to all members, this one included. On return it is on its way and will be resent until it is delivered or
     * this member stops; its delivery to this member's listener is the confirmation.
     *
     * @param payload the bytes from position to limit; not copied, so they must not be changed any more
     * @param wait how long to wait for room if too much is on its way already
     * @return the message's identity
     * @throws MessageTooLargeException if the payload exceeds {@link GroupConfiguration#messageBytesMax}
     * @throws GroupException with {@link GroupException.Disposition#RETRY} if there was no room in time, nothing was sent; with
     *     {@link GroupException.Disposition#RECONNECT} if this member has left or stopped
     */
    MessageId multicast(ByteBuffer payload, Duration wait);
}
