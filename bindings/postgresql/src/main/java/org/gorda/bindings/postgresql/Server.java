package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectionException;
import org.postgresql.PGProperty;

/**
 * Where a database is, and as whom the replica uses it. Immutable.
 *
 * @param login user and password
 */
record Server(String host, int port, String database, Properties login) {

    /** How changes are captured: {@code returning}, by what statements return where that is proved to be all, or {@code complete}, always by triggers. */
    static final String CAPTURE = "capture";

    static final String COMPLETE = "complete";
    private static final Set<String> CAPTURES = Set.of("returning", COMPLETE);

    /** How this process's own sessions are called on the server: nobody else's is called so by chance, nor those that a process before has left. */
    static final String APPLICATION = "gorda " + UUID.randomUUID();

    private static final Pattern LOCATION = Pattern.compile("//([^/:,?]+|\\[[^]]+])(?::(\\d{1,5}))?/([^/?&;]+)");

    private static final int PORT = 5432;
    private static final int KNOCK_SECONDS = 5;

    /** Where databases are created and dropped from. */
    private static final String MAINTENANCE = "postgres";

    /** Whatever the server's configuration says: texts of values are read and written alike everywhere, names are written with their schema, and nothing ends the session. */
    private static final String OPTIONS =
            "-c search_path=pg_catalog,pg_temp -c datestyle=ISO,YMD -c intervalstyle=postgres -c timezone=UTC -c bytea_output=hex"
                    + " -c extra_float_digits=1 -c lc_monetary=C -c lc_numeric=C -c lc_time=C -c statement_timeout=0 -c lock_timeout=0"
                    + " -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0 -c row_security=off -c synchronous_commit=local"
                    + " -c standard_conforming_strings=on -c array_nulls=on -c xmloption=content -c default_transaction_isolation=read\\ committed"
                    + " -c default_transaction_read_only=off";

    /** Before that version the server does not know the name. */
    private static final int HAS_TRANSACTION_TIMEOUT = 17;

    /**
     * Changes what others have changed: without triggers, cascades or checks, and never the one who gives up in a deadlock. Functions that
     * constraints, indexes and generated columns call find what they name without its schema as they do in a client's session.
     */
    static final String APPLIES = " -c search_path=pg_catalog,public,pg_temp -c synchronous_commit=off"
            + " -c session_replication_role=replica -c deadlock_timeout=1h";

    /**
     * Reads a location, {@code //host:port/database} as in a URL of PostgreSQL's driver.
     *
     * @throws ReflectionException if it is not one, or if there are settings that are not known
     */
    static Server of(DatabaseConfiguration configuration) {
        Properties login = new Properties();
        configuration.attributes().forEach((name, value) -> {
            if (name.equals(CAPTURE)) {
                if (!CAPTURES.contains(value)) {
                    throw new ReflectionException("capture is '" + value + "', but must be returning or complete");
                }
                return;
            }
            if (!name.equals("user") && !name.equals("password")) {
                throw new ReflectionException("a replicated PostgreSQL database has no setting '" + name
                        + "', only user, password and capture");
            }
            login.setProperty(name, value);
        });
        Matcher location = LOCATION.matcher(configuration.location());
        if (!location.matches()) {
            throw new ReflectionException("a PostgreSQL database is named //host:port/database, which '"
                    + configuration.location() + "' is not");
        }
        String port = location.group(2);
        return new Server(location.group(1), port == null ? PORT : Integer.parseInt(port), location.group(3), login);
    }

    /** A session of our own. */
    Connection connect(String options) throws SQLException {
        return connect(database, options, new Properties());
    }

    /** One whose socket is {@linkplain SharedSockets#take taken}, too. */
    Connection share(String options, String key) throws SQLException {
        Properties shared = new Properties();
        PGProperty.SOCKET_FACTORY.set(shared, SharedSockets.class.getName());
        PGProperty.SOCKET_FACTORY_ARG.set(shared, key);
        PGProperty.SSL_MODE.set(shared, "disable");
        PGProperty.GSS_ENC_MODE.set(shared, "disable");
        return connect(database, options, shared);
    }

    /**
     * Whether somebody would be let in.
     *
     * @throws SQLException why not, or that it takes long
     */
    void knock() throws SQLException {
        Properties hurried = new Properties();
        PGProperty.LOGIN_TIMEOUT.set(hurried, KNOCK_SECONDS);
        connect(database, "", hurried).close();
    }

    /** What it is called while it is made. */
    Server unfinished() {
        return new Server(host, port, database + ".unfinished", login);
    }

    /** A session with the server, from which databases are created and dropped. */
    Connection maintain() throws SQLException {
        return connect(MAINTENANCE, "", new Properties());
    }

    private Connection connect(String to, String options, Properties properties) throws SQLException {
        properties.putAll(login);
        properties.setProperty("options", OPTIONS + options);
        properties.setProperty("ApplicationName", APPLICATION);
        properties.setProperty("stringtype", "unspecified");
        Connection connection =
                DriverManager.getConnection("jdbc:postgresql://" + host + ":" + port + "/" + to, properties);
        try {
            if (connection.getMetaData().getDatabaseMajorVersion() >= HAS_TRANSACTION_TIMEOUT) {
                SqlSession.of(connection).query("SET transaction_timeout TO 0");
            }
            return connection;
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    @Override
    public String toString() {
        return "//" + host + ":" + port + "/" + database;
    }
}
