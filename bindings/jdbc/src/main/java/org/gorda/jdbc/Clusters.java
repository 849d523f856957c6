package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The groups of replica processes that this JVM is a client of, each as long as it has connections and a while beyond. Thread-safe. */
final class Clusters {

    private static final Map<List<String>, ClusterMonitor> MONITORS = new ConcurrentHashMap<>();

    private Clusters() {}

    static Connection connect(ClusterUrl url) throws SQLException {
        ClusterMonitor monitor = MONITORS.compute(url.nodes(), (nodes, running) -> {
            ClusterMonitor used = running == null ? new ClusterMonitor(nodes, Clusters::endIfUnused) : running;
            used.enter();
            return used;
        });
        try {
            return ReplayConnection.of(ClusterConnection.open(monitor, url), url.retries());
        } finally {
            monitor.exit();
        }
    }

    /** Who connects meanwhile finds it in use or not at all. */
    private static void endIfUnused(ClusterMonitor monitor) {
        MONITORS.computeIfPresent(
                monitor.nodes(), (nodes, running) -> running == monitor && monitor.endIfUnused() ? null : running);
    }

    /** The driver is deregistered: who still has a connection keeps it, and what is not used ends. */
    static void end() {
        MONITORS.values().forEach(ClusterMonitor::endSoon);
    }
}
