package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.SplittableRandom;

/** The client reads, computes, and writes what it has computed. Thread-safe. */
public final class ReadWrite extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "read-write",
            "Reads rows, and updates one with what was computed from them, several times in a transaction.",
            with(
                    Tables.parameters(1, 1_000, 10),
                    Parameter.number("operations", 4, 1, 1_000, "How often a transaction does so."),
                    Parameter.number("select-rows", 20, 1, 100_000, "Read each time; at most datarows."),
                    Parameter.word("autocommit", "no", List.of("yes", "no"), "Whether to commit each time.")),
            ReadWrite::new);

    private final Tables tables;
    private final int operations;
    private final int selected;
    private final boolean autoCommit;

    private ReadWrite(Parameters values) {
        this(new Tables("read_write", values), values);
    }

    private ReadWrite(Tables tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.operations = values.number("operations");
        this.selected = tables.selected(values);
        this.autoCommit = values.text("autocommit").equals("yes");
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        SplittableRandom random = choices.random();
        String table = tables.any(random);
        for (int i = 0; i < operations; i++) {
            long computed = spread(connection, table, tables.first(random, selected));
            Tables.add(connection, table, random.nextInt(tables.rows()), computed, computed);
            if (autoCommit) {
                connection.commit();
            }
        }
        connection.commit();
    }

    /** Between the least and the largest number of some rows, and 1. */
    private long spread(Connection connection, String table, int first) throws SQLException {
        long least = Long.MAX_VALUE;
        long largest = Long.MIN_VALUE;
        try (PreparedStatement select =
                connection.prepareStatement("SELECT num FROM " + table + " WHERE id >= ? AND id < ?")) {
            select.setInt(1, first);
            select.setInt(2, first + selected);
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    least = Math.min(least, row.getLong(1));
                    largest = Math.max(largest, row.getLong(1));
                }
            }
        }
        return 1 + (largest - least) % 1_000;
    }
}
