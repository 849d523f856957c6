package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.doing;

import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;

/** Of rows that are read. */
@SuppressWarnings({"SelfEquals", "EqualsNull", "IdentityBinaryExpression"}) // what drivers make of it
final class RowBehaviours {

    private static final String ITEMS = "SELECT ID, NAME, PRICE FROM ITEM ORDER BY ID";

    private RowBehaviours() {}

    /** Uses rows. */
    private interface Use {
        Object of(ResultSet rows) throws Exception;
    }

    private static void forward(List<Behaviour> all, String name, String sql, Use use) {
        rows(all, "rows: " + name, ResultSet.TYPE_FORWARD_ONLY, sql, use);
    }

    private static void scrollable(List<Behaviour> all, String name, Use use) {
        rows(all, "scrollable rows: " + name, ResultSet.TYPE_SCROLL_INSENSITIVE, ITEMS, use);
    }

    private static void rows(List<Behaviour> all, String name, int type, String sql, Use use) {
        all.add(new Behaviour(name, (c, side) -> {
            try (Statement statement = c.createStatement(type, ResultSet.CONCUR_READ_ONLY);
                    ResultSet rows = statement.executeQuery(sql)) {
                return use.of(rows);
            }
        }));
    }

    private static void closed(List<Behaviour> all, String name, Use use) {
        forward(all, "closed, " + name, ITEMS, rows -> {
            rows.next();
            rows.close();
            return attempt(() -> use.of(rows));
        });
    }

    static void addTo(List<Behaviour> all) {
        forward(
                all,
                "read before the first and after the last",
                ITEMS,
                r -> attempts(
                        () -> r.getInt(1),
                        r::next,
                        () -> r.getInt(1),
                        r::next,
                        r::next,
                        r::next,
                        r::next,
                        () -> r.getInt(1)));
        forward(all, "columns that there are not", ITEMS, r -> {
            r.next();
            return attempts(
                    () -> r.getInt(0),
                    () -> r.getInt(4),
                    () -> r.getString("NOTHING"),
                    () -> r.findColumn("NOTHING"),
                    () -> r.getString(null));
        });
        forward(
                all,
                "columns by name in any case, first of two",
                "SELECT ID AS A, NAME AS A, PRICE AS \"b\" FROM ITEM ORDER BY 1",
                r -> {
                    r.next();
                    return attempts(
                            () -> r.getString("a"),
                            () -> r.findColumn("A"),
                            () -> r.getString("B"),
                            () -> r.findColumn("b"));
                });
        forward(
                all,
                "where it is",
                ITEMS,
                r -> attempts(
                        r::getRow,
                        r::isBeforeFirst,
                        r::isFirst,
                        r::isLast,
                        r::isAfterLast,
                        r::next,
                        r::getRow,
                        r::isFirst));
        forward(
                all,
                "scrolling is refused",
                ITEMS,
                r -> attempts(
                        r::first,
                        r::last,
                        r::previous,
                        () -> r.absolute(1),
                        () -> r.relative(1),
                        doing(r::beforeFirst),
                        doing(r::afterLast)));
        forward(
                all,
                "kind and settings",
                ITEMS,
                r -> attempts(
                        r::getType,
                        r::getConcurrency,
                        r::getHoldability,
                        r::getFetchSize,
                        r::getFetchDirection,
                        r::getCursorName));
        forward(
                all,
                "settings changed",
                ITEMS,
                r -> attempts(
                        doing(() -> r.setFetchSize(5)),
                        r::getFetchSize,
                        doing(() -> r.setFetchSize(-1)),
                        doing(() -> r.setFetchDirection(ResultSet.FETCH_REVERSE))));
        forward(
                all,
                "its statement",
                ITEMS,
                r -> r.getStatement() == r.getStatement()
                        && r.getStatement().getConnection() == r.getStatement().getConnection()
                        && r.equals(r)
                        && !r.equals(null));
        all.add(new Behaviour("rows: the statement is the one that made them", (c, side) -> {
            try (Statement statement = c.createStatement();
                    ResultSet rows = statement.executeQuery(ITEMS)) {
                return rows.getStatement() == statement && statement.getResultSet() != null;
            }
        }));
        forward(all, "wasNull", ITEMS, r -> {
            r.next();
            r.next();
            r.next();
            return attempts(
                    r::wasNull,
                    () -> r.getBigDecimal(3),
                    r::wasNull,
                    () -> r.getInt(3),
                    r::wasNull,
                    () -> r.getString(2),
                    r::wasNull,
                    () -> r.getObject(3),
                    () -> r.getBoolean(3));
        });
        forward(
                all,
                "metadata",
                "SELECT I.ID, I.NAME AS N, I.PRICE + 1, K.* FROM ITEM I, KINDS K",
                r -> MetaDataBehaviours.columns(r.getMetaData()));
        forward(all, "warnings", ITEMS, r -> attempts(r::getWarnings, doing(r::clearWarnings)));
        forward(
                all,
                "unwrap",
                ITEMS,
                r -> attempts(
                        () -> r.isWrapperFor(ResultSet.class),
                        () -> r.unwrap(ResultSet.class) == r,
                        () -> r.unwrap(List.class)));
        forward(all, "typed getObject", "SELECT ID, NAME, PRICE FROM ITEM WHERE ID = 2", r -> {
            r.next();
            return attempts(
                    () -> r.getObject(1, Integer.class),
                    () -> r.getObject(1, Long.class),
                    () -> r.getObject(2, String.class),
                    () -> r.getObject(3, BigDecimal.class),
                    () -> r.getObject(3, Double.class),
                    () -> r.getObject(2, Integer.class),
                    () -> r.getObject(1, List.class),
                    () -> r.getObject(1, (Class<?>) null),
                    () -> r.getObject("NAME", String.class));
        });
        forward(all, "kinds that there are not", ITEMS, r -> {
            r.next();
            return attempts(
                    () -> r.getArray(1),
                    () -> r.getRef(1),
                    () -> r.getRowId(1),
                    () -> r.getSQLXML(1),
                    () -> r.getNClob(1),
                    () -> r.getNString(2),
                    () -> r.getNCharacterStream(2),
                    () -> r.getURL(2));
        });
        forward(all, "streams of a text, once", ITEMS, r -> {
            r.next();
            String first = attempts(() -> r.getCharacterStream(2), () -> r.getCharacterStream(2), () -> r.getString(2));
            r.next();
            return first + attempts(() -> r.getAsciiStream(2), () -> r.getAsciiStream(2), () -> r.getBinaryStream(2));
        });
        forward(
                all,
                "many, few at a time",
                "SELECT A.COLUMNNUMBER FROM SYS.SYSCOLUMNS A, SYS.SYSCOLUMNS B FETCH FIRST 2000 ROWS ONLY",
                r -> {
                    r.setFetchSize(7);
                    int count = 0;
                    while (r.next()) {
                        count++;
                    }
                    return count;
                });
        forward(all, "wide", "VALUES CAST('x' AS CHAR(254)) || CAST('y' AS CHAR(254)) || CAST('z' AS CHAR(254))", r -> {
            r.next();
            return r.getString(1);
        });
        all.add(new Behaviour("rows: an error in the middle", (c, side) -> {
            try (Statement statement = c.createStatement()) {
                return attempts(
                        () -> statement.executeQuery("SELECT 1 / (ID - 2) FROM FIXED ORDER BY ID"),
                        () -> statement.executeQuery("VALUES 1"));
            }
        }));
        scrolling(all);
        closed(all, "next", ResultSet::next);
        closed(all, "values", r -> attempts(() -> r.getInt(1), () -> r.getString("NAME"), () -> r.getObject(1)));
        closed(
                all,
                "metadata and kind",
                r -> attempts(r::getMetaData, r::getType, r::getHoldability, () -> r.findColumn("ID")));
        closed(all, "statement", r -> attempt(r::getStatement));
        closed(all, "close, isClosed", r -> attempts(doing(r::close), r::isClosed));
        closed(all, "wasNull, warnings, where", r -> attempts(r::wasNull, r::getWarnings, r::getRow, r::isBeforeFirst));
        forward(all, "closed with their statement", ITEMS, r -> {
            r.next();
            Statement statement = r.getStatement();
            statement.close();
            return attempts(r::isClosed, r::next, r::getStatement);
        });
    }

    private static void scrolling(List<Behaviour> all) {
        scrollable(
                all,
                "to and fro",
                r -> attempts(
                        r::last,
                        r::getRow,
                        () -> r.getInt(1),
                        r::previous,
                        r::getRow,
                        r::first,
                        r::isFirst,
                        r::previous,
                        r::isBeforeFirst,
                        r::next,
                        () -> r.getString(2)));
        scrollable(
                all,
                "absolute",
                r -> attempts(
                        () -> r.absolute(2),
                        () -> r.getInt(1),
                        () -> r.absolute(-1),
                        () -> r.getInt(1),
                        () -> r.absolute(0),
                        r::isBeforeFirst,
                        () -> r.absolute(9),
                        r::isAfterLast,
                        () -> r.absolute(-9),
                        r::isBeforeFirst));
        scrollable(
                all,
                "relative",
                r -> attempts(
                        () -> r.relative(1),
                        () -> r.getInt(1),
                        () -> r.relative(2),
                        () -> r.getInt(1),
                        () -> r.relative(-1),
                        () -> r.getInt(1),
                        () -> r.relative(0),
                        () -> r.relative(9),
                        r::isAfterLast,
                        () -> r.relative(-9)));
        scrollable(
                all,
                "before the first and after the last",
                r -> attempts(
                        doing(r::afterLast),
                        r::isAfterLast,
                        r::getRow,
                        () -> r.getInt(1),
                        r::previous,
                        () -> r.getInt(1),
                        doing(r::beforeFirst),
                        r::isBeforeFirst,
                        r::next,
                        r::isFirst,
                        r::isLast));
        scrollable(all, "kind", r -> attempts(r::getType, r::getConcurrency, r::getHoldability));
        scrollable(all, "does not see changes", r -> {
            r.next();
            Seen.update(r.getStatement().getConnection(), "UPDATE ITEM SET NAME = 'new ' || NAME");
            return attempts(r::next, () -> r.getString(2), r::first, () -> r.getString(2), r::rowUpdated);
        });
        rows(
                all,
                "scrollable rows: none",
                ResultSet.TYPE_SCROLL_INSENSITIVE,
                "SELECT ID FROM ITEM WHERE ID > 99",
                r -> attempts(r::first, r::last, r::isBeforeFirst, r::isAfterLast, () -> r.absolute(1), r::getRow));
        rows(
                all,
                "scrollable rows: many",
                ResultSet.TYPE_SCROLL_INSENSITIVE,
                "SELECT A.COLUMNNUMBER FROM SYS.SYSCOLUMNS A, SYS.SYSCOLUMNS B FETCH FIRST 500 ROWS ONLY",
                r -> attempts(r::last, r::getRow, () -> r.absolute(123), r::getRow, () -> r.relative(-100), r::getRow));
    }
}
