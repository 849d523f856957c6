package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Several tables that only get rows: each has the name of the transaction that wrote it, which of its rows it is, and of how many.
 * Either all of a transaction's rows are there or none is. Thread-safe.
 */
final class Inserts implements MicroScenario.Content {

    /** How many rows a transaction writes. */
    static final Parameter WRITES =
            Parameter.number("writes-per-xact", 10, 1, 1_000, "How many rows a transaction inserts.");

    /** How they go to the database. */
    static final Parameter BATCH_TYPE = Parameter.word(
            "batch-type",
            "jdbc",
            List.of("statement", "jdbc", "none"),
            "As one statement with many rows, as JDBC's batch, or each alone.");

    private final List<String> names = new ArrayList<>();
    private final Datatype datatype;
    private final int width;
    private final String payload;

    /** @param values of {@link #parameters} */
    Inserts(String prefix, Parameters values) {
        datatype = Datatype.of(values);
        width = values.number("datawidth");
        payload = "x".repeat(width);
        for (int table = 0; table < values.number("tables"); table++) {
            names.add(prefix + "_" + datatype.word() + width + "_" + table);
        }
    }

    /** What can be chosen about them, as Bristlecone calls it. */
    static List<Parameter> parameters(int width, List<String> datatypes) {
        return List.of(
                Parameter.number("tables", 1, 1, 1_000, "How many tables; a transaction writes to one of them."),
                Tables.datatype(datatypes),
                Tables.datawidth(width));
    }

    /** One of them. */
    String any(SplittableRandom random) {
        return names.get(random.nextInt(names.size()));
    }

    @Override
    public void load(Connection connection, Workload.Loading progress) throws SQLException {
        for (String name : names) {
            if (!Queries.exists(connection, name)) {
                Queries.execute(
                        connection,
                        List.of("CREATE TABLE " + name + " (name VARCHAR(22) NOT NULL, element INTEGER NOT NULL,"
                                + " elements INTEGER NOT NULL, payload " + datatype.sql(connection, width)
                                + " NOT NULL, PRIMARY KEY (name, element))"));
            }
        }
    }

    @Override
    public boolean isLoaded(Connection connection) throws SQLException {
        return Queries.exists(connection, names.get(names.size() - 1));
    }

    @Override
    public Workload.Check check(Connection connection) throws SQLException {
        long all = 0;
        for (String name : names) {
            long count = Queries.count(connection, name);
            long expected = Queries.number(connection, "SELECT SUM(elements) FROM " + name + " WHERE element = 0");
            if (count != expected) {
                return new Workload.Check(
                        false, name + " has " + count + " rows, its transactions wrote " + expected + " together");
            }
            all += count;
        }
        return new Workload.Check(true, all + " rows, of each transaction all");
    }

    /** A statement with a place for each value of so many rows. */
    static String prepared(String table, int rows) {
        return "INSERT INTO " + table + " VALUES (?, ?, ?, ?)" + ", (?, ?, ?, ?)".repeat(rows - 1);
    }

    /** A statement that is complete. */
    String literal(String table, Workload.Choices choices, int first, int rows, int elements) {
        StringBuilder text = new StringBuilder("INSERT INTO " + table + " VALUES ");
        for (int i = 0; i < rows; i++) {
            text.append(i == 0 ? "" : ", ")
                    .append("('")
                    .append(choices.name())
                    .append("', ")
                    .append(first + i)
                    .append(", ")
                    .append(elements)
                    .append(", '")
                    .append(payload)
                    .append("')");
        }
        return text.toString();
    }

    /** Sets the values of one row. */
    void set(PreparedStatement insert, int row, Workload.Choices choices, int element, int elements)
            throws SQLException {
        insert.setString(4 * row + 1, choices.name());
        insert.setInt(4 * row + 2, element);
        insert.setInt(4 * row + 3, elements);
        datatype.set(insert, 4 * row + 4, payload);
    }
}
