package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectionException;
import org.jspecify.annotations.Nullable;

/** What a replica needs in its database. Stateless. */
final class Installation {

    /** As replicas use a database: names in what is installed are written with their schemas. In a deadlock another one gives up. */
    private static final String SETTINGS = "SET LOCAL search_path TO pg_catalog, pg_temp;"
            + " SET LOCAL client_min_messages TO warning; SET LOCAL deadlock_timeout TO '1h'; ";

    /** What scripts have of each other, by its name in them. */
    private static final List<String> QUERIES = List.of("ambiguous", "hashed", "hiding", "uncopied", "unseen");

    private Installation() {}

    /**
     * Installs what is needed, or what has changed of it, for those who have the token.
     *
     * @param connection not in autocommit mode; committed
     * @param returning whether statements may return their rows in place of triggers that tell of them
     * @throws ReflectionException if a replica cannot use the database at all
     */
    static void install(Connection connection, String token, boolean returning) throws SQLException {
        for (Finding obstacle : findings(connection, "fit.sql")) {
            throw new ReflectionException(obstacle.object() + ": " + obstacle.problem() + "; " + obstacle.fix());
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute(SETTINGS
                    + script("install.sql")
                            .replace("${digest}", digest(token))
                            .replace("${returning}", Boolean.toString(returning)));
            statement.execute("SET LOCAL session_replication_role TO replica; "
                    + script("generators.sql").replace("${digest}", digest(token)));
            statement.execute("SET LOCAL gorda.changed TO '*'; SELECT gorda.adopt()");
            connection.commit();
        }
    }

    /** The same with what is the default. */
    static void install(Connection connection, String token) throws SQLException {
        install(connection, token, true);
    }

    /**
     * Removes all that was installed, and forgets the position.
     *
     * @param connection not in autocommit mode; committed
     */
    static void uninstall(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(SETTINGS + script("uninstall.sql"));
            connection.commit();
        }
    }

    /** What in a database cannot be replicated, as far as its catalogue shows it. */
    static List<Finding> findings(Connection connection) throws SQLException {
        List<Finding> found = new ArrayList<>(findings(connection, "fit.sql"));
        found.addAll(findings(connection, "check.sql"));
        return found;
    }

    private static List<Finding> findings(Connection connection, String script) throws SQLException {
        List<Finding> found = new ArrayList<>();
        for (List<@Nullable String> row : SqlSession.of(connection).query(script(script))) {
            found.add(new Finding(
                    "t".equals(row.get(0)),
                    Objects.requireNonNull(row.get(1)),
                    Objects.requireNonNull(row.get(2)),
                    Objects.requireNonNull(row.get(3))));
        }
        return found;
    }

    /** With the queries that are in several. */
    static String script(String name) {
        String script = resource(name);
        for (String query : QUERIES) {
            script = script.replace("${" + query + "}", resource(query + ".sql"));
        }
        return script;
    }

    private static String resource(String name) {
        try (InputStream in = Objects.requireNonNull(Installation.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new ReflectionException("the script " + name + " cannot be read", e);
        }
    }

    private static String digest(String token) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
