package org.gorda.gapi;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Turns a key into the 64 bits that stand for it, equal for keys that the database takes for equal: 1.0 and 1.00, 'a' and 'a '
 * under blank padding, 0.0 and -0.0. For collations under which more than that is equal, a binding uses the table as the key. Not
 * thread-safe.
 */
public final class KeyHasher {

    /**
     * The key of the schema, which every transaction has once. {@link KeyMode#REMOVED} by one that changes it; {@link KeyMode#WRITTEN} if all
     * that it changes are tables, and it keeps them, and others whose rows that may concern, locked against writers until it is committed.
     * {@link KeyMode#REFERENCED} by all others; {@link KeyMode#CHANGED} if it has kept the tables of its rows locked against such changes, and
     * what it knew of each is from behind its lock.
     */
    public static final long SCHEMA = 0x73_63_68_65_6d_61L;

    private static final BigInteger LONG_MIN = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);

    private final Hash64 hash = new Hash64();

    /** Identifies a primary key or a unique constraint, or with no columns a table, on all replicas and engines. */
    public static long constraint(String schema, String table, List<String> columns) {
        Hash64 identity = new Hash64();
        addTo(identity, schema);
        addTo(identity, table);
        columns.forEach(column -> addTo(identity, column));
        return identity.value();
    }

    /** The key of a table, whose rows a transaction has changed or read. */
    static long table(String schema, String table) {
        return new KeyHasher().begin(constraint(schema, table, List.of())).value();
    }

    private static void addTo(Hash64 hash, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        hash.add(bytes, 0, bytes.length);
    }

    /** Begins a key of the constraint. */
    public KeyHasher begin(long constraint) {
        hash.reset().add(constraint);
        return this;
    }

    public void addBoolean(boolean value) {
        hash.add(value ? 1 : 0);
    }

    public void addInteger(long value) {
        hash.add(value);
    }

    public void addDecimal(BigDecimal value) {
        BigDecimal canonical = value.signum() == 0 ? BigDecimal.ZERO : value.stripTrailingZeros();
        BigInteger unscaled = canonical.unscaledValue();
        if (canonical.scale() <= 0 && canonical.scale() > -19) {
            BigInteger whole = canonical.toBigInteger();
            if (whole.compareTo(LONG_MIN) >= 0 && whole.compareTo(LONG_MAX) <= 0) {
                addInteger(whole.longValue());
                return;
            }
        }
        byte[] bytes = unscaled.toByteArray();
        hash.add(canonical.scale()).add(bytes, 0, bytes.length);
    }

    /** A whole number is the same key as that of another type: a row may refer by an INTEGER to a DOUBLE. */
    public void addDouble(double value) {
        long whole = (long) value;
        if (whole == value && whole != Long.MAX_VALUE) { // which stands for all beyond, too
            addInteger(whole);
        } else {
            hash.add(Double.doubleToLongBits(value)); // all NaN are one
        }
    }

    public void addText(CharSequence value) {
        int end = value.length();
        while (end > 0 && value.charAt(end - 1) == ' ') {
            end--;
        }
        for (int i = 0; i < end; i++) {
            hash.add(value.charAt(i));
        }
        hash.add(end);
    }

    public void addBytes(byte[] value) {
        int end = value.length;
        // SQL pads bit strings with blanks, too.
        while (end > 0 && value[end - 1] == 0x20) {
            end--;
        }
        hash.add(value, 0, end).add(end);
    }

    public void addDate(int year, int month, int day) {
        hash.add(((long) year << 9) | (month << 5) | day);
    }

    public void addTime(int secondOfDay, int nanos) {
        hash.add(((long) secondOfDay << 30) | nanos);
    }

    public long value() {
        return hash.value();
    }
}
