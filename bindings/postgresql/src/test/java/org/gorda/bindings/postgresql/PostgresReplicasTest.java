package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.gapi.Finding;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.ReplicaState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;

/** One primary and its backups. */
class PostgresReplicasTest extends ThreeReplicas {

    private static final int BODY_REPEATS = 4_000;

    /** More than replicas keep of the log while one lacks it. */
    private static final long LOG_BYTES = 12 << 20;

    private static final String DOCTORS = "SELECT doctors FROM duty WHERE side = ";

    PostgresReplicasTest() {
        super(ReplicationProtocol.PRIMARY_BACKUP);
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return number(statement, query);
        }
    }

    @Test
    void whatThePrimaryCommitsIsInAllDatabases() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE parent (id INTEGER PRIMARY KEY, at TIMESTAMPTZ, tags TEXT[], document JSONB)",
                "CREATE TABLE child (parent INTEGER REFERENCES parent ON DELETE CASCADE, no SERIAL, PRIMARY KEY (parent, no))",
                "INSERT INTO parent SELECT i, now(), ARRAY['a', NULL, i::text], '{\"a\": 1}' FROM generate_series(1, 100) i",
                "INSERT INTO child (parent) SELECT i % 50 + 1 FROM generate_series(1, 200) i");
        execute(
                primary,
                "DELETE FROM parent WHERE id <= 10",
                "UPDATE parent SET tags = array_append(tags, 'more') WHERE id > 90");
        cluster.assertIdentical();
        int backup = (primary + 1) % SIZE;
        try (Connection connection = cluster.connect(backup)) {
            assertThat(number(connection, "SELECT count(*) FROM parent")).isEqualTo(90);
            assertThat(number(connection, "SELECT count(*) FROM child")).isEqualTo(160);
            assertThatThrownBy(() -> connection.createStatement().executeUpdate("DELETE FROM parent"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("is a backup and takes no writes");
        }
        try (Connection around = TestServer.connect(database(primary))) {
            assertThatThrownBy(() -> around.createStatement().executeUpdate("DELETE FROM child"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("can only be changed by connections of its replica");
        }
        cluster.assertIdentical();
    }

    /** Whatever its session is set to. */
    @Test
    void aSchemaChangeMeansTheSameEverywhere() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE moments (id INTEGER PRIMARY KEY, at TIMESTAMP)",
                "INSERT INTO moments VALUES (1, '2024-01-01 00:00')");
        execute(
                primary,
                "SET timezone TO 'Asia/Tokyo'",
                "SET datestyle TO 'ISO, DMY'",
                "ALTER TABLE moments ALTER at TYPE TIMESTAMPTZ",
                "ALTER TABLE moments ADD since DATE DEFAULT '31/12/2024'",
                "SET check_function_bodies TO off",
                "CREATE FUNCTION early() RETURNS BIGINT LANGUAGE sql AS 'SELECT count(*) FROM later'",
                "SET standard_conforming_strings TO off",
                "COMMENT ON TABLE moments IS '\\'; DROP TABLE moments; --'",
                "SELECT set_config('search_path', 'public;RESET/**/SESSION/**/AUTHORIZATION;DROP/**/TABLE/**/public.moments;--', false)",
                "CREATE TABLE public.unharmed (id INTEGER PRIMARY KEY)");
        cluster.assertIdentical();
        for (int i = 0; i < SIZE; i++) {
            try (Connection connection = cluster.connect(i)) {
                assertThat(number(connection, "SELECT extract(epoch FROM at) FROM moments"))
                        .as("midnight in Tokyo")
                        .isEqualTo(1704034800);
                assertThat(number(connection, "SELECT count(*) FROM unharmed")).isZero();
            }
        }
        try (Connection connection = cluster.connect(primary)) {
            for (String refused : List.of(
                    "ALTER TABLE moments ADD now TIMESTAMPTZ DEFAULT now()",
                    "ALTER TABLE moments ENABLE REPLICA TRIGGER ALL",
                    "ALTER TABLE moments ENABLE ALWAYS TRIGGER USER")) {
                assertThatThrownBy(() -> connection.createStatement().execute(refused))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
            }
        }
    }

    /** Names of months, and signs, are not to be had everywhere. */
    @Test
    void whatASchemaChangeComputesAsAtSomePlaceIsRefused() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, m MONEY, n INTEGER, c TEXT)",
                "INSERT INTO t VALUES (1, '2026-05-01', 5, 1234, '1.5')");
        List<String> changes = List.of(
                "ALTER TABLE t ADD COLUMN p MONEY DEFAULT 5",
                "ALTER TABLE t ALTER COLUMN m TYPE TEXT",
                "ALTER TABLE t ALTER COLUMN n TYPE MONEY",
                "ALTER TABLE t ALTER COLUMN d TYPE TEXT USING to_char(d, 'TMMonth')",
                "ALTER TABLE t ALTER COLUMN c TYPE NUMERIC USING to_number(c, '9D9')",
                "CREATE MATERIALIZED VIEW months AS SELECT to_char('2026-05-01'::date, 'TMMonth') AS name");
        for (String change : changes) {
            for (String setting : List.of("lc_monetary", "lc_numeric", "lc_time")) {
                assertRefused("0A000", () -> execute(primary, "SET LOCAL " + setting + " TO ''", change));
            }
        }
        execute(
                primary,
                "SET LOCAL lc_monetary TO ''",
                "ALTER TABLE t ADD COLUMN a INTEGER DEFAULT 5",
                "CREATE TABLE u (m MONEY)");
        execute(primary, changes.toArray(String[]::new));
        cluster.assertIdentical();
    }

    /** It is on its server only, and one drops it there. */
    @Test
    void whatAFailedReindexLeavesIsInNobodysWay() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE entry (id INTEGER PRIMARY KEY, name TEXT)",
                "CREATE INDEX by_name ON entry (name)",
                "INSERT INTO entry VALUES (1, 'a')");
        try (Connection reader = TestServer.connect(database(primary));
                Connection connection = cluster.connect(primary);
                Statement statement = connection.createStatement()) {
            reader.setAutoCommit(false);
            assertThat(number(reader, "SELECT count(*) FROM entry")).isEqualTo(1);
            statement.execute("SET statement_timeout TO '1s'");
            assertRefused("57014", () -> statement.execute("REINDEX INDEX CONCURRENTLY by_name"));
            reader.rollback();
            statement.execute("RESET statement_timeout");
            assertThat(number(statement, "SELECT count(*) FROM pg_class WHERE relname = 'by_name_ccnew'"))
                    .isEqualTo(1);
            cluster.assertIdentical();
            statement.execute("DROP INDEX by_name_ccnew");
            assertThat(number(statement, "SELECT count(*) FROM pg_class WHERE relname = 'by_name_ccnew'"))
                    .isZero();
            statement.execute("DROP INDEX by_name");
        }
        cluster.assertIdentical();
        for (int i = 0; i < SIZE; i++) {
            assertThat(number(i, "SELECT count(*) FROM pg_class WHERE relname = 'by_name'"))
                    .isZero();
        }
    }

    /** What a person's pg_dump, ORM or session may do. */
    @Test
    void oddTablesRowsAndSettingsAreTheSameEverywhere() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE nothing ()",
                "INSERT INTO nothing DEFAULT VALUES",
                "DROP TABLE IF EXISTS nothing\u3000",
                "CREATE TABLE numbers (id INTEGER PRIMARY KEY, n NUMERIC)",
                "INSERT INTO numbers VALUES (1, 'NaN'), (2, 'Infinity'), (3, 1.50)",
                "CREATE TABLE blanks (id TEXT PRIMARY KEY, v INTEGER)",
                "INSERT INTO blanks VALUES ('a', 1), ('a ', 2), ('', 3), (' ', 4)");
        execute(primary, "UPDATE blanks SET v = v + 1", "DELETE FROM blanks WHERE v > 3");
        execute(
                primary,
                "ALTER TABLE blanks ADD COLUMN n INTEGER DEFAULT 0 NOT NULL CHECK (n >= 0)",
                "ALTER TABLE blanks ADD COLUMN a TEXT DEFAULT 'x', ADD COLUMN b INTEGER CHECK (b > 0)",
                "ALTER TABLE numbers ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (START WITH 10)",
                "CREATE TABLE rooms (no INTEGER PRIMARY KEY, during TSRANGE)",
                "INSERT INTO rooms VALUES (1, '[2026-01-01,2026-01-02)')",
                "ALTER TABLE ONLY rooms ADD CONSTRAINT apart EXCLUDE USING gist (during WITH &&) WHERE ((no > 0))",
                "ALTER TABLE rooms ADD EXCLUDE USING btree (lower(during) WITH =), ALTER no TYPE BIGINT USING no + 1, ADD floor INTEGER",
                "INSERT INTO rooms VALUES (3, '[2026-01-02,2026-01-03)', 1)",
                "CREATE TABLE settings (id INTEGER PRIMARY KEY, b BYTEA, f FLOAT8, d TEXT)",
                "INSERT INTO settings VALUES (1, '\\x00ff', 1 / 3.0, 'the cats')",
                "SET LOCAL bytea_output = escape",
                "SET LOCAL extra_float_digits = -5",
                "SET LOCAL default_text_search_config = 'pg_catalog.simple'",
                "SET LOCAL array_nulls = off",
                "ALTER TABLE settings ALTER b TYPE TEXT USING b::text",
                "ALTER TABLE settings ALTER f TYPE TEXT",
                "ALTER TABLE settings ALTER d TYPE TSVECTOR USING to_tsvector(d)",
                "ALTER TABLE settings ADD COLUMN a TEXT[] DEFAULT '{NULL}'");
        cluster.assertIdentical();
        try (Connection connection = cluster.connect((primary + 1) % SIZE)) {
            assertThat(number(
                            connection,
                            "SELECT count(*) FROM settings WHERE b = '\\000\\377' AND f = '0.3333333333'"
                                    + " AND d = $$'cats':2 'the':1$$ AND a[1] IS NOT NULL"))
                    .isEqualTo(1);
        }
    }

    /** The server uses some changes of the schema only in the next transaction. */
    @Test
    void whoWasAwayWorksOffValuesThatWereAddedToATypeAndRowsWithThem() throws Exception {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TYPE mood AS ENUM ('sad')",
                "CREATE TABLE feels (id INTEGER PRIMARY KEY, m mood)",
                "INSERT INTO feels VALUES (1, 'sad')");
        cluster.awaitEverywhere();
        int away = (primary + 1) % SIZE;
        cluster.stop(away);
        execute(primary, "ALTER TYPE mood ADD VALUE 'great'");
        execute(primary, "INSERT INTO feels VALUES (2, 'great')");
        execute(primary, "ALTER TYPE mood ADD VALUE 'so so' BEFORE 'great'", "UPDATE feels SET m = 'great'");
        execute(primary, "UPDATE feels SET m = 'so so' WHERE id = 1");
        execute(primary, "INSERT INTO feels VALUES (3, 'sad')", "ALTER TYPE mood ADD VALUE 'fine'");
        execute(primary, "INSERT INTO feels VALUES (4, 'fine')");
        cluster.start(away);
        cluster.replica(away).awaitPrimary(PATIENCE);
        cluster.assertIdentical();
    }

    /** Which the primary's server knows nothing of. */
    @Test
    void whatClientsOfABackupMadeForThemselvesIsNotInTheWayOfASchemaChange() throws Exception {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE seen (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)",
                "CREATE TABLE had (id INTEGER PRIMARY KEY)",
                "CREATE TYPE pair AS (a INTEGER, b INTEGER)",
                "CREATE SEQUENCE numbers");
        cluster.awaitEverywhere();
        try (Connection backup = cluster.connect((primary + 1) % SIZE);
                Statement client = backup.createStatement()) {
            client.execute("CREATE TEMPORARY VIEW \"My view\" AS SELECT a FROM seen");
            client.execute("CREATE TEMPORARY VIEW viewed AS SELECT a FROM \"My view\"");
            client.execute("CREATE TEMPORARY TABLE heir () INHERITS (had)");
            client.execute("CREATE TEMPORARY TABLE pairs OF pair");
            client.execute("CREATE TEMPORARY TABLE counted (n INTEGER DEFAULT nextval('numbers'))");
            client.execute("CREATE TEMPORARY TABLE own (n INTEGER)");
            client.execute("CREATE TEMPORARY VIEW other AS SELECT b FROM seen");
            execute(
                    primary,
                    "ALTER TABLE seen ALTER a TYPE TEXT",
                    "ALTER TABLE had ADD COLUMN more INTEGER",
                    "ALTER TYPE pair ADD ATTRIBUTE c INTEGER",
                    "DROP SEQUENCE numbers",
                    "INSERT INTO seen VALUES (1, 'a', 1)",
                    "INSERT INTO had VALUES (1, 2)");
            cluster.assertIdentical();
            for (String gone : List.of("\"My view\"", "viewed", "heir", "pairs", "counted")) {
                assertThatThrownBy(() -> client.executeQuery("SELECT * FROM " + gone))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).as(gone).isEqualTo("42P01"));
            }
            assertThat(number(backup, "SELECT count(*) FROM own")).isZero();
            assertThat(number(backup, "SELECT b FROM other")).isEqualTo(1);
        }
    }

    /** Their rows are written down as they were before, and others find them behind the change. */
    @Test
    void whatNoLockGuardsIsChangedOnceNobodyHasChangedRowsThatItMayConcern() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE FUNCTION fits(n INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE SQL AS 'SELECT n > 0'",
                "CREATE TYPE mood AS ENUM ('sad', 'glad')",
                "CREATE DOMAIN small AS INTEGER",
                "CREATE SCHEMA away",
                "CREATE TABLE part (n INTEGER PRIMARY KEY, m INTEGER)",
                "CREATE TABLE t0 (n INTEGER PRIMARY KEY CHECK (fits(n)))",
                "CREATE TABLE t1 (m mood PRIMARY KEY)",
                "CREATE TABLE t2 (n small PRIMARY KEY)",
                "CREATE TABLE away.t3 (n INTEGER PRIMARY KEY)",
                "CREATE TABLE t4 (n INTEGER PRIMARY KEY, p part)",
                "CREATE TABLE t5 (n regclass PRIMARY KEY)");
        List<String> inserts = List.of(
                "INSERT INTO t0 VALUES (1)",
                "INSERT INTO t1 VALUES ('sad')",
                "INSERT INTO t2 VALUES (1)",
                "INSERT INTO away.t3 VALUES (1)",
                "INSERT INTO t4 VALUES (1, ROW(2, 3))",
                "INSERT INTO t5 VALUES ('t0')");
        List<String> changes = List.of(
                "CREATE OR REPLACE FUNCTION fits(n INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE SQL AS 'SELECT n > 1'",
                "ALTER TYPE mood RENAME VALUE 'sad' TO 'sorry'",
                "ALTER DOMAIN small ADD CHECK (VALUE > 1) NOT VALID",
                "ALTER SCHEMA away RENAME TO here",
                "ALTER TABLE part ADD COLUMN o INTEGER",
                "ALTER TABLE t0 RENAME TO t6");
        for (int i = 0; i < changes.size(); i++) {
            String change = changes.get(i);
            try (Connection connection = cluster.connect(primary);
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                statement.executeUpdate(inserts.get(i));
                assertThatThrownBy(() -> execute(primary, "SET lock_timeout TO 200", change))
                        .as(change)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState())
                                        .as(e.toString())
                                        .isEqualTo("55P03"));
                execute(primary, "CREATE TABLE u" + i + " (m mood PRIMARY KEY)");
                connection.commit();
            }
            execute(primary, change);
        }
        cluster.awaitEverywhere();
        cluster.assertIdentical();
    }

    /** Otherwise it would lack on the primary what is ordered before it and not committed there yet. */
    @Test
    void aMaterializedViewIsFilledOnceNobodyHasChangedRowsThatItReads() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE a (id INTEGER PRIMARY KEY) PARTITION BY RANGE (id)",
                "CREATE TABLE a1 PARTITION OF a FOR VALUES FROM (0) TO (100)",
                "CREATE TABLE b (id INTEGER PRIMARY KEY)",
                "CREATE VIEW seen AS SELECT id FROM a",
                "CREATE FUNCTION of_b() RETURNS BIGINT LANGUAGE SQL AS 'SELECT count(*) FROM public.b'",
                "CREATE MATERIALIZED VIEW \"Of A\" AS SELECT count(*) AS n FROM seen",
                "CREATE MATERIALIZED VIEW of_all AS SELECT of_b()");
        String direct = "REFRESH MATERIALIZED VIEW public.\"Of A\"";
        String unsure = "REFRESH MATERIALIZED VIEW of_all";
        String anew = "CREATE MATERIALIZED VIEW anew AS SELECT 1";
        try (Connection writer = cluster.connect(primary);
                Connection other = cluster.connect(primary);
                Statement statement = other.createStatement()) {
            statement.execute("SET lock_timeout TO '200ms'");
            writer.setAutoCommit(false);
            writer.createStatement().execute("INSERT INTO b VALUES (1)");
            statement.execute(direct);
            assertRefused("55P03", () -> statement.execute(unsure));
            writer.createStatement().execute("INSERT INTO a VALUES (1)");
            assertRefused("55P03", () -> statement.execute(direct));
            assertRefused("55P03", () -> statement.execute(anew));
            statement.execute(anew + " WITH NO DATA");
            writer.commit();
            statement.execute(direct);
            statement.execute(unsure);
        }
        for (int i = 0; i < SIZE; i++) {
            assertThat(number(i, "SELECT n + of_b FROM \"Of A\", of_all")).isEqualTo(2);
        }
    }

    @Test
    void whatEachReplicaWouldComputeForItselfIsRefused() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)",
                "INSERT INTO t VALUES (1, 1)",
                "CREATE FUNCTION own() RETURNS TEXT LANGUAGE sql AS 'SELECT random()::text'",
                "CREATE FUNCTION day() RETURNS TEXT STABLE LANGUAGE sql AS 'SELECT current_date::text'",
                "CREATE DOMAIN stamp AS TIMESTAMPTZ DEFAULT now()",
                "CREATE DOMAIN moment AS stamp",
                "CREATE DOMAIN who AS TEXT DEFAULT current_user",
                "CREATE DOMAIN written AS TEXT DEFAULT day()",
                "CREATE DOMAIN later AS INTERVAL DEFAULT '2100-01-01'::timestamptz - now()",
                "CREATE FUNCTION left(INTEGER) RETURNS TEXT LANGUAGE sql AS 'SELECT random()::text'",
                "CREATE DOMAIN moved AS TIMESTAMPTZ DEFAULT 'now'",
                "CREATE DOMAIN seven AS TEXT DEFAULT repeat('7', 7)",
                "CREATE TABLE heir () INHERITS (t)",
                "CREATE TABLE p (at TIMESTAMPTZ PRIMARY KEY) PARTITION BY RANGE (at)");
        for (String sql : List.of(
                "ALTER TABLE t ALTER COLUMN v TYPE TEXT USING gen_random_uuid()::text",
                "ALTER TABLE t ALTER COLUMN v TYPE FLOAT8 USING random()",
                "ALTER TABLE t ALTER COLUMN v TYPE TEXT USING own()",
                "ALTER TABLE t ALTER COLUMN v TYPE TEXT USING upper(gen_salt('bf') || v)",
                "ALTER TABLE t ADD COLUMN w FLOAT8 DEFAULT 0, ADD COLUMN x FLOAT8 DEFAULT random()",
                "ALTER TABLE t ADD COLUMN w FLOAT8 NOT NULL DEFAULT random() CHECK (w > 0)",
                "ALTER TABLE t ADD COLUMN w FLOAT8[] DEFAULT ARRAY[0, random()]",
                "ALTER TABLE t ALTER COLUMN v TYPE FLOAT8[] USING ARRAY[0, random()]",
                "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (now()) TO (now() + interval '1 day')",
                "ALTER TABLE t ADD COLUMN at stamp",
                "ALTER TABLE t ADD COLUMN a INTEGER, ADD COLUMN at moment",
                "ALTER TABLE t ADD COLUMN who who",
                "ALTER TABLE t ADD COLUMN w written",
                "ALTER TABLE t ADD COLUMN l later",
                "ALTER TABLE t ADD COLUMN at TIMESTAMP DEFAULT 'now'",
                "ALTER TABLE t ADD COLUMN at DATE NOT NULL DEFAULT ' Today'",
                "CREATE MATERIALIZED VIEW m AS SELECT random() FROM t",
                "CREATE MATERIALIZED VIEW m AS SELECT now() AS at FROM t WITH NO DATA",
                "CREATE TABLE u (id INTEGER PRIMARY KEY, until TIMESTAMPTZ CHECK (until > now() OR until IS NULL))",
                "ALTER TABLE t ADD CONSTRAINT own CHECK (v <> length(current_user))",
                "CREATE DOMAIN past AS DATE CHECK (VALUE < CURRENT_DATE)",
                "CREATE TABLE p1 PARTITION OF p (at DEFAULT now()) FOR VALUES FROM ('now') TO ('2100-01-01')",
                "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('today 10:00') TO ('2100-01-01')",
                "CREATE TABLE u (id INTEGER PRIMARY KEY, at TIMESTAMPTZ DEFAULT 'now' CHECK (at >= $$ Now $$))",
                "CREATE TABLE u (id INTEGER PRIMARY KEY, at DATE CHECK (at = ANY ('{2020-01-01,today}')))",
                "CREATE TABLE u (id INTEGER PRIMARY KEY, d DATE GENERATED ALWAYS AS ('today'::date + id) STORED)",
                "CREATE TABLE u (id INTEGER PRIMARY KEY, word TEXT CHECK (word IN ('now', 'later')))",
                "CREATE INDEX i ON t (v) WHERE v > extract(epoch FROM 'today'::timestamptz)",
                "CREATE MATERIALIZED VIEW m AS SELECT 'now'::timestamptz AS at FROM t",
                "ALTER TABLE t ADD COLUMN e NUMERIC DEFAULT extract(epoch FROM 'now'::timestamptz)",
                "ALTER TABLE t ADD COLUMN at TIMESTAMPTZ[] DEFAULT '{2020-01-01,now}'",
                "ALTER TABLE t ADD COLUMN at TSTZRANGE DEFAULT '[now,)'",
                "ALTER TABLE t ADD COLUMN at moved",
                "ALTER TABLE t ALTER COLUMN v TYPE NUMERIC USING extract(epoch FROM 'now'::timestamptz)",
                "ALTER TABLE t ALTER COLUMN v TYPE TEXT USING left(v)",
                "ALTER TABLE t ALTER COLUMN v TYPE TEXT USING public.left /* ours */ (v)",
                "ALTER TABLE t ADD CONSTRAINT late CHECK (v < extract(epoch FROM 'tomorrow'::timestamptz))",
                "CREATE ROLE guest VALID UNTIL 'tomorrow'",
                "EXPLAIN ANALYZE CREATE TABLE made AS SELECT 1 AS a")) {
            assertThatThrownBy(() -> execute(primary, sql))
                    .as(sql)
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("cannot be replicated")
                    .extracting(e -> ((SQLException) e).getSQLState())
                    .isEqualTo("0A000");
        }
        execute(
                primary,
                "CREATE FUNCTION pg_temp.f() RETURNS INTEGER LANGUAGE SQL AS 'SELECT 1'",
                "DROP FUNCTION pg_temp.f()",
                "INSERT INTO t VALUES (2, 2)",
                "SAVEPOINT s",
                "ALTER TABLE t ADD COLUMN seven seven, ADD COLUMN urgent TEXT DEFAULT 'now'",
                "ALTER TABLE t ADD COLUMN since DATE DEFAULT '2026-01-01'",
                "ALTER TABLE t ALTER COLUMN since SET DEFAULT now(), ALTER COLUMN since SET NOT NULL",
                "ALTER TABLE t ADD COLUMN at TIMESTAMPTZ",
                "ALTER TABLE t ALTER COLUMN v TYPE BIGINT USING v + 1, ALTER COLUMN at SET DEFAULT now()",
                "ALTER TABLE t ALTER COLUMN v TYPE VARCHAR(20) USING rtrim(to_char(round(v::numeric(12, 3), 1), '990D9'))::varchar(20)",
                "ALTER TABLE t ALTER COLUMN v TYPE NUMERIC(9, 2) USING NULLIF(regexp_replace(v, '[^0-9.]', '', 'g'), '')::numeric(9, 2)",
                "CREATE TABLE p2 PARTITION OF p (at DEFAULT now()) FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
                "EXPLAIN ANALYZE CREATE TEMP TABLE own AS SELECT 1 AS a",
                "CREATE TABLE u (id INTEGER PRIMARY KEY CHECK (id > 0), at TIMESTAMPTZ DEFAULT now() CHECK (at > '2020-01-01'))",
                "CREATE POLICY mine ON u WITH CHECK (id = length(current_user))",
                "CREATE TABLE w (id INTEGER PRIMARY KEY, at TIMESTAMPTZ DEFAULT 'now', word TEXT DEFAULT 'now'::text, said TEXT CHECK (said <> 'now, later'))",
                "CREATE FUNCTION today() RETURNS DATE LANGUAGE sql AS $$ SELECT 'today'::date $$",
                "CREATE VIEW late AS SELECT id FROM w WHERE at < 'today'",
                "COMMENT ON TABLE w IS 'now'",
                "CREATE TYPE urgency AS ENUM ('now', 'later')",
                "INSERT INTO w (id, at, said) VALUES (1, '2026-01-01', 'now')");
        cluster.assertIdentical();
    }

    @Test
    void columnsAreAddedWhoseValuesAreSurelyTheSameEverywhere() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT, f FLOAT8)",
                "INSERT INTO t SELECT i, 'some words ' || i, i / 3.0 FROM generate_series(1, 10) i",
                "CREATE FUNCTION mine(INTEGER) RETURNS INTEGER IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1'",
                "CREATE FUNCTION upper(INTEGER) RETURNS TEXT STABLE LANGUAGE sql AS 'SELECT current_date::text'",
                "CREATE DOMAIN checked AS TEXT CHECK (VALUE <> 'foo')",
                "CREATE DOMAIN since AS TIMESTAMPTZ CHECK (VALUE > '2020-01-01')");
        for (String column : List.of(
                "x INTEGER GENERATED ALWAYS AS (mine(id)) STORED",
                "x BIGINT GENERATED ALWAYS AS (tableoid::bigint) STORED",
                "x INTEGER GENERATED ALWAYS AS ('t'::regclass::oid::integer) STORED",
                "x DATE GENERATED ALWAYS AS ('today'::date + id) STORED",
                "x DATE GENERATED ALWAYS AS (('{today}'::date[])[1]) STORED",
                "x TEXT GENERATED ALWAYS AS (f::text) STORED",
                "x since DEFAULT 'now'",
                "x checked DEFAULT random()",
                "x TEXT DEFAULT upper(1)",
                "x INTEGER GENERATED BY DEFAULT AS IDENTITY",
                "x SERIAL")) {
            assertRefused("0A000", () -> execute(primary, "ALTER TABLE t ADD COLUMN " + column));
        }
        execute(
                primary,
                "ALTER TABLE t ADD COLUMN twice INTEGER GENERATED ALWAYS AS (id * 2) STORED, ADD COLUMN a TEXT DEFAULT repeat('a', 3) || 'b'",
                "ALTER TABLE t ADD COLUMN words TSVECTOR GENERATED ALWAYS AS (to_tsvector('english', upper(body))) STORED",
                "ALTER TABLE t ADD COLUMN c checked, ADD COLUMN d checked NOT NULL DEFAULT 'x'",
                "ALTER TABLE t ADD COLUMN kind VARCHAR(9) GENERATED ALWAYS AS (CASE WHEN id > 3 THEN coalesce(substr(body, 1, 4), '-') ELSE 'few' END) STORED",
                "INSERT INTO t (id, body) VALUES (11, 'apples')");
        execute(primary, "UPDATE t SET body = 'fewer' WHERE id = 1");
        cluster.assertIdentical();
        assertThat(
                        number(
                                (primary + 1) % SIZE,
                                "SELECT count(*) FROM t WHERE twice = 2 * id AND a = 'aaab' AND words <> '' AND d = 'x' AND kind > ''"))
                .isEqualTo(11);
    }

    /** The server executes them in COMMIT, when all that is told is ordered. */
    @Test
    void cursorsThatAreKeptChangeNothingBehindWhatIsOrdered() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY)",
                "CREATE TABLE u (id INTEGER PRIMARY KEY)",
                "CREATE FUNCTION put(i INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (i); RETURN i; END'",
                "CREATE FUNCTION \"Row\"(r u) RETURNS INTEGER LANGUAGE sql AS 'SELECT put(r.id)'",
                "CREATE FUNCTION keeps() RETURNS VOID LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'DECLARE h CURSOR WITH HOLD FOR SELECT put(100)'; END $$",
                "CREATE VIEW v AS SELECT id + 10 AS id FROM u WHERE put(id + 10) > 0",
                "CREATE VIEW w AS SELECT * FROM v",
                "INSERT INTO u VALUES (1)");
        for (String query : List.of(
                "SELECT put(id) FROM u",
                "SELECT pg_catalog.sum(\"put\"(id)) FROM u",
                "SELECT U&\"\\0070ut\"(id) FROM u",
                "SELECT u.\"Row\" FROM u",
                "SELECT count(*) FROM w")) {
            for (String change : List.of("DELETE FROM u", "CREATE TABLE made (id INTEGER PRIMARY KEY)")) {
                assertRefused("0A000", () -> execute(primary, change, "DECLARE c CURSOR WITH HOLD FOR " + query));
            }
            try (Connection connection = cluster.connect(primary);
                    Statement statement = connection.createStatement()) {
                assertThatThrownBy(() -> statement.execute("DECLARE c CURSOR WITH HOLD FOR " + query))
                        .as(query)
                        .hasMessageContaining("public.t was changed where its replica does not see it");
            }
        }
        try (Connection connection = cluster.connect(primary);
                Statement statement = connection.createStatement()) {
            statement.execute("DECLARE c CURSOR WITH HOLD FOR SELECT put(1) FROM u WHERE false");
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO t VALUES (5)");
            statement.execute("DECLARE d CURSOR WITH HOLD FOR SELECT 0, jsonb_agg(a) FROM generate_series(1, 3) a");
            statement.execute("DECLARE e CURSOR WITH HOLD FOR SELECT put(id) FROM u");
            statement.execute("CLOSE e");
            connection.commit();
            assertThat(number(connection, "FETCH d")).isZero();
        }
        // A function makes it, so that nobody knows of it before the order.
        assertRefused("08007", () -> execute(primary, "INSERT INTO t VALUES (6)", "SELECT keeps()"));
        cluster.assertIdentical();
        assertThat(number(primary, "SELECT count(*) FROM t WHERE id = 5")).isEqualTo(1);
        assertThat(number(primary, "SELECT count(*) FROM t WHERE id NOT IN (5, 6)"))
                .isZero();
        assertThat(number(primary, "SELECT count(*) FROM u")).isEqualTo(1);
    }

    @Test
    void changesThatNoTriggerWouldSeeAreRefused() throws SQLException {
        int primary = cluster.primary();
        for (String sql : List.of(
                "DO $$ BEGIN SET LOCAL session_replication_role TO replica; END $$",
                "CREATE FUNCTION f() RETURNS INTEGER LANGUAGE sql SET session_replication_role TO replica AS 'SELECT 1'",
                "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN SET LOCAL session_replication_role TO replica; END $$",
                "CREATE PROCEDURE p() LANGUAGE plpgsql AS E'BEGIN SET LOCAL session\\137replication_role TO replica; END'",
                "SELECT set_config('session_' || 'replication_role', 'replica', true)")) {
            assertRefused("0A000", () -> execute(primary, sql));
        }
        execute(
                primary,
                "CREATE TABLE event_triggers (id INTEGER PRIMARY KEY)",
                "CREATE FUNCTION f() RETURNS BIGINT LANGUAGE sql AS 'SELECT count(*) FROM event_triggers'",
                "ALTER TABLE event_triggers ADD COLUMN a INTEGER");
    }

    /** Who takes over gives none of its values again. */
    @Test
    void howFarASequenceHasComeIsToldAgainOnceItWasRestarted() throws SQLException {
        int primary = cluster.primary();
        String fill = "INSERT INTO t (v) SELECT i FROM generate_series(1, 1000) i";
        execute(primary, "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v INTEGER)", fill);
        for (String restart : List.of(
                "TRUNCATE t RESTART IDENTITY",
                "DELETE FROM t; ALTER TABLE t ALTER COLUMN id RESTART",
                "DELETE FROM t; ALTER SEQUENCE t_id_seq RESTART WITH 1")) {
            execute(primary, restart);
            execute(primary, fill);
            execute(primary, restart, fill);
            for (int i = 0; i < SIZE; i++) {
                assertThat(number(i, "SELECT last_value FROM t_id_seq"))
                        .as("%s, replica %s", restart, i)
                        .isEqualTo(1000);
            }
        }
        cluster.assertIdentical();
    }

    /** Others execute the statement, and no event triggers. */
    @Test
    void whatASchemaChangeDoesBesidesIsDoneOnceOrRefused() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY)",
                "INSERT INTO t VALUES (1), (2)",
                "CREATE TABLE log (no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tag TEXT)",
                "CREATE FUNCTION notes(INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (tag) VALUES ($1); RETURN 1; END $$",
                "CREATE FUNCTION hides(INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN notes($1) = 1; END'",
                "CREATE FUNCTION truncated() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (tag) VALUES (tg_op); RETURN NULL; END $$",
                "CREATE TRIGGER truncated AFTER TRUNCATE ON t EXECUTE FUNCTION truncated()");
        assertRefused("0A000", () -> execute(primary, "ALTER TABLE t ADD CHECK (hides(id))"));
        execute(
                primary,
                "INSERT INTO log (tag) VALUES ('first')",
                "CREATE TABLE made AS SELECT notes(id) FROM t",
                "TRUNCATE t",
                "ALTER TABLE t ADD COLUMN a INTEGER");
        assertThat(number(primary, "SELECT count(*) FROM log")).isEqualTo(4);
        execute(
                primary,
                "CREATE FUNCTION changes() RETURNS EVENT_TRIGGER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (tag) VALUES (tg_tag);"
                        + " IF tg_tag = 'CREATE VIEW' THEN CREATE TABLE besides (id INTEGER PRIMARY KEY); END IF;"
                        + " IF tg_tag = 'CREATE SEQUENCE' THEN DROP TABLE made; END IF; END $$",
                "CREATE EVENT TRIGGER a_changes ON ddl_command_end EXECUTE FUNCTION changes()",
                "CREATE EVENT TRIGGER z_changes ON ddl_command_end EXECUTE FUNCTION changes()");
        execute(primary, "CREATE TABLE u (id INTEGER PRIMARY KEY)", "INSERT INTO u VALUES (1)");
        execute(primary, "CREATE EXTENSION hstore");
        for (String sql : List.of("CREATE VIEW v AS SELECT 1 AS a", "CREATE SEQUENCE s")) {
            assertRefused("0A000", () -> execute(primary, sql));
        }
        cluster.assertIdentical();
        try (Connection stranger = TestServer.connect(database(primary))) {
            assertThat(Installation.findings(stranger))
                    .extracting(Finding::object)
                    .contains("event trigger a_changes", "event trigger z_changes");
        }
    }

    /** Others get the rows behind the statement that has called the trigger before it. */
    @Test
    void whatATriggerDoesBeforeATruncateIsDoneEverywhereOrRefused() throws SQLException {
        int primary = cluster.primary();
        String function =
                "CREATE OR REPLACE FUNCTION keeps() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN %s RETURN NULL; END $$";
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)",
                "CREATE TABLE child (id INTEGER PRIMARY KEY REFERENCES t)",
                "CREATE TABLE kept (id INTEGER PRIMARY KEY, v TEXT)",
                "CREATE TABLE other (id INTEGER PRIMARY KEY)",
                "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 300) i",
                "INSERT INTO child VALUES (1)",
                "INSERT INTO other VALUES (1)",
                function.formatted(""),
                "CREATE TRIGGER keeps BEFORE TRUNCATE ON t EXECUTE FUNCTION keeps()");
        for (String change : List.of(
                "INSERT INTO kept SELECT * FROM t; DELETE FROM child; DELETE FROM t;",
                "DELETE FROM child; DELETE FROM t;",
                "TRUNCATE other;",
                "CREATE TABLE made (id INTEGER PRIMARY KEY);",
                "DROP TABLE other;")) {
            execute(primary, function.formatted(change));
            assertRefused("0A000", () -> execute(primary, "TRUNCATE t CASCADE"));
        }
        execute(primary, function.formatted("INSERT INTO kept SELECT * FROM t; UPDATE other SET id = id + 1;"));
        execute(
                primary,
                "CREATE FUNCTION begins() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO other VALUES (0); RETURN NULL; END $$",
                "CREATE TRIGGER begins AFTER TRUNCATE ON other EXECUTE FUNCTION begins()");
        execute(
                primary,
                "SAVEPOINT s",
                "TRUNCATE t CASCADE",
                "ROLLBACK TO s",
                "TRUNCATE t, child",
                "INSERT INTO t VALUES (1)");
        execute(primary, "DROP TRIGGER keeps ON t");
        execute(primary, "TRUNCATE other");
        cluster.assertIdentical();
        assertThat(number(primary, "SELECT count(*) FROM kept")).isEqualTo(300);
        assertThat(number(primary, "SELECT sum(id) FROM other")).isZero();
    }

    @Test
    void whatAReplicaCouldCheckByOtherRowsThanItsOriginIsRefused() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE other (id INTEGER PRIMARY KEY)",
                "CREATE FUNCTION there(INTEGER) RETURNS BOOLEAN STABLE LANGUAGE plpgsql AS 'BEGIN RETURN EXISTS (SELECT FROM other WHERE id = $1); END'",
                "CREATE FUNCTION small(INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE sql AS 'SELECT $1 < 10'",
                "CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (small(id)), o INTEGER)",
                "CREATE DOMAIN d AS INTEGER CHECK (small(VALUE))",
                "CREATE TEMP TABLE own (id INTEGER CHECK (there(id)))");
        for (String sql : List.of(
                "CREATE TABLE u (id INTEGER PRIMARY KEY CHECK (there(id)))",
                "ALTER TABLE t ADD CHECK (there(o))",
                "CREATE DOMAIN e AS INTEGER CHECK (there(VALUE))",
                "ALTER DOMAIN d ADD CHECK (there(VALUE))",
                "ALTER FUNCTION small(INTEGER) STABLE")) {
            assertRefused("0A000", () -> execute(primary, sql));
        }
        execute(primary, "INSERT INTO t VALUES (1, 1)");
        cluster.assertIdentical();
    }

    @Test
    void clientsOfTheServersOwnKindAreReplicated() throws SQLException {
        int primary = cluster.primary();
        String url = cluster.replica(primary)
                .listen(new InetSocketAddress(
                        InetAddress.getLoopbackAddress(), LoopbackPorts.free(1).get(0)));
        try (Connection connection = DriverManager.getConnection(url + "?user=postgres");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
            statement.execute("INSERT INTO account SELECT i, 100 FROM generate_series(1, 10) i");
            connection.setAutoCommit(false);
            try (PreparedStatement move =
                    connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?")) {
                for (int id = 1; id <= 10; id++) {
                    move.setInt(1, id % 2 == 0 ? 10 : -10);
                    move.setInt(2, id);
                    move.addBatch();
                }
                move.executeBatch();
            }
            connection.commit();
        }
        cluster.assertIdentical();
        try (Connection connection = cluster.connect((primary + 1) % SIZE)) {
            assertThat(number(connection, "SELECT sum(balance) FROM account")).isEqualTo(1000);
            assertThat(number(connection, "SELECT balance FROM account WHERE id = 2"))
                    .isEqualTo(110);
        }
    }

    /** Replicas of their own servers would have the same name of the database; here each has another. */
    @Test
    void aDriverFindsWhoTakesWrites() throws SQLException {
        int primary = cluster.primary();
        for (int i = 0; i < SIZE; i++) {
            String url = cluster.replica(i)
                    .listen(new InetSocketAddress(
                            InetAddress.getLoopbackAddress(),
                            LoopbackPorts.free(1).get(0)));
            String primaryOnly = url + "?user=postgres&targetServerType=primary";
            if (i == primary) {
                DriverManager.getConnection(primaryOnly).close();
            } else {
                assertThatThrownBy(() -> DriverManager.getConnection(primaryOnly))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("targetServerType: primary");
                DriverManager.getConnection(url + "?user=postgres&targetServerType=secondary")
                        .close();
            }
        }
    }

    /** Who waited for its locks has not seen what the group commits before him. */
    @Test
    void whoGetsTheLocksOfACommitWhoseSessionIsEndedOnTheServerIsRefused() throws Exception {
        int primary = cluster.primary();
        execute(primary, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", "INSERT INTO t VALUES (1, 0)");
        ExecutorService clients = Executors.newCachedThreadPool();
        Connection committing = cluster.connect(primary);
        Connection administrator = TestServer.connect(database(primary)); // whom the applier may end
        try (Connection next = cluster.connect(primary)) {
            administrator.setAutoCommit(false);
            administrator.createStatement().execute("LOCK TABLE gorda.position IN EXCLUSIVE MODE");
            Future<Integer> ended = clients.submit(() -> add(committing));
            awaitTrue("its commit is held up", () -> waitsForLock("'gorda.position'::regclass", primary));
            Future<Integer> waits = clients.submit(() -> add(next));
            awaitTrue("the next one waits for its lock", () -> waitsForLock("'t'::regclass", primary));
            administrator.createStatement().execute("SELECT pg_terminate_backend(" + backend(committing) + ")");
            awaitTrue(
                    "the next one has asked for its commit",
                    () -> waits.isDone() || cluster.replica(primary).status().inFlight() == 1);
            administrator.abort(Runnable::run);
            assertThat(ended.get()).isEqualTo(1);
            assertThatThrownBy(waits::get)
                    .hasCauseInstanceOf(SQLException.class)
                    .hasMessageContaining("run it again");
            assertThat(cluster.primary()).isEqualTo(primary);
            assertThat(add(next)).isEqualTo(1);
        } finally {
            clients.shutdownNow();
        }
        for (int i = 0; i < SIZE; i++) {
            assertThat(number(i, "SELECT n FROM t")).isEqualTo(2);
        }
        cluster.assertIdentical();
    }

    /** Whatever they do in that moment. Who does not see the one before him inserts what that has inserted, which stops all replicas. */
    @Test
    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void whateverSessionsAreEndedOnTheServerNobodyIsOrderedBehindWhatHeHasNotSeen() throws Exception {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
                "INSERT INTO t VALUES (1, 0)",
                "CREATE TABLE seen (n INTEGER PRIMARY KEY)");
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger acknowledged = new AtomicInteger();
        ExecutorService clients = Executors.newCachedThreadPool();
        try (Connection administrator = TestServer.connect(database(primary))) {
            for (int client = 0; client < 6; client++) {
                clients.execute(() -> {
                    while (!over.get() && cluster.replica(primary).status().state() == ReplicaState.ONLINE) {
                        count(primary, over, acknowledged);
                    }
                });
            }
            for (int ended = 0; ended < 200 && cluster.replica(primary).status().state() == ReplicaState.ONLINE; ) {
                ended += (int)
                        number(
                                administrator,
                                "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'"
                                        + " AND datname = current_database() AND application_name NOT LIKE 'gorda%' ORDER BY random() LIMIT 1) one");
            }
        } finally {
            over.set(true);
            clients.shutdown();
        }
        assertThat(cluster.replica(primary).status().state()).isEqualTo(ReplicaState.ONLINE);
        assertThat(clients.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
        assertThat(number(primary, "SELECT n FROM t"))
                .isGreaterThanOrEqualTo(acknowledged.get())
                .isEqualTo(number(primary, "SELECT count(*) FROM seen"));
        cluster.assertIdentical();
    }

    private void count(int primary, AtomicBoolean over, AtomicInteger acknowledged) {
        try (Connection connection = cluster.connect(primary)) {
            connection.setAutoCommit(false);
            while (!over.get()) {
                add(connection);
                connection.createStatement().executeUpdate("INSERT INTO seen SELECT n FROM t");
                connection.commit();
                acknowledged.incrementAndGet();
            }
        } catch (SQLException e) {
            // PostgreSQL's driver tells so where a session was ended just before it is closed.
            if (!"Unable to close connection properly".equals(e.getMessage())) {
                assertThat(e.getSQLState()).as(e.toString()).isIn("57P01", "40001", "25006", "08006", "08007");
            }
        }
    }

    private static int backend(Connection connection) throws SQLException {
        return connection.unwrap(PGConnection.class).getBackendPID();
    }

    private static int add(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate("UPDATE t SET n = n + 1 WHERE id = 1");
        }
    }

    private boolean waitsForLock(String table, int i) {
        try (Connection connection = TestServer.connect(database(i))) {
            return number(
                            connection,
                            "SELECT count(*) FROM pg_locks w JOIN pg_locks h USING (pid) WHERE NOT w.granted"
                                    + " AND (w.relation = " + table
                                    + " OR w.locktype = 'transactionid' AND h.relation = "
                                    + table + ")")
                    > 0;
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static void awaitTrue(String what, Callable<Boolean> condition) {
        Awaitility.await(what).atMost(PATIENCE).until(condition);
    }

    /** One comes later that has read what it writes: then the server would have it fail, ordered or not. */
    @Test
    void aSerializableTransactionThatCouldFailOnceItIsOrderedIsRefusedBefore() throws SQLException {
        int primary = cluster.primary();
        execute(
                primary,
                "CREATE TABLE duty (side TEXT PRIMARY KEY, doctors INTEGER)",
                "INSERT INTO duty VALUES ('left', 1), ('right', 1)");
        try (Connection first = serializable(primary);
                Connection second = serializable(primary);
                Connection later = serializable(primary)) {
            assertThat(number(first, DOCTORS + "'left'")).isEqualTo(1);
            assertThat(number(later, DOCTORS + "'left'")).isEqualTo(1);
            second.createStatement().execute("UPDATE duty SET doctors = 2 WHERE side = 'left'");
            second.commit();
            first.createStatement().execute("UPDATE duty SET doctors = 2 WHERE side = 'right'");
            assertThatThrownBy(first::commit)
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("read/write dependencies")
                    .extracting(e -> ((SQLException) e).getSQLState())
                    .isEqualTo("40001");
            assertThat(number(later, DOCTORS + "'right'")).isEqualTo(1);
            later.commit();

            assertThat(number(first, DOCTORS + "'left'")).isEqualTo(2);
            first.createStatement().execute("UPDATE duty SET doctors = 3 WHERE side = 'right'");
            first.commit();
        }
        cluster.assertIdentical();
    }

    /** All compare it at once, in this process: 1.2 GB, with a heap of 1 GB. */
    @Test
    void whatIsComparedNeedsNotFitIntoMemory() throws SQLException {
        execute(cluster.primary(), "CREATE TABLE large (id INTEGER PRIMARY KEY, body TEXT)");
        cluster.awaitEverywhere();
        for (int i = 0; i < SIZE; i++) {
            try (Connection connection = TestServer.connect(database(i));
                    Statement past = connection.createStatement()) {
                past.execute("SET session_replication_role = replica");
                past.execute("INSERT INTO large SELECT i, repeat('x', 100000) FROM generate_series(1, 4000) i");
            }
        }
        cluster.assertIdentical();
    }

    private Connection serializable(int i) throws SQLException {
        Connection connection = cluster.connect(i);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        connection.setAutoCommit(false);
        return connection;
    }

    @Test
    void whatWasAcknowledgedIsThereAfterThePrimaryIsGoneAndWhoComesBackReceivesIt() throws Exception {
        int first = cluster.primary();
        execute(
                first,
                "CREATE TABLE item (id BIGINT PRIMARY KEY, writer INTEGER, body TEXT)",
                "CREATE PROCEDURE two(a INTEGER) LANGUAGE SQL BEGIN ATOMIC SELECT a; SELECT a + 1; END",
                "CREATE DOMAIN word AS TEXT COLLATE \"C\" CHECK (VALUE <> '')",
                "CREATE TABLE hidden (id INTEGER PRIMARY KEY, w word)",
                "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
                "ALTER TABLE hidden FORCE ROW LEVEL SECURITY",
                "CREATE VIEW items AS SELECT id, body FROM item",
                "ALTER VIEW items ALTER COLUMN body SET DEFAULT 'none'");
        Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
        Set<Long> unknown = ConcurrentHashMap.newKeySet();
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        AtomicBoolean ended = new AtomicBoolean();
        List<Thread> writers = new ArrayList<>();
        for (int writer = 0; writer < 4; writer++) {
            int number = writer;
            Thread thread = new Thread(() -> write(number, acknowledged, unknown, ended, failures));
            thread.start();
            writers.add(thread);
        }
        Awaitility.await().atMost(PATIENCE).until(() -> acknowledged.size() > 200);
        cluster.stop(first);
        int second = cluster.primary();
        // So that it cannot come back by what is in a log.
        Awaitility.await("others go on, and cut the log")
                .atMost(PATIENCE.multipliedBy(3))
                .until(() -> {
                    long written = acknowledged.size() * (long) "body of 1".length() * BODY_REPEATS;
                    return written > LOG_BYTES
                            && IntStream.range(0, SIZE).allMatch(i -> i == first || logBytes(i) < written / 2);
                });

        // It has lost all that it had.
        deleteAll(first);
        cluster.start(first);
        cluster.replica(first).awaitPrimary(PATIENCE);
        int online = acknowledged.size();
        Awaitility.await("all go on with it").atMost(PATIENCE).until(() -> acknowledged.size() > online + 100);
        ended.set(true);
        for (Thread thread : writers) {
            thread.join(PATIENCE.toMillis());
        }
        assertThat(failures).isEmpty();
        cluster.assertIdentical();
        String schema = schema(second);
        assertThat(schema).contains("BEGIN ATOMIC").contains("'none'").contains("true true");
        assertThat(schema(first)).as("the schema that was received").isEqualTo(schema);
        try (Connection connection = cluster.connect(second);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id FROM item")) {
            Set<Long> there = ConcurrentHashMap.newKeySet();
            while (rows.next()) {
                there.add(rows.getLong(1));
            }
            assertThat(there).containsAll(acknowledged);
            there.removeAll(acknowledged);
            assertThat(unknown).containsAll(there);
        }
    }

    private String schema(int i) throws SQLException {
        try (Connection connection = cluster.connect(i);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT concat_ws(' ', pg_get_functiondef('two'::regproc),"
                        + " (SELECT typcollation::regcollation::text FROM pg_type WHERE typname = 'word'),"
                        + " (SELECT relrowsecurity || ' ' || relforcerowsecurity FROM pg_class WHERE relname = 'hidden'),"
                        + " (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'items'::regclass))")) {
            row.next();
            return row.getString(1);
        }
    }

    private long logBytes(int i) {
        try (Stream<Path> files = Files.walk(directory.resolve("replica" + i).resolve("log"))) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        } catch (IOException | UncheckedIOException e) {
            return Long.MAX_VALUE; // a file was deleted meanwhile
        }
    }

    /** Writes at whoever is the primary, a row in each transaction. */
    private void write(
            int writer, Set<Long> acknowledged, Set<Long> unknown, AtomicBoolean ended, List<Throwable> failures) {
        long id = writer * 1_000_000L;
        while (!ended.get()) {
            id++;
            boolean asked = false;
            try (Connection connection = cluster.connect(cluster.primary());
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?, ?)")) {
                connection.setAutoCommit(false);
                insert.setLong(1, id);
                insert.setInt(2, writer);
                insert.setString(3, ("body of " + id).repeat(BODY_REPEATS));
                insert.executeUpdate();
                asked = true;
                connection.commit();
                acknowledged.add(id);
            } catch (SQLException e) {
                if (asked && !"40001".equals(e.getSQLState())) {
                    unknown.add(id);
                }
            } catch (RuntimeException e) {
                unknown.add(id); // it is being closed
            } catch (Error e) {
                failures.add(e);
                return;
            }
        }
    }
}
