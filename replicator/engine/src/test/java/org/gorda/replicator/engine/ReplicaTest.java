package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
@Order(1)
class ReplicaTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    @Test
    void whoWasAddedByMistakeIsTakenBackInAGroupOfOne() throws Exception {
        try (Cluster cluster = new Cluster(directory, 1, builder -> {})) {
            MemberId mistyped = new MemberId("127.0.0.1:1");
            Replica replica = cluster.replica(0);
            assertThat(replica.addMember(mistyped).get(30, TimeUnit.SECONDS).learners())
                    .containsExactly(mistyped);
            assertThat(replica.removeMember(mistyped).get(30, TimeUnit.SECONDS).learners())
                    .isEmpty();
            assertThat(replica.status().members()).containsExactly(cluster.id(0));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void aVerificationMayTakeLongerThanACommit(ReplicationProtocol protocol) throws Exception {
        try (Cluster cluster = new Cluster(directory, 1, builder -> builder.protocol(protocol))) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)",
                    "CREATE TABLE U (CLIENT INTEGER, N INTEGER, PRIMARY KEY (CLIENT, N))");
            cluster.execute("INSERT INTO T (A) VALUES (1)");
            for (int rows = 1; rows < 1 << 17; rows *= 2) {
                cluster.execute("INSERT INTO T (A) SELECT A FROM T");
            }
            cluster.replica(0).close();
            cluster.start(0, builder -> builder.commitTimeout(Duration.ofMillis(100)));
            cluster.awaitOnline();
            AtomicBoolean enough = new AtomicBoolean();
            AtomicBoolean reads = new AtomicBoolean();
            List<Throwable> told = new CopyOnWriteArrayList<>();
            ExecutorService clients = Executors.newFixedThreadPool(4);
            List<Future<?>> running = new ArrayList<>();
            for (int client = 0; client < 4; client++) {
                int number = client;
                running.add(clients.submit(() -> {
                    for (int row = 0; !enough.get(); row++) {
                        try (Connection connection = cluster.connect(0);
                                Statement statement = connection.createStatement()) {
                            statement.executeUpdate("INSERT INTO U VALUES (" + number + ", " + row + ")");
                        } catch (SQLException e) {
                            if (reads.get()) { // on a busy machine anything may take as long at other times
                                told.add(e);
                            }
                        }
                    }
                    return null;
                }));
            }
            try {
                reads.set(true);
                assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(1 << 17);
                reads.set(false);
            } finally {
                enough.set(true);
                clients.shutdown();
            }
            for (Future<?> client : running) {
                client.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
            assertThat(told)
                    .allSatisfy(e -> assertThat(e)
                            .isInstanceOf(SQLTransactionRollbackException.class)
                            .hasMessageContaining("run it again")
                            .hasMessageNotContaining("schema"));
        }
    }

    /** What it holds then is of another place in the order, and others would be told that it differs. */
    @Test
    void aVerificationIsNotMadeAgainWhenAReplicaIsStartedAgain() throws Exception {
        Consumer<Replica.Builder> settings = builder -> builder.protocol(ReplicationProtocol.CERTIFICATION);
        try (Cluster cluster = new Cluster(directory, 1, settings)) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            Verification overtaken = cluster.replica(0).verify(PATIENCE);
            cluster.execute("INSERT INTO T VALUES (1)");
            cluster.replica(0).close();
            cluster.start(0);
            cluster.awaitOnline();
            assertThatThrownBy(() -> cluster.replica(0).verification(overtaken.request()))
                    .isInstanceOf(ReplicaException.class)
                    .hasMessageContaining("started again");
            assertThat(cluster.assertIdentical())
                    .singleElement()
                    .satisfies(table -> assertThat(table.rows()).isEqualTo(1));
        }
    }

    @Test
    void backupRefusesWritesAndAnswersReads() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
            cluster.assertIdentical();
            int backup = cluster.backup();
            try (Connection connection = cluster.connect(backup);
                    Statement statement = connection.createStatement()) {
                assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (2)"))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("25006"))
                        .hasMessageContaining("the primary is " + cluster.id(cluster.primary()));
            }
            assertThat(cluster.count(backup, "T")).isEqualTo(1);
        }
    }

    @Test
    void manyClientsCommitAtOnce() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (CLIENT INTEGER, N INTEGER, PRIMARY KEY (CLIENT, N))");
            int primary = cluster.primary();
            ExecutorService clients = Executors.newFixedThreadPool(8);
            List<Future<?>> done = new ArrayList<>();
            for (int client = 0; client < 8; client++) {
                int number = client;
                done.add(clients.submit(() -> {
                    try (Connection connection = cluster.connect(primary);
                            PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
                        for (int i = 0; i < 200; i++) {
                            insert.setInt(1, number);
                            insert.setInt(2, i);
                            insert.executeUpdate();
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> one : done) {
                one.get(60, TimeUnit.SECONDS);
            }
            clients.shutdown();
            assertThat(cluster.assertIdentical()).singleElement().satisfies(table -> {
                assertThat(table.rows()).isEqualTo(1600);
                assertThat(table.table()).contains("\"T\"");
            });
        }
    }

    @Test
    void anotherReplicaTakesOverAndNothingIsLost() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)");
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 20; i++) {
                    cluster.execute("INSERT INTO T (A) VALUES (" + i + ")");
                }
                int old = cluster.primary();
                cluster.replica(old).close();
                for (int i = 0; i < 20; i++) {
                    cluster.execute("INSERT INTO T (A) VALUES (" + i + ")");
                }
                cluster.start(old);
                cluster.awaitOnline();
            }
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(120);
        }
    }

    @Test
    void schemaChangesMixWithRowsThatTookGeneratedKeys() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)",
                    "CREATE SEQUENCE S",
                    "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)",
                    "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)",
                    "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
            cluster.execute("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
            cluster.execute("CREATE INDEX I ON T (A)", "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
            cluster.execute("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(5);
            cluster.replica(cluster.primary()).close();
            cluster.execute("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)", "DROP INDEX I");
        }
    }

    @Test
    void allReplicasComeBackAfterAllWereStopped() throws SQLException {
        for (Durability durability : Durability.values()) {
            Path own = directory.resolve(durability.key());
            try (Cluster cluster = new Cluster(own, 3, builder -> builder.durability(durability))) {
                cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
                for (int i = 0; i < 30; i++) {
                    cluster.execute("INSERT INTO T VALUES (" + i + ")");
                }
                for (int i = 0; i < 3; i++) {
                    cluster.replica(i).close();
                }
                for (int i : new int[] {1, 2, 0}) {
                    cluster.start(i);
                }
                cluster.awaitOnline();
                cluster.execute("INSERT INTO T VALUES (1000)");
                assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(31);
            }
        }
    }

    @Test
    void comesBackFromACheckpointThatLiesBehindItsLastChange() throws Exception {
        try (Cluster cluster = new Cluster(directory, 1, builder -> {})) {
            // Who is the primary is ordered, and with that the checkpoint's place, but changes nothing in the database.
            Awaitility.await("a checkpoint").atMost(Duration.ofSeconds(30)).until(this::hasCheckpoint);
            cluster.replica(0).close();
            cluster.start(0);
            cluster.awaitOnline();
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(1);
        }
    }

    private boolean hasCheckpoint() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.anyMatch(file -> file.endsWith("checkpoint"));
        }
    }

    @Test
    void outcomeOfATransactionCanBeAskedForAndToAskDecides() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            int primary = cluster.primary();
            long since = cluster.replica(primary).status().orderedIndex();
            SessionId session = SessionId.of(UUID.randomUUID());
            try (Connection connection = cluster.connect(primary);
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                statement.executeUpdate("INSERT INTO T VALUES (1)");
                statement.execute("CALL GORDA.COMMIT_AS('" + session + "', 1)");
                connection.commit();
                for (int asked = 0; asked < 3; asked++) {
                    assertThat(cluster.replica(asked)
                                    .outcome(new TransactionId(session, 1), since)
                                    .get(10, TimeUnit.SECONDS))
                            .isEqualTo(Outcome.COMMITTED);
                }
                statement.executeUpdate("INSERT INTO T VALUES (2)");
                assertThat(cluster.replica((primary + 1) % 3)
                                .outcome(new TransactionId(session, 2), since)
                                .get(10, TimeUnit.SECONDS))
                        .isEqualTo(Outcome.ABORTED);
                assertThatThrownBy(() -> {
                            statement.execute("CALL GORDA.COMMIT_AS('" + session + "', 2)");
                            connection.commit();
                        })
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            }
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(1);
        }
    }

    /** It takes locks that only those may lose who are certified: who writes at a primary is kept out until nobody wants it any more. */
    @Test
    void aVerificationThatIsGivenUpHarmsNobody() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)", "INSERT INTO T VALUES (1, 0)");
            int primary = cluster.primary();
            ExecutorService clients = Executors.newFixedThreadPool(6);
            AtomicBoolean goesOn = new AtomicBoolean(true);
            List<Future<Integer>> load = new ArrayList<>();
            for (int client = 0; client < 6; client++) {
                load.add(clients.submit(() -> {
                    int committed = 0;
                    try (Connection connection = cluster.connect(primary);
                            Statement statement = connection.createStatement()) {
                        while (goesOn.get()) {
                            try {
                                statement.executeUpdate("UPDATE T SET N = N + 1");
                                committed++;
                            } catch (SQLTransactionRollbackException e) {
                                // Held up for too long by one verification after the other.
                            }
                        }
                    }
                    return committed;
                }));
            }
            int givenUp = 0;
            for (int i = 0; i < 120; i++) {
                try {
                    cluster.replica(primary).verify(Duration.ofMillis(i % 40));
                } catch (ReplicaException e) {
                    givenUp++;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5)); // so that somebody writes
            }
            goesOn.set(false);
            int committed = 0;
            for (Future<Integer> one : load) {
                committed += one.get(60, TimeUnit.SECONDS);
            }
            clients.shutdown();
            assertThat(givenUp).isPositive();
            try (Connection connection = cluster.connect(primary);
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT N FROM T")) {
                row.next();
                assertThat(row.getInt(1)).as("increments of %d", committed).isEqualTo(committed);
            }
            cluster.assertIdentical();
        }
    }

    @Test
    void strongReadsAtABackupSeeWhatWasCommittedBefore() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.strongReads(true))) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            int backup = cluster.backup();
            for (int i = 0; i < 100; i++) {
                cluster.execute("INSERT INTO T VALUES (" + i + ")");
                assertThat(cluster.count(backup, "T")).isEqualTo(i + 1);
            }
        }
    }

    @Test
    void replicaWithoutMajorityRefusesWritesAtOnce() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            int primary = cluster.primary();
            cluster.replica((primary + 1) % 3).close();
            cluster.replica((primary + 2) % 3).close();
            org.awaitility.Awaitility.await("it notices")
                    .atMost(Duration.ofSeconds(10))
                    .until(() -> !cluster.replica(primary).status().working());
            try (Connection connection = cluster.connect(primary);
                    Statement statement = connection.createStatement()) {
                assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (1)"))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("08006"))
                        .hasMessageContaining("majority");
            }
        }
    }

    @Test
    void loopbackCapturesAndAnswersAtOnce() throws SQLException {
        try (Replica replica = Replica.builder()
                        .database("derby", directory.resolve("alone").toString())
                        .protocol(ReplicationProtocol.LOOPBACK)
                        .start();
                Connection connection = replica.connect(new java.util.Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThat(replica.status().state()).isEqualTo(ReplicaState.ONLINE);
        }
    }

    /** All rows are in its log. */
    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void whatAReplicaKeepsIsForNobodyElse() throws Exception {
        Path kept = directory.resolve("member.gorda");
        Replica.builder()
                .database("derby", directory.resolve("member").toString())
                .self("127.0.0.1:" + LoopbackPorts.free(1).get(0))
                .start()
                .close();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(kept)))
                .isEqualTo("rwx------");
    }

    /** What it would take the others would never get, and it would come back to them with that. */
    @Test
    void aReplicaOfAGroupDoesNotTakeWritesWithoutIt() throws SQLException {
        String place = directory.resolve("member").toString();
        try (Replica replica = Replica.builder()
                .database("derby", place)
                .self("127.0.0.1:" + LoopbackPorts.free(1).get(0))
                .start()) {
            replica.awaitPrimary(Duration.ofMinutes(1));
            try (Connection connection = replica.connect(new java.util.Properties());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            }
        }
        for (int i = 0; i < 2; i++) { // the first attempt leaves the database closed
            assertThatThrownBy(() -> Replica.builder()
                            .database("derby", place)
                            .protocol(ReplicationProtocol.LOOPBACK)
                            .start())
                    .isInstanceOf(ReplicaException.class)
                    .hasMessageContaining("is a replica and holds what its group has ordered up to")
                    .hasMessageContaining("protocol=loopback");
        }
    }

    @Test
    void badSettingsAreNamedWithTheirLegalRange() {
        assertThatThrownBy(() -> Replica.builder().start())
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("database");
        assertThatThrownBy(() -> Replica.builder()
                        .database("derby", directory.resolve("x").toString())
                        .self("a:1")
                        .members("b:1", "c:1")
                        .start())
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("self is a:1");
        assertThatThrownBy(() -> Replica.builder()
                        .database("oracle", "x")
                        .self("127.0.0.1:7999")
                        .start())
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("oracle")
                .hasMessageContaining("derby");
        assertThatThrownBy(() -> Replica.builder()
                        .database("derby", "x")
                        .self("127.0.0.1:7999")
                        .writeSetBytesMax(5)
                        .start())
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("write-set-bytes-max is 5")
                .hasMessageContaining("65536");
    }
}
