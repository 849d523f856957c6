package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * How far each replica lies behind the one that shows most, and how much others wait for it. Who lies behind is waited for: not at all up to half
 * of what is allowed, more and more from there on, and so that it falls no farther behind at the end. But only for a while: who
 * has not come nearer by then is put out, that is, not waited for before it has caught up. Whoever is silent or comes back from far is not
 * waited for either. No clock, no threads; confined to its caller.
 */
final class Lags {

    /** What {@link #delay} is at the end: wait until it is less. */
    static final Duration STOP = Duration.ofNanos(Long.MAX_VALUE);

    /** Just before the end. */
    private static final Duration DELAY_MAX = Duration.ofMillis(50);

    /** Who has said nothing for so long is away, which is not this one's matter. */
    static final Duration SILENCE = Duration.ofSeconds(2);

    private static final class Replica {
        long shown;

        /** How many places it was behind when it told so: what others have shown since says nothing. */
        long lag;

        long heardNanos;
        boolean counts;
        boolean out;

        /** Since when it has been behind by half of what is allowed; only if it is. */
        long behindNanos;

        boolean behind;
    }

    private final long lagMax;
    private final Duration patience;
    private final Map<MemberId, Replica> replicas = new HashMap<>();
    private @Nullable MemberId slowest;
    private long lag;

    /**
     * @param lagMax how many transactions a replica may be behind
     * @param patience how long it may be behind by more than half of that
     */
    Lags(long lagMax, Duration patience) {
        this.lagMax = lagMax;
        this.patience = patience;
    }

    /**
     * A replica, this one too, shows everything up to a place in the order now.
     *
     * @param keptUp whether it has been near the others since it is ONLINE and was not put out: goes for who is not known here yet, because this one has
     *     just begun
     */
    void heard(MemberId replica, long shown, boolean keptUp, long nowNanos) {
        Replica known = replicas.get(replica);
        if (known == null) {
            known = new Replica();
            known.counts = keptUp;
            replicas.put(replica, known);
        } else if (shown < known.shown) {
            known.counts = false; // it has begun again
        }
        known.shown = shown;
        known.lag = 0;
        for (Replica other : replicas.values()) {
            // Of who is silent, nothing counts: what an asynchronous primary alone had may be lost with it.
            if (nowNanos - other.heardNanos <= SILENCE.toNanos()) {
                known.lag = Math.max(known.lag, other.shown - shown);
            }
        }
        known.heardNanos = nowNanos;
    }

    /** Knows nothing of a replica any more. */
    void forget(MemberId replica) {
        replicas.remove(replica);
    }

    /** To be called often: who is waited for from now on. */
    void update(Collection<MemberId> members, long nowNanos) {
        replicas.keySet().retainAll(members);
        slowest = null;
        lag = 0;
        for (Map.Entry<MemberId, Replica> entry : replicas.entrySet()) {
            Replica replica = entry.getValue();
            judge(replica, nowNanos);
            if (replica.counts && replica.lag > lag) {
                slowest = entry.getKey();
                lag = replica.lag;
            }
        }
    }

    private void judge(Replica replica, long nowNanos) {
        if (nowNanos - replica.heardNanos > SILENCE.toNanos()) {
            replica.counts = false;
            replica.behind = false;
        } else if (2 * replica.lag <= lagMax) {
            replica.counts = true;
            replica.behind = false;
            replica.out = false;
        } else if (!replica.behind) {
            replica.behind = true;
            replica.behindNanos = nowNanos;
        } else if (replica.counts && nowNanos - replica.behindNanos > patience.toNanos()) {
            replica.counts = false;
            replica.out = true;
        }
    }

    /** How long a transaction waits before it writes: nothing, or {@link #STOP}, or between. */
    Duration delay() {
        if (2 * lag <= lagMax) {
            return Duration.ZERO;
        }
        return lag >= lagMax ? STOP : DELAY_MAX.multipliedBy(2 * lag - lagMax).dividedBy(lagMax);
    }

    /** For whom they wait; null if nobody is behind. */
    @Nullable
    MemberId slowest() {
        return slowest;
    }

    /** How many transactions that one is behind. */
    long lag() {
        return lag;
    }

    /** How many transactions a replica is behind, whether it is waited for or not; 0 if nothing is known of it. */
    long lag(MemberId replica) {
        Replica known = replicas.get(replica);
        return known == null ? 0 : known.lag;
    }

    /** Who shows most, and more than up to some place, of all but one that have said so lately; any of several; null if nobody does. */
    @Nullable
    MemberId furthest(MemberId but, long beyond, long nowNanos) {
        List<MemberId> furthest = new ArrayList<>();
        long most = beyond;
        for (Map.Entry<MemberId, Replica> entry : replicas.entrySet()) {
            Replica replica = entry.getValue();
            boolean isHeard = nowNanos - replica.heardNanos <= SILENCE.toNanos();
            if (!isHeard || entry.getKey().equals(but) || replica.shown <= beyond || replica.shown < most) {
                continue;
            }
            if (replica.shown > most) {
                furthest.clear();
            }
            most = replica.shown;
            furthest.add(entry.getKey());
        }
        return furthest.isEmpty()
                ? null
                : furthest.get(ThreadLocalRandom.current().nextInt(furthest.size()));
    }

    /** Whether a replica is waited for if it falls behind. */
    boolean counts(MemberId replica) {
        Replica known = replicas.get(replica);
        return known != null && known.counts;
    }

    /** Whether a replica was waited for in vain and has not caught up since. */
    boolean isOut(MemberId replica) {
        Replica known = replicas.get(replica);
        return known != null && known.out;
    }
}
