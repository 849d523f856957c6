package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.raft.transport.TcpTransport;
import org.gorda.jgcs.raft.transport.Transport;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a group answers where it cannot do what it is asked for. */
@Timeout(120)
class SessionsTest {

    @TempDir
    Path directory;

    /** Carries everything, until what this member sends is to be lost. */
    private static Transport losing(Transport transport, AtomicBoolean loses) {
        return (Transport) Proxy.newProxyInstance(
                Transport.class.getClassLoader(), new Class<?>[] {Transport.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("send") && loses.get()) {
                        return null;
                    }
                    try {
                        return method.invoke(transport, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void saysWhatIsTheMatterWhereNobodyAnswers() throws Exception {
        List<MemberId> all = LoopbackPorts.free(3).stream()
                .map(port -> new MemberId("127.0.0.1:" + port))
                .toList();
        AtomicBoolean loses = new AtomicBoolean();
        RaftProtocol protocol =
                new RaftProtocol(RaftProtocol::openStorage, opened -> losing(new TcpTransport(opened), loses));
        List<Group> groups = new ArrayList<>();
        try {
            for (MemberId self : all) {
                GroupConfiguration configuration = GroupConfiguration.builder(
                                "test", self, directory.resolve("member" + self.port()))
                        .members(all)
                        .build();
                Group group = protocol.open(configuration, protocol.offers(configuration), new Recorder());
                groups.add(group);
                group.control().join(Position.START);
            }
            for (Group group : groups) {
                Awaitility.await()
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> group.membership().orElseThrow().view().working());
            }
            Group follower = groups.stream()
                    .filter(group -> !group.membership().orElseThrow().view().isLeader(group.self()))
                    .findAny()
                    .orElseThrow();
            loses.set(true);
            MembershipSession membership = follower.membership().orElseThrow();
            Map<String, CompletableFuture<?>> asked = Map.of(
                    "a strong read was not answered within 3000 ms: no leader in term",
                    follower.log().orElseThrow().readPosition(),
                    "adding 127.0.0.1:1 was not answered within 3000 ms, but may be yet: no leader in term",
                    membership.add(new MemberId("127.0.0.1:1")),
                    "removing " + all.get(0) + " was not answered within 3000 ms, but may be yet: no leader in term",
                    membership.remove(all.get(0)),
                    "handing leadership to " + all.get(0)
                            + " was not answered within 3000 ms, but may be yet: no leader in term",
                    membership.transferLeadership(all.get(0)));
            asked.forEach((words, answer) -> assertThatThrownBy(() -> answer.get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOfSatisfying(
                            GroupException.class,
                            e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.RETRY))
                    .hasMessageContaining(words));
        } finally {
            groups.forEach(Group::close);
        }
    }

    @Test
    void takesNoMoreMembersThanItCanHave() throws Exception {
        List<Integer> ports = LoopbackPorts.free(GroupConfiguration.MEMBERS_MAX + 1);
        MemberId self = new MemberId("127.0.0.1:" + ports.get(0));
        GroupConfiguration configuration = GroupConfiguration.builder("test", self, directory.resolve("member"))
                .build();
        RaftProtocol protocol = new RaftProtocol();
        try (Group group = protocol.open(configuration, protocol.offers(configuration), new Recorder())) {
            group.control().join(Position.START);
            MembershipSession membership = group.membership().orElseThrow();
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> membership.view().working());
            for (int port : ports.subList(1, GroupConfiguration.MEMBERS_MAX)) {
                membership.add(new MemberId("127.0.0.1:" + port)).get(30, TimeUnit.SECONDS);
            }
            MemberId last = new MemberId("127.0.0.1:" + ports.get(GroupConfiguration.MEMBERS_MAX));
            assertThatThrownBy(() -> membership.add(last).get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOfSatisfying(
                            GroupException.class,
                            e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.CORRECT))
                    .hasMessageContaining("a group has at most 31");
            assertThat(membership.view().learners()).hasSize(30);
        }
    }
}
