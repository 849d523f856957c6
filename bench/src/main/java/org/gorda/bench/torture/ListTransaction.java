package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Reads lists and appends to them, each found by its key. Confined to the client's thread until it has ended. */
final class ListTransaction extends Operation {

    /** One of its actions. Confined as the transaction is. */
    abstract static sealed class Step {
        final int key;

        Step(int key) {
            this.key = key;
        }

        abstract void run(Connection connection) throws SQLException;

        abstract String value(boolean ended);
    }

    /** Puts a value at the end of a list, which is made if it is not there. */
    static final class Append extends Step {
        final int value;

        Append(int key, int value) {
            super(key);
            this.value = value;
        }

        @Override
        void run(Connection connection) throws SQLException {
            String text = "," + value;
            try (PreparedStatement update =
                    connection.prepareStatement("UPDATE LISTS SET ELEMENTS = ELEMENTS || ? WHERE ID = ?")) {
                update.setString(1, text);
                update.setInt(2, key);
                if (update.executeUpdate() == 1) {
                    return;
                }
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO LISTS VALUES (?, ?, ?)")) {
                insert.setInt(1, key);
                insert.setInt(2, key);
                insert.setString(3, text);
                insert.executeUpdate();
            }
        }

        @Override
        String value(boolean ended) {
            return "[:append " + key + " " + value + "]";
        }
    }

    /** Reads a list. */
    static final class Read extends Step {
        private final boolean bySecondary;
        int @Nullable [] seen;

        /** @param bySecondary whether by a column that is not the primary key */
        Read(int key, boolean bySecondary) {
            super(key);
            this.bySecondary = bySecondary;
        }

        @Override
        void run(Connection connection) throws SQLException {
            String column = bySecondary ? "ALSO_ID" : "ID";
            try (PreparedStatement select =
                    connection.prepareStatement("SELECT ELEMENTS FROM LISTS WHERE " + column + " = ?")) {
                select.setInt(1, key);
                try (ResultSet rows = select.executeQuery()) {
                    seen = rows.next() ? elements(rows.getString(1)) : new int[0];
                }
            }
        }

        @Override
        String value(boolean ended) {
            int[] list = seen;
            return "[:r " + key + " "
                    + (ended && list != null
                            ? IntStream.of(list).mapToObj(String::valueOf).collect(Collectors.joining(" ", "[", "]"))
                            : "nil")
                    + "]";
        }
    }

    private final List<Step> steps;

    ListTransaction(Isolation isolation, boolean readOnly, List<Step> steps) {
        super(isolation, readOnly);
        this.steps = List.copyOf(steps);
    }

    /** What a list's row holds: a comma before each element. */
    static int[] elements(String text) {
        return Pattern.compile(",")
                .splitAsStream(text.substring(1))
                .mapToInt(Integer::parseInt)
                .toArray();
    }

    List<Step> steps() {
        return steps;
    }

    @Override
    boolean changes() {
        return steps.stream().anyMatch(Append.class::isInstance);
    }

    @Override
    void run(Connection connection) throws SQLException {
        for (Step step : steps) {
            step.run(connection);
        }
    }

    @Override
    String function() {
        return "txn";
    }

    @Override
    String value(boolean ended) {
        return steps.stream().map(step -> step.value(ended)).collect(Collectors.joining(" ", "[", "]"));
    }
}
