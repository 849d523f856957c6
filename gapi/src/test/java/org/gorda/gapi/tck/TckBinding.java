package org.gorda.gapi.tck;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;
import org.jspecify.annotations.Nullable;

/** A binding as the suites see it, with what its database spells in a way of its own. Thread-safe. */
public interface TckBinding {

    DatabaseBinding binding();

    /** The modules that it is made of, its own first. */
    default List<String> modules() {
        return List.of("bindings/" + binding().name());
    }

    /** A configuration for a database in the directory; the same name gives the same database. */
    default DatabaseConfiguration configuration(Path directory, String name) {
        return new DatabaseConfiguration(
                directory.resolve(name).toString(),
                Map.of(),
                Duration.ofMillis(200),
                64 << 20,
                directory.resolve(name + ".spool"));
    }

    /** The process is killed and started again: what is not on disk is lost. */
    ReflectedDatabase kill(
            ReflectedDatabase running, DatabaseConfiguration configuration, TransactionListener listener);

    /**
     * Makes a database with nothing in it.
     *
     * @param privileges whether users other than its owner need privileges there
     */
    void create(DatabaseConfiguration configuration, boolean privileges) throws SQLException;

    /** Two columns, BI3 of fixed length 3 and BIV of variable length up to 100, for bytes. */
    String binaryColumns();

    /** All types of columns. */
    List<Type> types();

    /** A statement that adds the rows of a file of comma-separated values to a table, or puts them in place of its rows. */
    String importing(String table, Path file, boolean replaces);

    /** A statement that makes a procedure of that name with one parameter, an INTEGER. */
    String procedure(Procedure procedure);

    /** Pairs of statements of kinds that nearly all databases have: one that makes something, and one that drops it again. */
    default List<List<String>> standardSchemaChanges() {
        return List.of(
                List.of("ALTER TABLE T ADD CONSTRAINT C CHECK (A > -100)", "ALTER TABLE T DROP CONSTRAINT C"),
                List.of("CREATE SCHEMA SC", "DROP SCHEMA SC RESTRICT"),
                List.of("TRUNCATE TABLE W"));
    }

    /** Pairs of statements of kinds that other databases do not have: one that makes something, and one that drops it again. */
    List<List<String>> ownSchemaChanges();

    /** What generates the values of a table's identity column, which is called ID. */
    default Generator identityColumn(TableShape table) {
        return new Generator(true, table.schema(), table.name());
    }

    /** A sequence whose name is written without quotes. */
    default Generator sequence(String schema, String name) {
        return new Generator(false, schema, name);
    }

    /** Statements that are refused with 0A000, because what they change is not replicated; by the database's administrator. */
    List<String> refused();

    /**
     * All that clients have made in the database, but for rows: one line for each thing, with its owner and all that must be the
     * same on all replicas. The line of a constraint begins with {@code constraint}, its name and a blank.
     */
    List<String> catalogue(Connection connection) throws SQLException;

    /** The lines of a catalogue of which queries, by the kind that a line begins with, tell all. */
    static List<String> catalogue(Connection connection, Map<String, String> queries) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            for (Map.Entry<String, String> query : queries.entrySet()) {
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

    /**
     * SQLSTATEs by which the database itself, without a binding, now and then ends a statement that meets a schema change, besides
     * those of class 40. The transaction can be run again.
     */
    Set<String> statesBesideSchemaChanges();

    /** The SQLSTATE by which the database itself tells that a generator has no values left. */
    default String stateOfGeneratorUsedUp() {
        return "2200H";
    }

    /** As {@link org.gorda.gapi.Applier#damage}, of a table that nobody writes to. */
    @Nullable
    String damage(Connection connection, TableShape table) throws SQLException;

    /**
     * Cases that are not run, each with the reason, for people: {@code AbortsTck.abortOfASuspendedCommit}. What they are about, the binding refuses,
     * or its database does not have, or says in a way of its own. The table in the documentation has the reason instead of a result.
     */
    default Map<String, String> missing() {
        return Map.of();
    }

    /**
     * A type of column.
     *
     * @param declaration as a column is declared with it
     * @param values expressions, the extremes among them; not NULL
     * @param isKey whether it may be a key's
     */
    record Type(String declaration, List<String> values, boolean isKey) {}

    /** What the procedures do, with N as their parameter, in table {@code T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)}. */
    enum Procedure {
        /** Inserts N. */
        INSERT_ROW,
        /** Inserts N, commits, inserts N + 1. */
        INSERT_AND_COMMIT,
        /** Inserts N, rolls back, inserts N + 1. */
        INSERT_AND_ROLL_BACK,
        /** Inserts N, sets a savepoint, inserts N + 1, goes back to the savepoint, inserts N + 2. */
        INSERT_AROUND_SAVEPOINT,
        /** Creates table MADE with a column ID as primary key and inserts N there. */
        MAKE_TABLE
    }
}
