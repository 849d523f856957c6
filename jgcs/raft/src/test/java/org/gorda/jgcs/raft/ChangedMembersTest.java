package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who is a member changes while one of them is away. On real connections. */
@Timeout(120)
class ChangedMembersTest {

    private static final Duration WAIT = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    private final List<MemberId> ids = LoopbackPorts.free(5).stream()
            .map(port -> new MemberId("127.0.0.1:" + port))
            .sorted()
            .toList();
    private final RaftProtocol protocol = new RaftProtocol();
    private final Map<MemberId, Group> groups = new HashMap<>();

    @AfterEach
    void closeAll() {
        groups.values().forEach(Group::close);
    }

    private void start(MemberId self, List<MemberId> members) {
        GroupConfiguration configuration = GroupConfiguration.builder(
                        "test", self, directory.resolve("member" + self.port()))
                .members(members)
                .electionTimeout(Duration.ofMillis(400))
                .build();
        Group group = protocol.open(configuration, protocol.offers(configuration), new Recorder());
        groups.put(self, group);
        group.control().join(Position.START);
    }

    private MembershipSession membership(MemberId member) {
        return groups.get(member).membership().orElseThrow();
    }

    private void awaitWorking(MemberId member) {
        Awaitility.await(member + " works")
                .atMost(WAIT)
                .untilAsserted(() -> assertThat(membership(member).view().working())
                        .as(groups.get(member).explanation())
                        .isTrue());
    }

    /** The first is away while the last takes the leadership, or the other way round. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoWasAwayIsFoundByALeaderThatItHasNeverHeardOf(boolean firstIsAway) {
        List<MemberId> first = firstIsAway ? ids.subList(0, 3) : ids.subList(1, 4);
        MemberId away = first.get(firstIsAway ? 0 : 2);
        MemberId added = ids.get(firstIsAway ? 3 : 0);
        MemberId stays = first.get(1);
        form(first);
        groups.remove(away).close();
        start(added, ids);
        awaitLeads(added, stays);
        start(away, first);
        awaitWorking(away);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void whoWasRemovedWhileItWasAwayIsToldSo(int which) {
        List<MemberId> first = ids.subList(0, 3);
        MemberId away = ids.get(which);
        form(first);
        groups.remove(away).close();
        awaitWorking(ids.get(1));
        change(
                ids.get(1),
                members -> members.remove(away),
                now -> !now.members().contains(away));
        start(away, first);
        Awaitility.await()
                .atMost(WAIT)
                .untilAsserted(() -> assertThat(groups.get(away).explanation())
                        .startsWith("this member was removed from the group"));
    }

    @Test
    void whoIsLeftAloneTellsWhomItCannotReachAndWhy() {
        List<MemberId> three = ids.subList(0, 3);
        form(three);
        groups.remove(ids.get(0)).close();
        groups.remove(ids.get(2)).close();
        Awaitility.await()
                .atMost(WAIT)
                .untilAsserted(() -> assertThat(groups.get(ids.get(1)).explanation())
                        .startsWith("no leader in term")
                        .endsWith("; cannot reach " + ids.get(0) + " (Connection refused); cannot reach " + ids.get(2)
                                + " (Connection refused)"));
        start(ids.get(2), three);
        awaitWorking(ids.get(1));
        assertThat(groups.get(ids.get(1)).explanation()).doesNotContain("cannot reach");
    }

    private void form(List<MemberId> members) {
        members.forEach(member -> start(member, members));
        members.forEach(this::awaitWorking);
    }

    private void awaitLeads(MemberId added, MemberId asked) {
        change(asked, members -> members.add(added), now -> now.members().contains(added));
        change(asked, members -> members.transferLeadership(added), now -> now.isLeader(added));
    }

    /** Asks for it until it is so: it may be done without having been answered in time. */
    private void change(
            MemberId asked, Function<MembershipSession, CompletableFuture<View>> change, Predicate<View> done) {
        MembershipSession membership = membership(asked);
        Awaitility.await().atMost(WAIT).ignoreExceptions().until(() -> {
            if (!done.test(membership.view())) {
                change.apply(membership).get(10, TimeUnit.SECONDS);
            }
            return done.test(membership.view());
        });
    }
}
