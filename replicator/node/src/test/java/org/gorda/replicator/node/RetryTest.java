package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.gorda.jdbc.LostConflict;
import org.gorda.jgcs.LoopbackPorts;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code retry=N} where every replica takes writes, in both forms of URL. */
@Timeout(120)
class RetryTest {

    private enum Form {
        CLUSTER,
        EMBEDDED
    }

    @TempDir
    static Path directory;

    private static final ExecutorService CLIENTS = Executors.newCachedThreadPool();
    private static final List<String> EMBEDDED = new ArrayList<>();
    private static NodeGroup group;

    private interface Work {
        void on(Connection connection, Statement statement) throws Exception;
    }

    @BeforeAll
    static void open() throws Exception {
        group = new NodeGroup(
                directory.resolve("cluster"), 2, Map.of("protocol", "certification", "election-timeout", "2s"));
        List<Integer> ports = LoopbackPorts.free(2);
        List<Future<?>> started = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            String url = "jdbc:gorda:derby:" + directory.resolve("embedded" + i) + ";protocol=certification"
                    + ";election-timeout=2s;self=127.0.0.1:" + ports.get(i)
                    + ";members=127.0.0.1:" + ports.get(0) + ",127.0.0.1:" + ports.get(1);
            EMBEDDED.add(url);
            started.add(CLIENTS.submit(() -> {
                DriverManager.getConnection(url).close();
                return null;
            }));
        }
        for (Future<?> one : started) {
            one.get(60, TimeUnit.SECONDS);
        }
        for (Form form : Form.values()) {
            within(form, 0, 0, (connection, statement) -> {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER NOT NULL)");
                statement.execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(20), B BLOB)");
            });
            NodeGroup.patiently("the tables are there").until(() -> hasTables(form));
        }
    }

    private static boolean hasTables(Form form) throws Exception {
        try {
            number(form, 1, "SELECT COUNT(*) FROM T, U");
            return true;
        } catch (SQLException e) {
            assertThat(e.getSQLState()).isEqualTo("42X05");
            return false;
        }
    }

    @AfterAll
    static void close() {
        CLIENTS.shutdownNow();
        group.close();
        for (String url : EMBEDDED) {
            assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                    .isInstanceOf(SQLException.class);
        }
    }

    private static Connection connect(Form form, int replica, int retry) throws SQLException {
        String url = form == Form.CLUSTER ? "jdbc:gorda://" + group.service(replica) + "/shop" : EMBEDDED.get(replica);
        return DriverManager.getConnection(url + ";retry=" + retry);
    }

    private static void within(Form form, int replica, int retry, Work work) throws Exception {
        try (Connection connection = connect(form, replica, retry);
                Statement statement = connection.createStatement()) {
            work.on(connection, statement);
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
        }
    }

    private static long number(Form form, int replica, String query) throws Exception {
        long[] found = new long[1];
        within(form, replica, 0, (connection, statement) -> {
            try (ResultSet row = statement.executeQuery(query)) {
                row.next();
                found[0] = row.getLong(1);
            }
        });
        return found[0];
    }

    /** Makes rows 0 to 9 of T and of U, each with N = 0. */
    private static void fill(Form form) throws Exception {
        within(form, 1, 100, (connection, statement) -> {
            statement.executeUpdate("DELETE FROM T");
            statement.executeUpdate("DELETE FROM U");
            for (int i = 0; i < 10; i++) {
                statement.executeUpdate("INSERT INTO T VALUES (" + i + ", 0)");
                statement.executeUpdate("INSERT INTO U (ID, A) VALUES (" + i + ", 'a" + i + "')");
            }
        });
        NodeGroup.patiently("the rows are there")
                .until(() -> number(form, 0, "SELECT COUNT(*) FROM T, U WHERE N = 0") == 100);
    }

    /** At the other replica, so that whoever has changed that row at replica 0 and not committed loses. */
    private static void win(Form form, int row) throws Exception {
        within(
                form,
                1,
                100,
                (connection, statement) -> assertThat(
                                statement.executeUpdate("UPDATE T SET N = N + 10 WHERE ID = " + row))
                        .isEqualTo(1));
    }

    @ParameterizedTest
    @EnumSource
    void writersOfOneHotRowOnTwoReplicasSeeNoConflictAndLoseNoUpdate(Form form) throws Exception {
        fill(form);
        List<Future<?>> running = new ArrayList<>();
        for (int replica = 0; replica < 2; replica++) {
            for (boolean autoCommit : new boolean[] {true, false}) {
                int at = replica;
                Callable<Void> client = () -> {
                    try (Connection connection = connect(form, at, 1000);
                            PreparedStatement add =
                                    connection.prepareStatement("UPDATE T SET N = N + ? WHERE ID = ?")) {
                        connection.setAutoCommit(autoCommit);
                        for (int i = 0; i < 25; i++) {
                            add.setInt(1, 1);
                            add.setInt(2, 0);
                            assertThat(add.executeUpdate()).isEqualTo(1);
                            if (!autoCommit) {
                                connection.commit();
                            }
                        }
                    }
                    return null;
                };
                running.add(CLIENTS.submit(client));
            }
        }
        for (Future<?> one : running) {
            one.get(90, TimeUnit.SECONDS);
        }
        for (int replica = 0; replica < 2; replica++) {
            int at = replica;
            NodeGroup.patiently("all are shown").until(() -> number(form, at, "SELECT N FROM T WHERE ID = 0") == 100);
        }
    }

    @ParameterizedTest
    @EnumSource
    void whoHasReadWhatIsOtherNowDecidesHimself(Form form) throws Exception {
        fill(form);
        within(form, 0, 10, (connection, statement) -> {
            connection.setAutoCommit(false);
            for (int round = 0; round < 2; round++) {
                int read;
                try (ResultSet row = statement.executeQuery("SELECT N FROM T WHERE ID = 0")) {
                    assertThat(row.next()).isTrue();
                    read = row.getInt(1);
                }
                statement.executeUpdate("UPDATE T SET N = " + (read + 1) + " WHERE ID = 0");
                if (round == 0) {
                    win(form, 0);
                    assertGivesUp(connection::commit, "'SELECT N FROM T WHERE ID = 0' gives other values now");
                } else {
                    connection.commit();
                }
            }
        });
        assertThat(number(form, 0, "SELECT N FROM T WHERE ID = 0")).isEqualTo(11);
    }

    private static void assertGivesUp(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String reason) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo("40001"))
                .hasMessageContaining("\"APP\".\"T\" key (0)")
                .hasMessageContaining("The driver has not run it again (retry=10): ")
                .hasMessageContaining(reason);
    }

    @ParameterizedTest
    @EnumSource
    void aBatchOfATransactionThatHasLostSaysWhy(Form form) throws Exception {
        fill(form);
        within(form, 0, 0, (connection, statement) -> {
            connection.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0");
            win(form, 0);
            NodeGroup.patiently("it is shown").until(() -> number(form, 0, "SELECT N FROM T WHERE ID = 0") == 10);
            statement.addBatch("UPDATE T SET N = N + 1 WHERE ID = 1");
            statement.addBatch("UPDATE T SET N = N + 1 WHERE ID = 2");
            assertThatThrownBy(statement::executeBatch)
                    .isInstanceOfSatisfying(BatchUpdateException.class, e -> {
                        assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo("40001");
                        assertThat(LostConflict.of(e).orElseThrow().key()).isEqualTo("(0)");
                    })
                    .hasMessageStartingWith("conflict on \"APP\".\"T\" key (0)");
        });
    }

    /** Over the network; embedded, Derby's own rows say that they are closed, and the next statement why. */
    @Test
    void rowsOfATransactionThatHasLostSayWhy() throws Exception {
        fill(Form.CLUSTER);
        within(Form.CLUSTER, 0, 0, (connection, statement) -> {
            connection.setAutoCommit(false);
            assertThat(statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"))
                    .isEqualTo(1);
            // So many that most of them are not on their way yet.
            ResultSet rows = statement.executeQuery("SELECT A.A, B.A, C.A, D.A FROM U A, U B, U C, U D");
            assertThat(rows.next()).isTrue();
            win(Form.CLUSTER, 0);
            assertThatThrownBy(() -> {
                        while (rows.next()) {
                            assertThat(rows.getString(1)).startsWith("a");
                        }
                    })
                    .hasMessageContaining("\"APP\".\"T\" key (0)")
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            assertThat(statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"))
                    .isEqualTo(1);
            connection.commit();
        });
        assertThat(number(Form.CLUSTER, 0, "SELECT N FROM T WHERE ID = 0")).isEqualTo(11);
    }

    @ParameterizedTest
    @EnumSource
    void whatTheApplicationHasInHandGoesOn(Form form) throws Exception {
        fill(form);
        within(form, 0, 10, (connection, statement) -> {
            connection.setAutoCommit(false);
            try (PreparedStatement all = connection.prepareStatement("SELECT ID, A FROM U WHERE ID >= ? ORDER BY ID");
                    PreparedStatement put = connection.prepareStatement("INSERT INTO U (ID, A) VALUES (?, ?)")) {
                all.setInt(1, 2);
                ResultSet rows = all.executeQuery();
                assertThat(rows.next()).isTrue();
                assertThat(rows.next()).isTrue();
                put.setInt(1, 20);
                put.setString(2, "x");
                put.executeUpdate();
                connection.setAutoCommit(false);
                put.setInt(1, 21);
                put.addBatch();
                put.setString(2, "y");
                put.setInt(1, 22);
                put.addBatch();
                put.executeBatch();
                put.setInt(1, 23);
                try (Statement closed = connection.createStatement()) {
                    assertThat(closed.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"))
                            .isEqualTo(1);
                }
                assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO U (ID) VALUES (20)"))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("23505"));
                win(form, 0);
                // Which finds that the transaction has lost.
                assertThat(statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"))
                        .isEqualTo(1);
                assertThat(rows.getString("A")).isEqualTo("a3");
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).isEqualTo(4);
                assertThat(put.executeUpdate()).isEqualTo(1);
                win(form, 0);
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).isEqualTo(5);
                connection.commit();
                put.setInt(1, 24);
                put.executeUpdate();
                connection.commit();
            }
            connection.setAutoCommit(true);
        });
        assertThat(number(form, 0, "SELECT N FROM T WHERE ID = 0")).isEqualTo(22);
        assertThat(number(form, 0, "SELECT COUNT(*) FROM U WHERE A = 'x'")).isEqualTo(2);
        assertThat(number(form, 0, "SELECT COUNT(*) FROM U WHERE A = 'y'")).isEqualTo(3);
    }

    @ParameterizedTest
    @EnumSource
    void aRowIsReadOnWhoseTransactionHasLostMeanwhile(Form form) throws Exception {
        fill(form);
        within(form, 0, 10, (connection, statement) -> {
            connection.setAutoCommit(false);
            assertThat(statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"))
                    .isEqualTo(1);
            try (Statement reader = connection.createStatement();
                    ResultSet rows = reader.executeQuery("SELECT ID, A FROM U WHERE ID >= 2 ORDER BY ID")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt("ID")).isEqualTo(2);
                loseTo(form, 10);
                assertThat(rows.getString("A")).isEqualTo("a2");
                assertThat(rows.wasNull()).isFalse();
                assertThat(rows.next()).isTrue();
            }
            connection.commit();
            assertThat(statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0"))
                    .isEqualTo(1);
            try (Statement reader = connection.createStatement();
                    ResultSet rows = reader.executeQuery("SELECT NULLIF(ID, 2), A FROM U WHERE ID = 2")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).isZero();
                assertThat(rows.getMetaData().getColumnCount()).isEqualTo(2);
                loseTo(form, 21);
                assertThat(statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 1"))
                        .isEqualTo(1);
                assertThat(rows.wasNull()).isTrue();
            }
            connection.commit();
        });
        assertThat(number(form, 0, "SELECT N FROM T WHERE ID = 0")).isEqualTo(22);
    }

    /** To a transaction that leaves row 0 with this N: a local one that has changed it has given way by then. */
    private static void loseTo(Form form, int n) throws Exception {
        win(form, 0);
        NodeGroup.patiently("it is shown").until(() -> number(form, 0, "SELECT N FROM T WHERE ID = 0") == n);
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBeDoneAgainIsToldAtOnce(Form form) throws Exception {
        Map<String, Work> obstacles = new HashMap<>();
        obstacles.put("it has savepoints", (connection, statement) -> connection.setSavepoint());
        obstacles.put("a parameter is a stream", (connection, statement) -> {
            try (PreparedStatement put = connection.prepareStatement("UPDATE U SET B = ? WHERE ID = 1")) {
                put.setBinaryStream(1, new ByteArrayInputStream(new byte[10]), 10);
                put.executeUpdate();
            }
        });
        obstacles.put("it calls a procedure", (connection, statement) -> {
            connection
                    .prepareCall("CALL SYSCS_UTIL.SYSCS_SET_RUNTIMESTATISTICS(0)")
                    .execute();
        });
        obstacles.put(
                "leave something of: 'INSERT INTO U (ID) VALUES (IDENTITY_VAL_LOCAL(", (connection, statement) -> {
                    assertThatThrownBy(() -> statement.execute("INSERT INTO U (ID) VALUES (IDENTITY_VAL_LOCAL())"))
                            .hasMessageContaining("NULL");
                });
        obstacles.put("it does what a rollback may leave something of: 'SET SCHEMA APP'", (connection, statement) -> {
            statement.execute("SET SCHEMA APP");
        });
        obstacles.put("its rows can be moved in", (connection, statement) -> {
            connection
                    .createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)
                    .executeQuery("SELECT ID FROM U")
                    .next();
        });
        obstacles.put("it reads LOBs", (connection, statement) -> {
            statement.executeQuery("SELECT B FROM U").next();
        });
        obstacles.put("the application reads metadata", (connection, statement) -> {
            connection.getMetaData().getTables(null, null, "T", null).next();
        });
        obstacles.put("the session was changed in the middle of it (setSchema)", (connection, statement) -> {
            statement.executeUpdate("DELETE FROM U WHERE ID = 3");
            connection.setSchema("APP");
        });
        obstacles.put("has another result now", (connection, statement) -> {
            assertThat(statement.executeUpdate("DELETE FROM T WHERE ID = 0 AND N = 0"))
                    .isEqualTo(1);
        });
        obstacles.put("gives fewer rows now", (connection, statement) -> {
            statement.executeQuery("SELECT ID FROM T WHERE N = 0 AND ID = 0").next();
        });
        obstacles.put("gives more rows now", (connection, statement) -> {
            ResultSet none = statement.executeQuery("SELECT ID FROM T WHERE N = 10");
            assertThat(none.next()).isFalse();
        });
        if (form == Form.EMBEDDED) {
            obstacles.put("it has done more than 10000 things", (connection, statement) -> {
                for (int i = 0; i < 10_000; i++) {
                    statement.executeUpdate("UPDATE U SET A = 'b' WHERE ID = -1");
                }
            });
        }
        obstacles.put("take more than 4 MB", (connection, statement) -> {
            try (PreparedStatement put = connection.prepareStatement("UPDATE U SET B = ? WHERE ID = 1")) {
                put.setBytes(1, new byte[5 << 20]);
                put.executeUpdate();
            }
        });
        obstacles.put("the driver's own objects", (connection, statement) -> {
            Class<?> engines = Class.forName(
                    form == Form.CLUSTER
                            ? "org.apache.derby.client.am.ClientStatement"
                            : "org.apache.derby.impl.jdbc.EmbedStatement");
            assertThat((Object) statement.unwrap(engines)).isInstanceOf(engines);
        });
        for (Map.Entry<String, Work> obstacle : obstacles.entrySet()) {
            fill(form);
            within(form, 0, 10, (connection, statement) -> {
                connection.setAutoCommit(false);
                try (Statement own = connection.createStatement()) {
                    obstacle.getValue().on(connection, own);
                    statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0");
                    win(form, 0);
                    assertGivesUp(connection::commit, obstacle.getKey());
                }
                connection.rollback();
                // Who has lost sees who has won, and does not lose once more.
                statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0");
                connection.commit();
            });
            assertThat(number(form, 0, "SELECT N FROM T WHERE ID = 0"))
                    .as(obstacle.getKey())
                    .isEqualTo(11);
        }
    }

    /** A function of SQL. */
    public static final class Loser {
        private static final AtomicBoolean LOSES = new AtomicBoolean();

        private Loser() {}

        /** The first time the other replica changes row 1 meanwhile, and commits that. */
        public static int one() throws Exception {
            if (LOSES.getAndSet(false)) {
                CLIENTS.submit(() -> {
                            win(Form.EMBEDDED, 1);
                            return null;
                        })
                        .get(30, TimeUnit.SECONDS);
            }
            return 1;
        }
    }

    /** By the cluster's URL a batch is one transaction; Derby itself commits each part. */
    @Test
    void whatIsCommittedOfABatchIsNotDoneAgain() throws Exception {
        fill(Form.EMBEDDED);
        within(Form.EMBEDDED, 0, 10, (connection, statement) -> {
            statement.execute("CREATE FUNCTION ONE() RETURNS INTEGER LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL"
                    + " EXTERNAL NAME '" + Loser.class.getName() + ".one'");
            statement.addBatch("UPDATE T SET N = N + 1 WHERE ID = 0");
            statement.addBatch("UPDATE T SET N = N + ONE() WHERE ID = 1");
            statement.addBatch("UPDATE T SET N = N + 1 WHERE ID = 2");
            Loser.LOSES.set(true);
            assertThatThrownBy(statement::executeBatch)
                    .isInstanceOfSatisfying(BatchUpdateException.class, e -> {
                        assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo("40001");
                        assertThat(e.getUpdateCounts()).containsExactly(1);
                    })
                    .hasMessageContaining("parts of the batch may be committed already");
        });
        assertThat(number(Form.EMBEDDED, 0, "SELECT N FROM T WHERE ID = 0")).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource
    void withoutItAConflictIsToldAsItIs(Form form) throws Exception {
        fill(form);
        within(form, 0, 0, (connection, statement) -> {
            connection.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = 0");
            win(form, 0);
            assertThatThrownBy(connection::commit)
                    .hasMessageContaining("conflict on \"APP\".\"T\" key (0)")
                    .hasMessageEndingWith("run it again")
                    .isInstanceOfSatisfying(SQLException.class, e -> {
                        LostConflict lost = LostConflict.of(e).orElseThrow();
                        assertThat(lost.table()).isEqualTo("\"APP\".\"T\"");
                        assertThat(lost.key()).isEqualTo("(0)");
                        assertThat(lost.transaction()).matches("[0-9a-f-]{36}/\\d+");
                        assertThat(lost.member()).startsWith("127.0.0.1:");
                        assertThat(lost.position()).isPositive();
                        assertThat(lost.age()).isPresent();
                    });
        });
        for (String wrong : List.of("-1", "x", "1001")) {
            assertThatThrownBy(() -> DriverManager.getConnection(
                            (form == Form.CLUSTER ? group.url() : EMBEDDED.get(0)) + ";retry=" + wrong))
                    .hasMessage("retry is '" + wrong + "' but must be a number from 0 to 1000, 0 meaning never");
        }
    }

    /** It may be the first that the engine is asked for after a transaction has lost, and that before it is executed. */
    @ParameterizedTest
    @EnumSource
    void whatHasLostIsRunAgainAlsoWhereAStatementIsPreparedOrMetadataAreRead(Form form) throws Exception {
        fill(form);
        within(form, 0, 10, (connection, statement) -> {
            connection.setAutoCommit(false);
            // In its own process Derby has no connection any more after metadata whose reading is refused.
            for (boolean prepares : form == Form.CLUSTER ? new boolean[] {true, false} : new boolean[] {true}) {
                int row = prepares ? 0 : 1;
                statement.executeUpdate("UPDATE T SET N = N + 1 WHERE ID = " + row);
                win(form, row);
                NodeGroup.patiently("it is shown")
                        .until(() -> number(form, 0, "SELECT N FROM T WHERE ID = " + row) == 10);
                if (prepares) {
                    try (PreparedStatement add =
                            connection.prepareStatement("UPDATE T SET N = N + 1 WHERE ID = 0 AND 1 = 1")) {
                        assertThat(add.executeUpdate()).isEqualTo(1);
                    }
                } else {
                    try (ResultSet tables = connection.getMetaData().getTables(null, "APP", "T", null)) {
                        assertThat(tables.next()).isTrue();
                    }
                }
                connection.commit();
            }
        });
        assertThat(number(form, 0, "SELECT N FROM T WHERE ID = 0")).isEqualTo(12);
        assertThat(number(form, 0, "SELECT N FROM T WHERE ID = 1")).isEqualTo(form == Form.CLUSTER ? 11 : 0);
    }
}
