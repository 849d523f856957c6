package org.gorda.gapi;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.util.function.BooleanSupplier;

/**
 * A value of a write set that is too long for memory, to be read as often as one likes while its write set is there. It is encoded
 * as pieces, each its length and its bytes, the last one of length 0. Confined to one thread.
 */
public final class LongValue {

    private final Content content;
    private final long start;
    private final long bytes;
    private final long characters;
    private final BooleanSupplier isThere;

    /**
     * @param isThere whether the content is what it was
     */
    LongValue(Content content, long start, long bytes, long characters, BooleanSupplier isThere) {
        this.isThere = isThere;
        this.content = content;
        this.start = start;
        this.bytes = bytes;
        this.characters = characters;
    }

    /** The length of a binary. */
    public long bytes() {
        return bytes;
    }

    /** The length of a text, as {@link String#length} counts. */
    public long characters() {
        return characters;
    }

    /** Reads a binary. The stream fails once the write set is gone, instead of giving another content. */
    public InputStream binary() {
        return new Pieces(content.stream(start), isThere);
    }

    /** Reads a text; as {@link #binary}. */
    public Reader text() {
        return new TextReader(binary());
    }

    /** The bytes of the pieces, one after the other. */
    private static final class Pieces extends InputStream {

        private final InputStream in;
        private long left;
        private boolean ended;
        private final BooleanSupplier isThere;

        Pieces(InputStream in, BooleanSupplier isThere) {
            this.in = in;
            this.isThere = isThere;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (!isThere.getAsBoolean()) {
                throw new IOException("the value's transaction, or a part of it, has ended: set the value again");
            }
            if (left == 0 && !ended) {
                left = readNumber();
                ended = left == 0;
            }
            if (ended) {
                return -1;
            }
            int read = in.read(target, offset, (int) Math.min(length, left));
            if (read < 0) {
                throw cutShort();
            }
            left -= read;
            return read;
        }

        private long readNumber() throws IOException {
            long value = 0;
            for (int shift = 0; shift < 63; shift += 7) {
                int next = in.read();
                if (next < 0) {
                    throw cutShort();
                }
                value |= (long) (next & 0x7f) << shift;
                if (next < 0x80) {
                    return value;
                }
            }
            throw new MalformedWriteSetException("a piece's length has more than 63 bits");
        }

        private static MalformedWriteSetException cutShort() {
            return new MalformedWriteSetException("a write set ends within a long value");
        }
    }
}
