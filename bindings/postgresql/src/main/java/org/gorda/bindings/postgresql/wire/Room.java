package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a session's large message takes of the memory that there is for those of all sessions: one at a time. Thread-safe, but for {@link #take}: confined to who reads
 * the message.
 */
final class Room {

    private static final Logger LOG = LoggerFactory.getLogger(Room.class);

    /** A message of more takes its length, and waits so long for it. */
    private static final int SMALL_BYTES_MAX = 1 << 20;

    private static final long TIMEOUT_SECONDS = 10;

    private final Semaphore shared;
    private final String sender;
    private final AtomicInteger taken = new AtomicInteger();
    private volatile boolean hasEnded;

    /** @param shared by all whose messages are sent by the like */
    Room(Semaphore shared, String sender) {
        this.shared = shared;
        this.sender = sender;
    }

    /** For all messages together. */
    static Semaphore shared(long bytes) {
        return new Semaphore(kilobytes(bytes), true);
    }

    private static int kilobytes(long bytes) {
        return (int) Math.min(bytes / 1024 + 1, Integer.MAX_VALUE);
    }

    /** Takes what a message needs, unless that is little, or was taken before. */
    void take(int length) throws IOException {
        if (length <= SMALL_BYTES_MAX || taken.get() > 0) {
            return;
        }
        int kilobytes = kilobytes(length);
        try {
            if (!shared.tryAcquire(kilobytes, TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                IOException refused = new IOException(sender + " sent a message of " + length
                        + " bytes, for which there was no room in " + TIMEOUT_SECONDS
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

    /** The message needs no memory any more. */
    void giveBack() {
        int kilobytes = taken.get() == 0 ? 0 : taken.getAndSet(0);
        if (kilobytes > 0) {
            shared.release(kilobytes);
        }
    }

    /** The session is over, as is what has arrived of its last message. */
    void end() {
        hasEnded = true;
        giveBack();
    }
}
