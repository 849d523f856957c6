package org.gorda.replicator.core;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.jspecify.annotations.Nullable;

/**
 * The last decided transaction of each session, kept for a fixed number of places in the order. A session's transactions follow
 * each other, so that its client can only ask for the last. Confined to the core's caller.
 */
final class Outcomes {

    /** For so many places in the order an outcome can be asked for; the same on all replicas. */
    static final long KEPT = 100_000;

    private record Last(long number, boolean committed, long index) {}

    /** In the order of their index. */
    private final LinkedHashMap<SessionId, Last> bySession = new LinkedHashMap<>();

    /** How the transaction is decided already, or that its session has gone on, for people; null if neither. */
    @Nullable
    String decided(TransactionId id) {
        Last last = bySession.get(id.session());
        if (last == null || last.number() < id.number()) {
            return null;
        }
        if (last.number() > id.number()) {
            return "number " + last.number() + " of its session is decided already, at " + last.index()
                    + ": give each transaction a number of its own, higher than those before";
        }
        return last.committed()
                ? "a transaction of this name is committed already, at " + last.index()
                : "its client had given it up, at " + last.index();
    }

    void put(TransactionId id, boolean committed, long index) {
        bySession.remove(id.session());
        bySession.put(id.session(), new Last(id.number(), committed, index));
        Iterator<Last> oldestFirst = bySession.values().iterator();
        while (oldestFirst.next().index() < index - KEPT) {
            oldestFirst.remove();
        }
    }

    /** Whether everything decided since {@code index} is still known when {@code now} is reached. */
    static boolean covers(long index, long now) {
        return index >= now - KEPT;
    }

    /** The outcome as of {@code index}; a transaction without one is aborted by being asked for. */
    Outcome close(TransactionId id, long since, long index) {
        Last last = bySession.get(id.session());
        if (last != null && last.number() == id.number()) {
            return last.committed() ? Outcome.COMMITTED : Outcome.ABORTED;
        }
        if (last != null && last.number() > id.number()) {
            return Outcome.FORGOTTEN;
        }
        if (last == null && !covers(since, index)) {
            return Outcome.FORGOTTEN;
        }
        put(id, false, index);
        return Outcome.ABORTED;
    }

    int encodedBytes() {
        return 4 + bySession.size() * 33;
    }

    void encode(ByteBuffer target) {
        target.putInt(bySession.size());
        for (Map.Entry<SessionId, Last> entry : bySession.entrySet()) {
            Last last = entry.getValue();
            target.putLong(entry.getKey().high()).putLong(entry.getKey().low());
            target.putLong(last.number()).put((byte) (last.committed() ? 1 : 0)).putLong(last.index());
        }
    }

    void decode(ByteBuffer source) {
        bySession.clear();
        int count = source.getInt();
        for (int i = 0; i < count; i++) {
            SessionId session = new SessionId(source.getLong(), source.getLong());
            bySession.put(session, new Last(source.getLong(), source.get() != 0, source.getLong()));
        }
    }
}
