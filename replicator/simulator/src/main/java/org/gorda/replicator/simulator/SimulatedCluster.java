package org.gorda.replicator.simulator;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.RaftCore;
import org.gorda.jgcs.raft.core.Standing;
import org.gorda.jgcs.simulated.SimulatedGroup;
import org.gorda.jgcs.simulated.SimulatedProtocol;
import org.gorda.jgcs.simulated.Simulation;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.simulator.SimulatedTransaction.Loss;
import org.jspecify.annotations.Nullable;

/** All machines and clients of a run, and how the run is configured, which the seed decides. Confined to one thread. */
final class SimulatedCluster {

    private static final int SPARES = 1;
    private static final List<Integer> SIZES = List.of(1, 2, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7);

    final Scenario scenario;
    final Simulation simulation;
    final SimulatedProtocol protocol;
    final Witness witness;
    final Flaw flaw;
    final TreeMap<MemberId, SimulatedHost> hosts = new TreeMap<>();
    final List<SimulatedClient> clients = new ArrayList<>();
    final List<MemberId> formed = new ArrayList<>();

    /** The group's protocol at first. */
    final ReplicationProtocol begins;

    /** Whether that changes now and then. */
    final boolean changesProtocol;

    /** Whether clients change the schema now and then. */
    final boolean changesSchema;

    /** Whether commits are answered only when they are on the executing replica's own disk. */
    final boolean flushesBeforeAnswer;

    /** Whether a reference to a parent keeps its lock to the end, as in PostgreSQL, or while it is checked only, as in Derby. */
    final boolean holdsParents;

    final Service.Durability durability;
    final long commitTimeoutNanos;
    final long tellDurableEvery;
    final long logRetained;
    final Duration electionTimeout;

    boolean chaos = true;
    int crashes;
    int transfers;
    int inDoubt;
    int failedCommits;

    /** Of those that clients begin while there are faults, by number. */
    int lastTransaction;

    /** Their places in the order. */
    final Set<Long> protocolChanges = new HashSet<>();

    private final Map<Loss, Integer> losses = new EnumMap<>(Loss.class);
    private final SortedSet<MemberId> members = new TreeSet<>();

    SimulatedCluster(Scenario scenario, Flaw flaw, ReplicationProtocol begins) {
        long seed = scenario.seed();
        this.scenario = scenario;
        this.simulation = new Simulation(seed);
        this.protocol = new SimulatedProtocol(simulation);
        this.witness = new Witness(simulation);
        this.flaw = flaw;
        this.begins = begins;
        this.changesSchema = seed % 3 == 0;
        this.changesProtocol = seed % 5 == 0;
        SplittableRandom random = simulation.random("cluster");
        flushesBeforeAnswer = random.nextInt(4) == 0;
        durability = random.nextInt(3) == 0 ? Service.Durability.SYNCED : Service.Durability.WRITTEN;
        commitTimeoutNanos = random.nextInt(3) == 0 ? 20_000_000 + random.nextLong(400_000_000) : 2_500_000_000L;
        tellDurableEvery = 1L + random.nextInt(100);
        int drawn = SIZES.get(random.nextInt(SIZES.size()));
        int count = Math.min(drawn, scenario.replicasMax());
        // In a quarter of the runs what is usually ample is scarce.
        boolean scarce = random.nextInt(4) == 0;
        electionTimeout = Duration.ofMillis(scarce ? 300 : 1_000);
        logRetained = scarce || random.nextBoolean() ? 0 : random.nextInt(300);
        holdsParents = random.nextBoolean();
        for (int i = 0; i < count + SPARES; i++) {
            MemberId name = new MemberId("m" + i + ":7800");
            hosts.put(name, new SimulatedHost(this, name));
            if (i < count) {
                formed.add(name);
                members.add(name);
            }
        }
        for (int i = 0; i < scenario.clients(); i++) {
            clients.add(new SimulatedClient(this, i));
        }
    }

    void start() {
        formed.forEach(name -> host(name).start());
        clients.forEach(SimulatedClient::run);
        new SimulatedReader(this).run();
    }

    SimulatedGroup open(MemberId name, GroupListener listener) {
        GroupConfiguration configuration = GroupConfiguration.builder("simulated", name, Path.of("unused"))
                .members(formed)
                .durability(durability)
                .electionTimeout(electionTimeout)
                .sendBytesMax(64 << 10)
                .build();
        return protocol.open(configuration, protocol.offers(configuration), listener);
    }

    SimulatedHost host(MemberId name) {
        SimulatedHost host = hosts.get(name);
        if (host == null) {
            throw new IllegalArgumentException("no host " + name);
        }
        return host;
    }

    /** Those that belong to the group, as far as the one who runs it knows. */
    SortedSet<MemberId> members() {
        return members;
    }

    boolean isMember(MemberId name) {
        return members.contains(name);
    }

    SimulatedHost anyHost(SplittableRandom random) {
        return host(List.copyOf(members).get(random.nextInt(members.size())));
    }

    /** The replica that has most, to copy. */
    @Nullable
    SimulatedHost donor(SimulatedHost forHost) {
        SimulatedHost best = null;
        long most = 0;
        for (MemberId name : members) {
            SimulatedReplica replica = host(name).replica;
            if (replica != null && host(name) != forHost && replica.core().lastIndex() > most) {
                best = host(name);
                most = replica.core().lastIndex();
            }
        }
        return best;
    }

    /** A database has rolled a transaction back before it was sent. */
    void lost(Loss why) {
        losses.merge(why, 1, Integer::sum);
        simulation.note(why.name());
    }

    int losses(Loss why) {
        return losses.getOrDefault(why, 0);
    }

    // -------------------------------------------------------------------------------------------- what may be lost

    /** Whether all members but these count, are certain of what they know, and agree on who belongs to the group. */
    boolean areWell(List<MemberId> but) {
        for (MemberId name : members) {
            SimulatedReplica replica = host(name).replica;
            if (but.contains(name)) {
                continue;
            }
            if (replica == null
                    || replica.group().stopped().isPresent()
                    || replica.group().core().standing() != Standing.CERTAIN
                    || !counts(replica.group().core(), but)) {
                return false;
            }
        }
        return true;
    }

    private boolean counts(RaftCore core, List<MemberId> but) {
        Configuration decided = core.configurationAt(core.commitIndex());
        if (decided.members().size() != members.size()) {
            return false;
        }
        for (MemberId name : members) {
            Configuration.Member member = decided.member(name);
            if (member == null || !member.voter()) {
                return false;
            }
            long admission = protocol.disk(name).mount(false).admission();
            if (!but.contains(name) && member.admission() != admission) {
                return false;
            }
        }
        return true;
    }

    // ------------------------------------------------------------------------------------------------------ the end

    /** Makes the machines that run those that the group has decided to have; some changes were of unknown outcome. */
    void reconcile() {
        for (SimulatedHost host : hosts.values()) {
            SimulatedReplica replica = host.replica;
            if (replica == null || !replica.group().view().isLeader(host.name)) {
                continue;
            }
            RaftCore core = replica.group().core();
            Configuration decided = core.configurationAt(core.commitIndex());
            if (!decided.equals(core.configuration())) {
                continue;
            }
            for (SimulatedHost each : hosts.values()) {
                adjust(each, decided.member(each.name) != null);
            }
        }
    }

    private void adjust(SimulatedHost host, boolean belongs) {
        if (belongs && members.add(host.name)) {
            host.start();
        } else if (!belongs && members.remove(host.name)) {
            host.retire();
        }
    }

    boolean isSettled() {
        int executing = 0;
        int everywhereBy = 0;
        hosts.values().stream().filter(host -> host.replica != null).forEach(host -> host.replica.tellDecided());
        for (MemberId name : members) {
            SimulatedReplica replica = host(name).replica;
            if (replica == null
                    || !replica.isOnline()
                    || !replica.isQuiet()
                    || !replica.group().isConfirmed()
                    || replica.core().lastIndex() < witness.lastIndex()
                    || replica.group().core().standing() != Standing.CERTAIN
                    || !replica.group().core().configuration().isVoter(name)) {
                return false;
            }
            executing += replica.executes() ? 1 : 0;
            everywhereBy += replica.core().isEverywhere() ? 1 : 0;
        }
        return executing == (everywhereBy > 0 ? members.size() : 1)
                && clients.stream().allMatch(SimulatedClient::isSure);
    }

    /** For a person who wants to know why nothing goes on. */
    String explain() {
        StringBuilder text = new StringBuilder("clients sure: "
                + clients.stream().filter(SimulatedClient::isSure).count());
        for (MemberId name : members) {
            SimulatedReplica replica = host(name).replica;
            text.append("\n").append(name).append(replica == null ? " is down" : " " + replica);
        }
        return text.toString();
    }
}
