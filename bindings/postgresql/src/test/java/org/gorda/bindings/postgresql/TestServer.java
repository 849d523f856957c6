package org.gorda.bindings.postgresql;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.gorda.gapi.DatabaseConfiguration;

/** The server of all tests of this process, or the one that {@code -Dgorda.test.postgresql=//host:port} names. Thread-safe. */
final class TestServer {

    /** Owned by nobody: the process that it belongs to stops it. */
    private static final String ADDRESS =
            System.getProperty("gorda.test.postgresql", "").isEmpty()
                    ? start()
                    : System.getProperty("gorda.test.postgresql");

    private static final Set<String> MADE = ConcurrentHashMap.newKeySet();

    private TestServer() {}

    private static String start() {
        try {
            EmbeddedPostgres started = EmbeddedPostgres.builder()
                    .setServerConfig("fsync", "off")
                    .setServerConfig("max_connections", "200")
                    .start();
            return "//localhost:" + started.getPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A database of its own for each directory and name. */
    static DatabaseConfiguration configuration(Path directory, String name) {
        String database = "t" + Integer.toHexString(directory.toString().hashCode()) + "_" + name;
        MADE.add(database);
        return new DatabaseConfiguration(
                ADDRESS + "/" + database,
                Map.of("user", "postgres"),
                Duration.ofMillis(200),
                64 << 20,
                directory.resolve(name + ".spool"));
    }

    /** Drops what tests in other directories have left. */
    static void dropOthers(Path directory) throws SQLException {
        String own = "t" + Integer.toHexString(directory.toString().hashCode()) + "_";
        for (String database : Set.copyOf(MADE)) {
            if (!database.startsWith(own)) {
                execute("DROP DATABASE IF EXISTS " + database + " WITH (FORCE)");
                MADE.remove(database);
            }
        }
    }

    /** A session that has nothing to do with us. */
    static Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(url(database));
    }

    /** As the driver takes it, without us. */
    static String url(String database) {
        return "jdbc:postgresql:" + ADDRESS + "/" + database + "?user=postgres";
    }

    static void execute(String sql) throws SQLException {
        try (Connection connection = connect("postgres");
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
