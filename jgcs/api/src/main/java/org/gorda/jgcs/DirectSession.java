package org.gorda.jgcs;

import java.nio.ByteBuffer;

/** Sends to one member, outside the order and without any guarantee but that what arrives is unharmed. Thread-safe. */
public interface DirectSession {

    /**
     * Sends a message to one other member, whose {@link GroupListener#onDirect} is called; loses it if that member cannot be reached or
     * takes less than is sent. Never waits long.
     *
     * @param payload the bytes from position to limit; copied
     * @throws MessageTooLargeException if the payload exceeds {@link GroupConfiguration#messageBytesMax}
     */
    void send(MemberId to, ByteBuffer payload);
}
