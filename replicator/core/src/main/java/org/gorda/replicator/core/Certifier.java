package org.gorda.replicator.core;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Iterator;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether an ordered transaction may be committed, the same on all replicas and without votes (Kemme and Alonso 2000;
 * Pedone, Guerraoui and Schiper 2003): not if one that was ordered before it, and that it has not seen, had to do with a key of it
 * in a mode that does not go with its own. First come in the order, first served.
 *
 * <p>A transaction brings two places in the order. Up to {@code executed}, read while it held all its locks, every change had run
 * in its database: what it wrote itself, it wrote after them. Up to {@code begun} everything was visible when it began: only that
 * is sure to have been seen by its checks of foreign keys and by its look at the schema. So written keys are compared from {@code
 * executed} on, and removed ones with references from {@code begun} on. What it read is compared like what it wrote, if it tells, as a
 * SERIALIZABLE one does, which keeps its locks on that to the end: then it is as if it had run at its own place in the order. What it has
 * seen without locks is compared from {@code begun} on.
 *
 * <p>The schema is one key, which every transaction uses, {@linkplain KeyHasher#SCHEMA in a mode} that tells what its database's locks
 * make sure of: who kept its tables locked is compared from {@code executed} on with who changed others under locks, and from {@code
 * begun} on with all other changes. A transaction that changes the schema needs a moment in which no rows change. It asks for that
 * by a {@linkplain #schemaTurn turn} before its first change of the schema, and gives as {@code executed} what was visible when its turn had come:
 * rows that are changed between there and its own place make it lose. So that there are none, whoever sent without having
 * executed the turn loses, and whoever has executed it sends nothing until it is over. What it wrote itself before its turn is compared from
 * there, too: all up to there was executed while it held its locks.
 *
 * <p>The keys are 64-bit hashes; two keys that share one make a needless conflict. Those of a stretch of the order are kept, and of the
 * stretch before; what asks to be committed from farther back is not certified. Confined to the core's caller.
 */
final class Certifier {

    /** A stretch ends after so many places in the order, or so many keys. */
    static final int STRETCH_PLACES = 50_000;

    static final int STRETCH_KEYS = 1 << 18;

    /** So many certified transactions can be named to those that lose against them. */
    private static final int WINNERS_KEPT = 8192;

    private record Certified(long index, Conflict.Winner winner) {}

    private KeyHistory older = new KeyHistory(0);
    private KeyHistory current = new KeyHistory(0);

    /** Where the schema was last changed, in what no lock of the tables concerned guards; not forgotten, because every transaction depends on it. */
    private long schemaChanged;

    /** Where only tables were last changed, with locks on them that writers of their rows do not go with. */
    private long tablesChanged;

    private long rowsChanged;

    /** Where somebody was last given room to change the schema. */
    private long schemaTurn;

    /** Oldest first. Only for people: not part of a checkpoint. */
    private final ArrayDeque<Certified> winners = new ArrayDeque<>();

    /** Nobody who began before this place in the order is certified any more, so that nothing before it is worth knowing. */
    void begin(long index) {
        older = new KeyHistory(index);
        current = new KeyHistory(index);
        schemaChanged = index;
        tablesChanged = index;
        rowsChanged = index;
        schemaTurn = index;
        winners.clear();
    }

    /** Whether all is known that a transaction must be compared with. */
    boolean knows(WriteSet writeSet, long begun, long executed) {
        if (executed < older.start()) {
            return false;
        }
        if (begun >= older.start()) {
            return true;
        }
        for (int i = 0; i < writeSet.keys(); i++) {
            if (isComparedFromBegun(writeSet.keyMode(i)) && writeSet.keyHash(i) != KeyHasher.SCHEMA) {
                return false;
            }
        }
        return true;
    }

    private static boolean isComparedFromBegun(KeyMode mode) {
        return mode == KeyMode.REMOVED || mode == KeyMode.REFERENCED || mode == KeyMode.READ_UNLOCKED;
    }

    /**
     * Certifies a transaction that {@linkplain #knows can be}, and remembers its keys unless there is a conflict.
     *
     * @param begun everything up to here was visible where it began
     * @param executed everything up to here had run where it asked to be committed
     * @param index its own place
     */
    @Nullable
    Conflict certify(WriteSet writeSet, long begun, long executed, long index, TransactionId id, MemberId origin) {
        int keys = writeSet.keys();
        for (int i = 0; i < keys; i++) {
            long key = writeSet.keyHash(i);
            long against = key == KeyHasher.SCHEMA
                    ? againstSchema(writeSet.keyMode(i), begun, executed)
                    : against(key, writeSet.keyMode(i), begun, executed);
            if (against > 0) {
                return new Conflict(key, against, winner(against));
            }
        }
        if (index - current.start() > STRETCH_PLACES || current.keys() + keys > STRETCH_KEYS) {
            older = current;
            current = new KeyHistory(index - 1);
        }
        for (int i = 0; i < keys; i++) {
            remember(writeSet.keyHash(i), writeSet.keyMode(i), index);
        }
        remember(index, id, origin);
        return null;
    }

    private void remember(long index, TransactionId id, MemberId origin) {
        if (winners.size() == WINNERS_KEPT) {
            winners.removeFirst();
        }
        winners.addLast(new Certified(index, new Conflict.Winner(id, origin)));
    }

    /** Where the key was last used in a way that does not go with this one and is not known to have been seen; 0 if nowhere. */
    private long against(long key, KeyMode mode, long begun, long executed) {
        return switch (mode) {
            case WRITTEN -> since(executed, written(key));
            case REMOVED -> Math.max(since(executed, written(key)), since(begun, referenced(key)));
            case REFERENCED -> since(begun, removed(key));
            case READ -> since(executed, written(key));
            case READ_UNLOCKED -> since(begun, written(key));
            case CHANGED -> 0;
        };
    }

    private long againstSchema(KeyMode mode, long begun, long executed) {
        return switch (mode) {
            case REMOVED, WRITTEN -> Math.max(since(begun, schemaChanged()), since(executed, rowsChanged));
            case CHANGED -> Math.max(since(begun, schemaChanged), since(executed, Math.max(tablesChanged, schemaTurn)));
            default -> Math.max(since(begun, schemaChanged()), since(executed, schemaTurn));
        };
    }

    /** A transaction is about to change the schema: what was sent without having seen this place makes room. */
    void schemaTurn(long index, TransactionId id, MemberId origin) {
        schemaTurn = index;
        remember(index, id, origin);
    }

    /** The place of the last transaction that changed the schema; 0 if there was none. */
    long schemaChanged() {
        return Math.max(schemaChanged, tablesChanged);
    }

    private static long since(long seen, long index) {
        return index > seen ? index : 0;
    }

    private long written(long key) {
        return Math.max(current.written(key), older.written(key));
    }

    private long removed(long key) {
        return Math.max(current.removed(key), older.removed(key));
    }

    private long referenced(long key) {
        return Math.max(current.referenced(key), older.referenced(key));
    }

    private void remember(long key, KeyMode mode, long index) {
        if (mode == KeyMode.READ || mode == KeyMode.READ_UNLOCKED) {
            return; // it has changed nothing
        }
        if (key != KeyHasher.SCHEMA) {
            current.put(key, mode, index);
            return;
        }
        switch (mode) {
            case REMOVED -> schemaChanged = index;
            case WRITTEN -> tablesChanged = index;
            default -> rowsChanged = index;
        }
    }

    private Conflict.@Nullable Winner winner(long index) {
        Iterator<Certified> newestFirst = winners.descendingIterator();
        while (newestFirst.hasNext()) {
            Certified next = newestFirst.next();
            if (next.index() <= index) {
                return next.index() == index ? next.winner() : null;
            }
        }
        return null;
    }

    int encodedBytes() {
        return 4 * Long.BYTES + older.encodedBytes() + current.encodedBytes();
    }

    void encode(ByteBuffer target) {
        target.putLong(schemaChanged)
                .putLong(tablesChanged)
                .putLong(rowsChanged)
                .putLong(schemaTurn);
        older.encode(target);
        current.encode(target);
    }

    void decode(ByteBuffer source) {
        schemaChanged = source.getLong();
        tablesChanged = source.getLong();
        rowsChanged = source.getLong();
        schemaTurn = source.getLong();
        older = KeyHistory.decode(source);
        current = KeyHistory.decode(source);
        winners.clear();
    }
}
