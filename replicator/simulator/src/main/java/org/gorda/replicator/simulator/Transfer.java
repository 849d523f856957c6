package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.gorda.gapi.Content;
import org.gorda.gapi.Hash64;
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
 * A write set of the simulated bank. Carries what the transaction has found, so that whoever applies it notices if it ran on anything
 * else. Immutable.
 *
 * @param fromBefore the balance that the transaction found; how many transactions it found, if it changes the schema
 * @param toBefore the balance that the transaction found
 * @param schema how often the schema had been changed where it ran
 * @param readBefore the balance of the account that it has only read
 * @param subjectBefore the name or the branch that its account had
 */
record Transfer(Intent intent, long fromBefore, long toBefore, long schema, long readBefore, int subjectBefore) {

    /** What a request to commit says of itself, for others to compare. */
    enum Tells {
        ROWS,
        UNIQUE_KEYS,
        PARENTS,
        READS,
        SCHEMA
    }

    private static final TableShape BANK = new TableShape("", "BANK", List.of(), List.of());

    /** Such a write set never needs one. */
    private static final Path NO_SPOOL = Path.of("none");

    private static final int BYTES = 1 + 5 * Integer.BYTES + 5 * Long.BYTES;
    private static final int CHUNK_BYTES = 7;
    static final int CHUNKS_MAX = 4;

    /** Keys of accounts are their numbers. */
    private static final long KEYS_OF_NAMES = 1_000;

    private static final long KEYS_OF_BRANCHES = 2_000;

    @SuppressWarnings("EnumOrdinal") // nobody but this run reads it
    private ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(intent.from())
                .putInt(intent.to())
                .putLong(intent.amount())
                .putInt(intent.read())
                .put((byte) intent.change().ordinal())
                .putInt(intent.subject())
                .putLong(fromBefore)
                .putLong(toBefore)
                .putLong(schema)
                .putLong(readBefore)
                .putInt(subjectBefore)
                .flip();
    }

    /** Stands for all of it. */
    long hash() {
        return new Hash64()
                .add(intent.id().hashCode())
                .add(encode().array(), 0, BYTES)
                .value();
    }

    /**
     * The messages that ask for its commit.
     *
     * @param chunks how many precede the last one
     */
    List<ByteBuffer> messages(long epoch, long begun, long executed, int chunks, Set<Tells> tells) {
        List<ByteBuffer> messages = new ArrayList<>();
        ByteBuffer encoded = encode();
        for (int number = 0; number < chunks; number++) {
            ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + CHUNK_BYTES);
            ReplicaMessage.putChunkHeader(chunk, intent.id(), epoch, executed, number, 0);
            messages.add(chunk.put(cut(encoded, CHUNK_BYTES)).flip());
        }
        ByteBuffer last = writeSet(encoded, tells).precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(last, intent.id(), epoch, begun, executed, chunks);
        messages.add(last.rewind());
        return messages;
    }

    private WriteSet writeSet(ByteBuffer rest, Set<Tells> tells) {
        WriteSetWriter out = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 1 << 20, NO_SPOOL);
        out.insert(BANK, 1);
        out.putBytes(SqlType.VARBINARY, rest.array(), rest.arrayOffset() + rest.position(), rest.remaining());
        if (tells.contains(Tells.ROWS) && !intent.changesSchema()) {
            out.key(KeyMode.WRITTEN, intent.from());
            out.key(KeyMode.WRITTEN, intent.to());
            if (intent.isOfBranch()) {
                boolean opens = intent.change() == Intent.Change.OPEN;
                out.key(opens ? KeyMode.WRITTEN : KeyMode.REMOVED, KEYS_OF_BRANCHES + intent.subject());
            }
        }
        if (tells.contains(Tells.UNIQUE_KEYS) && intent.change() == Intent.Change.RENAME) {
            if (subjectBefore != Intent.NONE) {
                out.key(KeyMode.REMOVED, KEYS_OF_NAMES + subjectBefore);
            }
            if (intent.subject() != Intent.NONE) {
                out.key(KeyMode.WRITTEN, KEYS_OF_NAMES + intent.subject());
            }
        }
        boolean refers = intent.change() == Intent.Change.MOVE && intent.subject() != Intent.NONE;
        if (tells.contains(Tells.PARENTS) && refers) {
            out.key(KeyMode.REFERENCED, KEYS_OF_BRANCHES + intent.subject());
        }
        if (tells.contains(Tells.READS) && intent.read() != Intent.NONE) {
            out.key(KeyMode.READ, intent.read());
        }
        if (tells.contains(Tells.SCHEMA)) {
            out.key(intent.changesSchema() ? KeyMode.REMOVED : KeyMode.REFERENCED, KeyHasher.SCHEMA);
        }
        return out.finish();
    }

    private static ByteBuffer cut(ByteBuffer from, int length) {
        ByteBuffer part = from.slice(from.position(), length);
        from.position(from.position() + length);
        return part;
    }

    /** Decodes what precedes the last message and what is in it. */
    @SuppressWarnings("EnumOrdinal")
    static Transfer decode(TransactionId id, List<ByteBuffer> chunks, ByteBuffer writeSet) {
        WriteSetReader reader = new WriteSetReader(WriteSet.decode(writeSet, Content.EMPTY));
        reader.next();
        reader.count();
        reader.type();
        ByteBuffer in = ByteBuffer.allocate(BYTES);
        chunks.forEach(chunk -> in.put(chunk.duplicate()));
        in.put(reader.readBytes()).flip();
        Intent intent = new Intent(
                id, in.getInt(), in.getInt(), in.getLong(), in.getInt(), Intent.Change.values()[in.get()], in.getInt());
        return new Transfer(intent, in.getLong(), in.getLong(), in.getLong(), in.getLong(), in.getInt());
    }

    /** Whether it changes the account. */
    boolean touches(int account) {
        return intent.from() == account || intent.to() == account || intent.changesSchema();
    }

    /** Whether it has a lock that the other one needs to change its rows. */
    boolean locksRowsOf(Transfer other) {
        return touches(other.intent.from())
                || touches(other.intent.to())
                || locksNameOf(other)
                || (intent.isOfBranch() && other.intent.isOfBranch() && intent.subject() == other.intent.subject());
    }

    private boolean locksNameOf(Transfer other) {
        return intent.change() == Intent.Change.RENAME
                && other.intent.change() == Intent.Change.RENAME
                && (other.isAboutName(intent.subject()) || other.isAboutName(subjectBefore));
    }

    private boolean isAboutName(int name) {
        return name != Intent.NONE && (intent.subject() == name || subjectBefore == name);
    }

    /** Whether a statement of the other one waits for it: for a row, or for what a foreign key's check comes upon. */
    boolean delays(Transfer other) {
        return locksRowsOf(other)
                || touches(other.intent.read())
                || changesParentOf(other)
                || other.changesParentOf(this);
    }

    private boolean changesParentOf(Transfer other) {
        return intent.isOfBranch()
                && other.intent.change() == Intent.Change.MOVE
                && (intent.subject() == other.intent.subject() || intent.subject() == other.subjectBefore);
    }
}
