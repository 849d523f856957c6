package org.gorda.replicator.core;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import org.gorda.gapi.KeyMode;

/**
 * Where keys were last written, removed and referenced, over a stretch of the order. A hash table with open addressing: what is in it
 * is never taken out one by one. Confined to the core's caller.
 */
final class KeyHistory {

    private static final int WRITTEN = 1;
    private static final int REMOVED = 2;
    private static final int REFERENCED = 3;
    private static final int STRIDE = 4;
    private static final int ENTRIES_FIRST = 1 << 6;

    /** Everything after this place is known, up to where the next history begins. */
    private final long start;

    /** For each key four longs: the key, and its places; the key is 0 where there is none. */
    private long[] table = new long[STRIDE * ENTRIES_FIRST];

    private int keys;

    KeyHistory(long start) {
        this.start = start;
    }

    long start() {
        return start;
    }

    int keys() {
        return keys;
    }

    /** Where a row with the key, or of the table, was last inserted, updated or removed; 0 if never. */
    long written(long key) {
        int at = find(nonZero(key));
        return Math.max(table[at + WRITTEN], table[at + REMOVED]);
    }

    /** Where the key last ceased to exist; 0 if never. */
    long removed(long key) {
        return table[find(nonZero(key)) + REMOVED];
    }

    /** Where a row was last made to refer to the key; 0 if never. */
    long referenced(long key) {
        return table[find(nonZero(key)) + REFERENCED];
    }

    void put(long hash, KeyMode mode, long index) {
        if (2L * STRIDE * keys >= table.length) {
            grow();
        }
        long key = nonZero(hash);
        int at = find(key);
        if (table[at] == 0) {
            table[at] = key;
            keys++;
        }
        table[at + place(mode)] = index;
    }

    private static int place(KeyMode mode) {
        return switch (mode) {
            case WRITTEN, CHANGED -> WRITTEN;
            case REMOVED -> REMOVED;
            case REFERENCED -> REFERENCED;
            case READ, READ_UNLOCKED -> throw new IllegalArgumentException("what was read is not remembered");
        };
    }

    /** 0 and 1 are taken for the same key, which at worst makes a needless conflict. */
    private static long nonZero(long hash) {
        return hash == 0 ? 1 : hash;
    }

    private int find(long key) {
        int mask = table.length - 1;
        int at = (int) (key ^ (key >>> 32)) * STRIDE & mask;
        while (table[at] != 0 && table[at] != key) {
            at = (at + STRIDE) & mask;
        }
        return at;
    }

    private void grow() {
        long[] smaller = table;
        table = new long[2 * smaller.length];
        for (int from = 0; from < smaller.length; from += STRIDE) {
            if (smaller[from] != 0) {
                System.arraycopy(smaller, from, table, find(smaller[from]), STRIDE);
            }
        }
    }

    int encodedBytes() {
        return Long.BYTES + Integer.BYTES + keys * STRIDE * Long.BYTES;
    }

    void encode(ByteBuffer target) {
        target.putLong(start).putInt(keys);
        for (int at = 0; at < table.length; at += STRIDE) {
            if (table[at] != 0) {
                for (int i = 0; i < STRIDE; i++) {
                    target.putLong(table[at + i]);
                }
            }
        }
    }

    static KeyHistory decode(ByteBuffer source) {
        KeyHistory history = new KeyHistory(source.getLong());
        int keys = source.getInt();
        if (keys < 0 || keys > source.remaining() / (STRIDE * Long.BYTES)) {
            throw new BufferUnderflowException();
        }
        for (int i = 0; i < keys; i++) {
            long key = source.getLong();
            history.put(key, KeyMode.WRITTEN, source.getLong());
            history.put(key, KeyMode.REMOVED, source.getLong());
            history.put(key, KeyMode.REFERENCED, source.getLong());
        }
        if (history.keys != keys) {
            throw new IllegalArgumentException("a key is given twice");
        }
        return history;
    }
}
