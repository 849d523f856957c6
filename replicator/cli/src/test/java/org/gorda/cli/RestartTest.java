package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.bench.Acknowledged;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.gapi.FileTree;
import org.gorda.replicator.node.NodeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Kills of all, and replicas that come back without what they had. */
final class RestartTest {

    private static final Duration WAIT = Duration.ofSeconds(90);
    private static final int ENOUGH = 200;

    @TempDir
    private Path directory;

    private static LoadTest load(ReplicaGroup group) {
        return LoadTest.of(TpcB.of(1, 10_000)).target(group.url()).clients(4).duration(WAIT.multipliedBy(3));
    }

    private static void awaitOnline(ReplicaGroup group) {
        group.awaitOnline(WAIT, line -> {});
    }

    private static void assertNothingLost(ReplicaGroup group, Acknowledged acknowledged) throws Exception {
        assertThat(acknowledged.count()).isGreaterThanOrEqualTo(ENOUGH);
        NothingLost.anywhere(group, acknowledged, WAIT);
    }

    @ParameterizedTest
    @CsvSource({"group, 2, 0, 1", "group-disk, 1, 2, 0"})
    void nothingAcknowledgedIsLostWhenAllAreKilledAtOnceAndComeBackInAnyOrder(
            String durability, int first, int second, int third) throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("durability", durability))) {
            group.start();
            awaitOnline(group);
            LoadTest load = load(group);
            BackgroundLoad running = new BackgroundLoad(load);
            running.awaitMore(ENOUGH);
            group.replicas().parallelStream().forEach(ReplicaProcess::kill);
            for (int next : List.of(first, second, third)) {
                group.replicas().get(next).start();
            }
            running.awaitMore(ENOUGH);
            LoadReport whole = running.end();
            whole.requireConsistent();
            assertThat(whole.abortedInAll()).as("what the kill interrupted").isPositive();
            assertNothingLost(group, load.acknowledged());
        }
    }

    @Test
    void aReplicaThatLostItsDirectoryOrItsLogsTailComesBackAndCatchesUp() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            group.start();
            for (boolean wholeDirectory : List.of(true, false)) {
                awaitOnline(group);
                LoadTest load = load(group);
                BackgroundLoad running = new BackgroundLoad(load);
                running.awaitMore(ENOUGH);
                ReplicaProcess backup = group.backup().orElseThrow();
                backup.kill();
                if (wholeDirectory) {
                    FileTree.delete(backup.directory());
                } else {
                    cutTail(backup.directory());
                }
                backup.start();
                running.awaitMore(ENOUGH);
                running.end().requireConsistent();
                assertNothingLost(group, load.acknowledged());
            }
        }
    }

    /**
     * What one and three acknowledged, three has forgotten and two never had: two and three are a majority by number and must not
     * go on without one.
     */
    @Test
    void aReplicaThatForgotItsLogIsNoMajorityWithOneThatNeverHadIt() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            group.start();
            awaitOnline(group);
            LoadTest load = load(group);
            BackgroundLoad running = new BackgroundLoad(load);
            running.awaitMore(1);
            ReplicaProcess behind = group.backup().orElseThrow();
            behind.kill();
            running.awaitMore(ENOUGH);
            running.end();
            ReplicaProcess primary = group.primary().orElseThrow();
            ReplicaProcess forgetful = group.replicas().stream()
                    .filter(replica -> replica != behind && replica != primary)
                    .findFirst()
                    .orElseThrow();
            primary.kill();
            forgetful.kill();
            FileTree.delete(forgetful.directory());
            behind.start();
            forgetful.start();
            Awaitility.await("both tell of themselves")
                    .atMost(WAIT)
                    .until(() -> group.status(behind).isPresent()
                            && group.status(forgetful).isPresent());
            Awaitility.await("they stay without a majority")
                    .during(Duration.ofSeconds(6))
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> Stream.of(behind, forgetful)
                            .noneMatch(replica -> group.status(replica)
                                    .filter(NodeStatus::working)
                                    .isPresent()));
            primary.start();
            assertNothingLost(group, load.acknowledged());
        }
    }

    /** The last segment loses its last third. */
    private static void cutTail(Path replica) throws IOException {
        Path last;
        try (Stream<Path> files = Files.walk(replica)) {
            last = files.filter(file ->
                            file.getParent().endsWith("log") && file.toString().endsWith(".log"))
                    .max(Comparator.naturalOrder())
                    .orElseThrow();
        }
        try (RandomAccessFile file = new RandomAccessFile(last.toFile(), "rw")) {
            byte[] content = new byte[(int) file.length()];
            file.readFully(content);
            int end = content.length;
            while (end > 0 && content[end - 1] == 0) {
                end--; // allocated ahead
            }
            file.setLength(end - end / 3);
        }
    }
}
