package org.gorda.jdbc;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;

/**
 * {@code jdbc:gorda:ENGINE:LOCATION;key=value;...}: this JVM is a replica. Immutable.
 *
 * @param binding the kind of database
 * @param location the database itself, as the binding names it
 * @param settings of the replica
 * @param attributes of the database's own
 * @param credentials of this connection
 */
record EmbeddedUrl(
        String binding,
        String location,
        Map<Setting, String> settings,
        Map<String, String> attributes,
        Properties credentials,
        boolean shutdown) {

    private static final String PREFIX = "jdbc:gorda:";

    /** Attributes that Derby knows in a URL and that mean something for a replicated database. */
    private static final Set<String> DERBY_ATTRIBUTES = Set.of(
            "territory",
            "collation",
            "create",
            "user",
            "password",
            "dataEncryption",
            "bootPassword",
            "encryptionAlgorithm",
            "encryptionProvider",
            "encryptionKeyLength",
            "encryptionKey",
            "logDevice",
            "shutdown");

    static EmbeddedUrl parse(String url, Properties info) throws SQLException {
        String rest = url.substring(PREFIX.length());
        int colon = rest.indexOf(':');
        if (colon <= 0 || !rest.substring(0, colon).matches("[a-z]+")) {
            throw UrlSettings.bad(
                    "'" + url + "' names no engine: write jdbc:gorda:derby:PATH;group=...;members=... for a"
                            + " replica in this JVM, or jdbc:gorda://HOST:PORT,.../DATABASE for replica processes");
        }
        UrlSettings given = UrlSettings.parse(rest.substring(colon + 1), info);
        Map<Setting, String> settings = new LinkedHashMap<>();
        Map<String, String> attributes = new LinkedHashMap<>();
        Properties credentials = new Properties();
        for (Map.Entry<String, String> entry : given.values().entrySet()) {
            var setting = Setting.of(entry.getKey());
            if (setting.isPresent()) {
                settings.put(setting.get(), entry.getValue());
            } else if (entry.getKey().equals("user") || entry.getKey().equals("password")) {
                credentials.setProperty(entry.getKey(), entry.getValue());
            } else if (DERBY_ATTRIBUTES.contains(entry.getKey())) {
                attributes.put(entry.getKey(), entry.getValue());
            } else {
                ReplicaException unknown = Setting.unknown(entry.getKey(), DERBY_ATTRIBUTES.stream());
                throw new SQLNonTransientConnectionException(unknown.getMessage(), "08001", unknown);
            }
        }
        boolean shutdown = "true".equals(attributes.remove("shutdown"));
        attributes.remove("create");
        return new EmbeddedUrl(
                rest.substring(0, colon),
                given.head(),
                Map.copyOf(settings),
                Map.copyOf(attributes),
                credentials,
                shutdown);
    }
}
