package org.gorda.replicator.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaState;

/** A replica process: the replica, its service, and the engine's own protocol for clients, unless they are all in the process. Thread-safe. */
public final class Node implements AutoCloseable {

    private static final Duration WATCH = Duration.ofMillis(100);

    /** Where Derby's own log goes: how what it reads of that begins. */
    private static final String STREAM = "derby.stream.error.";

    private final NodeService service;
    private final Replica replica;

    private Node(NodeConfiguration configuration, boolean listens) {
        service = new NodeService(configuration);
        try {
            replica = configuration.replica().start(service::starting);
        } catch (RuntimeException e) {
            service.close();
            throw e;
        }
        try {
            service.serve(replica);
            if (listens) {
                service.clients(replica.listen(resolve(configuration.clients())));
            }
        } catch (RuntimeException e) {
            close();
            throw new ReplicaException("clients cannot be let in: " + e.getMessage(), e);
        }
    }

    private static InetSocketAddress resolve(MemberId address) {
        try {
            return new InetSocketAddress(InetAddress.getByName(address.host()), address.port());
        } catch (IOException e) {
            throw new ReplicaException("clients is " + address + ", and there is no such host: " + e.getMessage(), e);
        }
    }

    /**
     * Starts a replica in this process. It joins its group in the background.
     *
     * @throws ReplicaException if a value cannot be, or if a port, the database or a directory cannot be used
     */
    public static Node start(NodeConfiguration configuration) {
        return start(configuration, true);
    }

    /**
     * As {@link #start}, but without the engine's own protocol: its clients are in this process, and have their connections from the {@link #replica}.
     */
    public static Node startEmbedded(NodeConfiguration configuration) {
        return start(configuration, false);
    }

    private static Node start(NodeConfiguration configuration, boolean listens) {
        if (!configuration.isOfServer()) {
            logBeside(configuration.database());
        }
        return new Node(configuration, listens);
    }

    /**
     * Derby's own log goes beside the database instead of to wherever the process was started, in ten files of 1 MB at most: whoever is refused makes it
     * grow. Unless Derby was told where.
     */
    public static void logBeside(String database) {
        if (Stream.of("file", "style", "method", "field").allMatch(kind -> System.getProperty(STREAM + kind) == null)) {
            Path log = Path.of(database).toAbsolutePath().resolveSibling("derby");
            System.setProperty(STREAM + "style", "rollingFile");
            System.setProperty(
                    STREAM + "rollingFile.pattern",
                    System.getProperty(
                            STREAM + "rollingFile.pattern", log.toString().replace("%", "%%") + "-%g.log"));
        }
    }

    public Replica replica() {
        return replica;
    }

    /** Waits until the replica has stopped, by itself or because of {@link #close}. */
    public void awaitStopped() {
        while (replica.status().state() != ReplicaState.STOPPED) {
            LockSupport.parkNanos(WATCH.toNanos());
        }
    }

    @Override
    public void close() {
        replica.close();
        service.close();
    }
}
