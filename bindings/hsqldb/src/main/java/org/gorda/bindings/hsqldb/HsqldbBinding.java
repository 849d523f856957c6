package org.gorda.bindings.hsqldb;

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
 * The binding for HSQLDB, configured by the name {@code hsqldb}: a database in a directory of its own, used in the replica's own process and held in its memory. {@code
 * docs/hsqldb.md} lists what it refuses. Thread-safe.
 */
public final class HsqldbBinding implements DatabaseBinding {

    /** For {@link java.util.ServiceLoader}. */
    public HsqldbBinding() {}

    @Override
    public String name() {
        return "hsqldb";
    }

    @Override
    public Set<Capability> capabilities() {
        return TriggeredDatabase.CAPABILITIES;
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        return TriggeredDatabase.open("HSQLDB", HsqldbDialect::new, configuration, listener);
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        HsqldbFiles.DIRECTORY.load(snapshot, Path.of(configuration.location()));
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        HsqldbFiles.DIRECTORY.drop(Path.of(configuration.location()));
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) throws SQLException {
        boolean isHsqldb = connection.getMetaData().getDatabaseProductName().equals("HSQL Database Engine");
        return isHsqldb ? Optional.of(HsqldbCheck.FITNESS.findings(connection)) : Optional.empty();
    }
}
