package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * Reads rows that are neighbours in an index and far from each other in the table, so that each is on a page of its own: what the
 * buffer cache can do. Thread-safe.
 */
public final class ReadScalingInvertedKeys extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "read-scaling-inverted-keys",
            "Reads rows through an index whose order is not that of the table's pages.",
            with(
                    Tables.parameters(1, 10_000, 100),
                    Parameter.number("select-rows", 100, 1, 1_000_000, "How many are read; at most datarows."),
                    Parameter.number(
                            "step",
                            100,
                            1,
                            1_000_000,
                            "How many rows of the table lie between neighbours in the index; at most datarows.")),
            ReadScalingInvertedKeys::new);

    private final Tables tables;
    private final int selected;

    private ReadScalingInvertedKeys(Parameters values) {
        this(
                new Tables(
                        "read_inverted" + values.number("step"),
                        values.number("tables"),
                        values.number("datarows"),
                        Datatype.of(values),
                        values.number("datawidth"),
                        id -> inverted(id, values.number("datarows"), values.number("step")),
                        true),
                values);
    }

    private ReadScalingInvertedKeys(Tables tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.selected = tables.selected(values);
        tables.atMostAllRows(values, "step");
    }

    /** The rows are written down in lines of so many, and counted by columns: neighbours by this number are a line apart. */
    static long inverted(long id, int rows, int step) {
        long column = id % step;
        long line = id / step;
        long full = rows / step;
        long longer = Math.min(column, rows % step);
        return column * full + longer + line;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        String table = tables.any(choices.random());
        int first = tables.first(choices.random(), selected);
        // What is not in the index, so that the rows themselves are read.
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT COUNT(*), SUM(changes) FROM " + table + " WHERE num >= ? AND num < ?")) {
            select.setLong(1, first);
            select.setLong(2, first + (long) selected);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                if (row.getLong(1) != selected || row.getLong(2) != 0) {
                    throw new BenchException(
                            row.getLong(1) + " rows of " + selected + " from " + first + " in the index of " + table);
                }
            }
        }
        connection.commit();
    }
}
