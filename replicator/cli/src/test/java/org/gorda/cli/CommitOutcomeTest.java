package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.gorda.bench.Engine;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.cli.Depositors.Deposit;
import org.gorda.cli.Depositors.Told;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What clients are told of commits whose answers are lost because the primary is killed: always what the replicas hold.
 * {@code -Dgorda.kills=200} kills so often; each kill is a line of the output.
 */
final class CommitOutcomeTest {

    private static final int KILLS = Integer.getInteger("gorda.kills", 3);
    private static final int CLIENTS = 12;
    private static final int DEPOSITS_BEFORE = 40;
    private static final int DELAY_MICROS_MAX = 40_000;
    private static final Duration WAIT = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private final Map<Told, Integer> inDoubt = new EnumMap<>(Told.class);
    private final Random random = new Random();

    @Test
    void commitsInDoubtAreToldAsTheReplicasHoldThem() throws Exception {
        commitsInDoubtAreToldAsHeldBy(null);
    }

    @Test
    void commitsInDoubtAreToldAsTheReplicasHoldThemOnPostgresql() throws Exception {
        commitsInDoubtAreToldAsHeldBy(new PostgresEngine());
    }

    private void commitsInDoubtAreToldAsHeldBy(@Nullable Engine engine) throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of(), engine)) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute(Depositors.TABLE);
            }
            try (Depositors clients = new Depositors(group.url(), CLIENTS)) {
                for (int kill = 1; kill <= KILLS; kill++) {
                    System.out.println("kill " + kill + " of " + KILLS + ": " + killAndReturn(group, clients));
                }
                assertThat(group.verify(WAIT).identical()).isTrue();
                for (ReplicaProcess replica : group.replicas()) {
                    assertAsTold(clients.all(), held(group, replica), replica);
                }
                System.out.println(KILLS + " kills of the primary under " + CLIENTS + " clients, "
                        + clients.all().size() + " deposits; commits in doubt " + text(inDoubt)
                        + "; each looked up on each of " + group.replicas().size() + " replicas: as told");
            }
        }
        assertThat(inDoubt.getOrDefault(Told.UNKNOWN, 0)).as("told: unknown").isZero();
        assertThat(inDoubt.values().stream().mapToInt(Integer::intValue).sum())
                .as("commits that were in doubt")
                .isGreaterThanOrEqualTo(KILLS);
    }

    private String killAndReturn(ReplicaGroup group, Depositors clients) throws Exception {
        ReplicaProcess primary = group.primary().orElseThrow();
        int already = clients.all().size();
        clients.goOn();
        await("the clients work", () -> clients.done() >= DEPOSITS_BEFORE);
        LockSupport.parkNanos(random.nextInt(DELAY_MICROS_MAX) * 1000L);
        await("commits are on their way", () -> clients.committing() >= CLIENTS / 2);
        primary.kill();
        long killed = System.nanoTime();
        int before = clients.done();
        await("the clients go on", () -> clients.done() > before + CLIENTS);
        long gapMillis = (System.nanoTime() - killed) / 1_000_000;
        clients.pause();
        primary.start();
        group.awaitOnline(WAIT, line -> {});

        List<Deposit> ofThis = clients.all().subList(already, clients.all().size());
        Map<Told, Integer> doubts = new EnumMap<>(Told.class);
        for (Deposit deposit : ofThis) {
            if (deposit.inDoubt()) {
                doubts.merge(deposit.told(), 1, Integer::sum);
                inDoubt.merge(deposit.told(), 1, Integer::sum);
            }
        }
        assertThat(group.verify(WAIT).identical()).isTrue(); // waits until all have executed all
        for (ReplicaProcess replica : group.replicas()) {
            assertAsTold(ofThis, held(group, replica), replica);
        }
        return primary.name() + ", " + ofThis.size() + " deposits, in doubt " + text(doubts) + ", " + gapMillis
                + " ms to the next " + CLIENTS;
    }

    private static void await(String what, java.util.concurrent.Callable<Boolean> condition) {
        Awaitility.await(what)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .atMost(WAIT)
                .until(condition);
    }

    private static String text(Map<Told, Integer> doubts) {
        return doubts.values().stream().mapToInt(Integer::intValue).sum() + ": committed "
                + doubts.getOrDefault(Told.DONE, 0) + ", not committed " + doubts.getOrDefault(Told.NOT_DONE, 0)
                + ", unknown " + doubts.getOrDefault(Told.UNKNOWN, 0);
    }

    private static Set<String> held(ReplicaGroup group, ReplicaProcess replica) throws SQLException {
        try (Connection own = group.connect(replica)) {
            return Depositors.held(own);
        }
    }

    private static void assertAsTold(List<Deposit> deposits, Set<String> held, ReplicaProcess replica) {
        for (Deposit deposit : deposits) {
            if (deposit.told() != Told.UNKNOWN) {
                assertThat(held.contains(deposit.name()))
                        .as("%s is on %s", deposit, replica.name())
                        .isEqualTo(deposit.told() == Told.DONE);
            }
        }
    }
}
