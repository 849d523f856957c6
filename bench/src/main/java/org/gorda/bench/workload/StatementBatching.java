package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** Inserts several rows in a transaction with statements that were not prepared. Thread-safe. */
public final class StatementBatching extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "statement-batching",
            "Inserts several rows in a transaction, with complete statements.",
            with(
                    Inserts.parameters(100, List.of(Datatype.VARCHAR.word(), Datatype.TEXT.word())),
                    Inserts.WRITES,
                    Inserts.BATCH_TYPE),
            StatementBatching::new);

    private final Inserts tables;
    private final int writes;
    private final String batchType;

    private StatementBatching(Parameters values) {
        this(new Inserts("statement_batching", values), values);
    }

    private StatementBatching(Inserts tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.writes = values.number(Inserts.WRITES.name());
        this.batchType = values.text(Inserts.BATCH_TYPE.name());
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        String table = tables.any(choices.random());
        try (Statement statement = connection.createStatement()) {
            switch (batchType) {
                case "statement" -> statement.executeUpdate(tables.literal(table, choices, 0, writes, writes));
                case "jdbc" -> {
                    for (int i = 0; i < writes; i++) {
                        statement.addBatch(tables.literal(table, choices, i, 1, writes));
                    }
                    statement.executeBatch();
                }
                default -> {
                    for (int i = 0; i < writes; i++) {
                        statement.executeUpdate(tables.literal(table, choices, i, 1, writes));
                    }
                }
            }
        }
        connection.commit();
    }
}
