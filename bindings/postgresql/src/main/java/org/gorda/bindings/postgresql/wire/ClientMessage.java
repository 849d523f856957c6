package org.gorda.bindings.postgresql.wire;

import java.nio.charset.StandardCharsets;

/** A message of a client, as it came. Immutable. */
public final class ClientMessage {

    private final char type;
    private final byte[] bytes;

    /**
     * Takes a message.
     *
     * @param type 0 if it has none: it starts the connection
     * @param bytes all of it
     */
    ClientMessage(char type, byte[] bytes) {
        this.type = type;
        this.bytes = bytes;
    }

    char type() {
        return type;
    }

    byte[] bytes() {
        return bytes;
    }

    /** The text that begins at that place of its content. */
    String text(int at) {
        int start = 5 + at;
        int end = start;
        while (end < bytes.length && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, start, end - start, StandardCharsets.UTF_8);
    }

    /** Where the text ends that begins there. */
    int textEnd(int at) {
        int end = 5 + at;
        while (end < bytes.length && bytes[end] != 0) {
            end++;
        }
        return end + 1 - 5;
    }

    /** A byte of its content. */
    char at(int i) {
        return 5 + i < bytes.length ? (char) bytes[5 + i] : 0;
    }
}
