package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.ReplicaMessage;

/**
 * A write set of the simulated bank: an amount goes from one account to another. Carries what the transaction has read, so that
 * whoever applies it notices if it ran on anything else. Immutable.
 *
 * @param fromBefore the balance that the transaction found
 * @param toBefore the balance that the transaction found
 */
record Transfer(TransactionId id, int from, long fromBefore, int to, long toBefore, long amount) {

    private static final int BYTES = 2 * Integer.BYTES + 3 * Long.BYTES;
    private static final int CHUNK_BYTES = 7;
    static final int CHUNKS_MAX = BYTES / CHUNK_BYTES;

    private ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(from)
                .putLong(fromBefore)
                .putInt(to)
                .putLong(toBefore)
                .putLong(amount)
                .flip();
    }

    /**
     * The messages that ask for its commit.
     *
     * @param chunks how many precede the last one
     */
    List<ByteBuffer> messages(long epoch, long base, int chunks) {
        List<ByteBuffer> messages = new ArrayList<>();
        ByteBuffer encoded = encode();
        for (int number = 0; number < chunks; number++) {
            ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + CHUNK_BYTES);
            ReplicaMessage.putChunkHeader(chunk, id, epoch, base, number, 0);
            messages.add(chunk.put(cut(encoded, CHUNK_BYTES)).flip());
        }
        ByteBuffer last = ByteBuffer.allocate(ReplicaMessage.WRITE_SET_HEADER_BYTES + encoded.remaining());
        ReplicaMessage.putWriteSetHeader(last, id, epoch, base, base, chunks);
        messages.add(last.put(encoded).flip());
        return messages;
    }

    private static ByteBuffer cut(ByteBuffer from, int length) {
        ByteBuffer part = from.slice(from.position(), length);
        from.position(from.position() + length);
        return part;
    }

    /** Decodes what precedes the last message and what is in it. */
    static Transfer decode(TransactionId id, List<ByteBuffer> chunks, ByteBuffer writeSet) {
        ByteBuffer in = ByteBuffer.allocate(chunks.size() * CHUNK_BYTES + writeSet.remaining());
        chunks.forEach(chunk -> in.put(chunk.duplicate()));
        in.put(writeSet.duplicate()).flip();
        return new Transfer(id, in.getInt(), in.getLong(), in.getInt(), in.getLong(), in.getLong());
    }

    boolean touches(int account) {
        return from == account || to == account;
    }
}
