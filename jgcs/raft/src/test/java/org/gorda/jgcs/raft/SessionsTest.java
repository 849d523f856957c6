package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a group answers where it cannot do what it is asked for. */
@Timeout(120)
class SessionsTest {

    @TempDir
    Path directory;

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
            Awaitility.await().until(() -> membership.view().working());
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
