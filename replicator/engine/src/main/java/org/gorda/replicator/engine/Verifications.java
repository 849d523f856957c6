package org.gorda.replicator.engine;

import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.gorda.gapi.Applier;
import org.gorda.gapi.TableShape;

/** What this replica held at the places in the order where all were to compare that, and who waits for it here. Thread-safe. */
final class Verifications {

    private static final int KEPT = 16;

    private final Map<Long, CompletableFuture<Verification>> awaited = new ConcurrentHashMap<>();

    /** Guarded by itself: who asks does not wait while a large one is being made. */
    private final Map<Long, Verification> made = new LinkedHashMap<>();

    /** Has a future for one that is about to be asked for; to be {@linkplain #forget forgotten} in the end. */
    CompletableFuture<Verification> await(long request) {
        CompletableFuture<Verification> future = new CompletableFuture<>();
        awaited.put(request, future);
        return future;
    }

    void forget(long request) {
        awaited.remove(request);
    }

    /** Nobody will make those that are waited for. */
    void giveUp(Exception why) {
        awaited.values().forEach(future -> future.completeExceptionally(why));
    }

    void made(Verification verification) {
        synchronized (made) {
            made.put(verification.request(), verification);
            if (made.size() > KEPT) {
                made.remove(made.keySet().iterator().next());
            }
        }
        CompletableFuture<Verification> future = awaited.remove(verification.request());
        if (future != null) {
            future.complete(verification);
        }
    }

    void failed(long request, Exception why) {
        CompletableFuture<Verification> future = awaited.remove(request);
        if (future != null) {
            future.completeExceptionally(why);
        }
    }

    /** Empty if this replica has not got there, or long ago. */
    Optional<Verification> find(long request) {
        synchronized (made) {
            return Optional.ofNullable(made.get(request));
        }
    }

    /** Reads all tables, one after the other, as the applier sees them. */
    static List<TableChecksum> checksums(Applier applier, List<TableShape> tables) throws SQLException, IOException {
        List<TableChecksum> checksums = new ArrayList<>();
        try {
            for (TableShape table : tables) {
                checksums.add(TableChecksum.of(applier, table));
                applier.rollback(); // and lets its lock go: nothing becomes visible before this is over
            }
        } finally {
            applier.rollback();
        }
        return checksums;
    }
}
