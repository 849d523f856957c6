package org.gorda.bindings.postgresql;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.gapi.Content;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Finding;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.gapi.tck.MetaLevel;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;

/** What triggers tell of rows, by sessions that have the token, is what the applier does elsewhere. */
class RowsTest {

    @TempDir
    Path directory;

    private PostgresDatabase origin;
    private PostgresDatabase replica;
    private PostgresApplier applier;
    private long index;

    @BeforeEach
    void open() throws SQLException {
        TestServer.dropOthers(directory);
        origin = open("origin");
        replica = open("replica");
        applier = (PostgresApplier) replica.applier();
    }

    private PostgresDatabase open(String name) {
        return (PostgresDatabase)
                new PostgresBinding().open(TestServer.configuration(directory, name), new MetaLevel());
    }

    @AfterEach
    void close() {
        origin.close();
        replica.close();
    }

    /** A session as the interceptor opens it. */
    private static Connection session(PostgresDatabase database) throws SQLException {
        Connection connection = database.server().connect(" -c search_path=public -c gorda.known=t");
        connection.setAutoCommit(false);
        return connection;
    }

    /** The same change of the schema at both. */
    private void define(String... statements) throws SQLException {
        for (PostgresDatabase database : List.of(origin, replica)) {
            try (Connection connection = session(database);
                    Statement statement = connection.createStatement()) {
                for (String sql : statements) {
                    statement.execute(sql);
                }
                database.captureNewTables(SqlSession.of(connection));
                connection.commit();
            }
        }
    }

    /** Executes statements in one transaction at the origin and commits: its write set, as it travels. */
    private WriteSet execute(String... statements) throws SQLException {
        try (Connection connection = session(origin);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
            WriteSetWriter writer = origin.newWriter();
            capture(statement, writer);
            statement.execute(positionInsert(new StoredPosition(1, 2, 3, ++index)));
            connection.commit();
            WriteSet made = writer.finish();
            return WriteSet.decode(made.bytes(), Content.EMPTY);
        }
    }

    private void capture(Statement statement, WriteSetWriter writer) throws SQLException {
        RowCapture capture = new RowCapture(origin);
        String last = "";
        for (OwnStatement tell : origin.tell(PostgresDatabase.ALL)) {
            String sql = tell.sql();
            for (String parameter : tell.parameters()) {
                sql = sql.replace("$1", PostgresDatabase.literal(parameter));
            }
            boolean isQuery = statement.execute(sql);
            for (SQLWarning next = statement.getWarnings(); next != null; next = next.getNextWarning()) {
                assertThat(next.getSQLState()).isEqualTo("GW001");
                capture.part(writer, next.getMessage(), true, () -> true);
            }
            if (isQuery) {
                ResultSet rows = statement.getResultSet();
                rows.next();
                last = rows.getString(1);
            }
        }
        capture.part(writer, last, true, () -> true);
    }

    private void replicate(String... statements) throws SQLException {
        applier.apply(execute(statements));
        applier.commit(new StoredPosition(1, 2, 3, index), false);
        assertThat(rows(replica)).isEqualTo(rows(origin));
    }

    private static List<String> rows(PostgresDatabase database) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = session(database)) {
            for (TableShape table : database.tables()) {
                SqlSession.of(connection)
                        .query("SELECT " + PostgresDatabase.literal(table.toString()) + " || t::text FROM " + table
                                + " t")
                        .forEach(row -> rows.add(row.get(0)));
            }
        }
        rows.sort(null);
        return rows;
    }

    /** Who is certified as younger than it could have changed the same otherwise, and not know of it. */
    @Test
    void whatIsExecutedHasItsLocksBeforeItIsCommitted() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY, name text UNIQUE)");
        applier.apply(execute("INSERT INTO t VALUES (1, 'wanted')"));
        applier.execute();
        try (Connection other = session(replica);
                Statement statement = other.createStatement()) {
            statement.execute("SET LOCAL lock_timeout TO 1");
            assertThatThrownBy(() -> statement.execute("INSERT INTO t VALUES (2, 'wanted')"))
                    .isInstanceOf(SQLException.class)
                    .extracting(e -> ((SQLException) e).getSQLState())
                    .isEqualTo("55P03");
        }
        applier.commit(new StoredPosition(1, 2, 3, index), false);
        assertThat(rows(replica)).isEqualTo(rows(origin));
    }

    @Test
    void valuesOfAllTypes() throws SQLException {
        define(
                "CREATE TYPE mood AS ENUM ('sad', 'it''s \"ok\"')",
                "CREATE TYPE pair AS (a integer, b text)",
                "CREATE DOMAIN price AS numeric(9, 2) CHECK (value >= 0)",
                "CREATE TABLE t (id integer PRIMARY KEY, bo boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision, n numeric,"
                        + " n2 numeric(8, 3), ch char(5), vc varchar(20), tx text, by bytea, d date, ti time, ts timestamp, tz timestamptz, tt timetz,"
                        + " iv interval, u uuid, js json, jb jsonb, ar integer[], at text[], m mood, p pair, pr price, ra int4range, ip inet,"
                        + " ma macaddr, mo money, bi bit(4), bv varbit, x xml, pt point, ts2 tsvector, oi oid, rc regclass, na name, c \"char\")");
        replicate(
                "INSERT INTO t (id) VALUES (0)",
                "INSERT INTO t VALUES (1, true, 32767, 2147483647, 9223372036854775807, 3.4028235e38, 1.7976931348623157e308, 1e-30, 12345.678,"
                        + " 'a', 'ä\"b\"\\ ,()', E'tab\\tline\\n''', '\\x00ff22', '9999-12-31', '23:59:59.999999', '9999-12-31 23:59:59.999999',"
                        + " '2020-02-29 12:00+05', '12:00+02', '1 year 2 mons -3 days 04:05:06.7', '12345678-9abc-def0-1234-56789abcdef0',"
                        + " '{\"a\":  [1, null]}', '{\"b\": \"\\\"\"}', '{1,NULL,3}', '{\"a,b\",\"\",NULL,\"\\\"\"}', 'it''s \"ok\"', '(1,\"x,\")', 1.50,"
                        + " '[1,5)', '10.0.0.1/8', '08:00:2b:01:02:03', '12.34', B'1010', B'10101', '<a b=\"c\">d</a>', '(1.5,2)',"
                        + " to_tsvector('a fat cat'), 7, 'pg_class', 'n', 'x')",
                "INSERT INTO t (id, bo, f4, f8, n, ch, vc, tx, by, d, ti, ts, tz) VALUES"
                        + " (2, false, 'NaN', '-Infinity', 'NaN', '', '', '', '', 'infinity', '24:00', '-infinity', 'infinity'),"
                        + " (3, false, '-0', 0.1, -0.00, 'abcde', ' ', '  ', '\\x20', '0044-03-15 BC', '00:00', '0001-01-01 00:00:00 BC', '4713-01-01 BC'),"
                        + " (4, null, 1e-37, 5e-324, 123456789012345678901234567890.123456789, null, null, repeat('x', 70000), decode(repeat('00', 90000), 'hex'),"
                        + " '12345-01-02', null, '294276-12-31 23:59:59', null)");
        replicate(
                "UPDATE t SET i4 = id, tx = NULL, d = NULL WHERE id > 0", "UPDATE t SET n = 1.00, pr = 3 WHERE id = 1");
        replicate("DELETE FROM t WHERE id IN (0, 4)");
        assertThat(rows(replica)).hasSize(3);
    }

    @Test
    void settingsOfTheClientDoNotMatter() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, d date, ts timestamptz, iv interval, f float8, b bytea, r regclass)");
        replicate(
                "SET datestyle TO 'ISO, DMY'",
                "SET timezone TO 'Asia/Tokyo'",
                "SET intervalstyle TO iso_8601",
                "SET extra_float_digits TO 0",
                "SET bytea_output TO escape",
                "SET search_path TO public, pg_catalog",
                "INSERT INTO t VALUES (1, '01-02-2003', '2020-01-01 00:00', '1 day 2 hours', 0.1 + 0.2, '\\x00ff', 't')");
    }

    @Test
    void keysOfEveryKind() throws SQLException {
        define(
                "CREATE SCHEMA \"my schema\"",
                "CREATE TABLE \"my schema\".\"a \"\"table\"\"\" (\"the key\" text, v integer, \"Ä\" date, PRIMARY KEY (\"Ä\", \"the key\"))",
                "CREATE TABLE ch (c char(5) PRIMARY KEY, n numeric(9, 3) UNIQUE)",
                "CREATE TABLE g (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a integer, twice integer GENERATED ALWAYS AS (a * 2) STORED, b text)",
                "CREATE TABLE f (x float8 PRIMARY KEY, u uuid UNIQUE, e text)",
                "CREATE UNIQUE INDEX ON f (lower(e))",
                "CREATE TABLE part (id integer, k text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
                "CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a')",
                "CREATE TABLE part_b PARTITION OF part FOR VALUES IN ('b')",
                "CREATE TABLE log (a integer)");
        replicate(
                "INSERT INTO \"my schema\".\"a \"\"table\"\"\" VALUES ('x', 1, '2020-01-01'), ('y', 2, '2020-01-01')",
                "INSERT INTO ch VALUES ('a', 1), ('b ', 2)",
                "INSERT INTO g (a, b) VALUES (5, 'five'), (6, NULL)",
                "INSERT INTO f VALUES (0.1, NULL, 'E'), ('-0', gen_random_uuid(), NULL)",
                "INSERT INTO part VALUES (1, 'a'), (2, 'b')",
                "INSERT INTO log VALUES (1), (1)");
        replicate(
                "UPDATE \"my schema\".\"a \"\"table\"\"\" SET v = v + 1, \"the key\" = \"the key\" || '''' WHERE v = 1",
                "UPDATE ch SET n = n + 10, c = 'c' WHERE c = 'a'",
                "UPDATE g SET a = a + 1",
                "UPDATE f SET e = 'new'  WHERE x = 0.1",
                "UPDATE part SET k = 'b' WHERE id = 1",
                "DELETE FROM ch WHERE c = 'b'");
        assertThatThrownBy(() -> execute("DELETE FROM log"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                .hasMessageContaining("no primary key");
    }

    @Test
    void rowsThatMayShareTheirKeyAreNotChanged() throws SQLException {
        define("CREATE TABLE t (id integer CONSTRAINT pk PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, a integer)");
        replicate("INSERT INTO t VALUES (1, 1)");
        for (String change : List.of("UPDATE t SET a = 2", "DELETE FROM t")) {
            assertThatThrownBy(() -> execute("INSERT INTO t VALUES (1, 1)", change))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                    .hasMessageContaining("primary key pk is DEFERRABLE");
        }
        try (Connection connection = origin.server().connect("")) {
            assertThat(Installation.findings(connection)).singleElement().satisfies(finding -> {
                assertThat(finding.obstacle()).isTrue();
                assertThat(finding.object()).isEqualTo("table public.t");
                assertThat(finding.problem()).contains("primary key pk is DEFERRABLE");
                define(finding.fix());
            });
            assertThat(Installation.findings(connection)).isEmpty();
        }
        replicate("UPDATE t SET a = 2", "DELETE FROM t");
    }

    @Test
    void whatIsDroppedOrTruncatedWithinAFunctionIsRefused() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY)");
        try (Connection connection = session(origin);
                Statement statement = connection.createStatement()) {
            statement.execute("SET gorda.known TO ''"); // as it is but for the commit
            connection.commit();
            for (String sql : List.of("DROP TABLE t", "TRUNCATE t")) {
                assertThatThrownBy(() -> statement.execute("DO 'BEGIN " + sql + "; END'"))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
                connection.rollback();
            }
        }
    }

    @Test
    void whatWasTakenBackIsNotTold() throws SQLException {
        define(
                "CREATE TABLE p (id integer PRIMARY KEY)",
                "CREATE TABLE c (id integer PRIMARY KEY, p integer REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE)");
        replicate("INSERT INTO p VALUES (1), (2), (3)", "INSERT INTO c VALUES (1, 1), (2, 2), (3, 3)");
        replicate(
                "UPDATE p SET id = 20 WHERE id = 2",
                "SAVEPOINT s",
                "DELETE FROM p",
                "ROLLBACK TO s",
                "DELETE FROM p WHERE id = 1",
                "DO 'BEGIN INSERT INTO p VALUES (9); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END'");
        assertThat(rows(replica)).hasSize(4);
    }

    /** Also those of functions and triggers of what the statement that called them has changed, too. */
    @Test
    void changesAreToldInTheOrderInWhichTheyAreMade() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, a text, u integer UNIQUE)",
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CASE new.a"
                        + " WHEN 'goes' THEN DELETE FROM t WHERE id = new.id;"
                        + " WHEN 'again' THEN DELETE FROM t WHERE id = new.id; INSERT INTO t VALUES (new.id, 'once more', new.u);"
                        + " WHEN 'more' THEN UPDATE t SET a = 'more and more' WHERE id = new.id;"
                        + " WHEN 'back' THEN UPDATE t SET a = old.a WHERE id = new.id;"
                        + " WHEN 'frees' THEN INSERT INTO t VALUES (new.id + 100, 'takes', old.u);"
                        + " WHEN 'all' THEN UPDATE t SET a = concat(a, new.id) WHERE a LIKE 'all%';"
                        + " ELSE NULL; END CASE; RETURN NULL; END $$",
                "CREATE TRIGGER a AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
                "CREATE FUNCTION sets(integer) RETURNS void LANGUAGE plpgsql SET search_path = public SET work_mem = '1MB' AS $$ BEGIN"
                        + " INSERT INTO t VALUES ($1, 'in', $1); BEGIN UPDATE t SET a = 'out'; RAISE division_by_zero;"
                        + " EXCEPTION WHEN division_by_zero THEN UPDATE t SET a = 'caught' WHERE id = $1; END; END $$",
                "CREATE TABLE self (id integer PRIMARY KEY, parent integer REFERENCES self ON UPDATE CASCADE ON DELETE CASCADE)");
        replicate(
                "INSERT INTO t VALUES (1, 'stays', 1), (2, 'goes', 2), (3, 'again', 3), (4, 'more', 4), (5, 'first', 5)");
        replicate("UPDATE t SET a = 'back' WHERE id = 5");
        replicate("UPDATE t SET a = 'frees', u = 100 WHERE id = 1");
        replicate("UPDATE t SET a = 'all' WHERE id IN (3, 4, 5)");
        replicate("DELETE FROM t WHERE id = 3", "INSERT INTO t SELECT 3, a, u FROM t WHERE id = 4 AND false");
        replicate("UPDATE t SET a = 'goes'");
        assertThat(rows(replica)).isEmpty();
        replicate(
                "INSERT INTO t VALUES (1, 'before', 1)", "SELECT sets(2)", "SELECT sets(3)", "UPDATE t SET u = u + 10");
        replicate("DELETE FROM t");
        replicate("INSERT INTO self VALUES (1, 1), (2, 1), (3, 2)");
        replicate("UPDATE self SET id = id + 10");
        assertThat(rows(replica)).hasSize(3);
        replicate("DELETE FROM self WHERE id = 11");
        assertThat(rows(replica)).isEmpty();
        replicate(
                "INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN 'goes' WHEN 1 THEN 'more' ELSE repeat('x', 500) END, i FROM generate_series(1, 300) i",
                "DO $$ BEGIN UPDATE t SET a = 'goes'; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END $$",
                "SAVEPOINT s",
                "UPDATE t SET a = repeat('y', 500)",
                "ROLLBACK TO s",
                "UPDATE t SET a = 'more' WHERE id % 3 = 2");
        assertThat(rows(replica)).hasSize(200);
    }

    @Test
    void generatorsGoOnBehindWhatOthersHaveGiven() throws SQLException {
        define(
                "CREATE TABLE t (id integer GENERATED ALWAYS AS IDENTITY (START WITH 1000 INCREMENT BY -5 MAXVALUE 1000) PRIMARY KEY, n serial)",
                "CREATE SEQUENCE s START 7",
                "CREATE SEQUENCE unused");
        replicate("INSERT INTO t VALUES (DEFAULT), (DEFAULT)", "SELECT nextval('s')");
        replica.takeOver();
        try (Connection connection = session(replica)) {
            assertThat(SqlSession.of(connection)
                            .query("INSERT INTO t VALUES (DEFAULT) RETURNING id, n, nextval('s'), nextval('unused')"))
                    .containsExactly(List.of("990", "3", "8", "1"));
        }
    }

    /** What a transaction of one statement does to keys, the same key by the same number throughout. */
    private List<String> keys(List<Long> known, String sql) throws SQLException {
        WriteSet writeSet = execute(sql);
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < writeSet.keys(); i++) {
            if (!known.contains(writeSet.keyHash(i))) {
                known.add(writeSet.keyHash(i));
            }
            keys.add(writeSet.keyMode(i) + " " + known.indexOf(writeSet.keyHash(i)));
        }
        return keys;
    }

    @Test
    void keysOfIndexesThatComputeOrCompareInTheirOwnWayStandForAllRows() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, u integer UNIQUE, e text, n integer, iv interval UNIQUE)",
                "CREATE UNIQUE INDEX i ON t (lower(e))",
                "CREATE UNIQUE INDEX j ON t (n) WHERE n > 5");
        List<Long> known = new ArrayList<>();
        assertThat(keys(known, "INSERT INTO t VALUES (1, NULL, 'E', 1)"))
                .as("the primary key, both indexes; NULL is equal to nothing, but the interval's key has no value")
                .containsExactly("WRITTEN 0", "WRITTEN 1", "WRITTEN 2", "WRITTEN 3");
        assertThat(keys(known, "INSERT INTO t VALUES (2, 7, 'F', 2)"))
                .containsExactlyInAnyOrder("WRITTEN 1", "WRITTEN 2", "WRITTEN 3", "WRITTEN 4", "WRITTEN 5");
        assertThat(keys(known, "UPDATE t SET u = 8 WHERE id = 2"))
                .contains("WRITTEN 4", "REMOVED 5", "REMOVED 1", "WRITTEN 1");
        define(
                "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE c (id integer PRIMARY KEY, a text)",
                "CREATE UNIQUE INDEX k ON c (a COLLATE any_case)");
        List<Long> others = new ArrayList<>();
        assertThat(keys(others, "INSERT INTO c VALUES (1, 'a')")).containsExactly("WRITTEN 0", "WRITTEN 1");
        assertThat(keys(others, "INSERT INTO c VALUES (2, 'B')")).contains("WRITTEN 1");
    }

    @Test
    void whatFunctionsChangeWithinAStatementIsToldInItsPlace() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, a integer)",
                "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
                "CREATE FUNCTION others() RETURNS trigger LANGUAGE plpgsql AS"
                        + " 'BEGIN IF NEW.a = 20 THEN UPDATE t SET a = 100 WHERE id < NEW.id; END IF;"
                        + " IF NEW.a = 30 THEN DELETE FROM t WHERE id = NEW.id - 1; END IF; RETURN NEW; END'",
                "CREATE TRIGGER tr BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION others()",
                "CREATE FUNCTION before(integer) RETURNS integer LANGUAGE plpgsql AS"
                        + " 'BEGIN UPDATE t SET a = a + 100 WHERE id < $1; RETURN $1; END'");
        replicate("UPDATE t SET a = a * 10");
        replicate("INSERT INTO t VALUES (5, 1), (6, 20)");
        replicate("INSERT INTO t VALUES (7, 1), (8, 30)");
        replicate("UPDATE t SET a = before(id)");
        replicate("UPDATE t SET a = before(3) WHERE id < 2 AND false", "DELETE FROM t WHERE id = before(2)");
    }

    @Test
    void uniqueKeysChangePlaces() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, u integer UNIQUE, w integer UNIQUE DEFERRABLE)",
                "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)");
        replicate(
                "UPDATE t SET u = -1 WHERE id = 1",
                "UPDATE t SET u = 1 WHERE id = 2",
                "UPDATE t SET u = 2 WHERE id = 1",
                "UPDATE t SET w = 4 - w",
                "DELETE FROM t WHERE id = 3",
                "INSERT INTO t VALUES (3, 7, 7)");
    }

    @Test
    void whoeverIsNotOfTheReplicaIsRefused() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY)", "CREATE UNLOGGED TABLE ul (id integer PRIMARY KEY)");
        try (Connection stranger = origin.server().connect("");
                Statement statement = stranger.createStatement()) {
            assertThatThrownBy(() -> statement.execute("INSERT INTO public.t VALUES (1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("GW002"))
                    .hasMessageContaining("replica");
            assertThatThrownBy(() -> statement.execute("INSERT INTO public.ul VALUES (1)"))
                    .hasMessageContaining("cannot be replicated");
        }
        Connection before = session(origin);
        try (Statement statement = before.createStatement()) {
            String insert = positionInsert(new StoredPosition(1, 2, 3, 4));
            statement.execute("PREPARE kept AS " + insert);
            before.commit();
            statement.execute("INSERT INTO t VALUES (1)");
            statement.execute("SET CONSTRAINTS ALL IMMEDIATE");
            statement.execute("SAVEPOINT s");
            origin.close();
            origin = open("origin");
            for (String late : List.of(insert, "EXECUTE kept")) {
                assertThatThrownBy(() -> statement.execute(late))
                        .as("a commit that was under way when the replica was opened anew")
                        .hasMessageContaining("opened");
                statement.execute("ROLLBACK TO s");
            }
        }
        before.close();
    }

    @Test
    void divergenceIsNamed() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY, a integer)", "INSERT INTO t VALUES (1, 1), (2, 2)");
        try (Connection connection = session(replica);
                Statement statement = connection.createStatement()) {
            statement.execute("DELETE FROM t WHERE id = 2");
            connection.commit();
        }
        applier.apply(execute("UPDATE t SET a = 3"));
        assertThatThrownBy(() -> applier.commit(new StoredPosition(1, 2, 3, index), false))
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("\"t\" key (2)");
        applier.rollback();
        applier.apply(execute("INSERT INTO t VALUES (3, 3)"));
        applier.rollback();
        WriteSet inserts = execute("INSERT INTO t VALUES (4, 4)");
        for (int time = 1; time <= 2; time++) {
            applier.apply(inserts);
        }
        assertThatThrownBy(() -> applier.commit(new StoredPosition(1, 2, 3, index), false))
                .isInstanceOf(DivergenceException.class);
        applier.rollback();
    }

    @Test
    void whoHoldsLocksThatTheApplierNeedsIsEnded() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY, a integer)", "INSERT INTO t VALUES (1, 1), (2, 2)");
        try (Connection stranger = TestServer.connect(replica.server().database());
                Statement statement = stranger.createStatement()) {
            stranger.setAutoCommit(false);
            statement.execute("UPDATE t SET a = 7 WHERE id = 2");
            replicate("UPDATE t SET a = 3");
            assertThatThrownBy(() -> statement.execute("SELECT 1")).isInstanceOf(SQLException.class);
        }
    }

    /** As a subscriber's first copy is; and who is called as we are is not us. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void whoHoldsLocksThatASchemaChangeNeedsIsEndedWhateverItIs() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY)");
        List<Map<String, String>> kinds = List.of(
                Map.of("replication", "database", "preferQueryMode", "simple", "assumeMinServerVersion", "14"),
                Map.of("ApplicationName", "gorda"));
        for (int i = 0; i < kinds.size(); i++) {
            Properties kind = new Properties();
            kind.putAll(kinds.get(i));
            try (Connection stranger = DriverManager.getConnection(
                            TestServer.url(replica.server().database()), kind);
                    Statement statement = stranger.createStatement()) {
                statement.execute("BEGIN");
                statement.execute("LOCK TABLE public.t IN ACCESS SHARE MODE");
                applySchemaChange("ALTER TABLE t ADD COLUMN a" + i + " integer");
                assertThatThrownBy(() -> statement.execute("SELECT 1")).isInstanceOf(SQLException.class);
            }
        }
    }

    /** It has locks, for as long as its client takes to read what it returns. */
    @Test
    void whoReadsWithoutATransactionMakesWay() throws Exception {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY)",
                "CREATE VIEW slow AS SELECT t.id, pg_sleep(60)::text FROM t",
                "CREATE VIEW large AS SELECT t.id, repeat('x', 1000000) FROM t, generate_series(1, 100)");
        replicate("INSERT INTO t VALUES (1)");
        String url = replica.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null);
        String port = url.substring(url.lastIndexOf(':') + 1, url.lastIndexOf('/'));
        try (Connection client = DriverManager.getConnection(url + "?user=postgres");
                Statement statement = client.createStatement();
                Socket deaf = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(port))) {
            Future<?> report = CompletableFuture.runAsync(() -> {
                try {
                    statement.executeQuery("SELECT * FROM slow");
                } catch (SQLException e) {
                    throw new CompletionException(e);
                }
            });
            awaitWaiting("PgSleep");
            applySchemaChange("ALTER TABLE t ADD COLUMN a integer");
            assertThatThrownBy(report::get)
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            assertThat(statement.executeQuery("SELECT id, a FROM t").next()).isTrue();

            String database = replica.server().database();
            byte[] startup = ("user\0postgres\0database\0" + database + "\0\0").getBytes(UTF_8);
            byte[] query = "TABLE large\0".getBytes(UTF_8);
            deaf.getOutputStream()
                    .write(ByteBuffer.allocate(13 + startup.length + query.length)
                            .putInt(8 + startup.length)
                            .putInt(196608)
                            .put(startup)
                            .put((byte) 'Q')
                            .putInt(4 + query.length)
                            .put(query)
                            .array());
            awaitWaiting("ClientWrite");
            applySchemaChange("ALTER TABLE t ADD COLUMN b integer");
        }
    }

    private static void awaitWaiting(String event) throws SQLException {
        try (Connection outside = TestServer.connect("postgres")) {
            SqlSession looks = SqlSession.of(outside);
            Awaitility.await("a session waits: " + event)
                    .atMost(Duration.ofMinutes(1))
                    .until(() ->
                            looks.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = '" + event + "'")
                                    > 0);
        }
    }

    /** As a dump does, for as long as it takes. */
    @Test
    void whoHoldsLocksThatTheOpeningNeedsIsEnded() throws Exception {
        origin.close();
        try (Connection stranger = TestServer.connect(origin.server().database());
                Statement statement = stranger.createStatement()) {
            stranger.setAutoCommit(false);
            statement.execute("LOCK TABLE gorda.described, gorda.position, gorda.aside IN ACCESS SHARE MODE");
            origin = CompletableFuture.supplyAsync(() -> open("origin")).get(30, TimeUnit.SECONDS);
            assertThatThrownBy(() -> statement.execute("SELECT 1")).isInstanceOf(SQLException.class);
        }
        define("CREATE TABLE t (id integer PRIMARY KEY)");
        replicate("INSERT INTO t VALUES (1)");
    }

    @Test
    void positionsOutliveClosingAndAreFewAfterAFlush() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY)");
        for (int i = 0; i < 5; i++) {
            replicate("INSERT INTO t VALUES (" + i + ")");
        }
        assertThat(replica.flush()).contains(new StoredPosition(1, 2, 3, 5));
        try (Connection connection = replica.server().connect("")) {
            assertThat(SqlSession.of(connection)
                            .query("SELECT count(*) FROM gorda.position")
                            .get(0)
                            .get(0))
                    .isEqualTo("1");
        }
        replica.close();
        replica = open("replica");
        assertThat(replica.storedPosition()).contains(new StoredPosition(1, 2, 3, 5));
        assertThatThrownBy(() -> open("replica")).hasMessageContaining("open already");
        applier = (PostgresApplier) replica.applier();
        assertThatThrownBy(() -> applier.commit(new StoredPosition(1, 2, 3, 5), false))
                .isInstanceOf(IllegalArgumentException.class);
        replicate("INSERT INTO t VALUES (5)");
    }

    /** Positions that were deleted stay where they were for as long as somebody may see them. */
    @Test
    void flushesPassOverNoPositionsThatWereDeletedBesideALongTransaction() throws SQLException {
        int flushes = 300;
        int stored = 20_000;
        try (Connection reader = TestServer.connect(origin.server().database())) {
            reader.setAutoCommit(false);
            reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            SqlSession.of(reader).query("SELECT 1");
            storePositions(stored);
            origin.flush();
            origin.close();
            long before = blocksOfPositions(stored);
            origin = open("origin");
            for (int i = 0; i < flushes; i++) {
                storePositions(1);
                origin.flush();
            }
            origin.close();
            assertThat((blocksOfPositions(before + flushes) - before) / flushes).isLessThan(60);
        }
    }

    private void storePositions(int count) throws SQLException {
        try (Connection connection = session(origin);
                Statement statement = connection.createStatement()) {
            for (int i = 0; i < count; i++) {
                statement.addBatch(positionInsert(new StoredPosition(1, 2, 3, ++index)));
            }
            statement.executeBatch();
            connection.commit();
        }
    }

    /** Sessions tell of what they have read when they end, or a moment later, not all at once; each change is a block at least. */
    private long blocksOfPositions(long atLeast) throws SQLException {
        try (Connection outside = TestServer.connect(origin.server().database())) {
            SqlSession looks = SqlSession.of(outside);
            Awaitility.await("all sessions have ended but this one and the reader's")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> looks.number("SELECT count(*) FROM pg_stat_activity"
                                    + " WHERE datname = current_database() AND backend_type = 'client backend'")
                            == 2);
            AtomicLong blocks = new AtomicLong();
            Awaitility.await("they have told")
                    .pollInterval(Duration.ofSeconds(2))
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> {
                        long now = looks.number("SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit"
                                + " FROM pg_statio_user_tables WHERE relid = 'gorda.position'::regclass");
                        return blocks.getAndSet(now) == now && now >= atLeast;
                    });
            return blocks.get();
        }
    }

    /** Here both databases are in one server, as is the one that a backup is to have. */
    @Test
    void rolesThatTheServerHasAlreadyStopNoReplica() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY)");
        TestServer.execute("DROP ROLE IF EXISTS clerk");
        TestServer.execute("CREATE ROLE clerk");
        try {
            applySchemaChange("create  user\nclerk PASSWORD 'other'");
            applySchemaChange("GRANT SELECT ON t TO clerk");
            applySchemaChange("DROP ROLE clerk");
            try (Connection connection = session(replica)) {
                assertThat(SqlSession.of(connection)
                                .query("SELECT rolcanlogin, has_table_privilege('clerk', 't', 'SELECT') FROM pg_roles"
                                        + " WHERE rolname = 'clerk'"))
                        .containsExactly(List.of("f", "t"));
            }
            applySchemaChange("REVOKE SELECT ON t FROM clerk");
            applySchemaChange("DROP ROLE clerk");
            applySchemaChange("DROP GROUP clerk");
            assertThatThrownBy(() -> applySchemaChange("CREATE ROLE clerk IN ROLE t"))
                    .isInstanceOf(DivergenceException.class);
            applier.rollback();
        } finally {
            TestServer.execute("DROP ROLE IF EXISTS clerk");
        }
    }

    private void applySchemaChange(String sql) throws SQLException {
        WriteSetWriter writer = origin.newWriter();
        try (Connection connection = session(origin)) {
            writer.statement("postgres", "", SessionSettings.of(SqlSession.of(connection)), sql, List.of());
        }
        applier.apply(WriteSet.decode(writer.finish().bytes(), Content.EMPTY));
        applier.commit(new StoredPosition(1, 2, 3, ++index), false);
    }

    @Test
    void snapshotsHaveTheRowsTheSchemaAndThePosition() throws SQLException {
        TestServer.execute("DO 'BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END'");
        define(
                "CREATE TYPE mood AS ENUM ('sad', 'ok')",
                "CREATE DOMAIN price AS numeric(9, 2) DEFAULT 1 CHECK (value > 0)",
                "CREATE SEQUENCE s START 5 INCREMENT 3",
                "CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT n * 2'",
                "CREATE FUNCTION fits(n integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN twice(n) > n; END'",
                "CREATE TYPE span AS RANGE (subtype = float8)",
                "CREATE TABLE p (id integer PRIMARY KEY, m mood DEFAULT 'ok', a integer DEFAULT nextval('s') CHECK (fits(a)), b text COLLATE \"C\","
                        + " r span DEFAULT '[1,2)')",
                "CREATE TABLE c (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n serial, p integer REFERENCES p ON DELETE CASCADE,"
                        + " pr price, g integer GENERATED ALWAYS AS (p + 1) STORED, CONSTRAINT positive CHECK (p > 0), UNIQUE (p, pr))",
                "CREATE INDEX by_twice ON c (twice(p)) WHERE p > 1",
                "CREATE VIEW later AS SELECT p.b, c.pr FROM p JOIN c ON c.p = p.id",
                "CREATE TABLE part (id integer, k text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
                "CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a')",
                "CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.b := coalesce(NEW.b, ''none''); RETURN NEW; END'",
                "CREATE TRIGGER tr BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION tr()",
                "CREATE TABLE base (a integer, b integer CONSTRAINT own CHECK (b > 0), c integer)",
                "CREATE TABLE heir (b integer CONSTRAINT own CHECK (b > 0), d integer) INHERITS (base)",
                "CREATE TYPE pair AS (a integer, b text)",
                "CREATE TABLE pairs OF pair (PRIMARY KEY (a))",
                "ALTER TABLE pairs REPLICA IDENTITY USING INDEX pairs_pkey, CLUSTER ON pairs_pkey",
                "ALTER TABLE c REPLICA IDENTITY FULL",
                "CREATE POLICY \"Some\" ON pairs AS RESTRICTIVE FOR UPDATE TO reader, postgres USING (a > 1) WITH CHECK (b <> current_user)",
                "CREATE POLICY every ON pairs FOR INSERT WITH CHECK (true)",
                "ALTER TABLE pairs ENABLE ROW LEVEL SECURITY",
                "COMMENT ON COLUMN p.b IS 'a text'",
                "GRANT SELECT, UPDATE (b) ON p TO reader WITH GRANT OPTION");
        replicate(
                "INSERT INTO p (id) VALUES (1)",
                "INSERT INTO p VALUES (2, 'sad', 7, E'a\\tb\\\\')",
                "INSERT INTO c (p, pr) VALUES (1, 2.5), (2, NULL)",
                "INSERT INTO part VALUES (1, 'a')");
        Path snapshot = directory.resolve("snapshot");
        origin.snapshot(snapshot);
        replicate("INSERT INTO p VALUES (3)");
        PostgresBinding binding = new PostgresBinding();
        binding.load(snapshot, TestServer.configuration(directory, "copy"));
        PostgresDatabase copy = open("copy");
        try {
            assertThat(copy.storedPosition()).contains(new StoredPosition(1, 2, 3, index - 1));
            assertThat(copy.tables()).isEqualTo(origin.tables());
            assertThat(schema(copy)).isEqualTo(schema(origin));
            assertThat(rows(copy)).hasSize(5).isSubsetOf(rows(origin));
            for (PostgresDatabase database : List.of(origin, copy)) {
                try (Connection connection = session(database)) {
                    SqlSession session = SqlSession.of(connection);
                    session.query("ALTER TABLE base DROP COLUMN c, DROP COLUMN b");
                    assertThat(session.query("SELECT column_name FROM information_schema.columns"
                                    + " WHERE table_name = 'heir' ORDER BY ordinal_position"))
                            .containsExactly(List.of("a"), List.of("b"), List.of("d"));
                }
            }
        } finally {
            copy.close();
        }
    }

    /** What makes a table's file anew leaves nothing in it for who began to read before. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "ALTER TABLE t ALTER x TYPE bigint",
                "TRUNCATE t",
                "ALTER TABLE t RENAME TO old; CREATE TABLE t (id integer PRIMARY KEY, x integer)"
            })
    void noTableIsCopiedWithoutItsRowsThatIsMadeAnewMeanwhile(String change) throws Exception {
        define("CREATE TABLE b (id integer PRIMARY KEY)", "CREATE TABLE t (id integer PRIMARY KEY, x integer)");
        replicate("INSERT INTO t VALUES (1, 2), (3, 4)");
        FrozenRows frozen = origin.freeze(directory.resolve("frozen"));
        Path snapshot = directory.resolve("snapshot");
        CompletableFuture<Void> copy;
        try (Connection stranger = session(origin);
                Connection changes = session(origin)) {
            SqlSession.of(stranger).query("LOCK TABLE b IN ACCESS EXCLUSIVE MODE");
            copy = CompletableFuture.runAsync(() -> origin.snapshot(snapshot));
            Awaitility.await("the copy comes to b")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> !SqlSession.of(stranger)
                            .query("SELECT 1 FROM pg_locks WHERE relation = 'b'::regclass AND NOT granted")
                            .isEmpty());
            try (Statement statement = changes.createStatement()) {
                statement.execute(change);
            }
            changes.commit();
            stranger.rollback();
        }
        assertThatThrownBy(copy::get).hasMessageContaining("\"t\" was made anew while it was copied");
        assertThat(snapshot).doesNotExist();
        SqlSession.of(frozen.connection()).query("SELECT * FROM public.b, public.t");
        assertThatThrownBy(frozen::close).hasMessageContaining("\"t\" was made anew while it was copied");
        origin.snapshot(snapshot);
    }

    /** The server tells of what was dropped or renamed since as it is now, whatever a transaction sees: a schema of two moments could not be made anywhere. */
    @ParameterizedTest
    @ValueSource(strings = {"DROP VIEW seen", "DROP INDEX below", "DROP SEQUENCE z", "DROP TABLE t CASCADE"})
    void aSchemaThatIsChangedWhileItIsReadForACopyIsReadAgain(String change) throws Exception {
        Path snapshot = directory.resolve("snapshot");
        CompletableFuture<Void> copy = copyWhile(change, snapshot);
        copy.get();
        new PostgresBinding().load(snapshot, TestServer.configuration(directory, "copy"));
        PostgresDatabase loaded = open("copy");
        try {
            assertThat(schema(loaded)).isEqualTo(schema(origin));
            assertThat(rows(loaded)).isEqualTo(rows(origin));
        } finally {
            loaded.close();
        }
    }

    @Test
    void whatACopyDoesNotFindAnyMoreIsTold() throws Exception {
        CompletableFuture<Void> copy = copyWhile("ALTER TABLE t RENAME COLUMN x TO y", directory.resolve("snapshot"));
        assertThatThrownBy(copy::get).hasMessageContaining("\"t\" was changed before it was copied");
    }

    /** Makes a change when the schema is being read. */
    private CompletableFuture<Void> copyWhile(String change, Path snapshot) throws SQLException {
        define(
                "CREATE TABLE first (id serial PRIMARY KEY)",
                "CREATE SEQUENCE z",
                "CREATE TABLE t (id integer PRIMARY KEY, x integer CHECK (x > 0))",
                "CREATE INDEX below ON t (x)",
                "CREATE VIEW seen AS SELECT x FROM t");
        replicate("INSERT INTO first VALUES (1)");
        CompletableFuture<Void> copy;
        try (Connection stranger = session(origin);
                Connection changes = session(origin);
                Statement statement = changes.createStatement()) {
            SqlSession.of(stranger).query("DROP TABLE first");
            copy = CompletableFuture.runAsync(() -> origin.snapshot(snapshot));
            Awaitility.await("the copy comes to what is being dropped")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> !SqlSession.of(changes)
                            .query("SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database"
                                    + " WHERE datname = current_database() AND NOT granted")
                            .isEmpty());
            statement.execute(change);
            changes.commit();
            stranger.rollback();
        }
        return copy;
    }

    /** Who has told how far a generator is keeps nobody from giving it another name before that is ordered. */
    @Test
    void aGeneratorMayHaveAnotherNameSinceItWasTold() throws SQLException {
        define(
                "CREATE TABLE t (id serial PRIMARY KEY)",
                "CREATE SEQUENCE s",
                "CREATE TABLE x (id integer PRIMARY KEY)");
        try (Connection another = session(origin)) {
            SqlSession.of(another).query("SELECT nextval('t_id_seq'), nextval('s')");
            another.rollback();
        }
        WriteSet told = execute("INSERT INTO x VALUES (1)");
        define("ALTER TABLE t RENAME TO u", "ALTER SEQUENCE s RENAME TO r");
        applier.apply(told);
        applier.commit(new StoredPosition(1, 2, 3, index), false);
        replicate("INSERT INTO u DEFAULT VALUES");
        try (Connection connection = session(replica)) {
            assertThat(SqlSession.of(connection).query("SELECT nextval('t_id_seq'), nextval('r')"))
                    .containsExactly(List.of("3", "2"));
        }
    }

    @Test
    void snapshotsHaveSequencesWhereTheyAre() throws SQLException {
        define(
                "CREATE SEQUENCE restarted",
                "ALTER SEQUENCE restarted RESTART WITH 1000000",
                "CREATE SEQUENCE \"Called\" INCREMENT -2",
                "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
                "ALTER TABLE t ALTER id RESTART WITH 500");
        execute("SELECT nextval('\"Called\"')", "SELECT nextval('\"Called\"')");
        Path snapshot = directory.resolve("snapshot");
        origin.snapshot(snapshot);
        new PostgresBinding().load(snapshot, TestServer.configuration(directory, "copy"));
        PostgresDatabase copy = open("copy");
        try (Connection connection = session(copy)) {
            SqlSession session = SqlSession.of(connection);
            assertThat(session.query("SELECT nextval('restarted'), nextval('\"Called\"')"))
                    .containsExactly(List.of("1000000", "-5"));
            assertThat(session.query("INSERT INTO t DEFAULT VALUES RETURNING id"))
                    .containsExactly(List.of("500"));
        } finally {
            copy.close();
        }
    }

    /** As PostGIS does; some may have been changed since. */
    @Test
    void snapshotsHaveTheRowsThatAnExtensionHasBrought() throws SQLException {
        List<String> files = new ArrayList<>();
        try (Connection server = TestServer.connect("postgres")) {
            String share = SqlSession.of(server)
                    .query("SELECT setting FROM pg_config WHERE name = 'SHAREDIR'")
                    .get(0)
                    .get(0);
            Map<String, String> contents = Map.of(
                    "gorda_places.control",
                    "default_version = ''1''",
                    "gorda_places--1.sql",
                    "CREATE TABLE places (id integer PRIMARY KEY, name text); INSERT INTO places VALUES (1, ''here''), (2, ''there'');");
            for (Map.Entry<String, String> file : contents.entrySet()) {
                files.add(share + "/extension/" + file.getKey());
                SqlSession.of(server)
                        .query("COPY (SELECT '" + file.getValue() + "') TO '" + share + "/extension/" + file.getKey()
                                + "'");
            }
        }
        try {
            define("CREATE EXTENSION gorda_places");
            replicate("UPDATE places SET name = 'elsewhere' WHERE id = 2", "INSERT INTO places VALUES (3, 'nowhere')");
            Path snapshot = directory.resolve("snapshot");
            origin.snapshot(snapshot);
            new PostgresBinding().load(snapshot, TestServer.configuration(directory, "copy"));
            PostgresDatabase copy = open("copy");
            try {
                assertThat(rows(copy)).isEqualTo(rows(origin)).hasSize(3);
            } finally {
                copy.close();
            }
        } finally {
            for (String file : files) {
                TestServer.execute("COPY (SELECT 1) TO PROGRAM 'rm " + file + "'");
            }
        }
    }

    /** But for how far generators have come. */
    private static List<String> schema(PostgresDatabase database) throws SQLException {
        try (Connection connection = database.server().connect("")) {
            return SqlSession.of(connection).query(Installation.script("schema.sql")).stream()
                    .map(row -> row.get(3))
                    .filter(sql -> !sql.startsWith("select setval"))
                    .sorted()
                    .toList();
        }
    }

    private String positionInsert(StoredPosition position) {
        return origin.rowOf(position).stream()
                .map(PostgresDatabase::literal)
                .collect(Collectors.joining(", ", "INSERT INTO gorda.position VALUES (", ")"));
    }

    @Test
    void keysOfExtensionsTypesAreFound() throws SQLException {
        define(
                "CREATE SCHEMA \"Their's\"",
                "CREATE EXTENSION ltree SCHEMA \"Their's\"",
                "CREATE EXTENSION citext",
                "CREATE TABLE paths (path \"Their's\".ltree PRIMARY KEY, n int)",
                "CREATE TABLE names (name citext, n int, PRIMARY KEY (name, n))");
        replicate("INSERT INTO paths VALUES ('a.b', 1), ('a.c', 2)", "INSERT INTO names VALUES ('Ann', 1), ('Bob', 2)");
        replicate(
                "SET LOCAL search_path TO public, \"Their's\"",
                "UPDATE paths SET n = 3 WHERE path = 'a.b'",
                "DELETE FROM paths WHERE path = 'a.c'",
                "UPDATE names SET name = 'BOB' WHERE name = 'bob'",
                "DELETE FROM names WHERE name = 'ANN'");
        assertThat(rows(replica)).hasSize(2);
    }

    @Test
    void rowsOfAParentAndOfItsHeirsMayHaveTheSameKey() throws SQLException {
        define(
                "CREATE TABLE base (id integer PRIMARY KEY, a integer)",
                "CREATE TABLE heir (b integer, PRIMARY KEY (id)) INHERITS (base)");
        replicate("INSERT INTO base VALUES (1, 1), (2, 2)", "INSERT INTO heir VALUES (1, 1, 1), (2, 2, 2)");
        replicate("UPDATE base SET a = a + 1");
        replicate("UPDATE ONLY base SET a = 7 WHERE id = 1", "DELETE FROM ONLY base WHERE id = 2");
        assertThat(rows(replica)).as("the parent's, and the heir's in both").hasSize(5);
    }

    /** PostgreSQL sets them to DEFAULT, or by a trigger, and to nothing else. */
    @Test
    void identitiesThatAreAlwaysGeneratedAreUpdated() throws SQLException {
        define(
                "CREATE TABLE t (k integer PRIMARY KEY, twice integer GENERATED ALWAYS AS (k * 2) STORED,"
                        + " id integer GENERATED ALWAYS AS IDENTITY UNIQUE, a text DEFAULT 'x')",
                "CREATE TABLE o (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a text)",
                "CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := NEW.id + 100; RETURN NEW; END'",
                "CREATE TRIGGER later BEFORE UPDATE ON o FOR EACH ROW EXECUTE FUNCTION later()");
        replicate("INSERT INTO t (k) VALUES (1), (2)", "INSERT INTO o (a) VALUES ('a'), ('b')");
        replicate("UPDATE t SET id = DEFAULT, a = 'y' WHERE k = 1", "UPDATE o SET a = 'c' WHERE id = 2");
        replicate("UPDATE t SET a = 'z' WHERE id = 3", "DELETE FROM o WHERE id = 102");
    }

    @Test
    void keysThatTheServerComparesAsAnotherTypeAreFound() throws SQLException {
        define(
                "CREATE TYPE pair AS (a integer, b text)",
                "CREATE DOMAIN named AS regclass",
                "CREATE TYPE mood AS ENUM ('sad', 'ok')",
                "CREATE DOMAIN any_mood AS mood",
                "CREATE DOMAIN \"My mood\" AS any_mood",
                "CREATE DOMAIN numbers AS integer[]",
                "CREATE TABLE moods (m \"My mood\", i numbers, v varchar(5), n integer, PRIMARY KEY (m, i, v))",
                "CREATE TABLE pairs (p pair PRIMARY KEY, n integer)",
                "CREATE TABLE \"Watched\" (r regclass, d named, m mood, i integer[], s int4range, c \"char\", b bit(3),"
                        + " n integer, PRIMARY KEY (r, d, m, i, s, c, b))");
        replicate("INSERT INTO moods VALUES ('sad', '{1}', 'a', 1), ('ok', '{}', 'b', 2)");
        replicate("UPDATE moods SET n = n + 1", "DELETE FROM moods WHERE n = 3");
        replicate(
                "INSERT INTO pairs VALUES ((1, 'x'), 1), ((2, NULL), 2)",
                "INSERT INTO \"Watched\" VALUES ('pairs', '\"Watched\"', 'ok', '{1,2}', '[1,5)', 'c', '101', 1),"
                        + " ('pg_class', 'pairs', 'sad', '{}', 'empty', 'd', '010', 2)");
        replicate("UPDATE pairs SET n = 3 WHERE n = 1", "UPDATE \"Watched\" SET n = n + 1");
        replicate("DELETE FROM \"Watched\" WHERE n = 2", "UPDATE pairs SET p = (5, 'five') WHERE n = 3");
    }

    @Test
    void constraintsThatEachReplicaWouldCheckForItselfAreFound() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY CHECK (id > 0), until timestamptz CONSTRAINT open CHECK (until > now()))",
                "CREATE DOMAIN past AS date CONSTRAINT over CHECK (VALUE < CURRENT_DATE)",
                "CREATE DOMAIN early AS date CHECK (VALUE < '2000-01-01')");
        try (Connection connection = origin.server().connect("")) {
            assertThat(Installation.findings(connection).stream()
                            .filter(Finding::obstacle)
                            .map(Finding::object))
                    .containsExactly("domain public.past", "table public.t");
        }
    }

    /** They were there before anybody asked. */
    @Test
    void checksThatMayReadTablesAreFound() throws SQLException {
        define("CREATE FUNCTION there(integer) RETURNS boolean STABLE LANGUAGE sql AS 'SELECT true'");
        origin.close();
        try (Connection stranger = origin.server().connect("")) {
            SqlSession session = SqlSession.of(stranger);
            session.query("SET session_replication_role TO replica");
            session.query("CREATE TABLE public.t (id integer PRIMARY KEY CONSTRAINT seen CHECK (public.there(id)))");
            session.query("CREATE DOMAIN public.d AS integer CHECK (public.there(VALUE))");
        }
        origin = open("origin");
        try (Connection connection = origin.server().connect("")) {
            assertThat(Installation.findings(connection).stream()
                            .filter(Finding::obstacle)
                            .map(Finding::object))
                    .containsExactly("domain public.d", "table public.t");
        }
    }

    /** They were there before anybody asked. */
    @Test
    void rowsWithNamesThatSeveralMayHaveAreRefusedUntilTheirTypeIsAnother() throws SQLException {
        for (PostgresDatabase database : List.of(origin, replica)) {
            database.close();
            try (Connection stranger = database.server().connect("")) {
                SqlSession session = SqlSession.of(stranger);
                session.query("SET session_replication_role TO replica");
                session.query("CREATE TABLE public.t (id integer PRIMARY KEY, f regproc)");
            }
        }
        origin = open("origin");
        replica = open("replica");
        applier = (PostgresApplier) replica.applier();
        assertThatThrownBy(() -> execute("INSERT INTO t VALUES (1, 'pg_sleep')"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                .hasMessageContaining("make it a regprocedure");
        try (Connection connection = origin.server().connect("")) {
            assertThat(Installation.findings(connection)).singleElement().satisfies(finding -> {
                assertThat(finding.object()).isEqualTo("table public.t");
                assertThat(finding.problem()).contains("in its column f");
                define(finding.fix());
            });
            assertThat(Installation.findings(connection)).isEmpty();
        }
        replicate("INSERT INTO t VALUES (1, 'pg_sleep(float8)')");
    }

    @Test
    void tablesWhoseRowsEachReplicaWouldPutElsewhereAreFound() throws SQLException {
        define("CREATE TYPE mood AS ENUM ('sad', 'glad')");
        origin.close();
        try (Connection stranger = origin.server().connect("")) {
            SqlSession session = SqlSession.of(stranger);
            session.query("SET session_replication_role TO replica");
            session.query("CREATE TABLE public.t (m public.mood PRIMARY KEY) PARTITION BY HASH (m)");
            session.query("CREATE TABLE public.t0 PARTITION OF public.t FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
                    + " PARTITION BY LIST (m)");
            session.query("CREATE TABLE public.t1 PARTITION OF public.t0 DEFAULT");
            session.query("INSERT INTO public.t VALUES ('sad')");
            session.query("CREATE TABLE public.u (m integer PRIMARY KEY) PARTITION BY HASH (m)");
            session.query("CREATE TABLE public.u0 PARTITION OF public.u FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
            assertThat(Installation.findings(stranger).stream()
                            .filter(Finding::obstacle)
                            .map(Finding::object))
                    .containsExactly("table public.t");
        }
        origin = open("origin");
        for (String sql : List.of("INSERT INTO t VALUES ('glad')", "UPDATE t1 SET m = 'glad'", "DELETE FROM t")) {
            assertThatThrownBy(() -> execute(sql))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                    .hasMessageContaining("of public.t1 cannot be replicated: PARTITION BY HASH")
                    .hasMessageContaining("make it anew");
        }
        execute("INSERT INTO u VALUES (1)");
        assertThatThrownBy(() -> origin.snapshot(directory.resolve("snapshot")))
                .hasMessageContaining("no snapshot can be made of table public.t, PARTITION BY HASH of public.mood: ");
    }

    /** Others would execute them once more for what they are told of. */
    @Test
    void whatFiresOnReplicasTooIsRefusedAtTheOpening() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY)",
                "CREATE TABLE o (id integer PRIMARY KEY)",
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
                "CREATE TRIGGER always BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
                "CREATE RULE too AS ON INSERT TO t DO ALSO DELETE FROM o",
                "CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
                "CREATE EVENT TRIGGER events ON ddl_command_end EXECUTE FUNCTION e()");
        String[][] alterations = {
            {"ALTER TABLE public.t ENABLE ALWAYS TRIGGER always", "ALTER TABLE public.t ENABLE TRIGGER always"},
            {"ALTER TABLE public.t ENABLE REPLICA RULE too", "ALTER TABLE public.t ENABLE RULE too"},
            {"ALTER EVENT TRIGGER events ENABLE ALWAYS", "ALTER EVENT TRIGGER events ENABLE"}
        };
        for (String[] alteration : alterations) {
            origin.close();
            try (Connection stranger = origin.server().connect("")) {
                SqlSession session = SqlSession.of(stranger);
                session.query("SET session_replication_role TO replica");
                session.query(alteration[0]);
                assertThatThrownBy(() -> open("origin")).hasMessageEndingWith("; " + alteration[1]);
                assertThat(Installation.findings(stranger))
                        .extracting(Finding::fix)
                        .contains(alteration[1]);
                session.query(alteration[1]);
            }
            origin = open("origin");
        }
    }

    /** What they change no trigger would tell of. */
    @Test
    void functionsThatHideWhatTheyChangeAreRefusedAtTheOpening() throws SQLException {
        for (String function : List.of(
                "LANGUAGE sql SET session_replication_role TO replica AS 'SELECT 1'",
                "LANGUAGE plpgsql AS $$ begin set local Session_Replication_Role to replica; return 1; end $$",
                "LANGUAGE plpgsql AS $$ begin perform set_config('event_triggers', 'off', true); return 1; end $$",
                "LANGUAGE sql RETURN length(set_config('session_replication_role', 'replica', true))")) {
            origin.close();
            try (Connection stranger = origin.server().connect("")) {
                SqlSession session = SqlSession.of(stranger);
                session.query("SET session_replication_role TO replica");
                session.query("CREATE FUNCTION public.hides() RETURNS int " + function);
                assertThatThrownBy(() -> open("origin")).hasMessageContaining("function public.hides()");
                assertThat(Installation.findings(stranger))
                        .extracting(Finding::object)
                        .containsOnlyOnce("function public.hides()");
                session.query("DROP FUNCTION public.hides()");
                session.query(
                        "CREATE OR REPLACE FUNCTION public.asks() RETURNS text LANGUAGE sql AS $$ SELECT current_setting('session_replication_role') $$");
            }
            origin = open("origin");
        }
    }

    @Test
    void columnsMayHaveAnyName() throws SQLException {
        define(
                "CREATE TABLE hist (id integer PRIMARY KEY, old jsonb, new jsonb)",
                "CREATE TABLE dates (old date PRIMARY KEY, new date, what text, gorda_row text)");
        replicate(
                "INSERT INTO hist VALUES (1, '{}', NULL), (2, NULL, '[1]')",
                "UPDATE hist SET old = new, new = '{\"a\": 1}' WHERE id = 2",
                "DELETE FROM hist WHERE id = 1");
        replicate(
                "INSERT INTO dates VALUES ('2024-01-01', NULL, 'x')", "UPDATE dates SET new = old, old = '2024-01-02'");
    }

    @Test
    void rowsOfUnloggedPartitionsAndHeirsAreRefused() throws SQLException {
        define(
                "CREATE TABLE p (id integer PRIMARY KEY) PARTITION BY LIST (id)",
                "CREATE UNLOGGED TABLE p1 PARTITION OF p FOR VALUES IN (1)",
                "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)",
                "CREATE TABLE parent (id integer PRIMARY KEY)",
                "CREATE UNLOGGED TABLE heir () INHERITS (parent)");
        for (PostgresDatabase database : List.of(origin, replica)) {
            try (Connection before = session(database)) {
                SqlSession session = SqlSession.of(before);
                session.query("SET session_replication_role TO replica");
                session.query("INSERT INTO heir VALUES (1)");
                before.commit();
            }
        }
        replicate("INSERT INTO p VALUES (2)", "INSERT INTO parent VALUES (2)");
        for (String sql :
                List.of("INSERT INTO p VALUES (1)", "UPDATE parent SET id = id + 10", "INSERT INTO heir VALUES (3)")) {
            assertThatThrownBy(() -> execute(sql))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
        }
    }

    /** As careful people have it. */
    @Test
    void whoMayCallNoFunctionsByDefaultWorks() throws SQLException {
        origin.close();
        try (Connection stranger = origin.server().connect("")) {
            new PostgresBinding().uninstall(stranger);
            SqlSession.of(stranger).query("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC");
            stranger.commit();
        }
        origin = open("origin");
        define("CREATE TABLE t (id integer PRIMARY KEY, at timestamptz)", "GRANT ALL ON t TO pg_monitor");
        replicate("SET LOCAL ROLE pg_monitor", "INSERT INTO t VALUES (1, now())");
        try (Connection connection = session(origin)) {
            SqlSession session = SqlSession.of(connection);
            session.query("SET LOCAL ROLE pg_monitor");
            assertThatThrownBy(() -> session.query("SELECT gorda.unbind_all()"))
                    .hasMessageContaining("permission denied");
        }
    }

    /** A server, a database or a role may be given others than PostgreSQL has. */
    @Test
    void settingsOfTheServerDoNotMatter() throws Exception {
        origin.close();
        replica.close();
        List<String> settings = new ArrayList<>(List.of(
                "idle_session_timeout TO '100ms'",
                "array_nulls TO off",
                "standard_conforming_strings TO off",
                "xmloption TO document",
                "default_transaction_isolation TO serializable",
                "default_transaction_read_only TO on"));
        try (Connection outside = TestServer.connect("postgres")) {
            SqlSession.of(outside)
                    .query("SELECT name || ' TO 50' FROM pg_settings WHERE name = 'transaction_timeout'")
                    .forEach(row -> settings.add(row.get(0)));
        }
        for (PostgresDatabase database : List.of(origin, replica)) {
            for (String setting : settings) {
                TestServer.execute("ALTER DATABASE " + database.server().database() + " SET " + setting);
            }
        }
        origin = open("origin");
        replica = open("replica");
        applier = (PostgresApplier) replica.applier();
        define(
                "SET standard_conforming_strings TO off",
                "CREATE TABLE t (id integer PRIMARY KEY, a text[], x xml, \"\\\" text)");
        try (Connection idle = TestServer.connect(replica.server().database());
                Connection outside = TestServer.connect("postgres")) {
            String pid = "" + idle.unwrap(PGConnection.class).getBackendPID();
            SqlSession looks = SqlSession.of(outside);
            Awaitility.await("the server ends who is idle")
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> looks.query("SELECT 1 FROM pg_stat_activity WHERE pid = " + pid)
                            .isEmpty());
        }
        replicate("INSERT INTO t VALUES (1, ARRAY['a', NULL, 'NULL'], XMLPARSE(CONTENT 'a<b/>'), '\\')");
    }

    @Test
    void whatTablesCallFindsWhatIsInPublic() throws SQLException {
        define(
                "CREATE FUNCTION low() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 0'",
                "CREATE FUNCTION fits(i int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ begin return i > low(); end $$",
                "CREATE TABLE t (id int PRIMARY KEY, a int CHECK (fits(a)), b boolean GENERATED ALWAYS AS (fits(a)) STORED)",
                "CREATE INDEX ON t (fits(a))");
        replicate("INSERT INTO t VALUES (1, 1), (2, 2)");
        replicate("UPDATE t SET a = 3 WHERE id = 1");
    }

    /** All that somebody could have left. */
    private static final String CATALOGUE = """
            SELECT 'schema', nspname::text, nspacl::text FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'
            UNION ALL SELECT 'relation', oid::regclass::text, relacl::text || relhastriggers FROM pg_class WHERE relkind NOT IN ('t', 'i')
            UNION ALL SELECT 'function', oid::regprocedure::text, proacl::text FROM pg_proc
            UNION ALL SELECT 'type', oid::regtype::text, typacl::text FROM pg_type WHERE typname !~ '^_?pg_toast_'
            UNION ALL SELECT 'constraint', conname::text, conrelid::regclass::text FROM pg_constraint
            UNION ALL SELECT 'trigger', tgname::text, tgrelid::regclass::text FROM pg_trigger
            UNION ALL SELECT 'event trigger', evtname::text, evtevent::text FROM pg_event_trigger
            UNION ALL SELECT 'extension', extname::text, extversion FROM pg_extension
            UNION ALL SELECT 'setting', setdatabase::text, setconfig::text FROM pg_db_role_setting
            UNION ALL SELECT 'default', defaclrole::text, defaclacl::text FROM pg_default_acl
            ORDER BY 1, 2, 3""";

    /** Values that other replicas had leased and taken are nowhere but in the rows. */
    @Test
    void generatedKeysGoOnBehindTheRowsOnceThePositionIsForgotten() throws SQLException {
        define(
                "CREATE TABLE t (id INTEGER NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a INTEGER)",
                "CREATE TABLE d (id SERIAL PRIMARY KEY, a INTEGER)",
                "ALTER SEQUENCE d_id_seq INCREMENT BY -1 MINVALUE -100 MAXVALUE 100",
                "CREATE TABLE e (id BIGSERIAL PRIMARY KEY)");
        replicate("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO d VALUES (1, 1), (0, 2), (-1, 3)");
        assertThat(replica.storedPosition()).isPresent();
        replica.forget();
        assertThat(replica.storedPosition()).isEmpty();
        try (Connection connection = session(replica)) {
            SqlSession session = SqlSession.of(connection);
            Map<String, String> next = Map.of("t", "4", "d", "-2", "e", "1");
            for (Map.Entry<String, String> of : next.entrySet()) {
                assertThat(session.query("SELECT nextval(pg_get_serial_sequence('" + of.getKey() + "', 'id'))"))
                        .containsExactly(List.of(of.getValue()));
            }
        }
    }

    @Test
    void uninstallingLeavesNoTrace() throws SQLException {
        define("CREATE TABLE t (id integer PRIMARY KEY)");
        PostgresBinding binding = new PostgresBinding();
        try (Connection stranger = origin.server().connect("")) {
            assertThatThrownBy(() -> binding.uninstall(stranger))
                    .hasMessage("a replica has the database open: stop it first");
            assertThatThrownBy(() -> binding.install(stranger))
                    .hasMessage("a replica has the database open: stop it first");
            origin.close();
            binding.uninstall(stranger);
            SqlSession session = SqlSession.of(stranger);
            session.query("INSERT INTO public.t VALUES (1)");
            List<List<@Nullable String>> before = session.query(CATALOGUE);
            stranger.commit();
            binding.install(stranger);
            assertThatThrownBy(() -> {
                        session.query("INSERT INTO public.t VALUES (2)");
                        stranger.commit();
                    })
                    .hasMessageContaining(
                            "the database is replicated: public.t can only be changed by connections of its replica");
            stranger.rollback();
            assertThat(session.query(CATALOGUE)).isNotEqualTo(before);
            try (Connection dump = origin.server().connect(" -c application_name=dump")) {
                dump.setAutoCommit(false);
                SqlSession.of(dump).query("LOCK TABLE public.t IN ACCESS SHARE MODE");
                assertThatThrownBy(() -> binding.uninstall(stranger))
                        .hasMessageContaining("used the database for more than 10 s, nothing was changed: process")
                        .hasMessageContaining("; end that");
            }
            binding.uninstall(stranger);
            binding.uninstall(stranger);
            assertThat(session.query(CATALOGUE)).isEqualTo(before);
            assertThat(session.query("SELECT id FROM public.t")).hasSize(1);
        }
        origin = open("origin");
        assertThat(origin.connect(new Properties()).isClosed()).isFalse();
    }
}
