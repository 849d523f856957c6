package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the others hold in memory for a replica that does nothing for a while: {@code -Dgorda.stopped-seconds=60}. Nothing else of this
 * module runs meanwhile.
 */
@Isolated
@Timeout(600)
final class StoppedReplicaTest {

    private static final int SECONDS = Integer.getInteger("gorda.stopped-seconds", 4);
    private static final int HEAP_MEGABYTES = 128;

    /** What is still in use after a collection. */
    private static final long LIVE_BYTES_MAX = ((long) HEAP_MEGABYTES << 20) * 3 / 4;

    private static final Duration WAIT = Duration.ofMinutes(2);

    /** In a line of {@code jcmd GC.heap_info}, whichever the collector. */
    private static final Pattern USED = Pattern.compile("(?:heap|generation) .*used (\\d+)K");

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"primary-backup", "certification"})
    void theOthersGoOnInTheirMemoryAndItCatchesUp(String protocol) throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("protocol", protocol), HEAP_MEGABYTES + "m")) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            LoadTest load = LoadTest.of(TpcB.of(4, 1_000))
                    .target(group.url())
                    .clients(6)
                    .duration(Duration.ofSeconds(SECONDS + 3));
            BackgroundLoad running = new BackgroundLoad(load);
            running.awaitMore(100);
            ReplicaProcess stopped = group.backup().orElseThrow();
            List<ReplicaProcess> others = group.replicas().stream()
                    .filter(replica -> replica != stopped)
                    .toList();
            long stoppedNanos = System.nanoTime();
            stopped.freeze();
            long live = 0;
            long before;
            long during;
            try {
                before = load.acknowledged().count();
                while (System.nanoTime() - stoppedNanos < TimeUnit.SECONDS.toNanos(SECONDS)) {
                    TimeUnit.SECONDS.sleep(Math.max(1, SECONDS / 10));
                    for (ReplicaProcess replica : others) {
                        live = Math.max(live, liveBytes(replica));
                    }
                }
                during = load.acknowledged().count() - before;
            } finally {
                stopped.thaw();
            }
            running.report().requireConsistent();
            LoadTest.Silence silence = load.longestSilence(stoppedNanos, Duration.ofSeconds(SECONDS));
            System.out.printf(
                    "%s, one of three stopped for %d s: %d transactions meanwhile, longest silence %d ms, at most %.1f MB live of %d%n",
                    protocol,
                    SECONDS,
                    during,
                    silence == null ? 0 : silence.millis(),
                    live / 1048576.0,
                    HEAP_MEGABYTES);
            assertThat(live).as("bytes live on one of the others").isBetween(1L, LIVE_BYTES_MAX);
            assertThat(during).as("committed meanwhile").isGreaterThan(10L * SECONDS);
            if (silence != null) {
                assertThat(silence.millis()).as("silence").isLessThan(5000);
            }
            NothingLost.anywhere(group, load.acknowledged(), WAIT);
            for (ReplicaProcess replica : group.replicas()) {
                assertThat(replica.output()).doesNotContain("OutOfMemoryError");
            }
        }
    }

    /** After a full collection. */
    private static long liveBytes(ReplicaProcess replica) throws IOException, InterruptedException {
        jcmd(replica, "GC.run");
        Matcher used = USED.matcher(jcmd(replica, "GC.heap_info"));
        long bytes = 0;
        while (used.find()) {
            bytes += Long.parseLong(used.group(1)) << 10;
        }
        return bytes;
    }

    private static String jcmd(ReplicaProcess replica, String command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                        Long.toString(replica.pid()),
                        command)
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
