package org.gorda.bench;

/** The server of one replica's database, as processes of this machine. Confined to one thread but for its end, as the replica is. */
public interface DatabaseServer {

    /** Where the replica finds its database: {@code //host:port/name}. */
    String database();

    /** Starts it and waits until it lets clients in, with what it had; does nothing if it runs. */
    void start();

    /** SIGKILL, to all of its processes. */
    void kill();

    /** Ends it in order; does nothing if it does not run. */
    void stop();
}
