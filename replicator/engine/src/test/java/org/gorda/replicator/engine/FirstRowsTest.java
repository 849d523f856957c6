package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.History;
import org.gorda.jgcs.Position;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Groups whose replicas begin with databases that have rows. */
@Timeout(120)
class FirstRowsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private final Cluster cluster = new Cluster(
            3,
            (builder, i) ->
                    builder.database("derby", directory.resolve("replica" + i).toString()));

    /** Derby must not have been started without GORDA. */
    @BeforeAll
    static void startDerby(@TempDir Path elsewhere) {
        Replica.builder()
                .database("derby", elsewhere.resolve("database").toString())
                .protocol(ReplicationProtocol.LOOPBACK)
                .start()
                .close();
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private Replica start(int i, ReplicationProtocol protocol, int size) {
        return start(i, protocol, size, builder -> {});
    }

    private Replica start(int i, ReplicationProtocol protocol, int size, Consumer<Replica.Builder> more) {
        String[] members = IntStream.range(0, size).mapToObj(cluster::member).toArray(String[]::new);
        cluster.start(i, builder -> more.accept(builder.protocol(protocol).members(members)));
        return cluster.replica(i);
    }

    private void make(int i, String rows) throws SQLException {
        String url = "jdbc:derby:" + directory.resolve("replica" + i);
        try (Connection connection = DriverManager.getConnection(url + ";create=true");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20))");
            statement.execute("CREATE TABLE EMPTY (ID INTEGER NOT NULL PRIMARY KEY)");
            if (!rows.isEmpty()) {
                statement.execute("INSERT INTO T VALUES " + rows);
            }
        }
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                .isInstanceOf(SQLException.class);
    }

    private static List<String> rows(Replica replica) throws SQLException {
        try (Connection connection = replica.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT A FROM T ORDER BY ID")) {
            List<String> found = new ArrayList<>();
            while (rows.next()) {
                found.add(rows.getString(1));
            }
            return found;
        }
    }

    private void insert(int id) throws SQLException {
        cluster.execute("INSERT INTO T VALUES (" + id + ", 'later')");
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void copiesOfOneDatabaseGoOnTogether(ReplicationProtocol protocol) throws Exception {
        for (int i = 0; i < 3; i++) {
            make(i, "(1, 'one'), (2, NULL)");
        }
        for (int i = 0; i < 3; i++) {
            start(i, protocol, 3);
        }
        for (Replica replica : cluster.running().toList()) {
            replica.awaitState(ReplicaState.ONLINE, PATIENCE);
            assertThat(replica.status().epoch())
                    .as("the rows have been compared")
                    .isPositive();
        }
        insert(3);
        for (Replica replica : cluster.running().toList()) {
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(rows(replica)).containsExactly("one", null, "later"));
        }
    }

    /** They would lack the tables that rows are written to. */
    @Test
    void othersAreGivenTablesThatTheGroupBeganWithoutRowsOf() throws Exception {
        make(0, "");
        Replica first = start(0, ReplicationProtocol.PRIMARY_BACKUP, 1);
        first.awaitPrimary(PATIENCE);
        first.addMember(cluster.id(1));
        Replica second = start(1, ReplicationProtocol.PRIMARY_BACKUP, 2);
        second.awaitState(ReplicaState.ONLINE, PATIENCE);
        insert(1);
        Awaitility.await()
                .atMost(PATIENCE)
                .untilAsserted(() -> assertThat(rows(second)).containsExactly("later"));
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void othersAreGivenTheDatabaseThatTheGroupBeganWithOrRefused(ReplicationProtocol protocol) throws Exception {
        make(0, "(1, 'one'), (2, NULL)");
        make(1, "(1, 'one'), (2, 'NULL')");
        Replica first = start(0, protocol, 1);
        first.awaitPrimary(PATIENCE);
        insert(3);
        first.addMember(cluster.id(2));
        Replica without = start(2, protocol, 3);
        without.awaitState(ReplicaState.ONLINE, PATIENCE);
        assertThat(rows(without)).containsExactly("one", null, "later");

        first.addMember(cluster.id(1));
        Replica differs = start(1, protocol, 3);
        assertThatThrownBy(() -> differs.awaitState(ReplicaState.ONLINE, PATIENCE))
                .hasMessageContaining("holds 2 rows (checksum ")
                .hasMessageContaining("the group began with 2 rows (checksum ")
                .hasMessageContaining(" at " + cluster.member(0))
                .hasMessageContaining("Move that database away");
        insert(4);
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(rows(first)).hasSize(4));
    }

    /** The log is delivered while the database is on its way, and may be replaced by the leader. */
    @Test
    void whoReceivesTheDatabaseReceivesItOnceWhateverElseItLacks() throws Exception {
        make(0, "(1, 'one'), (2, NULL)");
        Replica first = start(0, ReplicationProtocol.PRIMARY_BACKUP, 1);
        first.awaitPrimary(PATIENCE);
        first.addMember(cluster.id(1));
        Replica without =
                start(1, ReplicationProtocol.PRIMARY_BACKUP, 2, builder -> builder.transferBytesPerSecond(1 << 20));
        without.awaitState(ReplicaState.RECEIVING, PATIENCE);
        Position held = without.engine().log().lastCommitted();
        Position cutOff = new Position(held.group(), held.term(), held.index() + 1000);
        without.engine().onGap(cutOff, "the log begins after " + cutOff);
        assertThat(joiners(cluster.member(1))).isEqualTo(1);
        without.awaitState(ReplicaState.ONLINE, PATIENCE);
        assertThat(rows(without)).containsExactly("one", null);
    }

    private static long joiners(String member) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("gorda-joiner-" + member))
                .count();
    }

    /** It begins to take part a moment after it was started, and knows what is decided only when the group does. */
    @Test
    void whoHasItsLogIsNeverSaidToHaveLostIt() throws Exception {
        for (int i = 0; i < 2; i++) {
            start(i, ReplicationProtocol.PRIMARY_BACKUP, 2);
        }
        cluster.awaitOnline();
        cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20))");
        for (Replica replica : cluster.running().toList()) {
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .ignoreExceptionsInstanceOf(SQLException.class)
                    .untilAsserted(() -> assertThat(rows(replica)).isEmpty());
        }
        for (int start = 0; start < 5; start++) {
            cluster.close();
            Replica alone = start(0, ReplicationProtocol.PRIMARY_BACKUP, 2);
            String explanation;
            do {
                explanation = alone.status().explanation();
                assertThat(explanation).doesNotContain("nothing of its group's log");
            } while (!explanation.startsWith("no leader in term"));
        }
    }

    /** What is left of a group are its databases, or backups of them. */
    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void whoHasNothingOfItsGroupButTheDatabaseWaitsUntilAPersonDecides(ReplicationProtocol protocol) throws Exception {
        for (int i = 0; i < 3; i++) {
            start(i, protocol, 3);
        }
        cluster.awaitOnline();
        cluster.execute(
                "CREATE TABLE T (ID INTEGER NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, A VARCHAR(20))");
        cluster.execute("INSERT INTO T (A) VALUES ('one')");
        cluster.execute("INSERT INTO T (A) VALUES (NULL)");
        for (Replica replica : cluster.running().toList()) {
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .ignoreExceptionsInstanceOf(SQLException.class)
                    .untilAsserted(() -> assertThat(rows(replica)).containsExactly("one", null));
        }
        History before = cluster.replica(0).status().history();
        closeAndLoseLogs();

        for (int i = 0; i < 3; i++) {
            start(i, protocol, 3);
        }
        for (int i = 0; i < 3; i++) {
            Replica waits = cluster.replica(i);
            String named = directory.resolve("replica" + i).toString();
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(waits.status().explanation())
                            .contains("forms none: the database holds everything up to ")
                            .contains("but there is nothing of its group's log in " + named + ".gorda")
                            .contains("gorda recover " + named + " --engine derby --directory " + named + ".gorda"));
            assertThat(waits.status().state()).isEqualTo(ReplicaState.JOINING);
        }
        cluster.close();

        for (int i = 0; i < 3; i++) {
            String database = directory.resolve("replica" + i).toString();
            try (ReplicaRecovery recovery = ReplicaRecovery.open("derby", database, Map.of(), null)) {
                assertThat(recovery.remains().log()).isNull();
                assertThatThrownBy(recovery::goOnAlone).hasMessageContaining("there is nothing of its group's log");
                recovery.beginNewGroup();
                assertThat(recovery.remains().stored()).isNull();
                assertThatThrownBy(recovery::beginNewGroup).hasMessageContaining("belongs to no group");
            }
            start(i, protocol, 3);
        }
        cluster.awaitOnline();
        cluster.execute("INSERT INTO T (A) VALUES ('later')");
        History after = cluster.replica(0).status().history();
        for (Replica replica : cluster.running().toList()) {
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(rows(replica)).containsExactly("one", null, "later"));
            assertThat(replica.status().continued())
                    .as("the group before, for its clients")
                    .isEqualTo(before.group());
            assertThat(replica.status().history()).isEqualTo(after).isNotEqualTo(before);
        }
        cluster.close();
        assertThatThrownBy(() -> {
                    String database = directory.resolve("replica0").toString();
                    try (ReplicaRecovery recovery = ReplicaRecovery.open("derby", database, Map.of(), null)) {
                        recovery.beginNewGroup();
                    }
                })
                .hasMessageContaining("holds the log of the group");
    }

    private void closeAndLoseLogs() throws IOException {
        cluster.close();
        for (int i = 0; i < cluster.size(); i++) {
            FileTree.delete(directory.resolve("replica" + i + ".gorda"));
        }
    }

    /** The group is not the one that has made what the database holds. */
    @Test
    void whoHoldsWhatAnotherGroupHasMadeStopsAtOnce() throws Exception {
        Replica stranger =
                start(1, ReplicationProtocol.PRIMARY_BACKUP, 2, builder -> builder.members(cluster.member(1)));
        stranger.awaitPrimary(PATIENCE);
        cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20))");
        for (int i = 0; i < 40; i++) {
            insert(i);
        }
        cluster.stop(1);
        FileTree.delete(directory.resolve("replica1.gorda"));
        Replica first = start(0, ReplicationProtocol.PRIMARY_BACKUP, 1);
        first.awaitPrimary(PATIENCE);
        first.addMember(cluster.id(1));
        Replica refused = start(1, ReplicationProtocol.PRIMARY_BACKUP, 2);
        assertThatThrownBy(() -> refused.awaitState(ReplicaState.ONLINE, PATIENCE))
                .hasMessageContaining("which are not part of the group's history")
                .hasMessageContaining("Move the database and the directory ");
    }

    /** Who is its first leader, chance decides. */
    @Test
    void nobodyGoesOnWithOtherRowsWhoeverBeginsTheGroup() throws Exception {
        make(0, "(1, 'one')");
        for (int i = 0; i < 3; i++) {
            start(i, ReplicationProtocol.PRIMARY_BACKUP, 3);
        }
        // until the first leader has begun the group, no replica is refused, and the others have no table
        Awaitility.await()
                .atMost(60, TimeUnit.SECONDS)
                .ignoreExceptionsInstanceOf(SQLException.class)
                .untilAsserted(() -> {
                    boolean isRefused = cluster.replica(0).status().state() == ReplicaState.STOPPED;
                    for (int i = isRefused ? 1 : 0; i < 3; i++) {
                        assertThat(cluster.replica(i).status().state()).isEqualTo(ReplicaState.ONLINE);
                        if (!isRefused) {
                            assertThat(rows(cluster.replica(i))).containsExactly("one");
                        }
                    }
                });
    }
}
