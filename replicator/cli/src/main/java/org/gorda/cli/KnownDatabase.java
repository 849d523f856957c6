package org.gorda.cli;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.Finding;
import org.gorda.gapi.InstalledBinding;
import org.gorda.replicator.engine.ReplicaException;

/**
 * The database behind a connection, and the binding that replicates its kind. Immutable.
 *
 * @param findings what in it cannot be replicated
 */
record KnownDatabase(String name, DatabaseBinding binding, List<Finding> findings) {

    /** @throws ReplicaException if there is no binding for it */
    static KnownDatabase of(Connection connection) throws SQLException {
        String name = connection.getMetaData().getDatabaseProductName() + " "
                + connection.getMetaData().getDatabaseProductVersion();
        for (DatabaseBinding binding : ServiceLoader.load(DatabaseBinding.class)) {
            Optional<List<Finding>> findings = binding.examine(connection);
            if (findings.isPresent()) {
                return new KnownDatabase(name, binding, findings.get());
            }
        }
        throw new ReplicaException("there is no binding that replicates " + name);
    }

    /** @throws ReplicaException if nothing is installed in databases of its kind */
    InstalledBinding installed() {
        if (binding instanceof InstalledBinding found) {
            return found;
        }
        throw new ReplicaException("nothing is installed in " + name + ": a replica uses it as it is");
    }
}
