package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Orders whose ids the database generates, with lines that go when their order goes: each is there as a whole or not at all, without
 * what was taken back to a savepoint; no id is given twice. A few have lines of some megabytes. Thread-safe.
 */
final class Orders implements Workload {

    private static final int LINES_MAX = 4;

    /** Together more than replicas send in one message. */
    private static final int LARGE_LINES = 120;

    private static final int LARGE_CHARACTERS = 20_000;
    private static final int SMALL_CHARACTERS = 20;

    private final Dialect dialect;
    private final Function<SplittableRandom, Isolation> isolation;
    private final AtomicLong last = new AtomicLong();

    /** @param isolation draws a transaction's level */
    Orders(Dialect dialect, Function<SplittableRandom, Isolation> isolation) {
        this.dialect = dialect;
        this.isolation = isolation;
    }

    @Override
    public String name() {
        return "orders";
    }

    @Override
    public List<String> schema() {
        return List.of(
                "CREATE TABLE ORDERS (ID " + dialect.generatedKey()
                        + ", NR BIGINT NOT NULL UNIQUE, SIZE INTEGER NOT NULL)",
                "CREATE TABLE ORDER_LINES (ORDER_ID BIGINT NOT NULL REFERENCES ORDERS ON DELETE CASCADE, LINE INTEGER NOT NULL,"
                        + " CONTENT VARCHAR(" + LARGE_CHARACTERS + ") NOT NULL, PRIMARY KEY (ORDER_ID, LINE))");
    }

    @Override
    public Operation next(SplittableRandom random) {
        Isolation level = isolation.apply(random);
        int dice = random.nextInt(100);
        if (dice < 25) {
            return new Cancel(level, 1 + random.nextLong(last.get() + 1));
        } else if (dice < 40) {
            return new Read(1 + random.nextLong(last.get() + 1), random.nextBoolean());
        }
        boolean large = dice == 99;
        return new Place(
                level,
                last.incrementAndGet(),
                large ? LARGE_LINES : 1 + random.nextInt(LINES_MAX),
                large ? LARGE_CHARACTERS : SMALL_CHARACTERS,
                random.nextInt(3) == 0);
    }

    /** What a line says, which tells it from all others. */
    private static String content(long nr, int line, int characters) {
        String name = nr + "/" + line + " ";
        return name.repeat(characters / name.length() + 1).substring(0, characters);
    }

    /** Makes an order with its lines. */
    private static final class Place extends Operation {
        private final long nr;
        private final int lines;
        private final int characters;
        private final boolean hesitates;
        private long id;

        /** @param hesitates whether it adds a line and takes that back */
        Place(Isolation isolation, long nr, int lines, int characters, boolean hesitates) {
            super(isolation, false);
            this.nr = nr;
            this.lines = lines;
            this.characters = characters;
            this.hesitates = hesitates;
        }

        @Override
        void run(Connection connection) throws SQLException {
            try (PreparedStatement order = connection.prepareStatement(
                    "INSERT INTO ORDERS (NR, SIZE) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
                order.setLong(1, nr);
                order.setInt(2, lines);
                order.executeUpdate();
                try (ResultSet keys = order.getGeneratedKeys()) {
                    keys.next();
                    id = keys.getLong(1);
                }
            }
            try (PreparedStatement line = connection.prepareStatement("INSERT INTO ORDER_LINES VALUES (?, ?, ?)")) {
                if (hesitates) {
                    Savepoint before = connection.setSavepoint();
                    addLine(line, 0);
                    line.executeBatch();
                    connection.rollback(before);
                }
                for (int i = 0; i < lines; i++) {
                    addLine(line, i);
                }
                line.executeBatch();
            }
        }

        private void addLine(PreparedStatement insert, int line) throws SQLException {
            insert.setLong(1, id);
            insert.setInt(2, line);
            insert.setString(3, content(nr, line, characters));
            insert.addBatch();
        }

        @Override
        String function() {
            return "place";
        }

        @Override
        String value(boolean ended) {
            return "{:nr " + nr + ", :lines " + lines + ", :characters " + characters + (ended ? ", :id " + id : "")
                    + "}";
        }
    }

    /** Deletes an order, if it is there, and so its lines. */
    private static final class Cancel extends Operation {
        private final long nr;
        private int found;

        Cancel(Isolation isolation, long nr) {
            super(isolation, false);
            this.nr = nr;
        }

        @Override
        boolean changes() {
            return found > 0;
        }

        @Override
        void run(Connection connection) throws SQLException {
            try (PreparedStatement delete = connection.prepareStatement("DELETE FROM ORDERS WHERE NR = ?")) {
                delete.setLong(1, nr);
                found = delete.executeUpdate();
            }
        }

        @Override
        String function() {
            return "cancel";
        }

        @Override
        String value(boolean ended) {
            return "{:nr " + nr + (ended ? ", :found " + found : "") + "}";
        }
    }

    /** Looks at an order; nothing of it changes meanwhile. */
    private static final class Read extends Operation {
        private final long nr;
        private int size = -1;
        private int lines = -1;

        Read(long nr, boolean readOnly) {
            super(Isolation.REPEATABLE_READ, readOnly);
            this.nr = nr;
        }

        @Override
        boolean changes() {
            return false;
        }

        @Override
        void run(Connection connection) throws SQLException {
            size = -1;
            lines = -1;
            long id;
            try (PreparedStatement order = connection.prepareStatement("SELECT ID, SIZE FROM ORDERS WHERE NR = ?")) {
                order.setLong(1, nr);
                try (ResultSet row = order.executeQuery()) {
                    if (!row.next()) {
                        return;
                    }
                    id = row.getLong(1);
                    size = row.getInt(2);
                }
            }
            try (PreparedStatement count =
                    connection.prepareStatement("SELECT COUNT(*) FROM ORDER_LINES WHERE ORDER_ID = ?")) {
                count.setLong(1, id);
                try (ResultSet row = count.executeQuery()) {
                    row.next();
                    lines = row.getInt(1);
                }
            }
        }

        @Override
        String function() {
            return "read";
        }

        @Override
        String value(boolean ended) {
            return "{:nr " + nr + (ended ? ", :size " + size + ", :lines " + lines : "") + "}";
        }
    }

    /** An order as a replica has it. */
    private record Present(long id, int size, Map<Integer, String> lines) {}

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        Map<Long, Present> orders = orders(replica, findings);
        Set<Long> cancelled = new HashSet<>();
        Set<Long> perhapsCancelled = new HashSet<>();
        Set<Long> seen = new HashSet<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Cancel cancel) {
                if (recorded.outcome() == Outcome.UNKNOWN) {
                    perhapsCancelled.add(cancel.nr);
                } else if (recorded.outcome() == Outcome.OK && cancel.found > 0 && !cancelled.add(cancel.nr)) {
                    findings.add(Findings.DUPLICATED, "order " + cancel.nr + " was found and cancelled twice");
                }
            } else if (recorded.operation() instanceof Read read
                    && recorded.outcome() == Outcome.OK
                    && read.size >= 0) {
                seen.add(read.nr);
                if (read.size != read.lines) {
                    findings.add("read skew", "an order was seen in part: " + read.value(true));
                }
            }
        }
        seen.addAll(cancelled);
        perhapsCancelled.addAll(cancelled);
        Map<Long, Long> ids = new HashMap<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Place place) {
                Present present = orders.remove(place.nr);
                if (recorded.outcome() == Outcome.OK) {
                    Long other = ids.put(place.id, place.nr);
                    if (other != null) {
                        findings.add(
                                Findings.DUPLICATED,
                                "both " + other + " and " + place.nr + " were given the id " + place.id);
                    }
                }
                if (recorded.outcome() == Outcome.FAILED && (present != null || seen.contains(place.nr))) {
                    findings.add("resurrected", "refused, and there, or seen there: order " + place.value(true));
                }
                check(place, recorded.outcome(), present, cancelled, perhapsCancelled, findings);
            }
        }
        orders.forEach((nr, order) -> findings.add("from nowhere", "order " + nr));
    }

    private static void check(
            Place place,
            Outcome outcome,
            @Nullable Present present,
            Set<Long> cancelled,
            Set<Long> perhapsCancelled,
            Findings findings) {
        String order = "order " + place.value(true);
        if (present == null) {
            if (outcome == Outcome.OK && !perhapsCancelled.contains(place.nr)) {
                findings.add(Findings.LOST, order);
            }
            return;
        }
        if (cancelled.contains(place.nr)) {
            findings.add(Findings.LOST, "the cancellation of " + order);
        }
        if (outcome == Outcome.OK && present.id != place.id) {
            findings.add("another id", order + " has " + present.id);
        }
        boolean whole = present.size == place.lines && present.lines.size() == place.lines;
        for (int line = 0; whole && line < place.lines; line++) {
            whole = content(place.nr, line, place.characters).equals(present.lines.get(line));
        }
        if (!whole) {
            findings.add("in part", order + " has lines " + present.lines.keySet() + " of " + present.size);
        }
    }

    private static Map<Long, Present> orders(Connection replica, Findings findings) throws SQLException {
        Map<Long, Present> byNr = new HashMap<>();
        Map<Long, Present> byId = new HashMap<>();
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID, NR, SIZE FROM ORDERS")) {
            while (rows.next()) {
                Present order = new Present(rows.getLong(1), rows.getInt(3), new HashMap<>());
                byId.put(order.id, order);
                if (byNr.put(rows.getLong(2), order) != null) {
                    findings.add(Findings.DUPLICATED, "order " + rows.getLong(2) + " is there more than once");
                }
            }
        }
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ORDER_ID, LINE, CONTENT FROM ORDER_LINES")) {
            while (rows.next()) {
                Present order = byId.get(rows.getLong(1));
                if (order == null) {
                    findings.add("orphan", "a line of order id " + rows.getLong(1) + ", which is not there");
                } else {
                    order.lines.put(rows.getInt(2), rows.getString(3));
                }
            }
        }
        return byNr;
    }
}
