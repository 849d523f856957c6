package org.gorda.gapi;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** Makes a kind of database reflective; found by {@link java.util.ServiceLoader} and its name. Thread-safe. */
public interface DatabaseBinding {

    /** The name it is configured by, for instance {@code derby}. */
    String name();

    Set<Capability> capabilities();

    /**
     * Opens a database, creating it if it does not exist. Until {@link ReflectedDatabase#close} no other process may open it.
     *
     * @throws ReflectionException if it cannot be opened, is not fit to be replicated, or if the binding's hooks are not in place;
     *     the message says why and what to do
     */
    ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener);

    /**
     * Whether there is a database of that name. {@link #open} makes one that is not there; but one that a replica has held may only have been renamed, and
     * could not have its name back then. Where databases cannot be renamed beside their replica it is always true.
     *
     * @throws ReflectionException if that cannot be asked
     */
    default boolean isThere(DatabaseConfiguration configuration) {
        return true;
    }

    /**
     * Makes a database of what {@link ReflectedDatabase#snapshot} wrote; it is on disk afterwards, and opened like any other. If that is
     * interrupted there is no database, or the whole one.
     *
     * @param snapshot a directory, which may become the database; as long as it is there, it is whole and not changed
     * @throws ReflectionException if there is no snapshot, if there is a database already, or if it cannot be made
     */
    void load(Path snapshot, DatabaseConfiguration configuration);

    /**
     * Deletes a database, which is not open, if it is there. If that is interrupted, what is left is no database.
     *
     * @throws ReflectionException if it cannot be deleted
     */
    void drop(DatabaseConfiguration configuration);

    /**
     * Does what can be done of {@link #replace} while the database is still open; nothing, where a snapshot becomes the database at once.
     *
     * @param progress is told what is being done, for people; if it throws, that ends
     * @throws ReflectionException as of load
     */
    default void prepare(Path snapshot, DatabaseConfiguration configuration, Consumer<String> progress) {}

    /**
     * {@linkplain #load Makes} a database in the place of one that may be there, which is {@linkplain #drop deleted}; where that can be, only once all of
     * the snapshot is loaded. If it is interrupted, it can be called again as long as the snapshot is there.
     *
     * @param progress as of prepare
     * @throws ReflectionException as of load and drop
     */
    default void replace(Path snapshot, DatabaseConfiguration configuration, Consumer<String> progress) {
        drop(configuration);
        load(snapshot, configuration);
    }

    /**
     * Looks for what in a database cannot be replicated, before it is; as far as its catalogue shows it. Changes nothing.
     *
     * @param connection to the database, by whatever driver, whose transaction is used
     * @return empty if the database is not of this kind
     */
    Optional<List<Finding>> examine(Connection connection) throws SQLException;
}
