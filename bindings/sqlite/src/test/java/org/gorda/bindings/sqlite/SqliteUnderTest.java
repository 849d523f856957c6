package org.gorda.bindings.sqlite;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.tck.LargeObjectsTck;
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;

/** SQLite as the suites see it. Thread-safe. */
final class SqliteUnderTest extends TriggeredUnderTest {

    SqliteUnderTest() {
        super(new SqliteBinding(), "SQLite");
        missing(
                "SQLite has triggers, but writes them otherwise (see SqliteOwnTest)",
                "RowChangesTck.triggerEffectsAreAppliedOnce",
                "RowChangesTck.triggersBeforeAfterAndUponOthers",
                "TransactionsTck.statementThatATriggerFailsIsTakenBackWithAllItsEffects");
        missing(
                "SQLite has no routines",
                "TransactionsTck.procedureThatCommitsInside",
                "TransactionsTck.proceduresThatRollBackUseSavepointsAndChangeTheSchema",
                "TransactionsTck.refusedCommitWithinAProcedure",
                "TransactionsTck.triggersThatCallProcedures");
        missing(
                "SQLite's readers see versions, and wait for nobody; all writers wait for one another",
                "AbortsTck.abortOfATransactionThatWaitsToRead",
                "ApplyTck.applierWinsAgainstReadersAfterTheirGraceTime",
                "ApplyTck.schemaChangesWinAgainstLocalTransactions",
                "ApplyTck.schemaChangesWhoseTurnItIsWinWhereTheyAreMade");
        missing(
                "SQLite has no MERGE",
                "RowChangesTck.mergeBothWays",
                "RowChangesTck.mergeThatInsertsUpdatesAndDeletesAtOnce");
        missing(
                "SQLite has no import in statements, and its driver only cursors that are read once, until the commit",
                "RowChangesTck.bulkImportIntoEmptyAndIntoFilledTables",
                "RowChangesTck.bulkImportThatReplacesAllRows",
                "RowChangesTck.scrollableUpdatableResultSetsAndPositionedStatements",
                "RowChangesTck.updatableResultSets",
                "TransactionsTck.cursorsHeldOverCommitsGoOn");
        missing(
                "SQLite compares unique keys row by row, and lets them not change places in a statement (see SqliteOwnTest)",
                "ConstraintsTck.uniqueKeysChangePlacesInOneStatementAndInSeveral",
                "ConstraintsTck.keysThatCollideInPassing",
                "RowChangesTck.rowsChangedAgainAfterTheirUniquelyIndexedColumns");
        missing(
                "SQLite's texts and bytes are of any length, and what is large has no type of its own",
                "ApplyTck.rolledBackApplyLeavesNothingAndCanBeRepeated",
                "SnapshotsTck.snapshotUnderLoadAndWhatFollowsItsPositionAreTheDatabase",
                "TransactionsTck.transactionBeyondTheLimitIsRefusedAndNothingIsLost",
                "ValuesTck.largeObjectsFromStreams",
                "ValuesTck.largeObjectsThroughLocatorsAndUpdatableRows",
                "ValuesTck.valuesOfAllTypesWithTheirExtremes");
        missing(
                "SQLite's texts and bytes are of any length, and what is large has no type of its own",
                TckTable.casesOf(LargeObjectsTck.class));
        missing(
                "SQLite has no schemas, no sequences and no identity columns, but AUTOINCREMENT (see SqliteOwnTest)",
                "ApplyTck.restartUnderALivingReplicatorAmongSchemaChangesAndKeys",
                "GeneratedKeysTck.identityAndSequenceValuesAreNotGivenTwiceAfterTakingOver",
                "GeneratedKeysTck.keysAreReturnedToTheClient",
                "GeneratedKeysTck.rolesChangeThereAndBackAndNoKeyIsGivenTwice",
                "GeneratedKeysTck.sequencesThatCycleEndOrGoDownAreTakenOver",
                "GeneratedKeysTck.valuesGivenByClientsAndRestartsAreKept",
                "GeneratedKeysTck.valuesTakenWithoutAnyRowAreNotGivenAgain",
                "GeneratedKeysTck.whatIsUsedUpIsNotGivenAgainAndWhatIsLeftIs",
                "RowChangesTck.quotedNamesSchemasAndCase",
                "SchemaChangesTck.severalSchemasWithTablesOfTheSameName",
                "SchemaChangesTck.statementPreparedInAnotherSchemaMeansTheSameEverywhere",
                "SnapshotsTck.frozenRowsAreThoseOfOneMomentWhileTheLoadGoesOn");
        missing(
                "SQLite writes it otherwise, or cannot do it to a table that is there (see SqliteOwnTest)",
                "ApplyTck.tableOfAnotherShapeIsNoticed",
                "SchemaChangesTck.generatedConstraintNamesAreTheSameEverywhere",
                "SchemaChangesTck.renamedTablesColumnsAndIndexesInTheMiddleOfATransaction",
                "SchemaChangesTck.schemaChangesInTheirPlaceAmongRows",
                "SchemaChangesTck.tableMayGetItsPrimaryKeyAfterItsFirstRowsInTheTransactionThatMakesIt",
                "SchemaChangesTck.tableWithoutPrimaryKeyTakesRowsAndRefusesToChangeThemUntilItHasOne");
    }

    @Override
    protected String product() {
        return "SQLite";
    }

    @Override
    protected String text() {
        return "TEXT";
    }

    @Override
    protected String bytes() {
        return "BLOB";
    }

    @Override
    protected String numbers(int first, int last) {
        return "(WITH RECURSIVE N(X) AS (VALUES (" + first + ") UNION ALL SELECT X + 1 FROM N WHERE X < " + last
                + ") SELECT X FROM N)";
    }

    @Override
    protected List<String> family() {
        return List.of(
                "CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR(40), body TEXT, picture BLOB, since DATETIME, amount NUMERIC(20, 4), anything)",
                "CREATE TABLE child (no INTEGER PRIMARY KEY AUTOINCREMENT, parent INTEGER REFERENCES parent ON DELETE CASCADE)",
                "INSERT INTO parent SELECT x, 'name ' || x, printf('%.*c', x * 100, 'b'), X'00ff', CURRENT_TIMESTAMP, x / 4.0,"
                        + " CASE x % 4 WHEN 0 THEN x WHEN 1 THEN x / 3.0 WHEN 2 THEN 'text' ELSE X'ff' END FROM "
                        + numbers(1, 100),
                "INSERT INTO child (parent) SELECT x % 50 + 1 FROM " + numbers(1, 200),
                "DELETE FROM parent WHERE id <= 10");
    }

    @Override
    protected Connection past(DatabaseConfiguration configuration) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + Path.of(configuration.location(), "database.sqlite"));
    }

    @Override
    protected List<String> files() {
        return List.of("database.sqlite", "database.sqlite-wal");
    }

    @Override
    protected Stream<Type> ownTypes() {
        return Stream.of(
                new Type("INTEGER", List.of("9223372036854775807", "-9223372036854775808", "0"), true),
                new Type("TINYINT", List.of("1", "-1"), true),
                new Type("BOOLEAN", List.of("TRUE", "FALSE"), true),
                new Type("REAL", List.of("1.7976931348623157e308", "-4.9e-324", "0.1", "9e999", "3"), true),
                new Type("DOUBLE PRECISION", List.of("1e-300", "12345678901234567890"), true),
                new Type("NUMERIC(10, 2)", List.of("1.5", "2", "'3'", "'no number'", "X'00'"), true),
                new Type("DECIMAL(5, 2)", List.of("'0.10'", "-1e300"), true),
                new Type("TEXT", List.of("'ä€日本𝄞'", "''", "'a''b'", "12", "'" + "v".repeat(60_000) + "'"), true),
                new Type("VARCHAR(3)", List.of("'longer than three'", "char(1, 0, 2)"), true),
                new Type("BLOB", List.of("X''", "X'00FF7F'", "'text'", "1", "1.5", "zeroblob(40000)"), true),
                new Type("DATE", List.of("'2024-02-29'", "1709164800000", "2460369.5"), true),
                new Type("TIMESTAMP", List.of("datetime(1709164800, 'unixepoch')", "'9999-12-31 23:59:59.999'"), true),
                new Type("", List.of("1", "'1'", "1.5", "X'31'"), true));
    }

    @Override
    public List<Type> types() {
        return ownTypes().toList();
    }

    @Override
    public List<String> catalogue(Connection connection) throws SQLException {
        return TckBinding.catalogue(
                connection,
                Map.of(
                        "object",
                        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'GORDA$%'",
                        "version",
                        "PRAGMA user_version"));
    }

    @Override
    public String importing(String table, Path file, boolean replaces) {
        throw new UnsupportedOperationException("there is no import");
    }

    /** It has none of them. */
    @Override
    public List<List<String>> standardSchemaChanges() {
        return List.of();
    }

    @Override
    public List<List<String>> ownSchemaChanges() {
        return List.of(
                List.of("CREATE TABLE R (ID INTEGER PRIMARY KEY)", "ALTER TABLE R RENAME TO RR", "DROP TABLE RR"),
                List.of("ALTER TABLE T ADD COLUMN X TEXT DEFAULT 'x'", "ALTER TABLE T DROP COLUMN X"),
                List.of("CREATE VIEW V AS SELECT ID FROM T", "DROP VIEW V"),
                List.of(
                        "CREATE TRIGGER TR AFTER UPDATE ON T WHEN NEW.A > 1000000 BEGIN DELETE FROM T WHERE ID = NEW.ID; END",
                        "DROP TRIGGER TR"),
                List.of("CREATE UNIQUE INDEX I ON T (ID, A) WHERE A > 0", "DROP INDEX I"),
                List.of("PRAGMA user_version = 7", "PRAGMA user_version = 0"));
    }

    @Override
    public List<String> refused() {
        return List.of(
                "PRAGMA foreign_keys = OFF",
                "PRAGMA journal_mode = DELETE",
                "PRAGMA main.journal_mode(DELETE)",
                "PRAGMA recursive_triggers = OFF",
                "PRAGMA writable_schema = ON",
                "PRAGMA defer_foreign_keys = ON",
                "PRAGMA wal_checkpoint",
                "EXPLAIN PRAGMA journal_mode = DELETE",
                "ATTACH 'other' AS O",
                "VACUUM",
                "BEGIN",
                "backup to there",
                "restore from there",
                "INSERT OR ROLLBACK INTO T VALUES (7)",
                "WITH N(X) AS (VALUES (9)) UPDATE OR ROLLBACK T SET ID = 8",
                "INSERT INTO \"GORDA$POSITION\" VALUES (1, 1, 1, 1)",
                "DELETE FROM 'gorda$position'",
                "UPDATE sqlite_sequence SET seq = 0",
                "WITH replace(x) AS (VALUES (1)) UPDATE \"GORDA$POSITION\" SET IDX = 0",
                "WITH a AS (VALUES (1)), replace AS (VALUES (2)) UPDATE OR IGNORE main.sqlite_sequence SET seq = 0",
                "DROP TABLE \"GORDA$POSITION\"",
                "DROP TRIGGER \"GORDA$INSERT$T\"",
                "CREATE TEMPORARY TABLE TT (ID INTEGER)",
                "CREATE TABLE temp.TT (ID INTEGER)",
                "CREATE VIRTUAL TABLE TT USING fts5(body)",
                "CREATE TABLE TT (ID INTEGER PRIMARY KEY) WITHOUT ROWID",
                "CREATE TABLE TT AS SELECT random() AS R",
                "CREATE TABLE TT (ID INTEGER PRIMARY KEY ON CONFLICT ROLLBACK)",
                "CREATE TABLE TT (ID INTEGER PRIMARY KEY, T INTEGER REFERENCES T DEFERRABLE INITIALLY DEFERRED)",
                "CREATE TRIGGER TR AFTER INSERT ON T BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
                "CREATE TRIGGER TR AFTER INSERT ON T BEGIN INSERT OR REPLACE INTO T VALUES (1); END",
                "CREATE TRIGGER TR AFTER INSERT ON T BEGIN DELETE FROM sqlite_sequence; END",
                "CREATE TRIGGER TR AFTER INSERT ON T WHEN 1) OR (1 BEGIN SELECT 1; END",
                "CREATE TABLE TT (ID INTEGER PRIMARY KEY ON CONFLICT REPLACE)",
                "CREATE \uFEFFTEMP TABLE TT (ID INTEGER PRIMARY KEY)",
                "SELECT * FROM pragma_optimize(65538)",
                "INSERT INTO T VALUES (7); COMMIT");
    }

    @Override
    public Set<String> statesBesideSchemaChanges() {
        return Set.of();
    }
}
