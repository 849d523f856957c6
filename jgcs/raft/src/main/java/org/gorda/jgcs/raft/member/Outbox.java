package org.gorda.jgcs.raft.member;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.gorda.jgcs.GroupException;
import org.jspecify.annotations.Nullable;

/**
 * The messages of this member that it has not seen delivered yet: kept to be sent again, bounded in bytes. Thread-safe.
 */
public final class Outbox {

    /**
     * A message to send.
     *
     * @param endOffset counts the bytes of all messages up to and with this one
     */
    record Pending(long sequence, ByteBuffer payload, long endOffset) {}

    private final long bytesMax;
    private final IndexedRing<Pending> pending = new IndexedRing<>();
    private long deliveredOffset;
    private long endOffset;
    private long nextSequence = 1;
    private boolean open;
    private @Nullable GroupException closed;

    public Outbox(long bytesMax) {
        this.bytesMax = bytesMax;
    }

    /**
     * Adds a message if there is room.
     *
     * @return its sequence, or 0 if there is no room now
     * @throws GroupException if this member has stopped
     */
    public synchronized long offer(ByteBuffer payload) {
        if (closed != null) {
            throw new GroupException(closed.disposition(), String.valueOf(closed.getMessage()), closed);
        }
        if (!open || (endOffset - deliveredOffset + payload.remaining() > bytesMax && !pending.isEmpty())) {
            return 0;
        }
        long sequence = nextSequence++;
        endOffset += payload.remaining();
        pending.add(sequence, new Pending(sequence, payload, endOffset));
        return sequence;
    }

    /** As {@link #offer}, waiting for room up to {@code waitNanos}. */
    public synchronized long offer(ByteBuffer payload, long waitNanos) throws InterruptedException {
        long deadline = System.nanoTime() + waitNanos;
        long sequence = offer(payload);
        while (sequence == 0) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return 0;
            }
            // Rounded up, because 0 would wait for ever.
            wait(left / 1_000_000 + 1);
            sequence = offer(payload);
        }
        return sequence;
    }

    /** This member's incarnation is in the log: its messages can follow. */
    public synchronized void open() {
        open = true;
        notifyAll();
    }

    /** Whether nothing is to be sent or waited for. */
    public synchronized boolean isEmpty() {
        return pending.isEmpty();
    }

    /** The messages up to {@code sequence} were delivered. */
    public synchronized void delivered(long sequence) {
        while (!pending.isEmpty() && pending.first() <= sequence) {
            deliveredOffset = pending.removeFirst().endOffset();
        }
        notifyAll();
    }

    /** No more messages are taken; {@code reason} is told to whoever tries. */
    public synchronized void close(GroupException reason) {
        if (closed == null) {
            closed = reason;
        }
        notifyAll();
    }

    /** As {@link #close}; and nothing that waits is sent any more. */
    public synchronized void abandon(GroupException reason) {
        while (!pending.isEmpty()) {
            deliveredOffset = pending.removeFirst().endOffset();
        }
        close(reason);
    }

    /** Messages behind {@code sequence}, up to about {@code limit} bytes but at least one if there is one. */
    synchronized List<Pending> after(long sequence, int limit) {
        long from = Math.max(sequence + 1, pending.first());
        List<Pending> found = new ArrayList<>();
        int total = 0;
        for (long n = from; n < pending.end() && total < limit; n++) {
            Pending message = pending.get(n);
            found.add(message);
            total += message.payload().remaining();
        }
        return found;
    }

    /** The sequence before the first message that is still pending. */
    synchronized long deliveredSequence() {
        return pending.isEmpty() ? nextSequence - 1 : pending.first() - 1;
    }

    /** Counts the bytes of all messages delivered. */
    synchronized long deliveredOffset() {
        return deliveredOffset;
    }
}
