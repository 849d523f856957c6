package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.gorda.gapi.Capability;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has local transactions wait before they write while a replica falls behind, as {@link Lags} says. Replicas tell each other outside the order what they
 * show; each goes by what it has heard, because nothing that is decided depends on it. Thread-safe.
 */
final class FlowControl implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(FlowControl.class);

    /** How often replicas tell each other. */
    private static final Duration TELL = Duration.ofMillis(100);

    /** How often who has nothing new to tell, and nothing to catch up with, says that it is there. */
    private static final Duration TELL_AGAIN = Lags.SILENCE.dividedBy(5);

    private static final long POLL_NANOS = 2_000_000;

    /** Over how many rounds of telling the share is averaged: about ten seconds. */
    private static final int AVERAGED = 100;

    private final MemberId self;
    private final Supplier<View> view;
    private final LongSupplier shown;
    private final BooleanSupplier isOnline;
    private final Set<Capability> capabilities;
    private final BiConsumer<MemberId, DirectMessage.Shown> sender;
    private final Runnable onRound;
    private final Runnable onOut;

    /** Guarded by itself. */
    private final Lags lags;

    private final Thread teller;
    private volatile long delayNanos;
    private volatile boolean waited;
    private volatile @Nullable MemberId slowest;
    private volatile long lag;
    private volatile double share;
    private volatile boolean closed;
    private boolean wasOut;

    /** What was told last, and when. */
    private DirectMessage.@Nullable Shown told;

    private long toldNanos;

    /**
     * @param shown up to where this replica shows everything
     * @param isOnline whether it is worth waiting for; otherwise nobody is told
     * @param capabilities of this replica's database
     * @param sender tells one of the others
     * @param onRound ten times a second or so
     * @param onOut the others wait no longer for this replica
     */
    FlowControl(
            MemberId self,
            Lags lags,
            Supplier<View> view,
            LongSupplier shown,
            BooleanSupplier isOnline,
            Set<Capability> capabilities,
            BiConsumer<MemberId, DirectMessage.Shown> sender,
            Runnable onRound,
            Runnable onOut) {
        this.self = self;
        this.lags = lags;
        this.view = view;
        this.shown = shown;
        this.isOnline = isOnline;
        this.capabilities = capabilities;
        this.sender = sender;
        this.onRound = onRound;
        this.onOut = onOut;
        this.teller = new Thread(this::run, "gorda-flow-" + self);
        teller.setDaemon(true);
    }

    void start() {
        teller.start();
    }

    /** Another replica has told this. */
    void heard(MemberId from, DirectMessage.Shown message) {
        synchronized (lags) {
            long now = System.nanoTime();
            lookAtSelf(now);
            lags.heard(from, message.index(), message.keptUp(), now);
            judge(now);
        }
    }

    private void lookAtSelf(long now) {
        if (isOnline.getAsBoolean()) {
            lags.heard(self, shown.getAsLong(), false, now);
        } else {
            lags.forget(self);
        }
    }

    private void judge(long now) {
        lags.update(view.get().members(), now);
        slowest = lags.slowest();
        lag = lags.lag();
        delayNanos = lags.delay().toNanos();
    }

    private void run() {
        while (!closed) {
            try {
                round();
            } catch (RuntimeException | Error e) { // without this thread the others would wait for nobody, or for ever
                LOG.warn("{}: could not tell how far it is, or hear it", self, e);
            }
            LockSupport.parkNanos(TELL.toNanos());
        }
    }

    private void round() {
        onRound.run();
        boolean isOut = update();
        if (isOnline.getAsBoolean()) {
            tell();
        }
        if (isOut && !wasOut) {
            onOut.run();
        }
        wasOut = isOut;
    }

    private void tell() {
        boolean keptUp;
        boolean isBehind;
        synchronized (lags) {
            keptUp = lags.counts(self);
            isBehind = lags.lag(self) > 0;
        }
        DirectMessage.Shown message = new DirectMessage.Shown(shown.getAsLong(), keptUp, capabilities);
        long now = System.nanoTime();
        if (message.equals(told) && !isBehind && now - toldNanos < TELL_AGAIN.toNanos()) {
            return; // each message wakes a processor
        }
        told = message;
        toldNanos = now;
        View current = view.get();
        current.members().forEach(member -> tell(member, message));
        current.learners().forEach(member -> tell(member, message));
    }

    private void tell(MemberId member, DirectMessage.Shown message) {
        if (!member.equals(self)) {
            try {
                sender.accept(member, message);
            } catch (GroupException e) {
                // It is away, or will hear of it the next time.
            }
        }
    }

    private boolean update() {
        synchronized (lags) {
            long now = System.nanoTime();
            lookAtSelf(now);
            judge(now);
            boolean isWaiting = waited && delayNanos > 0;
            waited = false;
            share += ((isWaiting ? 1 : 0) - share) / AVERAGED;
            return lags.isOut(self);
        }
    }

    /** Whether transactions wait. */
    boolean isPacing() {
        return delayNanos > 0;
    }

    /**
     * Waits before a transaction writes. An interrupt ends it.
     *
     * @param patience how long at most
     * @throws RefusedException if that was not enough, or if it was interrupted
     */
    void pace(Duration patience) {
        long begin = System.nanoTime();
        long delay = delayNanos;
        while (delay > 0 && System.nanoTime() - begin < delay) {
            waited = true;
            if (System.nanoTime() - begin > patience.toNanos()) {
                throw new RefusedException(new Refusal(
                        Refusal.Cause.OVERDUE,
                        "replica " + slowest + " is " + lag + " transactions behind, and no more are taken until it is"
                                + " nearer: run it again"));
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new RefusedException(new Refusal(Refusal.Cause.OVERDUE, "interrupted"));
            }
            LockSupport.parkNanos(Math.min(POLL_NANOS, delay));
            delay = Math.min(delay, delayNanos);
        }
    }

    /** Who is waited for; null if nobody is. */
    @Nullable
    MemberId slowest() {
        return isPacing() ? slowest : null;
    }

    /** Who of the others shows most, as far as they have told lately, if that is more than up to a place in the order; null if nobody does. */
    @Nullable
    MemberId furthest(long beyond) {
        synchronized (lags) {
            return lags.furthest(self, beyond, System.nanoTime());
        }
    }

    /** In which share of the last ten seconds or so transactions have waited, 0 to 1. */
    double share() {
        return share;
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(teller);
    }
}
