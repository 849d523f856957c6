package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The groups of replica processes that this JVM is a client of. Thread-safe. */
final class Clusters {

    private static final Map<List<String>, ClusterMonitor> MONITORS = new ConcurrentHashMap<>();

    private Clusters() {}

    static Connection connect(ClusterUrl url) throws SQLException {
        ClusterMonitor monitor = MONITORS.computeIfAbsent(url.nodes(), ClusterMonitor::new);
        return ReplayConnection.of(ClusterConnection.open(monitor, url), url.retries());
    }
}
