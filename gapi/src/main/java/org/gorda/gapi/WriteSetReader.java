package org.gorda.gapi;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the changes of a {@link WriteSet} in their order. For each change, what belongs to it is to be read in the order that {@link
 * WriteSetWriter} describes. Bytes that are no write set give a {@link MalformedWriteSetException}, and never an allocation larger
 * than the write set. Confined to one thread.
 */
public final class WriteSetReader {

    /** A kind of change. */
    public enum Kind {
        INSERT,
        UPDATE,
        DELETE,
        STATEMENT,
        END_OF_STATEMENT,
        GENERATED
    }

    /** A table as a write set names it. */
    public record Table(String schema, String name, long fingerprint) {
        @Override
        public String toString() {
            return TableShape.quoted(schema) + "." + TableShape.quoted(name);
        }
    }

    private final ByteBuffer in;
    private final List<Table> tables;
    private int tableIndex;

    public WriteSetReader(WriteSet writeSet) {
        this.in = ByteBuffer.wrap(writeSet.array());
        in.limit(writeSet.tablesEnd()).position(writeSet.changesEnd());
        this.tables = readTables();
        in.position(writeSet.changesStart()).limit(writeSet.changesEnd());
    }

    private List<Table> readTables() {
        int count = readCount(10);
        List<Table> read = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            read.add(new Table(readText(), readText(), readLong()));
        }
        return read;
    }

    /** The tables the write set changes, by their index. */
    public List<Table> tables() {
        return tables;
    }

    /** Moves to the next change; null if there is none. */
    public @Nullable Kind next() {
        if (!in.hasRemaining()) {
            return null;
        }
        byte kind = in.get();
        switch (kind) {
            case WriteSetWriter.INSERT, WriteSetWriter.UPDATE, WriteSetWriter.DELETE -> {
                long index = readNumber();
                if (index < 0 || index >= tables.size()) {
                    throw new MalformedWriteSetException("a change names table " + index + " of " + tables.size());
                }
                tableIndex = (int) index;
                return kind == WriteSetWriter.INSERT
                        ? Kind.INSERT
                        : kind == WriteSetWriter.UPDATE ? Kind.UPDATE : Kind.DELETE;
            }
            case WriteSetWriter.STATEMENT -> {
                return Kind.STATEMENT;
            }
            case WriteSetWriter.END -> {
                return Kind.END_OF_STATEMENT;
            }
            case WriteSetWriter.GENERATED -> {
                return Kind.GENERATED;
            }
            default -> throw new MalformedWriteSetException("unknown kind of change " + kind);
        }
    }

    /** The index in {@link #tables} of the current row change's table. */
    public int tableIndex() {
        return tableIndex;
    }

    /** How many values, columns or names follow. */
    public int count() {
        return readCount(1);
    }

    /** The column, counted from 1, whose value follows. */
    public int column() {
        long column = readNumber();
        if (column < 1 || column > Integer.MAX_VALUE) {
            throw new MalformedWriteSetException("a change names column " + column);
        }
        return (int) column;
    }

    /** The type of the value that follows, to be read next; null if it is NULL, of which nothing follows. */
    public @Nullable SqlType type() {
        int code = readByte();
        return code == 0 ? null : SqlType.of(code);
    }

    public boolean readBoolean() {
        return readByte() != 0;
    }

    /** A SMALLINT, INTEGER or BIGINT, or the value of a generator. */
    public long readInteger() {
        long number = readNumber();
        return (number >>> 1) ^ -(number & 1);
    }

    public float readReal() {
        return Float.intBitsToFloat(readInt());
    }

    public double readDouble() {
        return Double.longBitsToDouble(readLong());
    }

    public BigDecimal readDecimal() {
        long scale = readInteger();
        byte[] unscaled = readBytes();
        if (unscaled.length == 0 || scale != (int) scale) {
            throw new MalformedWriteSetException("a decimal of " + unscaled.length + " bytes and scale " + scale);
        }
        return new BigDecimal(new BigInteger(unscaled), (int) scale);
    }

    /** A text of any kind, of values or of statements and names. */
    public String readText() {
        int length = readCount(1);
        int start = in.position();
        byte[] bytes = in.array();
        boolean ascii = true;
        for (int i = start; i < start + length; i++) {
            if (bytes[i] < 0) {
                ascii = false;
                break;
            }
        }
        in.position(start + length);
        if (ascii) {
            return new String(bytes, start, length, java.nio.charset.StandardCharsets.ISO_8859_1);
        }
        StringBuilder text = new StringBuilder(length);
        int i = start;
        int end = start + length;
        while (i < end) {
            int b = bytes[i++];
            if (b >= 0) {
                text.append((char) b);
            } else if ((b & 0xe0) == 0xc0 && i < end) {
                text.append((char) (((b & 0x1f) << 6) | (bytes[i++] & 0x3f)));
            } else if ((b & 0xf0) == 0xe0 && i + 1 < end) {
                text.append((char) (((b & 0x0f) << 12) | ((bytes[i++] & 0x3f) << 6) | (bytes[i++] & 0x3f)));
            } else {
                throw new MalformedWriteSetException("a text is not encoded as it should be");
            }
        }
        return text.toString();
    }

    public byte[] readBytes() {
        byte[] read = new byte[readCount(1)];
        in.get(read);
        return read;
    }

    public LocalDate readDate() {
        long year = readInteger();
        int month = readByte();
        int day = readByte();
        try {
            return LocalDate.of((int) Math.max(Math.min(year, 999_999), -999_999), month, day);
        } catch (DateTimeException e) {
            throw new MalformedWriteSetException("a date of " + year + "-" + month + "-" + day);
        }
    }

    public LocalTime readTime() {
        long second = readNumber();
        long nanos = readNumber();
        if (second < 0 || second >= 86_400 || nanos < 0 || nanos >= 1_000_000_000) {
            throw new MalformedWriteSetException("a time of " + second + " s and " + nanos + " ns");
        }
        return LocalTime.ofNanoOfDay(second * 1_000_000_000 + nanos);
    }

    public LocalDateTime readTimestamp() {
        return LocalDateTime.of(readDate(), readTime());
    }

    /** The next value as an object of the type that {@link java.sql.ResultSet#getObject} or java.time uses; null for NULL. */
    public @Nullable Object readValue() {
        SqlType type = type();
        if (type == null) {
            return null;
        }
        return switch (type) {
            case BOOLEAN -> readBoolean();
            case SMALLINT, INTEGER, BIGINT -> readInteger();
            case REAL -> readReal();
            case DOUBLE -> readDouble();
            case DECIMAL -> readDecimal();
            case CHAR, VARCHAR, LONGVARCHAR, CLOB, XML -> readText();
            case BINARY, VARBINARY, LONGVARBINARY, BLOB -> readBytes();
            case DATE -> readDate();
            case TIME -> readTime();
            case TIMESTAMP -> readTimestamp();
        };
    }

    // ------------------------------------------------------------------------------------------------------- bytes

    private byte readByte() {
        try {
            return in.get();
        } catch (BufferUnderflowException e) {
            throw cutShort();
        }
    }

    private int readInt() {
        try {
            return in.getInt();
        } catch (BufferUnderflowException e) {
            throw cutShort();
        }
    }

    private long readLong() {
        try {
            return in.getLong();
        } catch (BufferUnderflowException e) {
            throw cutShort();
        }
    }

    private static MalformedWriteSetException cutShort() {
        return new MalformedWriteSetException("a write set ends within a change");
    }

    private long readNumber() {
        long value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            byte next = readByte();
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                return value;
            }
        }
        throw new MalformedWriteSetException("a number has more than 64 bits");
    }

    /** A number of things of which each takes at least so many bytes of what is left. */
    private int readCount(int bytesEach) {
        long count = readNumber();
        if (count < 0 || count > in.remaining() / bytesEach) {
            throw new MalformedWriteSetException(
                    "a write set claims " + count + " things with " + in.remaining() + " bytes left");
        }
        return (int) count;
    }
}
