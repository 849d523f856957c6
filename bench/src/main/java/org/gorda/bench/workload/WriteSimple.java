package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** Inserts a row and commits: what a write costs that nobody is in the way of. Thread-safe. */
public final class WriteSimple extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "write-simple",
            "Inserts one row and commits; never conflicts.",
            Inserts.parameters(100, Datatype.words()),
            WriteSimple::new);

    private final Inserts tables;

    private WriteSimple(Parameters values) {
        this(new Inserts("write_simple", values));
    }

    private WriteSimple(Inserts tables) {
        super(KIND, tables);
        this.tables = tables;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement(Inserts.prepared(tables.any(choices.random()), 1))) {
            tables.set(insert, 0, choices, 0, 1);
            insert.executeUpdate();
        }
        connection.commit();
    }
}
