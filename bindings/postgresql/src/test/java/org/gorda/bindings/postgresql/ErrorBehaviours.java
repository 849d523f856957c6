package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.AT_ONCE;
import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.sql.SQLException;
import java.util.List;
import org.postgresql.util.PSQLException;

/** Errors, warnings and notices, with all that the server says in them. */
final class ErrorBehaviours {

    private ErrorBehaviours() {}

    static List<Behaviour> all() {
        return List.of(
                Behaviour.of(
                                "errors of syntax and their positions",
                                client -> client.run(
                                        "nonsense",
                                        "SELECT FROM FROM t",
                                        "SELECT * FROM missing",
                                        "SELECT missing FROM t",
                                        "SELECT missing(1)",
                                        "INSERT INTO t VALUES (1, 2, 3, 4)",
                                        "SELECT 'open",
                                        "SELECT \"open",
                                        "/* open",
                                        "SELECT $$ open",
                                        "   \n\t SELECT missing FROM t",
                                        "/* ä */ SELECT missing FROM t",
                                        "-- ä\nINSERT INTO missing VALUES (1)",
                                        "CREATE TABLE bad (id int, id text)",
                                        "/* x */ ALTER TABLE t ADD b missing",
                                        "\n SET CONSTRAINTS missing",
                                        "\nCOMMIT nonsense",
                                        "  BEGIN nonsense",
                                        "CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'SELECT nothing'",
                                        "UPDATE t SET missing = 1",
                                        "(SELECT 1",
                                        "SELECT 1)",
                                        "SELECT 1 /* ; */ ; nonsense"))
                        .in(SIMPLE, EXTENDED, AT_ONCE),
                Behaviour.of("positions of errors behind other statements", client -> client.lines("""
                        SELECT 1; SELECT missing FROM t
                        INSERT INTO t VALUES (4);   /* here */  INSERT INTO missing VALUES (1)
                        SELECT 1; SELECT nonsense nonsense nonsense
                        SELECT 'ä';; SELECT missing
                        SELECT missing; SELECT 1"""))
                        .in(SIMPLE, EXTENDED),
                Behaviour.of("on purpose: positions behind what is sent by itself begin there", client -> {
                            client.differs("position", position(client, "BEGIN; SELECT missing"), 15, 8);
                            client.execute("ROLLBACK");
                            client.differs(
                                    "position",
                                    position(client, "CREATE TABLE u (id int PRIMARY KEY); SELECT missing"),
                                    45,
                                    8);
                        })
                        .in(SIMPLE),
                Behaviour.of("constraints that are violated, and their names", client -> {
                    client.run(
                            "CREATE TABLE c (id int CONSTRAINT pk PRIMARY KEY, n int NOT NULL, u int CONSTRAINT uq UNIQUE, k int CONSTRAINT positive CHECK (k > 0), f int CONSTRAINT fk REFERENCES t,"
                                    + " r int4range, CONSTRAINT ex EXCLUDE USING gist (r WITH &&))");
                    client.lines("""
                            INSERT INTO c VALUES (1, 1, 1, 1, 1, '[1,5)')
                            INSERT INTO c VALUES (1, 1)
                            INSERT INTO c VALUES (2)
                            INSERT INTO c VALUES (2, 1, 1)
                            INSERT INTO c VALUES (2, 1, 2, -1)
                            INSERT INTO c VALUES (2, 1, 2, 2, 99)
                            INSERT INTO c VALUES (2, 1, 2, 2, 2, '[4,6)')
                            DELETE FROM t WHERE id = 1
                            UPDATE t SET id = 11 WHERE id = 1""");
                }),
                Behaviour.of("values that do not fit", client -> client.lines("""
                        SELECT 1 / 0
                        SELECT 2147483647 + 1
                        SELECT 'x'::int
                        SELECT '2024-13-01'::date
                        INSERT INTO t VALUES (4, 99999999999)
                        SELECT (ARRAY[1])['x']
                        SELECT sqrt(-1)
                        SELECT 'a' LIKE '\\' ESCAPE '\\'
                        SELECT (SELECT id FROM t)
                        SELECT regexp_replace('a', '(', '')
                        SELECT repeat('x', 2000000000)
                        SELECT E'\\x00'""")),
                Behaviour.of("errors raised in routines, with all their fields", client -> client.lines("""
                        CREATE FUNCTION fails(i int) RETURNS int LANGUAGE plpgsql AS $$ begin insert into t values (i + 100); if i > 0 then return fails(i - 1); end if; raise exception 'failed at %', i using errcode = 'AB123', detail = 'a detail', hint = 'a hint', schema = 's', table = 't', column = 'c', datatype = 'd', constraint = 'k'; end $$
                        SELECT fails(2)
                        DO $$ begin perform fails(0); end $$
                        DO $$ begin perform 1 / 0; end $$
                        DO $$ begin select nothing; end $$
                        DO $$ begin nonsense; end $$
                        DO $$ begin assert false, 'asserted'; end $$
                        DO $$ begin execute 'SELECT missing'; end $$""")),
                Behaviour.of("notices of all levels", client -> {
                    for (String level : List.of("debug1", "log", "info", "notice", "warning", "error")) {
                        client.run(
                                "SET client_min_messages TO " + level,
                                "DO $$ begin raise debug 'd'; raise log 'l'; raise info 'i'; raise notice 'n' using detail = 'D', hint = 'H';"
                                        + " raise warning using message = 'w', errcode = '01234'; insert into t values (100 + (select count(*) from t)); end $$");
                    }
                }),
                Behaviour.of("many notices of one statement", client -> client.lines("""
                        DO $$ begin for i in 1..300 loop raise notice 'number %', i; end loop; end $$
                        DO $$ begin raise notice '%', repeat('x', 20000); end $$""")),
                Behaviour.of("notices before rows, between them and before an error", client -> client.lines("""
                        CREATE FUNCTION told(i int) RETURNS int LANGUAGE plpgsql AS $$ begin raise notice 'told %', i; return 10 / (3 - i); end $$
                        SELECT told(1)
                        SELECT told(i) FROM generate_series(0, 2) i
                        SELECT told(i) FROM generate_series(1, 4) i
                        SELECT 1; SELECT told(1); SELECT told(3); SELECT told(1)"""))
                        .in(SIMPLE, EXTENDED, AT_ONCE),
                Behaviour.of("warnings of the server's own", client -> {
                    client.lines("""
                            COMMIT
                            SET LOCAL work_mem TO '5MB'
                            CREATE TABLE IF NOT EXISTS t (id int)
                            DROP TABLE IF EXISTS nothing
                            CREATE TEMP TABLE x (id int UNIQUE, UNIQUE (id))
                            SELECT '\\d'
                            UNLISTEN nothing
                            ANALYZE pg_authid
                            CREATE INDEX ON t USING hash (a)
                            SELECT pg_advisory_unlock(1)
                            BEGIN
                            BEGIN
                            ROLLBACK
                            ROLLBACK""");
                    client.begin();
                    client.run("BEGIN", "START TRANSACTION");
                    client.rollback();
                }),
                Behaviour.of(
                        "warnings that are cleared",
                        client -> client.attempt("clear", c -> {
                            try (var statement = c.connection().createStatement()) {
                                statement.execute("DO $$ begin raise notice 'one'; end $$");
                                c.see("one", statement.getWarnings().getMessage());
                                statement.clearWarnings();
                                c.see("none", statement.getWarnings());
                                statement.execute("DO $$ begin raise notice 'two'; end $$");
                                statement.execute("SELECT 1");
                                c.see("gone", statement.getWarnings());
                            }
                        })),
                Behaviour.of("notices of the connection's own errors", client -> {
                    client.begin();
                    client.lines("""
                            DO $$ begin raise notice 'a'; perform 1 / 0; end $$
                            DO $$ begin raise notice 'b'; end $$""");
                    client.rollback();
                }));
    }

    private static int position(Observer client, String sql) {
        try {
            client.execute(sql);
            return 0;
        } catch (SQLException e) {
            return ((PSQLException) e).getServerErrorMessage().getPosition();
        }
    }
}
