package org.gorda.bindings.sqlite;

import org.gorda.bindings.triggers.TriggeredBinding;

/**
 * The binding for SQLite, configured by the name {@code sqlite}: a database in a directory of its own, used in the replica's own process. {@code docs/sqlite.md} lists what it
 * refuses. Thread-safe.
 */
public final class SqliteBinding extends TriggeredBinding {

    /** For {@link java.util.ServiceLoader}. */
    public SqliteBinding() {
        super("sqlite", "SQLite", SqliteFiles.DIRECTORY, SqliteDialect::new, SqliteCheck.FITNESS);
    }
}
