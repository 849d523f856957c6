package org.gorda.bindings.h2;

import org.gorda.bindings.triggers.TriggeredBinding;

/**
 * The binding for H2, configured by the name {@code h2}: a database in a directory of its own, used in the replica's own process. {@code docs/h2.md} lists what
 * it refuses. Thread-safe.
 */
public final class H2Binding extends TriggeredBinding {

    /** For {@link java.util.ServiceLoader}. */
    public H2Binding() {
        super("h2", "H2", H2Files.DIRECTORY, H2Dialect::new, H2Check.FITNESS);
    }
}
