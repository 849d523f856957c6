package org.gorda.replicator.engine;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;

/** Counts what local transactions were refused for, since the start. Thread-safe. */
final class Refusals {

    private final Map<Refusal.Cause, LongAdder> counters = new EnumMap<>(Refusal.Cause.class);

    Refusals() {
        for (Refusal.Cause cause : Refusal.Cause.values()) {
            counters.put(cause, new LongAdder());
        }
    }

    void count(Refusal.Cause cause) {
        LongAdder counter = counters.get(cause);
        if (counter != null) {
            counter.increment();
        }
    }

    /** Counted, to be thrown. */
    RefusedException refuse(Refusal.Cause cause, String message) {
        count(cause);
        return new RefusedException(new Refusal(cause, message));
    }

    /** As it was thrown. Who is interrupted gives way, which is counted there. */
    RefusedException counted(RefusedException refused) {
        if (!Thread.currentThread().isInterrupted()) {
            count(refused.refusal().cause());
        }
        return refused;
    }

    /** Those that there were. */
    Map<Refusal.Cause, Long> counts() {
        Map<Refusal.Cause, Long> counts = new EnumMap<>(Refusal.Cause.class);
        counters.forEach((cause, counter) -> {
            if (counter.sum() > 0) {
                counts.put(cause, counter.sum());
            }
        });
        return counts;
    }
}
