package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A database that was received has the schema of the one that gave it, whatever that is made of. */
class SchemaCopyTest {

    private static final String INDEXES =
            "SELECT indexrelid::regclass, indisvalid, indisunique, inhparent::regclass FROM pg_index"
                    + " LEFT JOIN pg_inherits ON inhrelid = indexrelid"
                    + " WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) ORDER BY indexrelid::regclass::text";

    private static final String LOCALE =
            "SELECT key, value FROM pg_database d, jsonb_each_text(to_jsonb(d)) WHERE datname = current_database()"
                    + " AND key ~ 'encoding|locprovider|collate|ctype|locale|rules' ORDER BY key";

    @TempDir
    Path directory;

    @BeforeEach
    void dropOthers() throws SQLException {
        TestServer.dropOthers(directory);
        for (String role : List.of("owner", "reader", "other")) {
            TestServer.execute(
                    "DO 'BEGIN CREATE ROLE copied_" + role + "; EXCEPTION WHEN duplicate_object THEN NULL; END'");
        }
    }

    @AfterEach
    void drop() throws SQLException {
        for (String name : List.of("origin", "copy")) {
            new PostgresBinding().drop(TestServer.configuration(directory, name));
        }
        for (String role : List.of("owner", "reader", "other")) {
            TestServer.execute("DROP ROLE copied_" + role);
        }
    }

    private String database(String name) {
        DatabaseConfiguration configuration = TestServer.configuration(directory, name);
        return configuration.location().substring(configuration.location().lastIndexOf('/') + 1);
    }

    /** A database that was there before it is replicated. */
    private void define(String... statements) throws SQLException {
        TestServer.execute("CREATE DATABASE " + database("origin"));
        execute("origin", statements);
    }

    private void execute(String name, String... statements) throws SQLException {
        try (Connection connection = TestServer.connect(database(name));
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private void copy() {
        Path snapshot = directory.resolve("snapshot");
        PostgresBinding binding = new PostgresBinding();
        try (ReflectedDatabase origin = binding.open(TestServer.configuration(directory, "origin"), new MetaLevel())) {
            origin.snapshot(snapshot);
        }
        binding.load(snapshot, TestServer.configuration(directory, "copy"));
    }

    private List<List<@Nullable String>> query(String name, String sql) throws SQLException {
        try (Connection connection = TestServer.connect(database(name))) {
            return SqlSession.of(connection).query(sql);
        }
    }

    /** What is the same in the origin and the copy. */
    private List<List<@Nullable String>> both(String sql) throws SQLException {
        List<List<@Nullable String>> found = query("origin", sql);
        assertThat(query("copy", sql)).isEqualTo(found);
        return found;
    }

    private static boolean isVersion(int version) throws SQLException {
        try (Connection connection = TestServer.connect("postgres")) {
            return connection.getMetaData().getDatabaseMajorVersion() >= version;
        }
    }

    @Test
    void partitionsHaveTheirIndexes() throws SQLException {
        define(
                "CREATE TABLE part (id integer, k text, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
                "CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a')",
                "CREATE TABLE part_b (id integer NOT NULL, k text NOT NULL, v text, CONSTRAINT custom_key PRIMARY KEY (id, k))",
                "CREATE INDEX custom ON part_b (v)",
                "CREATE INDEX own ON part_b (v, k)",
                "ALTER TABLE part ATTACH PARTITION part_b FOR VALUES IN ('b')",
                "CREATE TABLE part_c PARTITION OF part FOR VALUES IN ('c') PARTITION BY RANGE (id)",
                "CREATE TABLE part_c1 PARTITION OF part_c FOR VALUES FROM (1) TO (10)",
                "CREATE INDEX by_v ON part (v)",
                "CREATE UNIQUE INDEX once ON part (v, id, k)",
                "ALTER TABLE part ADD CONSTRAINT twice UNIQUE (k, v, id)",
                "CREATE INDEX nowhere ON ONLY part (id)",
                "CREATE TABLE child (id integer, k text, FOREIGN KEY (id, k) REFERENCES part)");
        copy();
        assertThat(both(INDEXES))
                .hasSize(22)
                .contains(List.of("custom", "t", "f", "by_v"), List.of("custom_key", "t", "t", "part_pkey"));
        assertThatThrownBy(() -> query("copy", "INSERT INTO part VALUES (1, 'c', 'x'), (1, 'c', 'x')"))
                .hasMessageContaining("part_c1_");
    }

    @Test
    void theDatabaseSortsAsItsOrigin() throws SQLException {
        TestServer.execute("CREATE DATABASE " + database("origin")
                + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");
        copy();
        assertThat(both(LOCALE)).contains(List.of("datcollate", "C"));
    }

    @Test
    void theDatabaseSortsByRulesOfIcuAsItsOrigin() throws SQLException {
        assumeTrue(isVersion(16));
        TestServer.execute(
                "CREATE DATABASE " + database("origin") + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C'"
                        + " LOCALE_PROVIDER icu ICU_LOCALE 'de-u-co-phonebk' ICU_RULES '&V << w <<< W'");
        copy();
        assertThat(both(LOCALE)).contains(List.of("daticurules", "&V << w <<< W"), List.of("datlocprovider", "i"));
    }

    /** But for that of a constraint that has another name here, as foreign keys of partitions may. */
    @Test
    void commentsAreAsTheyWere() throws SQLException {
        define(
                "CREATE SCHEMA \"S on x\"",
                "CREATE TABLE \"S on x\".t (id integer PRIMARY KEY, \"b on c\" text, CONSTRAINT \"a on b\" UNIQUE (\"b on c\"))",
                "CREATE INDEX ix ON \"S on x\".t (\"b on c\")",
                "CREATE VIEW v AS SELECT id FROM \"S on x\".t",
                "CREATE MATERIALIZED VIEW m AS SELECT id FROM v",
                "CREATE TYPE pair AS (a integer, b text)",
                "CREATE TYPE mood AS ENUM ('sad')",
                "CREATE DOMAIN price AS integer CONSTRAINT \"is on\" CHECK (value > 0)",
                "CREATE SEQUENCE s",
                "CREATE FUNCTION f(integer, VARIADIC text[]) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
                "CREATE PROCEDURE p(integer, OUT integer) LANGUAGE sql AS 'SELECT 1'",
                "CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
                "CREATE TRIGGER \"t r\" BEFORE INSERT ON \"S on x\".t FOR EACH ROW EXECUTE FUNCTION tr()",
                "CREATE RULE r AS ON UPDATE TO v DO INSTEAD NOTHING",
                "CREATE POLICY po ON \"S on x\".t",
                "CREATE STATISTICS st ON id, \"b on c\" FROM \"S on x\".t",
                "CREATE TABLE part (id integer REFERENCES \"S on x\".t) PARTITION BY RANGE (id)",
                "CREATE TABLE part_a (id integer CONSTRAINT own REFERENCES \"S on x\".t)",
                "ALTER TABLE part ATTACH PARTITION part_a FOR VALUES FROM (1) TO (10)");
        List<String> objects = List.of(
                "SCHEMA \"S on x\"",
                "TABLE \"S on x\".t",
                "COLUMN \"S on x\".t.\"b on c\"",
                "CONSTRAINT \"a on b\" ON \"S on x\".t",
                "INDEX \"S on x\".ix",
                "VIEW v",
                "COLUMN v.id",
                "MATERIALIZED VIEW m",
                "COLUMN m.id",
                "TYPE pair",
                "COLUMN pair.a",
                "TYPE mood",
                "DOMAIN price",
                "CONSTRAINT \"is on\" ON DOMAIN price",
                "SEQUENCE s",
                "FUNCTION f",
                "PROCEDURE p",
                "TRIGGER \"t r\" ON \"S on x\".t",
                "RULE r ON v",
                "POLICY po ON \"S on x\".t",
                "STATISTICS st",
                "CONSTRAINT part_id_fkey ON part");
        for (String object : objects) {
            execute("origin", "COMMENT ON " + object + " IS 'it is " + object.replace('\'', ' ') + "'");
        }
        execute("origin", "COMMENT ON CONSTRAINT own ON part_a IS 'of its own name'");
        copy();
        assertThat(both(
                        "SELECT i.type, i.identity, description FROM pg_description, pg_identify_object(classoid, objoid, objsubid) i"
                                + " WHERE description LIKE 'it is%' ORDER BY 1, 2"))
                .hasSameSizeAs(objects);
    }

    /** The owner of the table may not come to it. */
    @Test
    void rightsAreAsTheyWere() throws SQLException {
        define(
                "CREATE SCHEMA s",
                "CREATE TABLE s.t (id integer PRIMARY KEY, a text, b text)",
                "ALTER TABLE s.t OWNER TO copied_owner",
                "GRANT SELECT ON s.t TO copied_reader",
                "GRANT UPDATE (a), SELECT (b) ON s.t TO copied_reader WITH GRANT OPTION",
                "CREATE TABLE given (id integer PRIMARY KEY)",
                "GRANT SELECT ON given TO copied_reader WITH GRANT OPTION",
                "SET SESSION AUTHORIZATION copied_reader",
                "GRANT SELECT ON given TO copied_other",
                "RESET SESSION AUTHORIZATION",
                "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
                "REVOKE ALL ON FUNCTION f() FROM PUBLIC");
        copy();
        assertThat(
                        both(
                                "SELECT relname, r.* FROM pg_class, aclexplode(relacl) r WHERE relname IN ('t', 'given')"
                                        + " UNION ALL SELECT attname, r.* FROM pg_attribute, aclexplode(attacl) r WHERE attrelid = 's.t'::regclass"
                                        + " UNION ALL SELECT proname, r.* FROM pg_proc, aclexplode(proacl) r WHERE proname = 'f' ORDER BY 1, 2, 3, 4"))
                .hasSizeGreaterThan(20);
    }

    @Test
    void rangesAreAsTheyWere() throws SQLException {
        define(
                "CREATE TYPE days",
                "CREATE FUNCTION in_one_form(days) RETURNS days LANGUAGE internal IMMUTABLE STRICT AS 'int4range_canonical'",
                "CREATE FUNCTION difference(a integer, b integer) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT (a - b)::float8'",
                "CREATE TYPE days AS RANGE (subtype = integer, canonical = in_one_form, subtype_diff = difference, multirange_type_name = \"Weeks\")",
                "CREATE TYPE words AS RANGE (subtype = text, collation = \"C\", subtype_opclass = text_pattern_ops)",
                "CREATE TABLE t (id integer PRIMARY KEY, d days, w \"Weeks\")",
                "INSERT INTO t VALUES (1, '(1,3]', '{(1,3]}')");
        copy();
        assertThat(
                        both(
                                "SELECT rngtypid::regtype, rngsubtype::regtype, rngmultitypid::regtype, rngcollation::regcollation, opcname, rngcanonical, rngsubdiff"
                                        + " FROM pg_range JOIN pg_opclass o ON o.oid = rngsubopc WHERE rngtypid >= 16384 ORDER BY 1"))
                .contains(
                        List.of("days", "integer", "\"Weeks\"", "-", "int4_ops", "in_one_form", "difference"),
                        List.of("words", "text", "words_multirange", "\"C\"", "text_pattern_ops", "-", "-"));
        assertThat(both("SELECT '(1,3]'::days, d, w FROM t")).containsExactly(List.of("[2,4)", "[2,4)", "{[2,4)}"));
    }

    @Test
    void constraintsThatNotAllRowsMeetAreAsTheyWere() throws SQLException {
        define(
                "CREATE DOMAIN d AS integer CHECK (value < 100)",
                "CREATE TABLE t (id integer PRIMARY KEY, d d, n integer)",
                "INSERT INTO t VALUES (1, 5)",
                "ALTER DOMAIN d ADD CONSTRAINT later CHECK (value > 10) NOT VALID",
                "ALTER TABLE t ADD CONSTRAINT later CHECK (id > 1) NOT VALID");
        if (isVersion(18)) {
            execute(
                    "origin",
                    "ALTER TABLE t ADD CONSTRAINT filled NOT NULL n NOT VALID",
                    "CREATE TABLE mother (a integer CONSTRAINT own NOT NULL NO INHERIT, b integer NOT NULL)",
                    "CREATE TABLE heir () INHERITS (mother)",
                    "INSERT INTO heir VALUES (NULL, 1)",
                    "CREATE TABLE part (a integer) PARTITION BY LIST (a)",
                    "CREATE TABLE part_a PARTITION OF part FOR VALUES IN (1, NULL)",
                    "INSERT INTO part VALUES (NULL)",
                    "ALTER TABLE part ADD CONSTRAINT filled NOT NULL a NOT VALID",
                    "CREATE DOMAIN there AS integer CONSTRAINT \"is there\" NOT NULL");
        }
        copy();
        both(
                "SELECT conrelid::regclass, contypid::regtype, conname, contype, convalidated, conislocal, coninhcount, connoinherit, pg_get_constraintdef(oid)"
                        + " FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY conrelid::regclass::text, contypid::regtype::text, conname");
    }

    @Test
    void rowsWithoutColumnsOrOfComputedOnesAreThere() throws SQLException {
        define(
                "CREATE TABLE nil ()",
                "INSERT INTO nil DEFAULT VALUES",
                "INSERT INTO nil DEFAULT VALUES",
                "CREATE TABLE computed (c integer GENERATED ALWAYS AS (7) STORED)",
                "INSERT INTO computed DEFAULT VALUES");
        copy();
        assertThat(both("SELECT (SELECT count(*) FROM nil), (SELECT sum(c) FROM computed)"))
                .containsExactly(List.of("2", "7"));
    }

    @Test
    void functionsThatReadWhatIsMadeAfterThemAreThere() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, n bigint, name text)",
                "CREATE FUNCTION next() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM t; END",
                "ALTER TABLE t ALTER n SET DEFAULT next() + 1",
                "CREATE VIEW grouped AS SELECT id, name FROM t GROUP BY id", // for which the key must be there
                "CREATE FUNCTION found() RETURNS SETOF grouped LANGUAGE sql AS 'SELECT * FROM public.grouped'",
                "CREATE MATERIALIZED VIEW m AS SELECT * FROM found()",
                "CREATE VIEW of_m AS SELECT * FROM m",
                "CREATE FUNCTION first() RETURNS integer BEGIN ATOMIC SELECT min(id) FROM of_m; END",
                "CREATE VIEW plain AS SELECT 1 AS a",
                "CREATE TABLE with_row (id integer PRIMARY KEY, p plain, f integer DEFAULT first())",
                "INSERT INTO with_row SELECT 1, plain FROM plain");
        copy();
        both("SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY 1, 2");
        both(
                "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1");
        both("SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1");
        both("SELECT * FROM with_row");
    }

    @Test
    void rulesAreDisabledAsTheyWere() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY)",
                "CREATE RULE on_delete AS ON DELETE TO t DO INSTEAD NOTHING",
                "CREATE RULE on_insert AS ON INSERT TO t DO INSTEAD NOTHING",
                "ALTER TABLE t DISABLE RULE on_insert");
        copy();
        assertThat(both("SELECT rulename, ev_enabled FROM pg_rewrite WHERE ev_class = 't'::regclass ORDER BY 1"))
                .containsExactly(List.of("on_delete", "O"), List.of("on_insert", "D"));
    }

    @Test
    void triggersOfPartitionsAreDisabledAsTheyWere() throws SQLException {
        define(
                "CREATE TABLE p (id integer PRIMARY KEY) PARTITION BY LIST (id)",
                "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
                "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) PARTITION BY LIST (id)",
                "CREATE TABLE p21 PARTITION OF p2 DEFAULT",
                "CREATE TABLE child (id integer REFERENCES p)",
                "CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
                "CREATE TRIGGER on_two BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION tr()",
                "CREATE TRIGGER nowhere BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION tr()",
                "CREATE TRIGGER on_one BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION tr()",
                "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON p FOR EACH ROW EXECUTE FUNCTION tr()",
                "ALTER TABLE p1 DISABLE TRIGGER on_two",
                "ALTER TABLE p1 DISABLE TRIGGER late",
                "ALTER TABLE p DISABLE TRIGGER nowhere",
                "ALTER TABLE p DISABLE TRIGGER on_one",
                "ALTER TABLE p1 ENABLE TRIGGER on_one");
        copy();
        assertThat(
                        both(
                                "SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgname IN ('on_one', 'on_two', 'nowhere', 'late') ORDER BY tgrelid::regclass::text, 2"))
                .hasSize(16)
                .contains(List.of("p1", "late", "D"), List.of("p1", "on_one", "O"), List.of("p1", "on_two", "D"));
    }

    @Test
    void typesOfSeveralColumnsSortAsTheyDid() throws SQLException {
        define("CREATE TYPE pair AS (a integer, b text COLLATE \"C\", c text)");
        copy();
        assertThat(both("SELECT attname, attcollation::regcollation FROM pg_attribute"
                        + " WHERE attrelid = 'pair'::regclass ORDER BY attnum"))
                .containsExactly(List.of("a", "-"), List.of("b", "\"C\""), List.of("c", "\"default\""));
    }

    @Test
    void whatCannotBeMadeAgainIsRefused() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY)",
                "CREATE OPERATOR CLASS oc FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,"
                        + " FUNCTION 1 btint4cmp(integer, integer)",
                "CREATE INDEX ix ON t (id oc)",
                "CREATE AGGREGATE total(integer) (SFUNC = int4pl, STYPE = integer)",
                "CREATE CAST (money AS bigint) WITHOUT FUNCTION");
        String[] uncopied = {
            "aggregate public.total(integer)",
            "cast money as bigint",
            "operator class public.oc",
            "operator family public.oc"
        };
        assertThatThrownBy(this::copy)
                .hasMessageContaining("no snapshot can be made of ")
                .hasMessageContainingAll(uncopied);
        try (Connection connection = TestServer.connect(database("origin"))) {
            connection.createStatement().execute("SET search_path TO pg_catalog");
            assertThat(Installation.findings(connection).stream()
                            .filter(Finding::obstacle)
                            .map(Finding::object))
                    .containsExactly(uncopied);
        }
    }

    @Test
    void publicationsAreAsTheyWere() throws SQLException {
        define(
                "CREATE TABLE t (id integer PRIMARY KEY, a text)",
                "CREATE PUBLICATION nothing WITH (publish = '')",
                "CREATE PUBLICATION everything FOR ALL TABLES WITH (publish = 'insert, truncate')",
                "CREATE PUBLICATION single FOR TABLE t WITH (publish_via_partition_root)",
                "ALTER PUBLICATION single OWNER TO copied_owner");
        String members = "";
        if (isVersion(15)) {
            execute(
                    "origin",
                    "CREATE PUBLICATION parts FOR TABLE t (id) WHERE (id > 7)",
                    "CREATE PUBLICATION schemas FOR TABLES IN SCHEMA public");
            members = ", attnames, rowfilter";
        }
        copy();
        both("SELECT to_jsonb(p) - 'oid' FROM pg_publication p ORDER BY pubname");
        both("SELECT pubname, tablename" + members + " FROM pg_publication_tables ORDER BY 1, 2");
    }

    @Test
    void ownersAreAsTheyWere() throws SQLException {
        define(
                "CREATE TEXT SEARCH DICTIONARY d (template = snowball, language = 'english', stopwords = 'english')",
                "ALTER TEXT SEARCH DICTIONARY d OWNER TO copied_owner",
                "CREATE TABLE t (id integer PRIMARY KEY, a integer)",
                "CREATE STATISTICS st ON id, a FROM t",
                "ALTER STATISTICS st OWNER TO copied_owner",
                "GRANT CREATE ON DATABASE " + database("origin") + " TO copied_owner",
                "SET SESSION AUTHORIZATION copied_owner",
                "CREATE EXTENSION citext",
                "RESET SESSION AUTHORIZATION");
        copy();
        assertThat(
                        both(
                                "SELECT dictname, dictowner::regrole, dictinitoption FROM pg_ts_dict WHERE oid >= 16384"
                                        + " UNION ALL SELECT stxname, stxowner::regrole, NULL FROM pg_statistic_ext"
                                        + " UNION ALL SELECT extname, extowner::regrole, NULL FROM pg_extension WHERE extname = 'citext' ORDER BY 1"))
                .extracting(row -> row.get(1))
                .containsExactly("copied_owner", "copied_owner", "copied_owner");
        execute(
                "copy",
                "SET session_replication_role TO replica",
                "SET SESSION AUTHORIZATION copied_owner",
                "DROP EXTENSION citext");
        assertThat(
                        query(
                                "copy",
                                "SELECT classid::regclass FROM pg_shdepend WHERE refobjid = 'copied_owner'::regrole AND deptype = 'o'"
                                        + " AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1::text"))
                .containsExactlyInAnyOrder(List.of("pg_ts_dict"), List.of("pg_statistic_ext"));
    }

    @Test
    void rightsOnWhatAnExtensionHasBroughtAreAsTheyWere() throws SQLException {
        define(
                "CREATE EXTENSION citext",
                "REVOKE ALL ON FUNCTION citext_eq(citext, citext) FROM PUBLIC",
                "GRANT EXECUTE ON FUNCTION citext_eq(citext, citext) TO copied_reader",
                "GRANT USAGE ON TYPE citext TO copied_reader");
        copy();
        assertThat(
                        both(
                                "SELECT proname, r.* FROM pg_proc, aclexplode(proacl) r WHERE proname = 'citext_eq'"
                                        + " UNION ALL SELECT typname, r.* FROM pg_type, aclexplode(typacl) r WHERE typname = 'citext' ORDER BY 1, 2, 3, 4"))
                .hasSize(5);
    }
}
