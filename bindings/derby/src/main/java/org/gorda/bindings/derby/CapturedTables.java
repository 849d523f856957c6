package org.gorda.bindings.derby;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * The tables that were changed since the last schema change, by their heaps: to ask the catalogue for each statement would cost more than
 * all the rest of the capture. While a transaction that changes the schema is open nothing is kept. Thread-safe.
 */
final class CapturedTables {

    private final Map<TableShape, TableShape> shapes = new ConcurrentHashMap<>();
    private final AtomicInteger schemaChanges = new AtomicInteger();
    private volatile Map<Long, CapturedTable> byHeap = new ConcurrentHashMap<>();

    /** A transaction begins to change the schema. */
    void schemaChangeBegins() {
        schemaChanges.incrementAndGet();
        byHeap = new ConcurrentHashMap<>();
    }

    /** A transaction that changed the schema has ended. */
    void schemaChangeEnded() {
        byHeap = new ConcurrentHashMap<>();
        schemaChanges.decrementAndGet();
    }

    /** The table of a heap, null if it is none that can be changed by clients. */
    @Nullable
    CapturedTable ofHeap(LanguageConnectionContext lcc, long heapId) throws StandardException {
        // Taken before the catalogue is asked: what was found before a schema change is put where nobody looks any
        // more.
        Map<Long, CapturedTable> kept = byHeap;
        CapturedTable known = kept.get(heapId);
        if (known != null) {
            return known;
        }
        boolean keep = schemaChanges.get() == 0;
        CapturedTable found = CapturedTable.ofHeap(lcc, heapId);
        if (found == null) {
            return null;
        }
        CapturedTable table = found.withShape(shapes.computeIfAbsent(found.shape(), shape -> shape));
        if (keep) {
            kept.put(heapId, table);
        }
        return table;
    }
}
