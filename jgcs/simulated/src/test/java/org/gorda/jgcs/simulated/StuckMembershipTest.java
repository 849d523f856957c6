package org.gorda.jgcs.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes of the membership after which a group never has a leader again, although nobody has lost anything that it needs. */
class StuckMembershipTest {

    private final Simulation simulation = new Simulation(1);
    private final SimulatedProtocol protocol = new SimulatedProtocol(simulation);
    private final TreeMap<Integer, SimulatedGroup> groups = new TreeMap<>();
    private final TreeMap<Integer, Recorder> recorders = new TreeMap<>();
    private final List<MemberId> formed = new ArrayList<>();

    private static MemberId id(int member) {
        return new MemberId("m" + member + ":7800");
    }

    private void start(int member) {
        start(member, Duration.ZERO);
    }

    private void start(int member, Duration clockAhead) {
        GroupConfiguration configuration = GroupConfiguration.builder("test", id(member), Path.of("unused"))
                .members(formed)
                .build();
        Recorder recorder = recorders.computeIfAbsent(member, any -> new Recorder());
        recorder.restarted();
        SimulatedGroup group = protocol.open(configuration, protocol.offers(configuration), recorder);
        groups.put(member, group);
        group.clockAhead(clockAhead);
        group.join(recorder.last());
    }

    private void form(int members) {
        for (int i = 0; i < members; i++) {
            formed.add(id(i));
        }
        for (int i = 0; i < members; i++) {
            start(i);
        }
        simulation.run(Duration.ofSeconds(5));
        if (!groups.get(0).view().isLeader(id(0))) {
            groups.get(0).transferLeadership(id(0));
            simulation.run(Duration.ofSeconds(5));
        }
        assertThat(groups.get(0).view().isLeader(id(0))).isTrue();
        groups.get(0).multicast(ByteBuffer.wrap("x".getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(1));
        simulation.run(Duration.ofSeconds(1));
    }

    private boolean isLed() {
        return groups.values().stream()
                .anyMatch(group -> group.core().view(simulation.now()).working());
    }

    /** It never has all that is decided at that moment, since the others decide the next before it answers. */
    @ParameterizedTest
    @CsvSource({"10, false", "150, false", "150, true"})
    void whoIsFartherAwayThanTheOthersCountsUnderLoadToo(int millis, boolean read) {
        form(3);
        putAway(3, millis);
        write(100);
        if (read) {
            read();
        }
        groups.get(0).add(id(3));
        start(3);
        simulation.run(Duration.ofSeconds(5));
        assertThat(isVoter(3)).isTrue();
    }

    /** It is needed for each decision from then on, and what it lacks has to come first. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoLacksMuchDoesNotCountYet(boolean read) {
        form(1);
        if (read) {
            read();
        }
        for (int i = 0; i < 500; i++) {
            groups.get(0).multicast(ByteBuffer.allocate(50_000), Duration.ofSeconds(1));
        }
        simulation.run(Duration.ofSeconds(1));
        putAway(1, 100);
        write(1000);
        groups.get(0).add(id(1));
        start(1);
        long longestNanos = 0;
        long decided = groups.get(0).core().commitIndex();
        long decidedNanos = simulation.now();
        for (int millis = 0; millis < 10_000; millis += 10) {
            simulation.run(Duration.ofMillis(10));
            if (groups.get(0).core().commitIndex() > decided) {
                decided = groups.get(0).core().commitIndex();
                decidedNanos = simulation.now();
            }
            longestNanos = Math.max(longestNanos, simulation.now() - decidedNanos);
        }
        assertThat(isVoter(1)).isTrue();
        assertThat(Duration.ofNanos(longestNanos)).as("standstill").isLessThan(Duration.ofMillis(400));
    }

    private boolean isVoter(int member) {
        return groups.get(0).core().configuration().isVoter(id(member));
    }

    private void putAway(int member, int millis) {
        for (int i = 0; i < member; i++) {
            protocol.network().slow(id(i), id(member), millis * 1_000_000L);
            protocol.network().slow(id(member), id(i), millis * 1_000_000L);
        }
    }

    /** A thousand messages a second. */
    private void write(int bytes) {
        groups.get(0).multicast(ByteBuffer.allocate(bytes), Duration.ofSeconds(1));
        simulation.schedule(1_000_000, "write", () -> write(bytes));
    }

    /** More often than heartbeats are due. */
    private void read() {
        groups.get(0).readPosition();
        simulation.schedule(20_000_000, "read", this::read);
    }

    /** Without waiting until the others miss it, which takes a second. */
    @Test
    void aLeaderThatRemovesItselfIsFollowedAtOnce() {
        form(3);
        groups.get(0).remove(id(0));
        simulation.run(Duration.ofMillis(200));
        assertThat(List.of(groups.get(1), groups.get(2)))
                .as("m1 %s, m2 %s", groups.get(1).explanation(), groups.get(2).explanation())
                .anyMatch(group -> group.view().isLeader(group.self()));
    }

    /** Dissertation, section 4.2.2: who is not in its newest configuration must still campaign until that is decided, it may be needed. */
    @Test
    void aLeaderOfTwoIsToRemoveItselfAndIsRestarted() {
        form(2);
        protocol.network().cut(id(0), id(1));
        groups.get(0).remove(id(0));
        simulation.run(Duration.ofMillis(1));
        groups.get(0).kill();
        protocol.network().heal();
        start(0);
        simulation.run(Duration.ofMinutes(5));
        assertThat(isLed())
                .as("m0 %s, m1 %s", groups.get(0).explanation(), groups.get(1).explanation())
                .isTrue();
    }

    /** The same by one that was added: in its log is a configuration without it before those with it, and after its start it does not know which is decided. */
    @Test
    void aLeaderThatWasAddedIsToRemoveItselfAndIsRestarted() {
        form(1);
        groups.get(0).add(id(1));
        start(1);
        simulation.run(Duration.ofSeconds(5));
        groups.get(0).transferLeadership(id(1));
        simulation.run(Duration.ofSeconds(5));
        assertThat(groups.get(1).view().isLeader(id(1))).isTrue();
        protocol.network().cut(id(1), id(0));
        groups.get(1).remove(id(1));
        simulation.run(Duration.ofMillis(1));
        groups.get(1).kill();
        protocol.network().heal();
        start(1);
        simulation.run(Duration.ofMinutes(5));
        assertThat(isLed())
                .as("m0 %s, m1 %s", groups.get(0).explanation(), groups.get(1).explanation())
                .isTrue();
    }

    /** The same without a crash: the link is slow for longer than the leader waits. */
    @Test
    void aLeaderOfTwoIsToRemoveItselfWhileTheLinkIsCutForAWhile() {
        form(2);
        protocol.network().cut(id(0), id(1));
        groups.get(0).remove(id(0));
        simulation.run(Duration.ofSeconds(10));
        protocol.network().heal();
        simulation.run(Duration.ofMinutes(5));
        assertThat(isLed())
                .as("m0 %s, m1 %s", groups.get(0).explanation(), groups.get(1).explanation())
                .isTrue();
    }

    /** Runs are numbered by the clock, and the number of the one before is gone with the directory. */
    @Test
    void aMemberComesBackWithANewDirectoryAndAClockThatIsBehind() {
        form(3);
        groups.get(2).kill();
        start(2, Duration.ofHours(1));
        simulation.run(Duration.ofSeconds(5));
        groups.get(2).kill();
        protocol.disk(id(2)).wipe();
        recorders.put(2, new Recorder());
        start(2);
        simulation.run(Duration.ofMinutes(5));
        groups.get(1).kill();
        simulation.run(Duration.ofMinutes(1));
        groups.remove(1);
        assertThat(isLed())
                .as("m0 %s, m2 %s", groups.get(0).explanation(), groups.get(2).explanation())
                .isTrue();
    }

    /** Two of three are well; the wrong one is to be removed, which nobody could decide then. */
    @Test
    void aMemberIsRemovedWhileAnotherComesBackWithANewDirectory() {
        form(3);
        groups.get(2).kill();
        protocol.disk(id(2)).wipe();
        recorders.put(2, new Recorder());
        simulation.run(Duration.ofSeconds(5));
        groups.get(0).remove(id(1));
        simulation.run(Duration.ofMillis(20));
        start(2);
        simulation.run(Duration.ofMinutes(5));
        boolean decides =
                groups.get(0).core().commitIndex() == groups.get(0).core().lastIndex();
        assertThat(decides && isLed())
                .as(
                        "m0 %s %s, m1 %s, m2 %s",
                        groups.get(0).explanation(),
                        groups.get(0).core().configuration(),
                        groups.get(1).explanation(),
                        groups.get(2).explanation())
                .isTrue();
    }
}
