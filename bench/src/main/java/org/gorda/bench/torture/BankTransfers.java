package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
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

/** Money that goes from account to account: none is made, and each transfer is there with what it has moved. Thread-safe. */
final class BankTransfers implements Workload {

    private static final String SCHEMA = "The Bank";
    private static final int ACCOUNTS = 16;
    private static final long OPENING_BALANCE = 1_000;
    private static final int AMOUNT_MAX = 20;

    private final Dialect dialect;
    private final String accounts;
    private final String transfers;
    private final Function<SplittableRandom, Isolation> isolation;
    private final AtomicLong lastNumber;

    /** @param isolation draws a transaction's level */
    BankTransfers(Dialect dialect, Function<SplittableRandom, Isolation> isolation) {
        this(dialect, isolation, 0);
    }

    /** @param lastNumber of the transfers that there may be already */
    BankTransfers(Dialect dialect, Function<SplittableRandom, Isolation> isolation, long lastNumber) {
        this.dialect = dialect;
        this.accounts = dialect.table(SCHEMA, "Account");
        this.transfers = dialect.table(SCHEMA, "Transfer");
        this.isolation = isolation;
        this.lastNumber = new AtomicLong(lastNumber);
    }

    @Override
    public String name() {
        return "bank";
    }

    @Override
    public List<String> schema() {
        List<String> statements = new ArrayList<>();
        if (dialect.hasSchemas()) {
            statements.add("CREATE SCHEMA \"" + SCHEMA + "\"");
        }
        statements.add("CREATE TABLE " + accounts + " (ID INTEGER NOT NULL PRIMARY KEY, \"Balance\" BIGINT NOT NULL)");
        statements.add("CREATE TABLE " + transfers + " (NUMBER BIGINT NOT NULL, SOURCE INTEGER NOT NULL REFERENCES "
                + accounts + ", TARGET INTEGER NOT NULL REFERENCES " + accounts
                + ", AMOUNT BIGINT NOT NULL, PRIMARY KEY (SOURCE, NUMBER))");
        for (int account = 0; account < ACCOUNTS; account++) {
            statements.add("INSERT INTO " + accounts + " VALUES (" + account + ", " + OPENING_BALANCE + ")");
        }
        return statements;
    }

    @Override
    public Operation next(SplittableRandom random) {
        Isolation level = isolation.apply(random);
        if (random.nextInt(4) == 0) {
            return new Total(
                    level == Isolation.READ_COMMITTED ? Isolation.REPEATABLE_READ : level, random.nextBoolean());
        }
        int source = random.nextInt(ACCOUNTS);
        int target = (source + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
        return new Transfer(level, lastNumber.incrementAndGet(), source, target, 1 + random.nextInt(AMOUNT_MAX));
    }

    /** Moves money. At READ COMMITTED the statements compute; else this client does, with what it has read. */
    private final class Transfer extends Operation {
        private final long number;
        private final int source;
        private final int target;
        private final long amount;

        Transfer(Isolation isolation, long number, int source, int target, long amount) {
            super(isolation, false);
            this.number = number;
            this.source = source;
            this.target = target;
            this.amount = amount;
        }

        @Override
        void run(Connection connection) throws SQLException {
            boolean first = source < target;
            change(connection, first ? source : target, first ? -amount : amount);
            change(connection, first ? target : source, first ? amount : -amount);
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO " + transfers + " VALUES (?, ?, ?, ?)")) {
                insert.setLong(1, number);
                insert.setInt(2, source);
                insert.setInt(3, target);
                insert.setLong(4, amount);
                insert.executeUpdate();
            }
        }

        private void change(Connection connection, int account, long by) throws SQLException {
            boolean reads = isolation().keepsWhatItReads();
            try (PreparedStatement update = connection.prepareStatement("UPDATE " + accounts + " SET \"Balance\" = "
                    + (reads ? "?" : "\"Balance\" + ?") + " WHERE ID = ?")) {
                update.setLong(1, reads ? balance(connection, account) + by : by);
                update.setInt(2, account);
                update.executeUpdate();
            }
        }

        private long balance(Connection connection, int account) throws SQLException {
            try (PreparedStatement select =
                    connection.prepareStatement("SELECT \"Balance\" FROM " + accounts + " WHERE ID = ?")) {
                select.setInt(1, account);
                try (ResultSet rows = select.executeQuery()) {
                    rows.next();
                    return rows.getLong(1);
                }
            }
        }

        @Override
        String function() {
            return "transfer";
        }

        @Override
        String value(boolean ended) {
            return "{:number " + number + ", :from " + source + ", :to " + target + ", :amount " + amount + "}";
        }
    }

    /** Sums up all accounts. */
    private final class Total extends Operation {
        private long total;

        Total(Isolation isolation, boolean readOnly) {
            super(isolation, readOnly);
        }

        @Override
        boolean changes() {
            return false;
        }

        @Override
        void run(Connection connection) throws SQLException {
            total = total(connection);
        }

        @Override
        String function() {
            return "total";
        }

        @Override
        String value(boolean ended) {
            return ended ? Long.toString(total) : "nil";
        }
    }

    private long total(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT SUM(\"Balance\") FROM " + accounts)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        long expected = ACCOUNTS * OPENING_BALANCE;
        Set<Long> present = transfers(replica);
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Total sum) {
                if (recorded.outcome() == Outcome.OK && sum.total != expected) {
                    findings.add("read skew", "a sum of all accounts was " + sum.total + " instead of " + expected);
                }
            } else if (recorded.operation() instanceof Transfer transfer) {
                boolean there = present.remove(transfer.number);
                if (recorded.outcome() == Outcome.OK && !there) {
                    findings.add(Findings.LOST, "transfer " + transfer.value(true));
                } else if (recorded.outcome() == Outcome.FAILED && there) {
                    findings.add("resurrected", "refused, and there: transfer " + transfer.value(true));
                }
            }
        }
        present.forEach(number -> findings.add("from nowhere", "transfer " + number));
        checkState(replica, findings);
    }

    private Set<Long> transfers(Connection replica) throws SQLException {
        Set<Long> numbers = new HashSet<>();
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery("SELECT NUMBER FROM " + transfers)) {
            while (rows.next()) {
                numbers.add(rows.getLong(1));
            }
        }
        return numbers;
    }

    @Override
    public void checkState(Connection replica, Findings findings) throws SQLException {
        long expected = ACCOUNTS * OPENING_BALANCE;
        long total = total(replica);
        if (total != expected) {
            findings.add("money made or lost", total + " instead of " + expected);
        }
        Map<Integer, Long> moved = new HashMap<>();
        moved(replica, "SOURCE", -1, moved);
        moved(replica, "TARGET", 1, moved);
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID, \"Balance\" FROM " + accounts)) {
            while (rows.next()) {
                long due = OPENING_BALANCE + moved.getOrDefault(rows.getInt(1), 0L);
                if (rows.getLong(2) != due) {
                    findings.add(
                            "lost update",
                            "account " + rows.getInt(1) + " has " + rows.getLong(2) + ", its transfers make " + due);
                }
            }
        }
    }

    /** Adds up what the transfers say, by account. */
    private void moved(Connection replica, String account, int sign, Map<Integer, Long> moved) throws SQLException {
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT " + account + ", SUM(AMOUNT) FROM " + transfers + " GROUP BY " + account)) {
            while (rows.next()) {
                moved.merge(rows.getInt(1), sign * rows.getLong(2), Long::sum);
            }
        }
    }
}
