package org.gorda.gapi;

import java.io.InputStream;

/** Bytes by their position that need not be in memory, to be read as often as one likes. Confined to one thread at a time. */
public interface Content {

    /** No bytes at all. */
    Content EMPTY = (position, target, offset, length) -> 0;

    /**
     * Reads what is there from {@code position} on, at least one byte and at most {@code length}; fewer do not mean the end.
     *
     * @return how many bytes were read; 0 if nothing lies at the position
     * @throws RuntimeException if what is there cannot be read
     */
    int read(long position, byte[] target, int offset, int length);

    /** Reads everything from {@code position} on. */
    default InputStream stream(long position) {
        return new ContentStream(this, position);
    }
}
