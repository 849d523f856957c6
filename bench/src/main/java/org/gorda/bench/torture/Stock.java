package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Items on shelves, which statements of many kinds change: by ranges and by what they ask of their own table, by MERGE, batches and cursors,
 * with keys that move, cascades, and failures in their midst. Triggers note each change: what they noted sums up to what is there. Each transaction
 * leaves its mark, is there as a whole or not at all, and as its client was told. Thread-safe.
 */
final class Stock implements Workload {

    private static final int SHELVES = 6;
    private static final int ITEMS = 60;
    private static final int QUANTITY_FIRST = 5;
    private static final int STEPS_MAX = 3;
    private static final int BATCH = 4;

    /** The class of SQLSTATEs of constraints. */
    private static final String CONSTRAINT = "23";

    private static final String PLUS_ONE = "UPDATE ITEMS SET QUANTITY = QUANTITY + 1 WHERE ";

    private final Dialect dialect;
    private final Function<SplittableRandom, Isolation> isolation;
    private final AtomicLong last = new AtomicLong();

    /** @param isolation draws a transaction's level */
    Stock(Dialect dialect, Function<SplittableRandom, Isolation> isolation) {
        this.dialect = dialect;
        this.isolation = isolation;
    }

    @Override
    public String name() {
        return "stock";
    }

    @Override
    public List<String> schema() {
        List<String> statements = new ArrayList<>(List.of(
                "CREATE TABLE SHELVES (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE ITEMS (ID INTEGER NOT NULL PRIMARY KEY, SHELF INTEGER REFERENCES SHELVES ON DELETE CASCADE,"
                        + " CODE INTEGER UNIQUE, QUANTITY INTEGER NOT NULL CHECK (QUANTITY BETWEEN 0 AND 40))",
                "CREATE TABLE LABELS (ID INTEGER NOT NULL PRIMARY KEY, ITEM INTEGER REFERENCES ITEMS ON DELETE SET NULL)",
                "CREATE TABLE MOVES (ID " + dialect.generatedKey() + ", ITEM INTEGER NOT NULL, DELTA INTEGER NOT NULL)",
                "CREATE TABLE MARKS (NR BIGINT NOT NULL PRIMARY KEY)"));
        statements.addAll(triggers());
        statements.add("INSERT INTO SHELVES VALUES " + rows(SHELVES, id -> "(" + id + ")"));
        statements.add("INSERT INTO ITEMS VALUES "
                + rows(ITEMS, id -> "(" + id + ", " + id % SHELVES + ", " + id + ", " + QUANTITY_FIRST + ")"));
        return statements;
    }

    private List<String> triggers() {
        return switch (dialect) {
            case DERBY ->
                List.of(
                        "CREATE TRIGGER ITEM_CAME AFTER INSERT ON ITEMS REFERENCING NEW AS N FOR EACH ROW"
                                + " INSERT INTO MOVES (ITEM, DELTA) VALUES (N.ID, N.QUANTITY)",
                        "CREATE TRIGGER ITEM_CHANGED AFTER UPDATE ON ITEMS REFERENCING OLD AS O NEW AS N FOR EACH ROW"
                                + " INSERT INTO MOVES (ITEM, DELTA) VALUES (O.ID, -O.QUANTITY), (N.ID, N.QUANTITY)",
                        "CREATE TRIGGER ITEM_WENT AFTER DELETE ON ITEMS REFERENCING OLD AS O FOR EACH ROW"
                                + " INSERT INTO MOVES (ITEM, DELTA) VALUES (O.ID, -O.QUANTITY)");
            case POSTGRESQL ->
                List.of(
                        "CREATE FUNCTION NOTE_MOVE() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN"
                                + " IF TG_OP <> 'INSERT' THEN INSERT INTO MOVES (ITEM, DELTA) VALUES (OLD.ID, -OLD.QUANTITY); END IF;"
                                + " IF TG_OP <> 'DELETE' THEN INSERT INTO MOVES (ITEM, DELTA) VALUES (NEW.ID, NEW.QUANTITY); END IF;"
                                + " RETURN NULL; END $$",
                        "CREATE TRIGGER NOTE_MOVE AFTER INSERT OR UPDATE OR DELETE ON ITEMS FOR EACH ROW EXECUTE FUNCTION NOTE_MOVE()");
            case SQLITE ->
                List.of(
                        "CREATE TRIGGER ITEM_CAME AFTER INSERT ON ITEMS BEGIN"
                                + " INSERT INTO MOVES (ITEM, DELTA) VALUES (NEW.ID, NEW.QUANTITY); END",
                        "CREATE TRIGGER ITEM_CHANGED AFTER UPDATE ON ITEMS BEGIN"
                                + " INSERT INTO MOVES (ITEM, DELTA) VALUES (OLD.ID, -OLD.QUANTITY), (NEW.ID, NEW.QUANTITY); END",
                        "CREATE TRIGGER ITEM_WENT AFTER DELETE ON ITEMS BEGIN"
                                + " INSERT INTO MOVES (ITEM, DELTA) VALUES (OLD.ID, -OLD.QUANTITY); END");
            case H2, HSQLDB -> List.of(); // none in SQL, or none beside ours
        };
    }

    private static String rows(int count, Function<Integer, String> row) {
        return IntStream.range(0, count).boxed().map(row).collect(Collectors.joining(", "));
    }

    @Override
    public Operation next(SplittableRandom random) {
        List<Step> steps = new ArrayList<>();
        for (int i = random.nextInt(STEPS_MAX); i >= 0; i--) {
            steps.add(step(random));
        }
        return new Change(
                isolation.apply(random), last.incrementAndGet(), steps, random.nextBoolean(), random.nextBoolean());
    }

    // ------------------------------------------------------------------------------------------------------- steps

    /** A part of a transaction. */
    private interface Step {
        void run(Connection connection) throws SQLException;
    }

    /** A step that is one statement. */
    private record Sql(String text) implements Step {

        @Override
        public void run(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate(text);
            }
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** A prepared statement, several times at once. */
    private record Batch(List<Integer> items) implements Step {

        @Override
        public void run(Connection connection) throws SQLException {
            try (PreparedStatement update = connection.prepareStatement(PLUS_ONE + "ID = ?")) {
                for (int item : items) {
                    update.setInt(1, item);
                    update.addBatch();
                }
                update.executeBatch();
            }
        }
    }

    /** Changes rows, and deletes some, where a cursor stands on them. */
    private record Cursor(int shelf) implements Step {

        @Override
        public void run(Connection connection) throws SQLException {
            try (Statement statement =
                            connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery(
                            "SELECT ID, QUANTITY FROM ITEMS WHERE SHELF = " + shelf + " FOR UPDATE")) {
                while (rows.next()) {
                    int quantity = rows.getInt(2);
                    if (quantity > 3 * QUANTITY_FIRST) {
                        rows.deleteRow();
                    } else {
                        rows.updateInt(2, quantity + 1);
                        rows.updateRow();
                    }
                }
            }
        }
    }

    /**
     * Does something, and takes it back.
     *
     * @param releases whether the savepoint is there still: over the network Derby has one at a time
     */
    private record Hesitation(Step step, boolean releases) implements Step {

        @Override
        public void run(Connection connection) throws SQLException {
            Savepoint before = connection.setSavepoint();
            step.run(connection);
            connection.rollback(before);
            if (releases) {
                connection.releaseSavepoint(before);
            }
        }
    }

    private Step step(SplittableRandom random) {
        int item = random.nextInt(ITEMS);
        int other = random.nextInt(ITEMS);
        int shelf = random.nextInt(SHELVES);
        return switch (random.nextInt(16)) {
            case 0 -> new Sql(PLUS_ONE + "SHELF = " + shelf);
            case 1 ->
                new Sql("UPDATE ITEMS SET QUANTITY = QUANTITY - 2 WHERE ID BETWEEN " + item + " AND " + (item + 4)
                        + " AND QUANTITY >= (SELECT AVG(QUANTITY) FROM ITEMS)");
            case 2 ->
                new Sql("DELETE FROM ITEMS WHERE SHELF = " + shelf
                        + " AND QUANTITY > (SELECT AVG(QUANTITY) + 4 FROM ITEMS)");
            case 3 -> new Sql("DELETE FROM ITEMS WHERE ID = " + item);
            case 4 ->
                random.nextInt(4) == 0
                        ? new Sql("DELETE FROM SHELVES WHERE ID = " + shelf)
                        : new Sql("UPDATE ITEMS SET SHELF = " + shelf + " WHERE ID IN (" + item + ", " + other + ")");
            case 5 -> new Sql("INSERT INTO SHELVES VALUES (" + shelf + ")");
            case 6 ->
                new Sql("INSERT INTO ITEMS SELECT I.ID + 1, I.SHELF, I.CODE + 1, 1 FROM ITEMS I WHERE I.ID >= " + item
                        + " AND NOT EXISTS (SELECT 1 FROM ITEMS J WHERE J.ID = I.ID + 1 OR J.CODE = I.CODE + 1)");
            case 7 -> merge(item, ITEMS + other);
            case 8 -> new Sql("UPDATE ITEMS SET ID = " + other + " WHERE ID = " + item);
            case 9 ->
                new Sql("UPDATE ITEMS SET CODE = " + (item + other) + " - CODE WHERE CODE IN (" + item + ", " + other
                        + ")");
            case 10 ->
                new Sql("INSERT INTO ITEMS VALUES (" + item + ", " + shelf + ", " + other + ", 3), (" + other
                        + ", NULL, " + item + ", 4)");
            case 11 -> new Sql("INSERT INTO LABELS VALUES (" + item + ", " + other + ")");
            case 12 -> new Sql("DELETE FROM LABELS WHERE ID BETWEEN " + item + " AND " + (item + 5));
            case 13 -> new Batch(random.ints(BATCH, 0, ITEMS).boxed().toList());
            case 14 -> hasCursors() ? new Cursor(shelf) : new Sql(PLUS_ONE + "ID = " + item);
            default -> new Hesitation(new Sql(PLUS_ONE + "ID >= " + item), dialect != Dialect.HSQLDB);
        };
    }

    /** SQLite has the same by another statement. */
    private Step merge(int item, int code) {
        String row = "S.ID + " + item + ", S.ID, S.ID + " + code + ", 2";
        return new Sql(
                dialect == Dialect.SQLITE
                        ? "INSERT INTO ITEMS (ID, SHELF, CODE, QUANTITY) SELECT " + row + " FROM SHELVES S WHERE TRUE"
                                + " ON CONFLICT (ID) DO UPDATE SET QUANTITY = QUANTITY + 1"
                        : "MERGE INTO ITEMS I USING SHELVES S ON I.ID = S.ID + " + item
                                + " WHEN MATCHED THEN UPDATE SET QUANTITY = I.QUANTITY + 1"
                                + " WHEN NOT MATCHED THEN INSERT (ID, SHELF, CODE, QUANTITY) VALUES (" + row + ")");
    }

    private boolean hasCursors() {
        return dialect == Dialect.DERBY || dialect == Dialect.POSTGRESQL;
    }

    /** Some steps. */
    private final class Change extends Operation {
        private final long nr;
        private final List<Step> steps;
        private final boolean marksFirst;
        private final boolean goesOn;

        /** @param goesOn whether what a constraint refuses ends a statement alone */
        Change(Isolation isolation, long nr, List<Step> steps, boolean marksFirst, boolean goesOn) {
            super(isolation, false);
            this.nr = nr;
            this.steps = steps;
            this.marksFirst = marksFirst;
            this.goesOn = goesOn;
        }

        @Override
        void run(Connection connection) throws SQLException {
            if (marksFirst) {
                mark(connection);
            }
            for (Step step : steps) {
                run(step, connection);
            }
            if (!marksFirst) {
                mark(connection);
            }
        }

        private void run(Step step, Connection connection) throws SQLException {
            Savepoint before = goesOn && dialect == Dialect.POSTGRESQL ? connection.setSavepoint() : null;
            try {
                step.run(connection);
            } catch (SQLException e) {
                if (!goesOn || !String.valueOf(e.getSQLState()).startsWith(CONSTRAINT)) {
                    throw e;
                }
                if (before != null) {
                    connection.rollback(before);
                }
            }
        }

        private void mark(Connection connection) throws SQLException {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO MARKS VALUES (?)")) {
                insert.setLong(1, nr);
                insert.executeUpdate();
            }
        }

        @Override
        String function() {
            return "change";
        }

        @Override
        String value(boolean ended) {
            return "{:nr " + nr + ", :steps ["
                    + steps.stream().map(step -> "\"" + step + "\"").collect(Collectors.joining(" ")) + "]}";
        }
    }

    // ------------------------------------------------------------------------------------------------------- checks

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        Set<Long> marks = new HashSet<>();
        each(replica, "SELECT NR FROM MARKS", row -> marks.add(row.getLong(1)));
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Change change) {
                boolean there = marks.remove(change.nr);
                if (recorded.outcome() == Outcome.OK && !there) {
                    findings.add(Findings.LOST, "change " + change.value(true));
                } else if (recorded.outcome() == Outcome.FAILED && there) {
                    findings.add("resurrected", "refused, and there: change " + change.value(true));
                }
            }
        }
        marks.forEach(nr -> findings.add("from nowhere", "change " + nr));
        checkState(replica, findings);
    }

    @Override
    public void checkState(Connection replica, Findings findings) throws SQLException {
        Set<Integer> shelves = new HashSet<>();
        each(replica, "SELECT ID FROM SHELVES", row -> shelves.add(row.getInt(1)));
        Map<Integer, Integer> quantities = new HashMap<>();
        Set<Integer> codes = new HashSet<>();
        each(replica, "SELECT ID, SHELF, CODE, QUANTITY FROM ITEMS", row -> {
            int id = row.getInt(1);
            int shelf = row.getInt(2);
            if (!row.wasNull() && !shelves.contains(shelf)) {
                findings.add("orphan", "item " + id + " is on shelf " + shelf + ", which is not there");
            }
            int code = row.getInt(3);
            if (!row.wasNull() && !codes.add(code)) {
                findings.add(Findings.DUPLICATED, "code " + code + ", item " + id + " has it, too");
            }
            if (quantities.put(id, row.getInt(4)) != null) {
                findings.add(Findings.DUPLICATED, "item " + id);
            }
        });
        each(replica, "SELECT ID, ITEM FROM LABELS", row -> {
            int item = row.getInt(2);
            if (!row.wasNull() && !quantities.containsKey(item)) {
                findings.add("orphan", "label " + row.getInt(1) + " is of item " + item + ", which is not there");
            }
        });
        if (!triggers().isEmpty()) {
            checkMoves(replica, quantities, findings);
        }
    }

    private static void checkMoves(Connection replica, Map<Integer, Integer> quantities, Findings findings)
            throws SQLException {
        Map<Integer, Integer> noted = new HashMap<>();
        each(
                replica,
                "SELECT ITEM, SUM(DELTA) FROM MOVES GROUP BY ITEM",
                row -> noted.put(row.getInt(1), row.getInt(2)));
        Set<Integer> items = new HashSet<>(noted.keySet());
        items.addAll(quantities.keySet());
        for (int item : items) {
            int is = quantities.getOrDefault(item, 0);
            int shouldBe = noted.getOrDefault(item, 0);
            if (is != shouldBe) {
                findings.add("in part", "of item " + item + " there are " + is + ", triggers have noted " + shouldBe);
            }
        }
    }

    /** What is done with a row. */
    private interface Row {
        void read(ResultSet row) throws SQLException;
    }

    private static void each(Connection replica, String query, Row row) throws SQLException {
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                row.read(rows);
            }
        }
    }
}
