package org.gorda.gapi;

import java.io.InputStream;

/** Reads a {@link Content} from a position to its end, through a buffer. Confined to one thread. */
final class ContentStream extends InputStream {

    private static final int BUFFER_BYTES = 2 << 10;

    private final Content content;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private long next;
    private int offset;
    private int limit;

    ContentStream(Content content, long position) {
        this.content = content;
        this.next = position;
    }

    @Override
    public int read() {
        return offset < limit || fill() ? buffer[offset++] & 0xff : -1;
    }

    @Override
    public int read(byte[] target, int targetOffset, int length) {
        if (length == 0) {
            return 0;
        }
        if (offset == limit && length >= BUFFER_BYTES) {
            int read = content.read(next, target, targetOffset, length);
            next += read;
            return read == 0 ? -1 : read;
        }
        if (offset == limit && !fill()) {
            return -1;
        }
        int count = Math.min(length, limit - offset);
        System.arraycopy(buffer, offset, target, targetOffset, count);
        offset += count;
        return count;
    }

    private boolean fill() {
        offset = 0;
        limit = content.read(next, buffer, 0, BUFFER_BYTES);
        next += limit;
        return limit > 0;
    }
}
