package org.gorda.bindings.postgresql;

import java.util.List;

/** What we refuse on purpose, as docs/postgresql.md says, and that the session goes on as ever. */
final class RefusedBehaviours {

    private RefusedBehaviours() {}

    static List<Behaviour> all() {
        return List.of(
                refused(
                        "large objects by SQL",
                        "a large object cannot be replicated: use a column of type bytea",
                        "SELECT lo_create(0)"),
                refused(
                        "large objects by the driver",
                        "a call of a function by its number cannot be replicated, nor can large objects: use SELECT",
                        client -> client.postgres().getLargeObjectAPI().createLO()),
                refused(
                                "COPY FROM STDIN by the extended protocol",
                                "COPY FROM STDIN is executed by the simple protocol only: as a Query",
                                "COPY t FROM STDIN")
                        .in(Behaviour.EXTENDED),
                refused("two-phase commits", "a two-phase commit cannot be replicated: use COMMIT", client -> {
                    client.execute("INSERT INTO t VALUES (4)");
                    client.execute("PREPARE TRANSACTION 'x'");
                }),
                refused(
                        "unlogged tables",
                        "an unlogged table cannot be replicated: leave out UNLOGGED",
                        "CREATE UNLOGGED TABLE u (id int PRIMARY KEY)"),
                refused(
                        "CONCURRENTLY",
                        "CONCURRENTLY cannot be replicated: leave it out; the change then locks the table while it is made",
                        "CREATE INDEX CONCURRENTLY i ON t (a)"),
                refused(
                        "a materialized view that is filled CONCURRENTLY",
                        "CONCURRENTLY cannot be replicated: leave it out; the change then locks the table while it is made",
                        "REFRESH MATERIALIZED VIEW CONCURRENTLY m"),
                refused(
                        "session_replication_role",
                        "a change of that setting cannot be replicated: leave it, it is for the replica's own sessions",
                        "SET session_replication_role TO replica"),
                refused(
                        "session_replication_role in quotes",
                        "a change of that setting cannot be replicated: leave it, it is for the replica's own sessions",
                        "SET \"session_replication_role\" = replica"),
                refused(
                        "UPDATE of pg_settings",
                        "an UPDATE of pg_settings cannot be replicated: use SET",
                        "UPDATE pg_settings SET setting = 'replica' WHERE name LIKE 'session_repl%'"),
                refused(
                        "rows of the catalogue",
                        "a change of rows of the server's catalogue cannot be replicated: use the statements for that; write the schema before a table of your own that is called pg_...",
                        "UPDATE pg_class SET reltuples = 0 WHERE false"),
                refused(
                        "rows that are copied to the catalogue",
                        "a change of rows of the server's catalogue cannot be replicated: use the statements for that; write the schema before a table of your own that is called pg_...",
                        "COPY pg_catalog.pg_description FROM STDIN"),
                refused(
                        "settings of functions taken from the session",
                        "SET work_mem FROM CURRENT, which is another value in each replica's session, cannot be replicated: write the value",
                        "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET work_mem FROM CURRENT AS 'SELECT 1'"),
                refused(
                        "subscriptions",
                        "a subscription, which is this server's own, cannot be replicated: do it on the server itself",
                        "ALTER SUBSCRIPTION s DISABLE"),
                refused(
                        "times that are read where a table is made",
                        "'now', 'today', 'tomorrow' or 'yesterday', which each replica may read at another time, cannot be replicated: write the time that is meant; where it is no time, but such a text, put it together: 'no' || 'w'",
                        "CREATE TABLE made (at date CHECK (at > 'today'))"),
                refused(
                        "savepoints whose names are escaped",
                        "a savepoint whose name is escaped (U&) cannot be replicated: write its letters",
                        "SAVEPOINT U&\"d\\0061t\""),
                refused(
                        "a table that EXPLAIN makes",
                        "EXPLAIN ANALYZE of what makes a table cannot be replicated: explain its query",
                        "EXPLAIN ANALYZE SELECT id INTO made FROM t"),
                refused(
                        "a table that search_path makes temporary",
                        "what is temporary only because search_path begins with pg_temp cannot be told from what is replicated: say TEMPORARY, or put pg_temp last",
                        client -> {
                            client.execute("SET search_path = pg_temp, public");
                            client.execute("CREATE TABLE own (id int)");
                        }),
                refused(
                        "settings of ours",
                        "a change of that setting cannot be replicated: leave it, it is for the replica's own sessions",
                        "SELECT set_config('gorda.token', 'x', false)"),
                refused(
                        "triggers switched off",
                        "changes that no trigger sees cannot be replicated: leave the triggers enabled",
                        "ALTER TABLE t DISABLE TRIGGER ALL"),
                refused(
                        "our triggers",
                        "what the replica keeps in its database cannot be replicated: leave it, or uninstall it",
                        "DROP TRIGGER IF EXISTS gorda_insert ON t"),
                refused(
                        "our event triggers",
                        "what the replica keeps in its database cannot be replicated: leave it, or uninstall it",
                        "DROP EVENT TRIGGER IF EXISTS gorda_schema"),
                refused(
                        "roles that a DO makes",
                        "a role within DO cannot be replicated: have a statement of its own for it, without DO",
                        "DO $$ begin if not exists (select from pg_roles where rolname = 'app') then create role app; end if; end $$"),
                refused(
                        "memberships that a DO grants",
                        "a role within DO cannot be replicated: have a statement of its own for it, without DO",
                        "DO $$ begin execute format('GRANT %I TO %I', 'pg_monitor', current_user); end $$"),
                refused(
                        "columns that each replica would compute",
                        "a column whose first values each replica would compute for itself cannot be replicated: add it without a default, then set that, and update the rows",
                        "ALTER TABLE t ADD r float8 DEFAULT random()"),
                refused(
                        "schema changes within a function",
                        "CREATE TABLE within another statement cannot be replicated: execute it by itself",
                        "DO 'begin create table made (id int); end'"),
                refused(
                        "a view of a temporary table that does not say so",
                        "a statement that names a temporary relation, as this one seems to do with Own, cannot be replicated: make what is TEMPORARY itself of it, or use other names",
                        client -> {
                            client.execute("CREATE TEMP TABLE \"Own\" (id int)");
                            client.execute("CREATE VIEW v AS SELECT id FROM \"Own\"");
                        }),
                refused(
                        "a table like a temporary one",
                        "a statement that names a temporary relation, as this one seems to do with own, cannot be replicated: make what is TEMPORARY itself of it, or use other names",
                        client -> {
                            client.execute("CREATE TEMP TABLE own (id int)");
                            client.execute("CREATE TABLE x (LIKE OWN)");
                        }),
                refused(
                        "TRUNCATE within a function",
                        "TRUNCATE of public.t within another statement cannot be replicated: use DELETE there",
                        "DO 'begin truncate t; end'"),
                refused(
                        "tables without a primary key, updated",
                        "UPDATE of public.k cannot be replicated: the table has no primary key, by which replicas find a row; add one",
                        client -> {
                            client.execute("CREATE TABLE k (a int)");
                            client.execute("INSERT INTO k VALUES (1)");
                            client.execute("UPDATE k SET a = 2");
                        }),
                Behaviour.of("refused in autocommit mode: COMMIT within a procedure", client -> {
                    client.run(
                            "CREATE PROCEDURE commits(i int) LANGUAGE plpgsql AS $$ begin insert into t values (i); commit; end $$");
                    String state;
                    try {
                        client.execute("CALL commits(4)");
                        state = "committed";
                    } catch (java.sql.SQLException e) {
                        state = e.getSQLState();
                    }
                    client.differs("CALL", state, "committed", "2D000");
                    client.run("DELETE FROM t WHERE id = 4 AND false", "INSERT INTO t VALUES (5)");
                    client.attempt("fresh", c -> c.execute("DELETE FROM t WHERE id = 4"));
                }));
    }

    private static Behaviour refused(String what, String message, String sql) {
        return refused(what, message, client -> client.execute(sql));
    }

    private static Behaviour refused(String what, String message, Behaviour.Body body) {
        return Behaviour.of("refused: " + what, client -> {
            client.refused(message, body);
            client.run("INSERT INTO t VALUES (5)");
        });
    }
}
