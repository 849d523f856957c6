package org.gorda.jgcs.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two of three members are restored from old copies, and decide anew. What the third has from before cannot be saved, but it must not be taken for theirs. */
class RestoredCopiesTest {

    private static final List<MemberId> MEMBERS = List.of(id(0), id(1), id(2));

    private Simulation simulation;
    private SimulatedProtocol protocol;
    private final TreeMap<Integer, SimulatedGroup> groups = new TreeMap<>();
    private final TreeMap<Integer, Recorder> recorders = new TreeMap<>();

    private static MemberId id(int member) {
        return new MemberId("m" + member + ":7800");
    }

    private void start(int... members) {
        for (int member : members) {
            GroupConfiguration configuration = GroupConfiguration.builder("test", id(member), Path.of("unused"))
                    .members(MEMBERS)
                    .build();
            Recorder recorder = recorders.computeIfAbsent(member, any -> new Recorder());
            recorder.restarted();
            SimulatedGroup group = protocol.open(configuration, protocol.offers(configuration), recorder);
            groups.put(member, group);
            group.join(recorder.last());
        }
        SimulatedGroup first = groups.get(members[0]);
        assertThat(simulation.runUntil(
                        () -> first.view().leader().isPresent()
                                || first.stopped().isPresent(),
                        Duration.ofMinutes(1)))
                .isTrue();
    }

    private void send(int messages, String what, int... at) {
        for (int i = 0; i < messages; i++) {
            String text = what + i;
            groups.get(at[0]).multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(1));
            for (int member : at) {
                assertThat(simulation.runUntil(
                                () -> recorders.get(member).texts().contains(text), Duration.ofMinutes(1)))
                        .isTrue();
            }
        }
    }

    private void killAll() {
        groups.values().forEach(SimulatedGroup::kill);
        groups.clear();
    }

    /** What the third has from before is there for two others no more; its log begins behind what it released. */
    private void decideAnew(long seed, boolean releases) {
        simulation = new Simulation(seed);
        protocol = new SimulatedProtocol(simulation);
        start(0, 1, 2);
        send(3, "before ", 0, 1, 2);
        killAll();
        List<Runnable> copies =
                List.of(protocol.disk(id(0)).copy(), protocol.disk(id(1)).copy());
        start(0, 1, 2);
        send(20, "since ", 0, 1, 2);
        if (releases) {
            groups.get(2).release(recorders.get(2).last());
            simulation.run(Duration.ofSeconds(1));
        }
        killAll();
        copies.forEach(Runnable::run);
        recorders.put(0, new Recorder());
        recorders.put(1, new Recorder());
        start(0, 1);
        send(5, "again ", 0, 1);
        start(2);
        simulation.run(Duration.ofMinutes(1));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void whatTheyDecideIsNotTakenForWhatTheThirdHas(long seed) {
        decideAnew(seed, false);
        // Either somebody notices that what he has decided is not the group's, or all store the same.
        if (recorders.values().stream().allMatch(recorder -> recorder.stopped() == null)) {
            assertThat(log(2)).isEqualTo(log(0)).anyMatch(text -> text.endsWith("again 4"));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void whoHasReleasedWhatTheyHaveForgottenSaysSoAndStops(long seed) {
        decideAnew(seed, true);
        List<GroupException> stopped = recorders.values().stream()
                .map(Recorder::stopped)
                .filter(Objects::nonNull)
                .toList();
        assertThat(stopped).allSatisfy(reason -> assertThat(reason).hasMessageContaining("which is committed here"));
        if (stopped.isEmpty()) { // the third leads: the others are told that its checkpoint is not what they have
            assertThat(recorders.get(0).gaps()).isNotEmpty();
            assertThat(recorders.get(1).gaps()).isNotEmpty();
        }
    }

    private List<String> log(int member) {
        return protocol.disk(id(member)).written().stream()
                .filter(entry -> entry.kind() == Entry.Kind.MESSAGE)
                .map(entry ->
                        StandardCharsets.ISO_8859_1.decode(entry.payload()).toString())
                .toList();
    }
}
