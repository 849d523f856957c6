package org.gorda.replicator.core;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;

/**
 * How far the values of generators are given out, since the last schema change. Each range is given once, to whom asked at that
 * place in the order; what he does not use is skipped. Confined to the core's caller.
 */
final class Leases {

    /** One lease has at most so many values. */
    static final int COUNT_MAX = 1_000_000;

    /** Of what is left a lease gets such a part at most, so that the end of a short generator is not all with one replica. */
    private static final int SHARE = 10;

    /** In the order of their first lease, which is the same everywhere. Empty: none left. */
    private final Map<Generator, OptionalLong> next = new LinkedHashMap<>();

    /**
     * Gives out the next values.
     *
     * @param state as the one who asks sees it: where to begin, if nothing is known here or it is farther
     */
    LeasedRange grant(GeneratorState state, int wanted) {
        OptionalLong known = next.get(state.generator());
        if (known != null && known.isEmpty()) {
            return LeasedRange.NONE_LEFT;
        }
        boolean up = state.increment() > 0;
        long first = state.next();
        if (known != null) {
            first = up ? Math.max(first, known.getAsLong()) : Math.min(first, known.getAsLong());
        }
        if (first < state.minimum() || first > state.maximum()) {
            next.put(state.generator(), OptionalLong.empty());
            return LeasedRange.NONE_LEFT;
        }
        // Unsigned: there may be more of them than a long can count.
        long behindFirst = up
                ? Long.divideUnsigned(state.maximum() - first, state.increment())
                : Long.divideUnsigned(first - state.minimum(), -state.increment());
        long share = Math.max(1, Long.divideUnsigned(behindFirst, SHARE));
        int count = (int) Math.min(Math.max(1, Math.min(wanted, COUNT_MAX)), share);
        boolean all = Long.compareUnsigned(count, behindFirst) > 0;
        next.put(state.generator(), all ? OptionalLong.empty() : OptionalLong.of(first + count * state.increment()));
        return new LeasedRange(first, count, state.increment());
    }

    /** Forgets all; where generators are to go on when the schema or the protocol changes. */
    Map<Generator, OptionalLong> takeAll() {
        Map<Generator, OptionalLong> all = new LinkedHashMap<>(next);
        next.clear();
        return all;
    }

    static int encodedBytes(Generator generator) {
        return 1 + 2 + bytes(generator.schema()).length + 2 + bytes(generator.name()).length;
    }

    static void encode(Generator generator, ByteBuffer target) {
        byte[] schema = bytes(generator.schema());
        byte[] name = bytes(generator.name());
        target.put((byte) (generator.identity() ? 1 : 0));
        target.putShort((short) schema.length).put(schema);
        target.putShort((short) name.length).put(name);
    }

    static Generator generator(ByteBuffer in) {
        boolean identity = in.get() != 0;
        String schema = ReplicaCore.text(in);
        return new Generator(identity, schema, ReplicaCore.text(in));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    int encodedBytes() {
        int size = Integer.BYTES;
        for (Generator generator : next.keySet()) {
            size += encodedBytes(generator) + 1 + Long.BYTES;
        }
        return size;
    }

    void encode(ByteBuffer target) {
        target.putInt(next.size());
        next.forEach((generator, value) -> {
            encode(generator, target);
            target.put((byte) (value.isPresent() ? 1 : 0)).putLong(value.orElse(0));
        });
    }

    void decode(ByteBuffer source) {
        next.clear();
        int count = source.getInt();
        for (int i = 0; i < count; i++) {
            Generator generator = generator(source);
            boolean left = source.get() != 0;
            long value = source.getLong();
            next.put(generator, left ? OptionalLong.of(value) : OptionalLong.empty());
        }
    }
}
