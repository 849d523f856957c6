package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.committed;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.items;
import static org.gorda.replicator.node.behaviours.Seen.warnings;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;

/** Of rows that are changed where they are read. */
@SuppressWarnings("try") // closed before the end, to see what that does
final class UpdatableBehaviours {

    private static final String ITEMS = "SELECT ID, NAME, PRICE FROM ITEM";

    private UpdatableBehaviours() {}

    /** Uses rows of a connection. */
    private interface Use {
        Object of(Connection connection, ResultSet rows) throws Exception;
    }

    /** In a transaction and in autocommit mode, forwards and scrolling. */
    private static void updatable(List<Behaviour> all, String name, Use use) {
        for (boolean autoCommit : new boolean[] {true, false}) {
            for (int type : new int[] {ResultSet.TYPE_FORWARD_ONLY, ResultSet.TYPE_SCROLL_INSENSITIVE}) {
                String kind = (type == ResultSet.TYPE_FORWARD_ONLY ? "forward" : "scrollable")
                        + (autoCommit ? "" : ", in a transaction");
                all.add(new Behaviour("updatable rows: " + name + ", " + kind, (c, side) -> {
                    c.setAutoCommit(autoCommit);
                    Object seen;
                    try (Statement statement = c.createStatement(type, ResultSet.CONCUR_UPDATABLE);
                            ResultSet rows = statement.executeQuery(ITEMS)) {
                        seen = use.of(c, rows);
                    }
                    if (!autoCommit) {
                        c.commit();
                    }
                    return seen + " " + committed(side);
                }));
            }
        }
    }

    static void addTo(List<Behaviour> all) {
        updatable(all, "updated", (c, r) -> {
            r.next();
            r.updateString(2, "uno");
            r.updateBigDecimal("PRICE", new BigDecimal("7.77"));
            r.updateRow();
            return attempts(r::rowUpdated, () -> r.getString(2), r::next, () -> r.getInt(1));
        });
        updatable(all, "all updated", (c, r) -> {
            int count = 0;
            while (r.next()) {
                r.updateInt(3, r.getInt(1) * 10);
                r.updateRow();
                count++;
            }
            return count;
        });
        updatable(all, "deleted", (c, r) -> {
            r.next();
            r.next();
            r.deleteRow();
            return attempts(r::rowDeleted, () -> r.getString(2), r::next, () -> r.getInt(1));
        });
        updatable(all, "inserted", (c, r) -> {
            r.moveToInsertRow();
            r.updateInt(1, 9);
            r.updateString(2, "nine");
            r.insertRow();
            r.moveToCurrentRow();
            return attempts(r::rowInserted, r::next, () -> r.getInt(1));
        });
        updatable(all, "update cancelled", (c, r) -> {
            r.next();
            r.updateString(2, "uno");
            r.cancelRowUpdates();
            return attempts(() -> r.getString(2), doing(r::updateRow));
        });
        updatable(all, "update fails", (c, r) -> {
            r.next();
            r.updateString(2, "two");
            return attempts(doing(r::updateRow), r::next, () -> r.getInt(1));
        });
        updatable(all, "set to NULL", (c, r) -> {
            r.next();
            r.updateNull(3);
            r.updateRow();
            r.next();
            return attempts(doing(() -> r.updateNull(1)), doing(r::updateRow));
        });
        updatable(
                all,
                "wrong moments",
                (c, r) -> attempts(
                        doing(r::updateRow),
                        doing(r::insertRow),
                        doing(() -> r.updateString(2, "x")),
                        r::next,
                        doing(() -> r.updateString(9, "x")),
                        doing(r::refreshRow),
                        doing(r::insertRow),
                        doing(r::moveToInsertRow),
                        doing(r::updateRow),
                        doing(r::deleteRow),
                        doing(r::moveToCurrentRow)));
        all.add(new Behaviour("updatable rows: rolled back", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement =
                            c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery(ITEMS)) {
                rows.next();
                rows.updateString(2, "uno");
                rows.updateRow();
                c.rollback();
                return attempt(rows::next) + items(c);
            }
        }));
        all.add(new Behaviour("updatable rows: changed after a commit", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery(ITEMS)) {
                rows.next();
                rows.updateString(2, "uno");
                rows.updateRow();
                c.commit();
                String seen = attempts(doing(() -> rows.updateString(2, "eins")), doing(rows::updateRow), rows::next);
                rows.updateString(2, "due");
                rows.updateRow();
                c.commit();
                return seen + committed(side);
            }
        }));
        all.add(new Behaviour("updatable rows: not held, in autocommit mode", (c, side) -> {
            try (Statement statement = c.createStatement(
                            ResultSet.TYPE_FORWARD_ONLY,
                            ResultSet.CONCUR_UPDATABLE,
                            ResultSet.CLOSE_CURSORS_AT_COMMIT);
                    ResultSet rows = statement.executeQuery(ITEMS)) {
                rows.next();
                rows.updateString(2, "uno");
                String seen = attempts(doing(rows::updateRow), rows::isClosed, rows::next);
                rows.close();
                return seen + committed(side);
            }
        }));
        all.add(new Behaviour("updatable rows: of a read-only query", (c, side) -> {
            try (Statement statement = c.createStatement();
                    ResultSet rows = statement.executeQuery(ITEMS)) {
                rows.next();
                return attempts(
                        doing(() -> rows.updateString(2, "x")),
                        doing(rows::updateRow),
                        doing(rows::deleteRow),
                        doing(rows::moveToInsertRow),
                        rows::rowUpdated);
            }
        }));
        all.add(new Behaviour("updatable rows: of a query that cannot be", (c, side) -> {
            try (Statement statement = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery(ITEMS + " ORDER BY ID")) {
                rows.next();
                return rows.getConcurrency()
                        + warnings(statement.getWarnings())
                        + warnings(rows.getWarnings())
                        + attempt(() -> rows.updateString(2, "x"));
            }
        }));
        all.add(new Behaviour("updatable rows: of a join", (c, side) -> {
            try (Statement statement = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery("SELECT I.ID, P.ID FROM ITEM I, PART P")) {
                return rows.getConcurrency() + warnings(rows.getWarnings());
            }
        }));
        all.add(new Behaviour("updatable rows: all kinds of values", (c, side) -> {
            c.setAutoCommit(false);
            Seen.update(c, "INSERT INTO KINDS (ID) VALUES (1)");
            try (Statement statement = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet r = statement.executeQuery("SELECT * FROM KINDS")) {
                r.next();
                String seen = attempts(
                        doing(() -> r.updateShort("SM", (short) 1)),
                        doing(() -> r.updateByte("IT", (byte) 2)),
                        doing(() -> r.updateLong("BI", 3)),
                        doing(() -> r.updateFloat("RE", 4.5f)),
                        doing(() -> r.updateDouble("DO", 5.5)),
                        doing(() -> r.updateObject("DE", new BigDecimal("6.25"))),
                        doing(() -> r.updateBoolean("BO", true)),
                        doing(() -> r.updateString("VC", "seven")),
                        doing(() -> r.updateBytes("VB", new byte[] {8})),
                        doing(() -> r.updateDate("DA", java.sql.Date.valueOf("2026-01-02"))),
                        doing(() -> r.updateTime("TI", java.sql.Time.valueOf("03:04:05"))),
                        doing(() ->
                                r.updateTimestamp("TS", java.sql.Timestamp.valueOf("2026-01-02 03:04:05.678901234"))),
                        doing(() -> r.updateObject("NU", 1.5, 1)),
                        doing(() -> r.updateString("SM", "no number")),
                        doing(() -> r.updateRowId("IT", null)),
                        doing(() -> r.updateNString("VC", "x")),
                        doing(r::updateRow));
                return seen + Seen.query(c, "SELECT SM, IT, BI, RE, DO, DE, BO, VC, VB, DA, TI, TS FROM KINDS");
            }
        }));
    }
}
