package org.gorda.bindings.derby;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
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
    private final Set<LanguageConnectionContext> schemaChanges = ConcurrentHashMap.newKeySet();
    private final AtomicLong ended = new AtomicLong();
    private volatile Map<Long, CapturedTable> byHeap = new ConcurrentHashMap<>();

    /** The connection's transaction changes the schema; it may have told so before. */
    void schemaChangeBegins(LanguageConnectionContext connection) {
        schemaChanges.add(connection);
        byHeap = new ConcurrentHashMap<>();
    }

    /** The connection's transaction has ended, or the connection; it need not have changed the schema. */
    void schemaChangeEnded(LanguageConnectionContext connection) {
        if (schemaChanges.contains(connection)) {
            byHeap = new ConcurrentHashMap<>();
            schemaChanges.remove(connection);
            ended.incrementAndGet();
        }
    }

    /** How many transactions that change the schema have ended: who keeps something of the catalogue compares. */
    long ended() {
        return ended.get();
    }

    /** For tests. */
    int kept() {
        return byHeap.size();
    }

    /** The table of a heap, null if it is none that can be changed by clients. */
    @Nullable
    CapturedTable ofHeap(LanguageConnectionContext lcc, long heapId) throws StandardException {
        // Taken before the catalogue is asked: what was found before a schema change is put where nobody looks any
        // more.
        Map<Long, CapturedTable> kept = byHeap;
        // A transaction that changes the catalogue sees what is for none but it.
        boolean changesSchema = lcc.dataDictionaryInWriteMode();
        CapturedTable known = changesSchema ? null : kept.get(heapId);
        if (known != null) {
            return known;
        }
        boolean keep = !changesSchema && schemaChanges.isEmpty();
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
