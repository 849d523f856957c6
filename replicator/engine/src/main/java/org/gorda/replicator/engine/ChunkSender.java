package org.gorda.replicator.engine;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.gorda.gapi.Content;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.DataSession;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MessageId;
import org.gorda.replicator.core.ReplicaMessage;

/**
 * Sends what precedes the write sets of large transactions, before they ask to be committed. Few chunks are on their way at a time,
 * and transactions take turns for them, so that large transactions hold up neither small ones nor each other for long. Thread-safe.
 */
final class ChunkSender {

    static final int CHUNK_BYTES = 256 << 10;
    private static final int ON_THEIR_WAY_MAX = 8;
    private static final long LOOK_MILLIS = 100;
    private static final Duration ROOM_LOOK = Duration.ofMillis(20);

    private final Duration patience;
    private final Semaphore room = new Semaphore(ON_THEIR_WAY_MAX, true);
    private final Map<TransactionId, Integer> undelivered = new ConcurrentHashMap<>();
    private final Set<TransactionId> sending = ConcurrentHashMap.newKeySet();

    /**
     * @param patience how long one chunk may wait for room
     */
    ChunkSender(Duration patience) {
        this.patience = patience;
    }

    /**
     * Sends all chunks of a transaction, in its client's thread.
     *
     * @param goesOn asked before each
     * @param onSent told of each that is sent
     * @return how many there were
     * @throws RefusedException if there is no room in time, or if the transaction cannot be committed any more
     * @throws GroupException as {@link DataSession#multicast} does
     */
    int send(
            DataSession data,
            TransactionId id,
            long epoch,
            long base,
            WriteSet writeSet,
            BooleanSupplier goesOn,
            Consumer<MessageId> onSent) {
        long length = writeSet.precedingLength();
        if (length == 0) {
            return 0;
        }
        Content content = writeSet.preceding();
        int number = 0;
        sending.add(id);
        try {
            for (long position = 0; position < length; position += CHUNK_BYTES) {
                int size = (int) Math.min(CHUNK_BYTES, length - position);
                ByteBuffer message = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + size);
                read(content, position, message.array(), ReplicaMessage.CHUNK_HEADER_BYTES, size);
                CRC32C crc = new CRC32C();
                crc.update(message.array(), ReplicaMessage.CHUNK_HEADER_BYTES, size);
                ReplicaMessage.putChunkHeader(message, id, epoch, base, number, (int) crc.getValue());
                awaitRoom(id, goesOn);
                // Before it is sent, because its delivery may be quicker than this thread.
                undelivered.merge(id, 1, Integer::sum);
                boolean sent = false;
                try {
                    onSent.accept(multicast(data, message, patience, () -> {
                        check(id, goesOn);
                        return true;
                    }));
                    sent = true;
                } finally {
                    if (!sent) {
                        delivered(id);
                    }
                }
                number++;
            }
            check(id, goesOn);
            return number;
        } finally {
            sending.remove(id);
        }
    }

    /**
     * Sends for a client, whose transaction may hold locks that the delivery waits for, which makes the room: so it does not wait for that without a look.
     *
     * @param goesOn asked now and then; may throw
     * @throws GroupException as {@link DataSession#multicast} does
     */
    static MessageId multicast(DataSession data, ByteBuffer message, Duration patience, BooleanSupplier goesOn) {
        long end = System.nanoTime() + patience.toNanos();
        while (true) {
            try {
                return data.multicast(message.rewind(), ROOM_LOOK);
            } catch (GroupException e) {
                if (e.disposition() != GroupException.Disposition.RETRY || !goesOn.getAsBoolean()) {
                    throw e;
                }
                if (System.nanoTime() - end > 0) {
                    throw new GroupException(
                            e.disposition(),
                            "tried for " + patience.toMillis() + " ms, the last time: " + e.getMessage(),
                            e);
                }
            }
        }
    }

    private static void read(Content content, long position, byte[] target, int offset, int length) {
        int done = 0;
        while (done < length) {
            int read = content.read(position + done, target, offset + done, length - done);
            if (read == 0) {
                throw new IllegalStateException("a write set ends at " + (position + done));
            }
            done += read;
        }
    }

    /** An interrupt is kept for later: the transaction is not the client's alone any more. */
    private void awaitRoom(TransactionId id, BooleanSupplier goesOn) {
        long deadline = System.nanoTime() + patience.toNanos();
        boolean interrupted = false;
        boolean acquired = false;
        try {
            while (!acquired) {
                check(id, goesOn);
                if (System.nanoTime() > deadline) {
                    throw refused("the group did not take a part of transaction " + id + " within "
                            + patience.toMillis() + " ms; it did not happen: run it again");
                }
                try {
                    acquired = room.tryAcquire(LOOK_MILLIS, TimeUnit.MILLISECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void check(TransactionId id, BooleanSupplier goesOn) {
        if (!goesOn.getAsBoolean() || !sending.contains(id)) {
            throw refused("transaction " + id + " was given up, or the primary changed, before all of it was sent; it "
                    + "did not happen: run it again");
        }
    }

    private static RefusedException refused(String message) {
        return new RefusedException(new Refusal(Refusal.Cause.OVERDUE, message));
    }

    /** A chunk was delivered, which may be one of another replica or of an earlier run. */
    void delivered(TransactionId id) {
        undelivered.computeIfPresent(id, (same, count) -> {
            room.release();
            return count == 1 ? null : count - 1;
        });
    }

    /** The transaction has its outcome already. */
    void giveUp(TransactionId id) {
        sending.remove(id);
    }
}
