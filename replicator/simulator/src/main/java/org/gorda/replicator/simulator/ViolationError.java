package org.gorda.replicator.simulator;

import java.util.List;

/** A run has shown something that never may happen. The message names what, the seed, and the command that shows it again. */
public final class ViolationError extends AssertionError {

    private static final long serialVersionUID = 1L;

    private final long seed;

    ViolationError(long seed, List<String> violations) {
        super("seed " + seed + " violates what replication promises; see it again by ./gorda simulate --seeds 1 --from "
                + seed + "\n" + String.join("\n", violations));
        this.seed = seed;
    }

    /** The seed of the run. */
    public long seed() {
        return seed;
    }
}
