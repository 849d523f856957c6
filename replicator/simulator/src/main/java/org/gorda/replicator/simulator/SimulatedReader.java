package org.gorda.replicator.simulator;

import java.util.SplittableRandom;

/** Reads on any replica, as with {@code reads=strong}: it must see what any client was told before it began. Confined to one thread. */
final class SimulatedReader {

    private static final long BETWEEN_NANOS_MAX = 200_000_000L;

    private final SimulatedCluster cluster;
    private final SplittableRandom random;

    SimulatedReader(SimulatedCluster cluster) {
        this.cluster = cluster;
        this.random = cluster.simulation.random("reader");
    }

    /** Goes on until the cluster is calm. */
    void run() {
        cluster.simulation.schedule(random.nextLong(BETWEEN_NANOS_MAX), "reader", () -> {
            if (cluster.chaos) {
                read(cluster.anyHost(random));
                run();
            }
        });
    }

    private void read(SimulatedHost host) {
        long before = cluster.witness.acknowledgedIndex();
        SimulatedReplica replica = host.replica;
        if (replica != null) {
            replica.read(seen -> cluster.witness.read(host.name, before, seen));
        }
    }
}
