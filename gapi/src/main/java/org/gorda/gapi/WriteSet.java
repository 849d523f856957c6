package org.gorda.gapi;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * What one transaction has changed, encoded as {@link WriteSetWriter} describes. {@link WriteSetReader} reads it. Of a large one only
 * the end of the changes is encoded with their tables and keys; what precedes it stays where it is. Immutable.
 */
public final class WriteSet {

    /** The encoded form takes no more, however much precedes it. */
    public static final int ENCODED_BYTES_MAX = 4 << 20;

    private final byte[] bytes;
    private final int offset;
    private final int length;
    private final int changesLength;
    private final int tablesLength;
    private final int keys;
    private final long precedingLength;
    private final boolean changesSchema;
    private final Content preceding;
    private final List<TableShape> shapes;
    private final Map<Long, RowKey> reads;

    WriteSet(
            byte[] bytes, int offset, int length, Content preceding, List<TableShape> shapes, Map<Long, RowKey> reads) {
        this.shapes = shapes;
        this.reads = reads;
        this.bytes = bytes;
        this.offset = offset;
        this.length = length;
        if (length < WriteSetWriter.HEADER_BYTES) {
            throw new MalformedWriteSetException("a write set of " + length + " bytes has no whole header");
        }
        ByteBuffer header = ByteBuffer.wrap(bytes, offset, length);
        byte magic = header.get();
        byte version = header.get();
        if (magic != WriteSetWriter.MAGIC || version != WriteSetWriter.VERSION) {
            throw new MalformedWriteSetException("not a write set of version " + WriteSetWriter.VERSION + " (found "
                    + magic + ", " + version + "): all replicas must run the same release");
        }
        header.position(offset + 8);
        this.changesLength = header.getInt();
        this.tablesLength = header.getInt();
        this.keys = header.getInt();
        this.precedingLength = header.getLong();
        this.changesSchema = header.get() != 0;
        this.preceding = preceding;
        long described = (long) WriteSetWriter.HEADER_BYTES + changesLength + tablesLength + 9L * keys;
        if (changesLength < 0 || tablesLength < 1 || keys < 0 || described != length) {
            throw new MalformedWriteSetException("a write set of " + length + " bytes describes " + described);
        }
        if (precedingLength < 0) {
            throw new MalformedWriteSetException("a write set claims to be preceded by " + precedingLength + " bytes");
        }
    }

    /**
     * Takes what {@link #bytes} gave on another replica and verifies its checksum.
     *
     * @param source an array-backed buffer; its array must not be changed any more
     * @param preceding what {@link #preceding} gave, verified when it is read
     * @throws MalformedWriteSetException if the bytes are not a whole, unharmed write set
     */
    public static WriteSet decode(ByteBuffer source, Content preceding) {
        ByteBuffer buffer = source;
        byte[] bytes;
        int offset;
        int length = buffer.remaining();
        if (buffer.hasArray()) {
            bytes = buffer.array();
            offset = buffer.arrayOffset() + buffer.position();
        } else {
            bytes = new byte[length];
            buffer.duplicate().get(bytes);
            offset = 0;
        }
        WriteSet decoded = new WriteSet(bytes, offset, length, preceding, List.of(), Map.of());
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset + 8, length - 8);
        int stored = ByteBuffer.wrap(bytes, offset + 4, 4).getInt();
        if (stored != (int) crc.getValue()) {
            throw new MalformedWriteSetException("the checksum of a write set of " + length + " bytes does not match");
        }
        return decoded;
    }

    /** The encoded form. Its array begins with the headroom that the writer was given. */
    public ByteBuffer bytes() {
        return ByteBuffer.wrap(bytes, offset, length);
    }

    /**
     * The encoded form with room before it in the same array, from the headroom that the writer was given.
     *
     * @param headerBytes how much room is wanted; what is there is of no meaning
     */
    public ByteBuffer precededBy(int headerBytes) {
        if (headerBytes > offset) {
            throw new IllegalArgumentException(
                    "a header of " + headerBytes + " bytes before a write set with room for " + offset);
        }
        return ByteBuffer.wrap(bytes, offset - headerBytes, headerBytes + length)
                .slice();
    }

    /** Its tables as {@link WriteSetReader#tableIndex} counts them; none where it was decoded. */
    public List<TableShape> shapes() {
        return shapes;
    }

    /** What has that key and was read; null if nothing was, or where it was decoded. */
    public @Nullable RowKey read(long keyHash) {
        return reads.get(keyHash);
    }

    /** How many bytes it has, with what precedes it. */
    public long length() {
        return precedingLength + length;
    }

    /** How many bytes precede it. */
    public long precedingLength() {
        return precedingLength;
    }

    /** The changes that precede it. */
    public Content preceding() {
        return preceding;
    }

    /** All changes as a {@link Content}. */
    int readChanges(long position, byte[] target, int targetOffset, int count) {
        if (position < precedingLength) {
            int read =
                    preceding.read(position, target, targetOffset, (int) Math.min(count, precedingLength - position));
            if (read == 0) {
                throw new MalformedWriteSetException(
                        "a write set is preceded by " + position + " bytes instead of " + precedingLength);
            }
            return read;
        }
        long from = position - precedingLength;
        int read = (int) Math.min(count, changesLength - from);
        if (read > 0) {
            System.arraycopy(bytes, (int) (changesStart() + from), target, targetOffset, read);
        }
        return Math.max(0, read);
    }

    long changesLength() {
        return precedingLength + changesLength;
    }

    int changesStart() {
        return offset + WriteSetWriter.HEADER_BYTES;
    }

    int changesEnd() {
        return changesStart() + changesLength;
    }

    int tablesEnd() {
        return changesEnd() + tablesLength;
    }

    byte[] array() {
        return bytes;
    }

    /** Whether there is a change of the schema among its changes. */
    public boolean changesSchema() {
        return changesSchema;
    }

    /** How many keys it touches, or has read. */
    public int keys() {
        return keys;
    }

    public KeyMode keyMode(int i) {
        return KeyMode.of(bytes[keyAt(i)]);
    }

    /** Stands for table, constraint and key. */
    public long keyHash(int i) {
        return ByteBuffer.wrap(bytes).getLong(keyAt(i) + 1);
    }

    private int keyAt(int i) {
        if (i < 0 || i >= keys) {
            throw new IndexOutOfBoundsException("key " + i + " of " + keys);
        }
        return tablesEnd() + 9 * i;
    }
}
