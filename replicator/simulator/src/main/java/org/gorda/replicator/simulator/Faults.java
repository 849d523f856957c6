package org.gorda.replicator.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.gorda.jgcs.simulated.SimulatedNetwork;
import org.gorda.replicator.core.ReplicationProtocol;

/** Everything that goes wrong, as the seed decides, but never more than the group promises to survive. Confined to one thread. */
final class Faults {

    private enum Kind {
        CRASH,
        CRASH_OF_ALL,
        CRASH_OF_PRIMARY,
        ISOLATION,
        CUT,
        MEND,
        HOLD,
        PAUSE,
        POWER_LOSS,
        LOST_LOG,
        DISK_FAILURE,
        TRANSFER_OF_LEADERSHIP,
        MEMBERSHIP
    }

    private static final long BETWEEN_NANOS_MAX = 1_800_000_000L;

    /** Trouble seldom comes alone. */
    private static final int AT_ONCE_OF = 4;

    private static final long AT_ONCE_NANOS_MAX = 60_000_000L;
    private static final long BRIEFLY_NANOS_MAX = 3_000_000_000L;
    private static final List<ReplicationProtocol> GROUPS = List.of(
            ReplicationProtocol.PRIMARY_BACKUP, ReplicationProtocol.CERTIFICATION, ReplicationProtocol.ASYNCHRONOUS);
    private static final long BETWEEN_PROTOCOLS_NANOS_MAX = 4_000_000_000L;

    private final SimulatedCluster cluster;
    private final SimulatedNetwork network;
    private final SplittableRandom when;
    private final SplittableRandom protocolRandom;

    /** Of the fault that is struck now: that one is left out does not change what the others are. */
    private SplittableRandom random;

    private final SortedMap<Integer, String> struck = new TreeMap<>();
    private boolean membershipChanging;
    private int lastFault;
    int partitions;
    int amnesias;
    int membershipChanges;

    Faults(SimulatedCluster cluster) {
        this.cluster = cluster;
        this.network = cluster.protocol.network();
        this.when = cluster.simulation.random("faults");
        this.random = when.split();
        this.protocolRandom = cluster.simulation.random("protocols");
    }

    void start() {
        network.latency(100_000 + random.nextLong(2_000_000));
        if (random.nextBoolean()) {
            network.faults(
                    random.nextDouble() * 0.05,
                    random.nextDouble() * 0.05,
                    random.nextDouble() * 0.02,
                    random.nextBoolean() ? 400_000_000L : 20_000_000_000L);
        }
        next();
        if (cluster.changesProtocol) {
            nextProtocol();
        }
    }

    /** No fault: somebody has the group change its protocol. */
    private void nextProtocol() {
        cluster.simulation.schedule(protocolRandom.nextLong(BETWEEN_PROTOCOLS_NANOS_MAX), "protocol", () -> {
            SimulatedReplica asked = cluster.anyHost(protocolRandom).replica;
            if (cluster.chaos) {
                if (asked != null) {
                    asked.changeProtocol(GROUPS.get(protocolRandom.nextInt(GROUPS.size())));
                }
                nextProtocol();
            }
        });
    }

    /** Heals everything. */
    void end() {
        network.heal();
        cluster.hosts.values().forEach(SimulatedHost::calm);
    }

    private void next() {
        boolean atOnce = when.nextInt(AT_ONCE_OF) == 0;
        long between = when.nextLong(atOnce ? AT_ONCE_NANOS_MAX : BETWEEN_NANOS_MAX);
        cluster.simulation.schedule(between, "fault", () -> {
            if (cluster.chaos) {
                random = when.split();
                SimulatedHost host = cluster.anyHost(random);
                Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
                if (!cluster.scenario.without().contains(++lastFault)) {
                    cluster.simulation.note(kind + " " + host.name);
                    struck.put(
                            lastFault, "at " + cluster.simulation.now() / 1_000_000 + " ms " + kind + " " + host.name);
                    strike(kind, host);
                }
                next();
            }
        });
    }

    /** What was done so far, by number. */
    SortedMap<Integer, String> struck() {
        return struck;
    }

    private void after(long nanosMax, String what, Runnable action) {
        cluster.simulation.schedule(random.nextLong(nanosMax), what, action);
    }

    private void strike(Kind kind, SimulatedHost host) {
        switch (kind) {
            case CRASH -> host.crash(() -> {});
            case CRASH_OF_ALL ->
                cluster.members().forEach(name -> cluster.host(name).crash(() -> {}));
            case CRASH_OF_PRIMARY -> crashPrimary();
            case ISOLATION -> isolate(host.name);
            case CUT -> cut(host.name, cluster.anyHost(random).name);
            case MEND -> mend();
            case HOLD -> hold(host.name, cluster.anyHost(random).name);
            case PAUSE -> pause(host);
            case POWER_LOSS -> losePower(host);
            case LOST_LOG -> loseLog(host);
            case DISK_FAILURE -> failDisk(host);
            case TRANSFER_OF_LEADERSHIP -> transferLeadership(host);
            case MEMBERSHIP -> changeMembership(host);
        }
    }

    private void crashPrimary() {
        if (cluster.begins.isEverywhere()) {
            cluster.anyHost(random).crash(() -> {});
            return;
        }
        for (MemberId name : cluster.members()) {
            SimulatedHost host = cluster.host(name);
            if (host.replica != null && host.replica.core().isPrimaryHere() && host.replica.executes()) {
                host.crash(() -> {});
            }
        }
    }

    private void isolate(MemberId alone) {
        partitions++;
        for (MemberId peer : cluster.members()) {
            network.cut(alone, peer);
            network.cut(peer, alone);
        }
        if (random.nextBoolean()) {
            after(
                    BRIEFLY_NANOS_MAX,
                    "back",
                    () -> cluster.hosts.keySet().forEach(peer -> {
                        network.mend(alone, peer);
                        network.mend(peer, alone);
                    }));
        }
    }

    private void cut(MemberId from, MemberId to) {
        partitions++;
        network.cut(from, to);
    }

    private void mend() {
        for (MemberId from : cluster.hosts.keySet()) {
            cluster.hosts.keySet().forEach(to -> network.mend(from, to));
        }
    }

    private void hold(MemberId from, MemberId to) {
        network.hold(from, to);
        after(5_000_000_000L, "release", () -> network.release(from, to));
    }

    private void pause(SimulatedHost host) {
        SimulatedReplica paused = host.replica;
        if (paused != null) {
            paused.pause(true);
            after(4_000_000_000L, "go on", () -> paused.pause(false));
        }
    }

    /** The machine loses what was written and not forced: of a minority only, unless the log is forced before it is acknowledged. */
    private void losePower(SimulatedHost host) {
        if (cluster.durability == Service.Durability.SYNCED || mayForget(host)) {
            host.crash(() -> {
                amnesias++;
                cluster.protocol.disk(host.name).losePower();
            });
        }
    }

    private void loseLog(SimulatedHost host) {
        if (!mayForget(host)) {
            return;
        }
        int kind = random.nextInt(3);
        int lost = 1 + random.nextInt(50);
        host.crash(() -> {
            amnesias++;
            switch (kind) {
                case 0 -> cluster.protocol.disk(host.name).loseTail(lost);
                case 1 -> {
                    // The replica's directory is deleted, its database is not.
                    cluster.protocol.disk(host.name).wipe();
                    host.checkpoint = null;
                }
                default -> {
                    if (cluster.flaw == Flaw.VOTES_ALTHOUGH_IT_FORGOT) {
                        cluster.protocol.disk(host.name).wipeUnnoticed();
                    } else {
                        cluster.protocol.disk(host.name).wipe();
                    }
                    host.wipeDatabase();
                }
            }
        });
    }

    /** Whether all others remember everything, and none of them is about to forget. */
    private boolean mayForget(SimulatedHost host) {
        return cluster.members().size() >= 3
                && !membershipChanging
                && !host.isRestarting()
                && cluster.areWell(List.of(host.name));
    }

    private void failDisk(SimulatedHost host) {
        cluster.protocol.disk(host.name).fail(true);
        host.diskFails = true;
        after(1_000_000_000L, "mended disk", () -> {
            host.calm();
            host.crash(() -> {});
        });
    }

    private void transferLeadership(SimulatedHost host) {
        if (host.replica != null && cluster.members().size() > 1) {
            var unused = host.replica.group().transferLeadership(cluster.anyHost(random).name);
        }
    }

    private void changeMembership(SimulatedHost asked) {
        SimulatedReplica replica = asked.replica;
        if (membershipChanging || replica == null || !cluster.areWell(List.of())) {
            return;
        }
        List<MemberId> spares = new ArrayList<>(cluster.hosts.keySet());
        spares.removeAll(cluster.members());
        boolean adds = !spares.isEmpty() && random.nextBoolean();
        if (!adds && cluster.members().size() < 3) {
            return;
        }
        membershipChanging = true;
        MemberId changed = adds ? spares.get(random.nextInt(spares.size())) : cluster.anyHost(random).name;
        if (adds) {
            cluster.members().add(changed);
            cluster.host(changed).start();
        }
        CompletableFuture<View> done =
                adds ? replica.group().add(changed) : replica.group().remove(changed);
        // If it fails, whether it was done is not known: no other change then, until all is calm.
        var unused = done.thenAccept(view -> {
            membershipChanges++;
            membershipChanging = false;
            if (!adds && cluster.members().remove(changed)) {
                cluster.host(changed).retire();
            }
        });
    }
}
