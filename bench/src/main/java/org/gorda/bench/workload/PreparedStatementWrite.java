package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** Inserts several rows in a transaction with a prepared statement. Thread-safe. */
public final class PreparedStatementWrite extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "prepared-statement-write",
            "Inserts several rows in a transaction, with a prepared statement.",
            with(Inserts.parameters(100, Datatype.words()), Inserts.WRITES, Inserts.BATCH_TYPE),
            PreparedStatementWrite::new);

    private final Inserts tables;
    private final int writes;
    private final String batchType;

    private PreparedStatementWrite(Parameters values) {
        this(new Inserts("prepared_write", values), values);
    }

    private PreparedStatementWrite(Inserts tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.writes = values.number(Inserts.WRITES.name());
        this.batchType = values.text(Inserts.BATCH_TYPE.name());
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        boolean together = batchType.equals("statement");
        String text = Inserts.prepared(tables.any(choices.random()), together ? writes : 1);
        try (PreparedStatement insert = connection.prepareStatement(text)) {
            for (int i = 0; i < writes; i++) {
                tables.set(insert, together ? i : 0, choices, i, writes);
                if (batchType.equals("jdbc")) {
                    insert.addBatch();
                } else if (!together) {
                    insert.executeUpdate();
                }
            }
            if (together) {
                insert.executeUpdate();
            } else if (batchType.equals("jdbc")) {
                insert.executeBatch();
            }
        }
        connection.commit();
    }
}
