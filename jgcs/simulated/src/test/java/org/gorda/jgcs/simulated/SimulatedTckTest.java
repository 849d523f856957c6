package org.gorda.jgcs.simulated;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.GroupTck;
import org.gorda.jgcs.tck.Recorder;
import org.gorda.jgcs.tck.TckCluster;

class SimulatedTckTest extends GroupTck {

    @Override
    protected TckCluster open(int formed, int spare, Service.Durability durability) {
        return new SimulatedCluster(formed, spare, durability);
    }

    @Override
    protected RuntimeException deliberate(String message) {
        return new SimulatedGroup.ExpectedFailure(message);
    }

    private static final class SimulatedCluster implements TckCluster {
        private final Simulation simulation = new Simulation(1);
        private final SimulatedProtocol protocol = new SimulatedProtocol(simulation);
        private final int formed;
        private final Service.Durability durability;
        private final List<MemberId> ids = new ArrayList<>();
        private final List<SimulatedGroup> groups = new ArrayList<>();
        private final List<Recorder> recorders = new ArrayList<>();

        SimulatedCluster(int formed, int spare, Service.Durability durability) {
            this.formed = formed;
            this.durability = durability;
            for (int i = 0; i < formed + spare; i++) {
                ids.add(new MemberId("m" + i + ":7800"));
                recorders.add(new Recorder());
                groups.add(null);
            }
        }

        @Override
        public int formed() {
            return formed;
        }

        @Override
        public MemberId id(int member) {
            return ids.get(member);
        }

        @Override
        public void start(int member) {
            GroupConfiguration configuration = GroupConfiguration.builder("tck", ids.get(member), Path.of("unused"))
                    .members(ids.subList(0, formed))
                    .durability(durability)
                    .sendBytesMax(16 << 20)
                    .build();
            SimulatedGroup group = protocol.open(configuration, protocol.offers(configuration), recorders.get(member));
            groups.set(member, group);
            recorders.get(member).restarted();
            group.join(recorders.get(member).last());
        }

        @Override
        public void kill(int member) {
            groups.get(member).kill();
        }

        @Override
        public void losePower(int member) {
            groups.get(member).kill();
            protocol.disk(ids.get(member)).losePower();
        }

        @Override
        public void wipe(int member) {
            protocol.disk(ids.get(member)).wipe();
        }

        @Override
        public void loseTail(int member) {
            protocol.disk(ids.get(member)).loseTail(2);
        }

        @Override
        public void failDisk(int member) {
            protocol.disk(ids.get(member)).fail(true);
        }

        @Override
        public void mendDisk(int member) {
            protocol.disk(ids.get(member)).fail(false);
        }

        @Override
        public void cut(int from, int to) {
            protocol.network().cut(ids.get(from), ids.get(to));
        }

        @Override
        public void hold(int from, int to) {
            protocol.network().hold(ids.get(from), ids.get(to));
        }

        @Override
        public void release(int from, int to) {
            protocol.network().release(ids.get(from), ids.get(to));
        }

        @Override
        public void heal() {
            protocol.network().heal();
        }

        @Override
        public void stall(int member, boolean stalled) {
            groups.get(member).stall(stalled);
        }

        @Override
        public Group group(int member) {
            return groups.get(member);
        }

        @Override
        public Recorder recorder(int member) {
            return recorders.get(member);
        }

        @Override
        public void await(String what, BooleanSupplier condition) {
            if (!simulation.runUntil(condition, Duration.ofMinutes(1))) {
                throw new AssertionError("not within a minute of virtual time: " + what);
            }
        }

        @Override
        public void pass(Duration time) {
            simulation.run(time);
        }

        @Override
        public Duration electionTime() {
            return Duration.ofSeconds(3);
        }

        @Override
        public void close() {
            groups.stream().filter(group -> group != null).forEach(SimulatedGroup::kill);
            if (!simulation.broken().isEmpty()) {
                throw new AssertionError(String.join("\n", simulation.broken()));
            }
        }
    }
}
