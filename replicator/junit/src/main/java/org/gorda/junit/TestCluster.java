package org.gorda.junit;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.gorda.bench.Links;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.BenchException;
import org.gorda.replicator.node.NodeClient;

/**
 * A group of replica processes, by number from 0, and what can happen to them. Clients in the test's own JVM reach all replicas that
 * run; partitions are between replicas. Confined to one thread.
 */
public final class TestCluster implements AutoCloseable {

    private static final Duration WAIT = Duration.ofMinutes(2);

    private final ReplicaGroup group;
    private final Links links;
    private final BitSet down = new BitSet();
    private final BitSet paused = new BitSet();

    /** Starts one. */
    TestCluster(int replicas, Path directory, Map<String, String> settings) {
        group = ReplicaGroup.of(replicas, directory, settings);
        links = Links.between(group);
        try {
            group.start();
            awaitOnline();
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    // ----------------------------------------------------------------------------------------------- for applications

    /** By which clients reach the group: the URL of a JDBC driver, for {@link DriverManager} or a pool. */
    public String url() {
        return group.url();
    }

    /** A new connection of a client. */
    public Connection connect() throws SQLException {
        return DriverManager.getConnection(url());
    }

    /** How many replicas there are, whether they run or not. */
    public int size() {
        return group.replicas().size();
    }

    /**
     * The number of the replica that executes; where all do, of the first that runs.
     *
     * @throws BenchException if there is none now
     */
    public int primary() {
        ReplicaProcess primary = group.primary().orElseThrow(() -> new BenchException("there is no primary now"));
        return group.replicas().indexOf(primary);
    }

    // --------------------------------------------------------------------------------------------------------- faults

    /** Kills a replica's process with SIGKILL. */
    public void crash(int replica) {
        thaw(replica);
        down.set(replica);
        group.replicas().get(replica).kill();
    }

    /** Starts a replica again that was killed; it catches up by itself. */
    public void restart(int replica) {
        group.replicas().get(replica).start();
        down.clear(replica);
    }

    /** Stops a replica's process with SIGSTOP, as a long pause of a JVM does: it keeps all its connections. Needs a Unix. */
    public void pause(int replica) {
        paused.set(replica);
        group.replicas().get(replica).freeze();
    }

    /** Lets it go on. */
    public void thaw(int replica) {
        if (paused.get(replica)) {
            group.replicas().get(replica).thaw();
            paused.clear(replica);
        }
    }

    /** From now on nothing that these replicas and the others send to each other arrives; among these, and among the others, it does. */
    public void partition(int... alone) {
        for (int one : alone) {
            for (int other = 0; other < size(); other++) {
                int each = other;
                if (IntStream.of(alone).noneMatch(replica -> replica == each)) {
                    links.cut(one, other, true);
                    links.cut(other, one, true);
                }
            }
        }
    }

    /** Undoes all of that, and waits until all replicas have everything. */
    public void heal() {
        links.heal();
        for (int replica = 0; replica < size(); replica++) {
            thaw(replica);
            if (down.get(replica)) {
                restart(replica);
            }
        }
        awaitOnline();
    }

    /** Waits until all replicas run and have everything, 2 minutes at most. */
    public void awaitOnline() {
        group.awaitOnline(WAIT, line -> {});
    }

    /**
     * Makes sure that all replicas hold the same in all tables. All must run.
     *
     * @throws AssertionError if they do not
     */
    public void requireIdentical() {
        NodeClient.Comparison comparison = group.verify(WAIT);
        if (!comparison.identical()) {
            throw new AssertionError("the replicas do not hold the same: " + comparison);
        }
    }

    /** The end of what a replica's process has written. */
    public List<String> log(int replica) {
        return group.replicas().get(replica).output().lines().toList();
    }

    @Override
    public void close() {
        links.heal();
        for (int replica = 0; replica < size(); replica++) {
            thaw(replica);
        }
        group.close();
        links.close();
    }
}
