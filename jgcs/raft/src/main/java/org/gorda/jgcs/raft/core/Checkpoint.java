package org.gorda.jgcs.raft.core;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * What stands for the part of the log that is no longer held. Immutable.
 *
 * @param index the last index it covers
 * @param term that entry's term
 * @param configuration the one in force at that index
 * @param state what else must be known to go on from there; read-only and opaque to the core
 */
public record Checkpoint(long index, long term, Configuration configuration, ByteBuffer state) {

    /** Before the first entry. */
    public static final Checkpoint NONE =
            new Checkpoint(0, 0, Configuration.EMPTY, ByteBuffer.allocate(0).asReadOnlyBuffer());

    /** Everything, for the disk and the wire. */
    public byte[] encode() {
        byte[] members = configuration.encode();
        return ByteBuffer.allocate(2 * Long.BYTES + Integer.BYTES + members.length + state.remaining())
                .putLong(index)
                .putLong(term)
                .putInt(members.length)
                .put(members)
                .put(state.duplicate())
                .array();
    }

    /**
     * Decodes what {@link #encode} made.
     *
     * @throws CorruptEntryException if the buffer does not hold a checkpoint
     */
    public static Checkpoint decode(ByteBuffer buffer) {
        try {
            long index = buffer.getLong();
            long term = buffer.getLong();
            byte[] members = new byte[lengthWithin(buffer)];
            buffer.get(members);
            Configuration configuration = Configuration.decode(ByteBuffer.wrap(members));
            return new Checkpoint(index, term, configuration, buffer.slice().asReadOnlyBuffer());
        } catch (BufferUnderflowException e) {
            throw new CorruptEntryException("a checkpoint is cut short");
        }
    }

    private static int lengthWithin(ByteBuffer buffer) {
        int length = buffer.getInt();
        if (length < 0 || length > buffer.remaining()) {
            throw new CorruptEntryException("a checkpoint's length of " + length + " is beyond its end");
        }
        return length;
    }
}
