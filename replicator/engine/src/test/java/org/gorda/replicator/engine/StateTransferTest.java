package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.awaitility.Awaitility;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Replicas that lack more than the group's log holds. */
@Timeout(180)
@Order(1)
class StateTransferTest {

    private static final int ROW_BYTES = 100_000;
    private static final int ROWS = 80;

    @TempDir
    Path directory;

    private Cluster open(ReplicationProtocol protocol) {
        return new Cluster(directory, 3, builder -> builder.protocol(protocol).logRetainBytes(1 << 20));
    }

    private static void fill(Cluster cluster, int from) throws SQLException {
        fill(cluster, from, from + ROWS);
    }

    private static void fill(Cluster cluster, int from, int to) throws SQLException {
        try (Connection connection = cluster.connect(cluster.primary());
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            byte[] bytes = new byte[ROW_BYTES];
            Random random = new Random(from);
            for (int i = from; i < to; i++) {
                random.nextBytes(bytes);
                insert.setInt(1, i);
                insert.setBytes(2, bytes);
                insert.executeUpdate();
            }
        }
    }

    private long logBytes(int replica) {
        try {
            return FileTree.files(directory.resolve("replica" + replica + ".gorda/log")).stream()
                    .mapToLong(file -> file.toFile().length())
                    .sum();
        } catch (IOException | UncheckedIOException e) {
            return Long.MAX_VALUE; // a file was deleted meanwhile
        }
    }

    /** Writes until the others have forgotten what the one that is away lacks. */
    private void goOnWithout(Cluster cluster, int away) throws SQLException {
        fill(cluster, ROWS);
        Awaitility.await("the log is cut").atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (int i = 0; i < cluster.size(); i++) {
                cluster.execute("UPDATE COUNTER SET N = N + 1");
                assertThat(i == away ? 0 : logBytes(i)).isLessThan((long) ROWS * ROW_BYTES);
            }
        });
    }

    private static void create(Cluster cluster) throws SQLException {
        cluster.execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(1M))",
                "CREATE TABLE COUNTER (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO COUNTER VALUES (1, 0)");
        fill(cluster, 0);
    }

    private void deleteAllOf(int replica) throws IOException {
        FileTree.delete(directory.resolve("replica" + replica));
        FileTree.delete(directory.resolve("replica" + replica + ".gorda"));
    }

    @Test
    void anErrorWhileWhatWasReceivedIsOpenedStopsTheReplica() throws Exception {
        try (Cluster cluster =
                new Cluster(directory, 3, FailingDerby.NAME, builder -> builder.logRetainBytes(1 << 20))) {
            create(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            AtomicInteger opened = new AtomicInteger();
            FailingDerby.ON_CALL.set((location, call) -> {
                if (call.equals("applier")
                        && location.endsWith("replica" + away)
                        && opened.incrementAndGet() == 2) { // the first is the one that it had
                    throw new NoClassDefFoundError("planted");
                }
            });
            cluster.start(away);
            Awaitility.await("it stops")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> cluster.replica(away).status().state() == ReplicaState.STOPPED);
            assertThat(cluster.replica(away).status().explanation())
                    .contains(
                            "the database that was received cannot be opened: java.lang.NoClassDefFoundError: planted");
            cluster.replica(away).close();
            cluster.start(away);
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        } finally {
            FailingDerby.ON_CALL.set(FailingDerby.NOTHING);
        }
    }

    /** It would write among the files of what was received. */
    @Test
    void aDatabaseThatDoesNotCloseIsNotReplacedUntilTheNextStart() throws Exception {
        try (Cluster cluster =
                new Cluster(directory, 3, FailingDerby.NAME, builder -> builder.logRetainBytes(1 << 20))) {
            create(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            AtomicBoolean fails = new AtomicBoolean(true);
            FailingDerby.ON_CALL.set((location, call) -> {
                if (call.equals("close") && location.endsWith("replica" + away) && fails.getAndSet(false)) {
                    throw new ReflectionException("planted");
                }
            });
            cluster.start(away);
            Awaitility.await("it stops")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> cluster.replica(away).status().state() == ReplicaState.STOPPED);
            assertThat(cluster.replica(away).status().explanation()).contains("planted");
            assertThat(directory.resolve("replica" + away + ".gorda/received/complete"))
                    .exists();
            cluster.replica(away).close();
            cluster.told().clear();
            cluster.start(away);
            assertThat(cluster.told())
                    .containsExactly(
                            "puts the database that it received in the place of " + directory.resolve("replica" + away),
                            "opens its log",
                            "opens its database");
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        } finally {
            FailingDerby.ON_CALL.set(FailingDerby.NOTHING);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void whoComesBackTooLateOrHasNothingReceivesTheDatabaseWhileOthersWrite(ReplicationProtocol protocol)
            throws Exception {
        try (Cluster cluster = open(protocol)) {
            create(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            for (boolean empty : new boolean[] {false, true}) {
                AtomicBoolean enough = new AtomicBoolean();
                CompletableFuture<Integer> writer = CompletableFuture.supplyAsync(() -> {
                    int writes = 0;
                    try (Connection connection = cluster.connect(cluster.primary());
                            Statement statement = connection.createStatement()) {
                        while (!enough.get()) {
                            writes += statement.executeUpdate("UPDATE COUNTER SET N = N + 1");
                        }
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                    return writes;
                });
                if (empty) {
                    cluster.replica(away).close();
                    deleteAllOf(away);
                }
                cluster.start(away);
                try {
                    cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
                } finally {
                    enough.set(true);
                }
                assertThat(writer.get()).isPositive();
                assertThat(cluster.assertIdentical().stream()
                                .filter(table -> table.table().endsWith("\"T\""))
                                .findFirst()
                                .orElseThrow()
                                .rows())
                        .isEqualTo(2 * ROWS);
                assertThat(directory.resolve("replica" + away + ".gorda/received"))
                        .doesNotExist();
            }
            // What it received serves for a restart like what it had of its own.
            cluster.replica(away).close();
            cluster.start(away);
            cluster.awaitOnline();
            cluster.execute("UPDATE COUNTER SET N = N + 1");
            cluster.assertIdentical();
        }
    }

    @Test
    void whoHasLostOnlyItsDirectoryReceivesTheDatabaseThoughAnotherWasElectedSinceTheLogBegins() throws Exception {
        try (Cluster cluster = open(ReplicationProtocol.PRIMARY_BACKUP)) {
            create(cluster);
            goOnWithout(cluster, -1);
            int away = cluster.backup();
            cluster.lead((away + 1) % cluster.size());
            cluster.execute("INSERT INTO COUNTER VALUES (2, 0)");
            cluster.assertIdentical();
            cluster.replica(away).close();
            FileTree.delete(directory.resolve("replica" + away + ".gorda"));
            cluster.start(away);
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        }
    }

    /** As after a power loss: whoever gave its database has no longer what was begun with. */
    @Test
    void whoReceivedWhenAllWereStoppedReceivesTheDatabaseAllTheSame() throws Exception {
        try (Cluster cluster = open(ReplicationProtocol.PRIMARY_BACKUP)) {
            int away = loseAllOfABackup(cluster);
            cluster.start(away, builder -> builder.logRetainBytes(1 << 20).transferBytesPerSecond(1 << 20));
            Awaitility.await("it receives")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> cluster.replica(away).status().explanation().contains("receives the database from"));
            for (int i = 0; i < cluster.size(); i++) {
                cluster.replica(i).close();
            }
            for (int i = 0; i < cluster.size(); i++) {
                cluster.start(i);
            }
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        }
    }

    /** Wherever its rows are: our own schema is GORDA, not gorda. */
    @ParameterizedTest
    @ValueSource(strings = {"APP", "gorda"})
    void aDatabaseThatTheGroupHasNotMadeIsNotReplaced(String schema) throws Exception {
        try (Cluster cluster = open(ReplicationProtocol.PRIMARY_BACKUP)) {
            int away = loseAllOfABackup(cluster);
            String url = "jdbc:derby:" + directory.resolve("replica" + away);
            try (Connection own = DriverManager.getConnection(url + ";create=true");
                    Statement statement = own.createStatement()) {
                statement.execute("CREATE TABLE \"" + schema + "\".MINE (A INTEGER NOT NULL PRIMARY KEY)");
                statement.execute("INSERT INTO \"" + schema + "\".MINE VALUES 42");
            }
            assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                    .isInstanceOf(SQLException.class);
            cluster.start(away);
            assertThatThrownBy(() -> cluster.replica(away).awaitState(ReplicaState.ONLINE, Duration.ofSeconds(30)))
                    .hasMessageContaining("holds rows, but nothing of this group")
                    .hasMessageContaining("Move that database away");
            cluster.replica(away).close();
            try (Connection own = DriverManager.getConnection(url);
                    Statement statement = own.createStatement();
                    ResultSet row = statement.executeQuery("SELECT A FROM \"" + schema + "\".MINE")) {
                assertThat(row.next()).isTrue();
                assertThat(row.getInt(1)).isEqualTo(42);
            }
        }
    }

    /** A child whose name is before its parent's, all types, and what generates values. */
    private static final List<String> MORE_TABLES = List.of(
            "CREATE TABLE A_CHILD (ID INTEGER NOT NULL PRIMARY KEY, PARENT INTEGER NOT NULL REFERENCES T)",
            "CREATE TABLE \"All Types\" (ID INTEGER NOT NULL PRIMARY KEY, BO BOOLEAN, SM SMALLINT, BI BIGINT, RE REAL, DO DOUBLE, DE DECIMAL(20, 4),"
                    + " CH CHAR(5), VC VARCHAR(100) UNIQUE, LV LONG VARCHAR, CL CLOB, BC CHAR(3) FOR BIT DATA, BV VARCHAR(10) FOR BIT DATA, BL BLOB, DA DATE, TI TIME,"
                    + " TS TIMESTAMP, XM XML)",
            "CREATE TABLE MADE (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, FROM_S INTEGER UNIQUE)",
            "CREATE SEQUENCE S AS INTEGER INCREMENT BY 3");

    private static void fillMore(Cluster cluster) throws SQLException {
        try (Connection connection = cluster.connect(cluster.primary());
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO \"All Types\" VALUES (?, TRUE, 7, 8, -0.0, 1E-300, 12.5000, 'ab', ?, '', ?, X'00FF01', X'', ?, '0001-01-01', '23:59:59',"
                                + " '2016-03-27 02:30:00.123456789', XMLPARSE(DOCUMENT CAST('<a>1</a>' AS CLOB) PRESERVE WHITESPACE))");
                Statement statement = connection.createStatement()) {
            byte[] bytes = new byte[3_000_000];
            new Random(1).nextBytes(bytes);
            for (int length : new int[] {0, 10, 8191, 8192, 8193, 3_000_000}) {
                insert.setInt(1, length);
                insert.setString(2, "ä€𝄞\u0000 " + length);
                insert.setString(3, "€".repeat(length));
                insert.setBytes(4, java.util.Arrays.copyOf(bytes, length));
                insert.executeUpdate();
            }
            statement.execute("INSERT INTO \"All Types\" (ID) VALUES (-1)");
            statement.execute("INSERT INTO A_CHILD VALUES (1, 0), (2, 1)");
            for (int i = 0; i < 5; i++) {
                statement.execute("INSERT INTO MADE (FROM_S) VALUES (NEXT VALUE FOR S)");
            }
        }
    }

    private void makeTables(int replica, List<String> more) throws SQLException {
        String url = "jdbc:derby:" + directory.resolve("replica" + replica);
        try (Connection own = DriverManager.getConnection(url + ";create=true");
                Statement statement = own.createStatement()) {
            for (String table : more) {
                statement.execute(table);
            }
        }
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                .isInstanceOf(SQLException.class);
    }

    private static List<String> tables() {
        List<String> all = new ArrayList<>(List.of(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(1M))",
                "CREATE TABLE COUNTER (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)"));
        all.addAll(MORE_TABLES);
        return all;
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void tablesThatSomebodyMadeReceiveTheRowsWhileOthersWrite(ReplicationProtocol protocol) throws Exception {
        try (Cluster cluster = open(protocol)) {
            create(cluster);
            for (String table : MORE_TABLES) {
                cluster.execute(table);
            }
            fillMore(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            deleteAllOf(away);
            makeTables(away, tables());
            AtomicBoolean enough = new AtomicBoolean();
            CompletableFuture<Integer> writer = CompletableFuture.supplyAsync(() -> {
                int writes = 0;
                while (!enough.get()) {
                    try {
                        cluster.execute(
                                "UPDATE COUNTER SET N = N + 1", "INSERT INTO MADE (FROM_S) VALUES (NEXT VALUE FOR S)");
                        writes++;
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
                return writes;
            });
            cluster.start(away);
            try {
                cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            } finally {
                enough.set(true);
            }
            assertThat(writer.get()).isPositive();
            assertThat(cluster.assertIdentical()).hasSize(5);
            assertThat(directory.resolve("replica" + away + ".gorda/received")).doesNotExist();
            assertThat(directory.resolve("replica" + cluster.primary() + ".gorda/given"))
                    .satisfiesAnyOf(
                            given -> assertThat(given).doesNotExist(),
                            given -> assertThat(given).isEmptyDirectory());
            // What generators gave before is known where only rows came from. With one primary see MixedEnginesTest.
            int writes = protocol == ReplicationProtocol.CERTIFICATION ? away : cluster.primary();
            try (Connection connection = cluster.connect(writes);
                    Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO MADE (FROM_S) VALUES (NEXT VALUE FOR S)");
                assertThatThrownBy(() -> statement.execute("INSERT INTO A_CHILD VALUES (3, -5)"))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("foreign key");
            }
            cluster.assertIdentical();
            // It is like any other from now on.
            cluster.replica(away).close();
            goOnWithoutMore(cluster, away);
            cluster.start(away);
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        }
    }

    /** Who gets them would lease values of generators as before. */
    @Test
    void rowsAreReadAgainIfTheProtocolChangesBeforeThem() throws Exception {
        try (Cluster cluster = new Cluster(
                directory,
                3,
                FailingDerby.NAME,
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION).logRetainBytes(1 << 20))) {
            create(cluster);
            for (String table : MORE_TABLES) {
                cluster.execute(table);
            }
            fillMore(cluster);
            int away = cluster.backup();
            cluster.replica(away).close();
            goOnWithout(cluster, away);
            deleteAllOf(away);
            makeTables(away, tables());
            AtomicInteger copies = new AtomicInteger();
            FailingDerby.ON_CALL.set((location, call) -> {
                if (call.equals("freeze") && copies.incrementAndGet() == 1) {
                    int donor = location.charAt(location.length() - 1) - '0';
                    cluster.replica(donor).changeProtocol(ReplicationProtocol.PRIMARY_BACKUP);
                }
            });
            cluster.start(away);
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            assertThat(copies).hasValueGreaterThan(1);
            cluster.lead(away);
            cluster.execute("INSERT INTO MADE (FROM_S) VALUES (NEXT VALUE FOR S)");
            cluster.assertIdentical();
        } finally {
            FailingDerby.ON_CALL.set(FailingDerby.NOTHING);
        }
    }

    private static long firstHeld(Cluster cluster, int replica) {
        return cluster.replica(replica).engine().log().firstHeld().index();
    }

    /** While a test holds it the member does nothing. */
    private static ReentrantLock reactor(Cluster cluster, int replica) throws ReflectiveOperationException {
        Object at = cluster.replica(replica).engine().group();
        for (String name : List.of("reactor", "working")) {
            Field field = at.getClass().getDeclaredField(name);
            field.setAccessible(true);
            at = field.get(at);
        }
        return (ReentrantLock) at;
    }

    /** Holds one up until the others have forgotten what it lacks, and its log is replaced by theirs. */
    private static void forgetWithout(Cluster cluster, int primary, int away) throws Exception {
        long index = cluster.replica(primary).status().orderedIndex();
        ReentrantLock reactor = reactor(cluster, away);
        reactor.lock();
        try {
            for (int i = 0; i < 2000 && firstHeld(cluster, primary) <= index; i++) {
                fill(cluster, 1000 + i, 1001 + i);
            }
        } finally {
            reactor.unlock();
        }
        Awaitility.await("its log is replaced")
                .atMost(Duration.ofSeconds(60))
                .until(() -> firstHeld(cluster, away) > index);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void whoseLogIsReplacedWhileItAppliesALargeTransactionReceivesTheDatabase() throws Exception {
        CountDownLatch applies = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        try (Cluster cluster =
                new Cluster(directory, 3, FailingDerby.NAME, builder -> builder.logRetainBytes(1 << 20))) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(64M))");
            cluster.awaitEverywhere();
            int primary = cluster.primary();
            int away = cluster.backup();
            FailingDerby.ON_CALL.set((location, call) -> {
                if (call.equals("apply") && location.endsWith("replica" + away) && applies.getCount() > 0) {
                    applies.countDown();
                    await(goesOn);
                }
            });
            byte[] large = new byte[8 << 20];
            new Random(1).nextBytes(large);
            try (Connection connection = cluster.connect(primary);
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (-1, ?)")) {
                insert.setBytes(1, large);
                insert.executeUpdate();
            }
            applies.await();
            ReplicaEngine before = cluster.replica(away).engine();
            forgetWithout(cluster, primary, away);
            goesOn.countDown();
            Awaitility.await("it has received the database")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> cluster.replica(away).engine() != before);
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        } finally {
            goesOn.countDown();
            FailingDerby.ON_CALL.set(FailingDerby.NOTHING);
        }
    }

    @Test
    void whatIsReceivedIsPutInPlaceOnceTheUpkeepOfWhatItReplacesHasEnded() throws Exception {
        CountDownLatch flushes = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        AtomicBoolean closedBefore = new AtomicBoolean();
        try (Cluster cluster =
                new Cluster(directory, 3, FailingDerby.NAME, builder -> builder.logRetainBytes(1 << 20))) {
            create(cluster);
            cluster.awaitEverywhere();
            int primary = cluster.primary();
            int away = cluster.backup();
            FailingDerby.ON_CALL.set((location, call) -> {
                if (call.equals("flush") && location.endsWith("replica" + away) && flushes.getCount() > 0) {
                    flushes.countDown();
                    await(goesOn);
                } else if (call.equals("close") && location.endsWith("replica" + away) && goesOn.getCount() > 0) {
                    closedBefore.set(true);
                }
            });
            cluster.execute("UPDATE COUNTER SET N = N + 1");
            flushes.await();
            ReplicaEngine before = cluster.replica(away).engine();
            forgetWithout(cluster, primary, away);
            Awaitility.await("it retires")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> before.status().explanation().equals("loads the database that it received"));
            goesOn.countDown();
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            assertThat(closedBefore).isFalse();
            cluster.assertIdentical();
        } finally {
            goesOn.countDown();
            FailingDerby.ON_CALL.set(FailingDerby.NOTHING);
        }
    }

    private void goOnWithoutMore(Cluster cluster, int away) throws SQLException {
        cluster.execute("DELETE FROM T WHERE ID >= " + ROWS);
        goOnWithout(cluster, away);
    }

    @Test
    void theLogIsCutThoughNoRunDeliversAsMuchAsIsKept() throws Exception {
        try (Cluster cluster = new Cluster(directory, 1, builder -> builder.logRetainBytes(1 << 20))) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(1M))", "CREATE TABLE COUNTER (N INTEGER)");
            for (int run = 0; run < 5; run++) {
                fill(cluster, 15 * run, 15 * run + 15);
                long written = cluster.replica(0).status().appliedIndex();
                Awaitility.await("a checkpoint").atMost(Duration.ofSeconds(60)).until(() -> {
                    cluster.execute("INSERT INTO COUNTER VALUES 1");
                    return cluster.replica(0).status().durableIndex() >= written;
                });
                cluster.replica(0).close();
                cluster.start(0);
                cluster.awaitOnline();
            }
            Awaitility.await("the log is cut").atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                cluster.execute("INSERT INTO COUNTER VALUES 1");
                assertThat(logBytes(0)).isLessThan(4 << 20);
            });
        }
    }

    /** @return which one is to receive what the others have gone on with, once it is started */
    private int loseAllOfABackup(Cluster cluster) throws Exception {
        create(cluster);
        int away = cluster.backup();
        cluster.replica(away).close();
        goOnWithout(cluster, away);
        deleteAllOf(away);
        return away;
    }

    @Test
    void tablesThatAreNotAlikeAreToldAndNothingIsReplaced() throws Exception {
        try (Cluster cluster = open(ReplicationProtocol.PRIMARY_BACKUP)) {
            int away = loseAllOfABackup(cluster);
            makeTables(
                    away,
                    List.of(
                            "CREATE TABLE T (ID BIGINT NOT NULL PRIMARY KEY, B BLOB(1M))",
                            "CREATE TABLE OTHER (A INTEGER)"));
            cluster.start(away);
            assertThatThrownBy(() -> cluster.replica(away).awaitState(ReplicaState.ONLINE, Duration.ofSeconds(30)))
                    .hasMessageContaining(
                            "there is no table \"APP\".\"COUNTER\", elsewhere with \"ID\" INTEGER, \"N\" INTEGER and primary key \"ID\"")
                    .hasMessageContaining(
                            "table \"APP\".\"T\" has \"ID\" BIGINT, \"B\" BLOB and primary key \"ID\", elsewhere \"ID\" INTEGER")
                    .hasMessageContaining("table \"APP\".\"OTHER\" is here only");
            cluster.replica(away).close();
            makeTables(
                    away,
                    List.of(
                            "DROP TABLE OTHER",
                            "DROP TABLE T",
                            "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(1M))",
                            "CREATE TABLE COUNTER (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)"));
            cluster.start(away);
            cluster.replica(away).awaitPrimary(Duration.ofSeconds(60));
            cluster.assertIdentical();
        }
    }

    @Test
    void whoseClientsCannotBeLetInAgainStops() throws Exception {
        try (Cluster cluster = open(ReplicationProtocol.PRIMARY_BACKUP)) {
            int away = loseAllOfABackup(cluster);
            int port = LoopbackPorts.free(1).get(0);
            cluster.start(away);
            Replica replica = cluster.replica(away);
            replica.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            try (ServerSocket stranger =
                    CompletableFuture.supplyAsync(() -> take(port)).get(60, TimeUnit.SECONDS)) {
                assertThat(stranger.getLocalPort()).isEqualTo(port);
                replica.awaitState(ReplicaState.STOPPED, Duration.ofSeconds(60));
                assertThat(replica.status().explanation())
                        .contains("listen on", ":" + port)
                        .doesNotContain("disk");
            }
        }
    }

    /** As soon as nobody has it. */
    private static ServerSocket take(int port) {
        while (true) {
            try {
                return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
            } catch (IOException e) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
        }
    }
}
