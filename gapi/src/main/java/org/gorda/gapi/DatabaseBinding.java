package org.gorda.gapi;

import java.util.Set;

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
}
