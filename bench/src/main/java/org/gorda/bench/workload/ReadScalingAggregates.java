package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Sums up over pairs of rows and returns one: what the processor can do. Thread-safe. */
public final class ReadScalingAggregates extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "read-scaling-aggregates",
            "Sums up over all pairs of some rows of a table: select-rows x select-rows.",
            with(
                    Tables.parameters(1, 200, 10),
                    Parameter.number("select-rows", 50, 1, 100_000, "Of which pairs are made; at most datarows.")),
            ReadScalingAggregates::new);

    private final Tables tables;
    private final int selected;

    private ReadScalingAggregates(Parameters values) {
        this(new Tables("read_aggregates", values), values);
    }

    private ReadScalingAggregates(Tables tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.selected = tables.selected(values);
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        String table = tables.any(choices.random());
        int first = tables.first(choices.random(), selected);
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT COUNT(*), SUM(a.num + b.num), MIN(a.num - b.num), MAX(a.num * b.num) FROM " + table
                        + " a CROSS JOIN " + table + " b WHERE a.id >= ? AND a.id < ? AND b.id >= ? AND b.id < ?")) {
            select.setInt(1, first);
            select.setInt(2, first + selected);
            select.setInt(3, first);
            select.setInt(4, first + selected);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                long expected = (long) selected * selected * (2L * first + selected - 1);
                if (row.getLong(2) != expected) {
                    throw new BenchException("pairs of " + selected + " rows from " + first + " of " + table
                            + " have the sum " + row.getLong(2) + " but should have " + expected);
                }
            }
        }
        connection.commit();
    }
}
