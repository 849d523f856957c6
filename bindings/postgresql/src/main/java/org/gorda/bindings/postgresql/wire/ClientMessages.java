package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.Semaphore;

/**
 * Cuts what a client sends into messages. What is allocated is at most twice what has arrived, and for the large messages of all clients together at most half of the
 * heap. Confined to one thread, but for {@link #end}.
 */
public final class ClientMessages {

    private static final int STARTUP_BYTES_MAX = 10_000;

    /** Of who has not shown a password yet; as the server takes it. */
    private static final int STRANGERS_BYTES_MAX = 65_535;

    private static final Semaphore ROOM = Room.shared(Runtime.getRuntime().maxMemory() / 4);

    private static final int BUFFER_BYTES = 1024;

    private final Room room = new Room(ROOM, "a client");
    private byte[] buffer = new byte[BUFFER_BYTES];
    private int filled;
    private boolean isStarted;
    private boolean isIn;

    /** Who takes the messages. */
    public interface Target {
        void take(ClientMessage message) throws IOException;
    }

    /** From now on messages have types. */
    public void started() {
        isStarted = true;
    }

    /** The server has let the client in. */
    public void letIn() {
        isIn = true;
    }

    /** The client is gone, as is what has arrived of its last message. */
    public void end() {
        room.end();
    }

    /**
     * Takes bytes and gives the messages that are whole by them.
     *
     * @throws IOException if they are not of the protocol, or as the target does
     */
    public void accept(byte[] source, int offset, int length, Target target) throws IOException {
        int at = offset;
        int end = offset + length;
        while (at < end) {
            int missing = missing();
            int wanted = Math.min(end - at, missing);
            if (buffer.length - filled < wanted) {
                room.take(filled + missing);
                buffer = Arrays.copyOf(
                        buffer, (int) Math.min(Math.max(filled + wanted, buffer.length * 2L), (long) filled + missing));
            }
            System.arraycopy(source, at, buffer, filled, wanted);
            filled += wanted;
            at += wanted;
            if (missing() == 0) {
                byte[] whole = filled == buffer.length ? buffer : Arrays.copyOf(buffer, filled);
                if (whole == buffer || buffer.length > 64 << 10) {
                    buffer = new byte[BUFFER_BYTES];
                }
                filled = 0;
                try {
                    target.take(new ClientMessage(isStarted ? (char) whole[0] : 0, whole));
                } finally {
                    room.giveBack();
                }
            }
        }
    }

    /** How many bytes the message lacks, as far as is known. */
    private int missing() throws IOException {
        int lengthAt = isStarted ? 1 : 0;
        if (filled < lengthAt + 4) {
            return lengthAt + 4 - filled;
        }
        int length = ByteBuffer.wrap(buffer).getInt(lengthAt);
        long most = isIn ? ServerStream.MESSAGE_BYTES_MAX : isStarted ? STRANGERS_BYTES_MAX : STARTUP_BYTES_MAX;
        if (length < 4 || length > most) {
            throw isIn
                    ? ServerStream.refused("a client", length)
                    : new IOException("a client sent a message of " + length + " bytes");
        }
        return lengthAt + length - filled;
    }
}
