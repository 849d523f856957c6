package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.Lincheck;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** In all orders that few switches between threads make. */
class ReactorTest {

    private static final int INVOCATIONS = 300;

    /** Without a library's assertions, which the model checker would look into. */
    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    /** A thread whose failure is the test's. */
    private static final class Beside {
        private final Thread thread;
        private volatile @Nullable Throwable failure;

        Beside(Runnable work) {
            thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Throwable e) {
                    failure = e;
                }
            });
            thread.start();
        }

        void end() {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            Throwable thrown = failure;
            if (thrown != null) {
                throw new AssertionError(thrown.getMessage(), thrown);
            }
        }
    }

    /** Tasks that count themselves, and see whether they are alone. */
    private static final class Tasks {
        boolean busy;
        int done;
        volatile int flushed;
        volatile boolean stopped;
        volatile @Nullable Throwable failure;
        final Reactor reactor = new Reactor(() -> flushed = done, e -> failure = e);

        void run() {
            check(!busy, "two tasks at once");
            check(!stopped, "runs after the end");
            busy = true;
            done++;
            check(!stopped, "the end came before that of a task");
            busy = false;
        }
    }

    @Test
    void eachTaskRunsAloneAndIsFlushedBeforeAllGo() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            Tasks tasks = new Tasks();
            Beside first = new Beside(() -> tasks.reactor.execute(tasks::run));
            Beside second = new Beside(() -> tasks.reactor.execute(tasks::run));
            tasks.reactor.execute(tasks::run);
            first.end();
            second.end();
            check(tasks.failure == null, "failed: " + tasks.failure);
            check(tasks.flushed == 3, "left a task, or did not flush");
        });
    }

    @Test
    void noTaskRunsOnceTheReactorHasStopped() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            Tasks tasks = new Tasks();
            Beside other = new Beside(() -> {
                tasks.reactor.execute(tasks::run);
                tasks.reactor.execute(tasks::run);
            });
            tasks.reactor.stop();
            tasks.stopped = true;
            other.end();
            check(tasks.failure == null, "failed: " + tasks.failure);
        });
    }

    /** As where there was no stack for it. */
    @Test
    void whoComesLaterTellsOfAFailureThatWasNotTold() {
        AtomicInteger told = new AtomicInteger();
        Reactor reactor = new Reactor(() -> {}, e -> {
            if (told.incrementAndGet() == 1) {
                throw new StackOverflowError();
            }
        });
        assertThatThrownBy(() -> reactor.execute(() -> {
                    throw new StackOverflowError();
                }))
                .isInstanceOf(StackOverflowError.class);
        reactor.execute(() -> check(false, "runs after a failure"));
        assertThat(told).hasValue(2);
        reactor.stop();
        reactor.work();
        assertThat(told).hasValue(2);
    }

    /** A disk may stand still while others send. */
    @Test
    void noMoreBytesWaitThanItsBound() throws Exception {
        Tasks tasks = new Tasks();
        CountDownLatch standing = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        Beside disk = new Beside(() -> tasks.reactor.execute(() -> {
            standing.countDown();
            try {
                goesOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }));
        standing.await();
        int bytes = 1 << 20;
        int taken = 0;
        for (int i = 0; i < 100; i++) {
            taken += tasks.reactor.offer(tasks::run, bytes) ? 1 : 0;
        }
        assertThat(taken * (long) bytes).isEqualTo(Reactor.WAITING_BYTES_MAX);
        tasks.reactor.execute(tasks::run);
        goesOn.countDown();
        disk.end();
        assertThat(tasks.done).isEqualTo(taken + 1);
        assertThat(tasks.reactor.offer(tasks::run, bytes)).isTrue();
        assertThat(tasks.done).isEqualTo(taken + 2);
    }
}
