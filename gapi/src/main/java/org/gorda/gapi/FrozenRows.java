package org.gorda.gapi;

import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * All rows of a database as they were at one moment, for as long as it takes to read them. To be closed, when all were read: a
 * {@link ReflectionException} then means that a schema change has kept some of them from being read. Confined to one thread.
 *
 * @param position up to where the database then held everything; empty as for {@link ReflectedDatabase#storedPosition}
 * @param tables those whose changes are reflected
 * @param connection to read them by, and for nothing else
 * @param generated the last value that each generator had given, or a later one
 * @param release what closing does
 */
public record FrozenRows(
        Optional<StoredPosition> position,
        List<TableShape> tables,
        Connection connection,
        Map<Generator, Long> generated,
        Runnable release)
        implements AutoCloseable {

    public FrozenRows {
        tables = List.copyOf(tables);
        generated = Map.copyOf(generated);
    }

    @Override
    public void close() {
        release.run();
    }
}
