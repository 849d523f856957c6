package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** Reads every pair of rows of a table: what rows cost on their way to the client. Thread-safe. */
public final class ReadSimpleLargeResults extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "read-simple-large-results",
            "Reads all pairs of rows of a table: datarows x datarows.",
            with(
                    Tables.parameters(1, 50, 10),
                    Parameter.number(
                            "fetchsize", 0, 0, 1_000_000, "Rows that the driver gets at once; 0 is its own choice.")),
            ReadSimpleLargeResults::new);

    private final Tables tables;
    private final int fetchSize;

    private ReadSimpleLargeResults(Parameters values) {
        this(new Tables("read_large", values), values.number("fetchsize"));
    }

    private ReadSimpleLargeResults(Tables tables, int fetchSize) {
        super(KIND, tables);
        this.tables = tables;
        this.fetchSize = fetchSize;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        String table = tables.any(choices.random());
        long expected = (long) tables.rows() * tables.rows();
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(fetchSize);
            long count = tables.fetch(
                    statement, "SELECT a.id, b.id, b.payload FROM " + table + " a CROSS JOIN " + table + " b", 3);
            if (count != expected) {
                throw new BenchException(table + " shows " + count + " pairs of rows of " + expected);
            }
        }
        connection.commit();
    }
}
