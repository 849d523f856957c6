package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cuts what a client sends into messages. What is allocated is at most twice what has arrived, and for the large messages of all clients together at most half of the
 * heap. Confined to one thread, but for {@link #end}.
 */
public final class ClientMessages {

    private static final Logger LOG = LoggerFactory.getLogger(ClientMessages.class);

    private static final int STARTUP_BYTES_MAX = 10_000;

    /** Of who has not shown a password yet; as the server takes it. */
    private static final int STRANGERS_BYTES_MAX = 65_535;

    /** A message of more takes its length from what there is for all clients, and waits so long for it. */
    private static final int SMALL_BYTES_MAX = 1 << 20;

    private static final Semaphore ROOM =
            new Semaphore(kilobytes(Runtime.getRuntime().maxMemory() / 4), true);
    private static final long ROOM_TIMEOUT_SECONDS = 10;

    private static final int BUFFER_BYTES = 1024;

    private final AtomicInteger taken = new AtomicInteger();
    private volatile boolean hasEnded;
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
        hasEnded = true;
        giveBack();
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
                takeRoom(filled + missing);
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
                    giveBack();
                }
            }
        }
    }

    private void takeRoom(int length) throws IOException {
        if (length <= SMALL_BYTES_MAX || taken.get() > 0) {
            return;
        }
        int kilobytes = kilobytes(length);
        try {
            if (!ROOM.tryAcquire(kilobytes, ROOM_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                IOException refused = new IOException("a client sent a message of " + length
                        + " bytes, for which there was no room in " + ROOM_TIMEOUT_SECONDS
                        + " s beside those of others: have a larger heap (-Xmx), or fewer at once");
                LOG.warn("a session is ended: {}", refused.getMessage());
                throw refused;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        taken.set(kilobytes);
        if (hasEnded) {
            giveBack();
        }
    }

    private void giveBack() {
        int kilobytes = taken.getAndSet(0);
        if (kilobytes > 0) {
            ROOM.release(kilobytes);
        }
    }

    private static int kilobytes(long bytes) {
        return (int) Math.min(bytes / 1024 + 1, Integer.MAX_VALUE);
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
