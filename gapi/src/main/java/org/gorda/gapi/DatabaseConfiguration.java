package org.gorda.gapi;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * Which database to open, and how. Immutable.
 *
 * @param location the database's own way to name it, for instance a path
 * @param attributes the database's own settings, for instance for its creation
 * @param readGrace how long local transactions that only read may stand in the way of an ordered change before they are rolled back
 * @param writeSetBytesMax a transaction that changes more is refused
 * @param spoolDirectory where transactions keep what they have changed once it is too large for memory; belongs to this database
 */
public record DatabaseConfiguration(
        String location,
        Map<String, String> attributes,
        Duration readGrace,
        long writeSetBytesMax,
        Path spoolDirectory) {

    public DatabaseConfiguration {
        attributes = Map.copyOf(attributes);
    }

    /** Of a copy of this database, in a directory. */
    public DatabaseConfiguration ofCopy(Path directory) {
        return new DatabaseConfiguration(
                directory.toString(),
                attributes,
                readGrace,
                writeSetBytesMax,
                directory.resolveSibling(directory.getFileName() + ".spool"));
    }
}
