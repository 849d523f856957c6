package org.gorda.cli;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.gapi.FileTree;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Replicas on the group toolkit that only these tests have on their class path. */
@Timeout(1200)
final class RatisTest {

    private static final Duration WAIT = Duration.ofMinutes(2);

    private static final int ENOUGH = 100;

    /** Of what a replica has written, if the test fails. */
    private static final int LINES_SHOWN = 60;

    @TempDir
    private Path directory;

    @Test
    void writersOnAllReplicasLoseNothingWhenReplicasAreKilledAndOneComesBackWithoutItsDirectory() throws Exception {
        Map<String, String> settings = Map.of("protocol", "certification", "toolkit", "ratis");
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, settings)) {
            try {
                killAndForget(group);
            } catch (Exception | AssertionError e) {
                group.replicas().forEach(replica -> System.err.println(replica.lastLines(LINES_SHOWN)));
                throw e;
            }
        }
    }

    private static void killAndForget(ReplicaGroup group) throws Exception {
        group.start();
        group.awaitOnline(WAIT, line -> {});
        LoadTest load =
                LoadTest.of(TpcB.of(1, 10_000)).target(group.url()).clients(4).duration(WAIT.multipliedBy(3));
        BackgroundLoad running = new BackgroundLoad(load);
        running.awaitMore(ENOUGH);
        for (ReplicaProcess killed : group.replicas().subList(0, 2)) {
            killed.kill();
            running.awaitMore(ENOUGH);
            killed.start();
            group.awaitOnline(WAIT, line -> {});
        }
        ReplicaProcess forgetful = group.replicas().get(1);
        forgetful.kill();
        FileTree.delete(forgetful.directory());
        forgetful.start();
        group.awaitOnline(WAIT, line -> {});
        running.awaitMore(ENOUGH);
        running.end().requireConsistent();
        NothingLost.anywhere(group, load.acknowledged(), WAIT);
    }
}
