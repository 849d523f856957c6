package org.gorda.jdbc;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.gorda.replicator.engine.Setting;

/**
 * {@code jdbc:gorda:ENGINE:LOCATION;key=value;...}: this JVM is a replica. Immutable.
 *
 * @param binding the kind of database
 * @param location the database itself, as the binding names it
 * @param settings of the replica
 * @param said those of them that the URL and the properties beside it give; the others are of the environment or of a file
 * @param attributes of the database's own
 * @param credentials of this connection
 * @param connectTimeout how long to wait for a primary
 * @param retries how often a transaction that lost a conflict is run again at the most
 * @param shutdown whether the replica is to be ended
 */
record EmbeddedUrl(
        String binding,
        String location,
        Map<Setting, String> settings,
        Set<Setting> said,
        Map<String, String> attributes,
        Properties credentials,
        Duration connectTimeout,
        int retries,
        boolean shutdown) {

    private static final String PREFIX = "jdbc:gorda:";
    private static final String DERBY = "derby";

    /** Java's system property for the directory that relative paths are taken from; without it that is the working directory. */
    private static final String DERBY_HOME = "derby.system.home";

    /** Before the name of a database that is in no directory. */
    private static final String IN_MEMORY = "memory:";

    private static final Duration CONNECT_TIMEOUT = Duration.ofMinutes(2);

    /** Attributes that Derby knows in a URL and that mean something for a replicated database, or that the binding refuses with a reason. */
    private static final Set<String> DERBY_ATTRIBUTES = Set.of(
            "territory",
            "collation",
            "create",
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
        if (colon <= 0 || !rest.substring(0, colon).matches("[a-z][a-z0-9]*")) {
            throw UrlSettings.bad("'" + UrlSettings.withoutSettings(url)
                    + "' names no engine: write jdbc:gorda:derby:PATH;group=...;members=... for a"
                    + " replica in this JVM, or jdbc:gorda://HOST:PORT,.../DATABASE for replica processes");
        }
        UrlSettings given = UrlSettings.parse(Setting.Use.EMBEDDED, rest.substring(colon + 1), info, DERBY_ATTRIBUTES);
        Map<Setting, String> settings = new LinkedHashMap<>();
        Map<String, String> attributes = new LinkedHashMap<>();
        given.values()
                .forEach((key, value) -> Setting.of(key)
                        .ifPresentOrElse(setting -> settings.put(setting, value), () -> attributes.put(key, value)));
        boolean shutdown = "true".equals(attributes.remove("shutdown"));
        attributes.remove("create");
        String binding = rest.substring(0, colon);
        return new EmbeddedUrl(
                binding,
                binding.equals(DERBY) ? path(given.head()) : given.head(),
                Map.copyOf(settings),
                given.said().stream().flatMap(key -> Setting.of(key).stream()).collect(Collectors.toSet()),
                Map.copyOf(attributes),
                given.credentials(),
                given.connectTimeout(CONNECT_TIMEOUT),
                given.retries(),
                shutdown);
    }

    /** As Derby takes one, so that all that is done with the database is done with the same, and all connections name it the same. */
    private static String path(String location) throws SQLException {
        try {
            String home = System.getProperty(DERBY_HOME, "");
            return location.isBlank() || location.startsWith(IN_MEMORY)
                    ? location
                    : Path.of(home).resolve(location.strip()).toAbsolutePath().toString();
        } catch (InvalidPathException e) {
            throw UrlSettings.bad("'" + location + "' in the URL is no path: " + e.getMessage(), e);
        }
    }
}
