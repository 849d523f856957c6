package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaState;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicas in this JVM, one per database, started by the first connection and closed with the JVM or by {@code shutdown=true}.
 * Connections are the engine's own: what they do is seen from inside. Thread-safe.
 */
final class EmbeddedReplicas {

    /** With the settings of the URL by which it was started. */
    private record Started(Replica replica, Map<Setting, String> settings) {}

    /** Where the replica of one database is, if there is one. Its lock is held while that starts or ends. */
    private static final class Place {
        final ReentrantLock lock = new ReentrantLock();

        /** Guarded by the lock. */
        @Nullable
        Started started;

        /** Somebody waits to end it. */
        volatile boolean ending;

        /** To be called at each step of a start, which is given up if it is not wanted any more. */
        void goOn() {
            if (stopping || ending) {
                throw new ReplicaException(
                        stopping ? "no replica is started: this JVM is stopping" : "the replica is being shut down");
            }
        }

        void close() {
            Started known = started;
            started = null;
            if (known != null) {
                known.replica().close();
            }
        }

        /** Returns whether it is closed, which it is not while it starts for so long. */
        boolean closeWithin(long nanos) {
            try {
                if (!lock.tryLock(nanos, TimeUnit.NANOSECONDS)) {
                    return false;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
            try {
                close();
            } finally {
                lock.unlock();
            }
            return true;
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(EmbeddedReplicas.class);

    /** So long the end of the JVM waits for those that are being started. */
    private static final Duration STARTS_WAIT = Duration.ofSeconds(10);

    private static final Map<String, Place> PLACES = new ConcurrentHashMap<>();

    /** The JVM is. */
    private static volatile boolean stopping;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(EmbeddedReplicas::closeAll, "gorda-shutdown"));
    }

    private EmbeddedReplicas() {}

    static Connection connect(EmbeddedUrl url) throws SQLException {
        if (url.shutdown()) {
            shutdown(url);
        }
        Replica replica = replica(url);
        try {
            replica.awaitPrimary(url.connectTimeout());
        } catch (ReplicaException e) {
            throw new SQLNonTransientConnectionException(e.getMessage(), "08006", e);
        }
        return ReplayConnection.of(replica.connect(url.credentials()), url.retries(), false);
    }

    private static Replica replica(EmbeddedUrl url) throws SQLException {
        Place place = PLACES.computeIfAbsent(url.location(), location -> new Place());
        place.lock.lock();
        try {
            Started known = place.started;
            if (known != null && known.replica().status().state() != ReplicaState.STOPPED) {
                requireSame(known.settings(), url);
                return known.replica();
            }
            place.close();
            place.goOn();
            Replica.Builder builder = Replica.builder().database(url.binding(), url.location());
            url.attributes().forEach(builder::attribute);
            url.settings().forEach((Setting setting, String value) -> setting.apply(builder, value));
            Replica started = builder.tls(Tls.of(url.settings()::get)).start(progress -> place.goOn());
            place.started = new Started(started, url.settings());
            return started;
        } catch (ReplicaException e) {
            throw new SQLNonTransientConnectionException(e.getMessage(), isRejection(e) ? "08004" : "08001", e);
        } finally {
            place.lock.unlock();
        }
    }

    /** Who says nothing of a setting takes it as it is; who says another value would not get what he thinks. */
    private static void requireSame(Map<Setting, String> settings, EmbeddedUrl url) throws SQLException {
        for (Map.Entry<Setting, String> given : url.settings().entrySet()) {
            String key = given.getKey().key();
            String first = settings.get(given.getKey());
            boolean isOfReplica =
                    given.getKey().isFor(Setting.Use.NODE) && !url.credentials().containsKey(key);
            if (isOfReplica && !given.getValue().equals(first)) {
                throw UrlSettings.bad("the replica of " + url.location() + " runs in this JVM and was started "
                        + (first == null ? "without " : "with " + key + "=" + first + ", not with ") + key + "="
                        + given.getValue()
                        + (url.said().contains(given.getKey())
                                ? ": give it as in the URL of the first connection, or leave it out"
                                : ", as the environment or the file of config says: give it in each URL as in that of the"
                                        + " first connection"));
            }
        }
    }

    /** Whether it is the engine that lets this user not in. */
    private static boolean isRejection(ReplicaException failure) {
        Throwable at = failure;
        while (at.getCause() != null && !(at instanceof SQLException)) {
            at = at.getCause();
        }
        return at instanceof SQLException engine && "08004".equals(engine.getSQLState());
    }

    private static void shutdown(EmbeddedUrl url) throws SQLException {
        Place place = PLACES.get(url.location());
        if (place != null) {
            place.ending = true;
            place.lock.lock();
            try {
                place.close();
            } finally {
                place.ending = false;
                place.lock.unlock();
            }
        }
        // As engines do: a shutdown is told by an exception.
        throw new SQLNonTransientConnectionException("the replica of " + url.location() + " is shut down", "08006");
    }

    /** First those that are not being started: a start may stand still, and is not waited for for ever. */
    private static void closeAll() {
        stopping = true;
        long end = System.nanoTime() + STARTS_WAIT.toNanos();
        Map<String, Place> starting = new HashMap<>(PLACES);
        starting.values().removeIf(place -> place.closeWithin(0));
        starting.forEach((location, place) -> {
            if (!place.closeWithin(end - System.nanoTime())) {
                LOG.warn("the replica of {} is still being started or closed, and is left as by a crash", location);
            }
        });
    }
}
