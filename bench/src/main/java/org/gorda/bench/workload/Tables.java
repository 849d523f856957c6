package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongUnaryOperator;

/**
 * Several tables of so many rows of such a width. Each row has an {@code id} from 0, a number {@code num}, how much has been added to it
 * in {@code changes}, and a {@code payload}. In each table the sum of {@code num} less that of {@code changes} stays what it was: a
 * transaction either adds the same to both, or adds to one row's number what it takes from others'. Tables of other shapes have other
 * names, so that runs with several values of a parameter do not meet. Thread-safe.
 */
final class Tables implements MicroScenario.Content {

    private static final int ROWS_PER_TRANSACTION = 1_000;
    private static final int BYTES_PER_TRANSACTION = 10_000_000;

    private final List<String> names = new ArrayList<>();
    private final int rows;
    private final Datatype datatype;
    private final int width;
    private final LongUnaryOperator firstNumber;
    private final List<String> indexes;

    /**
     * With a row's number first its id.
     *
     * @param values of {@link #parameters}
     */
    Tables(String prefix, Parameters values) {
        this(
                prefix,
                values.number("tables"),
                values.number("datarows"),
                Datatype.of(values),
                values.number("datawidth"),
                id -> id,
                false);
    }

    /**
     * With other numbers at first.
     *
     * @param firstNumber of a row by its id, whose sum must be that of the ids
     * @param indexed whether numbers have an index
     */
    Tables(
            String prefix,
            int tables,
            int rows,
            Datatype datatype,
            int width,
            LongUnaryOperator firstNumber,
            boolean indexed) {
        this.rows = rows;
        this.datatype = datatype;
        this.width = width;
        this.firstNumber = firstNumber;
        for (int table = 0; table < tables; table++) {
            names.add(prefix + "_" + rows + "x" + datatype.word() + width + "_" + table);
        }
        this.indexes = indexed
                ? names.stream()
                        .map(name -> "CREATE INDEX " + name + "_num ON " + name + " (num)")
                        .toList()
                : List.of();
    }

    /** What can be chosen about them, as Bristlecone calls it. */
    static List<Parameter> parameters(int tables, int rows, int width) {
        return List.of(
                Parameter.number("tables", tables, 1, 1_000, "How many tables; a transaction uses one of them."),
                Parameter.number("datarows", rows, 1, 10_000_000, "Of each table."),
                datatype(Datatype.words()),
                datawidth(width));
    }

    static Parameter datatype(List<String> words) {
        return Parameter.word("datatype", "varchar", words, "Of the column that makes rows wide.");
    }

    static Parameter datawidth(int width) {
        return Parameter.number(
                "datawidth",
                width,
                1,
                Datatype.WIDTH_MAX,
                "Its characters or bytes; at most " + Datatype.VARCHAR_MAX + " with varchar.");
    }

    /** One of them. */
    String any(SplittableRandom random) {
        return names.get(random.nextInt(names.size()));
    }

    int rows() {
        return rows;
    }

    /** The first of so many rows in a row. */
    int first(SplittableRandom random, int count) {
        return random.nextInt(Math.max(1, rows - count + 1));
    }

    /** @throws BenchException if more rows are selected than there are */
    int selected(Parameters values) {
        return atMostAllRows(values, "select-rows");
    }

    /** @throws BenchException if the number is more than there are rows */
    int atMostAllRows(Parameters values, String parameter) {
        int count = values.number(parameter);
        if (count > rows) {
            throw new BenchException(parameter + " is " + count + " but must be 1 to " + rows + ", the rows there are");
        }
        return count;
    }

    /** Goes on where it was interrupted. */
    @Override
    public void load(Connection connection, Workload.Loading progress) throws SQLException {
        connection.setAutoCommit(false);
        for (int table = 0; table < names.size(); table++) {
            String name = names.get(table);
            if (!Queries.exists(connection, name)) {
                List<String> statements = new ArrayList<>();
                statements.add("CREATE TABLE " + name + " (id INTEGER NOT NULL PRIMARY KEY, num BIGINT NOT NULL,"
                        + " changes BIGINT NOT NULL, payload " + datatype.sql(connection, width) + " NOT NULL)");
                if (!indexes.isEmpty()) {
                    statements.add(indexes.get(table));
                }
                Queries.execute(connection, statements);
            }
            fill(connection, name, (long) table * rows, progress);
        }
        connection.commit();
    }

    /** Rows come in the order of their ids. */
    private void fill(Connection connection, String name, long before, Workload.Loading progress) throws SQLException {
        int there = Queries.ids(connection, name, rows);
        int perTransaction = Math.max(1, Math.min(ROWS_PER_TRANSACTION, BYTES_PER_TRANSACTION / width));
        String payload = "x".repeat(width);
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + name + " VALUES (?, ?, 0, ?)")) {
            for (int id = there; id < rows; id++) {
                insert.setInt(1, id);
                insert.setLong(2, firstNumber.applyAsLong(id));
                datatype.set(insert, 3, payload);
                insert.addBatch();
                if ((id + 1) % perTransaction == 0 || id + 1 == rows) {
                    insert.executeBatch();
                    connection.commit();
                    progress.loaded(before + id + 1, (long) rows * names.size());
                }
            }
        }
    }

    /** The last row is there, and so are those before it. */
    @Override
    public boolean isLoaded(Connection connection) throws SQLException {
        String last = names.get(names.size() - 1);
        return Queries.exists(connection, last)
                && Queries.number(connection, "SELECT COUNT(*) FROM " + last + " WHERE id = " + (rows - 1)) == 1;
    }

    @Override
    public Workload.Check check(Connection connection) throws SQLException {
        long expected = (long) rows * (rows - 1) / 2;
        for (String name : names) {
            long count = Queries.count(connection, name);
            long sum = Queries.number(connection, "SELECT SUM(num) - SUM(changes) FROM " + name);
            if (count != rows || sum != expected) {
                return new Workload.Check(
                        false,
                        name + " has " + count + " rows of " + rows + ", numbers less changes " + sum + " of "
                                + expected);
            }
        }
        return new Workload.Check(
                true,
                (names.size() == 1 ? "1 table" : names.size() + " tables") + " of " + rows
                        + " rows, numbers less changes " + expected + (names.size() == 1 ? "" : " in each"));
    }

    /** Fetches all rows of a query to the end, each with its payload in a column. */
    long fetch(Statement statement, String query, int payload) throws SQLException {
        long count = 0;
        try (ResultSet all = statement.executeQuery(query)) {
            while (all.next()) {
                if (datatype.length(all, payload) != width) {
                    throw new BenchException("a payload is not " + width + " long: " + query);
                }
                count++;
            }
        }
        return count;
    }

    /** Adds to a row. */
    static void add(Connection connection, String table, int id, long number, long changes) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement(
                "UPDATE " + table + " SET num = num + ?, changes = changes + ? WHERE id = ?")) {
            update.setLong(1, number);
            update.setLong(2, changes);
            update.setInt(3, id);
            requireOne(update.executeUpdate(), table, id);
        }
    }

    /** @throws BenchException if it was not one row that was changed or found */
    static void requireOne(long count, String table, int id) {
        if (count != 1) {
            throw new BenchException(count + " rows with id " + id + " in " + table);
        }
    }

    /** Reads a row's number. */
    static long number(Connection connection, String table, int id) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement("SELECT num FROM " + table + " WHERE id = ?")) {
            select.setInt(1, id);
            try (ResultSet row = select.executeQuery()) {
                requireOne(row.next() ? 1 : 0, table, id);
                return row.getLong(1);
            }
        }
    }

    /** So many numbers, the first of which makes their sum 0. */
    static long[] sumZero(SplittableRandom random, int count) {
        long[] numbers = new long[count];
        for (int i = 1; i < count; i++) {
            numbers[i] = random.nextInt(-1_000, 1_001);
            numbers[0] -= numbers[i];
        }
        return numbers;
    }
}
