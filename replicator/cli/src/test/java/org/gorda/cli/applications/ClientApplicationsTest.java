package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.replicator.node.NodeClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Programs that nobody here wrote, as clients of replica processes. The primary is killed in the middle of a transaction, and the program
 * goes on with the same pool.
 */
final class ClientApplicationsTest {

    private static final Duration WAIT = Duration.ofSeconds(60);

    @TempDir
    private static Path directory;

    private static ReplicaGroup group;

    @BeforeAll
    static void start() {
        group = ReplicaGroup.of(3, directory, Map.of());
        group.start();
        group.awaitOnline(WAIT, line -> {});
    }

    @AfterAll
    static void end() {
        group.close();
    }

    @ParameterizedTest
    @EnumSource(Framework.class)
    void goesOnWhenThePrimaryIsKilled(Framework framework) throws Exception {
        ReplicaProcess primary = group.primary().orElseThrow();
        AtomicInteger times = new AtomicInteger();
        try (HikariDataSource pool = framework.pool(group.url(), false)) {
            Application application = framework.on(pool);
            Interruptions.overcome(application, () -> {
                if (times.incrementAndGet() == 1) {
                    primary.kill();
                }
            });
            // What was not committed is gone, so that it comes to the same place again.
            assertThat(times).hasValue(2);
            application.check();
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        } finally {
            if (!primary.isAlive()) {
                primary.start();
            }
            group.awaitOnline(WAIT, line -> {});
        }
        NodeClient.Comparison compared = group.verify(WAIT);
        assertThat(compared.identical()).as(compared.toString()).isTrue();
        Catalogue.assertIdentical(group);
        try (HikariDataSource pool = framework.pool(group.url(), true)) { // reads at a backup
            Awaitility.await()
                    .atMost(WAIT)
                    .ignoreExceptionsMatching(Interruptions::isOne)
                    .untilAsserted(() -> framework.on(pool).check());
        }
    }
}
