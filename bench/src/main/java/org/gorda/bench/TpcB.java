package org.gorda.bench;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The bank of TPC Benchmark B (revision 2.0): a branch has 10 tellers and 100,000 accounts; a transaction changes the balances of
 * an account, its teller and its branch, reads the account's, and writes a row of history. Thread-safe.
 *
 * <p>In one thing more than the specification asks: the history row's filler of 22 bytes is its primary key and names the
 * transaction, so that one whose commit was acknowledged can be looked up afterwards.
 *
 * @param scale how many branches, 1 to 10,000
 * @param seed of all random choices
 * @param accounts of each branch, 1,000 to 100,000 by the thousand; fewer than specified for who measures something else than speed
 */
public record TpcB(int scale, long seed, int accounts) {

    static final int TELLERS = 10;

    /** By a transaction: an account, a teller, a branch and the history. */
    static final int ROWS_CHANGED = 4;

    private static final int ACCOUNTS = 100_000;
    private static final int DELTA_MAX = 999_999;
    private static final int ROWS_PER_STATEMENT = 100;
    private static final int ROWS_PER_TRANSACTION = 1_000;

    /** Of 100 transactions of a branch's tellers, so many are on accounts of the same branch (clause 5.3.5). */
    private static final int HOME_PERCENT = 85;

    private static final String BRANCH_FILLER = "b".repeat(84);
    private static final String TELLER_FILLER = "t".repeat(80);
    private static final String ACCOUNT_FILLER = "a".repeat(80);

    private static final List<String> SCHEMA = List.of(
            "CREATE TABLE branches (bid INTEGER NOT NULL PRIMARY KEY, bbalance BIGINT NOT NULL, filler CHAR(84))",
            "CREATE TABLE tellers (tid INTEGER NOT NULL PRIMARY KEY, bid INTEGER NOT NULL, tbalance BIGINT NOT NULL,"
                    + " filler CHAR(80))",
            "CREATE TABLE accounts (aid INTEGER NOT NULL PRIMARY KEY, bid INTEGER NOT NULL, abalance BIGINT NOT NULL,"
                    + " filler CHAR(80))",
            "CREATE TABLE history (tid INTEGER NOT NULL, bid INTEGER NOT NULL, aid INTEGER NOT NULL,"
                    + " delta BIGINT NOT NULL, mtime TIMESTAMP NOT NULL, filler CHAR(22) NOT NULL PRIMARY KEY)");

    /**
     * The sums of the balances, and what the history says they should be (clause 2.2.2.1). Immutable.
     *
     * @param history the sum of all changes
     */
    public record Sums(long branches, long tellers, long accounts, long history, long historyRows) {

        /** Whether all four sums are the same. */
        public boolean equal() {
            return branches == history && tellers == history && accounts == history;
        }
    }

    public TpcB {
        if (scale < 1 || scale > 10_000) {
            throw new BenchException("scale is " + scale + " but must be 1 to 10000 branches");
        }
        if (accounts < ROWS_PER_TRANSACTION || accounts > ACCOUNTS || accounts % ROWS_PER_TRANSACTION != 0) {
            throw new BenchException("accounts is " + accounts + " but must be 1000 to 100000, by the thousand");
        }
    }

    /** As specified. */
    public TpcB(int scale, long seed) {
        this(scale, seed, ACCOUNTS);
    }

    /**
     * Makes tables and rows if they are not there.
     *
     * @param loaded is told how many accounts are there
     * @throws BenchException if there are tables of another scale
     */
    public void load(Connection connection, AtomicLong loaded) throws SQLException {
        if (!exists(connection)) {
            connection.setAutoCommit(true);
            try (Statement statement = connection.createStatement()) {
                for (String table : SCHEMA) {
                    statement.execute(table);
                }
            }
        }
        connection.setAutoCommit(false);
        long there = count(connection, "branches");
        if (there != scale || count(connection, "accounts") != allAccounts()) {
            if (there > scale) {
                throw new BenchException(
                        "the database has a bank of " + there + " branches, not " + scale + ": ask for that scale");
            }
            for (int branch = (int) there; branch < scale; branch++) {
                loadBranch(connection, branch, loaded);
            }
        }
        loaded.set(allAccounts());
        connection.commit();
    }

    /** Whether the replica of this connection shows all of it. */
    boolean isLoaded(Connection connection) throws SQLException {
        long branches = exists(connection) ? count(connection, "branches") : 0;
        connection.rollback();
        return branches == scale;
    }

    /** How many accounts the bank has. */
    long allAccounts() {
        return (long) scale * accounts;
    }

    private static boolean exists(Connection connection) throws SQLException {
        for (String name : List.of("BRANCHES", "branches")) {
            try (ResultSet tables = connection.getMetaData().getTables(null, null, name, new String[] {"TABLE"})) {
                if (tables.next()) {
                    return true;
                }
            }
        }
        return false;
    }

    private static long count(Connection connection, String table) throws SQLException {
        return number(connection, "SELECT COUNT(*) FROM " + table);
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** The branch's own row comes last: a branch that is there is there wholly. */
    private void loadBranch(Connection connection, int branch, AtomicLong loaded) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM accounts WHERE bid = " + branch);
            statement.executeUpdate("DELETE FROM tellers WHERE bid = " + branch);
        }
        String rows = "(?, ?, 0, ?)" + ", (?, ?, 0, ?)".repeat(ROWS_PER_STATEMENT - 1);
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO accounts VALUES " + rows)) {
            for (int first = 0; first < accounts; first += ROWS_PER_STATEMENT) {
                for (int i = 0; i < ROWS_PER_STATEMENT; i++) {
                    insert.setInt(3 * i + 1, branch * accounts + first + i);
                    insert.setInt(3 * i + 2, branch);
                    insert.setString(3 * i + 3, ACCOUNT_FILLER);
                }
                insert.executeUpdate();
                if ((first + ROWS_PER_STATEMENT) % ROWS_PER_TRANSACTION == 0) {
                    connection.commit();
                    loaded.addAndGet(ROWS_PER_TRANSACTION);
                }
            }
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO tellers VALUES (?, ?, 0, ?)")) {
            for (int i = 0; i < TELLERS; i++) {
                insert.setInt(1, branch * TELLERS + i);
                insert.setInt(2, branch);
                insert.setString(3, TELLER_FILLER);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO branches VALUES (?, 0, ?)")) {
            insert.setInt(1, branch);
            insert.setString(2, BRANCH_FILLER);
            insert.executeUpdate();
        }
        connection.commit();
    }

    /** Reads the sums. */
    public static Sums sums(Connection connection) throws SQLException {
        return new Sums(
                number(connection, "SELECT SUM(bbalance) FROM branches"),
                number(connection, "SELECT SUM(tbalance) FROM tellers"),
                number(connection, "SELECT SUM(abalance) FROM accounts"),
                number(connection, "SELECT SUM(delta) FROM history"),
                count(connection, "history"));
    }

    /** A client's random choices, different for each number but the same for the same seed. */
    SplittableRandom random(int client) {
        return new SplittableRandom(seed * 31 + client);
    }

    /**
     * Runs one transaction and commits it.
     *
     * @param name of the transaction, at most 22 characters, never used before
     */
    void run(Connection connection, SplittableRandom random, String name) throws SQLException {
        int teller = random.nextInt(scale * TELLERS);
        int branch = teller / TELLERS;
        int account = accountBranch(branch, random) * accounts + random.nextInt(accounts);
        int delta = random.nextInt(-DELTA_MAX, DELTA_MAX + 1);
        update(connection, "UPDATE accounts SET abalance = abalance + ? WHERE aid = ?", delta, account);
        try (PreparedStatement select = connection.prepareStatement("SELECT abalance FROM accounts WHERE aid = ?")) {
            select.setInt(1, account);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                row.getLong(1);
            }
        }
        update(connection, "UPDATE tellers SET tbalance = tbalance + ? WHERE tid = ?", delta, teller);
        update(connection, "UPDATE branches SET bbalance = bbalance + ? WHERE bid = ?", delta, branch);
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO history VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?)")) {
            insert.setInt(1, teller);
            insert.setInt(2, branch);
            insert.setInt(3, account);
            insert.setLong(4, delta);
            insert.setString(5, name);
            insert.executeUpdate();
        }
        connection.commit();
    }

    private int accountBranch(int home, SplittableRandom random) {
        if (scale == 1 || random.nextInt(100) < HOME_PERCENT) {
            return home;
        }
        int other = random.nextInt(scale - 1);
        return other < home ? other : other + 1;
    }

    private static void update(Connection connection, String sql, int delta, int key) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement(sql)) {
            update.setInt(1, delta);
            update.setInt(2, key);
            if (update.executeUpdate() != 1) {
                throw new BenchException("no row with key " + key + " for: " + sql);
            }
        }
    }
}
