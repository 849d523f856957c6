package org.gorda.cli;

import org.gorda.bench.EmbeddedEngine;
import org.gorda.bench.Engine;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which database the replicas of a command have. */
final class EngineOption {

    static final String DERBY = "derby";

    private static final String H2_KEY = "h2";
    private static final String HSQLDB_KEY = "hsqldb";
    private static final String SQLITE_KEY = "sqlite";

    @Option(
            names = "--engine",
            description = "derby, postgresql (each replica with a server of its own, which is started for it), h2,"
                    + " hsqldb or sqlite (each in its replica's process).",
            defaultValue = DERBY)
    private String name = DERBY;

    /** Null for Derby, which is what a replica has that is not told otherwise. */
    @Nullable
    Engine engine() {
        return switch (name) {
            case DERBY -> null;
            case PostgresEngine.KEY -> new PostgresEngine();
            case H2_KEY -> new EmbeddedEngine("H2", H2_KEY, "jdbc:h2:file:", ";USER=sa");
            case HSQLDB_KEY -> new EmbeddedEngine("HSQLDB", HSQLDB_KEY, "jdbc:hsqldb:file:", "");
            case SQLITE_KEY -> new EmbeddedEngine("SQLite", SQLITE_KEY, "jdbc:sqlite:", "");
            default ->
                throw new BenchException("engine is '" + name + "' but must be one of " + DERBY + ", "
                        + String.join(", ", PostgresEngine.KEY, H2_KEY, HSQLDB_KEY, SQLITE_KEY));
        };
    }
}
