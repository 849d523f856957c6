package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A table that gets columns and indexes and loses them while rows are written to it, and tables that come and go: each change of the
 * schema is made everywhere or nowhere, as its client was told. Thread-safe.
 */
final class SchemaChanges implements Workload {

    private static final String TABLE = "EVOLVING";

    /** More columns, indexes and tables are not made before some are dropped. */
    private static final int THINGS_MAX = 30;

    /** What comes and goes; its name is the letter, and a number. */
    private enum Kind {
        COLUMN("C", "ALTER TABLE EVOLVING ADD COLUMN %s BIGINT", "ALTER TABLE EVOLVING DROP COLUMN %s"),
        INDEX("I", "CREATE INDEX %s ON EVOLVING (%s)", "DROP INDEX %s"),
        TABLE("T", "CREATE TABLE %s (ID BIGINT NOT NULL PRIMARY KEY)", "DROP TABLE %s");

        private final String letter;
        private final String create;
        private final String drop;

        Kind(String letter, String create, String drop) {
            this.letter = letter;
            this.create = create;
            this.drop = drop;
        }

        String thing(long number) {
            return letter + "_" + number;
        }
    }

    private static final int COLUMNS = 6;

    private final boolean commitsAtOnce;

    /** What may be there, by number. */
    private final Map<Long, Kind> things = new ConcurrentHashMap<>();

    private final AtomicLong lastThing = new AtomicLong();
    private final AtomicLong lastRow = new AtomicLong();

    /** @param commitsAtOnce whether a change of the schema is committed when it is executed, so that who is cut off then does not know */
    SchemaChanges(boolean commitsAtOnce) {
        this.commitsAtOnce = commitsAtOnce;
    }

    @Override
    public String name() {
        return "schema";
    }

    @Override
    public List<String> schema() {
        return List.of("CREATE TABLE " + TABLE + " (ID BIGINT NOT NULL PRIMARY KEY, N INTEGER NOT NULL"
                + IntStream.range(0, COLUMNS)
                        .mapToObj(i -> ", F" + i + " INTEGER")
                        .collect(Collectors.joining()) + ")");
    }

    @Override
    public Operation next(SplittableRandom random) {
        List<Map.Entry<Long, Kind>> known = List.copyOf(things.entrySet());
        Map.Entry<Long, Kind> one = known.isEmpty() ? null : known.get(random.nextInt(known.size()));
        boolean changes = random.nextInt(6) == 0;
        if (one == null || (changes && random.nextBoolean() && known.size() < THINGS_MAX)) {
            Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
            long number = lastThing.incrementAndGet();
            things.put(number, kind);
            return new Change(kind, number, true);
        }
        return changes
                ? new Change(one.getValue(), one.getKey(), false)
                : new Insert(lastRow.incrementAndGet(), one.getValue() == Kind.COLUMN ? one.getKey() : 0);
    }

    /** Others than of the last 960: Derby makes no second index of the same columns, and says so with a warning only. */
    private static String indexed(long number) {
        int first = (int) (number % COLUMNS);
        int second = (int) (number / COLUMNS % (COLUMNS - 1));
        int third = (int) (number / COLUMNS / (COLUMNS - 1) % (COLUMNS - 2));
        long descending = number / COLUMNS / (COLUMNS - 1) / (COLUMNS - 2);
        List<String> left = new ArrayList<>(
                IntStream.range(0, COLUMNS).mapToObj(i -> "F" + i).toList());
        List<String> chosen = new ArrayList<>();
        for (int next : new int[] {first, second, third}) {
            boolean ascends = (descending >> chosen.size() & 1) == 0;
            chosen.add(left.remove(next) + (ascends ? "" : " DESC"));
        }
        return String.join(", ", chosen);
    }

    /** Makes something, or drops it. */
    private final class Change extends Operation {
        private final boolean creates;
        private final long number;
        private final String thing;
        private final String sql;

        Change(Kind kind, long number, boolean creates) {
            super(Isolation.READ_COMMITTED, false);
            this.creates = creates;
            this.number = number;
            this.thing = kind.thing(number);
            this.sql = String.format(Locale.ROOT, creates ? kind.create : kind.drop, thing, indexed(number));
        }

        @Override
        void run(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            } catch (SQLException e) {
                if (!creates && String.valueOf(e.getSQLState()).startsWith("42")) {
                    things.remove(number); // it is not there any more
                }
                throw e;
            }
        }

        @Override
        String function() {
            return creates ? "create" : "drop";
        }

        @Override
        String value(boolean ended) {
            return "\"" + sql + "\"";
        }
    }

    /** Writes a row, perhaps also to a column that came later, if it is there. */
    private static final class Insert extends Operation {
        private final long id;
        private final String column;

        /** @param column by its number, 0 for none */
        Insert(long id, long column) {
            super(Isolation.READ_COMMITTED, false);
            this.id = id;
            this.column = column == 0 ? "" : Kind.COLUMN.thing(column);
        }

        @Override
        void run(Connection connection) throws SQLException {
            boolean more = !column.isEmpty();
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + TABLE + " (ID, N"
                    + (more ? ", " + column : "") + ") VALUES (?, ?" + (more ? ", ?" : "") + ")")) {
                insert.setLong(1, id);
                insert.setInt(2, (int) (id % 10));
                if (more) {
                    insert.setLong(3, id);
                }
                insert.executeUpdate();
            }
        }

        @Override
        String function() {
            return "insert";
        }

        @Override
        String value(boolean ended) {
            return "{:id " + id + ", :column \"" + column + "\"}";
        }
    }

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        Set<String> present = present(replica);
        Set<String> dropped = new HashSet<>();
        Set<String> perhapsDropped = new HashSet<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Change change && !change.creates) {
                Outcome outcome = outcome(recorded);
                if (outcome == Outcome.UNKNOWN) {
                    perhapsDropped.add(change.thing);
                } else if (outcome == Outcome.OK && !dropped.add(change.thing)) {
                    findings.add(Findings.DUPLICATED, change.thing + " was dropped twice");
                }
            }
        }
        perhapsDropped.addAll(dropped);
        Set<String> left = new HashSet<>(present);
        Map<Long, Insert> unknownRows = new HashMap<>();
        Map<Long, Insert> rows = new HashMap<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Change change && change.creates) {
                boolean there = left.remove(change.thing);
                Outcome outcome = outcome(recorded);
                if (outcome == Outcome.OK && !there && !perhapsDropped.contains(change.thing)) {
                    findings.add(Findings.LOST, change.sql);
                } else if (outcome == Outcome.FAILED && (there || dropped.contains(change.thing))) {
                    findings.add("resurrected", "refused, and there, or dropped by another one: " + change.sql);
                } else if (there && dropped.contains(change.thing)) {
                    findings.add(Findings.LOST, "what dropped " + change.thing);
                }
            } else if (recorded.operation() instanceof Insert insert && recorded.outcome() != Outcome.FAILED) {
                (recorded.outcome() == Outcome.OK ? rows : unknownRows).put(insert.id, insert);
            }
        }
        left.forEach(thing -> findings.add("from nowhere", thing));
        checkRows(replica, present, rows, unknownRows, findings);
    }

    /** Of a change of the schema. */
    private Outcome outcome(Recorded recorded) {
        boolean wasCutOff = String.valueOf(recorded.state()).startsWith("08");
        return commitsAtOnce && wasCutOff ? Outcome.UNKNOWN : recorded.outcome();
    }

    private static void checkRows(
            Connection replica,
            Set<String> present,
            Map<Long, Insert> rows,
            Map<Long, Insert> unknown,
            Findings findings)
            throws SQLException {
        try (Statement statement = replica.createStatement();
                ResultSet found = statement.executeQuery("SELECT * FROM " + TABLE)) {
            while (found.next()) {
                long id = found.getLong("ID");
                Insert known = rows.remove(id);
                Insert insert = known != null ? known : unknown.get(id);
                if (insert == null) {
                    findings.add("resurrected", "row " + id + " of " + TABLE + ", refused or never written");
                } else if (found.getInt("N") != id % 10
                        || (present.contains(insert.column) && found.getLong(insert.column) != id)) {
                    findings.add("in part", "row " + insert.value(true));
                }
            }
        }
        rows.values().forEach(insert -> findings.add(Findings.LOST, "row " + insert.value(true)));
    }

    /** Of all kinds, those that are there. */
    static Set<String> present(Connection replica) throws SQLException {
        DatabaseMetaData catalogue = replica.getMetaData();
        String table = catalogue.storesLowerCaseIdentifiers() ? TABLE.toLowerCase(Locale.ROOT) : TABLE;
        Set<String> things = new HashSet<>();
        try (ResultSet columns = catalogue.getColumns(null, null, table, "%")) {
            add(columns, "COLUMN_NAME", Kind.COLUMN, things);
        }
        try (ResultSet indexes = catalogue.getIndexInfo(null, replica.getSchema(), table, false, true)) {
            add(indexes, "INDEX_NAME", Kind.INDEX, things);
        }
        try (ResultSet tables = catalogue.getTables(null, replica.getSchema(), "%", new String[] {"TABLE"})) {
            add(tables, "TABLE_NAME", Kind.TABLE, things);
        }
        return things;
    }

    private static void add(ResultSet rows, String column, Kind kind, Set<String> things) throws SQLException {
        while (rows.next()) {
            String name = String.valueOf(rows.getString(column)).toUpperCase(Locale.ROOT);
            if (name.matches(kind.letter + "_\\d+")) {
                things.add(name);
            }
        }
    }
}
