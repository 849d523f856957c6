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
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.gapi.Applier;
import org.gorda.gapi.TableShape;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What this replica held at the places in the order where all were to compare that, and who waits for it here. Thread-safe. */
final class Verifications {

    private static final int KEPT = 16;

    private static final Logger LOG = LoggerFactory.getLogger(Verifications.class);

    private final Map<Long, CompletableFuture<Verification>> awaited = new ConcurrentHashMap<>();

    /** Held while one is made. */
    private final ReentrantLock making = new ReentrantLock();

    private volatile boolean reading;
    private volatile long readNanos = System.nanoTime();

    /** Without one where it was passed over. Guarded by itself: who asks does not wait while a large one is being made. */
    private final Map<Long, Optional<Verification>> made = new LinkedHashMap<>();

    /** Has a future for one that is about to be asked for; to be {@linkplain #forget forgotten} in the end. */
    CompletableFuture<Verification> await(long request) {
        CompletableFuture<Verification> future = new CompletableFuture<>();
        awaited.put(request, future);
        return future;
    }

    /** Nobody waits for it any more. Returns once it is not being made: what its maker relies on may end then. */
    void forget(long request) {
        making.lock();
        try {
            awaited.remove(request);
        } finally {
            making.unlock();
        }
    }

    /** How one is made. */
    interface Maker {
        Verification make() throws SQLException, IOException;
    }

    /**
     * Makes one, and tells who waits for it.
     *
     * @param onlyIfAwaited whether it must not be made when nobody here waits for it any more
     */
    void make(long request, boolean onlyIfAwaited, Maker maker) {
        making.lock();
        try {
            if (!onlyIfAwaited || awaited.containsKey(request)) {
                made(read(maker));
            }
        } catch (SQLException | IOException e) {
            LOG.warn("the tables could not be read for a verification", e);
            failed(request, e);
        } finally {
            making.unlock();
        }
    }

    private Verification read(Maker maker) throws SQLException, IOException {
        reading = true;
        try {
            return maker.make();
        } finally {
            readNanos = System.nanoTime(); // first: who sees that none is read sees this one's end
            reading = false;
        }
    }

    /** Whether the tables are being read. */
    boolean isReading() {
        return reading;
    }

    /** When they were last read, by {@link System#nanoTime}: now, if they are being read. */
    long lastReadNanos() {
        return reading ? System.nanoTime() : readNanos;
    }

    /** Nobody will make those that are waited for. */
    void giveUp(Exception why) {
        awaited.values().forEach(future -> future.completeExceptionally(why));
    }

    /** It is not made here: the database was further already when this run of the replica began. */
    void passOver(long request) {
        keep(request, Optional.empty());
    }

    private void keep(long request, Optional<Verification> verification) {
        synchronized (made) {
            made.put(request, verification);
            if (made.size() > KEPT) {
                made.remove(made.keySet().iterator().next());
            }
        }
    }

    private void made(Verification verification) {
        keep(verification.request(), Optional.of(verification));
        CompletableFuture<Verification> future = awaited.remove(verification.request());
        if (future != null) {
            future.complete(verification);
        }
    }

    private void failed(long request, Exception why) {
        CompletableFuture<Verification> future = awaited.remove(request);
        if (future != null) {
            future.completeExceptionally(why);
        }
    }

    /**
     * Empty if this replica has not got there, or long ago.
     *
     * @throws ReplicaException if it was passed over
     */
    Optional<Verification> find(long request) {
        synchronized (made) {
            Optional<Verification> found = made.getOrDefault(request, Optional.empty());
            if (found.isEmpty() && made.containsKey(request)) {
                throw new ReplicaException(
                        "the replica was started again since that verification was asked for: ask for another one");
            }
            return found;
        }
    }

    /**
     * Reads all tables, one after the other, as the applier sees them.
     *
     * @param seeksDamage whether the database looks for contradictions in what it holds, too
     */
    static List<TableChecksum> checksums(Applier applier, boolean seeksDamage) throws SQLException, IOException {
        List<TableChecksum> checksums = new ArrayList<>();
        try {
            for (TableShape table : applier.tables()) {
                String damage = seeksDamage ? applier.damage(table) : null;
                checksums.add(TableChecksum.of(applier.reading(), table, damage));
                applier.rollback(); // and lets its lock go: nothing becomes visible before this is over
            }
        } finally {
            applier.rollback();
        }
        return checksums;
    }
}
