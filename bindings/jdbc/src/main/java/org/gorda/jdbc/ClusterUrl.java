package org.gorda.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;

/**
 * {@code jdbc:gorda://host:port,.../DB;key=value;...}: this JVM is a client of replica processes. Immutable.
 *
 * @param nodes the replicas' service addresses, {@code host:port}
 * @param database the name under which the replicas know the database
 * @param connectTimeout how long to look for a primary
 * @param retries how often a transaction that lost a conflict is run again at the most
 * @param sessionReads whether a reader must have what the connection saw or wrote before
 * @param tls where it stands how the replicas are spoken to, null if nothing is encrypted
 * @param properties for the engine's own driver
 */
record ClusterUrl(
        List<String> nodes,
        String database,
        Duration connectTimeout,
        int retries,
        boolean sessionReads,
        Tls.@Nullable Place tls,
        Properties properties) {

    private static final String PREFIX = "jdbc:gorda://";
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(30);

    static ClusterUrl parse(String url, Properties info) throws SQLException {
        UrlSettings settings = UrlSettings.parse(Setting.Use.CLUSTER, url.substring(PREFIX.length()), info, List.of());
        String head = settings.head();
        int slash = head.indexOf('/');
        if (slash <= 0) {
            throw UrlSettings.bad("'" + UrlSettings.withoutSettings(url)
                    + "' names no database: write jdbc:gorda://host:port,host:port,host:port/DATABASE");
        }
        List<String> nodes = Arrays.stream(head.substring(0, slash).split(",", -1))
                .map(String::strip)
                .toList();
        for (String node : nodes) {
            if (!node.matches("([^:]+|\\[[^\\]]+\\]):\\d{1,5}")
                    || Integer.parseInt(node.substring(node.lastIndexOf(':') + 1)) > 65535) {
                throw UrlSettings.bad("'" + node + "' in the URL is not host:port");
            }
        }
        return new ClusterUrl(
                nodes,
                head.substring(slash + 1),
                settings.connectTimeout(CONNECT_TIMEOUT),
                settings.retries(),
                settings.sessionReads(),
                settings.tls(),
                settings.driverProperties());
    }
}
