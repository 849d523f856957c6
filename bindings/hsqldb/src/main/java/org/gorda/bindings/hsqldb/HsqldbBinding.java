package org.gorda.bindings.hsqldb;

import org.gorda.bindings.triggers.TriggeredBinding;

/**
 * The binding for HSQLDB, configured by the name {@code hsqldb}: a database in a directory of its own, used in the replica's own process and held in its memory. {@code
 * docs/hsqldb.md} lists what it refuses. Thread-safe.
 */
public final class HsqldbBinding extends TriggeredBinding {

    /** For {@link java.util.ServiceLoader}. */
    public HsqldbBinding() {
        super("hsqldb", "HSQL Database Engine", HsqldbFiles.DIRECTORY, HsqldbDialect::new, HsqldbCheck.FITNESS);
    }
}
