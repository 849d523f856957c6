package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** Updates a row with what a large query inside of the statement finds: little is written, much is read for it. Thread-safe. */
public final class WriteComplex extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "write-complex",
            "Updates one row with the result of a sub-select over select-rows x select-rows pairs.",
            with(
                    Tables.parameters(1, 200, 10),
                    Parameter.number("select-rows", 20, 1, 100_000, "Of which pairs are made; at most datarows.")),
            WriteComplex::new);

    private final Tables tables;
    private final int selected;

    private WriteComplex(Parameters values) {
        this(new Tables("write_complex", values), values);
    }

    private WriteComplex(Tables tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.selected = tables.selected(values);
    }

    /** The query counts pairs, and so the row must get as many as are noted in its changes. */
    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        String table = tables.any(choices.random());
        int first = tables.first(choices.random(), selected);
        int id = choices.random().nextInt(tables.rows());
        // A query within the query, for databases that do not let one read the table that is updated.
        try (PreparedStatement update = connection.prepareStatement("UPDATE " + table
                + " SET num = num + (SELECT pairs FROM (SELECT COUNT(*) AS pairs FROM " + table + " a CROSS JOIN "
                + table + " b WHERE a.id >= ? AND a.id < ? AND b.id >= ? AND b.id < ?) counted),"
                + " changes = changes + ? WHERE id = ?")) {
            update.setInt(1, first);
            update.setInt(2, first + selected);
            update.setInt(3, first);
            update.setInt(4, first + selected);
            update.setLong(5, (long) selected * selected);
            update.setInt(6, id);
            Tables.requireOne(update.executeUpdate(), table, id);
        }
        connection.commit();
    }
}
