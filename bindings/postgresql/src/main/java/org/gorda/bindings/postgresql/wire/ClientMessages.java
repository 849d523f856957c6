package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Cuts what a client sends into messages. What is allocated is at most twice what has arrived. Confined to one thread. */
public final class ClientMessages {

    private static final int STARTUP_BYTES_MAX = 10_000;

    private byte[] buffer = new byte[1024];
    private int filled;
    private boolean isStarted;

    /** Who takes the messages. */
    public interface Target {
        void take(ClientMessage message) throws IOException;
    }

    /** From now on messages have types. */
    public void started() {
        isStarted = true;
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
            int wanted = Math.min(end - at, missing());
            if (buffer.length - filled < wanted) {
                buffer = Arrays.copyOf(buffer, Math.max(filled + wanted, buffer.length * 2));
            }
            System.arraycopy(source, at, buffer, filled, wanted);
            filled += wanted;
            at += wanted;
            if (missing() == 0) {
                byte[] whole = Arrays.copyOf(buffer, filled);
                filled = 0;
                if (buffer.length > 64 << 10) {
                    buffer = new byte[1024];
                }
                target.take(new ClientMessage(isStarted ? (char) whole[0] : 0, whole));
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
        if (length < 4 || length > (isStarted ? ServerStream.MESSAGE_BYTES_MAX : STARTUP_BYTES_MAX)) {
            throw isStarted
                    ? ServerStream.refused("a client", length)
                    : new IOException("a client sent a message of " + length + " bytes");
        }
        return lengthAt + length - filled;
    }
}
