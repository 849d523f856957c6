package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.replicator.node.NodeStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code protocol=asynchronous} gives, and what it costs. */
@Timeout(300)
final class AsynchronousTest {

    private static final Duration WAIT = Duration.ofSeconds(60);

    /** Written before, and while nobody else listens. */
    private static final int SAFE = 10;

    private static final int RISKED = 50;

    @TempDir
    private Path directory;

    private static ConditionFactory await(String what) {
        return Awaitility.await(what).ignoreExceptions().atMost(WAIT);
    }

    private static void insert(Connection connection, int from, int to) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?)")) {
            for (int id = from; id <= to; id++) {
                insert.setInt(1, id);
                insert.executeUpdate();
            }
        }
    }

    private static Set<Integer> ids(ReplicaGroup group, ReplicaProcess replica) throws SQLException {
        Set<Integer> ids = new TreeSet<>();
        try (Connection connection =
                        DriverManager.getConnection(status(group, replica).clients());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID FROM T")) {
            while (rows.next()) {
                ids.add(rows.getInt(1));
            }
        }
        return ids;
    }

    private static Set<Integer> upTo(int last) {
        return IntStream.rangeClosed(1, last).collect(TreeSet::new, TreeSet::add, TreeSet::addAll);
    }

    private static NodeStatus status(ReplicaGroup group, ReplicaProcess replica) {
        return group.status(replica).orElseThrow();
    }

    /** With a patience that leaves time to write while nobody else answers. */
    private ReplicaGroup group(String protocol) {
        ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("protocol", protocol, "election-timeout", "8s"));
        group.start();
        group.awaitOnline(WAIT, line -> {});
        return group;
    }

    @Test
    void thePrimaryAnswersAloneAndWhatItAloneHadIsGivenUpWithItsReplicasEqual() throws Exception {
        try (ReplicaGroup group = group("asynchronous")) {
            ReplicaProcess primary = group.primary().orElseThrow();
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
                insert(connection, 1, SAFE);
                for (ReplicaProcess replica : group.replicas()) {
                    await("it is everywhere")
                            .until(() -> status(group, replica).lag() == 0
                                    && ids(group, replica).equals(upTo(SAFE)));
                }
                assertThat(status(group, primary).undecided()).isZero();

                others(group, primary).forEach(ReplicaProcess::freeze);
                insert(connection, SAFE + 1, SAFE + RISKED); // each in a transaction of its own
            }
            NodeStatus ahead = status(group, primary);
            assertThat(ahead.undecided()).isEqualTo(RISKED);
            await("how old that is can be seen")
                    .until(() -> status(group, primary).undecidedSeconds() >= 0.5);
            assertThat(GordaRun.in(directory, "status", "--at", primary.service())
                            .out())
                    .contains("no majority has the last " + RISKED + " places that it shows");
            assertThat(ids(group, primary)).isEqualTo(upTo(SAFE + RISKED));

            // All are killed, and those that had heard nothing of it are the first to come back.
            primary.kill();
            others(group, primary).forEach(ReplicaProcess::kill);
            others(group, primary).forEach(ReplicaProcess::start);
            await("the others go on").until(() -> group.primary().isPresent());
            try (Connection connection = DriverManager.getConnection(group.url())) {
                insert(connection, 1000, 1000 + 2 * RISKED);
            }
            primary.start();
            group.awaitOnline(WAIT, line -> {});
            Set<Integer> expected = upTo(SAFE);
            IntStream.rangeClosed(1000, 1000 + 2 * RISKED).forEach(expected::add);
            for (ReplicaProcess replica : group.replicas()) {
                await("it is as the group is")
                        .untilAsserted(() -> assertThat(ids(group, replica)).isEqualTo(expected));
            }
            assertThat(group.verify(WAIT).identical()).isTrue();
            assertThat(primary.output())
                    .contains("is lost: an asynchronous primary has committed it, and no majority had it");
        }
    }

    @Test
    void nothingIsLostWhenThePrimaryIsStoppedInOrder() throws Exception {
        try (ReplicaGroup group = group("asynchronous")) {
            ReplicaProcess primary = group.primary().orElseThrow();
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
                insert(connection, 1, 500);
            }
            primary.stop();
            for (ReplicaProcess replica : others(group, primary)) {
                await("it is everywhere")
                        .untilAsserted(() -> assertThat(ids(group, replica)).isEqualTo(upTo(500)));
            }
        }
    }

    @Test
    void withoutItNothingIsAnsweredThatOthersDoNotHave() throws Exception {
        try (ReplicaGroup group = group("primary-backup")) {
            ReplicaProcess primary = group.primary().orElseThrow();
            try (Connection connection = DriverManager.getConnection(group.url());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
                others(group, primary).forEach(ReplicaProcess::freeze);
                Thread late = new Thread(() -> {
                    try {
                        insert(connection, 1, 1);
                    } catch (SQLException e) {
                        // as it may be
                    }
                });
                late.start();
                late.join(2_000);
                assertThat(late.isAlive()).as("the commit still waits").isTrue();
                assertThat(status(group, primary).undecided()).isZero();
                others(group, primary).forEach(ReplicaProcess::thaw);
                late.join();
            }
        }
    }

    private static List<ReplicaProcess> others(ReplicaGroup group, ReplicaProcess primary) {
        return group.replicas().stream().filter(replica -> replica != primary).toList();
    }
}
