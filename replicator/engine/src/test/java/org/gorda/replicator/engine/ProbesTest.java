package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What replicas tell of their transactions' time, against what their client sees. */
final class ProbesTest {

    private static final int TRANSACTIONS = 200;
    private static final List<Stage> AT_ORIGIN =
            Arrays.stream(Stage.values()).filter(Stage::isAtOrigin).toList();
    private static final List<Stage> AT_OTHERS =
            Arrays.stream(Stage.values()).filter(stage -> !stage.isAtOrigin()).toList();

    @TempDir
    private Path directory;

    private static void probe(Cluster cluster, boolean on) {
        for (int i = 0; i < cluster.size(); i++) {
            cluster.replica(i).probe(on);
        }
    }

    /** Each inserts a row. The nanoseconds from before the first change until after the commit, of all together. */
    private static long run(Cluster cluster, int origin, int first) throws SQLException {
        long nanos = 0;
        try (Connection connection = cluster.connect(origin);
                PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (?)")) {
            connection.setAutoCommit(false);
            for (int i = first; i < first + TRANSACTIONS; i++) {
                insert.setInt(1, i);
                long begin = System.nanoTime();
                insert.executeUpdate();
                connection.commit();
                nanos += System.nanoTime() - begin;
            }
        }
        cluster.awaitEverywhere();
        return nanos;
    }

    private static long nanos(ReplicaProbes probes, List<Stage> stages) {
        return stages.stream()
                .mapToLong(stage ->
                        probes.times().getOrDefault(stage, StageTimes.NONE).nanos())
                .sum();
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION", "ASYNCHRONOUS"})
    void theStagesOfATransactionAddUpToWhatItsClientWaits(ReplicationProtocol protocol) throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.protocol(protocol))) {
            cluster.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
            int origin = cluster.primary();
            run(cluster, origin, 0);
            probe(cluster, true);
            long waited = run(cluster, origin, TRANSACTIONS);

            ReplicaProbes own = cluster.replica(origin).probes();
            assertThat(own.times()).containsOnlyKeys(AT_ORIGIN);
            assertThat(own.times().values()).allMatch(times -> times.count() == TRANSACTIONS);
            assertThat(nanos(own, AT_ORIGIN)).isBetween(waited / 2, waited);

            ReplicaProbes other = cluster.replica((origin + 1) % 3).probes();
            assertThat(other.times()).containsOnlyKeys(AT_OTHERS);
            assertThat(other.times().get(Stage.DECODE).count()).isEqualTo(TRANSACTIONS);
            assertThat(other.times().get(Stage.APPLY).count()).isEqualTo(TRANSACTIONS);
            assertThat(other.times().get(Stage.INSTALL).count()).isBetween(1L, (long) TRANSACTIONS);
        }
    }

    @Test
    void nothingIsMeasuredWhileTheyAreOffAndCountersCountAlways() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
            int origin = cluster.primary();
            ReplicaProbes before = cluster.replica(origin).probes();
            run(cluster, origin, 0);
            ReplicaProbes off = cluster.replica(origin).probes();
            assertThat(off.on()).isFalse();
            assertThat(off.times()).isEmpty();
            assertThat(off.committed() - before.committed()).isEqualTo(TRANSACTIONS);
            // At least the write set to each of two others; each is a few bytes at the least.
            assertThat(off.group().frames() - before.group().frames()).isGreaterThanOrEqualTo(2 * TRANSACTIONS);
            assertThat(off.group().bytes() - before.group().bytes()).isGreaterThan(2 * 50 * TRANSACTIONS);
            assertThat(off.group().forces()).isLessThan(TRANSACTIONS); // maintenance alone

            probe(cluster, true);
            run(cluster, origin, TRANSACTIONS);
            ReplicaProbes measured = cluster.replica(origin).probe(false);
            assertThat(measured.times().get(Stage.ORDER).count()).isEqualTo(TRANSACTIONS);
            run(cluster, origin, 2 * TRANSACTIONS);
            assertThat(cluster.replica(origin).probes().times()).isEmpty();
            cluster.replica(origin).probe(true);
            assertThat(cluster.replica(origin).probes().times()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void theLogIsForcedForEachTransactionThatIsAloneIfItIsToOutliveAPowerLoss(Durability durability) throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.durability(durability))) {
            cluster.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
            int origin = cluster.primary();
            ReplicaProbes before = cluster.replica(origin).probes();
            run(cluster, origin, 0);
            ReplicaProbes after = cluster.replica(origin).probes();
            long forces = after.group().forces() - before.group().forces();
            long flushes = after.flushes() - before.flushes();
            if (durability == Durability.GROUP_DISK) {
                assertThat(forces).isGreaterThan(TRANSACTIONS / 2);
            } else if (durability == Durability.GROUP) {
                assertThat(forces).isLessThan(TRANSACTIONS); // maintenance alone
            }
            if (durability == Durability.LOCAL) {
                assertThat(flushes).isGreaterThanOrEqualTo(TRANSACTIONS);
                assertThat(forces).isGreaterThanOrEqualTo(flushes); // a database is never on disk further than its log
            } else {
                assertThat(flushes).isLessThan(TRANSACTIONS); // maintenance alone
            }
        }
    }

    @Test
    void whereAllTakeWritesAReplicaIsBothOriginAndOther() throws Exception {
        try (Cluster cluster =
                new Cluster(directory, 3, builder -> builder.protocol(ReplicationProtocol.CERTIFICATION))) {
            cluster.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
            cluster.awaitEverywhere();
            probe(cluster, true);
            for (int i = 0; i < cluster.size(); i++) {
                run(cluster, i, i * TRANSACTIONS);
            }
            for (int i = 0; i < cluster.size(); i++) {
                ReplicaProbes probes = cluster.replica(i).probes();
                assertThat(probes.times())
                        .containsOnlyKeys(Stream.concat(AT_ORIGIN.stream(), AT_OTHERS.stream())
                                .toList());
                assertThat(probes.times().get(Stage.COMMIT).count()).isEqualTo(TRANSACTIONS);
                assertThat(probes.times().get(Stage.APPLY).count()).isEqualTo(2 * TRANSACTIONS);
            }
        }
    }
}
