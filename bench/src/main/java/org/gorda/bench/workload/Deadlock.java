package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Updates rows in no order, so that transactions wait for each other in circles: what a database does about it, and how long it takes.
 * Thread-safe.
 */
public final class Deadlock extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "deadlock",
            "Updates several rows in a random order, which deadlocks.",
            with(
                    Tables.parameters(1, 20, 10),
                    Parameter.number("operations", 4, 1, 1_000, "Rows that a transaction updates; at most datarows."),
                    Parameter.number("delay-millis", 0, 0, 60_000, "How long it waits after each.")),
            Deadlock::new);

    private final Tables tables;
    private final int operations;
    private final int delayMillis;

    private Deadlock(Parameters values) {
        this(new Tables("deadlock", values), values);
    }

    private Deadlock(Tables tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        this.operations = tables.atMostAllRows(values, "operations");
        this.delayMillis = values.number("delay-millis");
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        SplittableRandom random = choices.random();
        String table = tables.any(random);
        long[] moved = Tables.sumZero(random, operations);
        int i = 0;
        for (int id : ids(random)) {
            Tables.add(connection, table, id, moved[i++] + 1, 1);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(delayMillis));
        }
        connection.commit();
    }

    /** Different ones, in no order. */
    private int[] ids(SplittableRandom random) {
        return random.ints(0, tables.rows()).distinct().limit(operations).toArray();
    }
}
