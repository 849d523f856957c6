package org.gorda.bindings.sqlite;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.gorda.bindings.triggers.TriggeredDatabase;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TransactionListener;

/**
 * The binding for SQLite, configured by the name {@code sqlite}: a database in a directory of its own, used in the replica's own process. {@code docs/sqlite.md} lists what it
 * refuses. Thread-safe.
 */
public final class SqliteBinding implements DatabaseBinding {

    /** For {@link java.util.ServiceLoader}. */
    public SqliteBinding() {}

    @Override
    public String name() {
        return "sqlite";
    }

    @Override
    public Set<Capability> capabilities() {
        return TriggeredDatabase.CAPABILITIES;
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        return TriggeredDatabase.open("SQLite", SqliteDialect::new, configuration, listener);
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        SqliteFiles.DIRECTORY.load(snapshot, Path.of(configuration.location()));
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        SqliteFiles.DIRECTORY.drop(Path.of(configuration.location()));
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) throws SQLException {
        boolean isSqlite = connection.getMetaData().getDatabaseProductName().equals("SQLite");
        return isSqlite ? Optional.of(SqliteCheck.FITNESS.findings(connection)) : Optional.empty();
    }
}
