package org.gorda.replicator.simulator;

import java.time.Duration;
import java.util.Arrays;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.simulated.Simulation;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.simulator.SimulatedTransaction.Loss;

/**
 * One seeded run of a whole group: replicas, their databases and clients, under random faults for a while; then everything is
 * healed, and whatever was promised must hold. What must hold: at one position all members deliver the same message and decide the
 * same; a database holds exactly what was committed up to its position; what a client was told stays true, unless an asynchronous primary told it
 * that something is committed; no money is made; and
 * whatever begins after a client was told is ordered after that, and strong reads see it;
 * once the faults end, all replicas become online and equal, and every client can commit again.
 *
 * <p>Confined to one thread; runs do not share anything.
 */
public final class SimulationRun {

    private static final Duration CHAOS = Duration.ofSeconds(15);
    private static final Duration SETTLING = Duration.ofMinutes(2);
    private static final int STACK_SHOWN = 6;
    private static final long RECONCILING_NANOS = 1_000_000_000L;

    private final SimulatedCluster cluster;
    private final Simulation simulation;
    private final Faults faults;

    private SimulationRun(Scenario scenario, Flaw flaw, ReplicationProtocol begins) {
        this.cluster = new SimulatedCluster(scenario, flaw, begins);
        this.simulation = cluster.simulation;
        this.faults = new Faults(cluster);
    }

    /**
     * Runs a scenario, in this thread.
     *
     * @throws ViolationError if anything happened that never may; it names the seed and how to see it again
     */
    public static SimulationResult run(Scenario scenario) {
        return run(scenario, Flaw.NONE, protocol(scenario.seed()));
    }

    /** What the group begins with that the seed stands for. */
    static ReplicationProtocol protocol(long seed) {
        if (seed % 2 == 0) {
            return ReplicationProtocol.CERTIFICATION;
        }
        return seed % 8 == 3 ? ReplicationProtocol.ASYNCHRONOUS : ReplicationProtocol.PRIMARY_BACKUP;
    }

    static SimulationResult run(Scenario scenario, Flaw flaw, ReplicationProtocol begins) {
        return new SimulationRun(scenario, flaw, begins).run();
    }

    private SimulationResult run() {
        try {
            runWhole();
        } catch (RuntimeException | AssertionError e) {
            simulation.broken(e + " at "
                    + Arrays.stream(e.getStackTrace()).limit(STACK_SHOWN).toList());
        }
        if (isBroken()) {
            throw new ViolationError(
                    cluster.scenario,
                    simulation.broken(),
                    faults.struck(),
                    cluster.formed.size(),
                    cluster.lastTransaction);
        }
        return result();
    }

    private void runWhole() {
        faults.start();
        cluster.start();
        simulation.schedule(CHAOS.toNanos(), "calm", this::calm);
        simulation.runUntil(() -> isBroken() || !cluster.chaos, CHAOS.plusSeconds(1));
        settle("after the faults");
        if (!isBroken()) {
            cluster.clients.forEach(SimulatedClient::succeed);
            boolean all = simulation.runUntil(
                    () -> isBroken() || cluster.clients.stream().allMatch(SimulatedClient::hasSucceeded), SETTLING);
            if (!all) {
                simulation.broken("not all clients could commit again: " + cluster.explain());
            }
        }
        settle("after the last transactions");
        if (!isBroken()) {
            for (MemberId name : cluster.members()) {
                cluster.witness.checkFinal(name, cluster.host(name).bank);
            }
        }
    }

    private boolean isBroken() {
        return !simulation.broken().isEmpty();
    }

    private void calm() {
        cluster.chaos = false;
        faults.end();
        reconcile();
    }

    private void reconcile() {
        cluster.reconcile();
        simulation.schedule(RECONCILING_NANOS, "reconcile", this::reconcile);
    }

    private void settle(String when) {
        if (!simulation.runUntil(() -> isBroken() || cluster.isSettled(), SETTLING)) {
            simulation.broken("not settled " + when + ": " + cluster.explain());
        }
    }

    private SimulationResult result() {
        Witness witness = cluster.witness;
        return new SimulationResult(
                cluster.scenario.seed(),
                simulation.hash(),
                Duration.ofNanos(simulation.now()),
                cluster.formed.size(),
                witness.messages(),
                witness.answered(true),
                witness.answered(false),
                cluster.inDoubt,
                witness.schemaChanges(),
                cluster.protocolChanges.size(),
                witness.lost(),
                witness.epochs(),
                faults.struck().size(),
                cluster.crashes,
                faults.partitions,
                faults.amnesias,
                cluster.losses(Loss.DEADLOCK),
                cluster.losses(Loss.GAVE_WAY),
                cluster.losses(Loss.CONSTRAINT),
                cluster.failedCommits,
                witness.strongReads(),
                cluster.transfers,
                faults.membershipChanges);
    }
}
