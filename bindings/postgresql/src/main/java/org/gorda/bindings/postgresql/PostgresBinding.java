package org.gorda.bindings.postgresql;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.InstalledBinding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;

/**
 * The binding for PostgreSQL, configured by the name {@code postgresql}: a database of a server that runs by itself, {@code //host:port/database}, which belongs
 * to one replica. Thread-safe.
 */
public final class PostgresBinding implements InstalledBinding {

    private static final Set<Capability> CAPABILITIES = Set.copyOf(EnumSet.of(
            Capability.WRITE_SETS,
            Capability.SCHEMA_CHANGES,
            Capability.CERTIFICATION_KEYS,
            Capability.READ_SETS,
            Capability.APPLY,
            Capability.ABORT,
            Capability.DURABLE_POSITION,
            Capability.SNAPSHOT,
            Capability.NETWORK_SERVER));

    private static final String NO_SUCH_DATABASE = "3D000";

    private static final int LOCK_SECONDS_MAX = 10;

    private static final String LONG_TRANSACTIONS =
            "SELECT coalesce(string_agg(format('process %s (%s, %s)', pid, usename, coalesce(nullif(application_name, ''), 'no name')), ', '), 'it has ended')"
                    + " FROM pg_catalog.pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    + " AND xact_start < now() - interval '" + LOCK_SECONDS_MAX + "s'";

    /** For {@link java.util.ServiceLoader}. */
    public PostgresBinding() {}

    @Override
    public String name() {
        return "postgresql";
    }

    @Override
    public Set<Capability> capabilities() {
        return CAPABILITIES;
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        Server server = Server.of(configuration);
        try {
            try {
                return new PostgresDatabase(configuration, listener, server);
            } catch (SQLException e) {
                if (!NO_SUCH_DATABASE.equals(e.getSQLState())) {
                    throw e;
                }
                try (Connection connection = server.maintain();
                        Statement statement = connection.createStatement()) {
                    statement.execute("CREATE DATABASE " + TableShape.quoted(server.database())
                            + " TEMPLATE template0 ENCODING 'UTF8'"); // whatever the server's default is
                }
                return new PostgresDatabase(configuration, listener, server);
            }
        } catch (SQLException e) {
            throw notOpened(server, e);
        }
    }

    private static ReflectionException notOpened(Server server, SQLException why) {
        return new ReflectionException("the database " + server + " cannot be opened: " + why.getMessage(), why);
    }

    @Override
    public boolean isThere(DatabaseConfiguration configuration) {
        Server server = Server.of(configuration);
        try {
            server.connect("").close();
            return true;
        } catch (SQLException e) {
            if (NO_SUCH_DATABASE.equals(e.getSQLState())) {
                return false;
            }
            throw notOpened(server, e);
        }
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        PostgresSnapshot.load(snapshot, Server.of(configuration), false, progress -> {});
    }

    @Override
    public void prepare(Path snapshot, DatabaseConfiguration configuration, Consumer<String> progress) {
        PostgresSnapshot.prepare(snapshot, Server.of(configuration), progress);
    }

    @Override
    public void replace(Path snapshot, DatabaseConfiguration configuration, Consumer<String> progress) {
        PostgresSnapshot.load(snapshot, Server.of(configuration), true, progress);
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        Server server = Server.of(configuration);
        try (Connection connection = server.maintain();
                Statement statement = connection.createStatement()) {
            for (Server one : List.of(server, server.unfinished())) {
                statement.execute("DROP DATABASE IF EXISTS " + TableShape.quoted(one.database()) + " WITH (FORCE)");
            }
        } catch (SQLException e) {
            throw new ReflectionException("the database " + server + " cannot be dropped: " + e.getMessage(), e);
        }
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) throws SQLException {
        boolean isPostgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
        return isPostgres ? Optional.of(Installation.findings(connection)) : Optional.empty();
    }

    @Override
    public void install(Connection connection) throws SQLException {
        String token = UUID.randomUUID().toString(); // which nobody knows until a replica opens it
        change(connection, () -> Installation.install(connection, token));
    }

    @Override
    public void uninstall(Connection connection) throws SQLException {
        change(connection, () -> Installation.uninstall(connection));
    }

    private interface Change {
        void run() throws SQLException;
    }

    /** Changes a database that no replica has open. Others may use it: it does not wait for them for long, as all who come later would, behind it. */
    private static void change(Connection connection, Change change) throws SQLException {
        connection.setAutoCommit(false);
        SqlSession session = SqlSession.of(connection);
        try {
            PostgresDatabase.lock(session, "pg_advisory_xact_lock", "a replica has the database open: stop it first");
            session.query("SET LOCAL lock_timeout TO '" + LOCK_SECONDS_MAX + "s'");
            change.run();
        } catch (SQLException e) {
            connection.rollback();
            if (!PostgresDatabase.LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                throw e;
            }
            throw new ReflectionException(
                    "somebody else has used the database for more than " + LOCK_SECONDS_MAX
                            + " s, nothing was changed: "
                            + session.query(LONG_TRANSACTIONS).get(0).get(0)
                            + "; end that, or wait for it, and try again",
                    e);
        } catch (ReflectionException e) {
            connection.rollback();
            throw e;
        }
    }
}
