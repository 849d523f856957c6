package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.SplittableRandom;
import org.awaitility.Awaitility;
import org.gorda.bench.workload.TpcB;
import org.gorda.bench.workload.Workload;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.Verification;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two replicas that have Derby, and one that has another engine, in this process. Each engine's tables were made by its own means before, of the same names and the types that both
 * have.
 */
@Timeout(300)
final class MixedEnginesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int SIZE = 3;

    /** Whose engine is not Derby. Who ends hands over to the next one. */
    private static final int OTHER = 1;

    private static final int TRANSACTIONS = 300;
    private static final int PRIMARIES_TRIED = 30;
    private static final TpcB BANK = TpcB.of(1, 1_000);

    /** Both engines' names for what TPC-B has, whose names are not quoted in its statements: Derby's are in capitals. */
    private static final List<String> TABLES = List.of(
            "CREATE TABLE \"APP\".\"BRANCHES\" (\"BID\" INTEGER NOT NULL PRIMARY KEY, \"BBALANCE\" BIGINT NOT NULL, \"FILLER\" CHAR(84))",
            "CREATE TABLE \"APP\".\"TELLERS\" (\"TID\" INTEGER NOT NULL PRIMARY KEY, \"BID\" INTEGER NOT NULL, \"TBALANCE\" BIGINT NOT NULL,"
                    + " \"FILLER\" CHAR(80))",
            "CREATE TABLE \"APP\".\"ACCOUNTS\" (\"AID\" INTEGER NOT NULL PRIMARY KEY, \"BID\" INTEGER NOT NULL, \"ABALANCE\" BIGINT NOT NULL,"
                    + " \"FILLER\" CHAR(80))",
            "CREATE TABLE \"APP\".\"HISTORY\" (\"TID\" INTEGER NOT NULL, \"BID\" INTEGER NOT NULL, \"AID\" INTEGER NOT NULL,"
                    + " \"DELTA\" BIGINT NOT NULL, \"MTIME\" TIMESTAMP NOT NULL, \"FILLER\" CHAR(22) NOT NULL PRIMARY KEY)");

    private static final String SHARED =
            "CREATE TABLE \"APP\".\"SHARED\" (\"ID\" INTEGER NOT NULL PRIMARY KEY, \"BO\" BOOLEAN, \"SM\" SMALLINT, \"BI\" BIGINT, \"RE\" REAL,"
                    + " \"DO\" DOUBLE PRECISION, \"DE\" DECIMAL(20, 4), \"CH\" CHAR(5), \"VC\" VARCHAR(100), \"DA\" DATE, \"TI\" TIME,"
                    + " \"TS\" TIMESTAMP";

    @TempDir
    private Path directory;

    private final String[] members =
            LoopbackPorts.free(SIZE).stream().map(port -> "127.0.0.1:" + port).toArray(String[]::new);
    private final @Nullable Replica[] replicas = new Replica[SIZE];
    private @Nullable PostgresServer server;

    @AfterEach
    void stop() {
        for (int i = 0; i < SIZE; i++) {
            stop(i);
        }
        if (server != null) {
            server.stop();
        }
    }

    private String location(int i) {
        return directory.resolve("replica" + i).resolve("bank").toString();
    }

    private static void make(Connection connection, boolean withSchema, String ownTypes) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            if (withSchema) {
                statement.execute("CREATE SCHEMA \"APP\"");
            }
            for (String table : TABLES) {
                statement.execute(table);
            }
            statement.execute(SHARED + ownTypes + ")");
        }
    }

    private void makeDerby(String ownTypes) throws SQLException {
        for (int i = 0; i < SIZE; i += 2) {
            // Derby must be started by GORDA to be reflected in this process.
            try (Replica alone = Replica.builder()
                            .database("derby", location(i))
                            .directory(directory.resolve("made" + i))
                            .protocol(ReplicationProtocol.LOOPBACK)
                            .self(members[i])
                            .members(members[i])
                            .start();
                    Connection connection = alone.connect(new Properties())) {
                make(connection, false, ownTypes);
            }
        }
    }

    private void start(int i, String engine, String location) {
        Replica.Builder builder = Replica.builder()
                .database(engine, location)
                .directory(directory.resolve("replica" + i).resolve("gorda"))
                .self(members[i])
                .members(members)
                .protocol(ReplicationProtocol.PRIMARY_BACKUP)
                .electionTimeout(Duration.ofSeconds(2));
        if (engine.equals("postgresql")) {
            builder.attribute("user", PostgresEngine.USER);
        }
        replicas[i] = builder.start();
    }

    private void startAll(String engine, String location) {
        start(0, "derby", location(0));
        start(OTHER, engine, location);
        start(2, "derby", location(2));
        for (Replica replica : running()) {
            replica.awaitPrimary(PATIENCE);
        }
    }

    private void stop(int i) {
        Replica replica = replicas[i];
        replicas[i] = null;
        if (replica != null) {
            replica.close();
        }
    }

    private List<Replica> running() {
        List<Replica> running = new ArrayList<>();
        for (Replica replica : replicas) {
            if (replica != null) {
                running.add(replica);
            }
        }
        return running;
    }

    private Replica primary() {
        return Awaitility.await("there is a primary")
                .atMost(PATIENCE)
                .until(
                        () -> running().stream()
                                .filter(replica -> replica.status().executesHere()
                                        && replica.status().working())
                                .findFirst()
                                .orElse(null),
                        found -> found != null);
    }

    /** The primary ends, and comes back, until it is one that has Derby, or the other. */
    private Replica primary(boolean isOther, String engine, String location) {
        for (int tries = 0; tries < PRIMARIES_TRIED; tries++) {
            Replica now = primary();
            for (int i = 0; i < SIZE; i++) {
                if (now.equals(replicas[i])) {
                    if ((i == OTHER) == isOther) {
                        return now;
                    }
                    stop(i);
                    primary();
                    start(i, i == OTHER ? engine : "derby", i == OTHER ? location : location(i));
                    running().forEach(replica -> replica.awaitPrimary(PATIENCE));
                    break;
                }
            }
        }
        throw new AssertionError("the primary was never one that was wanted");
    }

    private static Connection connect(Replica replica) throws SQLException {
        Connection connection = replica.connect(new Properties());
        connection.setSchema("APP");
        connection.setAutoCommit(false);
        return connection;
    }

    private static void runBank(Replica replica, int run) throws SQLException {
        try (Connection connection = connect(replica)) {
            for (int i = 0; i < TRANSACTIONS; i++) {
                BANK.run(
                        connection,
                        new Workload.Choices(0, new SplittableRandom(run * 31L + i), "run " + run + ", number " + i));
            }
        }
    }

    /** Rows of all shared types, with extremes, nulls, and what is changed and removed again. */
    private static void fillShared(Replica replica, int first, List<Object> own) throws SQLException {
        Object[][] rows = {
            {
                true,
                (short) 32767,
                Long.MAX_VALUE,
                3.4e38f,
                1.79e308,
                "9999999999999999.9999",
                "abcde",
                "ä€日本𝄞",
                "9999-12-31",
                "23:59:59",
                "9999-12-31 23:59:59.999999"
            },
            {
                false,
                (short) -32768,
                Long.MIN_VALUE,
                -0.1f,
                -1e-300,
                "-0.0001",
                "a",
                "",
                "0001-01-01",
                "00:00:00",
                "0001-01-01 00:00:00"
            },
            {true, (short) 0, 0L, 0f, 0.1, "1.5000", "", " x ", "2024-02-29", "12:30:01", "2016-03-27 02:30:00.1"},
            {null, null, null, null, null, null, null, null, null, null, null}
        };
        try (Connection connection = connect(replica);
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO SHARED VALUES (?, ?, ?, ?, ?, ?, CAST(? AS DECIMAL(20, 4)), ?, ?, CAST(? AS DATE), CAST(? AS TIME), CAST(? AS TIMESTAMP)"
                                + ", ?".repeat(own.size()) + ")");
                Statement statement = connection.createStatement()) {
            int id = first;
            for (Object[] row : rows) {
                insert.setInt(1, id++);
                for (int i = 0; i < row.length; i++) {
                    insert.setObject(i + 2, row[i]);
                }
                for (int i = 0; i < own.size(); i++) {
                    insert.setObject(row.length + 2 + i, row[0] == null ? null : own.get(i));
                }
                insert.executeUpdate();
            }
            connection.commit();
            statement.executeUpdate("UPDATE SHARED SET VC = 'changed', DE = DE - 1 WHERE ID = " + first);
            statement.executeUpdate("UPDATE SHARED SET ID = ID + 100 WHERE ID = " + (first + 1));
            statement.executeUpdate("DELETE FROM SHARED WHERE ID = " + (first + 2));
            connection.commit();
        }
    }

    private void assertIdentical() {
        long newest = running().stream()
                .mapToLong(replica -> replica.status().orderedIndex())
                .max()
                .orElseThrow();
        Awaitility.await("all show it")
                .atMost(PATIENCE)
                .until(() ->
                        running().stream().allMatch(replica -> replica.status().appliedIndex() >= newest));
        Verification own = primary().verify(PATIENCE);
        assertThat(own.tables()).hasSize(TABLES.size() + 1);
        for (Replica replica : running()) {
            Awaitility.await("all have compared")
                    .atMost(PATIENCE)
                    .until(() -> replica.verification(own.request()).isPresent());
            assertThat(replica.verification(own.request()).orElseThrow().tables())
                    .isEqualTo(own.tables());
        }
    }

    @Test
    void derbyAndH2HoldTheSameWhicheverTakesWrites() throws SQLException {
        String ownTypes = ", CL CLOB(1M), BL BLOB(1M)";
        String location = location(OTHER);
        makeDerby(ownTypes);
        try (Connection made = DriverManager.getConnection("jdbc:h2:file:" + location + "/database", "sa", "")) {
            make(made, true, ownTypes);
        }
        startAll("h2", location);
        List<Object> own = List.of("long text ä€", new byte[] {0, -1, 127});
        Replica derby = primary(false, "h2", location);
        try (Connection connection = connect(derby)) {
            BANK.load(connection, (rows, ofAll) -> {});
        }
        runBank(derby, 1);
        fillShared(derby, 1, own);
        assertIdentical();
        Replica h2 = primary(true, "h2", location);
        runBank(h2, 2);
        fillShared(h2, 10, own);
        assertIdentical();
        for (Replica replica : running()) {
            try (Connection connection = connect(replica)) {
                assertThat(TpcB.sums(connection).equal()).isTrue();
                assertThat(TpcB.sums(connection).historyRows()).isEqualTo(2 * TRANSACTIONS);
                connection.rollback();
            }
        }
    }

    @Test
    void derbysRowsAreInPostgresql() throws SQLException {
        makeDerby("");
        PostgresServer started = new PostgresServer(directory.resolve("server"), "bank");
        server = started;
        started.start();
        String url = "jdbc:postgresql:" + started.database();
        try (Connection any = DriverManager.getConnection(url.replace("/bank", "/postgres"), PostgresEngine.USER, "");
                Statement statement = any.createStatement()) {
            statement.execute("CREATE DATABASE bank");
        }
        try (Connection made = DriverManager.getConnection(url, PostgresEngine.USER, "")) {
            make(made, true, "");
        }
        startAll("postgresql", started.database());
        Replica derby = primary(false, "postgresql", started.database());
        try (Connection connection = connect(derby)) {
            BANK.load(connection, (rows, ofAll) -> {});
        }
        runBank(derby, 1);
        fillShared(derby, 1, List.of());
        assertIdentical();
    }
}
