package org.gorda.jgcs;

import java.nio.ByteBuffer;

/**
 * A delivered message. Immutable: the payload is read-only and may be kept as long as it is needed, no copy is required.
 *
 * @param position its place in the total order; of a toolkit without a log, only how many were delivered to this member
 * @param id who sent it, and which of the sender's messages it is
 * @param payload the bytes sent; read-only, each reader should {@link ByteBuffer#duplicate duplicate} it
 */
public record Message(Position position, MessageId id, ByteBuffer payload) {}
