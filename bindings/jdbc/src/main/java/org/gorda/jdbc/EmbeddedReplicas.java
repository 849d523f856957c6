package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.HashMap;
import java.util.Map;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaState;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Tls;

/**
 * The replicas in this JVM, one per database, started by the first connection and closed with the JVM or by {@code shutdown=true}.
 * Connections are the engine's own: what they do is seen from inside. Thread-safe.
 */
final class EmbeddedReplicas {

    /** With the settings of the URL by which it was started. */
    private record Started(Replica replica, Map<Setting, String> settings) {}

    private static final Map<String, Started> REPLICAS = new HashMap<>();

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
        synchronized (REPLICAS) {
            Started known = REPLICAS.get(url.location());
            if (known != null && known.replica().status().state() != ReplicaState.STOPPED) {
                requireSame(known.settings(), url);
                return known.replica();
            }
            try {
                Replica.Builder builder = Replica.builder().database(url.binding(), url.location());
                url.attributes().forEach(builder::attribute);
                url.settings().forEach((Setting setting, String value) -> setting.apply(builder, value));
                Replica started = builder.tls(Tls.of(url.settings()::get)).start();
                REPLICAS.put(url.location(), new Started(started, url.settings()));
                return started;
            } catch (ReplicaException e) {
                throw new SQLNonTransientConnectionException(e.getMessage(), isRejection(e) ? "08004" : "08001", e);
            }
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
        Started ending;
        synchronized (REPLICAS) {
            ending = REPLICAS.remove(url.location());
        }
        if (ending != null) {
            ending.replica().close();
        }
        // As engines do: a shutdown is told by an exception.
        throw new SQLNonTransientConnectionException("the replica of " + url.location() + " is shut down", "08006");
    }

    private static void closeAll() {
        synchronized (REPLICAS) {
            REPLICAS.values().forEach(started -> started.replica().close());
            REPLICAS.clear();
        }
    }
}
