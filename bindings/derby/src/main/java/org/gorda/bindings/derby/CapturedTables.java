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
 * The tables that were used since the last schema change, by their heaps and indexes: to ask the catalogue for each statement would cost more than
 * all the rest of the capture. While a transaction that changes the schema is open nothing is kept. Thread-safe.
 */
final class CapturedTables {

    private volatile Map<TableShape, TableShape> shapes = new ConcurrentHashMap<>();
    private final Set<LanguageConnectionContext> schemaChanges = ConcurrentHashMap.newKeySet();
    private final AtomicLong ended = new AtomicLong();
    private volatile Map<Long, CapturedTable.Container> byContainer = new ConcurrentHashMap<>();

    /** The connection's transaction changes the schema; it may have told so before. */
    void schemaChangeBegins(LanguageConnectionContext connection) {
        schemaChanges.add(connection);
        byContainer = new ConcurrentHashMap<>();
    }

    /** The connection's transaction has ended, or the connection; it need not have changed the schema. */
    void schemaChangeEnded(LanguageConnectionContext connection) {
        if (schemaChanges.contains(connection)) {
            byContainer = new ConcurrentHashMap<>();
            shapes = new ConcurrentHashMap<>();
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
        return byContainer.size();
    }

    /** The table of a heap, null if it is none that can be changed by clients. */
    @Nullable
    CapturedTable ofHeap(LanguageConnectionContext lcc, long heapId) throws StandardException {
        CapturedTable.Container heap = inContainer(lcc, heapId);
        return heap == null ? null : heap.table();
    }

    /** A heap or an index, null if it is of no table that can be changed by clients. */
    CapturedTable.@Nullable Container inContainer(LanguageConnectionContext lcc, long id) throws StandardException {
        // Taken before the catalogue is asked: what was found before a schema change is put where nobody looks any
        // more.
        Map<Long, CapturedTable.Container> kept = byContainer;
        // A transaction that changes the catalogue sees what is for none but it.
        boolean changesSchema = lcc.dataDictionaryInWriteMode();
        CapturedTable.Container known = changesSchema ? null : kept.get(id);
        if (known != null) {
            return known;
        }
        boolean keep = !changesSchema && schemaChanges.isEmpty();
        CapturedTable.Container found = CapturedTable.inContainer(lcc, id);
        if (found == null) {
            return null;
        }
        TableShape shape = shapes.computeIfAbsent(found.table().shape(), same -> same);
        CapturedTable.Container container =
                new CapturedTable.Container(found.table().withShape(shape), found.indexed());
        if (keep) {
            kept.put(id, container);
        }
        return container;
    }
}
