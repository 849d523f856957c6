package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.jspecify.annotations.Nullable;

/** A machine: what is on its disk, and the replica's process that runs on it, if one does. Confined to one thread. */
final class SimulatedHost {

    /**
     * What a restart begins with.
     *
     * @param position up to which the core had everything
     * @param stored up to which the database had everything, at the same place in the order
     * @param neededBehind the log from here on is needed to go on
     */
    record Checkpoint(Position position, Position stored, ByteBuffer state, long neededBehind) {}

    private static final long RESTART_NANOS_MAX = 1_500_000_000L;

    final MemberId name;
    final SimulatedBank bank = new SimulatedBank();

    @Nullable
    Checkpoint checkpoint;

    @Nullable
    SimulatedReplica replica;

    boolean diskFails;

    /** Up to where its replica has said that it does not need the log any more. */
    long released;

    private final SimulatedCluster cluster;
    private final SplittableRandom random;
    private boolean restarting;
    private boolean wantsCopy;

    SimulatedHost(SimulatedCluster cluster, MemberId name) {
        this.cluster = cluster;
        this.name = name;
        this.random = cluster.simulation.random("host " + name);
    }

    void start() {
        replica = new SimulatedReplica(cluster, this);
        replica.start();
    }

    /** Kills the process; {@code meanwhile} happens to the machine; then the process is started again. */
    void crash(Runnable meanwhile) {
        if (restarting) {
            return;
        }
        restarting = true;
        end();
        meanwhile.run();
        if (cluster.flaw == Flaw.FORGETS_ITS_VOTE) {
            cluster.protocol.disk(name).forgetVote();
        }
        if (cluster.flaw == Flaw.REUSES_ITS_INCARNATION) {
            cluster.protocol.disk(name).forgetIncarnation();
        }
        cluster.simulation.schedule(random.nextLong(RESTART_NANOS_MAX), "restart", this::restart);
    }

    private void restart() {
        if (wantsCopy && !copy()) {
            cluster.simulation.schedule(RESTART_NANOS_MAX, "no donor yet", this::restart);
            return;
        }
        restarting = false;
        if (cluster.isMember(name)) {
            start();
        }
    }

    private void end() {
        SimulatedReplica running = replica;
        replica = null;
        if (running != null) {
            cluster.crashes++;
            running.kill();
        }
        bank.crash(random);
    }

    /** The process is gone for good, and the machine's disk is given to somebody else. */
    void retire() {
        end();
        cluster.protocol.disk(name).wipe();
        wipeDatabase();
        released = 0;
    }

    void wipeDatabase() {
        bank.copy(new SimulatedBank());
        checkpoint = null;
    }

    /** The replica cannot go on from what is here: the next start begins with a copy of another one. */
    void wantCopy() {
        wantsCopy = true;
    }

    /** Does by hand what the replica's message of a gap says: copies one that has more. */
    private boolean copy() {
        SimulatedHost donor = cluster.donor(this);
        if (donor == null || donor.replica == null || !donor.replica.maintain()) {
            return false;
        }
        bank.copy(donor.bank);
        checkpoint = donor.checkpoint;
        wantsCopy = false;
        cluster.transfers++;
        cluster.simulation.note("copied " + donor.name);
        return true;
    }

    /** What a person does once the trouble is over. */
    void calm() {
        cluster.protocol.disk(name).fail(false);
        diskFails = false;
        if (replica != null) {
            replica.pause(false);
        }
    }

    boolean isRestarting() {
        return restarting;
    }
}
