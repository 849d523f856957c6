package org.gorda.gapi;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
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

    private static final int WINDOW_BYTES = 64 << 10;

    private final WriteSet writeSet;
    private final List<Table> tables;
    private int tableIndex;
    private boolean inPieces;

    /** All changes, or what of them lies before {@link #next}. Its array begins with it or is the write set's. */
    private ByteBuffer in;

    /** Up to where the changes are in {@link #in}. */
    private long next;

    public WriteSetReader(WriteSet writeSet) {
        this.writeSet = writeSet;
        this.in = ByteBuffer.wrap(writeSet.array());
        this.next = writeSet.changesLength();
        in.limit(writeSet.tablesEnd()).position(writeSet.changesEnd());
        this.tables = readTables();
        in.position(writeSet.changesStart()).limit(writeSet.changesEnd());
        if (writeSet.precedingLength() > 0) {
            in = ByteBuffer.allocate(WINDOW_BYTES).limit(0);
            next = 0;
        }
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
        if (remaining() == 0) {
            return null;
        }
        byte kind = readByte();
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
        inPieces = (code & WriteSetWriter.PIECES) != 0;
        if (code == 0) {
            return null;
        }
        SqlType type = SqlType.of(code & ~WriteSetWriter.PIECES);
        if (inPieces && !type.isTextOrBinary()) {
            throw new MalformedWriteSetException("a value of type " + type + " in pieces");
        }
        return type;
    }

    /** Whether the value whose {@link #type} was read last is long, to be read by {@link #readLongValue}. */
    public boolean isLong() {
        return inPieces;
    }

    /** A long text or binary, which is passed over and can be read from now on. */
    public LongValue readLongValue() {
        inPieces = false;
        long start = next - in.remaining();
        long bytes = 0;
        long characters = 0;
        int piece = readCount(1);
        while (piece > 0) {
            bytes += piece;
            for (int left = piece; left > 0; ) {
                require(1);
                int end = in.position() + Math.min(left, in.remaining());
                left -= end - in.position();
                for (int i = in.position(); i < end; i++) {
                    characters += (in.array()[i] & 0xc0) == 0x80 ? 0 : 1;
                }
                in.position(end);
            }
            piece = readCount(1);
        }
        return new LongValue(writeSet::readChanges, start, bytes, characters, () -> true);
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

    /** What {@link WriteSetWriter#statement} was given. */
    public record Statement(String user, String role, String currentSchema, String text, List<String> generatedNames) {}

    /** Reads all of a {@link Kind#STATEMENT}. */
    public Statement readStatement() {
        return new Statement(readText(), readText(), readText(), readText(), readNames());
    }

    private List<String> readNames() {
        int count = count();
        List<String> names = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            names.add(readText());
        }
        return names;
    }

    /** A text of any kind, of values or of statements and names. */
    public String readText() {
        if (inPieces) {
            return gatherText();
        }
        int length = readCount(1);
        require(length);
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
        if (inPieces) {
            return gatherBytes();
        }
        int length = readCount(1);
        require(length);
        byte[] read = new byte[length];
        in.get(read);
        return read;
    }

    private byte[] gatherBytes() {
        try {
            return readLongValue().binary().readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String gatherText() {
        LongValue value = readLongValue();
        StringBuilder text = new StringBuilder((int) Math.min(value.characters(), Integer.MAX_VALUE - 8));
        try (Reader reader = value.text()) {
            char[] buffer = new char[1024];
            for (int read = reader.read(buffer); read >= 0; read = reader.read(buffer)) {
                text.append(buffer, 0, read);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
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
        return type == null ? null : readValue(type);
    }

    /** As {@link #readValue()}, when its {@link #type} was read already. */
    public Object readValue(SqlType type) {
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
        if (!in.hasRemaining()) {
            require(1);
        }
        return in.get();
    }

    private int readInt() {
        require(Integer.BYTES);
        return in.getInt();
    }

    private long readLong() {
        require(Long.BYTES);
        return in.getLong();
    }

    private long remaining() {
        return in.remaining() + writeSet.changesLength() - next;
    }

    /** Brings so many bytes into {@link #in}. */
    private void require(int count) {
        if (in.remaining() >= count) {
            return;
        }
        if (remaining() < count) {
            throw new MalformedWriteSetException("a write set ends within a change");
        }
        in.compact();
        while (in.position() < count) {
            if (!in.hasRemaining()) {
                // Only for what is there, whatever its length claims.
                in = ByteBuffer.allocate((int) Math.min(count, in.capacity() * 2L))
                        .put(in.flip());
            }
            int read = writeSet.readChanges(next, in.array(), in.position(), in.remaining());
            next += read;
            in.position(in.position() + read);
        }
        in.flip();
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
        long most = Math.min(Integer.MAX_VALUE - 8, remaining() / bytesEach);
        if (count < 0 || count > most) {
            throw new MalformedWriteSetException(
                    "a write set claims " + count + " things with " + remaining() + " bytes left");
        }
        return (int) count;
    }
}
