package org.gorda.jgcs.ratis;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BiConsumer;
import org.gorda.jgcs.GroupException;
import org.jspecify.annotations.Nullable;

/** The messages of this member that it has not seen delivered yet: kept to be sent again, bounded in bytes. Thread-safe. */
final class Outbox {

    private record Pending(long sequence, ByteBuffer payload) {}

    /** What a message of no bytes counts. */
    private static final int LEAST_BYTES = 64;

    private final long bytesMax;
    private final BiConsumer<Long, ByteBuffer> sender;
    private final Deque<Pending> pending = new ArrayDeque<>();
    private long bytes;
    private long lastSequence;
    private boolean open;
    private @Nullable GroupException closed;

    /**
     * @param sender brings a message to the group's leader, in the order of the calls, and does not wait
     */
    Outbox(long bytesMax, BiConsumer<Long, ByteBuffer> sender) {
        this.bytesMax = bytesMax;
        this.sender = sender;
    }

    /**
     * Sends a message once there is room; an interrupt is kept for later, because the caller's transaction depends on whether this was sent.
     *
     * @return its sequence, or 0 if there was no room in time
     * @throws GroupException if this member has stopped
     */
    synchronized long offer(ByteBuffer payload, long waitNanos) {
        long deadline = System.nanoTime() + waitNanos;
        boolean interrupted = false;
        try {
            while (closed == null && bytes + payload.remaining() > bytesMax && !pending.isEmpty()) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return 0;
                }
                try {
                    wait(left / 1_000_000 + 1); // rounded up, because 0 would wait for ever
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        GroupException reason = closed;
        if (reason != null) {
            throw new GroupException(reason.disposition(), String.valueOf(reason.getMessage()), reason);
        }
        long sequence = ++lastSequence;
        pending.add(new Pending(sequence, payload));
        bytes += payload.remaining() + LEAST_BYTES;
        if (open) {
            sender.accept(sequence, payload);
        }
        return sequence;
    }

    /** From now on messages can be sent; sends those behind {@code sequence}, again if they were. */
    synchronized void sendAfter(long sequence) {
        open = true;
        for (Pending message : pending) {
            if (message.sequence() > sequence && closed == null) {
                sender.accept(message.sequence(), message.payload());
            }
        }
    }

    /** The messages up to {@code sequence} were delivered. */
    synchronized void delivered(long sequence) {
        while (!pending.isEmpty() && pending.getFirst().sequence() <= sequence) {
            bytes -= pending.removeFirst().payload().remaining() + LEAST_BYTES;
        }
        notifyAll();
    }

    /** No more messages are taken; {@code reason} is told to whoever tries. */
    synchronized void close(GroupException reason) {
        closed = reason;
        notifyAll();
    }
}
