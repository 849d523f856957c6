package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A table that gets columns and indexes and loses them while rows are written to it, and tables that come and go: each change of the
 * schema is made everywhere or nowhere, as its client was told. Thread-safe.
 */
final class SchemaChanges implements Workload {

    private static final String TABLE = "EVOLVING";

    /** So few columns, indexes and tables live at a time, about: what is dropped is one of the latest. */
    private static final int LATEST = 12;

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

    /** Derby makes no second index of the same columns, and says so with a warning. */
    private static final List<String> INDEXED = List.of(
            "N, ID",
            "N DESC, ID",
            "N, ID DESC",
            "N DESC, ID DESC",
            "ID, N",
            "ID DESC, N",
            "ID, N DESC",
            "ID DESC, N DESC");

    private final AtomicLong lastThing = new AtomicLong();
    private final AtomicLong lastRow = new AtomicLong();

    @Override
    public String name() {
        return "schema";
    }

    @Override
    public List<String> schema() {
        return List.of("CREATE TABLE " + TABLE + " (ID BIGINT NOT NULL PRIMARY KEY, N INTEGER NOT NULL)");
    }

    @Override
    public Operation next(SplittableRandom random) {
        Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
        long known = Math.max(1, lastThing.get() - random.nextInt(LATEST));
        return switch (random.nextInt(10)) {
            case 0, 1 -> new Change(kind, lastThing.incrementAndGet(), true);
            case 2, 3 -> new Change(kind, known, false);
            default -> new Insert(lastRow.incrementAndGet(), random.nextBoolean() ? known : 0);
        };
    }

    /** Makes something, or drops it. */
    private static final class Change extends Operation {
        private final boolean creates;
        private final String thing;
        private final String sql;
        private boolean made;

        Change(Kind kind, long number, boolean creates) {
            super(Isolation.READ_COMMITTED, false);
            this.creates = creates;
            this.thing = kind.thing(number);
            this.sql = String.format(Locale.ROOT, creates ? kind.create : kind.drop, thing, INDEXED.get((int)
                    (number % INDEXED.size())));
        }

        @Override
        void run(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
                made = statement.getWarnings() == null;
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
        Set<String> things = things(replica);
        Set<String> dropped = new HashSet<>();
        Set<String> perhapsDropped = new HashSet<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Change change && !change.creates) {
                if (recorded.outcome() == Outcome.UNKNOWN) {
                    perhapsDropped.add(change.thing);
                } else if (recorded.outcome() == Outcome.OK && !dropped.add(change.thing)) {
                    findings.add(Findings.DUPLICATED, change.thing + " was dropped twice");
                }
            }
        }
        perhapsDropped.addAll(dropped);
        Set<String> left = new HashSet<>(things);
        Map<Long, Insert> unknownRows = new HashMap<>();
        Map<Long, Insert> rows = new HashMap<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Change change && change.creates) {
                boolean there = left.remove(change.thing);
                boolean isMade = recorded.outcome() == Outcome.OK && change.made;
                boolean isNotMade = recorded.outcome() != Outcome.UNKNOWN && !isMade;
                if (isMade && !there && !perhapsDropped.contains(change.thing)) {
                    findings.add(Findings.LOST, change.sql);
                } else if (isNotMade && there) {
                    findings.add("resurrected", "refused, and there: " + change.sql);
                } else if (there && dropped.contains(change.thing)) {
                    findings.add(Findings.LOST, "what dropped " + change.thing);
                }
            } else if (recorded.operation() instanceof Insert insert && recorded.outcome() != Outcome.FAILED) {
                (recorded.outcome() == Outcome.OK ? rows : unknownRows).put(insert.id, insert);
            }
        }
        left.forEach(thing -> findings.add("from nowhere", thing));
        checkRows(replica, things, rows, unknownRows, findings);
    }

    private static void checkRows(
            Connection replica,
            Set<String> things,
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
                        || (things.contains(insert.column) && found.getLong(insert.column) != id)) {
                    findings.add("in part", "row " + insert.value(true));
                }
            }
        }
        rows.values().forEach(insert -> findings.add(Findings.LOST, "row " + insert.value(true)));
    }

    /** Of all kinds, those that are there. */
    private static Set<String> things(Connection replica) throws SQLException {
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
