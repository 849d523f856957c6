package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorRange;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.jgcs.GroupException;
import org.gorda.replicator.core.LeasedRange;
import org.gorda.replicator.core.ReplicaMessage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The values of generators that are this run's alone. A client takes them from the range at hand; the next one is asked for when half of
 * it is gone, and is the larger the faster they go. Who finds none waits for the order. What is left when the schema changes or
 * the run ends is skipped by all. Thread-safe.
 */
final class GeneratorLeases {

    private static final Logger LOG = LoggerFactory.getLogger(GeneratorLeases.class);
    private static final int COUNT_FIRST = 100;
    private static final int COUNT_MAX = 10_000;

    /** Who needs more after so short a time gets twice as many. */
    private static final Duration QUICK = Duration.ofSeconds(5);

    /** By generator, as the database identifies it. */
    private final Map<String, Leased> all = new HashMap<>();

    private final Map<Long, Leased> asked = new HashMap<>();

    /** Ranges that were asked for as such. */
    private final Map<Long, Wanted> wanted = new HashMap<>();

    private final Consumer<ReplicaMessage.Lease> sender;
    private final long waitNanos;
    private long lastRequest;

    /** What is at hand of one generator; guarded by the leases. */
    private static final class Leased {
        final GeneratorState state;
        final long seen;
        LeasedRange range = new LeasedRange(0, 0, 1);
        int taken;

        @Nullable
        LeasedRange following;

        int count = COUNT_FIRST / 2;
        long askedNanos = System.nanoTime();
        boolean isAsked;
        boolean usedUp;
        boolean outdated;

        Leased(GeneratorState state, long seen) {
            this.state = state;
            this.seen = seen;
        }

        boolean isEmpty() {
            return taken == range.count() && following == null;
        }

        boolean isLow() {
            return !isAsked && !usedUp && following == null && taken >= range.count() / 2;
        }

        long take() {
            LeasedRange next = following;
            if (taken == range.count() && next != null) {
                range = next;
                taken = 0;
                following = null;
            }
            return range.first() + taken++ * range.increment();
        }
    }

    /** A range that was asked for; guarded by the leases. */
    private static final class Wanted {
        final GeneratorState state;
        boolean isAnswered;

        /** Null if the schema had changed before it was ordered. */
        @Nullable
        GeneratorRange range;

        Wanted(GeneratorState state) {
            this.state = state;
        }
    }

    /**
     * Leases for one run of a replica.
     *
     * @param sender through the order; throws {@link GroupException} if that is not possible now
     * @param firstRequest to tell the requests of this run from those of earlier ones
     * @param wait how long a client waits for values
     */
    GeneratorLeases(Consumer<ReplicaMessage.Lease> sender, long firstRequest, Duration wait) {
        this.sender = sender;
        this.lastRequest = firstRequest;
        this.waitNanos = wait.toNanos();
    }

    /** Takes a value without waiting, if there is one. */
    OptionalLong take(String generator) {
        long value;
        ReplicaMessage.Lease ahead;
        synchronized (this) {
            Leased leased = all.get(generator);
            if (leased == null || leased.isEmpty()) {
                return OptionalLong.empty();
            }
            value = leased.take();
            ahead = leased.isLow() ? ask(leased) : null;
        }
        if (ahead != null && send(ahead) != null) {
            LOG.debug("values of {} could not be asked for ahead", ahead.state().generator());
        }
        return OptionalLong.of(value);
    }

    /**
     * Takes a value, and waits for it if need be.
     *
     * @param seen what its transaction saw when it began
     * @return empty if the generator has none left
     * @throws RefusedException if there is none in time or the client is interrupted, or if the schema changed since the transaction began
     */
    OptionalLong await(String generator, GeneratorState state, long seen) {
        long end = System.nanoTime() + waitNanos;
        while (true) {
            ReplicaMessage.Lease request;
            synchronized (this) {
                Leased leased = all.computeIfAbsent(generator, id -> new Leased(state, seen));
                if (leased.outdated && leased.seen < seen) {
                    leased = new Leased(state, seen);
                    all.put(generator, leased);
                }
                if (leased.outdated) {
                    throw new RefusedException(new Refusal(
                            Refusal.Cause.CONFLICT,
                            "the schema was changed while the transaction ran that takes a value of "
                                    + state.generator() + ": run it again"));
                }
                if (!leased.isEmpty()) {
                    return OptionalLong.of(leased.take());
                }
                if (leased.usedUp) {
                    return OptionalLong.empty();
                }
                long left = end - System.nanoTime();
                if (left <= 0 || Thread.currentThread().isInterrupted()) {
                    throw overdue(state);
                }
                if (leased.isAsked) {
                    await(state, left);
                    continue;
                }
                request = ask(leased);
            }
            GroupException failed = send(request);
            if (failed != null && failed.disposition() != GroupException.Disposition.RETRY) {
                throw new RefusedException(new Refusal(Refusal.Cause.STOPPED, String.valueOf(failed.getMessage())));
            }
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the caller loops
    private void await(GeneratorState state, long nanos) {
        try {
            // At least one: 0 would be for ever.
            wait(1 + nanos / 1_000_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw overdue(state);
        }
    }

    private RefusedException overdue(GeneratorState state) {
        return new RefusedException(new Refusal(
                Refusal.Cause.OVERDUE,
                "no values for " + state.generator() + " were ordered within " + waitNanos / 1_000_000
                        + " ms, or the wait was interrupted: run the transaction again"));
    }

    /**
     * Leases ranges, of which the caller keeps account.
     *
     * @param counts how many values of each generator
     * @param seen where the database was when it was asked for the states
     * @throws RefusedException if one is not ordered in time or the caller is interrupted, or if the schema has changed since
     */
    Map<Generator, GeneratorRange> awaitRanges(Map<GeneratorState, Integer> counts, long seen) {
        long end = System.nanoTime() + waitNanos;
        List<Long> requests = new ArrayList<>();
        try {
            for (Map.Entry<GeneratorState, Integer> one : counts.entrySet()) {
                requests.add(ask(one.getKey(), one.getValue(), seen, end));
            }
            Map<Generator, GeneratorRange> ranges = new HashMap<>();
            for (long request : requests) {
                Wanted answered = awaitAnswer(request, end);
                if (answered.range == null) {
                    throw new RefusedException(new Refusal(
                            Refusal.Cause.CONFLICT,
                            "the schema was changed while values of " + answered.state.generator()
                                    + " were asked for: run the transaction again"));
                }
                ranges.put(answered.state.generator(), answered.range);
            }
            return ranges;
        } finally {
            synchronized (this) {
                requests.forEach(wanted::remove);
            }
        }
    }

    private long ask(GeneratorState state, int count, long seen, long end) {
        long request;
        synchronized (this) {
            request = ++lastRequest;
            wanted.put(request, new Wanted(state));
        }
        while (true) {
            try {
                sender.accept(new ReplicaMessage.Lease(request, seen, count, state));
                return request;
            } catch (GroupException e) {
                if (e.disposition() != GroupException.Disposition.RETRY || System.nanoTime() > end) {
                    synchronized (this) {
                        wanted.remove(request);
                    }
                    throw new RefusedException(new Refusal(
                            e.disposition() == GroupException.Disposition.RETRY
                                    ? Refusal.Cause.OVERDUE
                                    : Refusal.Cause.STOPPED,
                            String.valueOf(e.getMessage())));
                }
            }
        }
    }

    private synchronized Wanted awaitAnswer(long request, long end) {
        Wanted answered = java.util.Objects.requireNonNull(wanted.get(request));
        while (!answered.isAnswered) {
            long left = end - System.nanoTime();
            if (left <= 0 || Thread.currentThread().isInterrupted()) {
                throw overdue(answered.state);
            }
            await(answered.state, left);
        }
        return answered;
    }

    private void answer(Wanted one, @Nullable LeasedRange range) {
        one.isAnswered = true;
        one.range = range == null ? null : new GeneratorRange(range.first(), range.count());
    }

    private ReplicaMessage.Lease ask(Leased leased) {
        long now = System.nanoTime();
        boolean quick = now - leased.askedNanos < QUICK.toNanos();
        leased.count = quick ? Math.min(2 * leased.count, COUNT_MAX) : COUNT_FIRST;
        leased.askedNanos = now;
        leased.isAsked = true;
        long request = ++lastRequest;
        asked.put(request, leased);
        return new ReplicaMessage.Lease(request, leased.seen, leased.count, leased.state);
    }

    /** Null if it is on its way. */
    private @Nullable GroupException send(ReplicaMessage.Lease request) {
        try {
            sender.accept(request);
            return null;
        } catch (GroupException e) {
            synchronized (this) {
                Leased leased = asked.remove(request.request());
                if (leased != null) {
                    leased.isAsked = false;
                    notifyAll();
                }
            }
            return e;
        }
    }

    /** What this run has asked for is ordered; null if the schema had changed before. */
    synchronized void granted(long request, @Nullable LeasedRange range) {
        Wanted one = wanted.get(request);
        if (one != null) {
            answer(one, range);
            notifyAll();
            return;
        }
        Leased leased = asked.remove(request);
        if (leased == null) {
            return; // asked for by an earlier run, or before a schema change
        }
        leased.isAsked = false;
        leased.outdated = range == null;
        leased.usedUp = range != null && range.count() == 0;
        leased.following = leased.usedUp ? null : range;
        notifyAll();
    }

    /** The schema changes: nothing that was leased counts any more. */
    synchronized void clear() {
        all.clear();
        asked.clear();
        wanted.values().forEach(one -> answer(one, null));
        notifyAll();
    }
}
