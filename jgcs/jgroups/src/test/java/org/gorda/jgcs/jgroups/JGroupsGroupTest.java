package org.gorda.jgcs.jgroups;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is this toolkit's own: views of who is there, what it refuses, and what it does not promise. */
final class JGroupsGroupTest {

    private static final Service TOTAL =
            new Service(Service.Order.TOTAL, Service.Uniformity.LOCAL, Service.Durability.NONE);

    private final JGroupsCluster cluster = new JGroupsCluster(3, TOTAL);

    @AfterEach
    void close() {
        cluster.close();
    }

    private void form() {
        for (int i = 0; i < 3; i++) {
            cluster.start(i);
        }
        awaitMembers(3, 0, 1, 2);
    }

    private void awaitMembers(int count, Integer... at) {
        cluster.await(
                count + " members are seen by " + List.of(at),
                () -> List.of(at).stream()
                        .allMatch(i -> cluster.recorder(i).view().members().size() == count
                                && cluster.recorder(i).view().working()));
    }

    private void send(int member, String text) {
        cluster.group(member)
                .data()
                .multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(5));
    }

    private void awaitText(int member, String text) {
        cluster.await(
                member + " delivers " + text,
                () -> cluster.recorder(member).texts().contains(text));
    }

    @Test
    void viewsTellWhoDiedWhoLeftAndWhoIsBack() {
        form();
        cluster.kill(0);
        awaitMembers(2, 1, 2);
        assertThat(cluster.recorder(1).view().members()).containsExactlyInAnyOrder(cluster.id(1), cluster.id(2));
        assertThat(cluster.recorder(1).view().leader()).isNotEmpty();
        send(1, "without it");
        awaitText(2, "without it");
        cluster.start(0);
        awaitMembers(3, 0, 1, 2);
        send(0, "back again");
        awaitText(1, "back again");
        assertThat(cluster.recorder(0).texts())
                .as("nothing is kept for who was away")
                .doesNotContain("without it");
        cluster.group(2).control().leave();
        awaitMembers(2, 0, 1);
        assertThatThrownBy(() -> send(2, "too late"))
                .isInstanceOfSatisfying(
                        GroupException.class,
                        e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.RECONNECT));
    }

    @Test
    void aMemberThatWasCutOffSendsNothingAndStopsWhenItMeetsTheOthersAgain() {
        form();
        for (int other : List.of(0, 1)) {
            cluster.cut(2, other);
            cluster.cut(other, 2);
        }
        cluster.await("it sees no majority", () -> !cluster.recorder(2).view().working());
        assertThatThrownBy(() -> send(2, "into the void"))
                .isInstanceOfSatisfying(
                        GroupException.class,
                        e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.RETRY))
                .hasMessageContaining("a majority of");
        awaitMembers(2, 0, 1);
        send(0, "missed");
        awaitText(1, "missed");
        cluster.heal();
        cluster.await("it stops", () -> cluster.recorder(2).stopped() != null);
        assertThat(cluster.recorder(2).stopped())
                .hasMessageContaining("cut off")
                .hasMessageContaining("open it anew");
        assertThat(cluster.recorder(2).texts()).doesNotContain("missed");
        send(1, "and on");
        awaitText(0, "and on");
    }

    /** As when it stands still for so long that the others have a view without it, which it never sees. */
    @Test
    void aMemberThatWasPutOutWhileItStoodStillStopsAndNothingComesBehindWhatIsMissing() {
        form();
        MemberId leader = cluster.recorder(0).view().leader().orElseThrow();
        int leads = List.of(cluster.id(0), cluster.id(1), cluster.id(2)).indexOf(leader);
        int stays = (leads + 1) % 3;
        int out = (leads + 2) % 3;
        for (int i = 0; i < 15; i++) {
            send(out, "own " + i);
        }
        List.of(0, 1, 2).forEach(i -> awaitText(i, "own 14"));
        cluster.putOut(out, leads, stays);
        for (int i = 15; i < 20; i++) {
            send(out, "own " + i);
        }
        send(leads, "missed");
        awaitText(stays, "missed");
        AtomicInteger sent = new AtomicInteger(20);
        cluster.await("it stops", () -> {
            try {
                send(out, "own " + sent.getAndIncrement());
            } catch (GroupException e) {
                assertThat(e.disposition()).isEqualTo(GroupException.Disposition.RECONNECT);
            }
            return cluster.recorder(out).stopped() != null;
        });
        assertThat(cluster.recorder(out).stopped()).hasMessageContaining("stood still");
        awaitMembers(2, leads, stays);
        send(stays, "and on");
        List.of(leads, stays).forEach(i -> awaitText(i, "and on"));
        List<String> all = cluster.recorder(leads).texts();
        assertThat(all).startsWith(cluster.recorder(out).texts().toArray(String[]::new));
        assertThat(cluster.recorder(stays).texts()).isEqualTo(all);
        List<String> own = all.stream().filter(text -> text.startsWith("own")).toList();
        assertThat(own)
                .isEqualTo(
                        IntStream.range(0, own.size()).mapToObj(i -> "own " + i).toList());
    }

    @Test
    void aUserThatThrowsStopsTheMemberAndNothingIsSkipped() {
        form();
        cluster.recorder(1).before(message -> {
            if (message.payload().remaining() == 6) {
                throw new IllegalStateException("the user cannot process this message");
            }
        });
        send(0, "poison");
        send(0, "behind it");
        cluster.await("the member stops", () -> cluster.recorder(1).stopped() != null);
        awaitText(2, "behind it");
        assertThat(cluster.recorder(1).texts()).isEmpty();
    }

    @Test
    void whatIsNotOfferedIsRefusedWithWhatIs() {
        Service uniform = new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, Service.Durability.WRITTEN);
        assertThatThrownBy(() -> new JGroupsProtocol().open(cluster.configuration(0), uniform, new Recorder()))
                .isInstanceOfSatisfying(
                        GroupException.class,
                        e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.CORRECT))
                .hasMessageContaining("offers TOTAL+LOCAL+NONE, but TOTAL+UNIFORM+WRITTEN is required")
                .hasMessageContaining("use raft");
        cluster.start(0);
        cluster.await("it is there", () -> !cluster.recorder(0).view().members().isEmpty());
        assertThatThrownBy(() -> new JGroupsProtocol().open(cluster.configuration(0), TOTAL, new Recorder()))
                .hasMessageContaining("cannot listen on " + cluster.id(0));
        assertThatThrownBy(() -> cluster.group(0).control().join(new Position(GroupId.UNKNOWN, 1, 1)))
                .hasMessageContaining("keeps no log");
    }
}
