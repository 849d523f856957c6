package org.gorda.jgcs.raft.member;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.gorda.jgcs.GroupException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many senders and one delivery, in real time: the model checker takes a wait that has an end for one that ends at once. */
@Timeout(60)
class OutboxTest {

    private static final int SENDERS = 8;
    private static final int MESSAGES = 2_000;
    private static final int ROOM = 4;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(15);

    private final Outbox outbox = new Outbox(10 * ROOM);
    private final ExecutorService senders = Executors.newFixedThreadPool(SENDERS);

    private long offer() throws InterruptedException {
        long begin = System.nanoTime();
        try {
            long sequence = outbox.offer(ByteBuffer.allocate(10));
            return sequence > 0 ? sequence : outbox.offer(ByteBuffer.allocate(10), PATIENCE_NANOS);
        } finally {
            assertThat(System.nanoTime() - begin).as("woken").isLessThan(PATIENCE_NANOS / 2);
        }
    }

    @Test
    void sendersAreWokenAsSoonAsThereIsRoom() throws Exception {
        BlockingQueue<Long> sent = new LinkedBlockingQueue<>();
        List<Future<?>> ends = new ArrayList<>();
        for (int i = 0; i < SENDERS; i++) {
            ends.add(senders.submit(() -> {
                for (int n = 0; n < MESSAGES; n++) {
                    long sequence = offer();
                    assertThat(sequence).isPositive();
                    assertThat(sequence - outbox.deliveredSequence()).isLessThanOrEqualTo(ROOM);
                    sent.add(sequence);
                }
                return null;
            }));
        }
        outbox.open();
        Set<Long> delivered = new TreeSet<>();
        for (int n = ROOM; n <= SENDERS * MESSAGES; n += ROOM) {
            for (int message = 0; message < ROOM; message++) {
                Long sequence = sent.poll(PATIENCE_NANOS, TimeUnit.NANOSECONDS);
                assertThat(sequence).as("sent up to " + n).isNotNull();
                delivered.add(sequence);
            }
            outbox.delivered(n);
        }
        for (Future<?> end : ends) {
            end.get();
        }
        assertThat(delivered).as("each has a sequence of its own").hasSize(SENDERS * MESSAGES);
        assertThat(outbox.isEmpty()).isTrue();
        senders.shutdown();
    }

    @Test
    void sendersThatWaitAreToldOfTheEnd() throws Exception {
        outbox.open();
        for (int n = 0; n < ROOM; n++) {
            offer();
        }
        List<Future<Long>> waiting = new ArrayList<>();
        for (int i = 0; i < SENDERS; i++) {
            waiting.add(senders.submit(this::offer));
        }
        outbox.close(new GroupException(GroupException.Disposition.RECONNECT, "the end"));
        for (Future<Long> sender : waiting) {
            assertThatThrownBy(sender::get).hasCauseInstanceOf(GroupException.class);
        }
        senders.shutdown();
    }
}
