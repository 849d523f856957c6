package org.gorda.jdbc;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.Function;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Settings;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;

/**
 * A URL's tail, {@code HEAD;key=value;...}, together with the properties given beside it, over which it wins, and what else
 * {@link Settings} finds. Immutable.
 *
 * @param head what stands before the first semicolon
 * @param said the keys that the URL and the properties give, as they do
 * @param values of settings and of the engine's own attributes, by their keys
 */
record UrlSettings(String head, Set<String> said, Map<String, String> values) {

    /** Before what is for the engine's own driver. */
    private static final String DRIVER = "driver.";

    /** What of a URL may be shown: behind it there may be a password. */
    static String withoutSettings(String url) {
        return url.split(";", 2)[0];
    }

    /** @param attributes the keys that the engine knows itself */
    static UrlSettings parse(Setting.Use use, String tail, Properties info, Collection<String> attributes)
            throws SQLException {
        List<String> parts = new ArrayList<>(List.of(tail.split(";", -1)));
        String head = parts.remove(0);
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : info.stringPropertyNames()) {
            values.put(name, info.getProperty(name));
        }
        for (String part : parts) {
            int equals = part.indexOf('=');
            if (equals > 0) {
                values.put(part.substring(0, equals).strip(), part.substring(equals + 1));
            } else if (!part.isBlank()) {
                throw bad("'" + part + "' in the URL is not key=value");
            }
        }
        List<String> others = new ArrayList<>(attributes);
        if (use == Setting.Use.CLUSTER) {
            values.keySet().stream().filter(key -> key.startsWith(DRIVER)).forEach(others::add);
        }
        try {
            return new UrlSettings(head, Set.copyOf(values.keySet()), Settings.complete(use, values, others));
        } catch (ReplicaException e) {
            throw bad(String.valueOf(e.getMessage()), e);
        }
    }

    @Nullable
    String value(Setting setting) {
        return values.get(setting.key());
    }

    /** {@code user} and {@code password}, as drivers want them. */
    Properties credentials() {
        Properties credentials = new Properties();
        for (Setting setting : List.of(Setting.USER, Setting.PASSWORD)) {
            String value = value(setting);
            if (value != null) {
                credentials.setProperty(setting.key(), value);
            }
        }
        return credentials;
    }

    /** As {@link #credentials}, with all that is for the engine's own driver. */
    Properties driverProperties() {
        Properties properties = credentials();
        values.forEach((key, value) -> {
            if (key.startsWith(DRIVER)) {
                properties.setProperty(key.substring(DRIVER.length()), value);
            }
        });
        return properties;
    }

    Duration connectTimeout(Duration standard) throws SQLException {
        return parsed(Setting.CONNECT_TIMEOUT, standard, text -> Setting.duration(Setting.CONNECT_TIMEOUT.key(), text));
    }

    int retries() throws SQLException {
        return parsed(Setting.RETRY, 0, Setting::retries);
    }

    boolean sessionReads() throws SQLException {
        return parsed(Setting.READS, false, Setting::sessionReads);
    }

    Tls.@Nullable Place tls() throws SQLException {
        try {
            return Tls.Place.of(this::value);
        } catch (ReplicaException e) {
            throw bad(String.valueOf(e.getMessage()), e);
        }
    }

    private <T> T parsed(Setting setting, T standard, Function<String, T> parser) throws SQLException {
        String value = value(setting);
        try {
            return value == null ? standard : parser.apply(value);
        } catch (ReplicaException e) {
            throw bad(String.valueOf(e.getMessage()), e);
        }
    }

    static SQLException bad(String message) {
        return bad(message, null);
    }

    static SQLException bad(String message, @Nullable Exception cause) {
        return new SQLNonTransientConnectionException(message, "08001", cause);
    }
}
