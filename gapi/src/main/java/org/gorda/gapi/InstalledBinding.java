package org.gorda.gapi;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * A binding that keeps things of its own in a database, by which changes are captured. Opening a database puts them there; they can also be
 * put there before, and taken out when the database is to be used without replicas. Thread-safe.
 */
public interface InstalledBinding extends DatabaseBinding {

    /**
     * Puts there what a replica needs. From then on only connections of a replica can change what is replicated.
     *
     * @param connection to a database of this kind, by whatever driver, whose transaction is used and committed
     * @throws ReflectionException if the database is not fit for it, or open in a replica; nothing is changed then
     */
    void install(Connection connection) throws SQLException;

    /**
     * Takes out all of it, with the position: nothing is left, and the database is no replica's any more. Does nothing if there is nothing.
     *
     * @param connection as for {@link #install}
     * @throws ReflectionException if the database is open in a replica; nothing is changed then
     */
    void uninstall(Connection connection) throws SQLException;
}
