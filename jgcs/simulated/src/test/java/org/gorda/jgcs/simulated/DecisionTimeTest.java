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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How often a message crosses the network before its sender is given it, and by how many frames. */
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
        start(members);
        SimulatedGroup follower = followers().get(0);

        double nanos = 0;
        for (int i = 0; i < MESSAGES; i++) {
            nanos += decisionNanos(follower);
            simulation.run(Duration.ofMillis(50));
        }

        assertThat(nanos / MESSAGES / CROSSING_NANOS)
                .as("crossings of the network")
                .isBetween(crossings - 0.2, crossings + 0.2);
    }

    /** Two with it and one with an answer, and now and then an answer of the other follower. */
    @Test
    void byHowManyFrames() {
        start(3);
        SimulatedGroup leader = leader();
        decisionNanos(leader);

        long before = protocol.network().frames();
        for (int i = 0; i < MESSAGES; i++) {
            decisionNanos(leader);
        }
        assertThat((double) (protocol.network().frames() - before) / MESSAGES)
                .as("frames for each message")
                .isBetween(3.0, 3.5);
    }

    /** Whichever of the two it is: the one whose answer the leader waits for, or the other. */
    @ParameterizedTest
    @CsvSource({"0", "1"})
    void whenAFollowerStandsStill(int which) {
        start(3);
        SimulatedGroup leader = leader();
        for (int i = 0; i < MESSAGES; i++) {
            assertThat(decisionNanos(leader)).isLessThan(5 * LATENCY_NANOS);
        }

        followers().get(which).pause(true);
        assertThat(decisionNanos(leader))
                .as("until the other has answered, with a tick")
                .isLessThan(25 * LATENCY_NANOS);
        for (int i = 0; i < MESSAGES; i++) {
            assertThat(decisionNanos(leader)).isLessThan(5 * LATENCY_NANOS);
        }
    }

    private void start(int members) {
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
    }

    private SimulatedGroup leader() {
        return groups.stream()
                .filter(group -> group.view().isLeader(group.self()))
                .findFirst()
                .orElseThrow();
    }

    private List<SimulatedGroup> followers() {
        return groups.stream()
                .filter(group -> !group.view().isLeader(group.self()))
                .toList();
    }

    private long decisionNanos(SimulatedGroup sender) {
        long began = simulation.now();
        long before = sender.deliveredIndex();
        sender.multicast(ByteBuffer.allocate(100), Duration.ZERO);
        assertThat(simulation.runUntil(() -> sender.deliveredIndex() > before, Duration.ofSeconds(1)))
                .isTrue();
        return simulation.now() - began;
    }
}
