package org.gorda.bindings.postgresql.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A message of a client, as it came. Immutable. */
public final class ClientMessage {

    /** Where the content begins, behind the type and the length. */
    /** Instead of a text that is not UTF-8; this character is none. */
    static final String MALFORMED = "\uffff";

    /** What Java puts in the place of such bytes. */
    private static final char REPLACED = '\ufffd';

    private static final int CONTENT = 5;

    /** Which the server passes over where it awaits no rows. */
    static final ClientMessage COPY_FAIL = new ClientMessage('f', new byte[] {'f', 0, 0, 0, 5, 0});

    static final ClientMessage TERMINATE = new ClientMessage('X', new byte[] {'X', 0, 0, 0, 4});

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

    /** The text that begins at that place of its content, or {@link #MALFORMED}. */
    String text(int at) {
        int length = textEnd(at) - 1 - at;
        String text = new String(bytes, CONTENT + at, length, StandardCharsets.UTF_8);
        boolean isWhole = text.indexOf(REPLACED) < 0
                || Arrays.equals(text.getBytes(StandardCharsets.UTF_8), content(at, at + length));
        return isWhole ? text : MALFORMED;
    }

    /** Where the next one begins behind the text that begins there. */
    int textEnd(int at) {
        int end = CONTENT + at;
        while (end < bytes.length && bytes[end] != 0) {
            end++;
        }
        return end + 1 - CONTENT;
    }

    /** Numbers of four bytes at that place of its content, behind how many they are. */
    List<Integer> numbers(int at) {
        ByteBuffer content = ByteBuffer.wrap(bytes, CONTENT + at, bytes.length - CONTENT - at);
        List<Integer> numbers = new ArrayList<>();
        for (int left = content.getShort(); left > 0; left--) {
            numbers.add(content.getInt());
        }
        return numbers;
    }

    /** Where the formats of results begin in its content, which binds a portal, behind the parameters at that place. */
    int resultFormats(int at) {
        ByteBuffer content = ByteBuffer.wrap(bytes, CONTENT + at, bytes.length - CONTENT - at);
        content.position(content.position() + 2 * content.getShort(content.position()) + 2);
        for (int left = content.getShort(); left > 0; left--) {
            int length = content.getInt();
            content.position(content.position() + Math.max(0, length));
        }
        return content.position() - CONTENT;
    }

    /** A part of its content. */
    byte[] content(int from, int to) {
        return Arrays.copyOfRange(bytes, CONTENT + from, CONTENT + to);
    }

    /** A byte of its content. */
    char at(int i) {
        return CONTENT + i < bytes.length ? (char) bytes[CONTENT + i] : 0;
    }
}
