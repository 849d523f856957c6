package org.gorda.cli;

import org.gorda.bench.EmbeddedEngine;
import org.gorda.bench.Engine;
import org.gorda.bench.ServerEngine;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which database the replicas of a command have. */
final class EngineOption {

    static final String DERBY = "derby";

    private static final EmbeddedEngine H2 = new EmbeddedEngine("H2", "h2", "jdbc:h2:file:", ";USER=sa");

    @Option(
            names = "--engine",
            description =
                    "derby, postgresql (each replica with a server of its own, which is started for it), or in some commands h2"
                            + " (clients are in the replicas' processes).",
            defaultValue = DERBY)
    private String name = DERBY;

    /** Null for Derby, which is what a replica has that is not told otherwise. */
    @Nullable
    Engine engine() {
        return name.equals(H2.key()) ? H2 : server(", " + H2.key());
    }

    /** As {@link #engine}, for what needs clients that are outside of the replicas' processes. */
    @Nullable
    ServerEngine server() {
        return server("; the clients of " + H2.key() + " have to be in the replicas' processes, as with gorda demo");
    }

    private @Nullable ServerEngine server(String more) {
        return switch (name) {
            case DERBY -> null;
            case PostgresEngine.KEY -> new PostgresEngine();
            default ->
                throw new BenchException(
                        "engine is '" + name + "' but must be one of " + DERBY + ", " + PostgresEngine.KEY + more);
        };
    }
}
