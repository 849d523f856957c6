package org.gorda.bindings.postgresql;

import java.math.BigInteger;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorRange;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.TransactionListener;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives the server's sequences leases where the values of generators are leased, ahead of those who take values, in a thread of its own; the server refuses
 * whoever would take more. Thread-safe.
 */
final class SequenceLeases implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(SequenceLeases.class);

    /**
     * While values may be taken the sequences are looked at so often, but for no more than such a part of the time, as long as that is not too seldom, nor any of them
     * nearly used up.
     */
    private static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final int PART = 20;
    private static final long REST_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(300);

    /** A client waits so long for values; for a function that may take some so long, as well as to hear why it was refused one. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private static final long EXPLANATION_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final long SLICE_MILLIS = 5;

    /** Our session waits so long for clients that have taken values, and for schema changes. */
    private static final String SESSION = Server.APPLIES + " -c lock_timeout=50";

    private static final long LOCKED_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Server server;
    private final TransactionListener listener;
    private final Thread thread = new Thread(this::run, "gorda-sequence-leases");

    private volatile boolean begun;
    private volatile boolean closed;

    /** Values may have been taken since the last look. */
    private volatile boolean isUsed;

    /** Nobody looks, until somebody is about to take values. */
    private volatile boolean isIdle;

    /** Counts what needs a look before anybody goes on, and up to which of those there was one. */
    private volatile long needed;

    private volatile long covered = -1;

    /** Names of all, of those that have no values left, and of those whose values cannot be leased; as of the last look. */
    private volatile Set<String> known = Set.of();

    private volatile Set<String> usedUp = Set.of();

    private volatile Set<String> cycling = Set.of();

    // ------------------------------------------------------------------------------------------------ guarded by this
    private boolean started;
    private @Nullable Refusal failure;

    // -------------------------------------------------------------------------------------- confined to the own thread
    private @Nullable Connection connection;

    /** What the server had to do for the last look. */
    private long tookNanos;

    /** Any, when it was looked at. */
    private boolean isNearlyUsedUp;

    private final Map<Long, Need> needs = new HashMap<>();

    SequenceLeases(Server server, TransactionListener listener) {
        this.server = server;
        this.listener = listener;
        thread.setDaemon(true);
    }

    /** Whether values are leased now. */
    boolean haveBegun() {
        return begun;
    }

    /** Values are leased from now on, or not any more. */
    void begin(boolean begins) {
        begun = begins;
        ended();
    }

    /** A schema change has ended all leases. */
    synchronized void ended() {
        needed++;
        notifyAll();
    }

    /** What is done while a client waits; throws to end that. */
    interface Check {
        void run();
    }

    /**
     * Waits until there are values, for a statement that may take some.
     *
     * @param isLikely whether it does so as far as one can tell; another one goes on without
     * @throws RefusedException if there are none in time
     */
    void await(boolean isLikely, Check check) {
        if (!begun) {
            return;
        }
        isUsed = true;
        long now = needed;
        if (covered < now) {
            Refusal refusal = awaitCovered(now, isLikely ? PATIENCE_NANOS : EXPLANATION_NANOS, check);
            if (refusal != null && isLikely) {
                throw new RefusedException(refusal);
            }
        } else if (isIdle) {
            wake();
        }
    }

    private synchronized void wake() {
        notifyAll();
    }

    private synchronized @Nullable Refusal awaitCovered(long upTo, long nanos, Check check) {
        if (!started && !closed) {
            started = true;
            thread.start();
        }
        failure = null;
        notifyAll();
        long end = System.nanoTime() + nanos;
        while (covered < upTo && begun && !closed) {
            check.run();
            if (failure != null) {
                return failure;
            }
            if (System.nanoTime() > end || Thread.currentThread().isInterrupted()) {
                return new Refusal(
                        Refusal.Cause.OVERDUE, "no values of sequences were leased in time: run the transaction again");
            }
            isUsed = true;
            try {
                wait(SLICE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return null;
    }

    /**
     * The server has refused somebody a value.
     *
     * @param message the server's, which names the sequence
     * @param changesSchema whether the transaction that has failed so has changed the schema
     * @return what its client is told; null if it is the server's to tell, because the sequence has no values left or is temporary
     */
    @Nullable
    Refusal refused(String message, boolean changesSchema) {
        if (!begun) {
            return null;
        }
        ended();
        awaitCovered(needed, EXPLANATION_NANOS, () -> {});
        if (isNamed(cycling, message)) {
            return Refusal.unsupported("a sequence with CYCLE cannot be had where every replica takes writes:"
                    + " create it without, or run protocol=primary-backup; " + message);
        }
        if (isNamed(usedUp, message) || !isNamed(known, message)) {
            return null; // or it is one of the session's own
        }
        return changesSchema
                ? Refusal.unsupported(
                        "a sequence cannot generate values in the transaction that alters it, nor more in one that changes"
                                + " the schema than were leased before: commit first; " + message)
                : new Refusal(
                        Refusal.Cause.CONFLICT,
                        "the values of a sequence that were leased to this replica were taken, and more are leased now: run the transaction again; "
                                + message);
    }

    private static boolean isNamed(Set<String> names, String message) {
        return names.stream().anyMatch(name -> message.contains("\"" + name + "\""));
    }

    // --------------------------------------------------------------------------------------------------- its thread

    private void run() {
        try {
            while (!closed) {
                awaitUse();
                isUsed = false;
                tookNanos = 0;
                isNearlyUsedUp = false;
                look();
                long pause = isNearlyUsedUp ? GLANCE_NANOS : GLANCE_NANOS + PART * tookNanos;
                rest(System.nanoTime() + Math.min(pause, REST_NANOS_MAX));
            }
        } catch (InterruptedException e) {
            LOG.debug("{}: closed", server);
        } finally {
            disconnect();
        }
    }

    private synchronized void awaitUse() throws InterruptedException {
        isIdle = true;
        while (!closed && !(begun && isUsed)) {
            wait(TimeUnit.SECONDS.toMillis(1));
        }
        isIdle = false;
    }

    /** Unless somebody waits. */
    private synchronized void rest(long until) throws InterruptedException {
        for (long left = until - System.nanoTime(); left > 0 && !closed; left = until - System.nanoTime()) {
            if (covered < needed && isUsed) {
                wait(1);
                return;
            }
            wait(1 + TimeUnit.NANOSECONDS.toMillis(left));
        }
    }

    private void look() {
        long upTo = needed;
        try {
            long seen = listener.visible();
            long start = System.nanoTime();
            List<LeasedSequence> all = LeasedSequence.all(session());
            tookNanos = System.nanoTime() - start;
            List<LeasedSequence> needy = needy(all);
            isNearlyUsedUp = needy.stream().anyMatch(one -> need(one).isNearlyUsedUp(one));
            if (needy.stream().anyMatch(one -> need(one).isShort(one))) {
                upTo = hold();
            }
            if (lease(needy, seen)) {
                cover(upTo);
            }
        } catch (RefusedException e) {
            fail(e.refusal());
        } catch (SQLException e) {
            if (PostgresDatabase.LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                cover(upTo); // a schema change has it; nobody else is to wait for that
            } else if (!closed) {
                LOG.warn("{}: sequences cannot be given leases: {}", server, e.getMessage());
                disconnect();
            }
        }
    }

    private Need need(LeasedSequence sequence) {
        return needs.computeIfAbsent(sequence.id(), id -> new Need());
    }

    /** Those of which more is to be leased. */
    private List<LeasedSequence> needy(List<LeasedSequence> all) {
        Set<String> names = new HashSet<>();
        Set<String> without = new HashSet<>();
        Set<String> refused = new HashSet<>();
        List<LeasedSequence> needy = new ArrayList<>();
        for (LeasedSequence one : all) {
            Need need = need(one);
            names.add(one.name());
            if (one.cycles()) {
                refused.add(one.name());
            } else if (one.isUsedUp() || (need.isUsedUp(one) && one.left() == 0)) {
                without.add(one.name());
            } else if (need.isLow(one)) {
                needy.add(one);
            }
        }
        known = names;
        usedUp = without;
        cycling = refused;
        return needy;
    }

    /** @return whether all have values now, or cannot have any */
    private boolean lease(List<LeasedSequence> needy, long seen) throws SQLException {
        Map<GeneratorState, Integer> ask = new LinkedHashMap<>();
        for (LeasedSequence one : needy) {
            if (!need(one).hasRange(one)) {
                ask.put(one.state(), need(one).count(one));
            }
        }
        Map<Generator, GeneratorRange> ranges = ask.isEmpty() ? Map.of() : listener.leaseRanges(ask, seen);
        boolean all = true;
        for (LeasedSequence one : needy) {
            GeneratorRange range = ranges.get(one.generator());
            if (range != null) {
                need(one).leased(one, range);
            }
            all &= begin(one);
        }
        return all;
    }

    /** @return false if the schema has changed since, or if it cannot wait and clients that have taken values keep it from beginning */
    private boolean begin(LeasedSequence sequence) throws SQLException {
        Need need = need(sequence);
        GeneratorRange range = need.range;
        if (range == null || range.count() == 0) {
            if (sequence.left() == 0) {
                Set<String> without = new HashSet<>(usedUp);
                without.add(sequence.name());
                usedUp = without;
            }
            return true;
        }
        if (!sequence.isContinuedBy(range) && !need.isShort(sequence)) {
            return true; // what is left of the lease before would be lost
        }
        long last = range.first() + (range.count() - 1) * sequence.increment();
        boolean gently = sequence.left() > 0;
        try {
            String begins = session()
                    .query("SELECT gorda.begin_lease(" + sequence.id() + ", " + sequence.era() + ", " + range.first()
                            + ", " + last + ", " + gently + ")")
                    .get(0)
                    .get(0);
            need.range = null;
            need.locked = 0;
            return "t".equals(begins);
        } catch (SQLException e) {
            if (!PostgresDatabase.LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                throw e;
            }
            need.lockedNanos = System.nanoTime();
            need.locked++;
            return !need.isShort(sequence) || need.isLockedForLong();
        }
    }

    /** How much of a sequence is to be leased. Confined to the own thread. */
    private static final class Need {

        /** So many values are leased at first, or such a part of all if that is less, but some. */
        private static final int COUNT_FIRST = 1000;

        private static final int PARTS_FIRST = 1000;
        private static final int COUNT_LEAST = 10;
        private static final int COUNT_MAX = 1_000_000;

        /** Of a sequence that needs more after so short a time twice as many are leased, and so many times if that was too late. */
        private static final long QUICK_NANOS = TimeUnit.SECONDS.toNanos(5);

        private static final int TOO_LATE = 30;

        /** Who is to take values waits for so many tries of a lease that others keep from beginning, who may have to take more before they let it. */
        private static final int LOCKED_TRIES = 6;

        private int count;
        private long askedNanos;
        private long era = -1;

        /** What was leased and has not begun; without values if there were none left. */
        private @Nullable GeneratorRange range;

        private boolean usedUp;

        /** So many times clients that have taken values have kept it from beginning. */
        private int locked;

        private long lockedNanos;

        boolean isUsedUp(LeasedSequence now) {
            return usedUp && era == now.era();
        }

        boolean isLow(LeasedSequence now) {
            boolean rests = locked > 0 && System.nanoTime() - lockedNanos < LOCKED_NANOS && !isShort(now);
            return !isUsedUp(now) && !rests && (!now.hasLease() || now.left() < (count + 1) / 2);
        }

        /** So low that nobody is to take any before there are more. */
        boolean isShort(LeasedSequence now) {
            return now.left() <= count / 8;
        }

        boolean isNearlyUsedUp(LeasedSequence now) {
            return now.hasLease() && now.left() <= count / 4 && !isLockedForLong();
        }

        boolean isLockedForLong() {
            return locked >= LOCKED_TRIES;
        }

        boolean hasRange(LeasedSequence now) {
            return range != null && era == now.era();
        }

        int count(LeasedSequence now) {
            long nanos = System.nanoTime();
            int least = BigInteger.valueOf(COUNT_FIRST)
                    .min(now.size().divide(BigInteger.valueOf(PARTS_FIRST)))
                    .max(BigInteger.valueOf(COUNT_LEAST))
                    .intValueExact();
            boolean isQuick = count > 0 && nanos - askedNanos < QUICK_NANOS && era == now.era();
            int times = now.hasLease() && now.left() == 0 ? TOO_LATE : isQuick ? 2 : 1;
            count = Math.min(times == 1 ? least : Math.max(least, count * times), COUNT_MAX);
            askedNanos = nanos;
            return count;
        }

        void leased(LeasedSequence now, GeneratorRange leased) {
            era = now.era();
            range = leased;
            usedUp = leased.count() == 0;
            count = usedUp ? count : Math.min(count, leased.count());
            locked = 0;
        }
    }

    /** Who takes values waits for what is leased now. */
    private synchronized long hold() {
        if (covered >= needed) {
            needed++;
        }
        return needed;
    }

    private synchronized void cover(long upTo) {
        covered = Math.max(covered, upTo);
        notifyAll();
    }

    private synchronized void fail(Refusal why) {
        // After a schema change there is another look, and then perhaps none.
        failure = why.cause() == Refusal.Cause.CONFLICT ? null : why;
        notifyAll();
    }

    private SqlSession session() throws SQLException {
        Connection open = connection;
        if (open == null) {
            open = server.connect(SESSION);
            connection = open;
        }
        return SqlSession.of(open);
    }

    private void disconnect() {
        Connection open = connection;
        connection = null;
        try {
            if (open != null) {
                open.close();
            }
        } catch (SQLException e) {
            LOG.debug("the connection was gone already", e);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
        thread.interrupt();
    }
}
