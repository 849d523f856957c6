package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.gorda.gapi.Content;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.replicator.core.ReplicaMessage;

/**
 * A write set of the simulated bank: an amount goes from one account to another. Carries what the transaction has read, so that
 * whoever applies it notices if it ran on anything else. Immutable.
 *
 * @param fromBefore the balance that the transaction found
 * @param toBefore the balance that the transaction found
 */
record Transfer(TransactionId id, int from, long fromBefore, int to, long toBefore, long amount) {

    private static final TableShape BANK = new TableShape("", "BANK", List.of(), List.of());

    /** Such a write set never needs one. */
    private static final Path NO_SPOOL = Path.of("none");

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
     * @param withKeys whether they say which rows were written
     */
    List<ByteBuffer> messages(long epoch, long begun, long executed, int chunks, boolean withKeys) {
        List<ByteBuffer> messages = new ArrayList<>();
        ByteBuffer encoded = encode();
        for (int number = 0; number < chunks; number++) {
            ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + CHUNK_BYTES);
            ReplicaMessage.putChunkHeader(chunk, id, epoch, executed, number, 0);
            messages.add(chunk.put(cut(encoded, CHUNK_BYTES)).flip());
        }
        ByteBuffer last = writeSet(encoded, withKeys).precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(last, id, epoch, begun, executed, chunks);
        messages.add(last.rewind());
        return messages;
    }

    private WriteSet writeSet(ByteBuffer rest, boolean withKeys) {
        WriteSetWriter out = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 1 << 20, NO_SPOOL);
        out.insert(BANK, 1);
        out.putBytes(SqlType.VARBINARY, rest.array(), rest.arrayOffset() + rest.position(), rest.remaining());
        if (withKeys) {
            out.key(KeyMode.WRITTEN, from);
            out.key(KeyMode.WRITTEN, to);
        }
        return out.finish();
    }

    private static ByteBuffer cut(ByteBuffer from, int length) {
        ByteBuffer part = from.slice(from.position(), length);
        from.position(from.position() + length);
        return part;
    }

    /** Decodes what precedes the last message and what is in it. */
    static Transfer decode(TransactionId id, List<ByteBuffer> chunks, ByteBuffer writeSet) {
        WriteSetReader reader = new WriteSetReader(WriteSet.decode(writeSet, Content.EMPTY));
        reader.next();
        reader.count();
        reader.type();
        ByteBuffer in = ByteBuffer.allocate(BYTES);
        chunks.forEach(chunk -> in.put(chunk.duplicate()));
        in.put(reader.readBytes()).flip();
        return new Transfer(id, in.getInt(), in.getLong(), in.getInt(), in.getLong(), in.getLong());
    }

    boolean touches(int account) {
        return from == account || to == account;
    }
}
