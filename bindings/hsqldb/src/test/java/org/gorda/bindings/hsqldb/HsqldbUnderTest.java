package org.gorda.bindings.hsqldb;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.tck.LargeObjectsTck;
import org.gorda.gapi.tck.TckTable;

/** HSQLDB as the suites see it. Thread-safe. */
final class HsqldbUnderTest extends TriggeredUnderTest {

    private static final String OF_CLIENTS = " NOT IN ('INFORMATION_SCHEMA', 'SYSTEM_LOBS', 'SQLJ', 'GORDA')";

    private static String given(String column) {
        return "CASE WHEN " + column + " LIKE 'SYS\\_%' ESCAPE '\\' THEN '' ELSE " + column + " END";
    }

    HsqldbUnderTest() {
        super(new HsqldbBinding(), "HSQLDB");
        // What is in HSQLDB's catalogue, but for our own triggers, and names that HSQLDB gives, which nobody can use.
        catalogue("schema", "SELECT SCHEMA_NAME, SCHEMA_OWNER FROM SCHEMATA WHERE SCHEMA_NAME" + OF_CLIENTS);
        catalogue(
                "table",
                "SELECT TABLE_SCHEM, TABLE_NAME, TABLE_TYPE, HSQLDB_TYPE, REMARKS FROM SYSTEM_TABLES WHERE TABLE_SCHEM"
                        + OF_CLIENTS);
        catalogue(
                "column",
                "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE,"
                        + " CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, DOMAIN_NAME, IS_IDENTITY,"
                        + " IDENTITY_GENERATION, IDENTITY_INCREMENT, IS_GENERATED, GENERATION_EXPRESSION"
                        + " FROM COLUMNS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "constraint",
                "SELECT " + given("T.CONSTRAINT_NAME")
                        + ", T.TABLE_SCHEMA, T.TABLE_NAME, T.CONSTRAINT_TYPE, C.CHECK_CLAUSE, "
                        + given("R.UNIQUE_CONSTRAINT_NAME")
                        + ", R.UPDATE_RULE, R.DELETE_RULE FROM TABLE_CONSTRAINTS T LEFT JOIN CHECK_CONSTRAINTS C"
                        + " ON C.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA AND C.CONSTRAINT_NAME = T.CONSTRAINT_NAME"
                        + " LEFT JOIN REFERENTIAL_CONSTRAINTS R ON R.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA"
                        + " AND R.CONSTRAINT_NAME = T.CONSTRAINT_NAME WHERE T.TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "index",
                "SELECT TABLE_SCHEM, TABLE_NAME, " + given("INDEX_NAME")
                        + ", ORDINAL_POSITION, COLUMN_NAME, ASC_OR_DESC, NON_UNIQUE FROM SYSTEM_INDEXINFO WHERE TABLE_SCHEM"
                        + OF_CLIENTS);
        catalogue(
                "view", "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM VIEWS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "sequence",
                "SELECT SEQUENCE_SCHEMA, SEQUENCE_NAME, DATA_TYPE, MINIMUM_VALUE, MAXIMUM_VALUE, INCREMENT, CYCLE_OPTION"
                        + " FROM SEQUENCES WHERE SEQUENCE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "domain",
                "SELECT DOMAIN_SCHEMA, DOMAIN_NAME, DATA_TYPE, DOMAIN_DEFAULT FROM DOMAINS WHERE DOMAIN_SCHEMA"
                        + OF_CLIENTS);
        missing(
                "in one of forty runs the suite did not end with it; why is not known yet",
                "SchemaChangesTck.clientsComeAndGoBesideSchemaChanges");
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
                "HSQLDB's readers see versions, and wait for nobody",
                "AbortsTck.abortOfATransactionThatWaitsToRead",
                "ApplyTck.applierWinsAgainstReadersAfterTheirGraceTime",
                "ApplyTck.schemaChangesWhoseTurnItIsWinWhereTheyAreMade");
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
    }

    @Override
    protected String product() {
        return "HSQL Database Engine";
    }

    @Override
    protected String text() {
        return "LONGVARCHAR";
    }

    @Override
    protected String bytes() {
        return "VARBINARY(100)";
    }

    @Override
    protected String numbers(int first, int last) {
        return "UNNEST(SEQUENCE_ARRAY(" + first + ", " + last + ", 1)) AS N(X)";
    }

    @Override
    protected Connection past(DatabaseConfiguration configuration) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:hsqldb:file:" + Path.of(configuration.location(), "database") + ";hsqldb.lock_file=false",
                "SA",
                "");
    }

    @Override
    protected List<String> files() {
        return List.of("database.script", "database.log", "database.properties");
    }

    @Override
    protected Stream<Type> ownTypes() {
        return Stream.of(
                new Type("BIGINT", List.of("9223372036854775807", "-9223372036854775807", "0"), true),
                new Type("REAL", List.of("3.402E+38", "-3.402E+38", "1.18E-37", "0.1E0"), true),
                new Type("LONGVARCHAR", List.of("'text ä€'", "''", "'" + "c".repeat(30_000) + "'"), false),
                new Type("DATE", List.of("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'"), true),
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
}
