package org.gorda.cli;

import org.gorda.bench.ServerEngine;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which database the replicas of a command have. */
final class EngineOption {

    static final String DERBY = "derby";

    @Option(
            names = "--engine",
            description = "derby, or postgresql: each replica with a server of its own, which is started for it.",
            defaultValue = DERBY)
    private String name = DERBY;

    /** Null for Derby, which needs no servers. */
    @Nullable
    ServerEngine engine() {
        return switch (name) {
            case DERBY -> null;
            case PostgresEngine.KEY -> new PostgresEngine();
            default ->
                throw new BenchException(
                        "engine is '" + name + "' but must be one of " + DERBY + ", " + PostgresEngine.KEY);
        };
    }
}
