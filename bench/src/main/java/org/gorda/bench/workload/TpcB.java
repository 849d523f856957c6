package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * The bank of TPC Benchmark B (revision 2.0): a branch has 10 tellers and 100,000 accounts; a transaction changes the balances of
 * an account, its teller and its branch, reads the account's, and writes a row of history. Thread-safe.
 *
 * <p>In one thing more than the specification asks: the history row's filler of 22 bytes is its primary key and names the
 * transaction, so that one whose commit was acknowledged can be looked up afterwards.
 */
public final class TpcB implements Workload {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "tpcb",
            "TPC Benchmark B: changes an account, its teller and its branch, reads the account, writes a row of history.",
            List.of(
                    Parameter.number("scale", 1, 1, 10_000, "How many branches."),
                    Parameter.number(
                            "accounts",
                            100_000,
                            1_000,
                            100_000,
                            "Of each branch; TPC-B has 100,000, fewer are loaded sooner."),
                    Parameter.percent("affinity", 0, "Transactions on a branch that is the client's own."),
                    Parameter.percent("hot", 0, "Of the others, those on the first branch whatever else is drawn."),
                    Parameter.percent("reads", 0, "Transactions that only read an account."),
                    Parameter.word(
                            "history",
                            "yes",
                            List.of("yes", "no"),
                            "Whether a row of history is written; without it the bank is another one.")),
            TpcB::new);

    static final int TELLERS = 10;

    /** By a transaction: an account, a teller, a branch and the history. */
    public static final int ROWS_CHANGED = 4;

    /** Nine of ten have their answer within that (clause 4.2). */
    private static final Duration RESPONSE_LIMIT = Duration.ofSeconds(2);

    private static final int ACCOUNTS = 100_000;
    private static final int DELTA_MAX = 999_999;
    private static final int ROWS_PER_STATEMENT = 100;
    private static final int ROWS_PER_TRANSACTION = 1_000;

    /** Of 100 transactions of a branch's tellers, so many are on accounts of the same branch (clause 5.3.5). */
    private static final int HOME_PERCENT = 85;

    private static final String BRANCH_FILLER = "b".repeat(84);
    private static final String TELLER_FILLER = "t".repeat(80);
    private static final String ACCOUNT_FILLER = "a".repeat(80);

    /** Before the names of tables of banks without history, whose balances nothing else accounts for. */
    private static final String BARE = "bare_";

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

        private String toText() {
            return "branches " + branches + ", tellers " + tellers + ", accounts " + accounts + "; history " + history
                    + " in " + historyRows + " rows";
        }
    }

    private final int scale;
    private final int accounts;
    private final int affinity;
    private final int hot;
    private final int reads;
    private final boolean history;
    private final String branchTable;
    private final String tellerTable;
    private final String accountTable;

    private TpcB(Parameters values) {
        scale = values.number("scale");
        accounts = values.number("accounts");
        affinity = values.number("affinity");
        hot = values.number("hot");
        reads = values.number("reads");
        history = values.text("history").equals("yes");
        String prefix = history ? "" : BARE;
        branchTable = prefix + "branches";
        tellerTable = prefix + "tellers";
        accountTable = prefix + "accounts";
        if (accounts % ROWS_PER_TRANSACTION != 0) {
            throw new BenchException("accounts is " + accounts + " but must be 1000 to 100000, by the thousand");
        }
    }

    /** As specified, but for the number of branches, 1 to 10,000. */
    public static TpcB of(int scale) {
        return of(scale, ACCOUNTS);
    }

    /** With fewer accounts for each branch than specified, for who measures something else than speed: 1,000 to 100,000 by the thousand. */
    public static TpcB of(int scale, int accounts) {
        return of(Map.of("scale", Integer.toString(scale), "accounts", Integer.toString(accounts)));
    }

    /**
     * With other parameters than the standard ones.
     *
     * @throws BenchException if one cannot be
     */
    public static TpcB of(Map<String, String> chosen) {
        return new TpcB(new Parameters(KIND.parameters(), chosen));
    }

    private List<String> schema() {
        List<String> tables = new ArrayList<>(List.of(
                "CREATE TABLE " + branchTable
                        + " (bid INTEGER NOT NULL PRIMARY KEY, bbalance BIGINT NOT NULL, filler CHAR(84))",
                "CREATE TABLE " + tellerTable
                        + " (tid INTEGER NOT NULL PRIMARY KEY, bid INTEGER NOT NULL, tbalance BIGINT NOT NULL,"
                        + " filler CHAR(80))",
                "CREATE TABLE " + accountTable
                        + " (aid INTEGER NOT NULL PRIMARY KEY, bid INTEGER NOT NULL, abalance BIGINT NOT NULL,"
                        + " filler CHAR(80))"));
        if (history) {
            tables.add("CREATE TABLE history (tid INTEGER NOT NULL, bid INTEGER NOT NULL, aid INTEGER NOT NULL,"
                    + " delta BIGINT NOT NULL, mtime TIMESTAMP NOT NULL, filler CHAR(22) NOT NULL PRIMARY KEY)");
        }
        return tables;
    }

    @Override
    public Kind kind() {
        return KIND;
    }

    /** @throws BenchException if there are tables of another scale */
    @Override
    public void load(Connection connection, Loading progress) throws SQLException {
        if (!Queries.exists(connection, branchTable)) {
            Queries.execute(connection, schema());
        }
        connection.setAutoCommit(false);
        long there = Queries.count(connection, branchTable);
        if (there > scale) {
            throw new BenchException(
                    "the database has a bank of " + there + " branches, not " + scale + ": ask for that scale");
        }
        for (int branch = (int) there; branch < scale; branch++) {
            loadBranch(connection, branch, progress);
        }
        long all = Queries.count(connection, accountTable);
        if (all != (long) scale * accounts) {
            throw new BenchException("the database has a bank of " + all + " accounts, not " + (long) scale * accounts
                    + ": ask for " + all / scale + " of each branch");
        }
        connection.commit();
    }

    @Override
    public boolean isLoaded(Connection connection) throws SQLException {
        long branches = Queries.exists(connection, branchTable) ? Queries.count(connection, branchTable) : 0;
        connection.rollback();
        return branches == scale;
    }

    /** The branch's own row comes last: a branch that is there is there wholly. */
    private void loadBranch(Connection connection, int branch, Loading progress) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM " + accountTable + " WHERE bid = " + branch);
            statement.executeUpdate("DELETE FROM " + tellerTable + " WHERE bid = " + branch);
        }
        String rows = "(?, ?, 0, ?)" + ", (?, ?, 0, ?)".repeat(ROWS_PER_STATEMENT - 1);
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO " + accountTable + " VALUES " + rows)) {
            for (int first = 0; first < accounts; first += ROWS_PER_STATEMENT) {
                for (int i = 0; i < ROWS_PER_STATEMENT; i++) {
                    insert.setInt(3 * i + 1, branch * accounts + first + i);
                    insert.setInt(3 * i + 2, branch);
                    insert.setString(3 * i + 3, ACCOUNT_FILLER);
                }
                insert.executeUpdate();
                if ((first + ROWS_PER_STATEMENT) % ROWS_PER_TRANSACTION == 0) {
                    connection.commit();
                    progress.loaded((long) branch * accounts + first + ROWS_PER_STATEMENT, (long) scale * accounts);
                }
            }
        }
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO " + tellerTable + " VALUES (?, ?, 0, ?)")) {
            for (int i = 0; i < TELLERS; i++) {
                insert.setInt(1, branch * TELLERS + i);
                insert.setInt(2, branch);
                insert.setString(3, TELLER_FILLER);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO " + branchTable + " VALUES (?, 0, ?)")) {
            insert.setInt(1, branch);
            insert.setString(2, BRANCH_FILLER);
            insert.executeUpdate();
        }
        connection.commit();
    }

    @Override
    public Check check(Connection connection) throws SQLException {
        if (history) {
            Sums sums = sums(connection);
            return new Check(sums.equal(), sums.toText());
        }
        long branches = Queries.number(connection, "SELECT SUM(bbalance) FROM " + branchTable);
        long tellers = Queries.number(connection, "SELECT SUM(tbalance) FROM " + tellerTable);
        long all = Queries.number(connection, "SELECT SUM(abalance) FROM " + accountTable);
        return new Check(
                branches == tellers && branches == all,
                "branches " + branches + ", tellers " + tellers + ", accounts " + all);
    }

    @Override
    public Duration responseLimit() {
        return RESPONSE_LIMIT;
    }

    /** Reads the sums. */
    public static Sums sums(Connection connection) throws SQLException {
        return new Sums(
                Queries.number(connection, "SELECT SUM(bbalance) FROM branches"),
                Queries.number(connection, "SELECT SUM(tbalance) FROM tellers"),
                Queries.number(connection, "SELECT SUM(abalance) FROM accounts"),
                Queries.number(connection, "SELECT SUM(delta) FROM history"),
                Queries.count(connection, "history"));
    }

    /** Reads all rows: a checksum of each table, whatever their order is. */
    public static Map<String, Long> checksums(Connection connection) throws SQLException {
        Map<String, Long> checksums = new TreeMap<>();
        for (String table : List.of("branches", "tellers", "accounts", "history")) {
            checksums.put(table, Queries.checksum(connection, table));
        }
        return checksums;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        SplittableRandom random = choices.random();
        int branch = branch(choices);
        int teller = branch * TELLERS + random.nextInt(TELLERS);
        int account = accountBranch(branch, random) * accounts + random.nextInt(accounts);
        if (choices.chance(reads)) {
            balance(connection, account);
            connection.commit();
            return;
        }
        int delta = random.nextInt(-DELTA_MAX, DELTA_MAX + 1);
        update(connection, "UPDATE " + accountTable + " SET abalance = abalance + ? WHERE aid = ?", delta, account);
        balance(connection, account);
        update(connection, "UPDATE " + tellerTable + " SET tbalance = tbalance + ? WHERE tid = ?", delta, teller);
        update(connection, "UPDATE " + branchTable + " SET bbalance = bbalance + ? WHERE bid = ?", delta, branch);
        if (history) {
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO history VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?)")) {
                insert.setInt(1, teller);
                insert.setInt(2, branch);
                insert.setInt(3, account);
                insert.setLong(4, delta);
                insert.setString(5, choices.name());
                insert.executeUpdate();
            }
        }
        connection.commit();
    }

    /** Where the teller works who is asked. */
    private int branch(Choices choices) {
        if (choices.chance(affinity)) {
            return choices.client() % scale;
        }
        return choices.chance(hot) ? 0 : choices.random().nextInt(scale);
    }

    private void balance(Connection connection, int account) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT abalance FROM " + accountTable + " WHERE aid = ?")) {
            select.setInt(1, account);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                row.getLong(1);
            }
        }
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
