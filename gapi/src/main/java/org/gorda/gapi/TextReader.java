package org.gorda.gapi;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;

/** Decodes texts as {@link WriteSetWriter} encodes them, each char by itself in one to three bytes. Confined to one thread. */
final class TextReader extends Reader {

    private static final int BUFFER_BYTES = 2 << 10;

    private final InputStream in;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private int offset;
    private int limit;

    TextReader(InputStream in) {
        this.in = in;
    }

    @Override
    public int read(char[] target, int targetOffset, int length) throws IOException {
        int count = 0;
        // Not for more than is at hand, unless nothing was.
        while (count < length && (count == 0 || offset < limit)) {
            int first = next();
            if (first < 0) {
                return count == 0 && length > 0 ? -1 : count;
            }
            int decoded = first;
            if ((first & 0xe0) == 0xc0) {
                decoded = (first & 0x1f) << 6 | rest();
            } else if ((first & 0xf0) == 0xe0) {
                decoded = (first & 0x0f) << 12 | rest() << 6;
                decoded |= rest();
            } else if (first >= 0x80) {
                throw malformed();
            }
            target[targetOffset + count++] = (char) decoded;
        }
        return count;
    }

    private int rest() throws IOException {
        int next = next();
        if (next < 0) {
            throw malformed();
        }
        return next & 0x3f;
    }

    private int next() throws IOException {
        if (offset == limit) {
            offset = 0;
            limit = Math.max(0, in.read(buffer, 0, BUFFER_BYTES));
            if (limit == 0) {
                return -1;
            }
        }
        return buffer[offset++] & 0xff;
    }

    private static MalformedWriteSetException malformed() {
        return new MalformedWriteSetException("a text is not encoded as it should be");
    }

    @Override
    public void close() {}
}
