package org.gorda.bindings.h2;

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
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;
import org.jspecify.annotations.Nullable;

/** H2 as the suites see it. Thread-safe. */
final class H2UnderTest implements TckBinding {

    private static final String OF_CLIENTS = " NOT IN ('INFORMATION_SCHEMA', 'GORDA')";

    /** What is in H2's catalogue, but for identities, our own triggers, and names of primary keys' indexes, which nobody can use. */
    private static final Map<String, String> CATALOGUE = new LinkedHashMap<>();

    private static final Map<String, String> MISSING = new LinkedHashMap<>();

    static {
        CATALOGUE.put(
                "schema", "SELECT SCHEMA_NAME, SCHEMA_OWNER, REMARKS FROM SCHEMATA WHERE SCHEMA_NAME" + OF_CLIENTS);
        CATALOGUE.put(
                "table",
                "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, STORAGE_TYPE, REMARKS FROM TABLES WHERE TABLE_SCHEMA"
                        + OF_CLIENTS);
        CATALOGUE.put(
                "column",
                "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE,"
                        + " CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, DOMAIN_NAME, IS_IDENTITY,"
                        + " IDENTITY_GENERATION, IDENTITY_START, IDENTITY_INCREMENT, IS_GENERATED, GENERATION_EXPRESSION, REMARKS"
                        + " FROM COLUMNS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "constraint",
                "SELECT T.CONSTRAINT_NAME, T.TABLE_SCHEMA, T.TABLE_NAME, T.CONSTRAINT_TYPE, C.CHECK_CLAUSE, R.UNIQUE_CONSTRAINT_NAME,"
                        + " R.UPDATE_RULE, R.DELETE_RULE FROM TABLE_CONSTRAINTS T LEFT JOIN CHECK_CONSTRAINTS C"
                        + " ON C.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA AND C.CONSTRAINT_NAME = T.CONSTRAINT_NAME"
                        + " LEFT JOIN REFERENTIAL_CONSTRAINTS R ON R.CONSTRAINT_SCHEMA = T.CONSTRAINT_SCHEMA"
                        + " AND R.CONSTRAINT_NAME = T.CONSTRAINT_NAME WHERE T.TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "index",
                "SELECT TABLE_SCHEMA, TABLE_NAME, CASE WHEN INDEX_NAME LIKE 'PRIMARY_KEY%' THEN '' ELSE INDEX_NAME END, ORDINAL_POSITION, COLUMN_NAME, ORDERING_SPECIFICATION, IS_UNIQUE"
                        + " FROM INDEX_COLUMNS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "view", "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM VIEWS WHERE TABLE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "trigger",
                "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, JAVA_CLASS FROM TRIGGERS"
                        + " WHERE TRIGGER_NAME NOT LIKE 'GORDA$%'");
        CATALOGUE.put(
                "sequence",
                "SELECT SEQUENCE_SCHEMA, SEQUENCE_NAME, DATA_TYPE, START_VALUE, MINIMUM_VALUE, MAXIMUM_VALUE, INCREMENT, CYCLE_OPTION"
                        + " FROM SEQUENCES WHERE SEQUENCE_SCHEMA" + OF_CLIENTS);
        CATALOGUE.put(
                "domain",
                "SELECT DOMAIN_SCHEMA, DOMAIN_NAME, DATA_TYPE, DOMAIN_DEFAULT FROM DOMAINS WHERE DOMAIN_SCHEMA"
                        + OF_CLIENTS);
        CATALOGUE.put(
                "synonym",
                "SELECT SYNONYM_SCHEMA, SYNONYM_NAME, SYNONYM_FOR FROM SYNONYMS WHERE SYNONYM_SCHEMA" + OF_CLIENTS);
    }

    static {
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
                "H2 commits schema changes at once",
                "AbortsTck.tablesAreListedForTheApplierWithoutWaitingForOnesThatAreNotCommitted",
                "ApplyTck.applierWinsAgainstTableLocksAndSchemaChanges",
                "SchemaChangesTck.schemaChangeThatIsRolledBackIsNotReplicated",
                "TransactionsTck.savepointsInSqlOverSchemaChangesAndReleased");
        missing(
                "H2's readers see versions, and are in nobody's way",
                "AbortsTck.abortOfATransactionThatWaitsToRead",
                "ApplyTck.applierWinsAgainstReadersAfterTheirGraceTime",
                "ApplyTck.schemaChangesWhoseTurnItIsWinWhereTheyAreMade",
                "ApplyTck.schemaChangesWinAgainstLocalTransactions");
        missing(
                "H2 has no deferrable constraints",
                "ConstraintsTck.constraintViolatedAtTheCommitIsNotSent",
                "ConstraintsTck.deferrablePrimaryKeyIsRefusedOrReplicated",
                "ConstraintsTck.deferredConstraintsMayBeViolatedUntilTheCommit",
                "ConstraintsTck.deferredUniqueKeysMayMeetUntilTheCommit");
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
                "what each replica would compute for itself is refused",
                "SchemaChangesTck.columnsAddedToRowsThatAreThere");
        missing(
                "H2 spells it otherwise (see H2OwnTest)",
                "SchemaChangesTck.renamedTablesColumnsAndIndexesInTheMiddleOfATransaction",
                "SchemaChangesTck.severalSchemasWithTablesOfTheSameName");
        missing(
                "users and rights are not replicated",
                "SchemaChangesTck.schemaMadeWithItsFirstObjectGoesWithARollback",
                "SchemaChangesTck.schemaOfAUserIsMadeWhereTheOriginMakesIt",
                "UsersTck.grantsHaveTheirGrantorAndWorkOnTheReplica",
                "UsersTck.rolesAreGrantedAndUsed",
                "UsersTck.schemasBelongToWhoMadeThem",
                "UsersTck.whatIsDoneWithAnothersRightsIsDoneSoOnTheReplica");
        missing(
                "one transaction changes rows at a time, and nobody waits for a row",
                "AbortsTck.abortOfATransactionThatWaitsForALock");
        missing(
                "now and then H2 closes the database in the midst of it; why is not known yet",
                "SchemaChangesTck.everyKindOfSchemaChangeUnderLoad");
        missing("no CERTIFICATION_KEYS", "GeneratedKeysTck.leasedValuesAreTakenAndGeneratorsGoOnWhereTheyAreSettled");
        missing("no CERTIFICATION_KEYS", TckTable.casesOf(CertificationKeysTck.class));
    }

    private static void missing(String reason, String... cases) {
        Stream.of(cases).forEach(name -> MISSING.put(name, reason));
    }

    @Override
    public DatabaseBinding binding() {
        return new H2Binding();
    }

    @Override
    public List<String> modules() {
        return List.of("bindings/h2", "bindings/triggers");
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

    /** What a killed process leaves is what is in its file: a copy of it, made while nothing is going on. */
    @Override
    public ReflectedDatabase kill(
            ReflectedDatabase running, DatabaseConfiguration configuration, TransactionListener listener) {
        Path file = Path.of(configuration.location(), "database.mv.db");
        Path left = file.resolveSibling(file.getFileName() + ".left");
        try {
            Files.copy(file, left);
            running.close();
            Files.move(left, file, StandardCopyOption.REPLACE_EXISTING);
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
                new Type("BIGINT", List.of("9223372036854775807", "-9223372036854775808", "0"), true),
                new Type("REAL", casts("REAL", "3.402E+38", "-3.402E+38", "1.18E-37", "0.1E0"), true),
                new Type("DOUBLE PRECISION", List.of("1.79769E+308", "-1.79769E+308", "2.226E-307", "0.1E0"), true),
                new Type("FLOAT(23)", casts("REAL", "16777217E0", "-1E0"), true),
                new Type("DECIMAL(31, 0)", List.of(nines, "-" + nines, "0"), true),
                new Type("DECIMAL(31, 31)", List.of("." + nines, "-." + nines, "." + "0".repeat(30) + "1"), true),
                new Type("NUMERIC(5, 2)", List.of("999.99", "-999.99", "0.10", "1.00"), true),
                new Type("CHAR(5)", List.of("'abcde'", "'a'", "'ä€日'", "''", "'a''b'"), true),
                new Type("VARCHAR(100)", List.of("'x'", "' x'", "'a''b'", "'ä€日本𝄞'", "''"), true),
                new Type("VARCHAR(100000)", List.of("'" + "v".repeat(60_000) + "'", "' '", "'v  '"), false),
                new Type("VARCHAR_IGNORECASE(20)", List.of("'Ab'", "'C'"), true),
                new Type("CLOB(1M)", casts("CLOB(1M)", "'text ä€'", "''", "'" + "c".repeat(30_000) + "'"), false),
                new Type("BINARY(3)", List.of("X'00FF7F'", "X'202020'", "X'000000'"), true),
                new Type("VARBINARY(10)", List.of("X'00'", "X'FFEE'", "X'2000'"), true),
                new Type("VARBINARY(50000)", List.of("X'00'", "X'" + "2A".repeat(40_000) + "'"), false),
                new Type("BLOB(1M)", casts("BLOB(1M)", "X'00FF'", "X''", "X'" + "00".repeat(4_000) + "'"), false),
                new Type(
                        "DATE",
                        List.of("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'", "DATE '-0044-03-15'"),
                        true),
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
    public String procedure(Procedure procedure) {
        throw new UnsupportedOperationException("aliases are refused");
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
