package org.gorda.bindings.postgresql.wire;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Messages from and to the server. A time-out of the socket loses nothing. Reading is confined to one thread at a time, and so is writing; closing is not.
 */
final class ServerStream implements Closeable {

    private static final int BUFFER_BYTES = 64 << 10;

    private static final Logger LOG = LoggerFactory.getLogger(ServerStream.class);

    /**
     * The server's own bound, or what the heap takes when a message is read, decoded and written on: a process without memory ends, and a client
     * that tries again would have one replica end after the other.
     */
    static final long MESSAGE_BYTES_MAX =
            Math.min((1 << 30) - 1, Runtime.getRuntime().maxMemory() / 8);

    /** It is there twice while the client reads it. */
    private static final Semaphore ROOM = Room.shared(Runtime.getRuntime().maxMemory() / 8);

    private final Room room = new Room(ROOM, "the server");
    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private byte[] buffer = new byte[BUFFER_BYTES];
    private int message;
    private int messageLength;
    private int filled;

    ServerStream(Socket socket) throws IOException {
        this.socket = socket;
        this.in = socket.getInputStream();
        this.out = new BufferedOutputStream(socket.getOutputStream(), BUFFER_BYTES);
    }

    Socket socket() {
        return socket;
    }

    // ----------------------------------------------------------------------------------------------------------
    // reading

    /** Goes to the next message, which is there until the next call. */
    void next() throws IOException {
        skip();
        while (!isWhole()) {
            fill();
        }
        messageLength = wholeLength();
    }

    /** As {@link #next}, but does not wait; false if no message is whole yet. */
    boolean nextIfThere() throws IOException {
        skip();
        while (!isWhole()) {
            if (in.available() <= 0) {
                return false;
            }
            fill();
        }
        messageLength = wholeLength();
        return true;
    }

    /** Who goes on has told the client of the message, but for what little is read with the next. */
    private void skip() {
        if (messageLength > 0) {
            room.giveBack();
        }
        message += messageLength;
        messageLength = 0;
        if (message == filled) {
            message = 0;
            filled = 0;
            if (buffer.length > BUFFER_BYTES) {
                buffer = new byte[BUFFER_BYTES];
            }
        }
    }

    private int wholeLength() {
        return 1 + number(message + 1);
    }

    private boolean isWhole() throws IOException {
        if (filled - message < 5) {
            return false;
        }
        int length = number(message + 1);
        if (length < 4 || length > MESSAGE_BYTES_MAX) {
            throw refused("the server", length);
        }
        boolean isWhole = filled - message > length;
        if (!isWhole) {
            room.take(length);
        }
        return isWhole;
    }

    /** A message of a length that cannot be, after which its session ends. */
    static IOException refused(String sender, int length) {
        IOException refused = new IOException(sender + " sent a message of " + length
                + " bytes, and this replica takes up to " + MESSAGE_BYTES_MAX + ", an eighth of its heap (-Xmx)");
        LOG.warn("a session is ended: {}", refused.getMessage());
        return refused;
    }

    /** What is allocated is at most twice what has arrived. */
    private void fill() throws IOException {
        if (filled == buffer.length && message > 0) {
            System.arraycopy(buffer, message, buffer, 0, filled - message);
            filled -= message;
            message = 0;
        }
        if (filled == buffer.length) {
            buffer = Arrays.copyOf(buffer, buffer.length * 2);
        }
        int read = in.read(buffer, filled, buffer.length - filled);
        if (read < 0) {
            throw new EOFException("the server has closed the connection");
        }
        filled += read;
    }

    private int number(int at) {
        return ByteBuffer.wrap(buffer).getInt(at);
    }

    char type() {
        return (char) buffer[message];
    }

    /** A byte of its content. */
    char at(int i) {
        return (char) buffer[message + 5 + i];
    }

    void copyTo(MessageBuffer target) {
        target.put(buffer, message, messageLength);
    }

    byte[] copy() {
        return Arrays.copyOfRange(buffer, message, message + messageLength);
    }

    byte[] content() {
        return Arrays.copyOfRange(buffer, message + 5, message + messageLength);
    }

    /** A field of an error or a notice; null if it has none. */
    @Nullable
    String field(char code) {
        int at = message + 5;
        int end = message + messageLength;
        while (at < end && buffer[at] != 0) {
            int text = at + 1;
            int last = text;
            while (last < end && buffer[last] != 0) {
                last++;
            }
            if (buffer[at] == code) {
                return new String(buffer, text, last - text, StandardCharsets.UTF_8);
            }
            at = last + 1;
        }
        return null;
    }

    /** Whether that field of an error or a notice is so. */
    boolean isField(char code, String value) {
        return value.equals(field(code));
    }

    /** The texts that the content consists of. */
    String[] texts() {
        return new String(buffer, message + 5, messageLength - 5, StandardCharsets.UTF_8).split("\0", -1);
    }

    /** The values of a row, which are texts. */
    List<@Nullable String> row() {
        int count = ByteBuffer.wrap(buffer).getShort(message + 5);
        List<@Nullable String> row = new ArrayList<>(count);
        int at = message + 7;
        for (int i = 0; i < count; i++) {
            int length = number(at);
            at += 4;
            row.add(length < 0 ? null : new String(buffer, at, length, StandardCharsets.UTF_8));
            at += Math.max(0, length);
        }
        return row;
    }

    // ----------------------------------------------------------------------------------------------------------
    // writing

    void write(byte[] bytes) throws IOException {
        out.write(bytes);
    }

    /** Writes and empties it. */
    void write(MessageBuffer messages) throws IOException {
        messages.moveTo(out);
    }

    void flush() throws IOException {
        out.flush();
    }

    @Override
    public void close() throws IOException {
        room.end();
        socket.close();
    }
}
