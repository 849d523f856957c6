package org.gorda.bench;

import java.nio.file.Path;
import java.util.List;

/** A database whose engine is not in the replica's process, but in a server of its own for each replica. Immutable. */
public interface ServerEngine extends Engine {

    /** As whom replicas and clients log in, without a password. */
    String user();

    /**
     * Describes the server of a replica; nothing is started yet.
     *
     * @param directory of the replica, where the server keeps everything, too
     * @param database its name
     */
    DatabaseServer server(Path directory, String database);

    /**
     * Describes a server as somebody has it who does without GORDA: once started it has the database, and a commit that it has
     * acknowledged is safe in as many places as with as many replicas.
     *
     * @param standbys to which it replicates by its own means, so that a majority has each commit; 0 for none
     */
    DatabaseServer alone(Path directory, String database, int standbys);

    /** By which clients reach a server itself, with the engine's own driver. */
    String url(DatabaseServer server);

    /**
     * By which clients reach a replica that takes writes, whichever it is, with the engine's own driver.
     *
     * @param addresses where each replica lets clients in
     */
    String url(List<String> addresses, String database);
}
