package org.gorda.gapi;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A fast 64-bit hash for keys and fingerprints: multiply and fold, eight bytes at a time. Not against adversaries: a collision
 * costs a needless abort. The same on all members and in all releases. Not thread-safe.
 */
public final class Hash64 {

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long SEED = 0x9E3779B97F4A7C15L;
    private static final long FACTOR = 0xD6E8FEB86659FD93L;

    private long state = SEED;

    /** Starts over. */
    public Hash64 reset() {
        state = SEED;
        return this;
    }

    public Hash64 add(long value) {
        state = fold(state ^ value);
        return this;
    }

    public Hash64 add(byte[] bytes, int offset, int length) {
        int end = offset + length;
        int i = offset;
        for (; i + Long.BYTES <= end; i += Long.BYTES) {
            state = fold(state ^ (long) LONGS.get(bytes, i));
        }
        long rest = length;
        for (; i < end; i++) {
            rest = (rest << 8) | (bytes[i] & 0xff);
        }
        state = fold(state ^ rest);
        return this;
    }

    private static long fold(long value) {
        long product = value * FACTOR;
        return product ^ (product >>> 32);
    }

    public long value() {
        return fold(state ^ (state >>> 29));
    }
}
