package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A mix of inserts, updates, deletes and queries, as Bristlecone's Evaluator has it: two tables and a third that is their product.
 * An update takes from a row of the first table what it gives to one of the product, so that the sum of both stays 0; what is
 * deleted was inserted before, so that the tables keep the size that was loaded. Thread-safe.
 */
public final class Evaluator implements Workload {

    /** As users choose it. */
    public static final Kind KIND = new Kind(
            "evaluator",
            "A mix of inserts, updates, deletes and queries on two tables and a third that is their product.",
            List.of(
                    Parameter.percent("inserts", 10, "Transactions that insert a row."),
                    Parameter.percent("updates", 20, "Transactions that update rows, one of each of two tables."),
                    Parameter.percent(
                            "deletes", 10, "Transactions that delete a row that was inserted, if one is found."),
                    Parameter.number("rows", 100, 1, 3_000, "Of each of two tables; the third has rows x rows."),
                    Parameter.number("read-size", 2, 1, 3_000, "Rows that a query reads of a table; at most rows."),
                    Parameter.word(
                            "query-weight",
                            "medium",
                            List.of("light", "medium", "heavy"),
                            "Queries of one table, of a join, or of sums over a join of all three.")),
            Evaluator::new);

    private static final int AMOUNT_MAX = 1_000;
    private static final int ROWS_PER_TRANSACTION = 1_000;

    private final int inserts;
    private final int updates;
    private final int deletes;
    private final int rows;
    private final int readSize;
    private final String weight;
    private final String left;
    private final String right;
    private final String product;

    private Evaluator(Parameters values) {
        inserts = values.number("inserts");
        updates = values.number("updates");
        deletes = values.number("deletes");
        rows = values.number("rows");
        readSize = values.number("read-size");
        weight = values.text("query-weight");
        left = "evaluator_left_" + rows;
        right = "evaluator_right_" + rows;
        product = "evaluator_product_" + rows;
        if (inserts + updates + deletes > 100) {
            throw new BenchException("inserts, updates and deletes are " + (inserts + updates + deletes)
                    + " but must be 0 to 100 together");
        }
        if (readSize > rows) {
            throw new BenchException("read-size is " + readSize + " but must be 1 to " + rows + ", the rows there are");
        }
    }

    @Override
    public Kind kind() {
        return KIND;
    }

    @Override
    public void load(Connection connection, Loading progress) throws SQLException {
        connection.setAutoCommit(false);
        long all = 2L * rows + (long) rows * rows;
        for (String name : List.of(left, right)) {
            make(connection, name, "id INTEGER NOT NULL PRIMARY KEY, num BIGINT NOT NULL");
        }
        make(
                connection,
                product,
                "name VARCHAR(22) NOT NULL PRIMARY KEY, left_id INTEGER NOT NULL, right_id INTEGER NOT NULL,"
                        + " num BIGINT NOT NULL, extra INTEGER NOT NULL",
                "CREATE INDEX " + product + "_pair ON " + product + " (left_id, right_id, extra)");
        fill(connection, left, progress, all);
        fill(connection, right, progress, all);
        fillProduct(connection, progress, all);
    }

    private static void make(Connection connection, String name, String columns, String... more) throws SQLException {
        if (!Queries.exists(connection, name)) {
            List<String> statements = new ArrayList<>(List.of("CREATE TABLE " + name + " (" + columns + ")"));
            statements.addAll(List.of(more));
            Queries.execute(connection, statements);
        }
    }

    private void fill(Connection connection, String name, Loading progress, long all) throws SQLException {
        int there = Queries.ids(connection, name, rows);
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + name + " VALUES (?, 0)")) {
            for (int id = there; id < rows; id++) {
                insert.setInt(1, id);
                insert.addBatch();
                if ((id + 1) % ROWS_PER_TRANSACTION == 0 || id + 1 == rows) {
                    insert.executeBatch();
                    connection.commit();
                    progress.loaded(id + 1, all);
                }
            }
        }
    }

    /** The rows of a left one are there together or not at all. */
    private void fillProduct(Connection connection, Loading progress, long all) throws SQLException {
        long there = loaded(connection);
        if (there % rows != 0 || there > (long) rows * rows) {
            throw new BenchException("table " + product + " has " + there
                    + " rows of those that were loaded but must have " + (long) rows * rows + ": drop it");
        }
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO " + product + " VALUES (?, ?, ?, 0, 0)")) {
            for (int first = Math.toIntExact(there / rows); first < rows; first++) {
                for (int second = 0; second < rows; second++) {
                    insert.setString(1, name(first, second));
                    insert.setInt(2, first);
                    insert.setInt(3, second);
                    insert.addBatch();
                }
                insert.executeBatch();
                connection.commit();
                progress.loaded((first + 1L) * rows + 2L * rows, all);
            }
        }
        connection.commit();
    }

    /** Of the product's row of a pair; transactions have other names. */
    private static String name(int first, int second) {
        return first + " x " + second;
    }

    private long loaded(Connection connection) throws SQLException {
        return Queries.number(connection, "SELECT COUNT(*) FROM " + product + " WHERE extra = 0");
    }

    @Override
    public boolean isLoaded(Connection connection) throws SQLException {
        return Queries.exists(connection, product)
                && Queries.number(
                                connection,
                                "SELECT COUNT(*) FROM " + product + " WHERE name = '" + name(rows - 1, rows - 1) + "'")
                        == 1;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        SplittableRandom random = choices.random();
        int first = random.nextInt(rows);
        int second = random.nextInt(rows);
        int dice = random.nextInt(100);
        if (dice < inserts) {
            insert(connection, choices.name(), first, second);
        } else if (dice < inserts + updates) {
            update(connection, first, second, 1 + random.nextInt(AMOUNT_MAX));
        } else if (dice < inserts + updates + deletes) {
            delete(connection, first);
        } else {
            query(connection, random.nextInt(rows - readSize + 1));
        }
        connection.commit();
    }

    private void insert(Connection connection, String name, int first, int second) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO " + product + " VALUES (?, ?, ?, 0, 1)")) {
            insert.setString(1, name);
            insert.setInt(2, first);
            insert.setInt(3, second);
            insert.executeUpdate();
        }
    }

    private void update(Connection connection, int first, int second, int amount) throws SQLException {
        try (PreparedStatement update =
                connection.prepareStatement("UPDATE " + left + " SET num = num - ? WHERE id = ?")) {
            update.setLong(1, amount);
            update.setInt(2, first);
            Tables.requireOne(update.executeUpdate(), left, first);
        }
        try (PreparedStatement update =
                connection.prepareStatement("UPDATE " + product + " SET num = num + ? WHERE name = ?")) {
            update.setLong(1, amount);
            update.setString(2, name(first, second));
            Tables.requireOne(update.executeUpdate(), product, first);
        }
    }

    /** One that a client has inserted with this left row, if there is any. */
    private void delete(Connection connection, int first) throws SQLException {
        String name;
        try (PreparedStatement select =
                connection.prepareStatement("SELECT MIN(name) FROM " + product + " WHERE left_id = ? AND extra = 1")) {
            select.setInt(1, first);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                name = row.getString(1);
            }
        }
        if (name != null) {
            try (PreparedStatement delete = connection.prepareStatement("DELETE FROM " + product + " WHERE name = ?")) {
                delete.setString(1, name);
                delete.executeUpdate();
            }
        }
    }

    private void query(Connection connection, int from) throws SQLException {
        String text = switch (weight) {
            case "light" -> "SELECT a.id, a.num FROM " + left + " a WHERE a.id >= ? AND a.id < ?";
            case "medium" ->
                "SELECT a.id, a.num, p.right_id, p.num FROM " + left + " a JOIN " + product
                        + " p ON p.left_id = a.id WHERE a.id >= ? AND a.id < ?";
            default ->
                "SELECT a.id, COUNT(*), SUM(p.num), SUM(b.num), MAX(p.name) FROM " + left + " a JOIN "
                        + product + " p ON p.left_id = a.id JOIN " + right
                        + " b ON b.id = p.right_id WHERE a.id >= ? AND a.id < ? GROUP BY a.id";
        };
        try (PreparedStatement select = connection.prepareStatement(text)) {
            select.setInt(1, from);
            select.setInt(2, from + readSize);
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    row.getLong(2);
                }
            }
        }
    }

    @Override
    public Check check(Connection connection) throws SQLException {
        long there = loaded(connection);
        long taken = Queries.number(connection, "SELECT SUM(num) FROM " + left);
        long given = Queries.number(connection, "SELECT SUM(num) FROM " + product);
        return new Check(
                there == (long) rows * rows && taken + given == 0,
                there + " rows of the product of " + (long) rows * rows + " that were loaded, " + given + " given, "
                        + -taken + " taken");
    }
}
