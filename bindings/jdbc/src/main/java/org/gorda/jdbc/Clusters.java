package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;

/** The groups of replica processes that this JVM is a client of, each as long as it has connections and a while beyond. Thread-safe. */
final class Clusters {

    /** Which replicas, and how they are spoken to. */
    record Key(List<String> nodes, Tls.@Nullable Place tls) {}

    private static final Map<Key, ClusterMonitor> MONITORS = new ConcurrentHashMap<>();

    private Clusters() {}

    static Connection connect(ClusterUrl url) throws SQLException {
        ClusterMonitor monitor = monitor(new Key(url.nodes(), url.tls()));
        try {
            return ReplayConnection.of(ClusterConnection.open(monitor, url), url.retries());
        } finally {
            monitor.exit();
        }
    }

    private static ClusterMonitor monitor(Key key) throws SQLException {
        try {
            return MONITORS.compute(key, (same, running) -> {
                ClusterMonitor used = running == null ? new ClusterMonitor(key, Clusters::endIfUnused) : running;
                used.enter();
                return used;
            });
        } catch (ReplicaException e) {
            throw UrlSettings.bad(String.valueOf(e.getMessage()), e);
        }
    }

    /** Who connects meanwhile finds it in use or not at all. */
    private static void endIfUnused(ClusterMonitor monitor) {
        MONITORS.computeIfPresent(
                monitor.key(), (key, running) -> running == monitor && monitor.endIfUnused() ? null : running);
    }

    /** The driver is deregistered: who still has a connection keeps it, and what is not used ends. */
    static void end() {
        MONITORS.values().forEach(ClusterMonitor::endSoon);
    }
}
