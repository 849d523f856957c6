package org.gorda.bindings.postgresql;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.tck.TckBinding;
import org.jspecify.annotations.Nullable;

/** PostgreSQL as the suites see it. Thread-safe. */
final class PostgresUnderTest implements TckBinding {

    private static final Map<String, String> MISSING = new LinkedHashMap<>();

    static {
        missing(
                "PostgreSQL compares unique keys row by row, and violates them at the origin, too",
                "ConstraintsTck.keysThatCollideInPassing",
                "SchemaChangesTck.tableWithoutPrimaryKeyTakesRowsAndRefusesToChangeThemUntilItHasOne",
                "RowChangesTck.rowsChangedAgainAfterTheirUniquelyIndexedColumns",
                "ConstraintsTck.uniqueKeysChangePlacesInOneStatementAndInSeveral");
        missing(
                "PostgreSQL spells it otherwise",
                "SchemaChangesTck.severalSchemasWithTablesOfTheSameName",
                "RowChangesTck.scrollableUpdatableResultSetsAndPositionedStatements",
                "RowChangesTck.rowsPutInBetweenColumnsAddedInOneTransactionAfterMetadataWereRead");
        missing(
                "PostgreSQL's readers see versions, and are in nobody's way",
                "AbortsTck.abortOfATransactionThatWaitsToRead",
                "AbortsTck.tablesAreListedForTheApplierWithoutWaitingForOnesThatAreNotCommitted",
                "ApplyTck.applierWinsAgainstReadersAfterTheirGraceTime",
                "ApplyTck.schemaChangesWinAgainstLocalTransactions");
        missing(
                "PostgreSQL's checks cannot be deferred",
                "ConstraintsTck.constraintViolatedAtTheCommitIsNotSent",
                "ConstraintsTck.deferredConstraintsMayBeViolatedUntilTheCommit");
        missing(
                "rows may share a key there until the commit fails (see RowsTest)",
                "ConstraintsTck.deferrablePrimaryKeyIsRefusedOrReplicated");
        missing("the driver has all rows already", "AbortsTck.abortOfAnIdleTransactionEndsItsOpenCursor");
        missing(
                "rows are told at the commit, which is refused",
                "LargeObjectsTck.aDiskThatTakesNoMoreEndsTheTransactionOnly",
                "TransactionsTck.transactionBeyondTheLimitIsRefusedAndNothingIsLost");
        missing(
                "what each replica would compute for itself is refused",
                "SchemaChangesTck.columnsAddedToRowsThatAreThere");
        missing(
                "what ends a transaction, or changes the schema, within a procedure is refused",
                "TransactionsTck.procedureThatCommitsInside",
                "TransactionsTck.proceduresThatRollBackUseSavepointsAndChangeTheSchema",
                "TransactionsTck.refusedCommitWithinAProcedure");
        missing(
                "values are at most 1 GB in PostgreSQL, and in memory as a whole",
                "LargeObjectsTck.largeObjectsOfFiftyMegabytesDoNotNeedTheHeap");
        missing(
                "PostgreSQL's large objects are not replicated",
                "ValuesTck.largeObjectsThroughLocatorsAndUpdatableRows");
        missing(
                "texts have no zeros in PostgreSQL, and no halves of characters",
                "LargeObjectsTck.largeObjectsAreCopiedAndTheirRowsGetOtherKeys",
                "ValuesTck.valuesOfAllTypesWithTheirExtremes");
        missing(
                "users belong to the server, not to the database",
                "SchemaChangesTck.schemaMadeWithItsFirstObjectGoesWithARollback",
                "SchemaChangesTck.schemaOfAUserIsMadeWhereTheOriginMakesIt",
                "UsersTck.grantsHaveTheirGrantorAndWorkOnTheReplica",
                "UsersTck.rolesAreGrantedAndUsed",
                "UsersTck.schemasBelongToWhoMadeThem",
                "UsersTck.whatIsDoneWithAnothersRightsIsDoneSoOnTheReplica");
        missing(
                "PostgreSQL's unique indexes hold any number of NULLs (see RowsTest)",
                "CertificationKeysTck.uniqueIndexesHaveCertificationKeysToo");
        missing(
                "PostgreSQL tells of what was read by tables only (see ReadSetsTest)",
                "CertificationKeysTck.serializableTransactionsTellOfWhichTablesTheyReadMore",
                "CertificationKeysTck.serializableTransactionsTellWhichRowsTheyLookedFor",
                "CertificationKeysTck.whatAViolatedConstraintTellsIsRead",
                "CertificationKeysTck.whatIsFetchedAfterACommitIsReadByTheNextTransaction",
                "CertificationKeysTck.whatIsReadOfATableThatRowsWereInsertedIntoIsComparedFromTheBegin",
                "CertificationKeysTck.whoReadsManyRowsTellsOnlyTheirTable");
    }

    private static void missing(String reason, String... cases) {
        Stream.of(cases).forEach(name -> MISSING.put(name, reason));
    }

    private final PostgresBinding binding = new PostgresBinding();

    /** The binding itself, but for the spelling of what its clients say. */
    @Override
    public DatabaseBinding binding() {
        return new DatabaseBinding() {
            @Override
            public String name() {
                return binding.name();
            }

            @Override
            public Set<Capability> capabilities() {
                return binding.capabilities();
            }

            @Override
            public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
                return Spelling.of(binding.open(configuration, listener));
            }

            @Override
            public void load(Path snapshot, DatabaseConfiguration configuration) {
                binding.load(snapshot, configuration);
            }

            @Override
            public void drop(DatabaseConfiguration configuration) {
                binding.drop(configuration);
            }

            @Override
            public Optional<List<Finding>> examine(Connection connection) throws SQLException {
                return binding.examine(connection);
            }
        };
    }

    @Override
    public Map<String, String> missing() {
        return MISSING;
    }

    @Override
    public DatabaseConfiguration configuration(Path directory, String name) {
        return TestServer.configuration(directory, name);
    }

    /** The replica's process is killed: its sessions end with it, in the midst of what they do, and the server goes on. */
    @Override
    public ReflectedDatabase kill(
            ReflectedDatabase running, DatabaseConfiguration configuration, TransactionListener listener) {
        String database = Server.of(configuration).database();
        try {
            TestServer.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + database + "'");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        running.close();
        return binding().open(configuration, listener);
    }

    /** It is made when it is opened. */
    @Override
    public void create(DatabaseConfiguration configuration, boolean privileges) throws SQLException {
        TestServer.dropOthers(configuration.spoolDirectory().getParent());
    }

    @Override
    public String binaryColumns() {
        return "BI3 BYTEA, BIV BYTEA";
    }

    @Override
    public List<Type> types() {
        String nines = "9".repeat(31);
        return List.of(
                new Type("BOOLEAN", List.of("TRUE", "FALSE"), true),
                new Type("SMALLINT", List.of("32767", "-32768", "0"), true),
                new Type("INTEGER", List.of("2147483647", "-2147483648", "0"), true),
                new Type("BIGINT", List.of("9223372036854775807", "-9223372036854775808", "0"), true),
                new Type(
                        "REAL",
                        List.of("'3.4028235e38'", "'-3.4028235e38'", "'1.1754944e-38'", "0.1::real", "'NaN'"),
                        true),
                new Type(
                        "DOUBLE PRECISION",
                        List.of(
                                "'1.7976931348623157e308'",
                                "'-1.7976931348623157e308'",
                                "'2.3e-308'",
                                "0.1",
                                "'Infinity'"),
                        true),
                new Type("NUMERIC", List.of(nines + "." + nines, "-" + nines, "0.00", "'NaN'", "'-Infinity'"), true),
                new Type("NUMERIC(31, 31)", List.of("." + nines, "-." + nines, "." + "0".repeat(30) + "1"), true),
                new Type("NUMERIC(5, 2)", List.of("999.99", "-999.99", "0.10", "1.00"), true),
                new Type("CHAR(5)", List.of("'abcde'", "'a'", "'ä€日'", "''", "'a''b'"), true),
                new Type("VARCHAR(100)", List.of("'x'", "' x'", "'a''b'", "'ä€日本𝄞'", "''", "'x '"), true),
                new Type("TEXT", List.of("'text ä€'", "''", "E'\\\\ \"q\",()\\n\\t'", "repeat('c', 30000)"), false),
                new Type("BYTEA", List.of("'\\x00ff7f'", "'\\x202020'", "''", "'\\x2000'"), true),
                new Type("BYTEA", List.of("decode(repeat('2a', 40000), 'hex')", "'\\x00'"), false),
                new Type(
                        "DATE",
                        List.of("'0001-01-01'", "'9999-12-31'", "'2024-02-29'", "'0044-03-15 BC'", "'infinity'"),
                        true),
                new Type("TIME", List.of("'00:00:00'", "'23:59:59.999999'", "'12:30:01'", "'24:00:00'"), true),
                new Type("TIME WITH TIME ZONE", List.of("'00:00:00+01'", "'23:59:59.999999-08'"), true),
                new Type(
                        "TIMESTAMP",
                        List.of(
                                "'0001-01-01 00:00:00'",
                                "'9999-12-31 23:59:59.999999'",
                                "'2016-03-27 02:30:00.000001'",
                                "'-infinity'"),
                        true),
                new Type("TIMESTAMP WITH TIME ZONE", List.of("'2016-03-27 02:30:00.000001+05'", "'infinity'"), true),
                new Type("INTERVAL", List.of("'1 year 2 mons -3 days 04:05:06.789'", "'-1 day'", "'0'"), true),
                new Type(
                        "UUID",
                        List.of("'12345678-9abc-def0-1234-56789abcdef0'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
                        true),
                new Type("JSON", List.of("'{\"a\":   [1, null, \"\\u00e4\"]}'", "'null'"), false),
                new Type("JSONB", List.of("'{\"a\": [1, null, \"\\\"\"]}'", "'null'", "'1.50'"), true),
                new Type("XML", List.of("'<a b=\"ä\"> <c/>&lt; 日本</a>'", "'<empty/>'"), false),
                new Type("INTEGER[]", List.of("'{1,NULL,3}'", "'{}'", "'{{1,2},{3,4}}'"), true),
                new Type("TEXT[]", List.of("'{\"a,b\",\"\",NULL,\"\\\"\"}'", "'{}'"), true),
                new Type("INT4RANGE", List.of("'[1,5)'", "'empty'", "'(,3)'"), true),
                new Type("INET", List.of("'10.0.0.1/8'", "'::1'"), true),
                new Type("BIT(4)", List.of("B'1010'", "B'0000'"), true),
                new Type("MONEY", List.of("12.34::money", "'-0.01'::money"), true),
                new Type("POINT", List.of("'(1.5,-2)'", "'(0,0)'"), false),
                new Type("TSVECTOR", List.of("to_tsvector('simple', 'a fat cat')", "''"), false));
    }

    @Override
    public String importing(String table, Path file, boolean replaces) {
        return (replaces ? "TRUNCATE " + table + "; " : "") + "COPY " + table + " FROM '" + file
                + "' WITH (FORMAT csv)";
    }

    @Override
    public String procedure(Procedure procedure) {
        String body = switch (procedure) {
            case INSERT_ROW -> "INSERT INTO T VALUES (N, 0);";
            case INSERT_AND_COMMIT -> "INSERT INTO T VALUES (N, 0); COMMIT; INSERT INTO T VALUES (N + 1, 0);";
            case INSERT_AND_ROLL_BACK -> "INSERT INTO T VALUES (N, 0); ROLLBACK; INSERT INTO T VALUES (N + 1, 0);";
            case INSERT_AROUND_SAVEPOINT ->
                "INSERT INTO T VALUES (N, 0); BEGIN INSERT INTO T VALUES (N + 1, 0); RAISE division_by_zero;"
                        + " EXCEPTION WHEN division_by_zero THEN NULL; END; INSERT INTO T VALUES (N + 2, 0);";
            case MAKE_TABLE -> "CREATE TABLE MADE (ID INTEGER NOT NULL PRIMARY KEY); INSERT INTO MADE VALUES (N);";
        };
        return "CREATE PROCEDURE " + procedure + " (N INTEGER) LANGUAGE plpgsql AS $$ BEGIN " + body + " END $$";
    }

    @Override
    public Generator sequence(String schema, String name) {
        return new Generator(false, schema, name.toLowerCase(Locale.ROOT));
    }

    @Override
    public List<List<String>> ownSchemaChanges() {
        return List.of(
                List.of("CREATE SEQUENCE S", "ALTER SEQUENCE S INCREMENT 5", "DROP SEQUENCE S"),
                List.of(procedure(Procedure.INSERT_ROW), "DROP PROCEDURE INSERT_ROW"),
                List.of("CREATE DOMAIN PRICE AS INTEGER CHECK (VALUE > 0)", "DROP DOMAIN PRICE"),
                List.of("CREATE TYPE MOOD AS ENUM ('sad', 'ok')", "ALTER TYPE MOOD ADD VALUE 'glad'", "DROP TYPE MOOD"),
                List.of(
                        "CREATE TABLE R (ID INTEGER NOT NULL PRIMARY KEY)",
                        "ALTER TABLE R RENAME TO RR",
                        "DROP TABLE RR"),
                List.of("CREATE TABLE LIKE_T (LIKE T INCLUDING ALL)", "DROP TABLE LIKE_T"),
                List.of(
                        "CREATE MATERIALIZED VIEW M AS SELECT 1 AS X",
                        "REFRESH MATERIALIZED VIEW M",
                        "DROP MATERIALIZED VIEW M"),
                List.of("ALTER TABLE T ALTER COLUMN A SET DEFAULT 3", "ALTER TABLE T ALTER COLUMN A DROP DEFAULT"),
                List.of("COMMENT ON TABLE T IS 'what is written'", "COMMENT ON TABLE T IS NULL"),
                List.of("CREATE INDEX I ON T (A DESC)", "ALTER INDEX I RENAME TO J", "DROP INDEX J"));
    }

    @Override
    public List<String> refused() {
        return List.of(
                "SET session_replication_role TO replica",
                "SELECT set_config('session_replication_role', 'replica', false)",
                "SET gorda.told TO 'x'",
                "PREPARE TRANSACTION 'x'",
                "COMMIT PREPARED 'x'",
                "SELECT lo_create(0)",
                "CREATE UNLOGGED TABLE UL (ID INTEGER)",
                "ALTER TABLE T SET UNLOGGED",
                "ALTER TABLE T DISABLE TRIGGER ALL",
                "ALTER TABLE T ADD COLUMN R DOUBLE PRECISION DEFAULT random()",
                "ALTER TABLE T ADD COLUMN R INTEGER GENERATED ALWAYS AS IDENTITY",
                "ALTER TABLE T ADD COLUMN R TIMESTAMP DEFAULT CURRENT_TIMESTAMP",
                "DO 'BEGIN CREATE TABLE TT (ID INTEGER); END'",
                "DO 'BEGIN CREATE SCHEMA X; END'",
                "CREATE INDEX CONCURRENTLY I ON T (ID)");
    }

    @Override
    public Set<String> statesBesideSchemaChanges() {
        return Set.of();
    }

    @Override
    public @Nullable String damage(Connection connection, TableShape table) throws SQLException {
        try (Connection own = TestServer.connect(connection.getCatalog())) {
            SqlSession.of(own)
                    .query("SELECT gorda.bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = "
                            + PostgresDatabase.literal(table.toString()) + "::regclass");
            return null;
        } catch (SQLException e) {
            return e.getMessage();
        }
    }

    @Override
    public List<String> catalogue(Connection connection) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (Connection own = TestServer.connect(connection.getCatalog())) {
            SqlSession session = SqlSession.of(own);
            session.query("SET search_path TO pg_catalog");
            session.query(Installation.script("schema.sql")).stream()
                    .map(row -> row.get(3))
                    .filter(sql -> !sql.startsWith("select setval"))
                    .forEach(lines::add);
            session.query(
                            "SELECT 'constraint ' || conname || ' ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
                                    + " WHERE contype IN ('p', 'u', 'c', 'f', 'x') AND connamespace::regnamespace::text NOT IN ('gorda', 'information_schema', 'pg_catalog')")
                    .forEach(row -> lines.add(row.get(0)));
        }
        Collections.sort(lines);
        return lines;
    }
}
