package org.gorda.jgcs.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is this toolkit's own: what it refuses, and members that are taken in anew. */
final class RatisGroupTest {

    @TempDir
    Path directory;

    private RatisCluster cluster;

    @BeforeEach
    void open() {
        cluster = new RatisCluster(directory, 3, 0, Service.Durability.WRITTEN);
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private void awaitWorking(Integer... members) {
        cluster.await(
                List.of(members) + " work",
                () -> List.of(members).stream().allMatch(member -> {
                    var view = cluster.recorder(member).view();
                    return view.working() && view.members().contains(cluster.id(member));
                }));
    }

    private void sendAndAwaitEverywhere(int sender, String text) {
        cluster.group(sender)
                .data()
                .multicast(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(5));
        for (int member = 0; member < 3; member++) {
            Recorder recorder = cluster.recorder(member);
            cluster.await(member + " delivers " + text, () -> recorder.texts().contains(text));
        }
    }

    @Test
    void itIsFoundByItsNameAndForcesWhateverIsAskedOfIt() {
        Protocol found = ServiceLoader.load(Protocol.class).findFirst().orElseThrow();
        assertThat(found.name()).isEqualTo("ratis");
        assertThat(found.offers(cluster.configuration(0)))
                .isEqualTo(new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, Service.Durability.SYNCED));
    }

    @Test
    void aMemberThatLostItsDirectoryIsTakenInAnewAndComesBackAfterThat() {
        List.of(0, 1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(0, "before");
        cluster.kill(2);
        cluster.wipe(2);
        cluster.start(2);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(2, "from the stranger");
        cluster.kill(2);
        cluster.start(2);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(2, "and again");
        assertThat(cluster.recorder(2).stopped()).isNull();
    }

    /** Runs are numbered by the clock, and the number of the one before is gone with the directory. */
    @Test
    void aMemberComesBackWithANewDirectoryAndAClockThatIsBehind() throws IOException {
        List.of(0, 1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        cluster.kill(2);
        Path identity = cluster.configuration(2).directory().resolve("identity");
        long ahead = System.currentTimeMillis() + Duration.ofHours(1).toMillis();
        Files.writeString(
                identity, Files.readString(identity).replaceFirst("(?m)^incarnation=.*$", "incarnation=" + ahead));
        cluster.start(2);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(2, "by a clock that is ahead");
        cluster.kill(2);
        cluster.wipe(2);
        cluster.start(2);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(2, "by one that is behind");
        cluster.kill(2);
        cluster.start(2);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(2, "and again");
        Message last = cluster.recorder(2).messages().get(cluster.recorder(2).count() - 1);
        assertThat(cluster.group(2).isOwn(last.id())).isTrue();
        assertThat(last.id().incarnation()).isEqualTo(ahead + 3);
        assertThat(cluster.recorder(2).stopped()).isNull();
    }

    @Test
    void aPriorityThatWasLeftBehindIsTakenBack() throws IOException {
        List.of(0, 1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(0, "before");
        // As who hands over leadership does first, and is killed then.
        cluster.ratis(0).prioritize(cluster.id(1));
        assertThat(cluster.ratis(0).isUneven()).isTrue();
        cluster.await(
                "all have the same again",
                () -> List.of(0, 1, 2).stream()
                        .noneMatch(member -> cluster.ratis(member).isUneven()));
    }

    private List<Path> snapshots(int member) throws IOException {
        try (Stream<Path> files = Files.walk(cluster.configuration(member).directory())) {
            return files.filter(file -> file.getFileName().toString().matches("snapshot\\.\\d+_\\d+"))
                    .toList();
        }
    }

    /** By what it says of others' messages they would be delivered again, or not at all. */
    @Test
    void whoseSnapshotIsDamagedDoesNotStart() throws IOException {
        List.of(0, 1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        for (int i = 0; i < 10; i++) { // more than lies between two places where one can be taken
            cluster.group(0).data().multicast(ByteBuffer.allocate(200_000), Duration.ofSeconds(5));
        }
        sendAndAwaitEverywhere(0, "before");
        cluster.group(2).log().orElseThrow().release(cluster.recorder(2).last());
        cluster.await("it has taken one", () -> {
            try {
                return !snapshots(2).isEmpty();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        cluster.kill(2);
        Path snapshot = snapshots(2).get(0);
        byte[] bytes = Files.readAllBytes(snapshot);
        bytes[bytes.length - 1] ^= 1;
        Files.write(snapshot, bytes);
        assertThatThrownBy(() -> cluster.start(2)).hasStackTraceContaining(snapshot + " is damaged");
        bytes[bytes.length - 1] ^= 1;
        Files.write(snapshot, bytes);
        cluster.start(2);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(2, "behind it");
    }

    private void readStrongly(int member) {
        cluster.group(member).log().orElseThrow().readPosition().join();
    }

    private void awaitStrongRead(int member) {
        cluster.await("a strong read at " + member, () -> {
            try {
                readStrongly(member);
                return true;
            } catch (CompletionException e) {
                return false;
            }
        });
    }

    @Test
    void strongReadsWorkAgainAfterTheMajorityWasAwayForLong() {
        List.of(0, 1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        awaitStrongRead(0);
        List.of(1, 2).forEach(cluster::kill);
        long until = System.nanoTime() + Duration.ofSeconds(6).toNanos(); // more than Ratis's client tries
        do {
            assertThatThrownBy(() -> readStrongly(0)).hasCauseInstanceOf(GroupException.class);
            cluster.pass(Duration.ofMillis(100));
        } while (System.nanoTime() < until);
        List.of(1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        awaitStrongRead(0);
        cluster.group(0).membership().orElseThrow().add(cluster.id(1)).join();
    }

    @Test
    void whoListensBeforeItKnowsItsGroupDoesNotEndWhatOthersSend() {
        List.of(0, 1, 2).forEach(cluster::start);
        awaitWorking(0, 1, 2);
        sendAndAwaitEverywhere(0, "before");
        List.of(1, 2).forEach(cluster::kill);
        // It never does, because nobody of its group answers.
        GroupConfiguration strange = GroupConfiguration.builder("strange", cluster.id(1), directory.resolve("strange"))
                .members(cluster.ids())
                .build();
        RatisProtocol protocol = new RatisProtocol();
        try (Group stranger = protocol.open(strange, protocol.offers(strange), new Recorder())) {
            stranger.control().join(Position.START);
            cluster.group(0)
                    .data()
                    .multicast(ByteBuffer.wrap("after".getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(5));
            cluster.pass(Duration.ofSeconds(2)); // nobody orders it, and its sender asks all of them for that
            cluster.start(2);
            for (int member : List.of(0, 2)) {
                Recorder recorder = cluster.recorder(member);
                cluster.await(member + " delivers it", () -> recorder.texts().contains("after"));
            }
        }
    }

    @Test
    void whatItDoesNotDoItRefuses() throws IOException {
        RatisProtocol protocol = new RatisProtocol();
        assertThatThrownBy(() -> protocol.recovery(directory))
                .isInstanceOf(GroupException.class)
                .hasMessageContaining("cannot go on alone");
        Path others = Files.createDirectories(cluster.configuration(1).directory());
        Files.writeString(others.resolve("identity"), "format=2\ngroup=tck\n");
        assertThatThrownBy(() -> cluster.start(1))
                .isInstanceOfSatisfying(
                        GroupException.class,
                        e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.CORRECT))
                .hasMessageContaining("has format 2, this is ratis 1");
        cluster.start(0);
        assertThatThrownBy(() -> cluster.group(0).log().orElseThrow().deliverAhead(true))
                .isInstanceOf(GroupException.class)
                .hasMessageContaining("before a majority has it");
        cluster.await(
                "it says whom it misses",
                () -> cluster.group(0)
                        .explanation()
                        .matches(
                                "looks for its group: .* did not answer, and all members must be there when it is formed"));
    }
}
