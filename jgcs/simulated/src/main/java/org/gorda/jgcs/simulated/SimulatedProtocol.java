package org.gorda.jgcs.simulated;

import java.util.TreeMap;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;

/**
 * Groups in virtual time. Not found by name, because its members must share one {@link Simulation}: make one and open all members
 * with it. A member's directory is a {@link SimulatedDisk}, kept from one opening to the next. Confined to one thread.
 */
public final class SimulatedProtocol implements Protocol {

    private final Simulation simulation;
    private final SimulatedNetwork network;
    private final TreeMap<MemberId, SimulatedDisk> disks = new TreeMap<>();

    public SimulatedProtocol(Simulation simulation) {
        this.simulation = simulation;
        this.network = new SimulatedNetwork(simulation);
    }

    public SimulatedNetwork network() {
        return network;
    }

    /** The member's directory. */
    public SimulatedDisk disk(MemberId member) {
        return disks.computeIfAbsent(member, id -> new SimulatedDisk(simulation.random("disk " + id)));
    }

    @Override
    public String name() {
        return "simulated";
    }

    @Override
    public Service offers(GroupConfiguration configuration) {
        return new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, configuration.durability());
    }

    @Override
    public SimulatedGroup open(GroupConfiguration configuration, Service required, GroupListener listener) {
        requireOffered(configuration, required);
        return new SimulatedGroup(simulation, network, disk(configuration.self()), configuration, listener);
    }
}
