package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.History;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Recovery;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.log.FileStorage;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Members of a group of which one was told to go on alone, on real connections and files. */
@Timeout(90)
class TimelineTest {

    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final long ADMISSION = 77;

    @TempDir
    Path directory;

    private final RaftProtocol protocol = new RaftProtocol();
    private final List<MemberId> ids = new ArrayList<>();
    private final Map<Integer, Group> groups = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();

    @BeforeEach
    void formAndLose() {
        for (int port : LoopbackPorts.free(4)) {
            ids.add(new MemberId("127.0.0.1:" + port));
        }
        for (int i = 0; i < 3; i++) {
            start(i, ids.subList(0, 3));
        }
        send(0, "a", "b", "c");
        awaitTexts(1, "a", "b", "c");
        awaitTexts(2, "a", "b", "c");
        for (int i = 0; i < 3; i++) {
            stop(i);
        }
        goOnAlone();
    }

    @AfterEach
    void stopAll() {
        List.copyOf(groups.keySet()).forEach(this::stop);
    }

    private Path log(int member) {
        return directory.resolve("member" + member);
    }

    private GroupConfiguration configuration(int member, List<MemberId> members) {
        return GroupConfiguration.builder("bank", ids.get(member), log(member))
                .members(members)
                .electionTimeout(Duration.ofMillis(400))
                .build();
    }

    private void start(int member, List<MemberId> members) {
        Recorder recorder = new Recorder();
        recorders.put(member, recorder);
        GroupConfiguration configuration = configuration(member, members);
        Group group = protocol.open(configuration, protocol.offers(configuration), recorder);
        groups.put(member, group);
        group.control().join(Position.START);
    }

    private void stop(int member) {
        Group group = groups.remove(member);
        if (group != null) {
            group.close();
        }
    }

    private void goOnAlone() {
        try (Recovery recovery = protocol.recovery(log(0))) {
            recovery.goOnAlone();
        }
    }

    private void send(int member, String... texts) {
        for (String text : texts) {
            groups.get(member).data().multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), WAIT);
        }
    }

    private void awaitTexts(int member, String... texts) {
        Awaitility.await("delivered at " + member)
                .atMost(WAIT)
                .untilAsserted(() -> assertThat(recorders.get(member).texts()).containsExactly(texts));
    }

    private void add(int member) throws Exception {
        groups.get(0).membership().orElseThrow().add(ids.get(member)).get(WAIT.toSeconds(), TimeUnit.SECONDS);
    }

    private List<Entry> entries(int member) {
        List<Entry> entries = new ArrayList<>();
        try (FileStorage storage = new FileStorage(configuration(member, ids), () -> ADMISSION)) {
            storage.open(entries::add);
            storage.close(true);
        }
        return entries;
    }

    /** The directory of a member that was taken in on this timeline and killed when it had so many entries. */
    private void joinerWith(int member, List<Entry> entries, History history) {
        try (FileStorage storage = new FileStorage(configuration(member, ids), () -> ADMISSION)) {
            storage.open(entry -> {});
            storage.saveAdmitted(Configuration.EMPTY);
            storage.saveHistory(history);
            storage.saveVote(history.timeline(), null);
            storage.append(entries);
            storage.acknowledge(entries.get(entries.size() - 1).index());
        }
    }

    private static History history(List<Entry> entries) {
        return entries.stream()
                .filter(entry -> entry.kind() == Entry.Kind.CONFIGURATION)
                .reduce((first, second) -> second)
                .map(entry -> Configuration.decode(entry.payload()).history())
                .orElseThrow();
    }

    @Test
    void whoIsTakenInAnewHasAllAndTheOneAloneHadItAtOnce() throws Exception {
        start(0, ids.subList(0, 3));
        send(0, "d");
        awaitTexts(0, "a", "b", "c", "d");
        start(3, List.of(ids.get(0), ids.get(3)));
        add(3);
        awaitTexts(3, "a", "b", "c", "d");
        stop(3);
        start(3, List.of(ids.get(0), ids.get(3)));
        send(0, "e");
        awaitTexts(3, "a", "b", "c", "d", "e");
    }

    @Test
    void whoCameWithWhatItHadKeepsItAndIsNotTakenOver() throws Exception {
        List<Entry> before = entries(1);
        start(0, ids.subList(0, 3));
        send(0, "d");
        start(1, ids.subList(0, 3));
        groups.get(0).membership().orElseThrow().add(ids.get(1));
        Awaitility.await("the other one tells of it")
                .atMost(WAIT)
                .until(() -> groups.get(1).explanation().contains("was told to go on alone"));
        TimeUnit.SECONDS.sleep(2);
        assertThat(recorders.get(1).texts()).doesNotContain("d");
        stop(1);
        assertThat(entries(1)).hasSameSizeAs(before);
    }

    @Test
    void aJoinerThatWasKilledBeforeItsLogHadItsTimelinesBeginningGoesOn() throws Exception {
        List<Entry> all = entries(0);
        joinerWith(3, all.subList(0, all.size() - 1), history(all));
        assertCatchesUp("a", "b", "c");
    }

    @Test
    void aJoinerWhoseLogEndsBetweenTwoTimelinesGoesOn() throws Exception {
        start(0, ids.subList(0, 3));
        send(0, "d");
        awaitTexts(0, "a", "b", "c", "d");
        stop(0);
        // What stands for a second loss: it is made the only voter of another timeline.
        List<Entry> first = entries(0);
        start(0, ids.subList(0, 3));
        start(3, List.of(ids.get(0), ids.get(3)));
        add(3);
        awaitTexts(3, "a", "b", "c", "d");
        Awaitility.await("both vote")
                .atMost(WAIT)
                .until(() -> recorders.get(0).view().members().size() == 2);
        stop(3);
        stop(0);
        goOnAlone();
        try (Stream<Path> files = Files.list(log(3))) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        List<Entry> second = entries(0);
        assertThat(history(second).timeline()).isGreaterThan(history(first).timeline());
        joinerWith(3, first, history(second));
        assertCatchesUp("a", "b", "c", "d");
    }

    private void assertCatchesUp(String... before) throws Exception {
        start(0, ids.subList(0, 3));
        start(3, List.of(ids.get(0), ids.get(3)));
        add(3);
        send(0, "z");
        String[] all = Arrays.copyOf(before, before.length + 1);
        all[before.length] = "z";
        awaitTexts(3, all);
    }
}
