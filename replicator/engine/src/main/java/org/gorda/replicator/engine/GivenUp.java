package org.gorda.replicator.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.gorda.gapi.TransactionId;

/**
 * Transactions that were found not to have happened because somebody asked. The group remembers that for so many places in the order only, and who runs here
 * may ask to be committed later than that. Added to by one thread, asked by any.
 */
final class GivenUp {

    /** If there are more, the oldest are forgotten, and who may be one of those does not happen. */
    static final int REMEMBERED_MAX = 10_000;

    private final Map<TransactionId, Long> places = new ConcurrentHashMap<>();
    private final Deque<TransactionId> oldestFirst = new ArrayDeque<>();

    /** Up to this place some may be forgotten. */
    private volatile long forgotten;

    /** Before this place counts as executed. */
    void add(TransactionId id, long index) {
        if (places.put(id, index) == null) {
            oldestFirst.addLast(id);
        }
        if (oldestFirst.size() > REMEMBERED_MAX) {
            TransactionId oldest = oldestFirst.removeFirst();
            forgotten = Math.max(forgotten, places.getOrDefault(oldest, index)); // before nobody finds it any more
            places.remove(oldest);
        }
    }

    /**
     * Whether a transaction may have been given up: the group may not know it any more where this one is ordered.
     *
     * @param begunAt the place that was shown when it began
     */
    boolean mayHold(TransactionId id, long begunAt) {
        return places.containsKey(id) || begunAt < forgotten;
    }
}
