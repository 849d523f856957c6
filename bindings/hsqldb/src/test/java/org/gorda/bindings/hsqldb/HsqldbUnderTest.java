package org.gorda.bindings.hsqldb;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.tck.CertificationKeysTck;
import org.gorda.gapi.tck.LargeObjectsTck;
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;
import org.jspecify.annotations.Nullable;

/** HSQLDB as the suites see it. Thread-safe. */
final class HsqldbUnderTest implements TckBinding {

    private static final String OF_CLIENTS = " NOT IN ('INFORMATION_SCHEMA', 'SYSTEM_LOBS', 'SQLJ', 'GORDA')";

    /** What is in HSQLDB's catalogue, but for our own triggers, and names that HSQLDB gives, which nobody can use. */
    private static final Map<String, String> CATALOGUE = new LinkedHashMap<>();

    private static final Map<String, String> MISSING = new LinkedHashMap<>();

    private static String given(String column) {
        return "CASE WHEN " + column + " LIKE 'SYS\\_%' ESCAPE '\\' THEN '' ELSE " + column + " END";
    }

    static {
        CATALOGUE.put("schema", "SELECT SCHEMA_NAME, SCHEMA_OWNER FROM SCHEMATA WHERE SCHEMA_NAME" + OF_CLIENTS);
        CATALOGUE.put(
                "table",
                "SELECT TABLE_SCHEM, TABLE_NAME, TABLE_TYPE, HSQLDB_TYPE, REMARKS FROM SYSTEM_TABLES WHERE TABLE_SCHEM"
                        + OF_CLIENTS);
        CATALOGUE.put(
                "column",
                "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE,"
                        + " CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, DOMAIN_NAME, IS_IDENTITY,"
                        + " IDENTITY_GENERATION, IDENTITY_INCREMENT, IS_GENERATED, GENERATION_EXPRESSION"
                        + " FROM COLUMNS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "constraint",
                "SELECT " + given("T.CONSTRAINT_NAME")
                        + ", T.TABLE_SCHEMA, T.TABLE_NAME, T.CONSTRAINT_TYPE, C.CHECK_CLAUSE, "
                        + given("R.UNIQUE_CONSTRAINT_NAME")
                        + ", R.UPDATE_RULE, R.DELETE_RULE FROM TABLE_CONSTRAINTS T LEFT JOIN CHECK_CONSTRAINTS C"
                        + " ON C.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA AND C.CONSTRAINT_NAME = T.CONSTRAINT_NAME"
                        + " LEFT JOIN REFERENTIAL_CONSTRAINTS R ON R.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA"
                        + " AND R.CONSTRAINT_NAME = T.CONSTRAINT_NAME WHERE T.TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "index",
                "SELECT TABLE_SCHEM, TABLE_NAME, " + given("INDEX_NAME")
                        + ", ORDINAL_POSITION, COLUMN_NAME, ASC_OR_DESC, NON_UNIQUE FROM SYSTEM_INDEXINFO WHERE TABLE_SCHEM"
                        + OF_CLIENTS);
        CATALOGUE.put(
                "view", "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM VIEWS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "sequence",
                "SELECT SEQUENCE_SCHEMA, SEQUENCE_NAME, DATA_TYPE, MINIMUM_VALUE, MAXIMUM_VALUE, INCREMENT, CYCLE_OPTION"
                        + " FROM SEQUENCES WHERE SEQUENCE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "domain",
                "SELECT DOMAIN_SCHEMA, DOMAIN_NAME, DATA_TYPE, DOMAIN_DEFAULT FROM DOMAINS WHERE DOMAIN_SCHEMA"
                        + OF_CLIENTS);
    }

    static {
        missing(
                "triggers of clients are refused: what is taken back within one is not seen",
                "RowChangesTck.triggerEffectsAreAppliedOnce",
                "RowChangesTck.triggersBeforeAfterAndUponOthers",
                "TransactionsTck.statementThatATriggerFailsIsTakenBackWithAllItsEffects",
                "TransactionsTck.triggersThatCallProcedures");
        missing(
                "routines are refused: what is taken back within one is not seen",
                "TransactionsTck.procedureThatCommitsInside",
                "TransactionsTck.proceduresThatRollBackUseSavepointsAndChangeTheSchema",
                "TransactionsTck.refusedCommitWithinAProcedure");
        missing(
                "HSQLDB commits schema changes at once",
                "AbortsTck.tablesAreListedForTheApplierWithoutWaitingForOnesThatAreNotCommitted",
                "ApplyTck.applierWinsAgainstTableLocksAndSchemaChanges",
                "SchemaChangesTck.schemaChangeThatIsRolledBackIsNotReplicated",
                "TransactionsTck.savepointsInSqlOverSchemaChangesAndReleased");
        missing(
                "HSQLDB's readers see versions, and wait for nobody",
                "AbortsTck.abortOfATransactionThatWaitsToRead",
                "ApplyTck.applierWinsAgainstReadersAfterTheirGraceTime",
                "ApplyTck.schemaChangesWhoseTurnItIsWinWhereTheyAreMade");
        missing(
                "one transaction changes rows at a time, and nobody waits for a row",
                "AbortsTck.abortOfATransactionThatWaitsForALock");
        missing(
                "a MERGE that deletes fails in HSQLDB if the table has triggers (see HsqldbOwnTest)",
                "RowChangesTck.mergeBothWays",
                "RowChangesTck.mergeThatInsertsUpdatesAndDeletesAtOnce");
        missing(
                "HSQLDB writes its log when it is told to, or has much",
                "ApplyTck.restartedDatabaseContinuesFromItsStoredPosition");
        missing(
                "HSQLDB closes result sets with which rows are changed at the commit",
                "TransactionsTck.cursorsHeldOverCommitsGoOn");
        missing(
                "HSQLDB has no deferrable constraints",
                "ConstraintsTck.constraintViolatedAtTheCommitIsNotSent",
                "ConstraintsTck.deferrablePrimaryKeyIsRefusedOrReplicated",
                "ConstraintsTck.deferredConstraintsMayBeViolatedUntilTheCommit",
                "ConstraintsTck.deferredUniqueKeysMayMeetUntilTheCommit");
        missing(
                "HSQLDB has no import in statements, and no cursors in them",
                "RowChangesTck.bulkImportIntoEmptyAndIntoFilledTables",
                "RowChangesTck.bulkImportThatReplacesAllRows",
                "RowChangesTck.scrollableUpdatableResultSetsAndPositionedStatements");
        missing(
                "large objects are refused: HSQLDB keeps them in a file of their own, beside its log",
                "ApplyTck.rolledBackApplyLeavesNothingAndCanBeRepeated",
                "SnapshotsTck.snapshotUnderLoadAndWhatFollowsItsPositionAreTheDatabase",
                "TransactionsTck.transactionBeyondTheLimitIsRefusedAndNothingIsLost",
                "ValuesTck.largeObjectsFromStreams",
                "ValuesTck.largeObjectsThroughLocatorsAndUpdatableRows");
        missing(
                "large objects are refused: HSQLDB keeps them in a file of their own, beside its log",
                TckTable.casesOf(LargeObjectsTck.class));
        missing(
                "users and rights are not replicated",
                "SchemaChangesTck.schemaMadeWithItsFirstObjectGoesWithARollback",
                "SchemaChangesTck.schemaOfAUserIsMadeWhereTheOriginMakesIt",
                "UsersTck.grantsHaveTheirGrantorAndWorkOnTheReplica",
                "UsersTck.rolesAreGrantedAndUsed",
                "UsersTck.schemasBelongToWhoMadeThem",
                "UsersTck.whatIsDoneWithAnothersRightsIsDoneSoOnTheReplica");
        missing(
                "HSQLDB spells it otherwise (see HsqldbOwnTest)",
                "ApplyTck.restartUnderALivingReplicatorAmongSchemaChangesAndKeys",
                "ApplyTck.schemaChangesWinAgainstLocalTransactions",
                "GeneratedKeysTck.identityAndSequenceValuesAreNotGivenTwiceAfterTakingOver",
                "GeneratedKeysTck.keysAreReturnedToTheClient",
                "GeneratedKeysTck.rolesChangeThereAndBackAndNoKeyIsGivenTwice",
                "GeneratedKeysTck.valuesGivenByClientsAndRestartsAreKept",
                "SchemaChangesTck.renamedTablesColumnsAndIndexesInTheMiddleOfATransaction",
                "SchemaChangesTck.severalSchemasWithTablesOfTheSameName",
                "ValuesTck.valuesOfAllTypesWithTheirExtremes");
        missing(
                "names that HSQLDB gives differ, and are refused in schema changes",
                "SchemaChangesTck.generatedConstraintNamesAreTheSameEverywhere");
        missing(
                "what each replica would compute for itself is refused",
                "SchemaChangesTck.columnsAddedToRowsThatAreThere");
        missing("no CERTIFICATION_KEYS", "GeneratedKeysTck.leasedValuesAreTakenAndGeneratorsGoOnWhereTheyAreSettled");
        missing("no CERTIFICATION_KEYS", TckTable.casesOf(CertificationKeysTck.class));
    }

    private static void missing(String reason, String... cases) {
        Stream.of(cases).forEach(name -> MISSING.put(name, reason));
    }

    @Override
    public DatabaseBinding binding() {
        return new HsqldbBinding();
    }

    @Override
    public List<String> modules() {
        return List.of("bindings/hsqldb", "bindings/triggers");
    }

    @Override
    public Map<String, String> missing() {
        return MISSING;
    }

    @Override
    public DatabaseConfiguration configuration(Path directory, String name) {
        return new DatabaseConfiguration(
                directory.resolve(name).toString(),
                Map.of(),
                Duration.ofMillis(200),
                64 << 20,
                directory.resolve(name + ".spool"));
    }

    /** What a killed process leaves is what is in its files: a copy of them, made while nothing is going on. HsqldbCrashTest kills for real. */
    @Override
    public ReflectedDatabase kill(
            ReflectedDatabase running, DatabaseConfiguration configuration, TransactionListener listener) {
        Path directory = Path.of(configuration.location());
        Path left = directory.resolveSibling(directory.getFileName() + ".left");
        try {
            Files.createDirectory(left);
            for (String file : List.of("database.script", "database.log", "database.properties")) {
                Files.copy(directory.resolve(file), left.resolve(file));
            }
            running.close();
            binding().drop(configuration);
            Files.move(left, directory, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return binding().open(configuration, listener);
    }

    /** It is made when it is opened. */
    @Override
    public void create(DatabaseConfiguration configuration, boolean privileges) {}

    @Override
    public String binaryColumns() {
        return "BI3 BINARY(3), BIV VARBINARY(100)";
    }

    @Override
    public List<Type> types() {
        String nines = "9".repeat(31);
        return List.of(
                new Type("BOOLEAN", List.of("TRUE", "FALSE"), true),
                new Type("TINYINT", List.of("127", "-128", "0"), true),
                new Type("SMALLINT", List.of("32767", "-32768", "0"), true),
                new Type("INTEGER", List.of("2147483647", "-2147483648", "0"), true),
                new Type("BIGINT", List.of("9223372036854775807", "-9223372036854775807", "0"), true),
                new Type("REAL", List.of("3.402E+38", "-3.402E+38", "1.18E-37", "0.1E0"), true),
                new Type("DOUBLE PRECISION", List.of("1.79769E+308", "-1.79769E+308", "2.226E-307", "0.1E0"), true),
                new Type("DECIMAL(31, 0)", List.of(nines, "-" + nines, "0"), true),
                new Type("DECIMAL(31, 31)", List.of("." + nines, "-." + nines, "." + "0".repeat(30) + "1"), true),
                new Type("NUMERIC(5, 2)", List.of("999.99", "-999.99", "0.10", "1.00"), true),
                new Type("CHAR(5)", List.of("'abcde'", "'a'", "'ä€日'", "''", "'a''b'"), true),
                new Type("VARCHAR(100)", List.of("'x'", "' x'", "'a''b'", "'ä€日本𝄞'", "''"), true),
                new Type("VARCHAR(100000)", List.of("'" + "v".repeat(60_000) + "'", "' '", "'v  '"), false),
                new Type("VARCHAR_IGNORECASE(20)", List.of("'Ab'", "'C'"), true),
                new Type("LONGVARCHAR", List.of("'text ä€'", "''", "'" + "c".repeat(30_000) + "'"), false),
                new Type("BINARY(3)", List.of("X'00FF7F'", "X'202020'", "X'000000'"), true),
                new Type("VARBINARY(10)", List.of("X'00'", "X'FFEE'", "X'2000'"), true),
                new Type("VARBINARY(50000)", List.of("X'00'", "X'" + "2A".repeat(40_000) + "'"), false),
                new Type("DATE", List.of("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'"), true),
                new Type("TIME(9)", List.of("TIME '00:00:00'", "TIME '23:59:59.999999999'", "TIME '12:30:01'"), true),
                new Type(
                        "TIMESTAMP(9)",
                        List.of(
                                "TIMESTAMP '0001-01-01 00:00:00'",
                                "TIMESTAMP '9999-12-31 23:59:59.999999999'",
                                "TIMESTAMP '2016-03-27 02:30:00.000000001'"),
                        true),
                new Type(
                        "UUID",
                        List.of(
                                "CAST('12345678-9abc-def0-1234-56789abcdef0' AS UUID)",
                                "CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS UUID)"),
                        true));
    }

    @Override
    public String importing(String table, Path file, boolean replaces) {
        throw new UnsupportedOperationException("there is no import");
    }

    @Override
    public String procedure(Procedure procedure) {
        throw new UnsupportedOperationException("routines are refused");
    }

    @Override
    public List<List<String>> ownSchemaChanges() {
        return List.of(
                List.of("CREATE SEQUENCE S", "DROP SEQUENCE S"),
                List.of("CREATE DOMAIN PRICE AS INTEGER CHECK (VALUE > 0)", "DROP DOMAIN PRICE"),
                List.of(
                        "CREATE TABLE R (ID INTEGER NOT NULL PRIMARY KEY)",
                        "ALTER TABLE R RENAME TO RR",
                        "DROP TABLE RR"),
                List.of("ALTER TABLE T ALTER COLUMN A SET DEFAULT 3", "ALTER TABLE T ALTER COLUMN A DROP DEFAULT"),
                List.of("COMMENT ON TABLE T IS 'what is written'", "COMMENT ON TABLE T IS ''"),
                List.of("CREATE INDEX I ON T (A)", "ALTER INDEX I RENAME TO J", "DROP INDEX J"));
    }

    @Override
    public List<String> refused() {
        return List.of(
                "SET DATABASE REFERENTIAL INTEGRITY FALSE",
                "SET DATABASE TRANSACTION CONTROL LOCKS",
                "SET FILES LOG FALSE",
                "CREATE USER DAVE PASSWORD 'secret'",
                "CREATE ROLE READER",
                "GRANT SELECT ON T TO PUBLIC",
                "CREATE FUNCTION F (N INTEGER) RETURNS INTEGER RETURN N + 1",
                "CREATE PROCEDURE P (IN N INTEGER) MODIFIES SQL DATA INSERT INTO T VALUES (N)",
                "CREATE TRIGGER TR AFTER INSERT ON T CALL \"org.gorda.Nothing\"",
                "CREATE TRIGGER TR AFTER INSERT ON T REFERENCING NEW ROW AS R FOR EACH ROW DELETE FROM T WHERE ID = R.ID",
                "CREATE TEXT TABLE TT (ID INTEGER)",
                "CREATE CACHED TABLE TT (ID INTEGER)",
                "CREATE TEMPORARY TABLE TT (ID INTEGER)",
                "DECLARE LOCAL TEMPORARY TABLE TT (ID INTEGER)",
                "CREATE TABLE TT AS (SELECT RAND() AS R FROM (VALUES(0))) WITH DATA",
                "ALTER TABLE T ADD COLUMN R TIMESTAMP DEFAULT CURRENT_TIMESTAMP",
                "ALTER TABLE T ADD COLUMN R INTEGER GENERATED ALWAYS AS IDENTITY",
                "ALTER INDEX SYS_IDX_1 RENAME TO J",
                "SET TABLE T READONLY TRUE",
                "SET TABLE T TYPE CACHED",
                "LOCK TABLE T WRITE",
                "DROP TABLE GORDA.POSITION",
                "UPDATE GORDA.POSITION SET IDX = 0",
                "START TRANSACTION",
                "SET TRANSACTION READ ONLY",
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
                "CHECKPOINT",
                "SCRIPT",
                "SHUTDOWN");
    }

    @Override
    public Set<String> statesBesideSchemaChanges() {
        return Set.of();
    }

    @Override
    public @Nullable String damage(Connection connection, TableShape table) {
        return null;
    }

    @Override
    public List<String> catalogue(Connection connection) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SCHEMA INFORMATION_SCHEMA");
            for (Map.Entry<String, String> query : CATALOGUE.entrySet()) {
                try (ResultSet rows = statement.executeQuery(query.getValue())) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        StringBuilder line = new StringBuilder(query.getKey());
                        for (int i = 1; i <= columns; i++) {
                            line.append(' ').append(rows.getString(i));
                        }
                        lines.add(line.toString());
                    }
                }
            }
        }
        Collections.sort(lines);
        return lines;
    }
}
