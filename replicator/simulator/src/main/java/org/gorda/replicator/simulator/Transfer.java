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
import org.gorda.replicator.simulator.Locks.Kind;
import org.gorda.replicator.simulator.Locks.Mode;
import org.gorda.replicator.simulator.Locks.Need;

/**
 * A write set of the simulated bank. Carries what the transaction has found, so that whoever applies it notices if it ran on anything
 * else. Immutable.
 *
 * @param fromBefore the balance that the transaction found; how many transactions it found, if it changes the schema
 * @param toBefore the balance that the transaction found
 * @param schema how often the schema had been changed where it ran
 * @param readBefore the balance of the account that it has only read
 * @param countBefore how many accounts it has counted in a branch
 * @param subjectBefore the name or the branch that its account had
 */
record Transfer(
        Intent intent,
        long fromBefore,
        long toBefore,
        long schema,
        long readBefore,
        int countBefore,
        int subjectBefore) {

    /** What a request to commit says of itself, for others to compare. */
    enum Tells {
        ROWS,
        UNIQUE_KEYS,
        PARENTS,
        READS,
        COUNTS,
        SCHEMA
    }

    private static final TableShape BANK = new TableShape("", "BANK", List.of(), List.of());

    /** Such a write set never needs one. */
    private static final Path NO_SPOOL = Path.of("none");

    private static final int BYTES = 1 + 7 * Integer.BYTES + 5 * Long.BYTES;
    private static final int CHUNK_BYTES = 7;
    static final int CHUNKS_MAX = 4;

    /** Keys of accounts are their numbers. */
    private static final long KEYS_OF_NAMES = 1_000;

    private static final long KEYS_OF_BRANCHES = 2_000;

    /** Stands for which accounts are in which branches, as for a table of its own. */
    private static final long KEY_OF_MEMBERSHIPS = 3_000;

    @SuppressWarnings("EnumOrdinal") // nobody but this run reads it
    private ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(intent.from())
                .putInt(intent.to())
                .putLong(intent.amount())
                .putInt(intent.read())
                .putInt(intent.counted())
                .put((byte) intent.change().ordinal())
                .putInt(intent.subject())
                .putLong(fromBefore)
                .putLong(toBefore)
                .putLong(schema)
                .putLong(readBefore)
                .putInt(countBefore)
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
     * The messages that ask for its commit, the last one without its header.
     *
     * @param base what was visible before the first
     * @param chunks how many precede the last one
     */
    List<ByteBuffer> messages(long epoch, long base, int chunks, Set<Tells> tells) {
        List<ByteBuffer> messages = new ArrayList<>();
        ByteBuffer encoded = encode();
        for (int number = 0; number < chunks; number++) {
            ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + CHUNK_BYTES);
            ReplicaMessage.putChunkHeader(chunk, intent.id(), epoch, base, number, 0);
            messages.add(chunk.put(cut(encoded, CHUNK_BYTES)).flip());
        }
        messages.add(writeSet(encoded, tells).precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES));
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
        if (tells.contains(Tells.COUNTS) && intent.change() == Intent.Change.MOVE) {
            out.key(KeyMode.CHANGED, KEY_OF_MEMBERSHIPS);
        }
        if (tells.contains(Tells.COUNTS) && intent.counted() != Intent.NONE) {
            out.key(KeyMode.READ, KEY_OF_MEMBERSHIPS);
        }
        if (tells.contains(Tells.SCHEMA)) {
            out.key(modeOfSchema(), KeyHasher.SCHEMA);
        }
        return out.finish();
    }

    /** It has locked the schema before it looked at it, as databases do that lock tables; every other one is of a database that does not. */
    private KeyMode modeOfSchema() {
        boolean locks = intent.id().number() % 2 == 0;
        if (intent.changesSchema()) {
            return locks ? KeyMode.WRITTEN : KeyMode.REMOVED;
        }
        return locks ? KeyMode.CHANGED : KeyMode.REFERENCED;
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
                id,
                in.getInt(),
                in.getInt(),
                in.getLong(),
                in.getInt(),
                in.getInt(),
                Intent.Change.values()[in.get()],
                in.getInt());
        return new Transfer(intent, in.getLong(), in.getLong(), in.getLong(), in.getLong(), in.getInt(), in.getInt());
    }

    /** The locks that it takes to change its rows; whoever applies it checks nothing, and so locks nothing for that. */
    List<Need> locks() {
        List<Need> locks = new ArrayList<>();
        if (intent.changesSchema()) {
            need(locks, Kind.SCHEMA, 0, Mode.EXCLUSIVE);
            return locks;
        }
        need(locks, Kind.SCHEMA, 0, Mode.SHARED);
        need(locks, Kind.ACCOUNTS, 0, Mode.INTENT);
        need(locks, Kind.ACCOUNT, intent.from(), Mode.EXCLUSIVE);
        need(locks, Kind.ACCOUNT, intent.to(), Mode.EXCLUSIVE);
        switch (intent.change()) {
            case NOTHING -> {}
            case RENAME -> {
                need(locks, Kind.NAME, subjectBefore, Mode.EXCLUSIVE);
                need(locks, Kind.NAME, intent.subject(), Mode.EXCLUSIVE);
            }
            case MOVE -> {
                need(locks, Kind.CHILDREN, subjectBefore, Mode.INTENT);
                need(locks, Kind.CHILDREN, intent.subject(), Mode.INTENT);
            }
            case OPEN, CLOSE -> need(locks, Kind.BRANCH, intent.subject(), Mode.EXCLUSIVE);
        }
        return locks;
    }

    private static void need(List<Need> locks, Kind kind, int number, Mode mode) {
        if (number != Intent.NONE) {
            locks.add(Need.of(kind, number, mode));
        }
    }
}
