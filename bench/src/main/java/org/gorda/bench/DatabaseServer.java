package org.gorda.bench;

import java.time.Duration;

/** The server of one replica's database, as processes of this machine. Confined to one thread but for its end, as the replica is. */
public interface DatabaseServer {

    /** Where the replica finds its database: {@code //host:port/name}. */
    String database();

    /** Starts it and waits until it lets clients in, with what it had; does nothing if it runs. */
    void start();

    /** SIGKILL, to all of its processes. */
    void kill();

    /**
     * What its processes have used of the processors' time since it was started, those that have ended included.
     *
     * @throws org.gorda.bench.workload.BenchException if it does not run, or this system does not tell
     */
    Duration cpu();

    /** Ends it in order; does nothing if it does not run. */
    void stop();
}
