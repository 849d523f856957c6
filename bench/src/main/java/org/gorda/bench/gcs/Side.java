package org.gorda.bench.gcs;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.HdrHistogram.Histogram;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.Service;
import org.jspecify.annotations.Nullable;

/**
 * One member's part in one group: sends, and counts what it delivers. Thread-safe.
 *
 * <p>A message begins with its sender and its number, and then the time at which it was sent. Shorter ones are confirmations: where an own
 * message comes back before anybody else has it, the number of outstanding messages alone would let a sender fill the memory of all.
 * Therefore the members tell all others from time to time how much of the first member's they have.
 */
abstract class Side {

    static final int SIZE_MIN = 2 * Long.BYTES;

    /** How far the first member may be ahead of the slowest. */
    static final long AHEAD_BYTES_MAX = 16 << 20;

    private static final long CONFIRM_EVERY_BYTES = 1 << 20;
    private static final int CONFIRMATION_BYTES = 1 + Long.BYTES;
    private static final int NUMBER_BITS = 56;
    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final long LATENCY_MAX_NANOS = TimeUnit.MINUTES.toNanos(2);

    /** What came of sending for a while. */
    record Sent(long count, double p50Micros, double p99Micros) {}

    private final int self;
    private final boolean totalOrder;
    private final int[] digests;
    private final long[] confirmedBytes;
    private long delivered;
    private long firstMembersBytes;
    private @Nullable Semaphore window;
    private Histogram latencies = new Histogram(LATENCY_MAX_NANOS, 3);

    private long sent;
    private long sentBytes;
    private long roomUntilBytes = AHEAD_BYTES_MAX;

    Side(GroupConfiguration configuration, Service.Order order) {
        this.self = configuration.members().indexOf(configuration.self());
        this.totalOrder = order == Service.Order.TOTAL;
        this.digests = new int[configuration.members().size()];
        this.confirmedBytes = new long[configuration.members().size()];
    }

    /** Joins, and returns when there is a view if this toolkit gives one to the first that joins. */
    abstract void join();

    /** Whether all members are there and it can be sent to them. */
    abstract boolean formed();

    /** Whether this member orders what the others send, if anybody does. */
    abstract boolean leads();

    /** Sends to all; the bytes are not changed any more. */
    abstract void multicast(byte[] payload);

    /**
     * Sends until the time is over or so many are sent, whichever is first, and waits until they came back.
     *
     * @param outstanding how many may not have come back
     */
    Sent send(int size, int outstanding, long nanos, long countMax) throws InterruptedException {
        Semaphore room = new Semaphore(outstanding);
        synchronized (this) {
            window = room;
            latencies.reset();
        }
        long begin = System.nanoTime();
        long count = 0;
        while (count < countMax && System.nanoTime() - begin < nanos) {
            acquire(room, 1);
            awaitOthers();
            byte[] payload = new byte[size];
            ByteBuffer.wrap(payload)
                    .putLong((long) self << NUMBER_BITS | ++sent)
                    .putLong(System.nanoTime());
            sentBytes += size;
            multicast(payload);
            count++;
        }
        acquire(room, outstanding);
        synchronized (this) {
            window = null;
            return new Sent(count, micros(50), micros(99));
        }
    }

    private double micros(double percentile) {
        return latencies.getValueAtPercentile(percentile) / 1e3;
    }

    private static void acquire(Semaphore room, int permits) throws InterruptedException {
        if (!room.tryAcquire(permits, WAIT.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new BenchException("an own message did not come back within " + WAIT.toSeconds() + " s");
        }
    }

    private void awaitOthers() throws InterruptedException {
        if (self == 0 && sentBytes >= roomUntilBytes) {
            await("confirmation by all", () -> sentBytes < slowestBytes() + AHEAD_BYTES_MAX);
            roomUntilBytes = slowestBytes() + AHEAD_BYTES_MAX;
        }
    }

    private synchronized long slowestBytes() {
        long slowest = Long.MAX_VALUE;
        for (int member = 1; member < confirmedBytes.length; member++) {
            slowest = Math.min(slowest, confirmedBytes[member]);
        }
        return slowest;
    }

    /** Waits until so many messages were delivered here in all. Returns a digest of them and their order. */
    int awaitDelivered(long count) throws InterruptedException {
        synchronized (this) {
            await(count + " messages, of which there are " + delivered, () -> delivered >= count);
            if (delivered != count) {
                throw new BenchException("delivered " + delivered + " messages where " + count + " were sent");
            }
            return Arrays.hashCode(digests);
        }
    }

    private synchronized void await(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + WAIT.toNanos();
        while (!condition.getAsBoolean()) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                throw new BenchException("no " + what + ", within " + WAIT.toSeconds() + " s");
            }
            // Those who deliver do not wake anybody, except by a confirmation.
            wait(1);
        }
    }

    /** A message was delivered. */
    final void delivered(ByteBuffer payload) {
        int size = payload.remaining();
        if (size == CONFIRMATION_BYTES) {
            synchronized (this) {
                confirmedBytes[payload.get()] = payload.getLong();
                notifyAll();
            }
            return;
        }
        long id = payload.getLong();
        long sentNanos = payload.getLong();
        int sender = (int) (id >>> NUMBER_BITS);
        long confirm = 0;
        synchronized (this) {
            int order = totalOrder ? 0 : sender;
            digests[order] = 31 * (31 * digests[order] + Long.hashCode(id)) + size;
            delivered++;
            if (sender == self && window != null) {
                latencies.recordValue(Math.min(System.nanoTime() - sentNanos, LATENCY_MAX_NANOS));
                window.release();
            }
            if (sender == 0) {
                long before = firstMembersBytes / CONFIRM_EVERY_BYTES;
                firstMembersBytes += size;
                confirm = firstMembersBytes / CONFIRM_EVERY_BYTES > before ? firstMembersBytes : 0;
            }
        }
        if (confirm > 0 && self != 0) {
            multicast(ByteBuffer.allocate(CONFIRMATION_BYTES)
                    .put((byte) self)
                    .putLong(confirm)
                    .array());
        }
    }
}
