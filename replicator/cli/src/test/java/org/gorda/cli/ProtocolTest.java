package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.awaitility.Awaitility;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.replicator.node.NodeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A group of processes changes its protocol under the load of clients that know nothing of it. */
final class ProtocolTest {

    private static final Duration WAIT = Duration.ofMinutes(2);

    @TempDir
    private Path directory;

    private GordaRun protocol(String name, ReplicaGroup group) throws Exception {
        return GordaRun.in(
                directory, "protocol", name, "--at", group.replicas().get(0).service(), "--json");
    }

    private static NodeStatus status(ReplicaGroup group, ReplicaProcess replica) {
        return group.status(replica).orElseThrow();
    }

    @Test
    void clientsGoOnWhileTheGroupChangesItsProtocolAndAReplicaIsKilled() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            LoadTest load = LoadTest.of(TpcB.of(4, 10_000))
                    .target(group.url())
                    .clients(6)
                    .duration(WAIT.multipliedBy(5));
            BackgroundLoad running = new BackgroundLoad(load);
            running.awaitMore(100);

            GordaRun toAll = protocol("certification", group);
            assertThat(toAll.status()).as(toAll.err()).isZero();
            assertThat(toAll.lastLine().get("protocol").getAsString()).isEqualTo("certification");
            running.awaitMore(100);
            for (ReplicaProcess replica : group.replicas()) {
                long before = status(group, replica).committedHere();
                Awaitility.await("clients go to all")
                        .atMost(WAIT)
                        .until(() -> status(group, replica).committedHere() > before + 10);
            }

            ReplicaProcess killed = group.replicas().get(2);
            killed.kill();
            running.awaitMore(100);
            killed.start();
            Awaitility.await("it takes writes, though it is configured for primary-backup")
                    .atMost(WAIT)
                    .ignoreExceptions()
                    .until(() -> status(group, killed).role().equals("writer"));

            GordaRun toOne = protocol("primary-backup", group);
            assertThat(toOne.status()).as(toOne.err()).isZero();
            assertThat(toOne.lastLine().get("primary").getAsString()).isNotEmpty();
            assertThat(status(group, killed).protocol()).isEqualTo("primary-backup");
            running.awaitMore(100);

            GordaRun unknown = protocol("paxos", group);
            assertThat(unknown.status()).isEqualTo(1);
            assertThat(unknown.err()).contains("protocol is 'paxos' but must be one of");

            running.end().requireConsistent();
            assertThat(group.verify(WAIT).identical()).isTrue();
            NothingLost.anywhere(group, load.acknowledged(), WAIT);
        }
    }
}
