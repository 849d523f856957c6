package org.gorda.bench;

import java.nio.file.Path;

/**
 * A database that is used in the replica's own process only: its clients are there, too, or tell that process what to call. Immutable.
 *
 * @param alone what its own URLs have before the database's path
 * @param suffix what they have behind it
 */
public record EmbeddedEngine(String name, String key, String alone, String suffix) implements Engine {

    /** By which clients use a database with the engine's own driver, without GORDA. */
    public String url(Path database) {
        return alone + database + suffix;
    }
}
