package org.gorda.bindings.triggers.tck;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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

/** A database behind triggers, in the replica's own process, as the suites see it. Thread-safe. */
public abstract class TriggeredUnderTest implements TckBinding {

    private final DatabaseBinding binding;
    private final String database;
    private final Map<String, String> catalogue = new LinkedHashMap<>();
    private final Map<String, String> missing = new LinkedHashMap<>();

    /** @param database as messages call it */
    protected TriggeredUnderTest(DatabaseBinding binding, String database) {
        this.binding = binding;
        this.database = database;
        missing(
                database + " commits schema changes at once",
                "AbortsTck.tablesAreListedForTheApplierWithoutWaitingForOnesThatAreNotCommitted",
                "ApplyTck.applierWinsAgainstTableLocksAndSchemaChanges",
                "SchemaChangesTck.schemaChangeThatIsRolledBackIsNotReplicated",
                "TransactionsTck.savepointsInSqlOverSchemaChangesAndReleased");
        missing(
                database + " has no deferrable constraints",
                "ConstraintsTck.constraintViolatedAtTheCommitIsNotSent",
                "ConstraintsTck.deferrablePrimaryKeyIsRefusedOrReplicated",
                "ConstraintsTck.deferredConstraintsMayBeViolatedUntilTheCommit",
                "ConstraintsTck.deferredUniqueKeysMayMeetUntilTheCommit");
        missing(
                "what each replica would compute for itself is refused",
                "SchemaChangesTck.columnsAddedToRowsThatAreThere");
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
        missing("no CERTIFICATION_KEYS", "GeneratedKeysTck.leasedValuesAreTakenAndGeneratorsGoOnWhereTheyAreSettled");
        missing("no CERTIFICATION_KEYS", TckTable.casesOf(CertificationKeysTck.class));
    }

    /** Has cases not be run, as {@link #missing()} says. */
    protected final void missing(String reason, String... cases) {
        Stream.of(cases).forEach(name -> missing.put(name, reason));
    }

    /** Has a query of INFORMATION_SCHEMA tell what clients have made of that kind. */
    protected final void catalogue(String kind, String query) {
        catalogue.put(kind, query);
    }

    /** As messages call it. */
    final String database() {
        return database;
    }

    /** As it calls itself. */
    protected abstract String product();

    /** The types of columns for texts and for bytes whose lengths need no limit. */
    protected abstract String text();

    protected abstract String bytes();

    /** What stands after FROM for a table of all numbers from the first to the last, whose column is X. */
    protected abstract String numbers(int first, int last);

    /** A connection that knows nothing of replication. */
    protected abstract Connection past(DatabaseConfiguration configuration) throws SQLException;

    /** The names of the files that a killed process leaves of it. */
    protected abstract List<String> files();

    /** The types of columns that not all of them have, or whose values not all write so. */
    protected abstract Stream<Type> ownTypes();

    @Override
    public final DatabaseBinding binding() {
        return binding;
    }

    @Override
    public final List<String> modules() {
        return List.of("bindings/" + binding.name(), "bindings/triggers");
    }

    @Override
    public final Map<String, String> missing() {
        return missing;
    }

    /** It is made when it is opened. */
    @Override
    public final void create(DatabaseConfiguration configuration, boolean privileges) {}

    /** What a killed process leaves is what is in its files: a copy of them, made while nothing is going on. Tests of crashes kill for real. */
    @Override
    public final ReflectedDatabase kill(
            ReflectedDatabase running, DatabaseConfiguration configuration, TransactionListener listener) {
        Path directory = Path.of(configuration.location());
        Path left = directory.resolveSibling(directory.getFileName() + ".left");
        try {
            Files.createDirectory(left);
            for (String file : files()) {
                if (Files.exists(directory.resolve(file))) {
                    Files.copy(directory.resolve(file), left.resolve(file));
                }
            }
            running.close();
            binding.drop(configuration);
            Files.move(left, directory, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return binding.open(configuration, listener);
    }

    @Override
    public final String binaryColumns() {
        return "BI3 BINARY(3), BIV VARBINARY(100)";
    }

    /** Statements that make tables parent and child, with 100 rows in the former, and delete the first ten of them, with what refers to them. */
    protected List<String> family() {
        return List.of(
                "CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR(40), body " + text() + ", picture " + bytes()
                        + ", since TIMESTAMP(9), amount NUMERIC(20, 4))",
                "CREATE TABLE child (parent INTEGER REFERENCES parent ON DELETE CASCADE, no INTEGER GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (parent, no))",
                "INSERT INTO parent SELECT x, 'name ' || CAST(x AS VARCHAR(10)), REPEAT('body', x * 100), X'00ff', TIMESTAMP '2024-02-29 12:00:00.123456789', x / 4.0 FROM "
                        + numbers(1, 100),
                "INSERT INTO child (parent) SELECT x - x / 50 * 50 + 1 FROM " + numbers(1, 200),
                "DELETE FROM parent WHERE id <= 10");
    }

    @Override
    public List<Type> types() {
        String nines = "9".repeat(31);
        Stream<Type> common = Stream.of(
                new Type("BOOLEAN", List.of("TRUE", "FALSE"), true),
                new Type("TINYINT", List.of("127", "-128", "0"), true),
                new Type("SMALLINT", List.of("32767", "-32768", "0"), true),
                new Type("INTEGER", List.of("2147483647", "-2147483648", "0"), true),
                new Type("DOUBLE PRECISION", List.of("1.79769E+308", "-1.79769E+308", "2.226E-307", "0.1E0"), true),
                new Type("DECIMAL(31, 0)", List.of(nines, "-" + nines, "0"), true),
                new Type("DECIMAL(31, 31)", List.of("." + nines, "-." + nines, "." + "0".repeat(30) + "1"), true),
                new Type("NUMERIC(5, 2)", List.of("999.99", "-999.99", "0.10", "1.00"), true),
                new Type("CHAR(5)", List.of("'abcde'", "'a'", "'ä€日'", "''", "'a''b'"), true),
                new Type("VARCHAR(100)", List.of("'x'", "' x'", "'a''b'", "'ä€日本𝄞'", "''"), true),
                new Type("VARCHAR(100000)", List.of("'" + "v".repeat(60_000) + "'", "' '", "'v  '"), false),
                new Type("VARCHAR_IGNORECASE(20)", List.of("'Ab'", "'C'"), true),
                new Type("BINARY(3)", List.of("X'00FF7F'", "X'202020'", "X'000000'"), true),
                new Type("VARBINARY(10)", List.of("X'00'", "X'FFEE'", "X'2000'"), true),
                new Type("VARBINARY(50000)", List.of("X'00'", "X'" + "2A".repeat(40_000) + "'"), false),
                new Type("TIME(9)", List.of("TIME '00:00:00'", "TIME '23:59:59.999999999'", "TIME '12:30:01'"), true),
                new Type(
                        "TIMESTAMP(9)",
                        List.of(
                                "TIMESTAMP '0001-01-01 00:00:00'",
                                "TIMESTAMP '9999-12-31 23:59:59.999999999'",
                                "TIMESTAMP '2016-03-27 02:30:00.000000001'"),
                        true));
        return Stream.concat(common, ownTypes()).toList();
    }

    @Override
    public final String procedure(Procedure procedure) {
        throw new UnsupportedOperationException("routines are refused");
    }

    @Override
    public final @Nullable String damage(Connection connection, TableShape table) {
        return null;
    }

    @Override
    public List<String> catalogue(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SCHEMA INFORMATION_SCHEMA");
        }
        return TckBinding.catalogue(connection, catalogue);
    }
}
