package org.gorda.jgcs.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many times a message crosses the network before its sender, which does not lead, is given it. */
class DecisionTimeTest {

    private static final int MESSAGES = 200;
    private static final long LATENCY_NANOS = 1_000_000;

    /** Evenly between half and twice as long. */
    private static final double CROSSING_NANOS = 1.25 * LATENCY_NANOS;

    private final Simulation simulation = new Simulation(1);
    private final SimulatedProtocol protocol = new SimulatedProtocol(simulation);
    private final List<SimulatedGroup> groups = new ArrayList<>();

    /**
     * To the leader and back where two are a majority; otherwise the leader hears of others, too, and tells. Of four answers it is the second that
     * counts, which is there sooner than the mean.
     */
    @ParameterizedTest
    @CsvSource({"2, 2.0", "3, 2.0", "5, 3.7"})
    void ofAMessageOfAFollower(int members, double crossings) {
        List<MemberId> ids = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            ids.add(new MemberId("m" + i + ":7800"));
        }
        protocol.network().latency(LATENCY_NANOS);
        for (MemberId id : ids) {
            GroupConfiguration configuration = GroupConfiguration.builder("test", id, Path.of("unused"))
                    .members(ids)
                    .build();
            groups.add(protocol.open(configuration, protocol.offers(configuration), new Recorder()));
        }
        groups.forEach(group -> group.join(Position.START));
        simulation.run(Duration.ofSeconds(10));
        SimulatedGroup follower = groups.stream()
                .filter(group -> !group.view().isLeader(group.self()))
                .findFirst()
                .orElseThrow();

        double nanos = 0;
        for (int i = 0; i < MESSAGES; i++) {
            long began = simulation.now();
            long before = follower.deliveredIndex();
            follower.multicast(ByteBuffer.allocate(100), Duration.ZERO);
            assertThat(simulation.runUntil(() -> follower.deliveredIndex() > before, Duration.ofSeconds(1)))
                    .isTrue();
            nanos += simulation.now() - began;
            simulation.run(Duration.ofMillis(50));
        }

        assertThat(nanos / MESSAGES / CROSSING_NANOS)
                .as("crossings of the network")
                .isBetween(crossings - 0.2, crossings + 0.2);
    }
}
