package org.gorda.gapi;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Encodes what a transaction changes while it changes it, straight from the database's values into one array: nothing is copied
 * again before it is sent. What does not fit into it goes to a file, from its front on, so that a transaction takes about {@link
 * #MEMORY_BYTES} of memory however much it changes. What a rolled back statement wrote is cut off again. Reused from transaction to
 * transaction. Confined to the transaction's thread.
 *
 * <pre>
 *   byte  'W'   byte version   short 0   int CRC32C of all that follows
 *   int   length of the changes that follow    int length of tables    int number of keys
 *   long  length of the changes that precede, and are not part of this    byte  1 if there is a STATEMENT among all of them
 *   changes: each a kind byte and
 *     INSERT      table, count, values in the order of the columns
 *     UPDATE      table, the old key's values, count, (column, value)...
 *     DELETE      table, the old key's values
 *     STATEMENT   user, role or nothing, current schema, text, count, names that the database generated for it
 *     END         of a statement that changed keys: only now may its new keys exist beside others
 *     GENERATED   whether by an identity column, schema, name of the sequence or table, the last value taken from it
 *   tables:  count, (schema, name, fingerprint)...
 *   keys:    (mode byte, long hash)...
 * </pre>
 *
 * Numbers are variable-length; a value is its type's code, 0 for NULL, and its content; a long one its type's code and {@link
 * #PIECES}, and its content in pieces, see {@link LongValue}.
 */
public final class WriteSetWriter {

    static final byte MAGIC = 'W';

    /** Of what a write set is in bytes. */
    public static final byte VERSION = 4;

    static final int HEADER_BYTES = 29;

    /** Added to the code of a value's type: it is encoded in pieces. */
    static final int PIECES = 64;

    /** So much of a write set is in memory at most, not counting tables and keys. */
    static final int MEMORY_BYTES = 1 << 20;

    private static final int KEY_BYTES = 9;

    static final byte INSERT = 1;
    static final byte UPDATE = 2;
    static final byte DELETE = 3;
    static final byte STATEMENT = 4;
    static final byte END = 5;
    static final byte GENERATED = 6;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final int KEPT_BYTES_MAX = 256 << 10;

    /** A text or binary that is longer is encoded in pieces, each at most that long. */
    private static final int PIECE_BYTES = 32 << 10;

    private static final int PIECE_CHARS = PIECE_BYTES / 3;

    private final int headroom;
    private final long bytesMax;
    private final Spool spool;

    /** How often something was cut off, so that what was read before may not be there any more. */
    private long cuts;

    /** How much of the changes, from their front on, is in the spool; the rest is in {@link #bytes}. */
    private long spooled;

    private byte[] bytes;
    private int size;
    private int tableCount;
    private TableShape[] tables = new TableShape[8];
    private long[] keyHashes = new long[16];
    private byte[] keyModes = new byte[16];
    private int keyCount;
    private final Map<Long, RowKey> reads = new HashMap<>();
    private int statementCount;

    /** How far a write set had come, to cut it back to. */
    public record Mark(long changes, int tables, int keys, int statements) {}

    /**
     * Makes an empty writer.
     *
     * @param headroom bytes left free before the write set for what the caller sends in front of it
     * @param bytesMax a write set that grows beyond it throws {@link RefusedException}
     * @param spoolDirectory where what does not fit into memory is kept until {@link #clear}
     */
    public WriteSetWriter(int headroom, long bytesMax, Path spoolDirectory) {
        this.headroom = headroom;
        this.bytesMax = bytesMax;
        this.spool = new Spool(spoolDirectory);
        this.bytes = new byte[1024];
        clear();
    }

    /**
     * Deletes what transactions have left behind that a crash has ended; to be called when none runs.
     *
     * @throws IOException if the directory cannot be used
     */
    public static void clearSpools(Path directory) throws IOException {
        Spool.clear(directory);
    }

    /** Forgets everything, for the next transaction; the write set that it made before, if any, is not used any more. */
    public void clear() {
        if (bytes.length > KEPT_BYTES_MAX) {
            bytes = new byte[1024];
        }
        cuts++;
        spooled = 0;
        spool.cutBack(0);
        size = headroom + HEADER_BYTES;
        Arrays.fill(tables, 0, tableCount, null);
        tableCount = 0;
        keyCount = 0;
        statementCount = 0;
        reads.clear();
    }

    /** Whether there is a {@link #statement} among the changes. */
    public boolean changesSchema() {
        return statementCount > 0;
    }

    public boolean isEmpty() {
        return changes() == 0;
    }

    private long changes() {
        return spooled + size - headroom - HEADER_BYTES;
    }

    public Mark mark() {
        return new Mark(changes(), tableCount, keyCount, statementCount);
    }

    /** Forgets everything since the mark was made. */
    public void cutBack(Mark mark) {
        cuts++;
        if (mark.changes() < spooled) {
            spooled = mark.changes();
            spool.cutBack(spooled);
        }
        size = (int) (headroom + HEADER_BYTES + mark.changes() - spooled);
        Arrays.fill(tables, mark.tables(), Math.max(mark.tables(), tableCount), null);
        tableCount = mark.tables();
        keyCount = mark.keys();
        statementCount = mark.statements();
    }

    // ----------------------------------------------------------------------------------------------------- changes

    /** Begins an inserted row; its values follow. */
    public void insert(TableShape table, int count) {
        begin(INSERT, table);
        putNumber(count);
    }

    /** Begins an updated row; the values of its old key follow, then {@link #changed} and the changed columns. */
    public void update(TableShape table) {
        begin(UPDATE, table);
    }

    /** Begins the changed columns of an updated row; {@link #column} and its new value follow for each. */
    public void changed(int count) {
        putNumber(count);
    }

    /** Names the column, counted from 1, whose value follows. */
    public void column(int position) {
        putNumber(position);
    }

    /** Begins a deleted row; the values of its key follow. */
    public void delete(TableShape table) {
        begin(DELETE, table);
    }

    /**
     * A statement that changes the schema, to be executed as it is by the user, in the role if it is not empty, with {@code
     * currentSchema} in force.
     */
    public void statement(String user, String role, String currentSchema, String text, List<String> generatedNames) {
        putByte(STATEMENT);
        putText(user);
        putText(role);
        putText(currentSchema);
        putText(text);
        putNumber(generatedNames.size());
        generatedNames.forEach(this::putText);
        statementCount++;
    }

    /** Ends a statement that has changed keys. */
    public void endOfStatement() {
        putByte(END);
    }

    /** The transaction took {@code value} from a generator: the sequence, or the identity column of the table, of that name. */
    public void generated(boolean identity, String schema, String name, long value) {
        putByte(GENERATED);
        putByte((byte) (identity ? 1 : 0));
        putText(schema);
        putText(name);
        putSigned(value);
    }

    @SuppressWarnings("ReferenceEquality") // a binding keeps one shape per table; two would only take more bytes
    private void begin(byte kind, TableShape table) {
        putByte(kind);
        // A transaction touches few tables, and mostly the same again.
        for (int i = tableCount - 1; i >= 0; i--) {
            if (tables[i] == table) {
                putNumber(i);
                return;
            }
        }
        if (tableCount == tables.length) {
            tables = Arrays.copyOf(tables, tableCount * 2);
        }
        tables[tableCount] = table;
        putNumber(tableCount++);
    }

    /** A key of a row that the transaction wrote, removed or referenced. */
    public void key(KeyMode mode, long hash) {
        if ((long) KEY_BYTES * keyCount > WriteSet.ENCODED_BYTES_MAX) {
            throw tooManyNames(); // they are kept in memory
        }
        if (keyCount == keyHashes.length) {
            keyHashes = Arrays.copyOf(keyHashes, keyCount * 2);
            keyModes = Arrays.copyOf(keyModes, keyCount * 2);
        }
        keyHashes[keyCount] = hash;
        keyModes[keyCount++] = mode.code();
    }

    /** Adds the keys of the tables whose rows were changed, for those that have read more than single rows. */
    public void keysOfTables() {
        for (int i = 0; i < tableCount; i++) {
            key(KeyMode.CHANGED, tables[i].hash());
        }
    }

    /** A key the transaction has read; see {@link ReadSet}. */
    void read(RowKey row, KeyMode mode, long hash) {
        reads.put(hash, row);
        key(mode, hash);
    }

    // ------------------------------------------------------------------------------------------------------ values

    public void putNull() {
        putByte((byte) 0);
    }

    public void putBoolean(boolean value) {
        room(2);
        bytes[size++] = SqlType.BOOLEAN.code();
        bytes[size++] = (byte) (value ? 1 : 0);
    }

    /** A SMALLINT, INTEGER or BIGINT. */
    public void putInteger(SqlType type, long value) {
        putByte(type.code());
        putSigned(value);
    }

    public void putReal(float value) {
        room(5);
        bytes[size] = SqlType.REAL.code();
        INTS.set(bytes, size + 1, Float.floatToRawIntBits(value));
        size += 5;
    }

    public void putDouble(double value) {
        room(9);
        bytes[size] = SqlType.DOUBLE.code();
        LONGS.set(bytes, size + 1, Double.doubleToRawLongBits(value));
        size += 9;
    }

    public void putDecimal(BigDecimal value) {
        putByte(SqlType.DECIMAL.code());
        putSigned(value.scale());
        BigInteger unscaled = value.unscaledValue();
        byte[] magnitude = unscaled.toByteArray();
        putBlock(magnitude, 0, magnitude.length);
    }

    /** A CHAR, VARCHAR, LONGVARCHAR, CLOB or XML. */
    public void putString(SqlType type, String value) {
        if (value.length() > PIECE_CHARS) {
            try {
                putText(type, new StringReader(value));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
            return;
        }
        putByte(type.code());
        putText(value);
    }

    /**
     * A text of any length, read to its end.
     *
     * @return the same text, to be read again until it is cut off or the write set is finished
     * @throws IOException if it cannot be read
     */
    public LongValue putText(SqlType type, Reader value) throws IOException {
        putByte((byte) (type.code() | PIECES));
        long start = changes();
        long characters = putPieces(value::read, new char[PIECE_CHARS], PIECE_CHARS, this::putEncoded);
        return longValue(start, 0, characters);
    }

    private LongValue longValue(long start, long length, long characters) {
        long now = cuts;
        return new LongValue(this::read, start, length, characters, () -> cuts == now);
    }

    private interface Source<A> {
        int read(A target, int offset, int length) throws IOException;
    }

    private interface Sink<A> {
        void put(A piece, int offset, int length);
    }

    /** Asks only for what every stream must give: a client's own may take {@code readNBytes} for one read. */
    private <A> long putPieces(Source<A> source, A piece, int length, Sink<A> sink) throws IOException {
        long total = 0;
        int filled;
        do {
            filled = 0;
            int read = 0;
            while (read >= 0 && filled < length) {
                read = source.read(piece, filled, length - filled);
                filled += Math.max(0, read);
            }
            total += filled;
            if (filled > 0) {
                sink.put(piece, 0, filled);
            }
        } while (filled == length);
        putNumber(0);
        return total;
    }

    /** As {@link #putText(SqlType, Reader)}, for a binary. */
    public LongValue putBinary(SqlType type, InputStream value) throws IOException {
        putByte((byte) (type.code() | PIECES));
        long start = changes();
        long length = putPieces(value::read, new byte[PIECE_BYTES], PIECE_BYTES, this::putBlock);
        return longValue(start, length, 0);
    }

    private int read(long position, byte[] target, int offset, int length) {
        if (position < spooled) {
            return spool.read(position, target, offset, length);
        }
        int count = (int) Math.min(length, changes() - position);
        if (count > 0) {
            int start = (int) (headroom + HEADER_BYTES + position - spooled);
            System.arraycopy(bytes, start, target, offset, count);
        }
        return Math.max(0, count);
    }

    /** As {@link #putString}, from an array. */
    public void putChars(SqlType type, char[] value, int offset, int length) {
        if (length > PIECE_CHARS) {
            putString(type, new String(value, offset, length));
            return;
        }
        putByte(type.code());
        putEncoded(value, offset, length);
    }

    private void putEncoded(char[] value, int offset, int length) {
        int encoded = 0;
        for (int i = offset; i < offset + length; i++) {
            encoded += encodedLength(value[i]);
        }
        putNumber(encoded);
        room(encoded);
        for (int i = offset; i < offset + length; i++) {
            putChar(value[i]);
        }
    }

    /** A BINARY, VARBINARY, LONGVARBINARY or BLOB. */
    public void putBytes(SqlType type, byte[] value, int offset, int length) {
        if (length <= PIECE_BYTES) {
            putByte(type.code());
            putBlock(value, offset, length);
            return;
        }
        putByte((byte) (type.code() | PIECES));
        for (int done = 0; done < length; done += PIECE_BYTES) {
            putBlock(value, offset + done, Math.min(PIECE_BYTES, length - done));
        }
        putNumber(0);
    }

    /** A date of the calendar, without a time zone. */
    public void putDate(int year, int month, int day) {
        putByte(SqlType.DATE.code());
        putDay(year, month, day);
    }

    /** A time of day, without a time zone. */
    public void putTime(int secondOfDay, int nanos) {
        putByte(SqlType.TIME.code());
        putNumber(secondOfDay);
        putNumber(nanos);
    }

    /** A date and time, without a time zone. */
    public void putTimestamp(int year, int month, int day, int secondOfDay, int nanos) {
        putByte(SqlType.TIMESTAMP.code());
        putDay(year, month, day);
        putNumber(secondOfDay);
        putNumber(nanos);
    }

    private void putDay(int year, int month, int day) {
        putSigned(year);
        room(2);
        bytes[size++] = (byte) month;
        bytes[size++] = (byte) day;
    }

    // ------------------------------------------------------------------------------------------------------- bytes

    private void room(int needed) {
        if (bytes.length - size < needed) {
            grow(needed);
        }
    }

    private void grow(int needed) {
        checkLimit(needed);
        int start = headroom + HEADER_BYTES;
        if (size - start + needed > MEMORY_BYTES && size > start) {
            spill();
        }
        enlarge(needed, start + (int) Math.min(MEMORY_BYTES, bytesMax));
    }

    private void spill() {
        int start = headroom + HEADER_BYTES;
        spool.append(bytes, start, size - start);
        spooled += size - start;
        size = start;
    }

    private void checkLimit(int needed) {
        if (changes() + needed > bytesMax) {
            throw tooLarge("the transaction changes more than the " + bytesMax
                    + " bytes that a write set may have: commit more often, or raise write-set-bytes-max on all "
                    + "replicas");
        }
    }

    private void enlarge(int needed, int usual) {
        if (bytes.length - size < needed) {
            int larger = Math.max(size + needed, Math.min(bytes.length * 2, usual));
            bytes = Arrays.copyOf(bytes, larger);
        }
    }

    private static RefusedException tooLarge(String message) {
        return new RefusedException(new Refusal(Refusal.Cause.TOO_LARGE, message));
    }

    private RefusedException tooManyNames() {
        return tooLarge("the transaction touches " + keyCount + " keys in " + tableCount
                + " tables, more than a write set can name: commit more often");
    }

    private void putByte(byte value) {
        room(1);
        bytes[size++] = value;
    }

    private void putNumber(long value) {
        room(10);
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            bytes[size++] = (byte) (rest | 0x80);
            rest >>>= 7;
        }
        bytes[size++] = (byte) rest;
    }

    private void putSigned(long value) {
        putNumber((value << 1) ^ (value >> 63));
    }

    private void putBlock(byte[] value, int offset, int length) {
        putNumber(length);
        room(length);
        System.arraycopy(value, offset, bytes, size, length);
        size += length;
    }

    /**
     * Each char by itself in one to three bytes, as UTF-8 but for surrogates: what is not well-formed Unicode comes back unchanged
     * too.
     */
    private void putText(String value) {
        int encoded = 0;
        for (int i = 0; i < value.length(); i++) {
            encoded += encodedLength(value.charAt(i));
        }
        putNumber(encoded);
        room(encoded);
        for (int i = 0; i < value.length(); i++) {
            putChar(value.charAt(i));
        }
    }

    private static int encodedLength(char c) {
        return c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
    }

    private void putChar(char c) {
        if (c < 0x80) {
            bytes[size++] = (byte) c;
        } else if (c < 0x800) {
            bytes[size++] = (byte) (0xc0 | (c >> 6));
            bytes[size++] = (byte) (0x80 | (c & 0x3f));
        } else {
            bytes[size++] = (byte) (0xe0 | (c >> 12));
            bytes[size++] = (byte) (0x80 | ((c >> 6) & 0x3f));
            bytes[size++] = (byte) (0x80 | (c & 0x3f));
        }
    }

    /**
     * Completes the write set, which is there until the writer is cleared; that must be before the writer is used again.
     *
     * @return the write set, with the headroom before it in the same array
     * @throws RefusedException if it names more tables or keys than {@link WriteSet#ENCODED_BYTES_MAX} lets it
     */
    public WriteSet finish() {
        checkLimit(0);
        if (changes() - spooled > MEMORY_BYTES) {
            spill(); // where something before has left an array that is larger
        }
        long room = 10 + (long) KEY_BYTES * keyCount;
        for (int i = 0; i < tableCount; i++) {
            room += 28 + 3L * (tables[i].schema().length() + tables[i].name().length());
        }
        if (size - headroom + room > WriteSet.ENCODED_BYTES_MAX) {
            throw tooManyNames();
        }
        // Tables and keys stay with the end of the changes.
        enlarge((int) room, 0);
        int changesEnd = size;
        putNumber(tableCount);
        for (int i = 0; i < tableCount; i++) {
            TableShape table = tables[i];
            putText(table.schema());
            putText(table.name());
            LONGS.set(bytes, size, table.fingerprint());
            size += 8;
        }
        int tablesEnd = size;
        for (int i = 0; i < keyCount; i++) {
            bytes[size] = keyModes[i];
            LONGS.set(bytes, size + 1, keyHashes[i]);
            size += KEY_BYTES;
        }
        ByteBuffer header = ByteBuffer.wrap(bytes, headroom, HEADER_BYTES);
        header.put(MAGIC).put(VERSION).putShort((short) 0).putInt(0);
        header.putInt(changesEnd - headroom - HEADER_BYTES)
                .putInt(tablesEnd - changesEnd)
                .putInt(keyCount)
                .putLong(spooled)
                .put((byte) (changesSchema() ? 1 : 0));
        CRC32C crc = new CRC32C();
        crc.update(bytes, headroom + 8, size - headroom - 8);
        header.putInt(headroom + 4, (int) crc.getValue());
        cuts++;
        byte[] finished = bytes;
        int length = size - headroom;
        bytes = new byte[Math.max(1024, Math.min(Integer.highestOneBit(length) * 2, KEPT_BYTES_MAX))];
        List<TableShape> shapes = Arrays.asList(Arrays.copyOf(tables, tableCount));
        return new WriteSet(finished, headroom, length, spool, shapes, Map.copyOf(reads));
    }
}
