package org.gorda.bindings.derby;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TransactionListener;

/** The binding for Apache Derby, configured by the name {@code derby}. Thread-safe. */
public final class DerbyBinding implements DatabaseBinding {

    private static final Set<Capability> CAPABILITIES = Set.copyOf(EnumSet.allOf(Capability.class));

    /** For {@link java.util.ServiceLoader}. */
    public DerbyBinding() {}

    @Override
    public String name() {
        return "derby";
    }

    @Override
    public Set<Capability> capabilities() {
        return CAPABILITIES;
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        return new DerbyDatabase(configuration, listener);
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        DerbySnapshot.load(snapshot, DerbyLocation.of(configuration));
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        DerbySnapshot.drop(DerbyLocation.of(configuration));
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) throws SQLException {
        boolean isDerby = connection.getMetaData().getDatabaseProductName().equals("Apache Derby");
        return isDerby ? Optional.of(new CatalogueCheck(connection).findings()) : Optional.empty();
    }
}
