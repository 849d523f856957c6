package org.gorda.bindings.triggers;

import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectionException;

/** As whom the replica uses a database, and clients who do not say who they are. Immutable. */
public record Owner(String user, String password) {

    private static final Set<String> SETTINGS = Set.of("user", "password");

    /**
     * The one that a database is configured with.
     *
     * @param product for people
     * @param user if it is configured with none
     * @throws ReflectionException if it has other settings
     */
    public static Owner of(DatabaseConfiguration configuration, String product, String user) {
        Map<String, String> attributes = configuration.attributes();
        for (String name : attributes.keySet()) {
            if (!SETTINGS.contains(name)) {
                throw new ReflectionException(
                        "a replicated " + product + " database has no setting '" + name + "', only user and password");
            }
        }
        return new Owner(attributes.getOrDefault("user", user), attributes.getOrDefault("password", ""));
    }

    /** For a driver. */
    public Properties properties() {
        return unless(new Properties());
    }

    /** For a driver, who a client says that it is, or the owner. */
    public Properties unless(Properties client) {
        Properties who = new Properties();
        who.setProperty("user", client.getProperty("user", user));
        who.setProperty("password", client.getProperty("password", client.containsKey("user") ? "" : password));
        return who;
    }
}
