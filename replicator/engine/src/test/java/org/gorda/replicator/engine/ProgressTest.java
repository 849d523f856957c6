package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The delivery rests as long as nobody waits for it. */
@Timeout(30)
class ProgressTest {

    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final Progress progress = new Progress();
    private final AtomicBoolean done = new AtomicBoolean();
    private final ExecutorService clients = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        clients.shutdownNow();
    }

    private Future<Boolean> waits() {
        return clients.submit(() -> progress.await(done::get, System.nanoTime() + LONG_NANOS));
    }

    private void restLong() {
        progress.rest(System.nanoTime() + LONG_NANOS);
    }

    @Test
    void whoWaitsEndsTheRest() throws Exception {
        Future<?> rest = clients.submit(this::restLong);
        Future<Boolean> client = waits();
        rest.get();
        done.set(true);
        progress.signal();
        assertThat(client.get()).isTrue();
    }

    @Test
    void thereIsNoneWhileSomebodyWaits() throws Exception {
        Future<Boolean> client = waits();
        restLong(); // begins before or after that, and ends in any case
        restLong(); // begins after that
        done.set(true);
        progress.signal();
        assertThat(client.get()).isTrue();
    }

    @Test
    void itEndsByItself() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
        progress.rest(deadline);
        assertThat(System.nanoTime() - deadline).isNotNegative();
        progress.rest(deadline); // is over
    }

    @Test
    void whoHasWaitedDoesNotEndTheNext() throws Exception {
        Future<Boolean> client = waits();
        restLong();
        done.set(true);
        progress.signal();
        assertThat(client.get()).isTrue();
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
        progress.rest(deadline);
        assertThat(System.nanoTime() - deadline).isNotNegative();
    }
}
