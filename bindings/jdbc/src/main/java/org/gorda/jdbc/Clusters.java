package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Tls;

/** The groups of replica processes that this JVM is a client of, each as long as it has connections and a while beyond. Thread-safe. */
final class Clusters {

    /**
     * By the replicas and how they are spoken to, as texts: Java keeps by what it compares records, and with that the classes of an application that
     * is gone.
     */
    private static final Map<List<String>, ClusterMonitor> MONITORS = new ConcurrentHashMap<>();

    private Clusters() {}

    static Connection connect(ClusterUrl url) throws SQLException {
        ClusterMonitor monitor = monitor(url);
        try {
            return ReplayConnection.of(ClusterConnection.open(monitor, url), url.retries(), true);
        } finally {
            monitor.exit();
        }
    }

    private static ClusterMonitor monitor(ClusterUrl url) throws SQLException {
        try {
            return MONITORS.compute(key(url), (key, running) -> {
                ClusterMonitor used =
                        running == null ? new ClusterMonitor(url.nodes(), url.tls(), Clusters::endIfUnused) : running;
                used.enter();
                return used;
            });
        } catch (ReplicaException e) {
            throw UrlSettings.bad(String.valueOf(e.getMessage()), e);
        }
    }

    private static List<String> key(ClusterUrl url) {
        List<String> key = new ArrayList<>(url.nodes());
        Tls.Place tls = url.tls();
        if (tls != null) {
            key.add(tls.authority().toString());
            key.add(String.valueOf(tls.certificate()));
            key.add(String.valueOf(tls.key()));
        }
        return key;
    }

    /** Who connects meanwhile finds it in use or not at all. */
    private static void endIfUnused(ClusterMonitor monitor) {
        for (List<String> key : MONITORS.keySet()) {
            MONITORS.computeIfPresent(
                    key, (same, running) -> running == monitor && monitor.endIfUnused() ? null : running);
        }
    }

    /** The driver is deregistered: who still has a connection keeps it, and what is not used ends. */
    static void end() {
        MONITORS.values().forEach(ClusterMonitor::endSoon);
        DerbyTrust.leave();
    }
}
