package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.committed;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.items;
import static org.gorda.replicator.node.behaviours.Seen.query;
import static org.gorda.replicator.node.behaviours.Seen.update;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;

/** Of commits, rollbacks, savepoints and errors within transactions. */
final class TransactionBehaviours {

    private static final String FOUR = "INSERT INTO ITEM VALUES (4, 'four', 4)";
    private static final String FIVE = "INSERT INTO ITEM VALUES (5, 'five', 5)";

    private TransactionBehaviours() {}

    private static void error(List<Behaviour> all, String name, String sql) {
        all.add(new Behaviour("error: " + name, (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            String seen = attempt(() -> update(c, sql));
            c.commit();
            return seen + committed(side);
        }));
    }

    /** What rows of one statement are when another commits. */
    private static String rowsAcrossCommit(Connection c, int type, int holdability, Seen.Action commits)
            throws Exception {
        try (Statement statement = c.createStatement(type, ResultSet.CONCUR_READ_ONLY, holdability);
                ResultSet rows = statement.executeQuery("SELECT ID, NAME FROM FIXED ORDER BY ID")) {
            rows.next();
            commits.run();
            return attempts(
                    rows::isClosed, () -> rows.getString(2), rows::next, () -> rows.getInt(1), doing(rows::close));
        }
    }

    static void addTo(List<Behaviour> all) {
        all.add(new Behaviour("transaction: commit keeps", (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            c.commit();
            return committed(side);
        }));
        all.add(new Behaviour("transaction: rollback undoes", (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            String within = items(c);
            c.rollback();
            return within + committed(side);
        }));
        all.add(new Behaviour("transaction: commit and rollback in autocommit mode", (c, side) -> {
            update(c, FOUR);
            return attempts(doing(c::commit), doing(() -> c.rollback()), () -> committed(side));
        }));
        all.add(new Behaviour("transaction: autocommit set on commits", (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            c.setAutoCommit(true);
            return c.getAutoCommit() + committed(side);
        }));
        all.add(new Behaviour("transaction: autocommit set off again does not commit", (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            c.setAutoCommit(false);
            c.rollback();
            return committed(side);
        }));
        all.add(new Behaviour("transaction: an empty one commits and rolls back", (c, side) -> {
            c.setAutoCommit(false);
            return attempts(doing(c::commit), doing(() -> c.rollback()), doing(c::commit));
        }));
        all.add(new Behaviour("transaction: closing a statement does not commit", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement()) {
                statement.executeUpdate(FOUR);
            }
            c.rollback();
            return committed(side);
        }));
        all.add(new Behaviour("transaction: schema changes roll back", (c, side) -> {
            c.setAutoCommit(false);
            update(c, "CREATE TABLE PASSING (ID INTEGER NOT NULL PRIMARY KEY)");
            update(c, "INSERT INTO PASSING VALUES (1)");
            c.rollback();
            return attempt(() -> query(c, "SELECT * FROM PASSING"));
        }));
        all.add(new Behaviour("transaction: schema changes count nothing", (c, side) -> {
            try (Statement statement = c.createStatement()) {
                return attempts(
                        () -> statement.executeUpdate("CREATE TABLE PASSING (ID INTEGER NOT NULL PRIMARY KEY)"),
                        () -> statement.execute("ALTER TABLE PASSING ADD COLUMN A INTEGER"),
                        statement::getUpdateCount,
                        () -> statement.executeUpdate("DROP TABLE PASSING"));
            }
        }));
        savepoints(all);
        rows(all);
        error(all, "duplicate key", "INSERT INTO ITEM VALUES (1, 'x', 1)");
        error(
                all,
                "duplicate in a later row undoes the statement",
                "INSERT INTO ITEM VALUES (7, 'x', 1), (8, 'one', 1)");
        error(all, "missing parent", "INSERT INTO PART VALUES (11, 99)");
        error(all, "child left behind", "DELETE FROM ITEM WHERE ID = 1");
        error(all, "check", "UPDATE ITEM SET PRICE = -1");
        error(all, "not null", "INSERT INTO ITEM (NAME) VALUES ('x')");
        error(all, "truncation", "UPDATE ITEM SET NAME = 'much longer than twenty characters'");
        error(all, "overflow", "UPDATE ITEM SET PRICE = 12345678901");
        error(all, "division by zero", "UPDATE ITEM SET PRICE = 1 / (ID - 1)");
        error(all, "no number", "UPDATE ITEM SET PRICE = CAST(NAME AS INTEGER)");
        error(all, "syntax", "INSERT ITEM INTO VALUES");
        error(all, "unknown table", "DELETE FROM NOWHERE");
        error(all, "unknown column", "UPDATE ITEM SET NOTHING = 1");
        error(all, "unknown function", "UPDATE ITEM SET NAME = NOTHING(1)");
        error(all, "table that exists", "CREATE TABLE ITEM (ID INTEGER)");
        error(all, "identity that is always generated", "INSERT INTO KEYED VALUES (1, 'x')");
        error(all, "subquery of two rows", "UPDATE ITEM SET NAME = (SELECT NAME FROM ITEM)");
        all.add(new Behaviour("error: in autocommit mode undoes its statement only", (c, side) -> {
            update(c, FOUR);
            return attempts(
                    () -> update(c, "INSERT INTO ITEM VALUES (5, 'five', 5), (4, 'x', 1)"),
                    () -> update(c, "INSERT INTO ITEM VALUES (6, 'six', 6)"),
                    () -> committed(side));
        }));
        all.add(new Behaviour("error: which constraint is told", (c, side) -> {
            try {
                return update(c, "INSERT INTO PART VALUES (11, 99)");
            } catch (SQLException e) {
                return e.getMessage().contains("PART_ITEM");
            }
        }));
    }

    private static void savepoints(List<Behaviour> all) {
        all.add(new Behaviour("savepoint: rolled back to", (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            Savepoint savepoint = c.setSavepoint();
            update(c, FIVE);
            c.rollback(savepoint);
            c.commit();
            return committed(side);
        }));
        all.add(new Behaviour("savepoint: nested, the outer one takes the inner one with it", (c, side) -> {
            c.setAutoCommit(false);
            Savepoint outer = c.setSavepoint("outer");
            update(c, FOUR);
            String seen = attempt(() -> {
                Savepoint inner = c.setSavepoint("inner");
                update(c, FIVE);
                c.rollback(outer);
                return attempt(() -> c.rollback(inner));
            });
            c.commit();
            return seen + committed(side);
        }));
        all.add(new Behaviour("savepoint: name and number", (c, side) -> {
            c.setAutoCommit(false);
            Savepoint named = c.setSavepoint("named");
            String seen = attempts(named::getSavepointName, named::getSavepointId);
            c.rollback();
            Savepoint unnamed = c.setSavepoint();
            return seen + attempts(unnamed::getSavepointName, () -> unnamed.getSavepointId() > 0);
        }));
        all.add(new Behaviour("savepoint: released", (c, side) -> {
            c.setAutoCommit(false);
            Savepoint savepoint = c.setSavepoint();
            update(c, FOUR);
            c.releaseSavepoint(savepoint);
            String seen = attempts(doing(() -> c.rollback(savepoint)), doing(() -> c.releaseSavepoint(savepoint)));
            c.commit();
            return seen + committed(side);
        }));
        all.add(new Behaviour("savepoint: gone with the transaction", (c, side) -> {
            c.setAutoCommit(false);
            Savepoint savepoint = c.setSavepoint();
            update(c, FOUR);
            c.commit();
            return attempt(() -> c.rollback(savepoint)) + committed(side);
        }));
        all.add(new Behaviour(
                "savepoint: none in autocommit mode",
                (c, side) -> attempts(c::setSavepoint, () -> c.setSavepoint("x"))));
        all.add(new Behaviour("savepoint: null, another's, a second of the same name", (c, side) -> {
            c.setAutoCommit(false);
            try (Connection other = side.connect()) {
                other.setAutoCommit(false);
                Savepoint others = other.setSavepoint();
                String seen = attempts(
                        doing(() -> c.rollback(null)),
                        doing(() -> c.rollback(others)),
                        () -> c.setSavepoint(null),
                        doing(() -> c.releaseSavepoint(null)),
                        () -> c.setSavepoint("one") != null,
                        () -> c.setSavepoint("one") != null);
                other.rollback();
                return seen;
            }
        }));
        all.add(new Behaviour("savepoint: by SQL", (c, side) -> {
            c.setAutoCommit(false);
            update(c, FOUR);
            update(c, "SAVEPOINT S ON ROLLBACK RETAIN CURSORS");
            update(c, FIVE);
            update(c, "ROLLBACK TO SAVEPOINT S");
            update(c, "RELEASE SAVEPOINT S");
            c.commit();
            return committed(side);
        }));
        all.add(new Behaviour("savepoint: holds after a failed statement", (c, side) -> {
            c.setAutoCommit(false);
            Savepoint savepoint = c.setSavepoint();
            update(c, FOUR);
            String failed = attempt(() -> update(c, FOUR));
            c.rollback(savepoint);
            update(c, FIVE);
            c.commit();
            return failed + committed(side);
        }));
    }

    private static void rows(List<Behaviour> all) {
        for (int type : new int[] {ResultSet.TYPE_FORWARD_ONLY, ResultSet.TYPE_SCROLL_INSENSITIVE}) {
            String kind = type == ResultSet.TYPE_FORWARD_ONLY ? "forward" : "scrollable";
            all.add(new Behaviour("rows across a commit: held, " + kind, (c, side) -> {
                c.setAutoCommit(false);
                return rowsAcrossCommit(c, type, ResultSet.HOLD_CURSORS_OVER_COMMIT, () -> {
                    update(c, FOUR);
                    c.commit();
                });
            }));
            all.add(new Behaviour("rows across a commit: not held, " + kind, (c, side) -> {
                c.setAutoCommit(false);
                return rowsAcrossCommit(c, type, ResultSet.CLOSE_CURSORS_AT_COMMIT, () -> {
                    update(c, FOUR);
                    c.commit();
                });
            }));
            all.add(new Behaviour("rows across a rollback: held, " + kind, (c, side) -> {
                c.setAutoCommit(false);
                return rowsAcrossCommit(c, type, ResultSet.HOLD_CURSORS_OVER_COMMIT, () -> {
                    update(c, FOUR);
                    c.rollback();
                });
            }));
            all.add(new Behaviour(
                    "rows across another statement in autocommit mode: held, " + kind,
                    (c, side) -> rowsAcrossCommit(c, type, ResultSet.HOLD_CURSORS_OVER_COMMIT, () -> update(c, FOUR))));
            all.add(new Behaviour(
                    "rows across another statement in autocommit mode: not held, " + kind,
                    (c, side) -> rowsAcrossCommit(c, type, ResultSet.CLOSE_CURSORS_AT_COMMIT, () -> update(c, FOUR))));
        }
        all.add(new Behaviour("rows across autocommit set on", (c, side) -> {
            c.setAutoCommit(false);
            return rowsAcrossCommit(c, ResultSet.TYPE_FORWARD_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT, () -> {
                update(c, FOUR);
                c.setAutoCommit(true);
            });
        }));
        all.add(new Behaviour("rows of two statements at once", (c, side) -> {
            try (PreparedStatement first = c.prepareStatement("SELECT ID FROM ITEM ORDER BY ID");
                    PreparedStatement second = c.prepareStatement("SELECT ID FROM ITEM ORDER BY ID DESC");
                    ResultSet up = first.executeQuery();
                    ResultSet down = second.executeQuery()) {
                up.next();
                down.next();
                String seen = up.getInt(1) + " " + down.getInt(1);
                up.next();
                down.next();
                return seen + " " + up.getInt(1) + " " + down.getInt(1);
            }
        }));
    }
}
