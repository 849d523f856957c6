package org.gorda.bindings.postgresql.wire;

import java.nio.charset.StandardCharsets;

/** A message of a client, as it came. Immutable. */
public final class ClientMessage {

    /** Where the content begins, behind the type and the length. */
    private static final int CONTENT = 5;

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
        return new String(bytes, CONTENT + at, textEnd(at) - 1 - at, StandardCharsets.UTF_8);
    }

    /** Where the next one begins behind the text that begins there. */
    int textEnd(int at) {
        int end = CONTENT + at;
        while (end < bytes.length && bytes[end] != 0) {
            end++;
        }
        return end + 1 - CONTENT;
    }

    /** A byte of its content. */
    char at(int i) {
        return CONTENT + i < bytes.length ? (char) bytes[CONTENT + i] : 0;
    }
}
