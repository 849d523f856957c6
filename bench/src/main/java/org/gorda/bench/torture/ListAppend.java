package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.gorda.bench.torture.ListTransaction.Append;
import org.gorda.bench.torture.ListTransaction.Read;
import org.gorda.bench.torture.ListTransaction.Step;

/**
 * Transactions that append to lists and read them, which shows the order in which a database has executed what wrote to a list
 * (Kingsbury and Alvaro, Elle, VLDB 2020). Each value is appended once, and a list is left alone when it has its length. Thread-safe.
 */
final class ListAppend implements Workload {

    private static final int LISTS = 12;
    private static final int APPENDS_PER_LIST = 60;
    private static final int STEPS_MAX = 4;
    private static final int HOT_LISTS = 3;

    private final Function<SplittableRandom, Isolation> isolation;
    private final Promise promise;
    private final AtomicInteger lastValue = new AtomicInteger();
    private final AtomicInteger lastKey;
    private final int[] keys = new int[LISTS];
    private final int[] appends = new int[LISTS];

    /** @param isolation draws a transaction's level */
    ListAppend(Function<SplittableRandom, Isolation> isolation, Promise promise) {
        this(isolation, promise, 0);
    }

    /** @param lastKey of the lists that there may be already */
    ListAppend(Function<SplittableRandom, Isolation> isolation, Promise promise, int lastKey) {
        this.isolation = isolation;
        this.promise = promise;
        this.lastKey = new AtomicInteger(lastKey);
        for (int i = 0; i < LISTS; i++) {
            keys[i] = this.lastKey.incrementAndGet();
        }
    }

    @Override
    public String name() {
        return "list-append";
    }

    @Override
    public List<String> schema() {
        return List.of(
                "CREATE TABLE LISTS (ID INTEGER NOT NULL PRIMARY KEY, ALSO_ID INTEGER NOT NULL, ELEMENTS VARCHAR(8000) NOT NULL)",
                "CREATE INDEX LISTS_ALSO_ID ON LISTS (ALSO_ID)");
    }

    @Override
    public Operation next(SplittableRandom random) {
        boolean reads = random.nextInt(4) == 0;
        List<Step> steps = new ArrayList<>();
        int count = 1 + random.nextInt(STEPS_MAX);
        for (int i = 0; i < count; i++) {
            steps.add(reads || random.nextBoolean() ? read(random) : append(random));
        }
        if (random.nextInt(4) > 0) {
            // In the same order as others, as applications do to have few deadlocks.
            steps.sort(Comparator.comparingInt(step -> step.key));
        }
        return new ListTransaction(isolation.apply(random), reads && random.nextBoolean(), steps);
    }

    private Step read(SplittableRandom random) {
        synchronized (keys) {
            return new Read(keys[slot(random)], random.nextInt(10) == 0);
        }
    }

    private Step append(SplittableRandom random) {
        synchronized (keys) {
            int slot = slot(random);
            Step step = new Append(keys[slot], lastValue.incrementAndGet());
            if (++appends[slot] == APPENDS_PER_LIST) {
                keys[slot] = lastKey.incrementAndGet();
                appends[slot] = 0;
            }
            return step;
        }
    }

    /** Half of all is with the first few. */
    private static int slot(SplittableRandom random) {
        return random.nextInt(random.nextBoolean() ? HOT_LISTS : LISTS);
    }

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        new ListChecker(history, lists(replica), promise, findings).check();
    }

    @Override
    public void checkState(Connection replica, Findings findings) throws SQLException {
        lists(replica).forEach((key, elements) -> {
            if (IntStream.of(elements).distinct().count() != elements.length) {
                findings.add(Findings.DUPLICATED, "list " + key + " has a value more than once");
            }
        });
    }

    /** What a replica holds, by key. */
    static Map<Integer, int[]> lists(Connection replica) throws SQLException {
        Map<Integer, int[]> lists = new HashMap<>();
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID, ELEMENTS FROM LISTS")) {
            while (rows.next()) {
                lists.put(rows.getInt(1), ListTransaction.elements(rows.getString(2)));
            }
        }
        return lists;
    }
}
