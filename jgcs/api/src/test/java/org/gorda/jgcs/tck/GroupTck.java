package org.gorda.jgcs.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.IntConsumer;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.MessageTooLargeException;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What every binding must do that offers what a case needs; most need uniform total order with a log. The cases R1 to R11 are
 * schedules on which known implementations lost or diverged data.
 */
public abstract class GroupTck {

    private static final Duration WAIT = Duration.ofSeconds(10);

    private static final Service FIFO =
            new Service(Service.Order.FIFO, Service.Uniformity.LOCAL, Service.Durability.NONE);
    private static final Service TOTAL_ORDER =
            new Service(Service.Order.TOTAL, Service.Uniformity.LOCAL, Service.Durability.NONE);
    private static final Service UNIFORM_WITH_LOG =
            new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, Service.Durability.WRITTEN);
    private static final Service FORCED =
            new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, Service.Durability.SYNCED);

    private TckCluster cluster;
    private int settled;

    /**
     * Makes a cluster.
     *
     * @param formed how many members form the group
     * @param spare how many more there are that can be added later
     */
    protected abstract TckCluster open(int formed, int spare, Service.Durability durability);

    /** What the groups that are opened offer at least: a case that needs more is skipped. */
    protected Service offered() {
        return UNIFORM_WITH_LOG;
    }

    @AfterEach
    void closeCluster() {
        if (cluster != null) {
            cluster.close();
        }
    }

    // --------------------------------------------------------------------------------------------------- the tools

    private void form(int members) {
        form(members, 0, Service.Durability.WRITTEN);
    }

    private void form(int members, int spare, Service.Durability durability) {
        form(members, spare, durability, UNIFORM_WITH_LOG);
    }

    private void form(int members, Service needed) {
        form(members, 0, Service.Durability.WRITTEN, needed);
    }

    private void form(int members, int spare, Service.Durability durability, Service needed) {
        assumeTrue(offered().satisfies(needed), () -> "needs " + needed + ", offered is " + offered());
        cluster = open(members, spare, durability);
        for (int i = 0; i < members; i++) {
            cluster.start(i);
        }
        cluster.await("the group works", () -> {
            for (int i = 0; i < members; i++) {
                View view = cluster.recorder(i).view();
                if (!view.working() || view.members().size() < members) {
                    return false;
                }
            }
            return true;
        });
    }

    private MessageId send(int member, String text) {
        return cluster.group(member).data().multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), WAIT);
    }

    private void sendAndAwait(int member, String text) {
        send(member, text);
        cluster.await(
                member + " delivers " + text,
                () -> cluster.recorder(member).texts().contains(text));
    }

    /** What a member has delivered of what it has sent in this run. */
    private List<String> own(int member) {
        return cluster.recorder(member).messages().stream()
                .filter(message -> cluster.group(member).isOwn(message.id()))
                .map(message -> StandardCharsets.UTF_8
                        .decode(message.payload().duplicate())
                        .toString())
                .toList();
    }

    private int leader() {
        int[] found = {-1};
        cluster.await("there is a leader", () -> {
            found[0] = leaderNow();
            return found[0] >= 0;
        });
        return found[0];
    }

    private int leaderNow() {
        for (int i = 0; i < cluster.formed(); i++) {
            View view = cluster.recorder(i).view();
            if (view.working()
                    && view.isLeader(cluster.id(i))
                    && cluster.group(i).membership().orElseThrow().view().isLeader(cluster.id(i))) {
                return i;
            }
        }
        return -1;
    }

    /** A leader other than those named, agreed on by all others. */
    private int leaderBesides(Integer... gone) {
        List<Integer> out = List.of(gone);
        int[] found = {-1};
        cluster.await("there is a leader besides " + out, () -> {
            for (int i = 0; i < cluster.formed(); i++) {
                if (!out.contains(i)
                        && cluster.recorder(i).view().working()
                        && cluster.recorder(i).view().isLeader(cluster.id(i))) {
                    found[0] = i;
                    return true;
                }
            }
            return false;
        });
        return found[0];
    }

    private List<Integer> allBut(Integer... out) {
        List<Integer> rest = new ArrayList<>();
        for (int i = 0; i < cluster.formed(); i++) {
            if (!List.of(out).contains(i)) {
                rest.add(i);
            }
        }
        return rest;
    }

    private void isolate(int member) {
        for (int other : allBut(member)) {
            cluster.cut(member, other);
            cluster.cut(other, member);
        }
    }

    /** Each of these members sends a last message; when all have all of them, they must have the same history. */
    private void settle(List<Integer> members) {
        String mark = "settled " + ++settled + " by ";
        for (int sender : members) {
            cluster.await(
                    "the group works at " + sender,
                    () -> cluster.recorder(sender).view().working());
            send(sender, mark + sender);
        }
        for (int member : members) {
            cluster.await(
                    member + " has the last messages",
                    () -> members.stream()
                            .allMatch(sender -> cluster.recorder(member).texts().contains(mark + sender)));
        }
        agree(members);
    }

    private void agree(List<Integer> members) {
        List<Message> expected = history(members.get(0));
        for (int member : members) {
            List<Message> got = history(member);
            assertThat(got.stream().map(this::place).toList())
                    .as("history of member %d", member)
                    .isEqualTo(expected.stream().map(this::place).toList());
            assertThat(got.stream().map(Message::payload).toList())
                    .isEqualTo(expected.stream().map(Message::payload).toList());
        }
        assertThat(new HashSet<>(expected.stream().map(Message::id).toList()))
                .as("each message once")
                .hasSize(expected.size());
    }

    /** What a member delivered; sorted by sender where each has an order of its own, and that alone is promised. */
    private List<Message> history(int member) {
        List<Message> delivered = cluster.recorder(member).messages();
        return offered().satisfies(TOTAL_ORDER)
                ? delivered
                : delivered.stream()
                        .sorted(Comparator.comparing(message -> message.id().member()))
                        .toList();
    }

    /** Without a log a position only counts. */
    private String place(Message message) {
        return offered().satisfies(UNIFORM_WITH_LOG)
                ? message.position() + " " + message.id()
                : message.id().toString();
    }

    // --------------------------------------------------------------------------------------------------- the basics

    @Test
    void allMembersDeliverTheSameMessagesInTheSameOrder() {
        form(3, TOTAL_ORDER);
        for (int i = 0; i < 300; i++) {
            send(i % 3, "message " + i);
        }
        settle(allBut());
        assertThat(cluster.recorder(0).count()).isEqualTo(303);
    }

    @Test
    void messagesOfOneSenderKeepTheirOrder() {
        form(3, FIFO);
        for (int i = 0; i < 200; i++) {
            send(1, "a" + i);
            send(2, "b" + i);
        }
        settle(allBut());
        Map<MemberId, Long> last = new HashMap<>();
        for (Message message : cluster.recorder(0).messages()) {
            long expected = last.merge(message.id().member(), 1L, Long::sum);
            assertThat(message.id().sequence()).isEqualTo(expected);
        }
    }

    @Test
    void messagesOfAllSizesArriveUnharmed() {
        form(3, FIFO);
        int[] sizes = {0, 1, 2, 100, 1023, 4096, 65535, 65536, 300_000, 1_500_000};
        Random random = new Random(7);
        List<byte[]> sent = new ArrayList<>();
        for (int size : sizes) {
            byte[] payload = new byte[size];
            random.nextBytes(payload);
            sent.add(payload);
            cluster.group(sent.size() % 3).data().multicast(ByteBuffer.wrap(payload), WAIT);
            int count = sent.size();
            cluster.await(
                    "all have it",
                    () -> allBut().stream()
                            .allMatch(member -> cluster.recorder(member).count() == count));
        }
        for (int member : allBut()) {
            for (int i = 0; i < sizes.length; i++) {
                ByteBuffer got = cluster.recorder(member).messages().get(i).payload();
                assertThat(got.isReadOnly()).isTrue();
                assertThat(got).isEqualTo(ByteBuffer.wrap(sent.get(i)));
            }
        }
    }

    @Test
    void messageBeyondTheLimitIsRefusedAndNamesTheLimit() {
        form(1, FIFO);
        ByteBuffer tooLarge = ByteBuffer.allocate((32 << 20) + 1);
        assertThatThrownBy(() -> cluster.group(0).data().multicast(tooLarge, WAIT))
                .isInstanceOf(MessageTooLargeException.class)
                .hasMessageContaining(String.valueOf(32 << 20));
        sendAndAwait(0, "still works");
    }

    @Test
    void groupOfOneWorks() {
        form(1, FIFO);
        sendAndAwait(0, "alone");
        cluster.kill(0);
        cluster.start(0);
        sendAndAwait(0, "again");
        assertThat(cluster.recorder(0).texts()).containsExactly("alone", "again");
    }

    @Test
    void nothingIsDeliveredInAMinority() {
        form(3);
        sendAndAwait(0, "before");
        int leader = leader();
        isolate(leader);
        send(leader, "into the void");
        cluster.pass(cluster.electionTime().multipliedBy(2));
        assertThat(cluster.recorder(leader).texts()).doesNotContain("into the void");
        assertThat(cluster.group(leader).membership().orElseThrow().view().working())
                .as("a member without a majority says so")
                .isFalse();
        int next = leaderBesides(leader);
        sendAndAwait(next, "with a majority");
        cluster.heal();
        settle(allBut());
        assertThat(cluster.recorder(next).texts()).contains("into the void", "with a majority");
    }

    @Test
    void restartedMembersContinueFromTheirLog() {
        form(3);
        for (int i = 0; i < 50; i++) {
            send(0, "first " + i);
        }
        settle(allBut());
        for (int member : allBut()) {
            cluster.kill(member);
        }
        for (int member : List.of(2, 0, 1)) {
            cluster.start(member);
        }
        cluster.await("the group works", () -> leaderNow() >= 0);
        for (int member : allBut()) {
            send(member, "second " + member);
        }
        settle(allBut());
        assertThat(cluster.recorder(1).texts()).contains("first 0", "first 49", "second 0", "second 1", "second 2");
    }

    @Test
    void messagesOfThisRunAreToldFromThoseOfOthersAndOfEarlierRuns() {
        form(3);
        sendAndAwait(1, "of another");
        sendAndAwait(0, "of its first run");
        settle(allBut());
        assertThat(own(0)).contains("of its first run").doesNotContain("of another");
        cluster.kill(0);
        cluster.start(0);
        settle(allBut());
        sendAndAwait(0, "of its next run");
        assertThat(cluster.recorder(0).texts()).contains("of its first run");
        assertThat(own(0)).contains("of its next run").doesNotContain("of its first run", "of another");
    }

    @Test
    void memberThatWasAwayCatchesUp() {
        form(3);
        int away = (leader() + 1) % 3;
        cluster.kill(away);
        List<Integer> others = allBut(away);
        for (int i = 0; i < 2000; i++) {
            send(others.get(i % 2), "while away " + i);
        }
        settle(others);
        cluster.start(away);
        settle(allBut());
        assertThat(cluster.recorder(away).count()).isEqualTo(2005);
    }

    @Test
    void killedLeaderIsReplacedAndNothingAcknowledgedIsLost() {
        form(3);
        for (int round = 0; round < 3; round++) {
            int leader = leader();
            Set<String> acknowledged = new HashSet<>();
            for (int i = 0; i < 100; i++) {
                send(leader, "round " + round + " message " + i);
            }
            cluster.await(
                    "some are delivered",
                    () -> cluster.recorder(leader).texts().stream()
                                    .filter(text -> text.startsWith("round"))
                                    .count()
                            >= 20);
            acknowledged.addAll(cluster.recorder(leader).texts());
            cluster.kill(leader);
            settle(allBut(leader));
            assertThat(cluster.recorder(allBut(leader).get(0)).texts()).containsAll(acknowledged);
            cluster.start(leader);
            settle(allBut());
        }
    }

    @Test
    void stalledMemberCostsNoProgressAndItsOwnSendsAreBounded() {
        form(3);
        int stalled = (leader() + 1) % 3;
        cluster.stall(stalled, true);
        try {
            byte[] payload = new byte[64 << 10];
            List<Integer> others = allBut(stalled);
            for (int i = 0; i < 200; i++) {
                cluster.group(others.get(i % 2)).data().multicast(ByteBuffer.wrap(payload), WAIT);
            }
            for (int other : others) {
                cluster.await("the others go on", () -> cluster.recorder(other).count() >= 200);
            }
            assertThatThrownBy(() -> {
                        for (int i = 0; i < 2000; i++) {
                            cluster.group(stalled).data().multicast(ByteBuffer.wrap(payload), Duration.ofMillis(50));
                        }
                    })
                    .isInstanceOfSatisfying(
                            GroupException.class,
                            e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.RETRY));
        } finally {
            cluster.stall(stalled, false);
        }
        settle(allBut());
    }

    @Test
    void closingAndLeavingWhileSendingHarmsNobody() {
        form(3);
        int leader = leader();
        for (int i = 0; i < 50; i++) {
            send(leader, "leaver " + i);
        }
        cluster.group(leader).control().leave();
        assertThatThrownBy(() -> send(leader, "too late"))
                .isInstanceOfSatisfying(
                        GroupException.class,
                        e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.RECONNECT));
        settle(allBut(leader));
        cluster.start(leader);
        settle(allBut());
        int follower = allBut(leader()).get(0);
        send(follower, "and closed");
        cluster.group(follower).close();
        settle(allBut(follower));
        cluster.start(follower);
        settle(allBut());
    }

    @Test
    void leadershipIsHandedOverOnRequest() {
        form(3);
        int leader = leader();
        int next = (leader + 1) % 3;
        var handed = cluster.group(leader).membership().orElseThrow().transferLeadership(cluster.id(next));
        cluster.await("leadership is handed over", handed::isDone);
        cluster.await("the new leader leads", () -> leaderNow() == next);
        settle(allBut());
    }

    @Test
    void messagesAreReadAgainAndTheLogIsForgottenWhenReleased() {
        form(3);
        for (int i = 0; i < 100; i++) {
            send(0, "m" + i);
        }
        settle(allBut());
        var log = cluster.group(1).log().orElseThrow();
        Position middle = cluster.recorder(1).messages().get(49).position();
        Message one = cluster.recorder(1).messages().get(30);
        assertThat(log.at(one.position().index())).isEqualTo(one);
        assertThatThrownBy(() -> log.at(log.lastCommitted().index() + 1)).isInstanceOf(GroupException.class);
        log.release(middle);
        send(2, "after release");
        settle(allBut());
        cluster.kill(1);
        cluster.start(1);
        settle(allBut());
    }

    @Test
    void oneMemberIsToldSomethingOutsideTheOrder() {
        form(3);
        assumeTrue(cluster.group(0).direct().isPresent(), "the protocol has no direct messages");
        String text = "for you alone";
        ByteBuffer payload = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        cluster.group(0).direct().orElseThrow().send(cluster.id(1), payload);
        cluster.await("it arrives", () -> cluster.recorder(1).direct().equals(List.of(cluster.id(0) + ": " + text)));
        sendAndAwait(2, "for all");
        settle(allBut());
        assertThat(cluster.recorder(1).texts()).contains("for all").doesNotContain(text);
        assertThat(cluster.recorder(2).direct()).isEmpty();
    }

    @Test
    void strongReadSeesWhatWasDecidedBefore() {
        form(3);
        for (int member : allBut()) {
            sendAndAwait(member, "written at " + member);
            Position written = cluster.recorder(member).last();
            for (int reader : allBut()) {
                var position = cluster.group(reader).log().orElseThrow().readPosition();
                cluster.await("the read is answered", position::isDone);
                assertThat(position.join().index()).isGreaterThanOrEqualTo(written.index());
                cluster.await(
                        "the reader gets there",
                        () -> cluster.recorder(reader).caughtUp().index()
                                >= position.join().index());
            }
        }
        int leader = leader();
        isolate(leader);
        var refused = cluster.group(leader).log().orElseThrow().readPosition();
        cluster.await("the read is refused", refused::isDone);
        assertThat(refused).isCompletedExceptionally();
    }

    @Test
    void positionOfAnotherHistoryIsRefused() {
        form(3);
        sendAndAwait(0, "a message");
        Position real = cluster.recorder(0).last();
        cluster.group(0).control().join(new Position(real.group(), real.term() + 7, real.index()));
        cluster.await("the gap is told", () -> !cluster.recorder(0).gaps().isEmpty());
        assertThat(cluster.recorder(0).gaps().get(0)).contains("not part of it");
        cluster.group(0).control().join(real);
        settle(allBut());
    }

    @Test
    void leaderThatHearsAMajorityWithoutReachingItMakesWay() {
        form(5);
        settle(allBut());
        int deaf = leader();
        List<Integer> others = allBut(deaf);
        cluster.kill(others.get(0));
        cluster.cut(deaf, others.get(1));
        cluster.cut(deaf, others.get(2));
        int next = leaderBesides(deaf, others.get(0));
        sendAndAwait(next, "decided without it");
        cluster.heal();
        cluster.start(others.get(0));
        settle(allBut());
    }

    // ----------------------------------------------------------------------------------------------- R1 to R11

    @Test
    void r1HealedOldLeaderDoesNotCommitItsStaleEntry() {
        form(3);
        settle(allBut());
        int old = leader();
        List<Integer> others = allBut(old);
        for (int other : others) {
            cluster.cut(old, other);
        }
        send(old, "stale");
        cluster.cut(others.get(0), old);
        cluster.cut(others.get(1), old);
        int next = leaderBesides(old);
        for (int i = 0; i < 5; i++) {
            sendAndAwait(next, "newer " + i);
        }
        cluster.heal();
        settle(allBut());
        assertThat(cluster.recorder(old).texts().indexOf("stale"))
                .as("the old leader's message is ordered behind what the majority has decided")
                .isGreaterThan(cluster.recorder(old).texts().indexOf("newer 4"));
    }

    @Test
    void r2EntryOfAnEarlierTermIsDecidedOnlyThroughOneOfTheLeadersOwn() {
        form(5);
        settle(allBut());
        // Figure 8, round and round: a leader stores an entry at one follower only and dies; another does the same; the
        // first
        // comes back and brings its entry to a majority.
        for (int round = 0; round < 3; round++) {
            int first = leader();
            List<Integer> rest = allBut(first);
            for (int other : rest.subList(1, 4)) {
                cluster.cut(first, other);
            }
            send(first, "first of round " + round);
            cluster.pass(cluster.electionTime().dividedBy(10));
            cluster.kill(first);
            cluster.cut(rest.get(0), rest.get(1));
            cluster.cut(rest.get(0), rest.get(2));
            int second = leaderBesides(first, rest.get(0));
            for (int other : allBut(second)) {
                cluster.cut(second, other);
            }
            send(second, "second of round " + round);
            cluster.kill(second);
            cluster.heal();
            cluster.start(first);
            settle(allBut(second));
            cluster.start(second);
            settle(allBut());
        }
    }

    @Test
    void r3MemberWhoseUserThrowsStopsAndSkipsNothing() {
        form(3);
        int victim = (leader() + 1) % 3;
        cluster.recorder(victim).before(message -> {
            if (message.payload().remaining() == 6) {
                throw deliberate("the user cannot process this message");
            }
        });
        send((victim + 1) % 3, "poison");
        cluster.await("the member stops", () -> cluster.recorder(victim).stopped() != null);
        assertThat(cluster.recorder(victim).stopped().disposition()).isEqualTo(GroupException.Disposition.STOP);
        send((victim + 1) % 3, "behind it");
        settle(allBut(victim));
        assertThat(cluster.recorder(victim).texts()).doesNotContain("poison", "behind it");
        cluster.start(victim);
        settle(allBut());
        assertThat(cluster.recorder(victim).texts()).contains("poison", "behind it");
    }

    /** The exception a test throws on purpose; a binding may have a kind of its own for it. */
    protected RuntimeException deliberate(String message) {
        return new IllegalStateException(message);
    }

    @Test
    void r4TermsNeverGoBackOverRestarts() {
        form(3);
        for (int round = 0; round < 4; round++) {
            settle(allBut());
            int leader = leader();
            cluster.kill(leader);
            settle(allBut(leader));
            cluster.start(leader);
        }
        settle(allBut());
        for (int member : allBut()) {
            long term = 0;
            for (Message message : cluster.recorder(member).messages()) {
                assertThat(message.position().term()).isGreaterThanOrEqualTo(term);
                term = message.position().term();
            }
            assertThat(term).as("each new leader has a term of its own").isGreaterThanOrEqualTo(5);
        }
    }

    @Test
    void r5FailingDiskIsNeverAcknowledged() {
        for (Service.Durability durability : List.of(Service.Durability.WRITTEN, Service.Durability.SYNCED)) {
            form(3, 0, durability);
            settle(allBut());
            int leader = leader();
            int failing = allBut(leader).get(0);
            int healthy = allBut(leader).get(1);
            cluster.failDisk(failing);
            cluster.cut(leader, healthy);
            send(leader, "stored by one");
            cluster.await(
                    "the failing member stops", () -> cluster.recorder(failing).stopped() != null);
            cluster.pass(cluster.electionTime().dividedBy(10));
            assertThat(cluster.recorder(leader).texts())
                    .as("one of three is no majority")
                    .doesNotContain("stored by one");
            cluster.heal();
            settle(allBut(failing));
            cluster.mendDisk(failing);
            cluster.start(failing);
            settle(allBut());
            cluster.close();
            cluster = null;
        }
    }

    @Test
    void r6MemberBehindTheHeldLogIsToldOfTheGapOnce() {
        form(3);
        settle(allBut());
        int away = (leader() + 1) % 3;
        cluster.kill(away);
        List<Integer> others = allBut(away);
        byte[] payload = new byte[100_000];
        for (int i = 0; i < 40; i++) {
            cluster.group(others.get(i % 2)).data().multicast(ByteBuffer.wrap(payload), WAIT);
        }
        settle(others);
        for (int other : others) {
            cluster.group(other)
                    .log()
                    .orElseThrow()
                    .release(cluster.recorder(other).last());
        }
        cluster.await(
                "both have forgotten",
                () -> others.stream()
                        .allMatch(other -> cluster.group(other)
                                        .log()
                                        .orElseThrow()
                                        .firstHeld()
                                        .index()
                                > 0));
        int delivered = cluster.recorder(away).count();
        cluster.start(away);
        cluster.await("the gap is told", () -> !cluster.recorder(away).gaps().isEmpty());
        assertThat(cluster.recorder(away).count())
                .as("nothing is delivered across a gap")
                .isEqualTo(delivered);
        Position held = cluster.group(away).log().orElseThrow().firstHeld();
        cluster.group(away).control().join(held);
        String last = "after the gap";
        send(away, last);
        for (int member : allBut()) {
            cluster.await("all go on", () -> cluster.recorder(member).texts().contains(last));
        }
        List<Message> tail = cluster.recorder(away).messages();
        List<Message> all = cluster.recorder(others.get(0)).messages();
        List<Message> behind = tail.subList(delivered, tail.size());
        assertThat(all.subList(all.size() - behind.size(), all.size())).isEqualTo(behind);
    }

    @Test
    void r7MembershipChangesWithALaggingMember() {
        form(3, 2, Service.Durability.WRITTEN);
        settle(allBut());
        int lagging = (leader() + 1) % 3;
        isolate(lagging);
        for (int added = 3; added < 5; added++) {
            int newcomer = added;
            int leader = leaderBesides(lagging);
            cluster.await("the member is added", () -> {
                var done = cluster.group(leader).membership().orElseThrow().add(cluster.id(newcomer));
                cluster.await("the change is answered", done::isDone);
                return !done.isCompletedExceptionally();
            });
            cluster.start(newcomer);
            send(leader, "while " + newcomer + " joins");
            cluster.await(
                    "it is promoted",
                    () -> cluster.recorder(newcomer).view().members().contains(cluster.id(newcomer)));
        }
        cluster.heal();
        settle(List.of(0, 1, 2, 3, 4));
        for (int removed = 3; removed < 5; removed++) {
            int gone = removed;
            cluster.await("a change is accepted", () -> {
                var done = cluster.group(0).membership().orElseThrow().remove(cluster.id(gone));
                cluster.await("the change is answered", done::isDone);
                return !done.isCompletedExceptionally()
                        || !cluster.recorder(0).view().members().contains(cluster.id(gone));
            });
        }
        settle(allBut());
        assertThat(cluster.recorder(0).view().members()).hasSize(3);
        int leader = leader();
        cluster.kill(leader);
        settle(allBut(leader));
    }

    /** Nothing else is ordered meanwhile, by which it could be told. */
    @Test
    void whoIsAloneIsToldThatAnotherIsAdded() {
        form(1, 1, Service.Durability.WRITTEN);
        settle(List.of(0));
        var done = cluster.group(0).membership().orElseThrow().add(cluster.id(1));
        cluster.await("the change is answered", done::isDone);
        assertThat(done).isCompleted();
        cluster.start(1);
        cluster.await(
                "it is promoted", () -> cluster.recorder(1).view().members().contains(cluster.id(1)));
        settle(List.of(0, 1));
    }

    @Test
    void r8AcknowledgingMemberIsRestartedThenTheLeaderDies() {
        form(3);
        settle(allBut());
        int leader = leader();
        int acknowledging = allBut(leader).get(0);
        int other = allBut(leader).get(1);
        cluster.cut(leader, other);
        sendAndAwait(leader, "stored by two");
        cluster.kill(acknowledging);
        cluster.start(acknowledging);
        cluster.kill(leader);
        cluster.heal();
        settle(allBut(leader));
        assertThat(cluster.recorder(other).texts()).contains("stored by two");
        cluster.start(leader);
        settle(allBut());
    }

    @Test
    void r8MemberThatLostTheEndOfItsLogDoesNotVoteWithWhatItForgot() {
        r8MemberThatForgotDoesNotVoteWithWhatItForgot(member -> cluster.loseTail(member));
    }

    @Test
    void r8MemberThatLostItsDirectoryDoesNotVoteWithWhatItForgot() {
        r8MemberThatForgotDoesNotVoteWithWhatItForgot(member -> cluster.wipe(member));
    }

    private void r8MemberThatForgotDoesNotVoteWithWhatItForgot(IntConsumer loss) {
        form(3);
        settle(allBut());
        int leader = leader();
        int acknowledging = allBut(leader).get(0);
        int other = allBut(leader).get(1);
        cluster.cut(leader, other);
        sendAndAwait(leader, "stored by two");
        cluster.kill(acknowledging);
        cluster.kill(leader);
        loss.accept(acknowledging);
        cluster.heal();
        cluster.start(acknowledging);
        cluster.pass(cluster.electionTime().multipliedBy(3));
        assertThat(cluster.recorder(other).view().working())
                .as("one that remembers and one that forgot are no majority")
                .isFalse();
        cluster.start(leader);
        settle(allBut());
        assertThat(cluster.recorder(other).texts()).contains("stored by two");
        cluster.await(
                "the forgetful member counts again",
                () -> cluster.recorder(acknowledging).view().members().contains(cluster.id(acknowledging)));
    }

    @Test
    void powerLossOfAllLosesNothingThatWasForced() {
        form(3, 0, Service.Durability.SYNCED);
        for (int i = 0; i < 30; i++) {
            send(i % 3, "forced " + i);
        }
        settle(allBut());
        Set<String> acknowledged = new HashSet<>(cluster.recorder(0).texts());
        for (int member : allBut()) {
            cluster.losePower(member);
        }
        for (int member : allBut()) {
            cluster.start(member);
        }
        settle(allBut());
        assertThat(cluster.recorder(2).texts()).containsAll(acknowledged);
    }

    @Test
    void powerLossOfAllWithoutForceNeedsAllToRestart() {
        assumeTrue(!offered().satisfies(FORCED), "what is offered is forced always");
        form(3);
        settle(allBut());
        for (int member : allBut()) {
            cluster.losePower(member);
        }
        cluster.start(0);
        cluster.start(1);
        cluster.pass(cluster.electionTime().multipliedBy(3));
        assertThat(cluster.recorder(0).view().working())
                .as("the third may have what these two lost")
                .isFalse();
        cluster.start(2);
        cluster.await("with all present, the longest log leads", () -> leaderNow() >= 0);
        String last = "goes on";
        send(0, last);
        for (int member : allBut()) {
            cluster.await(
                    member + " goes on, or is told that what it has is not part of the group's history any more",
                    () -> cluster.recorder(member).texts().contains(last)
                            || !cluster.recorder(member).gaps().isEmpty());
        }
    }

    @Test
    void r9AnswersOfAnEarlierTermOfTheSameLeaderAreNotCounted() {
        form(3);
        settle(allBut());
        int leader = leader();
        int follower = allBut(leader).get(0);
        int other = allBut(leader).get(1);
        cluster.cut(leader, other);
        cluster.hold(follower, leader);
        send(leader, "answered late");
        cluster.pass(cluster.electionTime().dividedBy(20));
        isolate(leader);
        leaderBesides(leader);
        sendAndAwait(leaderBesides(leader), "decided meanwhile");
        cluster.heal();
        settle(allBut());
        var handed = cluster.group(0).membership().orElseThrow().transferLeadership(cluster.id(leader));
        cluster.await("answered", handed::isDone);
        cluster.release(follower, leader);
        settle(allBut());
    }

    @Test
    void r10MemberWithUndecidedEntriesBehindACheckpointCatchesUp() {
        form(3);
        settle(allBut());
        int old = leader();
        isolate(old);
        for (int i = 0; i < 5; i++) {
            send(old, "undecided " + i);
        }
        leaderBesides(old);
        List<Integer> others = allBut(old);
        byte[] payload = new byte[100_000];
        for (int i = 0; i < 40; i++) {
            cluster.group(others.get(i % 2)).data().multicast(ByteBuffer.wrap(payload), WAIT);
        }
        settle(others);
        for (int other : others) {
            cluster.group(other)
                    .log()
                    .orElseThrow()
                    .release(cluster.recorder(other).last());
        }
        cluster.pass(cluster.electionTime().dividedBy(5));
        cluster.heal();
        cluster.await(
                "the old leader is brought up to date or told of the gap",
                () -> !cluster.recorder(old).gaps().isEmpty()
                        || cluster.recorder(old).count()
                                >= cluster.recorder(others.get(0)).count());
        if (!cluster.recorder(old).gaps().isEmpty()) {
            cluster.group(old)
                    .control()
                    .join(cluster.group(old).log().orElseThrow().firstHeld());
        }
        String last = "all together again";
        send(old, last);
        for (int member : allBut()) {
            cluster.await("all go on", () -> cluster.recorder(member).texts().contains(last));
        }
    }

    @Test
    void r11CoordinatorDiesAfterALossyMoment() {
        form(3);
        settle(allBut());
        int leader = leader();
        int deprived = allBut(leader).get(0);
        int lucky = allBut(leader).get(1);
        cluster.cut(leader, deprived);
        for (int i = 0; i < 10; i++) {
            send(lucky, "lossy " + i);
            send(leader, "leader " + i);
        }
        cluster.await(
                "the lucky one delivers", () -> cluster.recorder(lucky).texts().contains("lossy 9"));
        cluster.kill(leader);
        cluster.heal();
        settle(List.of(deprived, lucky));
        assertThat(cluster.recorder(deprived).texts())
                .as("what any member delivered, all that stay deliver")
                .containsAll(cluster.recorder(lucky).texts());
        cluster.start(leader);
        settle(allBut());
    }
}
