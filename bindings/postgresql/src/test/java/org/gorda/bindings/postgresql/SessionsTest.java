package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;

/** Clients' sessions through the door, by PostgreSQL's own driver and a server of its own. */
@Timeout(120)
class SessionsTest {

    private static final String SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";

    private final ExecutorService clients = Executors.newCachedThreadPool();
    private final MetaLevel meta = new MetaLevel();
    private ReflectedDatabase database;
    private String name;

    @TempDir
    private Path directory;

    @BeforeEach
    void open() throws SQLException {
        TestServer.dropOthers(directory);
        var configuration = TestServer.configuration(directory, "db");
        name = configuration.location().substring(configuration.location().lastIndexOf('/') + 1);
        TestServer.execute("CREATE DATABASE " + name);
        database = new PostgresBinding().open(configuration, meta);
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE TABLE t (id int PRIMARY KEY, a int)",
                    "CREATE TABLE child (id int PRIMARY KEY, t int REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
                    "CREATE FUNCTION put(i int) RETURNS int LANGUAGE plpgsql AS $$ begin insert into t values (i, i); return i; end $$",
                    "CREATE PROCEDURE commits(i int) LANGUAGE plpgsql AS $$ begin insert into t values (i, i); commit; end $$");
        }
        meta.takeWriteSets();
    }

    @AfterEach
    void close() {
        clients.shutdownNow();
        database.close();
        assertThat(meta.ended()).as("each that began has ended").isEqualTo(meta.begun());
    }

    private void direct(String... statements) throws SQLException {
        try (Connection connection = TestServer.connect(name);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** As a session sees it that has nothing to do with us. */
    private List<String> rows(String sql) throws SQLException {
        try (Connection connection = TestServer.connect(name)) {
            return rows(connection, sql);
        }
    }

    private static List<String> rows(Connection connection, String sql) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(sql)) {
            while (found.next()) {
                rows.add(found.getString(1));
            }
        }
        return rows;
    }

    private Connection connect(String... properties) throws SQLException {
        Properties all = new Properties();
        for (int i = 0; i < properties.length; i += 2) {
            all.setProperty(properties[i], properties[i + 1]);
        }
        return database.connect(all);
    }

    private Connection begin(String... properties) throws SQLException {
        Connection connection = connect(properties);
        connection.setAutoCommit(false);
        return connection;
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static void assertState(String state, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo(state));
    }

    private static long count(String sql) {
        try (Connection connection = TestServer.connect("postgres")) {
            return Long.parseLong(rows(connection, sql).get(0));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(end);
            Thread.onSpinWait();
        }
    }

    private static Refusal conflict(String text) {
        return new Refusal(Refusal.Cause.CONFLICT, text);
    }

    // ------------------------------------------------------------------------------------------------ passing through

    @Test
    void autocommitIsOneTransactionForEachStatement() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect("preferQueryMode", mode)) {
                execute(connection, "DELETE FROM t", "INSERT INTO t VALUES (1, 1)", "UPDATE t SET a = 5");
                assertThat(rows(connection, "SELECT a FROM t")).containsExactly("5");
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (?, ?)")) {
                    for (int i = 10; i < 20; i++) {
                        insert.setInt(1, i);
                        insert.setInt(2, i);
                        assertThat(insert.executeUpdate()).isEqualTo(1);
                    }
                }
                assertThat(meta.takeWriteSets()).as(mode).hasSize(mode.equals("simple") ? 12 : 13);
            }
        }
        assertThat(rows("SELECT count(*) FROM t")).containsExactly("11");
    }

    @Test
    void transactionsAreOneWriteSetAndReadersNone() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = begin("preferQueryMode", mode)) {
                int begun = meta.begun();
                List<String> earlier = rows("SELECT count(*) FROM t WHERE id = 1 AND a = 7");
                assertThat(rows(connection, "SELECT count(*) FROM t")).isNotEmpty();
                connection.commit();
                assertThat(meta.begun()).isEqualTo(begun);
                execute(connection, "DELETE FROM t", "INSERT INTO t VALUES (1, 1), (2, 2)", "UPDATE t SET a = 7");
                assertThat(rows("SELECT count(*) FROM t WHERE id = 1 AND a = 7"))
                        .as("not before the commit")
                        .isEqualTo(earlier);
                connection.commit();
                assertThat(rows("SELECT a FROM t")).containsExactly("7", "7");
                assertThat(meta.takeWriteSets()).hasSize(1);
                execute(connection, "DELETE FROM t");
                connection.rollback();
                assertThat(meta.takeWriteSets()).isEmpty();
                assertThat(rows("SELECT a FROM t")).containsExactly("7", "7");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void transactionsAreCalledAsTheirClientSays(String mode) throws SQLException {
        List<TransactionId> committed = new ArrayList<>();
        meta.answer(commit -> {
            committed.add(commit.transaction().id());
            meta.succeed(commit);
        });
        SessionId session = SessionId.of(UUID.randomUUID());
        try (Connection connection = begin("preferQueryMode", mode)) {
            execute(connection, "INSERT INTO t VALUES (1, 1)", "SET LOCAL gorda.transaction TO '" + session + "/7'");
            connection.commit();
            execute(connection, "SET LOCAL gorda.transaction = '" + session + "/8'", "SELECT put(2)");
            connection.commit();
            execute(connection, "SET LOCAL gorda.transaction TO '" + session + "/9'; INSERT INTO t VALUES (3, 3)");
            connection.rollback();
            execute(connection, "INSERT INTO t VALUES (3, 3)");
            connection.commit();
            assertState("0A000", () -> execute(connection, "SET LOCAL gorda.transaction TO 'mine'"));
            connection.rollback();
            assertState("0A000", () -> execute(connection, "SET gorda.transaction TO '" + session + "/10'"));
            connection.rollback();
            connection.setAutoCommit(true);
            execute(
                    connection,
                    "SET LOCAL gorda.transaction TO '" + session + "/11'", // warned of, as without us
                    "BEGIN; INSERT INTO t VALUES (4, 4); SET LOCAL gorda.transaction TO '" + session + "/12'; COMMIT");
        }
        assertThat(committed).hasSize(4);
        assertThat(committed.get(0)).isEqualTo(new TransactionId(session, 7));
        assertThat(committed.get(1)).isEqualTo(new TransactionId(session, 8));
        assertThat(committed.get(2).session()).isNotEqualTo(session);
        assertThat(committed.get(3)).isEqualTo(new TransactionId(session, 12));
        assertThat(rows("SELECT id FROM t ORDER BY id")).containsExactly("1", "2", "3", "4");
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void positionsAreToldAndWaitedFor(String mode) throws SQLException {
        try (Connection connection = connect("preferQueryMode", mode)) {
            assertThat(rows(connection, "SHOW gorda.position")).containsExactly("0");
            execute(connection, "SET gorda.position TO 0");
            connection.setAutoCommit(false);
            execute(connection, "SET gorda.position TO 0");
            assertThat(rows(connection, "SHOW gorda.position")).containsExactly("0");
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            assertThat(rows(connection, "SHOW gorda.position")).containsExactly("0");
            assertState("0A000", () -> execute(connection, "SET gorda.position TO 0"));
            connection.rollback();
            execute(connection, "SET gorda.position TO '0'", "INSERT INTO t VALUES (1, 1)");
            connection.commit();
        }
        assertThat(rows("SELECT id FROM t")).containsExactly("1");
    }

    @Test
    void aNoticeOfAClientsOwnIsNotTakenForARow() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = begin("preferQueryMode", mode);
                    Statement statement = connection.createStatement()) {
                execute(connection, "DELETE FROM t", "INSERT INTO t VALUES (1, 1)");
                statement.execute("DO $$ begin raise info using errcode = 'GW001', message = 'not a row'; end $$");
                assertThat(statement.getWarnings().getMessage()).contains("not a row");
                connection.commit();
                assertThat(meta.takeWriteSets()).as(mode).hasSize(1);
            }
        }
        assertThat(rows("SELECT a FROM t")).containsExactly("1");
    }

    @Test
    void batchesCursorsAndCopies() throws Exception {
        for (boolean auto : new boolean[] {true, false}) {
            try (Connection connection = connect()) {
                connection.setAutoCommit(auto);
                execute(connection, "DELETE FROM t");
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (?, ?)")) {
                    for (int i = 0; i < 2000; i++) {
                        insert.setInt(1, i);
                        insert.setInt(2, i);
                        insert.addBatch();
                    }
                    assertThat(insert.executeBatch()).hasSize(2000);
                }
                PGConnection copying = connection.unwrap(PGConnection.class);
                assertThat(copying.getCopyAPI().copyIn("COPY t FROM STDIN", new StringReader("5000\t1\n5001\t2\n")))
                        .isEqualTo(2);
                StringWriter copied = new StringWriter();
                assertThat(copying.getCopyAPI().copyOut("COPY t TO STDOUT", copied))
                        .isEqualTo(2002);
                try (Statement statement = connection.createStatement()) {
                    statement.setFetchSize(100);
                    try (ResultSet rows = statement.executeQuery("SELECT id FROM t ORDER BY id")) {
                        int count = 0;
                        while (rows.next()) {
                            count++;
                        }
                        assertThat(count).isEqualTo(2002);
                    }
                }
                if (!auto) {
                    connection.commit();
                }
                assertThatThrownBy(() -> copying.getCopyAPI().copyIn("COPY t FROM STDIN", new StringReader("x\ty\n")))
                        .isInstanceOf(SQLException.class);
                if (!auto) {
                    connection.rollback();
                }
                execute(connection, "DELETE FROM t WHERE id < 10");
                if (!auto) {
                    connection.commit();
                }
            }
            assertThat(rows("SELECT count(*) FROM t")).containsExactly("1992");
        }
    }

    @Test
    void severalStatementsInOneQuery() throws SQLException {
        try (Connection connection = connect("preferQueryMode", "simple")) {
            execute(connection, "INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2)");
            assertThat(meta.takeWriteSets()).as("an implicit block").hasSize(1);
            execute(connection, "BEGIN; INSERT INTO t VALUES (3, 3); COMMIT; INSERT INTO t VALUES (4, 4)");
            assertThat(meta.takeWriteSets()).hasSize(2);
            assertState("23505", () -> execute(connection, "INSERT INTO t VALUES (5, 5); INSERT INTO t VALUES (1, 1)"));
            assertState(
                    "23505",
                    () -> execute(
                            connection, "BEGIN; INSERT INTO t VALUES (6, 6); INSERT INTO t VALUES (1, 1); COMMIT"));
            execute(connection, "ROLLBACK");
            execute(
                    connection,
                    "BEGIN; INSERT INTO t VALUES (7, 7); COMMIT AND CHAIN; INSERT INTO t VALUES (8, 8); ROLLBACK; SELECT 1");
        }
        assertThat(meta.takeWriteSets()).hasSize(1);
        assertThat(rows("SELECT id FROM t ORDER BY id")).containsExactly("1", "2", "3", "4", "7");
    }

    /** The block that several statements are in is not the client's. */
    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void nothingIsChainedToWhatTheClientHasNotBegun(String mode) throws SQLException {
        String relay = database.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null);
        chainNothing(connect("preferQueryMode", mode));
        chainNothing(DriverManager.getConnection(relay + "?user=postgres&preferQueryMode=" + mode));
    }

    private void chainNothing(Connection client) throws SQLException {
        try (Connection connection = client) {
            for (String sql : List.of(
                    "COMMIT AND CHAIN",
                    "SET TRANSACTION READ ONLY; COMMIT AND CHAIN",
                    "INSERT INTO t VALUES (1, 1); COMMIT AND CHAIN",
                    "INSERT INTO t VALUES (2, 2); ROLLBACK AND CHAIN; INSERT INTO t VALUES (3, 3)")) {
                assertThatThrownBy(() -> execute(connection, sql))
                        .hasMessageContaining("AND CHAIN can only be used in transaction blocks")
                        .extracting(e -> ((SQLException) e).getSQLState())
                        .isEqualTo("25P01");
                assertThat(rows(connection, "SHOW transaction_read_only")).containsExactly("off");
                execute(connection, "INSERT INTO t VALUES (4, 4)");
                assertThat(rows("SELECT id FROM t")).as("behind " + sql).containsExactly("4");
                execute(connection, "DELETE FROM t");
            }
            execute(connection, "BEGIN; SELECT 1; COMMIT AND CHAIN", "INSERT INTO t VALUES (5, 5)", "ROLLBACK");
        }
        assertThat(rows("SELECT id FROM t")).isEmpty();
    }

    @Test
    void changesOfFunctionsTriggersAndCascadesAreSeen() throws SQLException {
        try (Connection connection = connect()) {
            assertThat(rows(connection, "SELECT put(1)")).containsExactly("1");
            assertThat(meta.takeWriteSets()).hasSize(1);
            execute(
                    connection,
                    "DO $$ begin perform put(2); begin perform put(3); perform put(1); exception when others then null; end; end $$");
            assertThat(meta.takeWriteSets()).hasSize(1);
            assertState("2D000", () -> execute(connection, "CALL commits(9)"));
            execute(connection, "PREPARE p AS INSERT INTO t VALUES ($1, 0)", "EXECUTE p(20)");
            assertThat(meta.takeWriteSets()).hasSize(1);
        }
        assertThat(rows("SELECT id FROM t ORDER BY id")).containsExactly("1", "2", "20");
    }

    /** Whoever reads by them seems to change nothing. */
    @Test
    void changesOfWhatViewsPoliciesAndOperatorsCallAreSeen() throws SQLException {
        direct("CREATE ROLE reads_by_policy");
        try (Connection connection = connect("preferQueryMode", "extended");
                Connection simple = connect("preferQueryMode", "simple")) {
            execute(
                    connection,
                    "INSERT INTO t VALUES (0, 0)",
                    "CREATE TABLE seen (no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
                    "CREATE FUNCTION sees(what text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ begin insert into seen (what) values ($1); return true; end $$");
            meta.takeWriteSets();
            assertThat(rows(connection, "SELECT gorda.reads_may_change()")).containsExactly("f");
            execute(
                    connection,
                    "CREATE VIEW v AS SELECT id, sees('view') FROM t",
                    "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
                    "CREATE POLICY p ON t USING (sees('policy'))",
                    "GRANT SELECT ON t TO reads_by_policy",
                    "CREATE FUNCTION compares(int, int) RETURNS boolean LANGUAGE sql AS $$ select sees('operator') and $1 = $2 $$",
                    "CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = compares)");
            meta.takeWriteSets();
            for (Connection one : List.of(connection, simple)) {
                for (String sql : List.of("SELECT * FROM v", "SELECT id FROM t WHERE id === 0")) {
                    assertThat(rows(one, sql)).containsExactly("0");
                    assertThat(meta.takeWriteSets()).as(sql).hasSize(1);
                    one.setAutoCommit(false);
                    assertThat(rows(one, sql)).containsExactly("0");
                    one.commit();
                    assertThat(meta.takeWriteSets())
                            .as("in a transaction: %s", sql)
                            .hasSize(1);
                    assertThat(rows(one, sql)).containsExactly("0");
                    one.rollback();
                    one.setAutoCommit(true);
                }
                execute(one, "SET ROLE reads_by_policy");
                assertThat(rows(one, "SELECT id FROM t")).containsExactly("0");
                assertThat(meta.takeWriteSets()).as("policy").hasSize(1);
                execute(one, "RESET ROLE");
            }
        } finally {
            direct(
                    "SET session_replication_role TO replica",
                    "DROP OWNED BY reads_by_policy",
                    "DROP ROLE reads_by_policy");
        }
        assertThat(rows("SELECT what || count(*) FROM seen GROUP BY what ORDER BY 1"))
                .containsExactly("operator4", "policy2", "view4");
    }

    @Test
    void sessionsThatDropAllTheirStatementsGoOn() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect("preferQueryMode", mode)) {
                for (String drop :
                        List.of("DISCARD ALL", "deallocate all", "DO $$ begin execute 'DEALLOCATE ALL'; end $$")) {
                    execute(connection, "INSERT INTO t VALUES (1, 1)", drop);
                    try {
                        execute(connection, "DELETE FROM t");
                    } catch (SQLException e) {
                        // Once, where nobody saw it.
                        assertThat(e.getSQLState()).isEqualTo("26000");
                        assertThat(drop).startsWith("DO");
                    }
                    execute(connection, "DELETE FROM t");
                }
            }
        }
    }

    @Test
    void savepointsTakeBack() throws SQLException {
        try (Connection connection = begin()) {
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            Savepoint savepoint = connection.setSavepoint();
            execute(
                    connection,
                    "INSERT INTO t VALUES (2, 2)",
                    "SET CONSTRAINTS ALL IMMEDIATE",
                    "INSERT INTO t VALUES (3, 3)");
            connection.rollback(savepoint);
            execute(connection, "INSERT INTO t VALUES (4, 4)");
            connection.commit();
        }
        assertThat(changes(meta.takeWriteSets())).containsExactly("INSERT", "INSERT");
        assertThat(rows("SELECT id FROM t ORDER BY id")).containsExactly("1", "4");
    }

    /** The server reads its letters otherwise than they are written. */
    @Test
    void aSavepointWhoseNameIsEscapedIsRefused() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = begin("preferQueryMode", mode)) {
                execute(connection, "INSERT INTO t VALUES (1, 1)");
                assertState("0A000", () -> execute(connection, "SAVEPOINT U&\"d\\0061t\""));
                connection.rollback();
            }
        }
        assertThat(meta.takeWriteSets()).isEmpty();
    }

    @Test
    void errorsLeaveTheSessionAsPostgresDoes() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = begin("preferQueryMode", mode)) {
                execute(connection, "DELETE FROM t", "INSERT INTO t VALUES (1, 1)");
                assertState("23505", () -> execute(connection, "INSERT INTO t VALUES (1, 1)"));
                assertState("25P02", () -> execute(connection, "SELECT 1"));
                connection.rollback();
                execute(connection, "INSERT INTO child VALUES (1, 99)");
                assertState("23503", connection::commit);
                execute(connection, "DELETE FROM t");
                connection.commit();
                connection.setAutoCommit(true);
                assertState("23503", () -> execute(connection, "INSERT INTO child VALUES (1, 99)"));
                assertState("42P01", () -> execute(connection, "SELECT * FROM missing"));
                execute(connection, "VACUUM t");
                assertState("25001", () -> execute(connection, "BEGIN", "VACUUM t"));
                execute(connection, "ROLLBACK");
            }
        }
        assertThat(rows("SELECT count(*) FROM child")).containsExactly("0");
    }

    @Test
    void clientCancelsWhatItExecutes() throws Exception {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            Future<?> running = clients.submit(() -> statement.execute("SELECT pg_sleep(60)"));
            await("it is executed", () -> {
                try {
                    return rows("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'")
                            .equals(List.of("1"));
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            statement.cancel();
            assertThatThrownBy(() -> running.get(20, TimeUnit.SECONDS))
                    .hasStackTraceContaining("canceling statement due to user request");
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            statement.setQueryTimeout(1);
            assertState("57014", () -> statement.execute("SELECT pg_sleep(60)"));
        }
    }

    @Test
    void whatCannotBeReplicatedIsRefused() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE FUNCTION keep(b bytea) RETURNS oid LANGUAGE sql AS 'SELECT lo_from_bytea(0, b)'");
        }
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect("preferQueryMode", mode)) {
                assertState("0A000", () -> execute(connection, "SET session_replication_role TO replica"));
                for (String sql : List.of(
                        "SELECT lo_create(0)",
                        "SELECT \"lo_create\"(0)",
                        "SELECT U&\"lo_cre\\0061te\"(0)",
                        "DO $$ begin perform lo_create(4711); end $$",
                        "INSERT INTO t VALUES (keep('abc'), 1)",
                        "COMMENT ON LARGE OBJECT 4711 IS ''",
                        "GRANT SELECT ON LARGE OBJECT 4711 TO public",
                        "REVOKE SELECT ON LARGE OBJECT 4711 FROM public",
                        "ALTER LARGE OBJECT 4711 OWNER TO postgres")) {
                    assertState("0A000", () -> execute(connection, sql));
                }
                assertThat(rows("SELECT count(*) FROM pg_largeobject_metadata")).containsExactly("0");
                execute(connection, "BEGIN", "SAVEPOINT s", "SELECT keep('abc')", "ROLLBACK TO s");
                execute(connection, "INSERT INTO t VALUES (98, 1)", "COMMIT", "DELETE FROM t");
                execute(connection, "BEGIN", "INSERT INTO t VALUES (99, 1)");
                assertState("0A000", () -> execute(connection, "PREPARE TRANSACTION 'x'"));
                assertState("25P02", () -> execute(connection, "SELECT 1"));
                execute(connection, "ROLLBACK");
                assertThatThrownBy(() -> connection
                                .unwrap(PGConnection.class)
                                .getLargeObjectAPI()
                                .createLO())
                        .isInstanceOf(SQLException.class);
            }
        }
        assertThatThrownBy(() -> direct("INSERT INTO t VALUES (1, 1)")).hasMessageContaining("replicated");
        assertThat(rows("SELECT count(*) FROM t")).containsExactly("0");
    }

    @Test
    void anEncodingThatIsNotUnderstoodIsRefusedAndTheSessionGoesOn() throws SQLException {
        try (Connection connection = connect("allowEncodingChanges", "true")) {
            for (String sql : List.of(
                    "SET client_encoding TO latin9",
                    "SET SESSION \"client_encoding\" = 'LATIN1'",
                    "set local client_encoding to win1252",
                    "SET NAMES 'EUC_JP'")) {
                assertThatThrownBy(() -> execute(connection, sql))
                        .hasMessageContaining("is not understood by the replica: set it to UTF8");
                execute(connection, "SELECT 1");
            }
            execute(
                    connection,
                    "SET NAMES 'utf-8'",
                    "SET client_encoding TO DEFAULT",
                    "SET client_encoding = 'UNICODE'",
                    "RESET client_encoding",
                    "SELECT set_config('client_encoding', 'latin9', false)");
            assertThatThrownBy(() -> execute(connection, "SELECT '\u20ac'"))
                    .hasMessageContaining("client_encoding LATIN9 is not understood by the replica: set it to UTF8");
            execute(connection, "SET client_encoding TO 'UTF8'", "SELECT '\u20ac'");
        }
    }

    /** However the server may be told. */
    @Test
    void sessionsInWhichNoTriggerWouldSeeChangesAreRefused() throws SQLException {
        for (String options : List.of(
                "-c session_replication_role=replica",
                "-c session-replication-role=replica",
                "--Session-Replication_Role=replica",
                "-c session\\_replication\\_role=replica",
                "-c event-triggers=off",
                "-cgorda.told=x",
                "-c gor\\da.told=x")) {
            assertState("0A000", () -> connect("options", options).close());
        }
        direct(
                "DROP ROLE IF EXISTS sneaky",
                "CREATE ROLE sneaky LOGIN SUPERUSER",
                "ALTER ROLE sneaky SET session_replication_role TO local");
        try {
            connect("user", "sneaky").close();
            for (String where : List.of("", " IN DATABASE " + name)) {
                direct("ALTER ROLE sneaky" + where + " SET session_replication_role TO replica");
                assertState("0A000", () -> connect("user", "sneaky").close());
                try (Connection stranger = TestServer.connect(name)) {
                    assertThat(Installation.findings(stranger))
                            .extracting(Finding::object)
                            .contains("role sneaky");
                }
                direct("ALTER ROLE sneaky" + where + " RESET session_replication_role");
            }
            direct("ALTER DATABASE " + name + " SET session_replication_role TO replica");
            assertState("0A000", () -> connect("user", "sneaky").close());
            assertState("0A000", () -> connect().close());
            direct("ALTER DATABASE " + name + " RESET session_replication_role");
            connect("user", "sneaky", "options", "-c search_path=public").close();
        } finally {
            direct("DROP OWNED BY sneaky", "DROP ROLE sneaky");
        }
    }

    /** The server hashes the numbers that it has given types and their values itself. */
    @Test
    void partitionsByWhatEachServerNumbersForItselfAreRefused() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE TYPE mood AS ENUM ('sad', 'glad')",
                    "CREATE TYPE moods AS RANGE (subtype = mood)",
                    "CREATE TYPE pair AS (a int, m mood)",
                    "CREATE DOMAIN felt AS mood");
            for (String type :
                    List.of("mood", "mood[]", "moods", "moods_multirange", "pair", "pair[]", "felt", "regclass")) {
                assertState(
                        "0A000", () -> execute(connection, "CREATE TABLE h (k " + type + ") PARTITION BY HASH (k)"));
            }
            assertState(
                    "0A000",
                    () -> execute(connection, "CREATE TABLE h (k mood) PARTITION BY HASH (coalesce(k, 'sad'))"));
            execute(
                    connection,
                    "CREATE TABLE h (k int, a text[], o oid, m mood) PARTITION BY HASH (k, lower(a[1]), o)",
                    "CREATE TABLE l (k mood PRIMARY KEY) PARTITION BY LIST (k)",
                    "CREATE TABLE r (k mood PRIMARY KEY) PARTITION BY RANGE (k)",
                    "CREATE TEMP TABLE own (k mood PRIMARY KEY) PARTITION BY HASH (k)");
        }
    }

    /** The server writes the name of a function alone, which it does not read where several are called so. */
    @Test
    void columnsOfNamesThatSeveralMayHaveAreRefused() throws SQLException {
        try (Connection connection = connect()) {
            execute(connection, "CREATE DOMAIN called AS regproc");
            for (String sql : List.of(
                    "CREATE TABLE n (id int PRIMARY KEY, f regproc)",
                    "CREATE TABLE n (id int PRIMARY KEY, f regoper[])",
                    "CREATE TABLE n (id int PRIMARY KEY, f called)",
                    "CREATE TABLE n AS SELECT 'now'::regproc AS f",
                    "CREATE TYPE n AS (f regproc)",
                    "ALTER TABLE t ADD COLUMN f regoper")) {
                assertThatThrownBy(() -> execute(connection, sql))
                        .as(sql)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                        .hasMessageContaining("make it a reg");
            }
            execute(
                    connection,
                    "CREATE TEMP TABLE own (f regproc)",
                    "CREATE TABLE n (id int PRIMARY KEY, f regprocedure, o regoperator[])");
        }
    }

    @Test
    void subscriptionsAreChangedOnTheServerItself() throws SQLException {
        direct(
                "SET session_replication_role TO replica",
                "CREATE SUBSCRIPTION fed CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false, slot_name = NONE)");
        try (Connection connection = connect()) {
            for (String sql : List.of(
                    "ALTER SUBSCRIPTION fed SET (binary = true)",
                    "COMMENT ON SUBSCRIPTION fed IS 'x'",
                    "DROP SUBSCRIPTION fed")) {
                assertState("0A000", () -> execute(connection, sql));
            }
        }
        try (Connection stranger = TestServer.connect(name)) {
            assertThat(Installation.findings(stranger))
                    .extracting(Finding::fix)
                    .contains("DROP SUBSCRIPTION fed on the server itself");
        }
        direct(
                "ALTER SUBSCRIPTION fed SET (binary = true)",
                "COMMENT ON SUBSCRIPTION fed IS 'x'",
                "DROP SUBSCRIPTION fed");
    }

    /** By a function that says that it changes nothing. */
    @Test
    void commitThatNobodySawCommitsNothing() throws SQLException {
        try (Connection connection = connect("preferQueryMode", "simple")) {
            execute(
                    connection,
                    "CREATE FUNCTION hides(i int) RETURNS int LANGUAGE plpgsql STABLE AS $$ begin return put(i); end $$",
                    "CREATE VIEW v AS SELECT hides(100)");
            meta.takeWriteSets();
            for (String[] reads : new String[][] {{"SELECT * FROM v"}, {"BEGIN", "SELECT * FROM v", "COMMIT"}}) {
                assertThatThrownBy(() -> execute(connection, reads))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("GW002"))
                        .hasMessageContaining("public.t was changed where its replica does not see it")
                        .hasMessageContaining("by a statement of its own");
            }
            assertThat(rows(connection, "SELECT hides(1)")).containsExactly("1");
        }
        assertThat(rows("SELECT count(*) FROM t"))
                .containsExactly(String.valueOf(meta.takeWriteSets().size()));
    }

    // -------------------------------------------------------------------------------------------------------- commits

    @Test
    void commitWaitsForItsAnswerAndIsInvisibleUntilThen() throws Exception {
        for (String mode : List.of("simple", "extended")) {
            for (boolean auto : new boolean[] {true, false}) {
                AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
                try (Connection connection = connect("preferQueryMode", mode)) {
                    execute(connection, "DELETE FROM t");
                    meta.answer(suspended::set);
                    connection.setAutoCommit(auto);
                    Future<?> client = clients.submit(() -> {
                        execute(connection, "INSERT INTO t VALUES (1, 1)");
                        if (!auto) {
                            connection.commit();
                        }
                        return null;
                    });
                    await("it is suspended", () -> suspended.get() != null);
                    assertThat(database.suspended()).hasSize(1);
                    assertThat(rows("SELECT count(*) FROM t")).containsExactly("0");
                    assertThat(suspended.get().commit(meta.nextPosition(), false))
                            .isTrue();
                    assertThat(rows("SELECT count(*) FROM t")).containsExactly("1");
                    assertThat(client.isDone()).isFalse();
                    suspended.get().release();
                    client.get(10, TimeUnit.SECONDS);
                    assertThat(database.suspended()).isEmpty();
                    assertThat(rows("SELECT count(*) FROM gorda.position WHERE idx = "
                                    + database.storedPosition().orElseThrow().index()))
                            .containsExactly("1");
                    meta.answer(meta::succeed);
                }
            }
        }
    }

    @Test
    void aSessionThatIsSerializableByDefaultIsNoticedAtItsFirstCommit() throws SQLException {
        TestServer.execute("ALTER DATABASE " + name + " SET default_transaction_isolation TO serializable");
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect("preferQueryMode", mode)) {
                assertThat(rows(connection, "SELECT count(*) FROM t")).containsExactly("0");
                assertThatThrownBy(() -> execute(connection, "INSERT INTO t VALUES (1, 1)"))
                        .hasMessageContaining("SERIALIZABLE by default")
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"));
                assertThat(rows("SELECT count(*) FROM t")).containsExactly("0");
                execute(connection, "INSERT INTO t VALUES (1, 1)", "DELETE FROM t");
                assertThat(rows(connection, "SHOW transaction_isolation")).containsExactly("serializable");
            }
        }
        assertThat(meta.takeWriteSets()).hasSize(4);
    }

    @Test
    void aDatabaseOfAnotherEncodingIsRefusedWhenItIsOpened() throws SQLException {
        var configuration = TestServer.configuration(directory, "latin");
        String latin =
                configuration.location().substring(configuration.location().lastIndexOf('/') + 1);
        TestServer.execute("CREATE DATABASE " + latin + " TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
        assertThatThrownBy(() -> new PostgresBinding().open(configuration, meta))
                .hasMessageContaining(
                        "database " + latin + ": its encoding is LATIN1, but texts are replicated as UTF8")
                .hasMessageContaining("ENCODING 'UTF8'");
    }

    @Test
    void aReplicaNeedsASuperuserAndSaysSo() throws SQLException {
        TestServer.execute("DROP ROLE IF EXISTS gorda_plain; CREATE ROLE gorda_plain LOGIN");
        try (Connection plain = java.sql.DriverManager.getConnection(
                TestServer.url(name).replace("user=postgres", "user=gorda_plain"))) {
            assertThat(new PostgresBinding().examine(plain).orElseThrow())
                    .anySatisfy(finding -> assertThat(finding.object() + ": " + finding.problem())
                            .isEqualTo("role gorda_plain: it is no superuser, which event triggers and"
                                    + " session_replication_role need"));
        } finally {
            TestServer.execute("DROP ROLE gorda_plain");
        }
    }

    @Test
    void refusedCommitIsRolledBackAndTheSessionGoesOn() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect("preferQueryMode", mode)) {
                meta.answer(commit -> commit.abort(conflict("they came first")));
                assertState("40001", () -> execute(connection, "INSERT INTO t VALUES (1, 1)"));
                connection.setAutoCommit(false);
                execute(connection, "INSERT INTO t VALUES (1, 1)");
                assertThatThrownBy(connection::commit).hasMessageContaining("they came first");
                assertThat(rows("SELECT count(*) FROM t")).containsExactly("0");
                meta.answer(meta::succeed);
                execute(connection, "INSERT INTO t VALUES (1, 1)", "DELETE FROM t");
                connection.commit();
            }
        }
    }

    /** Or a pool of connections would stay with it. */
    @Test
    void whoHasConnectedToAPrimaryIsSentAwayWhenItIsOneNoMore() throws SQLException {
        try (Connection connection = connect()) {
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            meta.becomeBackup();
            assertThat(rows(connection, "SELECT id FROM t")).containsExactly("1");
            assertState("57P01", () -> execute(connection, "INSERT INTO t VALUES (2, 2)"));
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void unknownOutcomeEndsTheSession() throws SQLException {
        meta.answer(commit -> commit.leaveUnknown(new Refusal(Refusal.Cause.UNKNOWN_OUTCOME, "ask for it")));
        Connection connection = begin();
        execute(connection, "INSERT INTO t VALUES (1, 1)");
        assertState("08007", connection::commit);
        assertThat(connection.isClosed()).isTrue();
        assertThat(rows("SELECT count(*) FROM t")).containsExactly("0");
    }

    /** By which the delivery would lose the answer to a commit. */
    @Test
    void aClientsTimeoutIsNotThatOfItsCommit() throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        try (Connection connection = connect("socketTimeout", "1");
                Connection other = TestServer.connect(name)) {
            Future<?> client = clients.submit(() -> {
                execute(connection, "INSERT INTO t VALUES (1, 1)");
                return null;
            });
            await("it is suspended", () -> suspended.get() != null);
            other.setAutoCommit(false);
            execute(other, "LOCK TABLE gorda.position");
            Future<Boolean> committed = clients.submit(() -> suspended.get().commit(meta.nextPosition(), false));
            try {
                assertThatThrownBy(() -> committed.get(2500, TimeUnit.MILLISECONDS))
                        .isInstanceOf(TimeoutException.class);
                other.rollback();
                assertThat(committed.get(10, TimeUnit.SECONDS)).isTrue();
            } finally {
                suspended.get().release();
            }
            client.get(10, TimeUnit.SECONDS);
            assertState("08006", () -> execute(connection, "SELECT pg_sleep(10)"));
        }
        assertThat(rows("SELECT id FROM t")).containsExactly("1");
    }

    @Test
    void serverThatEndsASuspendedSessionLosesTheTransactionNotTheAnswer() throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        Connection connection = begin();
        execute(connection, "INSERT INTO t VALUES (1, 1)");
        int backend = connection.unwrap(PGConnection.class).getBackendPID();
        Future<?> client = clients.submit(() -> {
            connection.commit();
            return null;
        });
        await("it is suspended", () -> suspended.get() != null);
        assertThat(suspended.get().isLost()).isFalse();
        direct("SELECT pg_terminate_backend(" + backend + ", 10000)");
        assertThat(suspended.get().isLost()).isTrue();
        assertThat(suspended.get().commit(meta.nextPosition(), false)).isFalse();
        suspended.get().release();
        client.get(10, TimeUnit.SECONDS);
        assertThat(rows("SELECT count(*) FROM t")).as("it is applied instead").containsExactly("0");
    }

    // --------------------------------------------------------------------------------------------------------- aborts

    @Test
    void idleTransactionThatIsAbortedFreesItsLocksAndItsClientIsToldOnce() throws Exception {
        for (String next : List.of("SELECT 1", "COMMIT", "INSERT INTO t VALUES (5, 5)")) {
            try (Connection connection = begin();
                    Connection other = connect()) {
                execute(connection, "DELETE FROM t", "INSERT INTO t VALUES (1, 1)");
                connection.commit();
                execute(connection, "UPDATE t SET a = 2");
                int before = meta.rolledBack();
                meta.lastBegun().abort(conflict("in the way"));
                assertThat(meta.rolledBack()).isEqualTo(before + 1);
                execute(other, "SET lock_timeout TO '10s'", "UPDATE t SET a = a + 10");
                assertThatThrownBy(() -> {
                            if (next.equals("COMMIT")) {
                                connection.commit();
                            } else {
                                execute(connection, next);
                            }
                        })
                        .as(next)
                        .hasMessageContaining("in the way");
                if (!next.equals("COMMIT")) {
                    assertState("25P02", () -> execute(connection, "SELECT 1"));
                }
                connection.rollback();
                execute(connection, "UPDATE t SET a = a + 100");
                connection.commit();
                assertThat(rows("SELECT a FROM t")).containsExactly("111");
            }
        }
    }

    @Test
    void abortedTransactionWhoseClientRollsBackIsToldNothing() throws SQLException {
        try (Connection connection = begin()) {
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            meta.lastBegun().abort(conflict("in the way"));
            connection.rollback();
            execute(connection, "INSERT INTO t VALUES (2, 2)");
            connection.commit();
        }
        assertThat(rows("SELECT id FROM t")).containsExactly("2");
    }

    @Test
    void runningStatementIsCancelledWhenItsTransactionIsAborted() throws Exception {
        for (String mode : List.of("simple", "extended")) {
            for (boolean auto : new boolean[] {true, false}) {
                try (Connection connection = connect("preferQueryMode", mode)) {
                    connection.setAutoCommit(auto);
                    int begun = meta.begun();
                    CountDownLatch started = new CountDownLatch(1);
                    Future<?> client = clients.submit(() -> {
                        started.countDown();
                        execute(connection, "INSERT INTO t SELECT i, 0 FROM generate_series(1, 3) i, pg_sleep(60)");
                        return null;
                    });
                    started.await();
                    await("it has begun", () -> meta.begun() > begun);
                    await("the server executes it", () -> count(SLEEPING) > 0);
                    meta.lastBegun().abort(conflict("stopped"));
                    assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS)).hasStackTraceContaining("stopped");
                    if (!auto) {
                        connection.rollback();
                    }
                    execute(connection, "DELETE FROM t");
                    if (!auto) {
                        connection.commit();
                    }
                }
            }
        }
    }

    @Test
    void suspendedCommitThatGivesWayIsReleasedWithoutItsChanges() throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        try (Connection connection = begin();
                Connection other = connect()) {
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            connection.commit();
            meta.answer(suspended::set);
            execute(connection, "UPDATE t SET a = 2");
            int backend = connection.unwrap(PGConnection.class).getBackendPID();
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            await("it is suspended", () -> suspended.get() != null);
            assertThat(((PostgresDatabase) database).giveWay(backend, conflict("ordered before")))
                    .isTrue();
            meta.answer(meta::succeed);
            execute(other, "SET lock_timeout TO '10s'", "UPDATE t SET a = 50");
            assertThat(suspended.get().commit(meta.nextPosition(), false)).isFalse();
            assertThat(client.isDone()).isFalse();
            suspended.get().release();
            client.get(10, TimeUnit.SECONDS);
            assertThat(rows("SELECT a FROM t")).containsExactly("50");
            execute(connection, "UPDATE t SET a = 60");
            connection.commit();
        }
        assertThat(rows("SELECT a FROM t")).containsExactly("60");
    }

    /** Each row looks at the statement that changes it. */
    @Test
    void manyRowsInOneTextTakeNoMoreTimeEach() throws SQLException {
        String rows =
                IntStream.range(100, 40_100).mapToObj(i -> "(" + i + ", 1)").collect(Collectors.joining(", "));
        try (Connection connection = connect()) {
            execute(connection, "CREATE TABLE many (id int PRIMARY KEY, a int)");
        }
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = begin("preferQueryMode", mode)) {
                execute(connection, "DELETE FROM many");
                connection.commit();
                long began = System.nanoTime();
                execute(connection, "INSERT INTO many VALUES " + rows, "UPDATE many SET a = 2 WHERE id = 100");
                connection.commit();
                assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(8));
            }
            assertThat(rows("SELECT sum(a) FROM many")).containsExactly("40001");
        }
    }

    /** They are lost with the locks, and are in no write set. */
    @Test
    void whoMayHaveLostTemporaryRowsByGivingWayIsSentAway() throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        try (Connection connection = begin()) {
            execute(connection, "CREATE TEMP TABLE own (id int)");
            connection.commit();
            meta.answer(suspended::set);
            execute(connection, "INSERT INTO own VALUES (1)", "INSERT INTO t VALUES (1, 1)");
            int backend = connection.unwrap(PGConnection.class).getBackendPID();
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            await("it is suspended", () -> suspended.get() != null);
            ((PostgresDatabase) database).giveWay(backend, conflict("ordered before"));
            meta.answer(meta::succeed);
            assertThat(suspended.get().commit(meta.nextPosition(), false)).isFalse();
            suspended.get().release();
            client.get(10, TimeUnit.SECONDS);
            assertState("08006", () -> rows(connection, "SELECT id FROM own"));
        }
    }

    // ---------------------------------------------------------------------------------------------------------- schema

    @Test
    void schemaChangesAreInTheirPlaceAndNewTablesAreCaptured() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = begin("preferQueryMode", mode)) {
                execute(
                        connection,
                        "INSERT INTO t VALUES (1, 1)",
                        "-- its rows were not told of yet\n/* here */ ALTER TABLE t ADD b int",
                        "ALTER TABLE t DROP b",
                        "CREATE TABLE u (id int PRIMARY KEY)",
                        "INSERT INTO u VALUES (1)",
                        "SAVEPOINT s",
                        "CREATE TABLE w (id int PRIMARY KEY)",
                        "INSERT INTO w VALUES (1)",
                        "ROLLBACK TO s",
                        "INSERT INTO u VALUES (2)");
                connection.commit();
                assertThat(changes(meta.takeWriteSets()))
                        .containsExactly("INSERT", "STATEMENT", "STATEMENT", "STATEMENT", "INSERT", "INSERT");
                connection.setAutoCommit(true);
                execute(connection, "DROP TABLE u", "DELETE FROM t");
                assertThat(changes(meta.takeWriteSets())).containsExactly("STATEMENT", "DELETE");
                assertState("42P07", () -> execute(connection, "CREATE TABLE t (id int)"));
                execute(connection, "CREATE TABLE x (id int PRIMARY KEY); INSERT INTO x VALUES (1); DROP TABLE x");
                assertThat(changes(meta.takeWriteSets())).contains("STATEMENT", "INSERT");
            }
        }
    }

    /** As old applications have it, for whom a backslash in a text escapes what follows. */
    @Test
    void schemaChangesFromSessionsWithoutStandardConformingStrings() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection =
                    connect("preferQueryMode", mode, "options", "-c standard_conforming_strings=off")) {
                execute(
                        connection,
                        "CREATE TABLE \"u\\\" (id int PRIMARY KEY, a text)",
                        "ALTER TABLE \"u\\\" ADD b int",
                        "INSERT INTO \"u\\\" VALUES (1, 'it''s \\\\')");
                assertThat(changes(meta.takeWriteSets())).containsExactly("STATEMENT", "STATEMENT", "INSERT");
                execute(connection, "CREATE TABLE v AS SELECT a FROM \"u\\\"");
                assertThat(changes(meta.takeWriteSets())).containsExactly("STATEMENT", "INSERT");
                assertThat(rows("SELECT a FROM v")).containsExactly("it's \\");
                execute(connection, "DROP TABLE \"u\\\", v");
                meta.takeWriteSets();
            }
        }
    }

    @Test
    void temporaryTablesAreTheSessionsOwn() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE TEMP TABLE own (id int PRIMARY KEY)",
                    "INSERT INTO own VALUES (1)",
                    "CREATE INDEX ON own (id)",
                    "ALTER TABLE own ADD b int",
                    "TRUNCATE own",
                    "CREATE TEMP TABLE t AS SELECT 1 AS id");
            assertState("0A000", () -> execute(connection, "DROP TABLE child, own"));
            execute(connection, "DROP TABLE own, t", "INSERT INTO t VALUES (1, 1)");
            assertThat(changes(meta.takeWriteSets())).containsExactly("INSERT");
            execute(connection, "DROP TABLE child, t");
            assertThat(changes(meta.takeWriteSets())).containsExactly("STATEMENT");
        }
    }

    /** They lie in no schema, not even where what they are of is named with its own. */
    @Test
    void triggersAndRulesOfTemporaryTablesAreTheSessionsOwn() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
                    "CREATE TEMP TABLE own (id int)");
            meta.takeWriteSets();
            execute(
                    connection,
                    "CREATE TRIGGER a BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION kept()",
                    "CREATE TRIGGER b BEFORE INSERT ON pg_temp.own FOR EACH ROW EXECUTE FUNCTION kept()",
                    "CREATE RULE r AS ON INSERT TO own DO NOTHING",
                    "CREATE RULE s AS ON UPDATE TO pg_temp.own DO NOTHING",
                    "CREATE POLICY p ON own USING (true)",
                    "COMMENT ON TRIGGER a ON own IS 'a'",
                    "ALTER TRIGGER a ON own RENAME TO c",
                    "DROP TRIGGER c ON own",
                    "DROP TRIGGER IF EXISTS b ON pg_temp.own",
                    "DROP RULE r ON own",
                    "DROP POLICY p ON own",
                    "DROP TABLE own");
            assertThat(meta.takeWriteSets()).isEmpty();
            assertState("42704", () -> execute(connection, "COMMENT ON TRIGGER a ON t IS 'a'"));
            assertState("42601", () -> execute(connection, "COMMENT ON"));
        }
    }

    /** What is made there is replicated otherwise, and is each session's own. */
    @Test
    void temporaryTablesOfASearchPathAreRefused() throws SQLException {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect("preferQueryMode", mode)) {
                execute(connection, "SET search_path = pg_temp, public");
                assertState("0A000", () -> execute(connection, "CREATE TABLE foo (id int PRIMARY KEY)"));
                assertState("0A000", () -> execute(connection, "CREATE TABLE foo AS SELECT 1 AS id"));
                assertState("0A000", () -> execute(connection, "SELECT 1 AS id INTO foo"));
                execute(
                        connection,
                        "CREATE TEMPORARY TABLE foo (id int PRIMARY KEY)",
                        "CREATE INDEX ON foo (id)",
                        "INSERT INTO foo VALUES (1)",
                        "ALTER TABLE foo ADD a int",
                        "DROP TABLE foo",
                        "SET search_path = public, pg_temp",
                        "CREATE TABLE foo (id int PRIMARY KEY)",
                        "DROP TABLE foo");
            }
            assertThat(changes(meta.takeWriteSets())).as(mode).containsExactly("STATEMENT", "STATEMENT");
        }
    }

    @Test
    void readOnlyTransactionsAreNotInTheWayOfGenerators() throws SQLException {
        try (Connection connection = begin();
                Connection reader = connect()) {
            execute(connection, "CREATE TABLE numbered (id serial PRIMARY KEY)");
            connection.commit();
            execute(connection, "INSERT INTO numbered DEFAULT VALUES");
            connection.rollback();
            meta.takeWriteSets();
            reader.setAutoCommit(false);
            reader.setReadOnly(true);
            assertThat(rows(reader, "SELECT to_char(timestamp '2020-01-01', 'YYYY')"))
                    .containsExactly("2020");
            reader.commit();
            assertThat(meta.takeWriteSets()).isEmpty();
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            connection.commit();
            assertThat(generated()).containsExactly("GENERATED numbered");
            execute(connection, "INSERT INTO numbered DEFAULT VALUES", "SET TRANSACTION READ ONLY");
            assertState("25006", connection::commit);
            execute(connection, "INSERT INTO numbered DEFAULT VALUES");
            connection.commit();
            assertThat(meta.takeWriteSets()).hasSize(1);
        }
    }

    /** What of its values was not told is told once it is not dropped. */
    @Test
    void whoCommitsDoesNotWaitForWhoDropsASequence() throws SQLException {
        try (Connection dropping = begin();
                Connection writer = connect()) {
            execute(dropping, "CREATE TABLE numbered (id serial PRIMARY KEY)", "CREATE SEQUENCE s");
            dropping.commit();
            for (String drop : List.of("DROP TABLE numbered", "ALTER SEQUENCE numbered_id_seq INCREMENT 2")) {
                try (Connection open = begin()) {
                    rows(open, "SELECT nextval('s'), nextval('numbered_id_seq')");
                    open.rollback();
                }
                execute(dropping, "SAVEPOINT before", drop);
                meta.takeWriteSets();
                execute(writer, "INSERT INTO t VALUES (1, 1)");
                assertThat(generated()).as(drop).containsExactly("GENERATED s");
                execute(writer, "DELETE FROM t");
                assertThat(generated()).as(drop).isEmpty();
                execute(dropping, "ROLLBACK TO before", "INSERT INTO child VALUES (" + drop.length() + ")");
                dropping.commit();
                assertThat(generated()).as(drop).containsExactly("GENERATED numbered");
                execute(writer, "DELETE FROM child");
                assertThat(generated()).as(drop).isEmpty();
            }
            execute(dropping, "DROP TABLE numbered");
            assertState("22012", () -> rows(writer, "SELECT 1 / (put(2) - 2)"));
            execute(writer, "INSERT INTO t VALUES (1, 1)");
            dropping.commit();
            execute(writer, "INSERT INTO t VALUES (3, 3)");
        }
        assertThat(rows("SELECT id FROM t")).containsExactly("1", "3");
    }

    /** The generators that others were told of since write sets were taken last. */
    private List<String> generated() {
        return changes(meta.takeWriteSets()).stream()
                .filter(kind -> kind.startsWith("GENERATED"))
                .toList();
    }

    @Test
    void cursorsThatAreKeptChangeNothingOnlyBecauseOthersHaveTakenValues() throws SQLException {
        try (Connection connection = begin()) {
            execute(
                    connection,
                    "CREATE SEQUENCE s",
                    "CREATE TYPE odd AS (a int)",
                    "CREATE FUNCTION odd_of(int) RETURNS odd LANGUAGE sql AS 'SELECT ROW($1)::odd'",
                    "CREATE CAST (int AS odd) WITH FUNCTION odd_of(int)",
                    "CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'");
            connection.commit();
            rows(connection, "SELECT nextval('s')");
            connection.rollback();
            meta.takeWriteSets();
            execute(connection, "DECLARE c CURSOR WITH HOLD FOR SELECT one()");
            connection.commit();
            assertThat(meta.takeWriteSets()).isEmpty();
            assertThat(rows(connection, "FETCH c")).containsExactly("1");
            execute(connection, "CLOSE c", "INSERT INTO t VALUES (7, 7)");
            connection.commit();
            assertThat(generated()).containsExactly("GENERATED s");
            execute(connection, "DECLARE c CURSOR WITH HOLD FOR SELECT one()", "INSERT INTO t VALUES (1, 1)");
            assertThatThrownBy(connection::commit).hasMessageContaining("which may call public.one(), in");
            execute(connection, "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t", "INSERT INTO t VALUES (1, 1)");
            assertThatThrownBy(connection::commit).hasMessageContaining("odd_of(integer) by an operator or a cast, in");
        }
    }

    @Test
    void whoMayUseOneSchemaOnlyChangesItBehindRows() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "DROP ROLE IF EXISTS plain",
                    "CREATE ROLE plain LOGIN",
                    "CREATE SCHEMA other",
                    "CREATE TABLE other.t (id int PRIMARY KEY)",
                    "CREATE FUNCTION put_there(i int) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'INSERT INTO other.t VALUES (i) RETURNING id'",
                    "CREATE SCHEMA mine AUTHORIZATION plain",
                    "CREATE TABLE done (who name PRIMARY KEY)",
                    "GRANT INSERT, SELECT ON done TO public");
        }
        try (Connection connection = begin("user", "plain")) {
            execute(
                    connection,
                    "CREATE TABLE mine.a (id int PRIMARY KEY, b int)",
                    "CREATE FUNCTION mine.notes() RETURNS trigger LANGUAGE plpgsql AS"
                            + " 'BEGIN INSERT INTO public.done VALUES (current_user); RETURN NULL; END'",
                    "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON mine.a DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mine.notes()");
            connection.commit();
            meta.takeWriteSets();
            rows(connection, "SELECT put_there(1)");
            execute(connection, "INSERT INTO mine.a VALUES (1)", "CREATE TABLE mine.c (id int PRIMARY KEY)");
            assertThat(rows(connection, "SELECT who FROM public.done")).isEmpty();
            execute(connection, "UPDATE mine.a SET b = 1");
            connection.commit();
            assertThat(changes(meta.takeWriteSets()))
                    .containsExactly("INSERT", "INSERT", "STATEMENT", "UPDATE", "INSERT");
            execute(connection, "UPDATE mine.a SET b = 2", "ALTER TABLE mine.a ADD c int");
            connection.commit();
        }
        assertThat(rows("SELECT who FROM done")).containsExactly("plain");
    }

    @Test
    void whatIsDroppedMeanwhileIsInNobodysWay() throws Exception {
        meta.wantsKeys(false); // as where one replica takes writes
        try (Connection dropping = begin();
                Connection connection = connect()) {
            execute(connection, "CREATE TABLE gone (id int PRIMARY KEY)", "CREATE TABLE moved (id int PRIMARY KEY)");
            execute(dropping, "DROP TABLE gone", "ALTER TABLE moved RENAME TO there");
            Future<?> filling = clients.submit(() -> {
                execute(connection, "CREATE MATERIALIZED VIEW filled AS SELECT id FROM t");
                return true;
            });
            await("it waits", () -> count("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0);
            dropping.commit();
            filling.get(30, TimeUnit.SECONDS);
            execute(connection, "DROP MATERIALIZED VIEW filled");
        }
    }

    @Test
    void whoTakesNoWritesReadsByFunctionsAllTheSame() throws SQLException {
        try (Connection connection = connect()) {
            execute(connection, "CREATE TABLE numbered (id serial PRIMARY KEY)");
            try (Connection open = begin()) {
                execute(open, "INSERT INTO numbered DEFAULT VALUES");
                open.rollback();
            }
            meta.becomeBackup();
            assertThat(rows(connection, "SELECT to_char(timestamp '2020-01-01', 'YYYY')"))
                    .containsExactly("2020");
            assertState("25006", () -> rows(connect(), "SELECT nextval('numbered_id_seq')"));
        }
    }

    @Test
    void nobodyBecomesSuperuserByWhatTheReplicaKeeps() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE TABLE numbered (id serial PRIMARY KEY)",
                    "DROP ROLE IF EXISTS plain",
                    "CREATE ROLE plain LOGIN");
        }
        try (Connection connection = connect("user", "plain")) {
            execute(
                    connection,
                    "CREATE FUNCTION pg_temp.evil() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
                            + " ALTER ROLE plain SUPERUSER; RETURN true; END $$",
                    "CREATE TEMP VIEW pg_index AS SELECT i.* FROM pg_catalog.pg_index i WHERE pg_temp.evil()",
                    "CREATE TEMP VIEW pg_sequence AS SELECT i.* FROM pg_catalog.pg_sequence i WHERE pg_temp.evil()");
            rows(connection, "SELECT 1 FROM gorda.generated('{0}')");
            rows(connection, "SELECT 1 FROM gorda.adopt()");
            assertThat(rows(connection, "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = 'plain'"))
                    .containsExactly("f");
        }
    }

    @Test
    void whatADeferredTriggerTakesBackIsNotTold() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE TABLE tried (id integer PRIMARY KEY, v text)",
                    "CREATE FUNCTION try() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                            + " BEGIN INSERT INTO tried VALUES (new.id, repeat('x', new.a)); RAISE EXCEPTION 'no';"
                            + " EXCEPTION WHEN raise_exception THEN NULL; END; RETURN NULL; END $$",
                    "CREATE CONSTRAINT TRIGGER early AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION try()");
            meta.takeWriteSets();
            execute(connection, "INSERT INTO t VALUES (91, 7)");
            assertThat(changes(meta.takeWriteSets())).containsExactly("INSERT");
            execute(connection, "INSERT INTO t VALUES (92, 30000)");
            assertThat(changes(meta.takeWriteSets())).containsExactly("INSERT");
        }
        assertThat(rows("SELECT id FROM tried")).isEmpty();
    }

    @Test
    void whatIsForgottenByResetIsNotCommitted() throws SQLException {
        try (Connection connection = begin()) {
            for (String reset : List.of("RESET ALL", "RESET gorda.told")) {
                execute(connection, "INSERT INTO t VALUES (1, 1)", reset);
                assertState("0A000", connection::commit);
                execute(connection, "INSERT INTO t VALUES (1, 1)", reset, "INSERT INTO t VALUES (2, 2)");
                assertState("0A000", connection::commit);
                execute(connection, "INSERT INTO t VALUES (1, 1)", reset);
                assertState("0A000", () -> execute(connection, "CREATE TABLE late (id int PRIMARY KEY)"));
                connection.rollback();
                execute(
                        connection,
                        "INSERT INTO t VALUES (1, 1)",
                        "CREATE TABLE late (id int PRIMARY KEY)",
                        "INSERT INTO t VALUES (2, 2)",
                        reset);
                assertState("0A000", connection::commit);
            }
            assertThat(meta.takeWriteSets()).isEmpty();
            execute(
                    connection,
                    "RESET ALL",
                    "INSERT INTO t VALUES (1, 1)",
                    "SAVEPOINT s",
                    "INSERT INTO t VALUES (2, 2)");
            execute(connection, "RESET ALL", "ROLLBACK TO s", "INSERT INTO t VALUES (3, 3)");
            connection.commit();
            assertThat(changes(meta.takeWriteSets())).containsExactly("INSERT", "INSERT");
        }
        assertThat(rows("SELECT id FROM t")).containsExactly("1", "3");
    }

    @Test
    void whatTheReplicaKeepsIsLeftAlone() throws SQLException {
        try (Connection connection = connect()) {
            for (String sql : List.of(
                    "DROP SCHEMA gorda CASCADE",
                    "DROP TABLE \"gorda\".position",
                    "DROP TRIGGER gorda_update ON t",
                    "TRUNCATE gorda.position")) {
                assertState("0A000", () -> execute(connection, sql));
            }
            assertState(
                    "23514", () -> execute(connection, "INSERT INTO gorda.position VALUES (999999, 1, 1, 1, 1, 'x')"));
        }
    }

    /** Of tables whose keys have one column. */
    private static List<String> changes(List<WriteSet> writeSets) {
        List<String> kinds = new ArrayList<>();
        for (WriteSet writeSet : writeSets) {
            WriteSetReader reader = new WriteSetReader(writeSet);
            for (WriteSetReader.Kind kind = reader.next(); kind != null; kind = reader.next()) {
                kinds.add(kind.name());
                switch (kind) {
                    case INSERT -> {
                        for (int left = reader.count(); left > 0; left--) {
                            reader.readValue();
                        }
                    }
                    case UPDATE -> {
                        reader.readValue();
                        for (int left = reader.count(); left > 0; left--) {
                            reader.column();
                            reader.readValue();
                        }
                    }
                    case DELETE -> reader.readValue();
                    case GENERATED -> {
                        reader.readBoolean();
                        reader.readText();
                        kinds.set(kinds.size() - 1, "GENERATED " + reader.readText());
                        reader.readInteger();
                    }
                    default -> {
                        for (int i = 0; i < 4; i++) {
                            reader.readText();
                        }
                        assertThat(reader.count()).isZero();
                    }
                }
            }
        }
        return kinds;
    }

    // ----------------------------------------------------------------------------------------------------------- relay

    /** As those ask for who take all changes from the server, too. */
    @Test
    void allTablesMayBePublished() throws SQLException {
        try (Connection connection = connect()) {
            execute(
                    connection,
                    "CREATE PUBLICATION everything FOR ALL TABLES",
                    "INSERT INTO t VALUES (1, 1)",
                    "UPDATE t SET a = 2");
        }
        database.flush();
        assertThat(database.flush()).isPresent();
        direct("UPDATE gorda.leasing SET era = era");
    }

    @Test
    void clientsOverTheNetworkAreServedAlike() throws Exception {
        String url =
                database.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null) + "?user=postgres";
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = DriverManager.getConnection(url + "&preferQueryMode=" + mode);
                    Statement statement = connection.createStatement()) {
                execute(connection, "DELETE FROM t", "INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i");
                connection.setAutoCommit(false);
                execute(connection, "UPDATE t SET a = 0");
                connection.commit();
                execute(connection, "UPDATE t SET a = 1");
                meta.lastBegun().abort(conflict("in the way"));
                assertThatThrownBy(() -> execute(connection, "SELECT 1")).hasMessageContaining("in the way");
                connection.rollback();
                statement.setQueryTimeout(1);
                assertState("57014", () -> statement.execute("SELECT pg_sleep(60)"));
                connection.rollback();
            }
        }
        assertThat(rows("SELECT count(*) FROM t WHERE a = 0")).containsExactly("1000");
        assertState("0A000", () -> DriverManager.getConnection(url.replace(name, "postgres")));
    }

    @Test
    void positionThatTheDatabaseHoldsIsNotCommittedAgain() throws SQLException {
        try (Connection connection = connect()) {
            execute(connection, "INSERT INTO t VALUES (1, 1)");
            StoredPosition held = database.storedPosition().orElseThrow();
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            meta.answer(commit -> {
                try {
                    commit.commit(held, false);
                } catch (IllegalArgumentException e) {
                    thrown.set(e);
                }
                commit.abort(conflict("again"));
            });
            assertState("40001", () -> execute(connection, "INSERT INTO t VALUES (2, 2)"));
            assertThat(thrown.get()).hasMessageContaining("already");
        }
    }
}
