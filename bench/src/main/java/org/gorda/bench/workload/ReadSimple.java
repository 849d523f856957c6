package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** Reads a small table: what a statement costs. Thread-safe. */
public final class ReadSimple extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND =
            new Kind("read-simple", "Reads all of a small table.", Tables.parameters(1, 10, 10), ReadSimple::new);

    private final Tables tables;

    private ReadSimple(Parameters values) {
        this(new Tables("read_simple", values));
    }

    private ReadSimple(Tables tables) {
        super(KIND, tables);
        this.tables = tables;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        String table = tables.any(choices.random());
        try (Statement statement = connection.createStatement()) {
            long count = tables.fetch(statement, "SELECT id, num, changes, payload FROM " + table, 4);
            if (count != tables.rows()) {
                throw new BenchException(table + " shows " + count + " rows of " + tables.rows());
            }
        }
        connection.commit();
    }
}
