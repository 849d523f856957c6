package org.gorda.jgcs.raft.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a follower makes of a checkpoint (section 5.1), of messages of earlier terms, and of what its leader has stored. */
class FollowerTest {

    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId LEADER = new MemberId("db2:7800");
    private static final Configuration MEMBERS = new Configuration(
            new GroupId(1, 2),
            0,
            List.of(new Configuration.Member(SELF, 1, true), new Configuration.Member(LEADER, 2, true)));

    private final List<String> calls = new ArrayList<>();
    private final List<RaftMessage> sent = new ArrayList<>();

    private static Configuration members(int voters) {
        List<Configuration.Member> members = new ArrayList<>(MEMBERS.members());
        for (int i = 3; i <= voters; i++) {
            members.add(new Configuration.Member(new MemberId("db" + i + ":7800"), i, true));
        }
        return new Configuration(MEMBERS.group(), 0, members);
    }

    private static List<Entry> entries(long term, int last) {
        return entries(term, 1, last);
    }

    private static List<Entry> entries(long term, long first, long last) {
        List<Entry> entries = new ArrayList<>();
        for (long index = first; index <= last; index++) {
            entries.add(Entry.of(term, index, Entry.Kind.NO_OP, new byte[0]));
        }
        return entries;
    }

    /** Its log ends at 5 in term 3, and nothing of it is decided. */
    private RaftCore follower() {
        RaftCore core = started(MEMBERS, Standing.CERTAIN, 3);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 0, 1, 1, true, entries(3, 5)));
        core.stored(2, core.generation(), 5);
        calls.clear();
        return core;
    }

    private RaftCore started(Configuration members, Standing standing, long term) {
        RaftCore core = recovered(Checkpoint.NONE, members);
        core.start(0, 1, standing, term, null);
        return core;
    }

    /** Its log ends at 1000 in term 5, and holds nothing but a checkpoint of that. */
    private RaftCore compacted() {
        RaftCore core = recovered(checkpoint(1000, 5), MEMBERS);
        core.start(0, 1, Standing.CERTAIN, 5, null);
        return core;
    }

    private RaftCore recovered(Checkpoint checkpoint, Configuration members) {
        Effects effects = (Effects) Proxy.newProxyInstance(
                Effects.class.getClassLoader(), new Class<?>[] {Effects.class}, (proxy, method, arguments) -> {
                    calls.add(method.getName());
                    if (method.getName().equals("send")) {
                        sent.add((RaftMessage) arguments[1]);
                    }
                    return method.getReturnType() == boolean.class ? Boolean.FALSE : null;
                });
        Effects.Log log = (Effects.Log) Proxy.newProxyInstance(
                Effects.Log.class.getClassLoader(),
                new Class<?>[] {Effects.Log.class},
                (proxy, method, arguments) -> method.getName().equals("checkpoint") ? Checkpoint.NONE : List.of());
        RaftCore core = new RaftCore(SELF, 1, List.of(SELF, LEADER), 1_000_000_000, bound -> 0, effects, log);
        core.recover(checkpoint, members);
        return core;
    }

    private static Checkpoint checkpoint(long index, long term) {
        return new Checkpoint(index, term, MEMBERS, ByteBuffer.allocate(0));
    }

    @Test
    void keepsAcknowledgedEntriesBehindACheckpointThatItsLogHolds() {
        RaftCore core = follower();

        core.receive(3, LEADER, 2, 1, new RaftMessage.Install(3, checkpoint(3, 3), 2));

        assertThat(core.lastIndex()).isEqualTo(5);
        assertThat(core.commitIndex()).isEqualTo(3);
        assertThat(calls).contains("commit").doesNotContain("install");
        assertThat(sent.get(sent.size() - 1)).isEqualTo(new RaftMessage.AppendReply(3, true, 5, 0, 0, 2));
    }

    /** It must be told what is missing: two of three that lost the ends of their logs elect nobody. */
    @Test
    void tellsThatAllAreNeededWhereEndsOfLogsMayBeLost() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        assertThat(core.explain()).contains("2 of 3 members").doesNotContain("all 3");
        core.tick(9_000_000_000L);
        core.receive(9_000_000_001L, LEADER, 2, 1, new RaftMessage.VoteReply(4, true, true, true));
        assertThat(core.role()).isEqualTo(Role.PRE_CANDIDATE);
        assertThat(core.explain()).contains("whole logs, or all 3 of them: the end of the log of db2:7800 may be lost");
        assertThat(started(members(3), Standing.UNCERTAIN, 3).explain())
                .contains("all 3 of them: the end of the log of db1:7800 may be lost");
    }

    @Test
    void replacesALogThatContradictsTheCheckpoint() {
        RaftCore core = follower();

        core.receive(3, LEADER, 2, 1, new RaftMessage.Install(4, checkpoint(3, 4), 2));

        assertThat(core.lastIndex()).isEqualTo(3);
        assertThat(calls).contains("install");
        assertThat(sent.get(sent.size() - 1)).isEqualTo(new RaftMessage.AppendReply(4, true, 3, 0, 0, 2));
    }

    @Test
    void ignoresACheckpointOfWhatItHasCommitted() {
        RaftCore core = follower();
        core.receive(3, LEADER, 2, 1, new RaftMessage.Install(3, checkpoint(3, 3), 2));
        calls.clear();

        core.receive(4, LEADER, 2, 1, new RaftMessage.Install(3, checkpoint(3, 3), 2));

        assertThat(core.lastIndex()).isEqualTo(5);
        assertThat(calls).containsExactly("send");
    }

    @Test
    void acknowledgesACheckpointOfWhatItHasCommittedToALeaderOfALaterTerm() {
        RaftCore core = follower();
        core.receive(3, LEADER, 2, 1, new RaftMessage.Install(3, checkpoint(3, 3), 2));

        core.receive(4, LEADER, 2, 1, new RaftMessage.Install(4, checkpoint(2, 3), 3));

        assertThat(sent.get(sent.size() - 1)).isEqualTo(new RaftMessage.AppendReply(4, true, 2, 0, 0, 3));
    }

    /** The leader may be another run of the same member, which has not asked so often yet. */
    @Test
    void doesNotEchoTheRoundOfAnEarlierTerm() {
        RaftCore core = follower();

        core.receive(3, LEADER, 2, 1, new RaftMessage.Append(2, 0, 0, 0, 0, 24, 1, true, List.of()));
        core.receive(4, LEADER, 2, 1, new RaftMessage.Install(2, checkpoint(3, 2), 25));

        assertThat(sent.subList(sent.size() - 2, sent.size()))
                .isEqualTo(List.of(
                        new RaftMessage.AppendReply(3, false, 0, 0, 0, 0),
                        new RaftMessage.AppendReply(3, false, 0, 0, 0, 0)));
    }

    /** The winner's log need not hold what the loser had found equal to an earlier leader's. */
    @Test
    void acknowledgesAsALosingCandidateOnlyWhatTheWinnerProved() {
        RaftCore core = follower();
        core.receive(3, LEADER, 2, 1, new RaftMessage.TimeoutNow(3));
        assertThat(core.term()).isEqualTo(4);

        core.receive(4, LEADER, 2, 1, new RaftMessage.Append(4, 2, 3, 0, 0, 7, 1, true, List.of()));

        assertThat(sent.get(sent.size() - 1)).isEqualTo(new RaftMessage.AppendReply(4, true, 2, 0, 0, 7));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void decidesWhatItAndItsLeaderHaveStoredWhereTwoAreAMajority(int voters) {
        RaftCore core = started(members(voters), Standing.CERTAIN, 3);

        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 4, 1, 1, true, entries(3, 5)));
        assertThat(core.commitIndex()).as("nothing is stored here").isZero();
        core.stored(2, core.generation(), 3);
        assertThat(core.commitIndex()).as("up to 3 is stored here").isEqualTo(3);
        core.stored(3, core.generation(), 5);
        assertThat(core.commitIndex()).as("up to 4 is stored at the leader").isEqualTo(4);
        core.receive(4, LEADER, 2, 1, new RaftMessage.Append(3, 5, 3, 0, 5, 1, 1, true, List.of()));
        assertThat(core.commitIndex()).isEqualTo(5);
        assertThat(calls).filteredOn("commit"::equals).hasSize(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 5})
    void leavesToItsLeaderWhatIsDecidedWhereTwoAreNoMajority(int voters) {
        RaftCore core = started(members(voters), Standing.CERTAIN, 3);

        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, true, entries(3, 5)));
        core.stored(2, core.generation(), 5);

        assertThat(core.commitIndex()).isZero();
    }

    /** Figure 3.7: a majority may have an entry of an earlier term, and another may take its place. */
    @Test
    void decidesNothingOfAnEarlierTermByItself() {
        RaftCore core = started(MEMBERS, Standing.CERTAIN, 3);

        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, true, entries(2, 5)));
        core.stored(2, core.generation(), 5);

        assertThat(core.commitIndex()).isZero();
    }

    @Test
    void decidesNothingWithTheLeaderOfAnEarlierTerm() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, true, entries(3, 2)));

        core.receive(2, new MemberId("db3:7800"), 3, 1, new RaftMessage.Append(4, 0, 0, 0, 0, 1, 1, true, List.of()));
        core.stored(3, core.generation(), 2);

        assertThat(core.commitIndex()).isZero();
    }

    @Test
    void takesNothingForStoredAtALeaderBecauseTheOneBeforeHadIt() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, true, List.of()));

        core.receive(
                2, new MemberId("db3:7800"), 3, 1, new RaftMessage.Append(4, 0, 0, 0, 0, 1, 1, true, entries(4, 3)));
        core.stored(3, core.generation(), 3);

        assertThat(core.commitIndex()).isZero();
    }

    /** Its own directory is new, and the one that the group counts has acknowledged other things. */
    @Test
    void decidesNothingUnderAnotherAdmission() {
        List<Configuration.Member> members = new ArrayList<>(members(3).members());
        members.replaceAll(member -> member.id().equals(SELF) ? new Configuration.Member(SELF, 99, true) : member);
        RaftCore core = started(new Configuration(MEMBERS.group(), 0, members), Standing.CERTAIN, 3);

        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, true, entries(3, 5)));
        core.stored(2, core.generation(), 5);

        assertThat(core.commitIndex()).isZero();
    }

    /** Before it lost the end of its log, it may have decided by itself what its leader does not know of. */
    @Test
    void isCertainAgainOnlyWithAllThatItMayHaveDecidedByItself() {
        RaftCore core = started(members(3), Standing.UNCERTAIN, 3);

        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 2, 5, 1, 1, true, entries(3, 3)));
        core.stored(2, core.generation(), 3);
        core.receive(3, LEADER, 2, 1, new RaftMessage.Append(3, 3, 3, 2, 5, 1, 1, true, List.of()));
        assertThat(core.standing()).as("it has 3 of 5").isEqualTo(Standing.UNCERTAIN);

        core.receive(
                4,
                LEADER,
                2,
                1,
                new RaftMessage.Append(3, 3, 3, 2, 9, 1, 1, true, entries(3, 5).subList(3, 5)));
        core.stored(5, core.generation(), 5);
        core.receive(6, LEADER, 2, 1, new RaftMessage.Append(3, 5, 3, 2, 9, 1, 1, true, List.of()));
        assertThat(core.standing()).isEqualTo(Standing.CERTAIN);
    }

    private long answers() {
        return sent.stream()
                .filter(message -> message instanceof RaftMessage.AppendReply)
                .count();
    }

    private long answered() {
        return ((RaftMessage.AppendReply) sent.get(sent.size() - 1)).index();
    }

    @Test
    void answersWhatIsNotUrgentWithTheNextTickOrWithSomethingElse() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, false, entries(3, 3)));
        core.stored(2, core.generation(), 3);
        assertThat(answers()).isZero();
        assertThat(core.commitIndex()).isEqualTo(3); // which waits for no answer
        assertThat(core.owesAnswer()).isTrue();

        core.tick(3);
        assertThat(answers()).isEqualTo(1);
        assertThat(answered()).isEqualTo(3);
        core.tick(4);
        assertThat(answers()).isEqualTo(1);

        core.receive(
                5,
                LEADER,
                2,
                1,
                new RaftMessage.Append(3, 3, 3, 3, 5, 1, 1, false, entries(3, 4).subList(3, 4)));
        core.stored(6, core.generation(), 4);
        assertThat(answers()).isEqualTo(1);
        core.receive(
                7,
                LEADER,
                2,
                1,
                new RaftMessage.Append(3, 4, 3, 3, 5, 1, 1, true, entries(3, 5).subList(4, 5)));
        core.stored(8, core.generation(), 5);
        assertThat(answers()).isEqualTo(2);
        assertThat(answered()).isEqualTo(5);
        assertThat(core.owesAnswer()).isFalse();
    }

    /** A disk takes longer than a tick. */
    @Test
    void answersWhatIsNotUrgentOnceItIsStored() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, false, entries(3, 3)));
        core.tick(2);
        assertThat(answers()).isZero();
        assertThat(core.nextTickNanos(2)).isEqualTo(2);
        core.stored(3, core.generation(), 2);
        assertThat(answers()).isZero();
        core.tick(4);
        assertThat(answered()).isEqualTo(2);
        core.stored(5, core.generation(), 3);
        core.tick(6);
        assertThat(answers()).isEqualTo(2);
        assertThat(answered()).isEqualTo(3);
        assertThat(core.owesAnswer()).isFalse();
    }

    /** The leader keeps what it has sent until it is answered. */
    @Test
    void answersMuchAtOnce() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        Entry large = Entry.of(3, 1, Entry.Kind.MESSAGE, new byte[RaftCore.BATCH_BYTES]);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, false, List.of(large)));
        core.stored(2, core.generation(), 1);
        assertThat(answered()).isEqualTo(1);
    }

    /** It says nothing to another leader of what it owed the one before. */
    @Test
    void owesNothingToAnotherLeader() {
        RaftCore core = started(members(3), Standing.CERTAIN, 3);
        core.receive(1, LEADER, 2, 1, new RaftMessage.Append(3, 0, 0, 0, 5, 1, 1, false, entries(3, 3)));
        core.stored(2, core.generation(), 3);
        core.receive(3, new MemberId("db3:7800"), 3, 1, new RaftMessage.Append(4, 9, 4, 0, 0, 1, 1, true, List.of()));
        long before = answers();
        core.tick(4);
        assertThat(answers()).isEqualTo(before);
    }

    private static RaftMessage append(long prevIndex, long prevTerm, List<Entry> entries) {
        return new RaftMessage.Append(9, prevIndex, prevTerm, 1100, 1200, 1, 1, true, entries);
    }

    private static List<Entry> both(List<Entry> first, List<Entry> second) {
        List<Entry> both = new ArrayList<>(first);
        both.addAll(second);
        return both;
    }

    @Test
    void passesOverWhatItsCheckpointCovers() {
        RaftCore core = compacted();

        core.receive(1, LEADER, 2, 1, append(900, 4, both(entries(5, 901, 1000), entries(9, 1001, 1002))));

        assertThat(core.lastIndex()).isEqualTo(1002);
        assertThat(core.commitIndex()).isEqualTo(1002);
    }

    /** Its leader was restored from an older copy, and has decided other things since. */
    static Stream<Arguments> whatContradictsTheCheckpoint() {
        return Stream.of(
                Arguments.of("9.1000", append(1000, 9, List.of())),
                Arguments.of("4.1000", append(1000, 4, List.of())),
                Arguments.of("9.900", append(900, 9, entries(9, 901, 1200))),
                Arguments.of("9.1000", append(900, 5, both(entries(5, 901, 999), entries(9, 1000, 1200)))),
                Arguments.of("9.811", append(810, 5, entries(9, 811, 811))),
                Arguments.of("9.1000", new RaftMessage.Install(9, checkpoint(1000, 9), 1)),
                Arguments.of("9.900", new RaftMessage.Install(9, checkpoint(900, 9), 1)));
    }

    @ParameterizedTest
    @MethodSource("whatContradictsTheCheckpoint")
    void stopsWhereItsLeaderContradictsItsCheckpoint(String entry, RaftMessage message) {
        RaftCore core = compacted();

        assertThatThrownBy(() -> core.receive(1, LEADER, 2, 1, message))
                .isInstanceOf(GroupException.class)
                .hasMessageContaining(
                        "entry " + entry + " of the leader conflicts with 5.1000, which is committed here")
                .hasMessageContaining("either this member or those that lead were restored from an older copy");
        assertThat(sent).as("nothing is acknowledged").isEmpty();
    }

    /** Until it has decided something itself, what it knows to be decided may be old. */
    @Test
    void promotesNobodyByWhatItKnewOfItsPredecessors() {
        MemberId learner = new MemberId("db3:7800");
        List<Configuration.Member> members = new ArrayList<>(MEMBERS.members());
        members.add(new Configuration.Member(learner, 3, false));
        RaftCore core = recovered(Checkpoint.NONE, new Configuration(MEMBERS.group(), 0, members));
        entries(5, 810).forEach(core::recover);
        core.start(0, 1, Standing.CERTAIN, 5, null);
        elect(core);
        for (long now = 3_100_000_000L; now < 3_500_000_000L; now += 10_000_000) {
            core.tick(now);
        }
        core.receive(3_500_000_000L, learner, 3, 1, new RaftMessage.AppendReply(core.term(), false, 1, 810, 0, 1));
        core.receive(3_500_000_001L, LEADER, 2, 1, new RaftMessage.AppendReply(core.term(), true, 811, 0, 0, 1));
        core.stored(3_500_000_002L, core.generation(), 811);
        assertThat(core.commitIndex()).isEqualTo(811);

        core.tick(3_510_000_000L);

        assertThat(core.configuration().isVoter(learner)).isFalse();
        core.receive(3_520_000_000L, learner, 3, 1, new RaftMessage.AppendReply(core.term(), true, 811, 810, 0, 1));
        core.tick(3_530_000_000L);
        assertThat(core.configuration().isVoter(learner)).isTrue();
    }

    private static void elect(RaftCore core) {
        core.tick(3_000_000_000L);
        core.receive(3_000_000_001L, LEADER, 2, 1, new RaftMessage.VoteReply(core.term() + 1, true, true, false));
        core.receive(3_000_000_002L, LEADER, 2, 1, new RaftMessage.VoteReply(core.term(), true, false, false));
        assertThat(core.role()).isEqualTo(Role.LEADER);
    }

    /** The follower finds out itself. */
    @Test
    void leadsOnWhereAFollowerHasMore() {
        RaftCore core = recovered(Checkpoint.NONE, MEMBERS);
        entries(5, 810).forEach(core::recover);
        core.start(0, 1, Standing.CERTAIN, 5, null);
        elect(core);

        core.receive(3_000_000_003L, LEADER, 2, 1, new RaftMessage.AppendReply(core.term(), true, 1000, 0, 0, 1));
        core.stored(3_000_000_004L, core.generation(), 811);

        assertThat(core.role()).isEqualTo(Role.LEADER);
        assertThat(core.commitIndex()).isZero();
    }
}
