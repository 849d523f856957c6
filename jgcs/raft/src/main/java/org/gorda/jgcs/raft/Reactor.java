package org.gorda.jgcs.raft;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs tasks one at a time, in the order of their arrival, on the threads that bring them: who finds nobody at work works off
 * what is there, for the others too (flat combining; Hendler, Incze, Shavit, Tzafrir 2010). An idle group so orders a message
 * without a change of thread, and a busy one gathers what arrives meanwhile into one batch. Thread-safe.
 */
final class Reactor {

    private static final int TASKS_PER_FLUSH = 256;
    private static final int FLUSHES_PER_CALLER = 8;

    /** Several times what the others send before they hear of this member again, and of no weight in a heap. */
    static final long WAITING_BYTES_MAX = 16L << 20;

    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicLong waitingBytes = new AtomicLong();
    private final ReentrantLock working = new ReentrantLock();
    private final Runnable flush;
    private final Consumer<Throwable> failure;
    private volatile boolean stopped;
    private volatile @Nullable Throwable failed;
    private volatile Thread helper;

    /**
     * @param flush runs after tasks, once for several
     * @param failure is told what a task threw, by whoever comes until this is stopped: the first may not have had the stack to tell it; no task runs
     *     after it
     */
    Reactor(Runnable flush, Consumer<Throwable> failure) {
        this.flush = flush;
        this.failure = failure;
        this.helper = Thread.currentThread();
    }

    /** Names the thread that calls {@link #work} from time to time, which is woken when a caller has done enough for others. */
    void helper(Thread thread) {
        helper = thread;
    }

    void execute(Runnable task) {
        tasks.add(task);
        work();
    }

    /**
     * Executes a task that holds that many bytes until it has run, unless those that wait hold {@link #WAITING_BYTES_MAX} already: while a disk stands
     * still, they are not worked off.
     *
     * @return whether it is, or will be, executed
     */
    boolean offer(Runnable task, int bytes) {
        if (waitingBytes.get() >= WAITING_BYTES_MAX) {
            return false;
        }
        waitingBytes.addAndGet(bytes);
        execute(() -> {
            waitingBytes.addAndGet(-bytes);
            task.run();
        });
        return true;
    }

    void work() {
        Throwable before = failed;
        if (before != null) {
            if (!stopped) {
                failure.accept(before);
            }
            return;
        }
        int flushes = 0;
        while (!tasks.isEmpty() && working.tryLock()) {
            try {
                if (stopped || failed != null) { // looked at by who has the lock: meanwhile another may have had it
                    return;
                }
                int done = 0;
                Runnable task = tasks.poll();
                while (task != null) {
                    task.run();
                    done++;
                    task = done < TASKS_PER_FLUSH ? tasks.poll() : null;
                }
                flush.run();
            } catch (Throwable e) { // whatever it is, the state behind it can no longer be trusted
                failed = e;
                failure.accept(e);
            } finally {
                working.unlock();
            }
            flushes++;
            if (flushes >= FLUSHES_PER_CALLER && !tasks.isEmpty() && Thread.currentThread() != helper) {
                LockSupport.unpark(helper);
                return;
            }
        }
    }

    /** Ends the work: no task runs after this returns. */
    void stop() {
        if (failed != null) {
            stopped = true; // none runs any more, and who failed may not have had the stack to let go of the lock
            return;
        }
        working.lock();
        try {
            stopped = true;
            tasks.clear();
        } finally {
            working.unlock();
        }
    }
}
