package org.gorda.bindings.h2;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;
import org.gorda.gapi.DatabaseConfiguration;

/** H2 as the suites see it. Thread-safe. */
final class H2UnderTest extends TriggeredUnderTest {

    private static final String OF_CLIENTS = " NOT IN ('INFORMATION_SCHEMA', 'GORDA')";

    H2UnderTest() {
        super(new H2Binding(), "H2");
        // What is in H2's catalogue, but for identities, our own triggers, and names of primary keys' indexes, which
        // nobody can use.
        catalogue("schema", "SELECT SCHEMA_NAME, SCHEMA_OWNER, REMARKS FROM SCHEMATA WHERE SCHEMA_NAME" + OF_CLIENTS);
        catalogue(
                "table",
                "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, STORAGE_TYPE, REMARKS FROM TABLES WHERE TABLE_SCHEMA"
                        + OF_CLIENTS);
        catalogue(
                "column",
                "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE,"
                        + " CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, DOMAIN_NAME, IS_IDENTITY,"
                        + " IDENTITY_GENERATION, IDENTITY_START, IDENTITY_INCREMENT, IS_GENERATED, GENERATION_EXPRESSION, REMARKS"
                        + " FROM COLUMNS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "constraint",
                "SELECT T.CONSTRAINT_NAME, T.TABLE_SCHEMA, T.TABLE_NAME, T.CONSTRAINT_TYPE, C.CHECK_CLAUSE, R.UNIQUE_CONSTRAINT_NAME,"
                        + " R.UPDATE_RULE, R.DELETE_RULE FROM TABLE_CONSTRAINTS T LEFT JOIN CHECK_CONSTRAINTS C"
                        + " ON C.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA AND C.CONSTRAINT_NAME = T.CONSTRAINT_NAME"
                        + " LEFT JOIN REFERENTIAL_CONSTRAINTS R ON R.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA"
                        + " AND R.CONSTRAINT_NAME = T.CONSTRAINT_NAME WHERE T.TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "index",
                "SELECT TABLE_SCHEMA, TABLE_NAME, CASE WHEN INDEX_NAME LIKE 'PRIMARY_KEY%' THEN '' ELSE INDEX_NAME END, ORDINAL_POSITION, COLUMN_NAME, ORDERING_SPECIFICATION, IS_UNIQUE"
                        + " FROM INDEX_COLUMNS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "view", "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM VIEWS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "trigger",
                "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, JAVA_CLASS FROM TRIGGERS"
                        + " WHERE TRIGGER_NAME NOT LIKE 'GORDA$%'");
        catalogue(
                "sequence",
                "SELECT SEQUENCE_SCHEMA, SEQUENCE_NAME, DATA_TYPE, START_VALUE, MINIMUM_VALUE, MAXIMUM_VALUE, INCREMENT, CYCLE_OPTION"
                        + " FROM SEQUENCES WHERE SEQUENCE_SCHEMA" + OF_CLIENTS);
        catalogue(
                "domain",
                "SELECT DOMAIN_SCHEMA, DOMAIN_NAME, DATA_TYPE, DOMAIN_DEFAULT FROM DOMAINS WHERE DOMAIN_SCHEMA"
                        + OF_CLIENTS);
        catalogue(
                "synonym",
                "SELECT SYNONYM_SCHEMA, SYNONYM_NAME, SYNONYM_FOR FROM SYNONYMS WHERE SYNONYM_SCHEMA" + OF_CLIENTS);
        missing(
                "H2's triggers are Java classes (see H2OwnTest)",
                "RowChangesTck.triggerEffectsAreAppliedOnce",
                "RowChangesTck.triggersBeforeAfterAndUponOthers",
                "TransactionsTck.statementThatATriggerFailsIsTakenBackWithAllItsEffects",
                "TransactionsTck.triggersThatCallProcedures");
        missing(
                "aliases are refused: what Java code does with a connection is not seen",
                "TransactionsTck.procedureThatCommitsInside",
                "TransactionsTck.proceduresThatRollBackUseSavepointsAndChangeTheSchema",
                "TransactionsTck.refusedCommitWithinAProcedure");
        missing(
                "H2's readers see versions, and are in nobody's way",
                "AbortsTck.abortOfATransactionThatWaitsToRead",
                "ApplyTck.applierWinsAgainstReadersAfterTheirGraceTime",
                "ApplyTck.schemaChangesWhoseTurnItIsWinWhereTheyAreMade",
                "ApplyTck.schemaChangesWinAgainstLocalTransactions");
        missing(
                "H2 has no import in place of rows, and no cursors in statements",
                "RowChangesTck.bulkImportThatReplacesAllRows",
                "RowChangesTck.scrollableUpdatableResultSetsAndPositionedStatements");
        missing(
                "H2's large objects are written once, and may be shorter than they were said to be",
                "LargeObjectsTck.aRollbackOfLargeObjectsLeavesWhatWasBefore",
                "ValuesTck.largeObjectsThroughLocatorsAndUpdatableRows");
        missing(
                "H2 writes half a second later, or when it is told to",
                "ApplyTck.restartedDatabaseContinuesFromItsStoredPosition");
        missing(
                "H2 spells it otherwise (see H2OwnTest)",
                "SchemaChangesTck.renamedTablesColumnsAndIndexesInTheMiddleOfATransaction",
                "SchemaChangesTck.severalSchemasWithTablesOfTheSameName");
    }

    @Override
    protected String product() {
        return "H2";
    }

    @Override
    protected String text() {
        return "CLOB";
    }

    @Override
    protected String bytes() {
        return "BLOB";
    }

    @Override
    protected String numbers(int first, int last) {
        return "SYSTEM_RANGE(" + first + ", " + last + ")";
    }

    @Override
    protected Connection past(DatabaseConfiguration configuration) throws SQLException {
        return DriverManager.getConnection(new H2Files(configuration.location()).url(), "sa", "");
    }

    @Override
    protected List<String> files() {
        return List.of("database.mv.db");
    }

    @Override
    protected Stream<Type> ownTypes() {
        return Stream.of(
                new Type("BIGINT", List.of("9223372036854775807", "-9223372036854775808", "0"), true),
                new Type("REAL", casts("REAL", "3.402E+38", "-3.402E+38", "1.18E-37", "0.1E0"), true),
                new Type("FLOAT(23)", casts("REAL", "16777217E0", "-1E0"), true),
                new Type("CLOB(1M)", casts("CLOB(1M)", "'text ä€'", "''", "'" + "c".repeat(30_000) + "'"), false),
                new Type("BLOB(1M)", casts("BLOB(1M)", "X'00FF'", "X''", "X'" + "00".repeat(4_000) + "'"), false),
                new Type(
                        "DATE",
                        List.of("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'", "DATE '-0044-03-15'"),
                        true),
                new Type(
                        "UUID",
                        List.of(
                                "UUID '12345678-9abc-def0-1234-56789abcdef0'",
                                "UUID 'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
                        true),
                new Type("ENUM('red', 'green', 'it''s')", List.of("'red'", "'it''s'"), true));
    }

    private static List<String> casts(String type, String... literals) {
        return Stream.of(literals)
                .map(literal -> "CAST(" + literal + " AS " + type + ")")
                .toList();
    }

    @Override
    public String importing(String table, Path file, boolean replaces) {
        return "INSERT INTO " + table + " SELECT * FROM CSVREAD('" + file
                + "', 'ID,A,B', 'charset=UTF-8 fieldSeparator=,')";
    }

    @Override
    public List<List<String>> ownSchemaChanges() {
        return List.of(
                List.of("CREATE SEQUENCE S", "DROP SEQUENCE S"),
                List.of("CREATE SYNONYM SY FOR T", "DROP SYNONYM SY"),
                List.of("CREATE DOMAIN PRICE AS INTEGER CHECK (VALUE > 0)", "DROP DOMAIN PRICE"),
                List.of(
                        "CREATE TABLE R (ID INTEGER NOT NULL PRIMARY KEY)",
                        "ALTER TABLE R RENAME TO RR",
                        "DROP TABLE RR"),
                List.of("ALTER TABLE T ALTER COLUMN A SET DEFAULT 3", "ALTER TABLE T ALTER COLUMN A DROP DEFAULT"),
                List.of("COMMENT ON TABLE T IS 'what is written'", "COMMENT ON TABLE T IS NULL"),
                List.of("CREATE INDEX I ON T (A DESC)", "ALTER INDEX I RENAME TO J", "DROP INDEX J"));
    }

    @Override
    public List<String> refused() {
        return List.of(
                "SET MODE MySQL",
                "SET REFERENTIAL_INTEGRITY FALSE",
                "CREATE USER DAVE PASSWORD 'secret'",
                "CREATE ROLE READER",
                "GRANT SELECT ON T TO PUBLIC",
                "CREATE ALIAS F FOR 'java.lang.Math.abs(int)'",
                "CREATE AGGREGATE MIDDLE FOR 'org.gorda.Middle'",
                "CREATE LINKED TABLE L ('org.h2.Driver', 'jdbc:h2:mem:other', 'sa', '', 'T')",
                "SELECT * FROM LINK_SCHEMA('L', '', 'jdbc:h2:mem:other', 'sa', '', 'PUBLIC')",
                "CALL ABORT_SESSION(1)",
                "SELECT CANCEL_SESSION(ID) FROM T",
                "CREATE LOCAL TEMPORARY TABLE TT (ID INTEGER)",
                "CREATE MEMORY TABLE TT (ID INTEGER) NOT PERSISTENT",
                "CREATE TABLE TT AS SELECT RAND() AS R",
                "ALTER TABLE T ADD COLUMN R TIMESTAMP DEFAULT CURRENT_TIMESTAMP",
                "ALTER TABLE T ADD COLUMN R INTEGER GENERATED ALWAYS AS IDENTITY",
                "SELECT ID FROM FINAL TABLE (INSERT INTO T VALUES (9))",
                "DROP ALL OBJECTS",
                "DROP TABLE GORDA.POSITION",
                "UPDATE GORDA.POSITION SET IDX = 0",
                "RUNSCRIPT FROM 'script.sql'",
                "EXECUTE IMMEDIATE 'INSERT INTO T VALUES (9)'",
                "PREPARE P AS INSERT INTO T VALUES (9)",
                "PREPARE COMMIT X",
                "SHUTDOWN");
    }

    @Override
    public String stateOfGeneratorUsedUp() {
        return "90006";
    }

    @Override
    public Set<String> statesBesideSchemaChanges() {
        return Set.of("42S02", "42S03"); // while H2 copies a table, there is none of its name for a moment
    }
}
