package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Messages of the protocol, one behind the other, as they are built or wait to be read. Confined to one thread at a time. */
final class MessageBuffer {

    private static final int KEPT_BYTES_MAX = 256 << 10;

    private byte[] bytes = new byte[1024];
    private int from;
    private int size;

    int length() {
        return size - from;
    }

    /** Takes bytes from the front; as many as there are, at most {@code length}. */
    int take(byte[] target, int offset, int length) {
        int count = Math.min(length, length());
        System.arraycopy(bytes, from, target, offset, count);
        from += count;
        if (from == size) {
            clear();
        }
        return count;
    }

    /** Writes and forgets all. */
    void moveTo(OutputStream target) throws IOException {
        target.write(bytes, from, length());
        clear();
    }

    void clear() {
        from = 0;
        size = 0;
        if (bytes.length > KEPT_BYTES_MAX) {
            bytes = new byte[1024];
        }
    }

    MessageBuffer put(byte[] source, int offset, int length) {
        room(length);
        System.arraycopy(source, offset, bytes, size, length);
        size += length;
        return this;
    }

    MessageBuffer put(byte[] message) {
        return put(message, 0, message.length);
    }

    private void room(int needed) {
        if (bytes.length - size < needed) {
            bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, needed), bytes.length * 2));
        }
    }

    private MessageBuffer type(char type) {
        room(5);
        bytes[size++] = (byte) type;
        return number(0);
    }

    private MessageBuffer number(int value) {
        room(4);
        ByteBuffer.wrap(bytes).putInt(size, value);
        size += 4;
        return this;
    }

    private MessageBuffer count(int value) {
        return single(value >>> 8).single(value);
    }

    private MessageBuffer single(int value) {
        room(1);
        bytes[size++] = (byte) value;
        return this;
    }

    private MessageBuffer text(String value) {
        put(value.getBytes(StandardCharsets.UTF_8));
        return single(0);
    }

    private MessageBuffer end(int start) {
        ByteBuffer.wrap(bytes).putInt(start + 1, size - start - 1);
        return this;
    }

    // -------------------------------------------------------------------------------------------------- to the server

    MessageBuffer parse(String name, String sql, List<Integer> types) {
        int start = size;
        type('P').text(name).text(sql).count(types.size());
        types.forEach(this::number);
        return end(start);
    }

    /** With parameters as a client has sent them, and all results as texts. */
    MessageBuffer bind(String portal, String statement, byte[] parameters) {
        int start = size;
        return type('B').text(portal).text(statement).put(parameters).count(0).end(start);
    }

    /** All parameters and results as texts. */
    MessageBuffer bind(String portal, String statement, List<String> parameters) {
        int start = size;
        type('B').text(portal).text(statement).count(0).count(parameters.size());
        for (String parameter : parameters) {
            byte[] value = parameter.getBytes(StandardCharsets.UTF_8);
            number(value.length).put(value);
        }
        return count(0).end(start);
    }

    /** Of the portal without a name: texts, of which the server makes what it needs, bytes as they are, or null. */
    MessageBuffer bindValues(String statement, List<? extends @Nullable Object> values) {
        int start = size;
        type('B').text("").text(statement).count(values.size());
        for (Object value : values) {
            count(value instanceof byte[] ? 1 : 0);
        }
        count(values.size());
        for (Object value : values) {
            if (value == null) {
                number(-1);
            } else {
                byte[] bytes =
                        value instanceof byte[] binary ? binary : ((String) value).getBytes(StandardCharsets.UTF_8);
                number(bytes.length).put(bytes);
            }
        }
        return count(0).end(start);
    }

    MessageBuffer execute(String portal) {
        int start = size;
        return type('E').text(portal).number(0).end(start);
    }

    MessageBuffer close(char what, String name) {
        int start = size;
        return type('C').single(what).text(name).end(start);
    }

    MessageBuffer query(String sql) {
        int start = size;
        return type('Q').text(sql).end(start);
    }

    MessageBuffer sync() {
        return type('S').end(size - 5);
    }

    // -------------------------------------------------------------------------------------------------- to the client

    MessageBuffer parameter(String name, String value) {
        int start = size;
        return type('S').text(name).text(value).end(start);
    }

    MessageBuffer ready(char status) {
        int start = size;
        return type('Z').single(status).end(start);
    }

    MessageBuffer complete(String tag) {
        int start = size;
        return type('C').text(tag).end(start);
    }

    MessageBuffer noData() {
        return type('n').end(size - 5);
    }

    MessageBuffer error(String severity, String sqlState, String message) {
        int start = size;
        type('E').single('S').text(severity).single('V').text(severity);
        return single('C').text(sqlState).single('M').text(message).single(0).end(start);
    }

    /** The answer to a request for encryption. */
    MessageBuffer no() {
        return single('N');
    }
}
