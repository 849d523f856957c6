package org.gorda.bindings.h2;

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
 * The binding for H2, configured by the name {@code h2}: a database in a directory of its own, used in the replica's own process. {@code docs/h2.md} lists what
 * it refuses. Thread-safe.
 */
public final class H2Binding implements DatabaseBinding {

    /** For {@link java.util.ServiceLoader}. */
    public H2Binding() {}

    @Override
    public String name() {
        return "h2";
    }

    @Override
    public Set<Capability> capabilities() {
        return TriggeredDatabase.CAPABILITIES;
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        return TriggeredDatabase.open("H2", H2Dialect::new, configuration, listener);
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        H2Files.DIRECTORY.load(snapshot, Path.of(configuration.location()));
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        H2Files.DIRECTORY.drop(Path.of(configuration.location()));
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) throws SQLException {
        boolean isH2 = connection.getMetaData().getDatabaseProductName().equals("H2");
        return isH2 ? Optional.of(H2Check.FITNESS.findings(connection)) : Optional.empty();
    }
}
