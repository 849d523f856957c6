package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.gorda.jgcs.MemberId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notices that the database stands still: whoever uses it would wait for it and tell nobody. Asks it for an answer every second in a thread of its own, and
 * hears when the delivery's commits begin and end. What may take its time, as changes of the schema do where they are applied, does not count. Thread-safe.
 */
final class DatabaseWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(DatabaseWatch.class);

    private static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Less counts for no standstill, however short a commit may wait. */
    static final Duration PATIENCE_LEAST = Duration.ofSeconds(10);

    private static final long CLOSE_MILLIS = 1_000;

    /** One thing after the other that the database is asked to do and should not take long for; begun and ended by one thread at a time. */
    static final class Work {

        /** Counts begins and ends: odd while there is something to do. */
        private final AtomicLong steps = new AtomicLong();

        private long seen;
        private long nanos;

        void begin() {
            steps.incrementAndGet();
        }

        void end() {
            steps.incrementAndGet();
        }

        void run(Runnable work) {
            begin();
            try {
                work.run();
            } finally {
                end();
            }
        }

        /** For how long the same thing has been to do, by the one who looks. */
        private long look(long passedNanos) {
            long now = steps.get();
            nanos = now % 2 == 1 && now == seen ? nanos + passedNanos : 0;
            seen = now;
            return nanos;
        }
    }

    private final Runnable question;
    private final long patienceNanos;
    private final Work questions = new Work();
    private final Work commits = new Work();
    private final Thread asker;
    private long lookedNanos = System.nanoTime();
    private volatile long silentNanos;
    private volatile boolean closed;

    /**
     * @param question comes back when the database has answered
     * @param patience after so long without an answer it stands still
     */
    DatabaseWatch(MemberId self, Runnable question, Duration patience) {
        this.question = question;
        this.patienceNanos = patience.toNanos();
        this.asker = new Thread(this::ask, "gorda-watch-" + self);
        asker.setDaemon(true);
    }

    void start() {
        asker.start();
    }

    private void ask() {
        while (!closed) {
            try {
                questions.run(question);
            } catch (RuntimeException | Error e) {
                LOG.debug("the database has answered by an error", e);
            }
            LockSupport.parkNanos(ASK_NANOS);
        }
    }

    /** The delivery's, which tells of them. */
    Work commits() {
        return commits;
    }

    /** To be called several times a second, by one thread: that alone counts as time, so that who has stood still itself has waited for nobody. */
    void look(long nowNanos) {
        long passed = Math.min(nowNanos - lookedNanos, ASK_NANOS);
        lookedNanos = nowNanos;
        silentNanos = Math.max(questions.look(passed), commits.look(passed));
    }

    boolean isSilent() {
        return silentNanos >= patienceNanos;
    }

    /** What people are told while it is silent. */
    String explanation() {
        return "the database has not answered for " + TimeUnit.NANOSECONDS.toSeconds(silentNanos) + " s";
    }

    /** On return it asks no more, unless the database stands still. */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(asker);
        try {
            asker.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
