package org.gorda.bindings.postgresql.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SqlLexerTest {

    private static List<String> texts(String sql) {
        return SqlLexer.statements(sql, true).stream().map(SqlStatement::text).toList();
    }

    private static Kind kind(String sql) {
        List<SqlStatement> statements = SqlLexer.statements(sql, true);
        assertThat(statements).as(sql).hasSize(1);
        return statements.get(0).kind();
    }

    @Test
    void splitsOutsideOfStringsNamesAndComments() {
        assertThat(texts("SELECT ';'; SELECT \"a;b\"; -- ; no\nSELECT 3 /* ; /* nested ; */ ; */ ; ;"))
                .containsExactly("SELECT ';'", "SELECT \"a;b\"", "SELECT 3 /* ; /* nested ; */ ; */");
        assertThat(texts("SELECT 'it''s;'; SELECT 2")).hasSize(2);
        assertThat(texts("/* only */ -- comments\n ; ;")).isEmpty();
        assertThat(texts(" DROP TABLE a \u000b\t;DROP TABLE b\u3000 ; DROP TABLE c\u2003"))
                .as("what is no blank to the server is a letter")
                .containsExactly("DROP TABLE a", "DROP TABLE b\u3000", "DROP TABLE c\u2003");
    }

    @Test
    void splitsOutsideOfDollarQuotes() {
        assertThat(texts("DO $$ begin; commit; end $$; SELECT 1")).hasSize(2);
        assertThat(texts("DO $a$ $$; $b$; $a$; SELECT $1; SELECT a$b$c;"))
                .containsExactly("DO $a$ $$; $b$; $a$", "SELECT $1", "SELECT a$b$c");
        assertThat(texts("SELECT $1;COMMIT")).containsExactly("SELECT $1", "COMMIT");
    }

    @Test
    void knowsWhichStringsHaveEscapes() {
        assertThat(texts("SELECT E'\\';'; COMMIT")).containsExactly("SELECT E'\\';'", "COMMIT");
        assertThat(texts("SELECT '\\'; COMMIT; --'")).containsExactly("SELECT '\\'", "COMMIT");
        List<SqlStatement> old = SqlLexer.statements("SELECT '\\'; COMMIT; --'", false);
        assertThat(old).hasSize(1);
        assertThat(texts("SELECT U&'\\'; COMMIT")).containsExactly("SELECT U&'\\'", "COMMIT");
        assertThat(texts("SELECT U&\"a;\" ; COMMIT")).hasSize(2);
    }

    /** The server takes the first 63 bytes, and changes the case of ASCII's letters only. */
    @Test
    void takesNamesAsTheServerDoes() {
        String name = "A".repeat(70);
        assertThat(SqlLexer.statements("UPDATE t SET a = " + name + "(b) WHERE id = $1", true)
                        .get(0)
                        .plain())
                .as("a call of a function")
                .isNull();
        for (String written : List.of(name, "a".repeat(64), '"' + "a".repeat(65) + '"')) {
            assertThat(SqlLexer.statements("SAVEPOINT " + written, true).get(0).name())
                    .isEqualTo("a".repeat(63));
        }
        assertThat(SqlLexer.statements("SAVEPOINT " + "ä".repeat(40), true)
                        .get(0)
                        .name())
                .isEqualTo("ä".repeat(31));
        assertThat(SqlLexer.statements("SAVEPOINT Straße_Ä", true).get(0).name())
                .isEqualTo("straße_Ä");
        assertThat(SqlLexer.statements("DROP TABLE " + name, true).get(0).name())
                .isEqualTo("a".repeat(63));
    }

    /** Strings that only a new line parts are one, and an escape in the second one counts as in the first. */
    @Test
    void continuesStringsOverLines() {
        assertThat(texts("SELECT E'a'\n '\\';' ; COMMIT")).containsExactly("SELECT E'a'\n '\\';'", "COMMIT");
        assertThat(texts("SELECT 'a' -- why\n ';' ; COMMIT")).hasSize(2);
    }

    @Test
    void keepsBodiesOfRoutinesAndRulesTogether() {
        String function =
                "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END";
        assertThat(texts(function + "; SELECT 1")).containsExactly(function, "SELECT 1");
        assertThat(texts("CREATE RULE r AS ON INSERT TO t DO (DELETE FROM u; DELETE FROM v); SELECT 1"))
                .hasSize(2);
        assertThat(texts("BEGIN; SELECT 1; END")).hasSize(3);
        assertThat(texts("CREATE FUNCTION begin() RETURNS int LANGUAGE sql AS 'select 1'; INSERT INTO t VALUES (1)"))
                .as("of that name")
                .hasSize(2);
    }

    @Test
    void endsWhereTheTextEnds() {
        assertThat(texts("SELECT 'open")).containsExactly("SELECT 'open");
        assertThat(texts("SELECT 1 /* open")).hasSize(1);
        assertThat(texts("SELECT $tag$ open ; ")).hasSize(1);
        assertThat(texts("SELECT E'\\")).hasSize(1);
        assertThat(texts("SELECT \"open ; ")).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "READ | select * from t where a in (1, 2) and exists (select 1 from u)",
                "READ | SELECT count(*), sum(a) FROM t",
                "CALL | select \u3000f(1)",
                "READ | select * from t for update",
                "READ | select * from t for no key update of t",
                "READ | (select 1) union (select 2)",
                "READ | with x as (select 1) select * from x",
                "READ | explain insert into t values (1)",
                "READ | copy t to stdout",
                "READ | copy (select 1) to stdout with (format csv)",
                "CALL | declare c cursor for select f()",
                "READ | declare c cursor with hold for select 1",
                "CALL | select f(1)",
                "CALL | select \"count\"(1)",
                "CALL | select s.count_me(1)",
                "CALL | select 1 into temp x",
                "CALL | create temp table x (a int)",
                "CALL | CREATE LOCAL TEMPORARY TABLE x AS SELECT 1",
                "CALL | execute p(1)",
                "CALL | explain analyze execute p(1)",
                "WRITE | insert into t values (1)",
                "WRITE | with x as (insert into t values (1) returning *) select * from x",
                "WRITE | with x as (select 1) insert into t select * from x",
                "WRITE | explain (analyze, verbose) delete from t",
                "WRITE | explain analyze update t set a = 1",
                "WRITE | explain analyse update t set a = 1",
                "WRITE | explain (\"analyze\") insert into t select 1",
                "WRITE | explain analyze with x as (insert into t values (1) returning *) select * from x",
                "CALL | explain analyze select 1 into temp x",
                "READ | explain analyze create temp table x as select 1",
                "REFUSED | explain analyze select 1 into x",
                "REFUSED | explain analyze select * into x from t for update",
                "REFUSED | explain (analyze) (select 1 into x)",
                "REFUSED | explain analyze with x as (insert into t values (1) returning *) select * into y from x",
                "REFUSED | explain analyse create table x as select 1",
                "WRITE | merge into t using u on true when matched then delete",
                "WRITE | copy t from '/tmp/x'",
                "COPY_IN | copy t (a, b) from stdin",
                "WRITE | call p()",
                "WRITE | do $$ begin end $$",
                "BEGIN | begin isolation level serializable",
                "BEGIN | /* x */ Start Transaction read only",
                "COMMIT | end work",
                "COMMIT | commit and chain",
                "COMMIT | commit and no chain",
                "ROLLBACK | abort",
                "ROLLBACK_TO | rollback work to savepoint s",
                "SAVEPOINT | savepoint s",
                "REFUSED | savepoint U&\"d\\0061t\"",
                "REFUSED | rollback to u&\"d!0061t\" uescape '!'",
                "RELEASE | release s",
                "CONSTRAINTS | set constraints all immediate",
                "PASS | set search_path to x",
                "PASS | vacuum t",
                "PASS | listen x",
                "PASS | prepare p as insert into t values (1)",
                "READ | show session_replication_role",
                "READ | lock table t in exclusive mode",
                "SCHEMA | create table t (a int generated always as (b) stored)",
                "SCHEMA | create table t as select 1 with no data",
                "SCHEMA | create unique index on t (a)",
                "SCHEMA | alter table t add b int",
                "SCHEMA | alter table only t add constraint c exclude using gist (lower(r) with &&) where (f(r))",
                "SCHEMA | alter table t add exclude using gist (f(r) with &&), alter a type int using a + 1",
                "REFUSED | alter table t add exclude using gist (r with &&), alter a type int using f(a)",
                "REFUSED | alter table t alter a type exclude using f(a)",
                "SCHEMA | refresh materialized view m",
                "REFUSED | refresh materialized view concurrently m",
                "SCHEMA | truncate t",
                "SCHEMA | grant select on t to public",
                "SCHEMA | drop table t",
                "SCHEMA | grant connect, temp on database d to public",
                "SCHEMA | alter role \"R r\" in database \"D d\" set work_mem to '1MB'",
                "SCHEMA | grant select on database to public",
                "SCHEMA | create index on database (id)",
                "SCHEMA | create trigger t before insert on database for each row execute function f()",
                "SCHEMA | create view v as select 1 from s join t on database = n",
                "SCHEMA | create unique index on tablespace (id)",
                "REFUSED | grant connect on database d, e to public",
                "REFUSED | comment on /* x */ database d is 'x'",
                "PASS | grant create on tablespace x to public",
                "PASS | comment on tablespace x is null",
                "REFUSED | create table t (a int) tablespace x",
                "REFUSED | create table t (a int primary key using index tablespace x)",
                "REFUSED | create unique index on t (a) tablespace x where a > 1",
                "REFUSED | create materialized view m tablespace x as select 1",
                "REFUSED | alter table t set tablespace x",
                "SCHEMA | create table tablespace (tablespace int)",
                "SCHEMA | create index tablespace on t (tablespace) where tablespace > 1",
                "SCHEMA | alter table t add tablespace int",
                "SCHEMA | create table t partition of tablespace default",
                "SCHEMA | select pg_catalog.setval('public.t_id_seq', 7, true)",
                "SCHEMA | SELECT setval(pg_get_serial_sequence('t', 'id'), coalesce(max(id), 1)) FROM t",
                "WRITE | select setval($1, $2)",
                "WRITE | select setval('s', f())",
                "WRITE | select setval('s', nextval('s'))",
                "WRITE | with x as (insert into t values (1) returning id) select setval('s', id) from x",
                "REFUSED | prepare transaction 'x'",
                "REFUSED | commit prepared 'x'",
                "REFUSED | rollback prepared 'x'",
                "REFUSED | set session session_replication_role to replica",
                "REFUSED | set \"session_replication_role\" = replica",
                "REFUSED | set U&\"\\0073ession_replication_role\" = replica",
                "REFUSED | alter role x set \"Session_Replication_Role\" to replica",
                "REFUSED | set event_triggers = off",
                "REFUSED | set local \"Event_Triggers\" = off",
                "REFUSED | alter role x in database d set event_triggers to off",
                "REFUSED | alter function f() set event_triggers = off",
                "REFUSED | do 'begin set local event_triggers = off; end'",
                "REFUSED | create function f() returns int language sql as 'select 1' set event_triggers = off",
                "REFUSED | select set_config('event_triggers', 'off', false)",
                "REFUSED | create function pg_temp.f() returns int language sql set session_replication_role to replica as 'select 1'",
                "PASS | set search_path = event_triggers",
                "SCHEMA | alter table event_triggers set schema event_triggers",
                "SCHEMA | create function f() returns bigint language sql as 'select count(*) from event_triggers'",
                "REFUSED | update pg_settings set setting = 'replica' where name like 'session_repl%'",
                "REFUSED | with x as (update pg_catalog.\"pg_settings\" set setting = 'x' returning 1) select * from x",
                "WRITE | update t set a = (select setting from pg_settings limit 1)",
                "REFUSED | insert into pg_catalog.pg_cast values (1)",
                "REFUSED | with gone as (delete from only pg_description returning 1) select * from gone",
                "REFUSED | merge into \"pg_depend\" using t on false when matched then delete",
                "REFUSED | prepare p as update pg_class set reltuples = 1",
                "REFUSED | copy pg_description (objoid) from stdin",
                "READ | copy pg_class to stdout",
                "READ | copy (select 1 from pg_class) to stdout",
                "READ | select 1 from pg_class for update",
                "WRITE | insert into public.pg_mine select oid from pg_class",
                "WRITE | delete from pg_temp.pg_mine",
                "WRITE | delete from t using pg_class",
                "REFUSED | create or replace function f() returns int language sql as 'select 1' set lock_timeout from current",
                "REFUSED | alter role x set \"work_mem\" from current",
                "REFUSED | alter procedure p() set my.setting from current",
                "SCHEMA | create function f() returns int language sql set search_path from current set timezone from current as 'select 1'",
                "SCHEMA | create function f() returns int language sql as 'alter role x set work_mem from current'",
                "REFUSED | drop subscription if exists s",
                "REFUSED | comment on subscription s is 'x'",
                "SCHEMA | comment on table subscription is 'x'",
                "SCHEMA | drop table subscription",
                "WRITE | select setval('s', extract(epoch from 'now'::timestamptz)::bigint)",
                "SCHEMA | create table t (a text default 'now', b text default 'now'::text)",
                "REFUSED | create table u partition of t (a default 'now') for values in (E'now')",
                "REFUSED | set \"gorda.told\" to 'x'",
                "REFUSED | set gorda.told to 'x'",
                "CALLED | set local gorda.transaction = 'x/1'",
                "CALLED | SET LOCAL gorda.transaction TO 'x/1'",
                "REFUSED | set gorda.transaction to 'x/1'",
                "REFUSED | set local gorda.transaction to default",
                "POSITION | Show Gorda.Position",
                "READ | show gorda.told",
                "AWAIT_POSITION | set gorda.position to 12",
                "AWAIT_POSITION | set gorda.position='12'",
                "REFUSED | set local gorda.position to 12",
                "REFUSED | set gorda.position to 'x'",
                "REFUSED | select set_config('session_replication_role', 'replica', false)",
                "REFUSED | alter role x set session_replication_role to replica",
                "REFUSED | alter table t disable trigger all",
                "SCHEMA | create table t as select 1",
                "SCHEMA | create table if not exists t (a) with (fillfactor = 50) as table u",
                "SCHEMA | select * into t from u",
                "REFUSED | select * into unlogged t from u",
                "REFUSED | create table t as select setval('s', 1)",
                "REFUSED | create unlogged table t (a int)",
                "REFUSED | create index concurrently on t (a)",
                "REFUSED | select lo_create(0)",
                "REFUSED | select \"lo_create\"(0)",
                "WRITE | select \"nextval\"('s')",
                "REFUSED | comment on large object 1 is ''",
                "REFUSED | grant select on large object 1, 2 to public",
                "REFUSED | alter large object 1 owner to x",
                "SCHEMA | comment on table large is 'large object'"
            })
    void tellsKinds(Kind kind, String sql) {
        assertThat(kind(sql)).as(sql).isEqualTo(kind);
    }

    @Test
    void namesSavepointsAsTheServerComparesThem() {
        assertThat(SqlLexer.statements("SAVEPOINT Abc; ROLLBACK TO \"Abc\"; RELEASE SAVEPOINT \"a\"\"b\"", true))
                .extracting(SqlStatement::name)
                .containsExactly("abc", "Abc", "a\"b");
    }

    @Test
    void namesRelationsThatMayBeTemporary() {
        assertThat(SqlLexer.statements(
                        "DROP TABLE IF EXISTS a, \"B\".c CASCADE; ALTER TABLE ONLY x ADD y int; TRUNCATE TABLE a, ONLY b;"
                                + "CREATE UNIQUE INDEX i ON s.t (a); DROP FUNCTION f(); CREATE TABLE t (a int); COMMENT ON TABLE t IS ''",
                        true))
                .extracting(SqlStatement::name)
                .containsExactly("a\n\"B\".c", "x", "a\nb", "s.t", "", "", "t");
    }

    /** A heap takes many times the text otherwise. */
    @Test
    void aDenseTextTakesLittleMore() {
        String sql = "INSERT INTO t VALUES (1,1)" + ",(1,1)".repeat(200_000);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        List<SqlStatement> statements = SqlLexer.statements(sql, true);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(statements).extracting(SqlStatement::kind).containsExactly(Kind.WRITE);
        assertThat(allocated / sql.length()).as("bytes for each sign").isLessThan(20);
    }

    @Test
    void moreTokensThanTheHeapTakesAreRefused() {
        String sql = "SELECT 1" + "+1".repeat((int) (Runtime.getRuntime().maxMemory() / 60));
        SqlStatement refused = SqlLexer.statements(sql, true).get(0);
        assertThat(refused.kind()).isEqualTo(Kind.REFUSED);
        assertThat(refused.refusal().cause()).isEqualTo(Refusal.Cause.TOO_LARGE);
        assertThat(refused.refusal().message()).contains("-Xmx");
    }

    @Test
    void beginsAStatementBehindItsComments() {
        assertThat(texts("-- why\n/* how */ CREATE TABLE t (a int);")).containsExactly("CREATE TABLE t (a int)");
    }
}
