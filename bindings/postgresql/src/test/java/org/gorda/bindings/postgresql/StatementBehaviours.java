package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.AT_ONCE;
import static org.gorda.bindings.postgresql.Behaviour.BINARY;
import static org.gorda.bindings.postgresql.Behaviour.CACHED;
import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;
import static org.gorda.bindings.postgresql.Behaviour.PREPARED_ONLY;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.sql.Types;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Statements of all kinds, what they return, batches, generated keys, and routines. */
final class StatementBehaviours {

    private StatementBehaviours() {}

    private static final String[] ALL = {SIMPLE, EXTENDED, PREPARED_ONLY, CACHED, BINARY};

    static List<Behaviour> all() {
        return List.of(
                Behaviour.of("rows and counts", client -> client.lines("""
                        SELECT * FROM t ORDER BY id
                        SELECT * FROM t WHERE false
                        INSERT INTO t VALUES (4, 40), (5, 50)
                        UPDATE t SET a = a + 1 WHERE id > 2
                        UPDATE t SET a = 0 WHERE false
                        DELETE FROM t WHERE id = 1
                        SELECT
                        VALUES (1, 'a'), (2, NULL)
                        TABLE t""")).in(ALL),
                Behaviour.of(
                                "several statements and results in one execution",
                                client -> client.run(
                                        "SELECT 1; INSERT INTO t VALUES (4); UPDATE t SET a = 5; SELECT a FROM t ORDER BY id; DELETE FROM t WHERE id = 4"))
                        .in(ALL),
                Behaviour.of("tables made of queries", client -> {
                            client.lines("""
                                    CREATE TABLE made AS SELECT id, a FROM t WHERE id > 1
                                    SELECT * INTO other FROM made
                                    CREATE TABLE made AS SELECT 1
                                    CREATE TABLE IF NOT EXISTS made AS SELECT 1
                                    CREATE TABLE none AS SELECT * FROM t WITH NO DATA
                                    SELECT count(*) FROM none
                                    SELECT * FROM other ORDER BY id
                                    CREATE TABLE one AS SELECT 1 / 0 AS a""");
                            client.run("CREATE TABLE \"Two\" AS SELECT ?::int AS a", List.of(2));
                            client.run("SELECT * FROM \"Two\"");
                        })
                        .in(ALL),
                Behaviour.of("several statements, the last of which fails", client -> client.lines("""
                        INSERT INTO t VALUES (4); SELECT 1; INSERT INTO t VALUES (1); INSERT INTO t VALUES (5)
                        SELECT count(*) FROM t"""))
                        .in(ALL),
                Behaviour.of("several statements with transactions among them", client -> client.lines("""
                        BEGIN; INSERT INTO t VALUES (4); COMMIT; INSERT INTO t VALUES (5); SELECT count(*) FROM t
                        INSERT INTO t VALUES (6); BEGIN; INSERT INTO t VALUES (7); ROLLBACK; INSERT INTO t VALUES (8)
                        BEGIN; INSERT INTO t VALUES (9); INSERT INTO t VALUES (9); COMMIT
                        ROLLBACK"""))
                        .in(ALL),
                Behaviour.of("transactions that end where none has begun", client -> client.lines("""
                        COMMIT
                        ROLLBACK
                        BEGIN; BEGIN; COMMIT"""))
                        .in(SIMPLE, EXTENDED),
                Behaviour.of(
                                "empty queries and comments",
                                client -> client.run(
                                        "",
                                        ";",
                                        ";;  ;",
                                        "-- nothing",
                                        "/* nothing /* nested */ */",
                                        "-- first\nSELECT 1 -- behind\n",
                                        "; SELECT 2;",
                                        "SELECT 1;; SELECT 2"))
                        .in(ALL),
                Behaviour.of(
                        "quoting",
                        client -> client.run(
                                "SELECT 'it''s', \"t\".\"id\" AS \"a \"\"b\"\" ;\", $$ ; $$, $q$ $$ ' $q$, E'\\'\\n;', U&'\\00e4', '?' FROM t WHERE id = 1",
                                "CREATE TABLE \"A;\"\"b\" (\"Id?\" int PRIMARY KEY)",
                                "INSERT INTO \"A;\"\"b\" VALUES (1)",
                                "SELECT 'a' 'b'",
                                "SELECT 'a'\n'b'",
                                "SELECT '{\"a\":1}'::jsonb ?? 'a'")),
                Behaviour.of("standard_conforming_strings off", client -> client.lines("""
                        SET standard_conforming_strings TO off
                        SELECT 'a\\'; b'
                        INSERT INTO t VALUES (4, 4, 'c\\\\d')
                        SELECT s FROM t WHERE id = 4
                        RESET standard_conforming_strings
                        SELECT 'a\\'""")),
                Behaviour.of("parameters", client -> {
                            client.run("SELECT ?::int + ?::int AS sum, ?::text", List.of(1, 2, "three"));
                            client.run("INSERT INTO t VALUES (?, ?, ?)", List.of(4, 40, "it's; \\"));
                            client.run("SELECT * FROM t WHERE id = ? OR s = ?", List.of(4, "one"));
                            client.run("SELECT ? + 1", List.of(1));
                            client.run("SELECT ?", List.of("a", "b"));
                            client.run("SELECT ?::int", List.of());
                            client.run("SELECT ?::int", List.of("no number"));
                        })
                        .in(ALL),
                Behaviour.of(
                                "one statement prepared and executed ten times",
                                client -> client.attempt("ten", c -> {
                                    try (PreparedStatement statement = c.connection()
                                            .prepareStatement("UPDATE t SET a = a + ? WHERE id = ? RETURNING a, s")) {
                                        for (int i = 0; i < 10; i++) {
                                            statement.setInt(1, i);
                                            statement.setInt(2, 1 + i % 4);
                                            c.results(statement, statement::execute);
                                        }
                                    }
                                }))
                        .in(ALL),
                Behaviour.of("a prepared statement whose table changes", StatementBehaviours::changingTable)
                        .in(SIMPLE, EXTENDED, AT_ONCE, CACHED, AT_ONCE + "&autosave=conservative"),
                Behaviour.of(
                                "30,000 parameters",
                                client -> client.run(
                                        "SELECT count(*), sum(x) FROM (VALUES "
                                                + String.join(",", Collections.nCopies(30_000, "(?::int)")) + ") v (x)",
                                        Collections.nCopies(30_000, 7)))
                        .in(SIMPLE, EXTENDED, BINARY),
                Behaviour.of(
                                "more parameters than there may be",
                                client -> client.run(
                                        "SELECT 1 WHERE 1 IN (" + String.join(",", Collections.nCopies(65_536, "?"))
                                                + ")",
                                        Collections.nCopies(65_536, 7)))
                        .in(EXTENDED),
                Behaviour.of(
                        "a statement of 3 MB",
                        client -> client.run(
                                "INSERT INTO t VALUES (4, 4, '" + "x".repeat(3 << 20) + "') RETURNING length(s)",
                                "UPDATE t SET s = md5(s) WHERE id = 4")),
                Behaviour.of("RETURNING", client -> client.lines("""
                        INSERT INTO t VALUES (4, 40, 'x') RETURNING *
                        UPDATE t SET a = a * 2 WHERE id < 3 RETURNING id, a AS doubled
                        DELETE FROM t WHERE id = 4 RETURNING s
                        UPDATE t SET a = 1 WHERE false RETURNING *
                        INSERT INTO t VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET a = -1 RETURNING a
                        INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING RETURNING a
                        WITH gone AS (DELETE FROM t WHERE id = 3 RETURNING id) SELECT * FROM gone""")).in(ALL),
                Behaviour.of("MERGE", client -> client.lines("""
                        MERGE INTO t USING (VALUES (1, 5), (9, 9)) v (id, a) ON t.id = v.id WHEN MATCHED THEN UPDATE SET a = v.a WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.a)
                        SELECT id, a FROM t ORDER BY id""")),
                Behaviour.of("generated keys by flag and by names", StatementBehaviours::generatedKeys)
                        .in(ALL),
                Behaviour.of("generated keys of batches", StatementBehaviours::generatedKeysOfBatches)
                        .in(SIMPLE, EXTENDED, AT_ONCE, "reWriteBatchedInserts=true"),
                Behaviour.of("a batch", client -> batch(client, true, 10, 20, 30))
                        .in(batchModes()),
                Behaviour.of("a batch that fails in its middle", client -> batch(client, true, 10, 20, 1, 30))
                        .in(batchModes()),
                Behaviour.of(
                                "a batch that fails in its middle, in a transaction",
                                client -> batch(client, false, 10, 20, 1, 30))
                        .in(batchModes()),
                Behaviour.of("a batch of 3,000 that fails late", client -> {
                            int[] ids =
                                    java.util.stream.IntStream.range(10, 3_010).toArray();
                            ids[2_500] = 1;
                            batch(client, true, ids);
                        })
                        .in(EXTENDED, "reWriteBatchedInserts=true"),
                Behaviour.of("a batch that breaks a deferred constraint", client -> {
                            client.run(
                                    "CREATE TABLE child (id int PRIMARY KEY, t int REFERENCES t DEFERRABLE INITIALLY DEFERRED)");
                            batchInto(client, true, "INSERT INTO child VALUES (?, 1), (-1000, 99)", 1, 2);
                            batchInto(client, true, "INSERT INTO child VALUES (?, 99)", 1, 2, 3);
                            batchInto(client, false, "INSERT INTO child VALUES (?, 99)", 1, 2, 3);
                        })
                        .in(batchModes()),
                Behaviour.of("a batch of different statements", client -> {
                            statements(
                                    client,
                                    "INSERT INTO t VALUES (4)",
                                    "UPDATE t SET a = 0",
                                    "DELETE FROM t WHERE id = 1",
                                    "CREATE TABLE made (id int PRIMARY KEY)",
                                    "INSERT INTO made VALUES (1)");
                            statements(client, "INSERT INTO t VALUES (5)", "SELECT 1", "INSERT INTO t VALUES (6)");
                            statements(client, "INSERT INTO t VALUES (7)", "nonsense", "INSERT INTO t VALUES (8)");
                            statements(client);
                        })
                        .in(ALL),
                Behaviour.of(
                                "a batch that changes and reads what it has changed",
                                client -> client.attempt("batch", c -> {
                                    try (PreparedStatement statement = c.connection()
                                            .prepareStatement("INSERT INTO t SELECT max(id) + 1, ? FROM t")) {
                                        for (int i = 0; i < 500; i++) {
                                            statement.setInt(1, i);
                                            statement.addBatch();
                                        }
                                        c.see(
                                                "counts",
                                                Arrays.stream(statement.executeBatch())
                                                        .sum());
                                    }
                                }))
                        .in(batchModes()),
                Behaviour.of("functions by CallableStatement", StatementBehaviours::functions)
                        .in(SIMPLE, EXTENDED, BINARY),
                Behaviour.of("procedures by CallableStatement", StatementBehaviours::procedures)
                        .in(SIMPLE, EXTENDED, "escapeSyntaxCallMode=call", "escapeSyntaxCallMode=callIfNoReturn"),
                Behaviour.of("functions that return sets and records", client -> {
                    client.run(
                            "CREATE FUNCTION pairs(n int) RETURNS TABLE (i int, sq int) LANGUAGE sql AS 'SELECT i, i * i FROM generate_series(1, n) i'");
                    client.run("SELECT * FROM pairs(3)", "SELECT pairs(2)", "SELECT (pairs(1)).*");
                }),
                Behaviour.of("functions that change rows", client -> {
                    client.run(
                            "CREATE FUNCTION put(i int) RETURNS int LANGUAGE plpgsql AS $$ begin insert into t values (i, i); return i; end $$");
                    client.lines("""
                            SELECT put(4)
                            SELECT put(4)
                            SELECT put(i) FROM generate_series(5, 7) i
                            SELECT put(8) WHERE false""");
                    client.begin();
                    client.run("SELECT put(9)");
                    client.rollback();
                }),
                Behaviour.of("DO, and what it catches", client -> client.lines("""
                        DO $$ begin insert into t values (4); begin insert into t values (4); exception when unique_violation then raise notice 'caught %', sqlerrm; end; end $$
                        DO $$ begin insert into t values (5); raise exception 'no'; end $$""")),
                Behaviour.of("triggers of its own", client -> client.lines("""
                        CREATE FUNCTION louder() RETURNS trigger LANGUAGE plpgsql AS $$ begin new.s := upper(new.s); raise notice 'row %', new.id; return new; end $$
                        CREATE TRIGGER loud BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION louder()
                        INSERT INTO t VALUES (4, 4, 'four'), (5, 5, 'five') RETURNING s
                        UPDATE t SET a = 1 WHERE id = 1""")),
                Behaviour.of("views, rules and updates by them", client -> client.lines("""
                        CREATE VIEW v AS SELECT id, a FROM t WHERE a > 10 WITH CHECK OPTION
                        INSERT INTO v VALUES (4, 40)
                        INSERT INTO v VALUES (5, 1)
                        UPDATE v SET a = a + 1
                        CREATE RULE quiet AS ON DELETE TO t DO INSTEAD NOTHING
                        DELETE FROM t""")),
                Behaviour.of("identity, serial and computed columns", client -> client.lines("""
                        CREATE TABLE g (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n serial, d int DEFAULT 7, twice int GENERATED ALWAYS AS (d * 2) STORED)
                        INSERT INTO g DEFAULT VALUES RETURNING *
                        INSERT INTO g (d) VALUES (1), (2) RETURNING *
                        INSERT INTO g (id) VALUES (1)
                        INSERT INTO g (id) OVERRIDING SYSTEM VALUE VALUES (100)
                        SELECT currval('g_n_seq'), lastval()
                        SELECT nextval('g_n_seq')
                        SELECT setval('g_n_seq', 50)""")),
                Behaviour.of("partitions, cascades and keys that change", client -> client.lines("""
                        CREATE TABLE p (id int PRIMARY KEY, a int) PARTITION BY RANGE (id)
                        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)
                        CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)
                        INSERT INTO p VALUES (1, 1), (11, 1)
                        UPDATE p SET id = id + 10 WHERE id = 1
                        UPDATE p SET id = 12 WHERE id = 11
                        INSERT INTO p VALUES (99, 1)
                        CREATE TABLE child (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE)
                        INSERT INTO child VALUES (1, 1), (2, 2)
                        DELETE FROM t WHERE id = 1
                        UPDATE t SET id = 22 WHERE id = 2
                        SELECT * FROM child""")),
                Behaviour.of("TRUNCATE", client -> client.lines("""
                        CREATE TABLE child (id serial PRIMARY KEY, t int REFERENCES t)
                        INSERT INTO child (t) VALUES (1)
                        TRUNCATE t
                        TRUNCATE t CASCADE
                        INSERT INTO t VALUES (1)
                        TRUNCATE child RESTART IDENTITY
                        INSERT INTO child (t) VALUES (1) RETURNING id""")),
                Behaviour.of("schema changes and what they say", client -> client.lines("""
                        CREATE TABLE IF NOT EXISTS t (id int)
                        CREATE TABLE u (id int PRIMARY KEY, t int REFERENCES t)
                        DROP TABLE IF EXISTS nothing
                        DROP TABLE t
                        ALTER TABLE u ADD b text DEFAULT 'x'
                        CREATE INDEX i ON u (b)
                        ALTER TABLE u RENAME b TO c
                        SELECT * FROM u
                        CREATE VIEW w AS SELECT * FROM u
                        DROP TABLE u CASCADE
                        COMMENT ON TABLE t IS 'it''s'
                        SELECT obj_description('t'::regclass)
                        CREATE SCHEMA s CREATE TABLE x (id int PRIMARY KEY)
                        DROP SCHEMA s
                        DROP SCHEMA s CASCADE
                        ALTER TABLE t ALTER a TYPE text
                        SELECT a FROM t ORDER BY id
                        GRANT SELECT ON t TO PUBLIC
                        ALTER TABLE missing ADD x int"""))
                        .in(ALL),
                Behaviour.of("EXPLAIN", client -> client.lines("""
                        EXPLAIN (COSTS off) SELECT * FROM t WHERE id = 1
                        EXPLAIN (COSTS off) DELETE FROM t
                        EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) UPDATE t SET a = 1 WHERE id = 1""")),
                Behaviour.of("VACUUM, ANALYZE and what is not for blocks", client -> {
                    client.run("VACUUM t", "ANALYZE t", "REINDEX TABLE t", "CHECKPOINT", "VACUUM t; SELECT 1");
                    client.begin();
                    client.run("VACUUM t");
                }),
                Behaviour.of(
                                "maxRows, maxFieldSize and close on completion",
                                client -> client.attempt("limits", c -> {
                                    try (Statement statement = c.connection().createStatement()) {
                                        statement.setMaxRows(2);
                                        c.results(statement, () -> statement.execute("SELECT * FROM t ORDER BY id"));
                                        statement.setMaxFieldSize(2);
                                        c.results(statement, () -> statement.execute("SELECT s FROM t WHERE id = 1"));
                                        statement.closeOnCompletion();
                                        statement.executeQuery("SELECT 1").close();
                                        c.see("closed", statement.isClosed());
                                    }
                                }))
                        .in(ALL),
                Behaviour.of("executeQuery and executeUpdate of the wrong kind", client -> {
                            client.attempt(
                                    "query",
                                    c -> c.connection().createStatement().executeQuery("UPDATE t SET a = 1"));
                            client.attempt(
                                    "update",
                                    c -> c.see(
                                            "count",
                                            c.connection().createStatement().executeUpdate("SELECT 1")));
                            client.attempt(
                                    "large",
                                    c -> c.see(
                                            "count",
                                            c.connection().createStatement().executeLargeUpdate("UPDATE t SET a = 2")));
                        })
                        .in(ALL));
    }

    private static String[] batchModes() {
        return new String[] {SIMPLE, EXTENDED, BINARY, "reWriteBatchedInserts=true", "autosave=always"};
    }

    private static void changingTable(Observer client) throws Exception {
        Observer other = client.other();
        for (boolean auto : new boolean[] {true, false}) {
            client.attempt("autocommit " + auto, c -> {
                c.connection().setAutoCommit(auto);
                try (PreparedStatement select = c.connection().prepareStatement("SELECT * FROM t ORDER BY id")) {
                    for (int i = 0; i < 6; i++) {
                        c.results(select, select::execute);
                    }
                    if (!auto) {
                        c.connection().commit();
                    }
                    other.run("ALTER TABLE t ADD b" + auto + " int DEFAULT 5");
                    c.results(select, select::execute);
                    c.results(select, select::execute);
                }
            });
            client.rollback();
        }
    }

    private static void generatedKeys(Observer client) {
        client.run("CREATE TABLE g (id serial PRIMARY KEY, a int, at int DEFAULT 5)");
        client.attempt("by flag", c -> {
            try (Statement statement = c.connection().createStatement()) {
                c.see(
                        "count",
                        statement.executeUpdate("INSERT INTO g (a) VALUES (1), (2)", Statement.RETURN_GENERATED_KEYS));
                c.see(statement.getGeneratedKeys());
                statement.executeUpdate("INSERT INTO g (a) VALUES (3)", new String[] {"at", "id"});
                c.see(statement.getGeneratedKeys());
                statement.executeUpdate("INSERT INTO g (a) VALUES (4)", Statement.NO_GENERATED_KEYS);
                c.see(statement.getGeneratedKeys());
            }
        });
        client.attempt("by names, prepared", c -> {
            try (PreparedStatement insert =
                    c.connection().prepareStatement("INSERT INTO g (a) VALUES (?)", new String[] {"id"})) {
                for (int i = 0; i < 3; i++) {
                    insert.setInt(1, i);
                    insert.executeUpdate();
                    c.see(insert.getGeneratedKeys());
                }
            }
        });
        client.attempt(
                "no such column",
                c -> c.connection().createStatement().executeUpdate("INSERT INTO g (a) VALUES (4)", new String[] {"none"
                }));
        client.attempt(
                "by indexes",
                c -> c.connection().createStatement().executeUpdate("INSERT INTO g (a) VALUES (4)", new int[] {1}));
        client.attempt("of an update", c -> {
            try (Statement statement = c.connection().createStatement()) {
                statement.executeUpdate("UPDATE g SET a = 0 WHERE id < 3", Statement.RETURN_GENERATED_KEYS);
                c.see(statement.getGeneratedKeys());
            }
        });
    }

    private static void generatedKeysOfBatches(Observer client) {
        client.run("CREATE TABLE g (id serial PRIMARY KEY, a int UNIQUE)");
        for (int[] values : new int[][] {{1, 2, 3}, {4, 1, 5}}) {
            client.attempt("batch", c -> {
                try (PreparedStatement insert = c.connection()
                        .prepareStatement("INSERT INTO g (a) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                    for (int value : values) {
                        insert.setInt(1, value);
                        insert.addBatch();
                    }
                    try {
                        c.see("counts", insert.executeBatch());
                    } catch (BatchUpdateException e) {
                        c.see(e);
                    }
                    c.see(insert.getGeneratedKeys());
                }
            });
        }
    }

    private static void batch(Observer client, boolean auto, int... ids) {
        batchInto(client, auto, "INSERT INTO t (id, a) VALUES (?, 5)", ids);
    }

    private static void batchInto(Observer client, boolean auto, String sql, int... ids) {
        client.attempt("batch", c -> {
            c.connection().setAutoCommit(auto);
            try (PreparedStatement insert = c.connection().prepareStatement(sql)) {
                for (int id : ids) {
                    insert.setInt(1, id);
                    insert.addBatch();
                }
                c.see("counts", insert.executeBatch());
            }
        });
        if (!auto) {
            client.run("SELECT count(*) FROM t");
            client.commit();
        }
    }

    private static void statements(Observer client, String... statements) {
        client.attempt(String.join(", ", statements), c -> {
            try (Statement statement = c.connection().createStatement()) {
                for (String sql : statements) {
                    statement.addBatch(sql);
                }
                c.see("counts", statement.executeBatch());
            }
        });
    }

    private static void functions(Observer client) {
        client.lines("""
                CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a + b'
                CREATE FUNCTION both(a int, OUT b int, OUT c text) LANGUAGE plpgsql AS $$ begin b := a + 1; c := 'c' || a; insert into t values (a, b, c); end $$
                CREATE FUNCTION inout(INOUT a numeric) LANGUAGE sql AS 'SELECT a * 2'""");
        client.attempt("result", c -> {
            try (CallableStatement call = c.connection().prepareCall("{? = call add(?, ?)}")) {
                call.registerOutParameter(1, Types.INTEGER);
                call.setInt(2, 1);
                call.setInt(3, 2);
                c.see("rows", call.execute());
                c.see("sum", call.getInt(1));
                c.get("not registered", () -> call.getInt(2));
            }
        });
        client.attempt("out", c -> {
            try (CallableStatement call = c.connection().prepareCall("{call both(?, ?, ?)}")) {
                call.setInt(1, 4);
                call.registerOutParameter(2, Types.INTEGER);
                call.registerOutParameter(3, Types.VARCHAR);
                call.execute();
                c.see("b", call.getInt(2));
                c.see("c", call.getString(3));
                call.execute();
            }
        });
        client.attempt("inout", c -> {
            try (CallableStatement call = c.connection().prepareCall("{call inout(?)}")) {
                call.registerOutParameter(1, Types.NUMERIC);
                call.setBigDecimal(1, new java.math.BigDecimal("1.25"));
                call.execute();
                c.see("a", call.getBigDecimal(1));
            }
        });
        client.attempt("of another type", c -> {
            try (CallableStatement call = c.connection().prepareCall("{? = call add(1, 2)}")) {
                call.registerOutParameter(1, Types.VARCHAR);
                call.execute();
            }
        });
    }

    private static void procedures(Observer client) {
        client.run(
                "CREATE PROCEDURE put(i int, INOUT n bigint) LANGUAGE plpgsql AS $$ begin insert into t values (i); n := n + i; raise notice 'put %', i; end $$");
        client.run("CALL put(4, 1)", "CALL put(4, 1)", "CALL missing()");
        client.attempt("call", c -> {
            try (CallableStatement call = c.connection().prepareCall("call put(?, ?)")) {
                call.setInt(1, 5);
                call.setLong(2, 100);
                call.registerOutParameter(2, Types.BIGINT);
                call.execute();
                c.see("n", call.getLong(2));
            }
        });
        client.attempt("escaped", c -> {
            try (CallableStatement call = c.connection().prepareCall("{call put(?, ?)}")) {
                call.setInt(1, 6);
                call.setLong(2, 100);
                call.registerOutParameter(2, Types.BIGINT);
                call.execute();
                c.see("n", call.getLong(2));
            }
        });
    }
}
