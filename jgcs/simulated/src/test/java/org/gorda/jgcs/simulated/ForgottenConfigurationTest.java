package org.gorda.jgcs.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.core.Standing;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;

/**
 * One member of three, a minority, loses the end of its log, and with it the entry that made the group as large as it is. "All voters" are then those
 * of a configuration that is no longer in force (ADR 2).
 */
class ForgottenConfigurationTest {

    private final Simulation simulation = new Simulation(1);
    private final SimulatedProtocol protocol = new SimulatedProtocol(simulation);
    private final TreeMap<Integer, SimulatedGroup> groups = new TreeMap<>();
    private final TreeMap<Integer, Recorder> recorders = new TreeMap<>();
    private List<MemberId> formed = List.of();

    private static MemberId id(int member) {
        return new MemberId("m" + member + ":7800");
    }

    private void start(int member) {
        GroupConfiguration configuration = GroupConfiguration.builder("test", id(member), Path.of("unused"))
                .members(formed)
                .durability(Service.Durability.WRITTEN)
                .build();
        Recorder recorder = recorders.computeIfAbsent(member, any -> new Recorder());
        recorder.restarted();
        SimulatedGroup group = protocol.open(configuration, protocol.offers(configuration), recorder);
        groups.put(member, group);
        group.join(recorder.last());
    }

    private void await(String what, BooleanSupplier condition) {
        assertThat(simulation.runUntil(condition, Duration.ofSeconds(60)))
                .as("%s %s", what, simulation.broken())
                .isTrue();
    }

    private void send(int member, String text) {
        await("room at " + member, () -> takes(member, text));
    }

    private boolean takes(int member, String text) {
        try {
            groups.get(member).multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), Duration.ZERO);
            return true;
        } catch (RuntimeException e) {
            return false;
        }
    }

    private void sendAndAwait(int from, String text, int... at) {
        send(from, text);
        for (int member : at) {
            await(text + " at " + member, () -> recorders.get(member).texts().contains(text));
        }
    }

    private void add(int by, int added) {
        await("adding " + added, () -> {
            var done = groups.get(by).add(id(added));
            simulation.runUntil(done::isDone, Duration.ofSeconds(10));
            return !done.isCompletedExceptionally();
        });
        start(added);
        await("promotion of " + added, () -> groups.get(by).view().members().contains(id(added)));
    }

    private void cut(int a, int b) {
        protocol.network().cut(id(a), id(b));
        protocol.network().cut(id(b), id(a));
    }

    private void isolate(int alone, int members) {
        for (int other = 0; other < members; other++) {
            if (other != alone) {
                cut(alone, other);
            }
        }
    }

    /** What each has at an index must be the same, over all runs. */
    private void compare() {
        TreeMap<Long, String> history = new TreeMap<>();
        List<String> differences = new ArrayList<>();
        recorders.forEach((member, recorder) -> {
            for (var message : recorder.messages()) {
                String text = StandardCharsets.UTF_8.decode(message.payload().duplicate()) + "@" + message.position();
                String before = history.putIfAbsent(message.position().index(), text);
                if (before != null && !before.equals(text)) {
                    differences.add("m" + member + " was given " + text + " where another was given " + before);
                }
            }
        });
        differences.addAll(simulation.broken());
        assertThat(differences).isEmpty();
    }

    /** The founder of a group that has grown since. Its log is damaged (or not written yet, when the power failed) from before it grew. */
    @Test
    void theFounderForgetsThatItIsNotAlone() {
        formed = List.of(id(0));
        start(0);
        sendAndAwait(0, "alone", 0);
        add(0, 1);
        add(0, 2);
        sendAndAwait(0, "of three", 0, 1, 2);

        groups.get(0).kill();
        protocol.disk(id(0)).loseTail(1000);
        sendAndAwait(1, "without the founder", 1, 2);
        start(0);
        send(0, "of the founder, acknowledged");
        simulation.runUntil(
                () -> recorders.get(0).texts().contains("of the founder, acknowledged"), Duration.ofSeconds(30));
        simulation.run(Duration.ofSeconds(10));

        compare();
    }

    /** The same by a power loss alone: nothing but the last moments is lost, and the links to the others are slow to come back. */
    @Test
    void theFounderLosesPowerShortlyAfterTheGroupHasGrown() {
        formed = List.of(id(0));
        start(0);
        sendAndAwait(0, "alone", 0);
        add(0, 1);
        add(0, 2);
        sendAndAwait(0, "of three", 0, 1, 2);
        groups.get(0).kill();
        protocol.disk(id(0)).loseTail((int) groups.get(0).core().lastIndex() - 3); // written seconds ago and not forced
        isolate(0, 3);
        recorders.put(0, new Recorder()); // its user, on the same machine, has lost as much
        start(0);
        sendAndAwait(1, "of the majority", 1, 2);
        simulation.runUntil(() -> takes(0, "of the founder alone"), Duration.ofSeconds(30));
        simulation.run(Duration.ofSeconds(30));
        assertThat(groups.get(0).view().leader()).as("whom the founder follows").isEmpty();
        assertThat(recorders.get(0).texts())
                .as("the founder, one of three, decided by itself")
                .doesNotContain("of the founder alone");
    }

    /**
     * The directory of one of three is replaced, which makes the group two for a moment and three again: nobody changed anything by hand. One of the
     * others lags then, and the third, which lags not, loses the last entries of its log: a minority.
     */
    @Test
    void oneOfThreeForgetsThatTheThirdIsBack() {
        formed = List.of(id(0), id(1), id(2));
        start(0);
        start(1);
        start(2);
        await("a leader", () -> groups.get(0).view().leader().isPresent());
        sendAndAwait(0, "first", 0, 1, 2);
        if (!groups.get(0).view().isLeader(id(0))) {
            groups.get(0).transferLeadership(id(0));
            await("m0 leads", () -> groups.get(0).view().isLeader(id(0)));
        }
        groups.get(2).kill();
        protocol.disk(id(2)).wipe();
        recorders.put(2, new Recorder());
        // The new directory comes as a learner, and m1 hears no more once it has stored that.
        start(2);
        await("a learner", () -> groups.get(0).view().learners().contains(id(2)));
        await("which m1 knows", () -> groups.get(1).core().configuration().voters() == 2);
        long known = groups.get(1).core().lastIndex();
        isolate(1, 3);
        await("which votes", () -> groups.get(0).core().configuration().voters() == 3);
        sendAndAwait(0, "decided by m0 and m2", 0, 2);
        assertThat(groups.get(0).core().commitIndex())
                .isEqualTo(groups.get(0).core().lastIndex());
        assertThat(groups.get(1).core().configuration().voters()).isEqualTo(2);

        // m0's machine loses power: the last moments of its log are lost. The link to m2 is cut, m1 is back.
        int lost = (int) (groups.get(0).core().lastIndex() - known);
        groups.get(0).kill();
        protocol.disk(id(0)).loseTail(lost);
        protocol.network().heal();
        isolate(2, 3);
        start(0);
        assertThat(groups.get(0).core().standing()).isEqualTo(Standing.UNCERTAIN);
        send(1, "in its place");
        simulation.runUntil(() -> recorders.get(1).texts().contains("in its place"), Duration.ofSeconds(30));
        protocol.network().heal();
        simulation.run(Duration.ofSeconds(10));

        compare();
    }
}
