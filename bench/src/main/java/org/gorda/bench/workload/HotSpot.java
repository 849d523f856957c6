package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A small database of which a part is much in use, after the benchmark by which the RAID project measured concurrency control and
 * replication (Bhargava and others, Purdue University). Thread-safe.
 */
public final class HotSpot extends MicroScenario {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "hot-spot",
            "The RAID project's: 6 accesses, more or less, to 100 tuples, 80 % of them to a fifth; 10 % are updates.",
            List.of(
                    Parameter.number("tuples", 100, 1, 1_000_000, "How many there are."),
                    Parameter.percent("hot-tuples", 20, "Of the tuples, those that are much in use."),
                    Parameter.percent("hot-accesses", 80, "Of the accesses, those that go to these."),
                    Parameter.percent("updates", 10, "Of the accesses, those that change the tuple."),
                    Parameter.number("length", 6, 1, 1_000, "How many accesses a transaction has."),
                    Parameter.number("length-spread", 4, 0, 999, "How many more or less; less than length.")),
            HotSpot::new);

    private static final int WIDTH = 100;

    private final Tables tables;
    private final int hot;
    private final int hotAccesses;
    private final int updates;
    private final int length;
    private final int spread;

    private HotSpot(Parameters values) {
        this(new Tables("hot_spot", 1, values.number("tuples"), Datatype.VARCHAR, WIDTH, id -> id, false), values);
    }

    private HotSpot(Tables tables, Parameters values) {
        super(KIND, tables);
        this.tables = tables;
        hot = (int) ((long) tables.rows() * values.number("hot-tuples") / 100);
        hotAccesses = values.number("hot-accesses");
        updates = values.number("updates");
        length = values.number("length");
        spread = values.number("length-spread");
        if (spread >= length) {
            throw new BenchException(
                    "length-spread is " + spread + " but must be 0 to " + (length - 1) + ", less than length");
        }
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        SplittableRandom random = choices.random();
        String table = tables.any(random);
        int accesses = length - spread + random.nextInt(2 * spread + 1);
        int writes = 0;
        for (int i = 0; i < accesses; i++) {
            writes += choices.chance(updates) ? 1 : 0;
        }
        long[] moved = Tables.sumZero(random, writes);
        int written = 0;
        for (int i = 0; i < accesses; i++) {
            int tuple = tuple(choices);
            if (random.nextInt(accesses - i) < writes - written) {
                Tables.add(connection, table, tuple, moved[written++] + 1, 1);
            } else {
                Tables.number(connection, table, tuple);
            }
        }
        connection.commit();
    }

    /** Which one is accessed. */
    int tuple(Choices choices) {
        boolean toHot = hot == tables.rows() || (hot > 0 && choices.chance(hotAccesses));
        return toHot ? choices.random().nextInt(hot) : hot + choices.random().nextInt(tables.rows() - hot);
    }
}
