package org.gorda.jgcs.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;

/** Members that may not form a group, because they hold what another one has made. */
class FormationTest {

    private final Simulation simulation = new Simulation(1);
    private final SimulatedProtocol protocol = new SimulatedProtocol(simulation);
    private final TreeMap<Integer, SimulatedGroup> groups = new TreeMap<>();
    private final TreeMap<Integer, Recorder> recorders = new TreeMap<>();

    private static MemberId id(int member) {
        return new MemberId("m" + member + ":7800");
    }

    private void start(int member, int members, boolean mayForm) {
        List<MemberId> all =
                IntStream.range(0, members).mapToObj(FormationTest::id).toList();
        GroupConfiguration configuration = GroupConfiguration.builder("test", id(member), Path.of("unused"))
                .members(all)
                .build();
        Recorder recorder = new Recorder();
        recorder.mayForm(mayForm);
        recorders.put(member, recorder);
        SimulatedGroup group = protocol.open(configuration, protocol.offers(configuration), recorder);
        groups.put(member, group);
        group.join(recorder.last());
    }

    private boolean isLed() {
        return groups.values().stream()
                .anyMatch(group -> group.core().view(simulation.now()).working());
    }

    @Test
    void whoMayNotFormFormsNoneNeitherAloneNorWithOthers() {
        start(0, 1, false);
        simulation.run(Duration.ofMinutes(1));
        assertThat(isLed()).isFalse();
        assertThat(groups.get(0).explanation()).contains("forms none");
    }

    @Test
    void othersWaitForWhoMayNotForm() {
        for (int i = 0; i < 3; i++) {
            start(i, 3, i > 0);
        }
        simulation.run(Duration.ofMinutes(1));
        assertThat(isLed()).isFalse();
        assertThat(groups.get(0).explanation()).contains("forms none");
        assertThat(groups.get(1).explanation()).contains("waiting for " + id(0));
        groups.get(0).kill();
        start(0, 3, true);
        simulation.run(Duration.ofMinutes(1));
        assertThat(isLed()).isTrue();
        assertThat(groups.get(0).view().members()).hasSize(3);
    }

    @Test
    void whoMayNotFormIsTakenIntoAGroupThatExists() {
        for (int i = 0; i < 3; i++) {
            start(i, 3, true);
        }
        simulation.run(Duration.ofSeconds(5));
        groups.get(2).kill();
        protocol.disk(id(2)).wipe();
        start(2, 3, false);
        simulation.run(Duration.ofMinutes(1));
        groups.get(0).multicast(ByteBuffer.wrap("x".getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(1));
        simulation.run(Duration.ofSeconds(5));
        assertThat(recorders.get(2).texts()).contains("x");
    }

    private void link(boolean cut, int first, int second) {
        if (cut) {
            protocol.network().cut(id(first), id(second));
            protocol.network().cut(id(second), id(first));
        } else {
            protocol.network().mend(id(first), id(second));
            protocol.network().mend(id(second), id(first));
        }
    }

    /** It may have formed the group since with the one that is new now, and another group of the same members would decide other things. */
    @Test
    void whoGreetedLongAgoIsNotNewAnyMore() {
        start(0, 3, true);
        start(2, 3, true);
        simulation.run(Duration.ofSeconds(1));
        link(true, 0, 2);
        link(true, 1, 2);
        protocol.network().mend(id(2), id(1)); // so that the first two can form it
        start(1, 3, true);
        simulation.run(Duration.ofSeconds(5));
        assertThat(isLed()).isTrue();
        groups.get(1).kill();
        protocol.disk(id(1)).wipe();
        simulation.run(Duration.ofMinutes(1));
        assertThat(groups.get(2).explanation()).contains("waiting for " + id(0) + ", " + id(1));
        link(true, 0, 1);
        link(false, 1, 2);
        start(1, 3, true);
        simulation.run(Duration.ofMinutes(1));
        assertThat(isLed()).as("a second group").isFalse();

        protocol.network().heal();
        simulation.run(Duration.ofMinutes(1));
        assertThat(groups.get(0).view().members()).hasSize(3);
    }
}
