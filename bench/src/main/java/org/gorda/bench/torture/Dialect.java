package org.gorda.bench.torture;

import org.gorda.bench.Engine;
import org.jspecify.annotations.Nullable;

/** How databases differ, as far as the workloads meet it. */
enum Dialect {
    DERBY(Promise.LOCKS),
    POSTGRESQL(Promise.CERTIFIED_SNAPSHOTS),
    H2(Promise.SNAPSHOTS_ONLY),
    HSQLDB(Promise.SNAPSHOTS_ONLY),
    /** Whoever writes has read nothing that others have changed since. */
    SQLITE(Promise.CERTIFIED_SNAPSHOTS);

    private final Promise promise;

    Dialect(Promise promise) {
        this.promise = promise;
    }

    /** @param engine null for Derby */
    static Dialect of(@Nullable Engine engine) {
        if (engine == null) {
            return DERBY;
        }
        return switch (engine.key()) {
            case "postgresql" -> POSTGRESQL;
            case "h2" -> H2;
            case "hsqldb" -> HSQLDB;
            case "sqlite" -> SQLITE;
            default -> throw new IllegalArgumentException("no workload is written for " + engine.name());
        };
    }

    /** What transactions are held to if one replica takes writes, or all. */
    Promise promise(boolean isOneWriting) {
        return this == POSTGRESQL && isOneWriting ? Promise.SNAPSHOTS : promise;
    }

    /** Whether a change of the schema is committed when it is executed, so that who is cut off then does not know. */
    boolean commitsSchemaAtOnce() {
        return this == H2 || this == HSQLDB || this == SQLITE;
    }

    boolean hasSchemas() {
        return this != SQLITE;
    }

    /** A table that is in a schema, where there are any. */
    String table(String schema, String name) {
        return hasSchemas() ? "\"" + schema + "\".\"" + name + "\"" : "\"" + schema + " " + name + "\"";
    }

    /** The type of a primary key that the database generates. */
    String generatedKey() {
        return this == SQLITE ? "INTEGER PRIMARY KEY AUTOINCREMENT" : "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
    }
}
