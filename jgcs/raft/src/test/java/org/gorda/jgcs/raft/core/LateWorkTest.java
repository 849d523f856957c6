package org.gorda.jgcs.raft.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.junit.jupiter.api.Test;

/** What was read of the log, and what was asked, before the term changed or the log was cut. */
class LateWorkTest {

    private static final MemberId A = new MemberId("a:7800");
    private static final MemberId B = new MemberId("b:7800");
    private static final MemberId C = new MemberId("c:7800");
    private static final Configuration MEMBERS = new Configuration(
            new GroupId(1, 2),
            0,
            List.of(
                    new Configuration.Member(A, 1, true),
                    new Configuration.Member(B, 2, true),
                    new Configuration.Member(C, 3, true)));

    private record Sent(MemberId to, RaftMessage message) {}

    /** One member, whose log is all on disk and not in memory, so that followers' entries are fetched. */
    private static final class One {
        final List<Sent> sent = new ArrayList<>();
        final List<Long> readable = new ArrayList<>();
        final List<Entry> log = new ArrayList<>();
        final RaftCore core;
        Checkpoint checkpoint = Checkpoint.NONE;
        boolean forces;
        int fetches;

        One(MemberId self, long admission) {
            Effects effects = (Effects) Proxy.newProxyInstance(
                    Effects.class.getClassLoader(), new Class<?>[] {Effects.class}, (proxy, method, arguments) -> {
                        switch (method.getName()) {
                            case "send" -> sent.add(new Sent((MemberId) arguments[0], (RaftMessage) arguments[1]));
                            case "append" -> {
                                @SuppressWarnings("unchecked")
                                List<Entry> entries = (List<Entry>) arguments[0];
                                log.addAll(entries);
                                return !forces;
                            }
                            case "truncate" -> log.removeIf(entry -> entry.index() >= (Long) arguments[0]);
                            case "fetch" -> fetches++;
                            case "readable" -> readable.add((Long) arguments[1]);
                            default -> {}
                        }
                        return method.getReturnType() == boolean.class ? Boolean.FALSE : null;
                    });
            Effects.Log reads = (Effects.Log) Proxy.newProxyInstance(
                    Effects.Log.class.getClassLoader(),
                    new Class<?>[] {Effects.Log.class},
                    (proxy, method, arguments) -> method.getName().equals("checkpoint") ? checkpoint : List.of());
            core = new RaftCore(self, admission, List.of(A, B, C), 1_000_000_000, bound -> 0, effects, reads);
            core.recover(Checkpoint.NONE, MEMBERS);
            core.start(0, 1, Standing.CERTAIN, 0, null);
        }

        List<Entry> read(long from, long to) {
            return log.stream()
                    .filter(entry -> entry.index() >= from && entry.index() <= to)
                    .toList();
        }

        /** Campaigns, and is elected by C. */
        void elect(long now) {
            core.tick(now);
            core.receive(now, C, 3, 1, new RaftMessage.VoteReply(core.term() + 1, true, true, false));
            core.receive(now, C, 3, 1, new RaftMessage.VoteReply(core.term(), true, false, false));
            assertThat(core.role()).isEqualTo(Role.LEADER);
        }

        RaftMessage.Append lastAppendTo(MemberId to) {
            RaftMessage.Append last = null;
            for (Sent message : sent) {
                if (message.to().equals(to) && message.message() instanceof RaftMessage.Append append) {
                    last = append;
                }
            }
            return last;
        }
    }

    private static Entry noOp(long term, long index) {
        return Entry.of(term, index, Entry.Kind.NO_OP, new byte[0]);
    }

    /**
     * A leads, and reads entries for B. Before it is told what it has read it loses its office, has the end of its log replaced, and leads again. What
     * it sends to B then must be of its log of now.
     */
    @Test
    void sendsNothingThatWasReadBeforeItsLogWasReplaced() {
        One a = new One(A, 1);
        a.elect(3_000_000_000L); // term 1, entry 1
        a.core.propose(3_000_000_001L, List.of(noOp(1, 2), noOp(1, 3), noOp(1, 4)));
        a.core.receive(3_000_000_002L, C, 3, 1, new RaftMessage.AppendReply(1, true, 1, 0, 0, 1));
        // B has nothing: its entries are fetched, and read, but the reading thread gets no further for a while.
        a.core.receive(3_000_000_003L, B, 2, 1, new RaftMessage.AppendReply(1, false, 1, 1, 0, 1));
        assertThat(a.fetches).isPositive();
        List<Entry> late = a.read(1, 4);

        // C leads term 2 (elected by B), and replaces entries 2 to 4.
        a.core.receive(
                3_000_000_010L,
                C,
                3,
                1,
                new RaftMessage.Append(2, 1, 1, 0, 0, 1, 1, true, List.of(noOp(2, 2), noOp(2, 3), noOp(2, 4))));
        a.elect(6_000_000_000L); // term 3, entry 5; B is asked where it is, and has nothing
        assertThat(a.core.term()).isEqualTo(3);
        a.core.receive(6_000_000_001L, B, 2, 1, new RaftMessage.AppendReply(3, false, 1, 4, 0, 2));
        a.sent.clear();
        a.core.fetched(6_000_000_002L, B, late);

        for (Sent message : a.sent) {
            if (message.message() instanceof RaftMessage.Append append) {
                for (Entry entry : append.entries()) {
                    assertThat(entry.term())
                            .as("entry %s, which the leader sends to %s in term 3", entry, message.to())
                            .isEqualTo(a.core.termAt(entry.index()));
                }
            }
        }
    }

    /** And what comes of it: B acknowledges what it was sent, and A counts that as its own. */
    @Test
    void countsNothingThatWasReadBeforeItsLogWasReplaced() {
        One a = new One(A, 1);
        One b = new One(B, 2);
        a.elect(3_000_000_000L);
        a.core.propose(3_000_000_001L, List.of(noOp(1, 2), noOp(1, 3), noOp(1, 4)));
        a.core.receive(3_000_000_002L, C, 3, 1, new RaftMessage.AppendReply(1, true, 1, 0, 0, 1));
        a.core.receive(3_000_000_003L, B, 2, 1, new RaftMessage.AppendReply(1, false, 1, 1, 0, 1));
        List<Entry> late = a.read(1, 4);
        a.core.receive(
                3_000_000_010L,
                C,
                3,
                1,
                new RaftMessage.Append(2, 1, 1, 0, 0, 1, 1, true, List.of(noOp(2, 2), noOp(2, 3), noOp(2, 4))));
        a.elect(6_000_000_000L);
        // A decides with C. From here on whatever A sends to B arrives, and B's answers.
        a.core.receive(6_000_000_000L, C, 3, 1, new RaftMessage.AppendReply(3, true, 5, 0, 0, 2));
        assertThat(a.core.commitIndex()).isEqualTo(5);
        a.sent.clear();
        a.core.receive(6_000_000_001L, B, 2, 1, new RaftMessage.AppendReply(3, false, 1, 4, 0, 2));
        a.core.fetched(6_000_000_002L, B, late);
        for (int i = 0; i < 20; i++) {
            long now = 6_000_000_010L + i;
            List<Sent> toB = List.copyOf(a.sent);
            a.sent.clear();
            toB.stream()
                    .filter(message -> message.to().equals(B))
                    .forEach(message -> b.core.receive(now, A, 1, 1, message.message()));
            List<Sent> toA = List.copyOf(b.sent);
            b.sent.clear();
            toA.stream()
                    .filter(message -> message.to().equals(A))
                    .forEach(message -> a.core.receive(now, B, 2, 1, message.message()));
            RaftMessage.Append append = a.lastAppendTo(B);
            if (append == null) {
                a.core.fetched(now, B, a.read(1, 5)); // what is fetched from here on is told in time
                a.core.fetched(now, B, a.read(5, 5));
            }
        }
        assertThat(b.core.commitIndex()).isPositive();
        for (long index = 1; index <= b.core.commitIndex(); index++) {
            assertThat(b.core.termAt(index))
                    .as("the term of entry %d, which is decided at B, as A has it", index)
                    .isEqualTo(a.core.termAt(index));
        }
    }

    /** Entries are read for B; before they are sent, a checkpoint covers the first of them, and the one before it is not known any more. */
    @Test
    void saysNothingOfAnEntryBeforeItsCheckpoint() {
        One a = new One(A, 1);
        a.elect(3_000_000_000L);
        a.core.propose(3_000_000_001L, List.of(noOp(1, 2), noOp(1, 3), noOp(1, 4), noOp(1, 5)));
        a.core.receive(3_000_000_002L, C, 3, 1, new RaftMessage.AppendReply(1, true, 5, 0, 0, 1));
        assertThat(a.core.commitIndex()).isEqualTo(5);
        // B had 3, which is sought; its next is 4.
        a.core.receive(3_000_000_003L, B, 2, 1, new RaftMessage.AppendReply(1, true, 3, 0, 0, 1));
        assertThat(a.fetches).isPositive();
        List<Entry> late = a.read(4, 5);
        // B is restarted and has lost the end of its log; A hears of its new run, and reads on for it from where it
        // was.
        a.core.receive(3_000_000_004L, B, 2, 2, new RaftMessage.VoteReply(1, false, true, true));
        a.core.tick(3_200_000_000L);
        a.core.propose(3_200_000_001L, List.of(noOp(1, 6)));
        a.sent.clear();
        a.checkpoint = new Checkpoint(4, 1, MEMBERS, ByteBuffer.allocate(0));
        a.core.compacted(4);
        a.core.fetched(3_200_000_002L, B, late);

        List<RaftMessage.Append> appends = new ArrayList<>();
        for (Sent message : a.sent) {
            if (message.message() instanceof RaftMessage.Append append) {
                appends.add(append);
            }
        }
        assertThat(appends)
                .allSatisfy(append -> assertThat(append.prevTerm())
                        .as("term of what precedes %s", append.entries())
                        .isNotNegative());
    }

    /** A follower that does not have what precedes must refuse, whatever the leader says that it is. */
    @Test
    void takesNothingBehindAHole() {
        One b = new One(B, 2);
        b.core.receive(1, A, 1, 1, new RaftMessage.Append(1, 0, 0, 0, 0, 1, 1, true, List.of(noOp(1, 1))));
        b.sent.clear();
        try {
            b.core.receive(
                    2, A, 1, 1, new RaftMessage.Append(1, 3, -1, 5, 5, 1, 1, true, List.of(noOp(1, 4), noOp(1, 5))));
        } catch (AssertionError e) {
            throw new AssertionError("only an assertion, which production does not check, stops this", e);
        }
        assertThat(b.core.lastIndex()).isEqualTo(1);
        assertThat(b.core.commitIndex()).isLessThanOrEqualTo(1);
    }

    /**
     * B's disk forces entries of term 1 for long. Meanwhile A, that has asked seldom yet, leads term 2 and orders much, so that the first that B hears of
     * it is its checkpoint. What B tells when the disk is done must not answer what A has not asked yet.
     */
    @Test
    void doesNotAnswerRoundsThatTheLeaderHasNotBegun() {
        One b = new One(B, 2);
        b.forces = true;
        b.core.receive(
                1, C, 3, 1, new RaftMessage.Append(1, 0, 0, 0, 0, 5000, 1, true, List.of(noOp(1, 1), noOp(1, 2))));
        b.core.receive(
                2, A, 1, 1, new RaftMessage.Install(2, new Checkpoint(1, 1, MEMBERS, ByteBuffer.allocate(0)), 7));
        b.sent.clear();
        b.core.receive(
                3, A, 1, 1, new RaftMessage.Install(2, new Checkpoint(2, 1, MEMBERS, ByteBuffer.allocate(0)), 7));
        b.core.stored(4, b.core.generation(), 2);

        assertThat(b.sent)
                .allSatisfy(message -> assertThat(((RaftMessage.AppendReply) message.message()).round())
                        .as("the round that is echoed to the leader of term 2, which is in round 7")
                        .isLessThanOrEqualTo(7));
    }

    /** What comes of it: A answers a strong read although nobody has told it since that it still leads. */
    @Test
    void confirmsNoReadByARoundOfAnEarlierTerm() {
        One b = new One(B, 2);
        b.forces = true;
        b.core.receive(
                1, C, 3, 1, new RaftMessage.Append(1, 0, 0, 0, 0, 5000, 1, true, List.of(noOp(1, 1), noOp(1, 2))));

        One a = new One(A, 1);
        a.core.receive(
                1, C, 3, 1, new RaftMessage.Append(1, 0, 0, 0, 0, 5000, 1, true, List.of(noOp(1, 1), noOp(1, 2))));
        a.elect(3_000_000_000L); // term 2, entry 3
        a.core.receive(3_000_000_001L, C, 3, 1, new RaftMessage.AppendReply(2, true, 3, 0, 0, 1));
        assertThat(a.core.commitIndex()).isEqualTo(3);
        a.checkpoint = new Checkpoint(2, 1, MEMBERS, ByteBuffer.allocate(0));
        b.core.receive(3_000_000_002L, A, 1, 1, new RaftMessage.Install(2, a.checkpoint, 1));
        b.core.stored(3_000_000_003L, b.core.generation(), 2);
        b.sent.forEach(message -> {
            if (message.to().equals(A)) {
                a.core.receive(3_000_000_004L, B, 2, 1, message.message());
            }
        });

        // From here on nobody hears of A or is heard by it: others may lead and decide.
        a.core.read(3_000_000_100L, 77);
        assertThat(a.readable)
                .as("strong reads that were answered without asking anybody")
                .isEmpty();
    }
}
