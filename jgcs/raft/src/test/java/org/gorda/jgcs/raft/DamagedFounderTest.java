package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A group that was begun by one member, as the README has it for a database that exists, and has three since. All are stopped, one bit of the founder's
 * log has decayed, and all are started again, the founder first. On real connections and files.
 */
@Timeout(120)
class DamagedFounderTest {

    private static final Duration WAIT = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    private final RaftProtocol protocol = new RaftProtocol();
    private final List<MemberId> ids = new ArrayList<>();
    private final Map<Integer, Group> groups = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();

    @AfterEach
    void stopAll() {
        List.copyOf(groups.values()).forEach(Group::close);
    }

    private void start(int member, List<MemberId> members) {
        Recorder recorder = new Recorder();
        recorders.put(member, recorder);
        GroupConfiguration configuration = GroupConfiguration.builder(
                        "bank", ids.get(member), directory.resolve("member" + member))
                .members(members)
                .durability(Service.Durability.SYNCED)
                .electionTimeout(Duration.ofMillis(400))
                .build();
        Group group = protocol.open(configuration, protocol.offers(configuration), recorder);
        groups.put(member, group);
        group.control().join(Position.START);
    }

    private void send(int member, String text) {
        groups.get(member).data().multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), WAIT);
    }

    private void awaitText(int member, String text) {
        Awaitility.await(text + " at " + member)
                .atMost(WAIT)
                .until(() -> recorders.get(member).texts().contains(text));
    }

    private void grow() throws Exception {
        for (int port : LoopbackPorts.free(3)) {
            ids.add(new MemberId("127.0.0.1:" + port));
        }
        start(0, ids.subList(0, 1));
        send(0, "alone");
        awaitText(0, "alone");
        for (int added = 1; added < 3; added++) {
            MemberId id = ids.get(added);
            start(added, ids);
            groups.get(0).membership().orElseThrow().add(id).get(WAIT.toSeconds(), TimeUnit.SECONDS);
            Awaitility.await()
                    .atMost(WAIT)
                    .until(() -> groups.get(0)
                            .membership()
                            .orElseThrow()
                            .view()
                            .members()
                            .contains(id));
        }
        for (int i = 0; i < 20; i++) {
            send(0, "of three " + i);
        }
        for (int member = 0; member < 3; member++) {
            awaitText(member, "of three 19");
        }
        for (int member = 0; member < 3; member++) {
            groups.remove(member).close();
        }
    }

    @Test
    void aBitOfItsLogHasDecayed() throws Exception {
        grow();
        Path log;
        try (Stream<Path> files = Files.list(directory.resolve("member0"))) {
            log = files.filter(file -> file.toString().endsWith(".log"))
                    .min(Comparator.naturalOrder())
                    .orElseThrow();
        }
        byte[] bytes = Files.readAllBytes(log);
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("alone");
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "rw")) {
            file.seek(at);
            file.write(bytes[at] ^ 1);
        }
        acknowledgesNothingByItself(ids.subList(0, 1));
    }

    private void acknowledgesNothingByItself(List<MemberId> configured) {
        start(0, configured);
        boolean acknowledged = acknowledges(0, "of one");
        start(1, ids);
        start(2, ids);
        awaitText(1, "of three 19");
        send(1, "of the majority");
        awaitText(1, "of the majority");
        awaitText(2, "of the majority");
        Awaitility.await("the founder knows")
                .atMost(WAIT)
                .until(() -> recorders.get(0).stopped() != null
                        || recorders.get(0).texts().contains("of the majority"));
        assertThat(acknowledged && !recorders.get(1).texts().contains("of one"))
                .as("the founder, one of three, decided what the group does not have")
                .isFalse();
    }

    /** Within a time in which a member that is alone would have elected itself ten times. */
    private boolean acknowledges(int member, String text) {
        try {
            groups.get(member)
                    .data()
                    .multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(5));
            Awaitility.await()
                    .atMost(Duration.ofSeconds(5))
                    .until(() -> recorders.get(member).texts().contains(text));
            return true;
        } catch (GroupException | ConditionTimeoutException e) {
            return false;
        }
    }
}
