package org.gorda.jdbc;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;

/**
 * {@code jdbc:gorda://host:port,.../DB;key=value;...}: this JVM is a client of replica processes. Immutable.
 *
 * @param nodes the replicas' service addresses, {@code host:port}
 * @param database the name under which the replicas know the database
 * @param connectTimeout how long to look for a primary
 * @param properties for the engine's own driver
 */
record ClusterUrl(List<String> nodes, String database, Duration connectTimeout, Properties properties) {

    private static final String PREFIX = "jdbc:gorda://";
    private static final Set<String> KEYS = new LinkedHashSet<>(List.of("connect-timeout", "user", "password"));

    static ClusterUrl parse(String url, Properties info) throws SQLException {
        UrlSettings settings = UrlSettings.parse(url.substring(PREFIX.length()), info);
        String head = settings.head();
        int slash = head.indexOf('/');
        if (slash <= 0) {
            throw UrlSettings.bad(
                    "'" + url + "' names no database: write jdbc:gorda://host:port,host:port,host:port/DATABASE");
        }
        List<String> nodes = Arrays.stream(head.substring(0, slash).split(",", -1))
                .map(String::strip)
                .toList();
        for (String node : nodes) {
            if (!node.matches("[^:]+:\\d{1,5}") || Integer.parseInt(node.substring(node.indexOf(':') + 1)) > 65535) {
                throw UrlSettings.bad("'" + node + "' in the URL is not host:port");
            }
        }
        Properties properties = new Properties();
        settings.values().forEach((key, value) -> properties.put(known(key), value));
        try {
            for (String key : properties.stringPropertyNames()) {
                if (!KEYS.contains(key)) {
                    throw unknown(key);
                }
            }
            Object timeout = properties.remove("connect-timeout");
            Duration connectTimeout = Setting.duration("connect-timeout", timeout == null ? "30s" : timeout.toString());
            return new ClusterUrl(nodes, head.substring(slash + 1), connectTimeout, properties);
        } catch (ReplicaException e) {
            throw new SQLNonTransientConnectionException(e.getMessage(), "08001", e);
        }
    }

    /** A key that we know in its own spelling, whatever the case it is given in. */
    private static String known(String key) {
        String lower = key.toLowerCase(Locale.ROOT);
        return KEYS.contains(lower) ? lower : key;
    }

    private static ReplicaException unknown(String key) {
        boolean ofReplicas = Setting.of(key).isPresent();
        return ofReplicas
                ? new ReplicaException("'" + key + "' is a setting of the replica processes, not of their clients")
                : new ReplicaException("there is no setting '" + key + "' for clients, which have " + KEYS
                        + "; did you mean '" + Setting.nearest(key, KEYS.stream()) + "'?");
    }
}
