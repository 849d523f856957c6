package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.committed;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.query;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;

/** Of generated keys and batches. */
final class KeyAndBatchBehaviours {

    private static final String KEYED = "INSERT INTO KEYED (NAME) VALUES ('a')";

    private KeyAndBatchBehaviours() {}

    /** Executes something and may have keys of it. */
    private interface Insert {
        Object into(Statement statement) throws Exception;
    }

    /** Makes a statement that gives keys. */
    private interface Prepare {
        PreparedStatement on(Connection connection) throws Exception;
    }

    /** The keys, and whether the last row that was inserted has the last of them. */
    private static String keys(Statement statement) throws Exception {
        ResultSet keys = statement.getGeneratedKeys();
        if (keys == null) {
            return "no keys";
        }
        int count = 0;
        long last = -1;
        boolean wasNull = false;
        try (keys) {
            while (keys.next()) {
                count++;
                last = keys.getLong(1);
                wasNull = keys.wasNull();
            }
        }
        String found = query(statement.getConnection(), "SELECT ID - " + last + ", NAME FROM KEYED ORDER BY ID");
        return count + (wasNull ? " null " : " keys ") + found;
    }

    private static void key(List<Behaviour> all, String name, boolean autoCommit, Insert insert) {
        all.add(new Behaviour("generated keys: " + name + (autoCommit ? "" : ", in a transaction"), (c, side) -> {
            c.setAutoCommit(autoCommit);
            try (Statement statement = c.createStatement()) {
                return attempt(() -> insert.into(statement)) + attempt(() -> keys(statement));
            }
        }));
    }

    private static void preparedKey(List<Behaviour> all, String name, Prepare prepare) {
        all.add(new Behaviour(
                "generated keys: prepared with " + name,
                (c, side) -> attempt(() -> {
                    try (PreparedStatement statement = prepare.on(c)) {
                        return attempts(
                                () -> statement.executeUpdate(),
                                () -> keys(statement),
                                () -> statement.execute(),
                                () -> keys(statement));
                    }
                })));
    }

    static void addTo(List<Behaviour> all) {
        for (boolean autoCommit : new boolean[] {true, false}) {
            key(all, "flag", autoCommit, s -> s.executeUpdate(KEYED, Statement.RETURN_GENERATED_KEYS));
            key(all, "column numbers", autoCommit, s -> s.executeUpdate(KEYED, new int[] {1}));
            key(all, "column names", autoCommit, s -> s.executeUpdate(KEYED, new String[] {"ID"}));
            key(
                    all,
                    "several rows",
                    autoCommit,
                    s -> s.executeUpdate(
                            "INSERT INTO KEYED (NAME) VALUES ('a'), ('b')", Statement.RETURN_GENERATED_KEYS));
            batches(all, autoCommit);
        }
        batch(all, "of procedures", false, (c, side) -> {
            try (PreparedStatement call = c.prepareCall("CALL ADD_ITEM(?)")) {
                for (int id : new int[] {4, 1, 5}) {
                    call.setInt(1, id);
                    call.addBatch();
                }
                return attempt(call::executeBatch);
            }
        });
        key(all, "by execute", true, s -> s.execute(KEYED, Statement.RETURN_GENERATED_KEYS));
        key(all, "by execute with column numbers", true, s -> s.execute(KEYED, new int[] {1}));
        key(all, "by execute with column names", true, s -> s.execute(KEYED, new String[] {"ID"}));
        key(all, "by executeLargeUpdate", true, s -> s.executeLargeUpdate(KEYED, Statement.RETURN_GENERATED_KEYS));
        key(all, "not wanted", true, s -> s.executeUpdate(KEYED, Statement.NO_GENERATED_KEYS));
        key(all, "not asked for", true, s -> s.executeUpdate(KEYED));
        key(all, "bad flag", true, s -> s.executeUpdate(KEYED, 99));
        key(all, "bad column number", true, s -> s.executeUpdate(KEYED, new int[] {9}));
        key(all, "column that is not generated", true, s -> s.executeUpdate(KEYED, new int[] {2}));
        key(all, "bad column name", true, s -> s.executeUpdate(KEYED, new String[] {"NOTHING"}));
        key(all, "lower-case column name", true, s -> s.executeUpdate(KEYED, new String[] {"id"}));
        key(all, "two columns", true, s -> s.executeUpdate(KEYED, new String[] {"ID", "NAME"}));
        key(
                all,
                "of an update",
                true,
                s -> s.executeUpdate("UPDATE KEYED SET NAME = 'x'", Statement.RETURN_GENERATED_KEYS));
        key(all, "of a query", true, s -> s.execute("VALUES 1", Statement.RETURN_GENERATED_KEYS));
        key(
                all,
                "of a table without any",
                true,
                s -> s.executeUpdate("INSERT INTO ITEM (ID) VALUES (4)", Statement.RETURN_GENERATED_KEYS));
        preparedKey(all, "flag", c -> c.prepareStatement(KEYED, Statement.RETURN_GENERATED_KEYS));
        preparedKey(all, "column numbers", c -> c.prepareStatement(KEYED, new int[] {1}));
        preparedKey(all, "column names", c -> c.prepareStatement(KEYED, new String[] {"ID"}));
        preparedKey(all, "bad column name", c -> c.prepareStatement(KEYED, new String[] {"NOTHING"}));
        all.add(new Behaviour("generated keys: their metadata and statement", (c, side) -> {
            try (Statement statement = c.createStatement()) {
                statement.executeUpdate(KEYED, Statement.RETURN_GENERATED_KEYS);
                ResultSet keys = statement.getGeneratedKeys();
                return MetaDataBehaviours.columns(keys.getMetaData())
                        + attempts(() -> keys.getStatement() == statement, keys::getType, keys::getHoldability);
            }
        }));
        all.add(new Behaviour("generated keys: with rows that end with the transaction", (c, side) -> {
            c.setHoldability(ResultSet.CLOSE_CURSORS_AT_COMMIT);
            try (Statement statement = c.createStatement()) {
                statement.executeUpdate(KEYED, Statement.RETURN_GENERATED_KEYS);
                return attempt(() -> keys(statement));
            }
        }));
        all.add(new Behaviour("generated keys: IDENTITY_VAL_LOCAL", (c, side) -> {
            Seen.update(c, KEYED);
            return query(c, "SELECT ID - IDENTITY_VAL_LOCAL() FROM KEYED");
        }));
    }

    private static void batch(List<Behaviour> all, String name, boolean autoCommit, Behaviour.Body body) {
        all.add(new Behaviour("batch: " + name + (autoCommit ? "" : ", in a transaction"), (c, side) -> {
            c.setAutoCommit(autoCommit);
            Object seen = body.observe(c, side);
            if (!autoCommit) {
                c.commit();
            }
            return seen + " " + committed(side);
        }));
    }

    private static Object statements(Connection connection, String... batch) throws Exception {
        try (Statement statement = connection.createStatement()) {
            for (String sql : batch) {
                statement.addBatch(sql);
            }
            return attempts(statement::executeBatch, statement::executeBatch);
        }
    }

    private static Object items(Connection connection, int... ids) throws Exception {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO ITEM (ID, NAME) VALUES (?, ?)")) {
            for (int id : ids) {
                insert.setInt(1, id);
                insert.setString(2, "n" + id);
                insert.addBatch();
            }
            return attempts(insert::executeBatch, insert::executeBatch);
        }
    }

    private static void batches(List<Behaviour> all, boolean autoCommit) {
        batch(
                all,
                "statements",
                autoCommit,
                (c, side) -> statements(
                        c,
                        "INSERT INTO ITEM (ID) VALUES (4)",
                        "UPDATE ITEM SET PRICE = 7",
                        "DELETE FROM ITEM WHERE ID = 99"));
        batch(
                all,
                "a statement in the middle fails",
                autoCommit,
                (c, side) -> statements(
                        c,
                        "INSERT INTO ITEM (ID) VALUES (4)",
                        "INSERT INTO ITEM (ID) VALUES (1)",
                        "INSERT INTO ITEM (ID) VALUES (5)"));
        batch(
                all,
                "the first statement fails",
                autoCommit,
                (c, side) -> statements(c, "INSERT INTO ITEM (ID) VALUES (1)", "INSERT INTO ITEM (ID) VALUES (5)"));
        batch(
                all,
                "the last statement fails",
                autoCommit,
                (c, side) -> statements(c, "INSERT INTO ITEM (ID) VALUES (5)", "INSERT INTO ITEM (ID) VALUES (1)"));
        batch(
                all,
                "a statement with a bad syntax",
                autoCommit,
                (c, side) -> statements(
                        c, "INSERT INTO ITEM (ID) VALUES (5)", "INSERT NOTHING", "INSERT INTO ITEM (ID) VALUES (6)"));
        batch(
                all,
                "with a query",
                autoCommit,
                (c, side) -> statements(
                        c,
                        "INSERT INTO ITEM (ID) VALUES (5)",
                        "SELECT * FROM ITEM",
                        "INSERT INTO ITEM (ID) VALUES (6)"));
        batch(
                all,
                "with a procedure",
                autoCommit,
                (c, side) -> statements(c, "CALL ADD_ITEM(5)", "INSERT INTO ITEM (ID) VALUES (6)"));
        batch(all, "prepared", autoCommit, (c, side) -> items(c, 4, 5, 6));
        batch(all, "prepared, one in the middle fails", autoCommit, (c, side) -> items(c, 4, 1, 5));
        batch(all, "prepared, two fail", autoCommit, (c, side) -> items(c, 1, 4, 2));
        batch(all, "empty", autoCommit, (c, side) -> List.of(statements(c), items(c)));
        batch(all, "large counts", autoCommit, (c, side) -> {
            try (Statement statement = c.createStatement()) {
                statement.addBatch("UPDATE ITEM SET PRICE = 7");
                return attempts(statement::executeLargeBatch);
            }
        });
        batch(all, "cleared", autoCommit, (c, side) -> {
            try (Statement statement = c.createStatement()) {
                statement.addBatch("DELETE FROM PART");
                statement.clearBatch();
                return attempt(statement::executeBatch) + query(c, "SELECT COUNT(*) FROM PART");
            }
        });
        batch(all, "prepared, a parameter is missing", autoCommit, (c, side) -> {
            try (PreparedStatement insert = c.prepareStatement("INSERT INTO ITEM (ID, NAME) VALUES (?, ?)")) {
                insert.setInt(1, 4);
                return attempts(doing(insert::addBatch), insert::executeBatch);
            }
        });
        batch(all, "another statement is not disturbed", autoCommit, (c, side) -> {
            try (Statement reads = c.createStatement();
                    ResultSet rows = reads.executeQuery("SELECT ID FROM FIXED ORDER BY ID")) {
                rows.next();
                Object seen = items(c, 4, 5);
                return seen + attempt(rows::next) + attempt(() -> rows.getInt(1));
            }
        });
    }
}
