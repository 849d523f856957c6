package org.gorda.bindings.triggers;

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

/** The binding of a kind of databases that are used in the replica's own process, each in a directory of its own. Thread-safe. */
public abstract class TriggeredBinding implements DatabaseBinding {

    private static final Set<Capability> CAPABILITIES = Set.copyOf(EnumSet.of(
            Capability.WRITE_SETS,
            Capability.SCHEMA_CHANGES,
            Capability.APPLY,
            Capability.ABORT,
            Capability.SNAPSHOT,
            Capability.DURABLE_POSITION));

    private final String name;
    private final String product;
    private final DatabaseDirectory files;
    private final TriggeredDatabase.Opening opening;
    private final Fitness fitness;

    /**
     * What it has of its own.
     *
     * @param name by which it is configured
     * @param product as the databases call themselves
     */
    protected TriggeredBinding(
            String name, String product, DatabaseDirectory files, TriggeredDatabase.Opening opening, Fitness fitness) {
        this.name = name;
        this.product = product;
        this.files = files;
        this.opening = opening;
        this.fitness = fitness;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final Set<Capability> capabilities() {
        return CAPABILITIES;
    }

    @Override
    public final ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        return TriggeredDatabase.open(files.product(), opening, configuration, listener);
    }

    @Override
    public final void load(Path snapshot, DatabaseConfiguration configuration) {
        files.load(snapshot, Path.of(configuration.location()));
    }

    @Override
    public final void drop(DatabaseConfiguration configuration) {
        files.drop(Path.of(configuration.location()));
    }

    @Override
    public final Optional<List<Finding>> examine(Connection connection) throws SQLException {
        boolean isOfItsKind = connection.getMetaData().getDatabaseProductName().equals(product);
        return isOfItsKind ? Optional.of(fitness.findings(connection)) : Optional.empty();
    }
}
