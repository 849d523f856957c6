package org.gorda.jgcs.raft.core;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * One entry of the log together with its encoded form, which is the same on the wire and on disk, so that an entry is encoded
 * once by its leader and its checksum is verified by everybody who stores it. Immutable: the bytes must not be changed.
 *
 * <pre>
 *   int  length of the payload        int  CRC32C of all that follows
 *   long term      long index         byte kind       payload
 * </pre>
 */
public final class Entry {

    /** What an entry is for. */
    public enum Kind {
        /** Opens a leader's term (section 6.4: a leader learns what is committed by committing an entry of its own). */
        NO_OP(1),
        /** Who belongs to the group from this entry on. */
        CONFIGURATION(2),
        /** A member's new incarnation, which closes the older ones. */
        INCARNATION(3),
        /** A message of the group's user. */
        MESSAGE(4);

        private final byte code;

        Kind(int code) {
            this.code = (byte) code;
        }

        static Kind of(int code) {
            return switch (code) {
                case 1 -> NO_OP;
                case 2 -> CONFIGURATION;
                case 3 -> INCARNATION;
                case 4 -> MESSAGE;
                default -> throw new CorruptEntryException("unknown kind of entry " + code);
            };
        }
    }

    /** Bytes before the payload. */
    public static final int HEADER_BYTES = 25;

    private final long term;
    private final long index;
    private final Kind kind;
    private final byte[] bytes;
    private final int offset;
    private final int length;

    private Entry(long term, long index, Kind kind, byte[] bytes, int offset, int length) {
        this.term = term;
        this.index = index;
        this.kind = kind;
        this.bytes = bytes;
        this.offset = offset;
        this.length = length;
    }

    /** Encodes an entry into {@code target} at {@code offset}, the payload having been written behind the header already. */
    public static Entry encode(long term, long index, Kind kind, byte[] target, int offset, int payloadLength) {
        ByteBuffer header = ByteBuffer.wrap(target, offset, HEADER_BYTES);
        header.putInt(payloadLength).putInt(0).putLong(term).putLong(index).put(kind.code);
        int length = HEADER_BYTES + payloadLength;
        header.putInt(offset + 4, checksum(target, offset, length));
        return new Entry(term, index, kind, target, offset, length);
    }

    /** Encodes an entry with a payload of its own. */
    public static Entry of(long term, long index, Kind kind, byte[] payload) {
        byte[] bytes = new byte[HEADER_BYTES + payload.length];
        System.arraycopy(payload, 0, bytes, HEADER_BYTES, payload.length);
        return encode(term, index, kind, bytes, 0, payload.length);
    }

    /**
     * Decodes the entry at {@code offset} and verifies its checksum.
     *
     * @throws CorruptEntryException if the bytes up to {@code limit} do not begin with a whole, unharmed entry
     */
    public static Entry decode(byte[] bytes, int offset, int limit) {
        if (limit - offset < HEADER_BYTES) {
            throw new CorruptEntryException("an entry's header is cut short");
        }
        ByteBuffer header = ByteBuffer.wrap(bytes, offset, HEADER_BYTES);
        int payloadLength = header.getInt();
        int crc = header.getInt();
        if (payloadLength < 0 || payloadLength > limit - offset - HEADER_BYTES) {
            throw new CorruptEntryException("an entry's payload of " + payloadLength + " bytes is cut short");
        }
        int length = HEADER_BYTES + payloadLength;
        if (checksum(bytes, offset, length) != crc) {
            throw new CorruptEntryException("an entry's checksum does not match");
        }
        long term = header.getLong();
        long index = header.getLong();
        return new Entry(term, index, Kind.of(header.get()), bytes, offset, length);
    }

    private static int checksum(byte[] bytes, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset, 4);
        crc.update(bytes, offset + 8, length - 8);
        return (int) crc.getValue();
    }

    public long term() {
        return term;
    }

    public long index() {
        return index;
    }

    /** Whether a log that ends with an entry of that term and index has it, or has another in its place. */
    public boolean isWithin(long lastTerm, long lastIndex) {
        return term < lastTerm || (term == lastTerm && index <= lastIndex);
    }

    public Kind kind() {
        return kind;
    }

    /** The array that holds the encoded form, from {@link #offset} for {@link #length} bytes. */
    public byte[] bytes() {
        return bytes;
    }

    public int offset() {
        return offset;
    }

    /** Bytes of the encoded form, header included. */
    public int length() {
        return length;
    }

    /** The payload, read-only. */
    public ByteBuffer payload() {
        return ByteBuffer.wrap(bytes, offset + HEADER_BYTES, length - HEADER_BYTES)
                .slice()
                .asReadOnlyBuffer();
    }

    @Override
    public String toString() {
        return term + "." + index + " " + kind;
    }
}
