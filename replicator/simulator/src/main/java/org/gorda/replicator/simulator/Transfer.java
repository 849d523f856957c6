package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.gorda.gapi.Content;
import org.gorda.gapi.KeyHasher;
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
 * whoever applies it notices if it ran on anything else. One from an account to itself stands for a change of the schema, which must see
 * all that is before it. Immutable.
 *
 * @param fromBefore the balance that the transaction found; how many transactions it found, if it changes the schema
 * @param toBefore the balance that the transaction found
 * @param schema how often the schema had been changed where it ran
 * @param read an account that it has only read, because it is SERIALIZABLE; {@link #NONE} if there is none
 * @param readBefore the balance that it found there
 */
record Transfer(
        TransactionId id,
        int from,
        long fromBefore,
        int to,
        long toBefore,
        long amount,
        long schema,
        int read,
        long readBefore) {

    static final int NONE = -1;

    private static final TableShape BANK = new TableShape("", "BANK", List.of(), List.of());

    /** Such a write set never needs one. */
    private static final Path NO_SPOOL = Path.of("none");

    private static final int BYTES = 3 * Integer.BYTES + 5 * Long.BYTES;
    private static final int CHUNK_BYTES = 7;
    static final int CHUNKS_MAX = 4;

    private ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(from)
                .putLong(fromBefore)
                .putInt(to)
                .putLong(toBefore)
                .putLong(amount)
                .putLong(schema)
                .putInt(read)
                .putLong(readBefore)
                .flip();
    }

    /**
     * The messages that ask for its commit.
     *
     * @param chunks how many precede the last one
     * @param withKeys whether they say which rows were written
     * @param withReads whether they say what was read
     * @param withSchema whether they say that they depend on the schema, or change it
     */
    List<ByteBuffer> messages(
            long epoch,
            long begun,
            long executed,
            int chunks,
            boolean withKeys,
            boolean withReads,
            boolean withSchema) {
        List<ByteBuffer> messages = new ArrayList<>();
        ByteBuffer encoded = encode();
        for (int number = 0; number < chunks; number++) {
            ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + CHUNK_BYTES);
            ReplicaMessage.putChunkHeader(chunk, id, epoch, executed, number, 0);
            messages.add(chunk.put(cut(encoded, CHUNK_BYTES)).flip());
        }
        ByteBuffer last =
                writeSet(encoded, withKeys, withReads, withSchema).precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(last, id, epoch, begun, executed, chunks);
        messages.add(last.rewind());
        return messages;
    }

    private WriteSet writeSet(ByteBuffer rest, boolean withKeys, boolean withReads, boolean withSchema) {
        WriteSetWriter out = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 1 << 20, NO_SPOOL);
        out.insert(BANK, 1);
        out.putBytes(SqlType.VARBINARY, rest.array(), rest.arrayOffset() + rest.position(), rest.remaining());
        if (withKeys && !changesSchema()) {
            out.key(KeyMode.WRITTEN, from);
            out.key(KeyMode.WRITTEN, to);
        }
        if (withReads && read != NONE) {
            out.key(KeyMode.READ, read);
        }
        if (withSchema) {
            out.key(changesSchema() ? KeyMode.REMOVED : KeyMode.REFERENCED, KeyHasher.SCHEMA);
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
        return new Transfer(
                id,
                in.getInt(),
                in.getLong(),
                in.getInt(),
                in.getLong(),
                in.getLong(),
                in.getLong(),
                in.getInt(),
                in.getLong());
    }

    boolean changesSchema() {
        return from == to;
    }

    /** Whether it changes the account. */
    boolean touches(int account) {
        return from == account || to == account || changesSchema();
    }
}
