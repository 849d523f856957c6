package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.items;
import static org.gorda.replicator.node.behaviours.Seen.query;
import static org.gorda.replicator.node.behaviours.Seen.rows;
import static org.gorda.replicator.node.behaviours.Seen.update;
import static org.gorda.replicator.node.behaviours.Seen.warnings;

import java.sql.Connection;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Of statements, prepared or not. */
@SuppressWarnings({"SelfEquals", "EqualsNull", "IdentityBinaryExpression"}) // what drivers make of it
final class StatementBehaviours {

    private StatementBehaviours() {}

    /** Uses a statement. */
    private interface Use {
        Object of(Statement statement) throws Exception;
    }

    /** Uses a prepared statement. */
    private interface UsePrepared {
        Object of(PreparedStatement statement) throws Exception;
    }

    private static void statement(List<Behaviour> all, String name, Use use) {
        all.add(new Behaviour("statement: " + name, (c, side) -> {
            try (Statement statement = c.createStatement()) {
                return use.of(statement);
            }
        }));
    }

    private static void closed(List<Behaviour> all, String name, Use use) {
        all.add(new Behaviour("closed statement: " + name, (c, side) -> {
            Statement statement = c.createStatement();
            statement.close();
            return attempt(() -> use.of(statement));
        }));
    }

    private static void prepared(List<Behaviour> all, String name, String sql, UsePrepared use) {
        all.add(new Behaviour("prepared: " + name, (c, side) -> {
            try (PreparedStatement statement = c.prepareStatement(sql)) {
                return use.of(statement) + " " + items(c);
            }
        }));
    }

    static void addTo(List<Behaviour> all) {
        statements(all);
        limits(all);
        completion(all);
        prepared(all);
        escapes(all);
        closed(all, "execute", s -> s.execute("VALUES 1"));
        closed(all, "executeQuery", s -> s.executeQuery("VALUES 1"));
        closed(all, "executeUpdate", s -> s.executeUpdate("DELETE FROM PART"));
        closed(all, "executeBatch, addBatch", s -> attempts(s::executeBatch, doing(() -> s.addBatch("VALUES 1"))));
        closed(all, "getConnection", Statement::getConnection);
        closed(
                all,
                "results",
                s -> attempts(s::getResultSet, s::getUpdateCount, s::getMoreResults, s::getGeneratedKeys));
        closed(
                all,
                "limits",
                s -> attempts(s::getMaxRows, s::getFetchSize, s::getQueryTimeout, doing(() -> s.setMaxRows(1))));
        closed(all, "kind", s -> attempts(s::getResultSetType, s::getResultSetConcurrency, s::getResultSetHoldability));
        closed(all, "warnings", s -> attempts(s::getWarnings, doing(s::clearWarnings)));
        closed(all, "close, isClosed", s -> attempts(doing(s::close), s::isClosed));
        closed(all, "cancel", s -> attempt(s::cancel));
        closed(
                all,
                "unwrap",
                s -> attempts(() -> s.isWrapperFor(Statement.class), () -> s.unwrap(Statement.class) == s));
    }

    private static void statements(List<Behaviour> all) {
        statement(
                all,
                "execute tells rows from counts",
                s -> attempts(
                        () -> s.execute("SELECT ID FROM ITEM ORDER BY ID"),
                        s::getUpdateCount,
                        s::getResultSet,
                        s::getMoreResults,
                        s::getUpdateCount,
                        () -> s.execute("UPDATE ITEM SET PRICE = 3"),
                        s::getResultSet,
                        s::getUpdateCount,
                        s::getLargeUpdateCount,
                        s::getMoreResults,
                        s::getUpdateCount));
        statement(
                all,
                "query by executeUpdate, update by executeQuery",
                s -> attempts(
                        () -> s.executeUpdate("SELECT * FROM ITEM"),
                        () -> s.executeQuery("DELETE FROM PART"),
                        () -> items(s.getConnection()) + query(s.getConnection(), "SELECT COUNT(*) FROM PART")));
        statement(
                all,
                "no text, empty text",
                s -> attempts(
                        () -> s.execute(null),
                        () -> s.execute(""),
                        () -> s.executeQuery(null),
                        () -> s.executeUpdate("  ")));
        statement(
                all,
                "counts",
                s -> attempts(
                        () -> s.executeUpdate("UPDATE ITEM SET PRICE = 1 WHERE ID > 1"),
                        () -> s.executeUpdate("UPDATE ITEM SET PRICE = 1 WHERE ID > 9"),
                        () -> s.executeLargeUpdate("DELETE FROM PART"),
                        () -> s.executeUpdate("INSERT INTO PART SELECT ID, ID FROM ITEM")));
        statement(
                all,
                "comments before it",
                s -> attempts(
                        () -> s.executeQuery("-- a comment\n/* another */ SELECT ID FROM ITEM ORDER BY ID"),
                        () -> s.execute("/* comment */ VALUES 1, 2"),
                        s::getResultSet,
                        () -> s.execute("-- comment\nDELETE FROM PART"),
                        s::getUpdateCount));
        statement(all, "a query in parentheses", s -> attempts(() -> s.execute("(VALUES 1)"), s::getResultSet));
        statement(
                all,
                "kind",
                s -> attempts(s::getResultSetType, s::getResultSetConcurrency, s::getResultSetHoldability));
        statement(all, "executed again closes its rows", s -> {
            ResultSet first = s.executeQuery("SELECT ID FROM ITEM");
            ResultSet second = s.executeQuery("SELECT ID FROM ITEM");
            return attempts(first::isClosed, first::next, second::next);
        });
        statement(all, "getResultSet twice", s -> {
            s.execute("VALUES 1");
            return s.getResultSet() != null && s.getResultSet() == s.getResultSet();
        });
        statement(
                all,
                "its connection",
                s -> s.getConnection() == s.getConnection() && s.equals(s) && s.hashCode() == s.hashCode());
        all.add(new Behaviour("statement: its connection is the one that made it", (c, side) -> {
            try (Statement statement = c.createStatement()) {
                return statement.getConnection() == c && c.getMetaData().getConnection() == c;
            }
        }));
        statement(
                all,
                "unwrap",
                s -> attempts(
                        () -> s.isWrapperFor(Statement.class),
                        () -> s.unwrap(Statement.class) == s,
                        () -> s.isWrapperFor(PreparedStatement.class),
                        () -> s.unwrap(PreparedStatement.class),
                        () -> s.isWrapperFor(List.class)));
        statement(all, "cancel with nothing to cancel", s -> attempt(s::cancel));
        statement(all, "warning of a query", s -> {
            ResultSet rows = s.executeQuery("SELECT MAX(PRICE) FROM ITEM");
            String seen = rows(rows);
            return seen + warnings(s.getWarnings()) + attempts(() -> warnings(rows.getWarnings()));
        });
        statement(all, "warning of an update", s -> {
            s.executeUpdate("DELETE FROM PART WHERE ID = 77");
            String seen = warnings(s.getWarnings());
            s.clearWarnings();
            return seen + warnings(s.getWarnings());
        });
        statement(
                all,
                "quoting",
                s -> attempts(
                        () -> s.enquoteLiteral("it's"),
                        () -> s.enquoteIdentifier("a b", false),
                        () -> s.isSimpleIdentifier("a b"),
                        () -> s.enquoteNCharLiteral("x")));
        statement(all, "poolable", s -> attempts(s::isPoolable, doing(() -> s.setPoolable(true)), s::isPoolable));
        statement(
                all,
                "more results than there are",
                s -> attempts(
                        s::getMoreResults,
                        s::getUpdateCount,
                        s::getResultSet,
                        () -> s.getMoreResults(Statement.CLOSE_ALL_RESULTS),
                        () -> s.getMoreResults(77)));
        statement(
                all,
                "LOCK TABLE, SET SCHEMA",
                s -> attempts(
                        () -> s.executeUpdate("LOCK TABLE ITEM IN SHARE MODE"),
                        () -> s.execute("SET SCHEMA APP"),
                        s::getUpdateCount));
        statement(all, "temporary table", s -> {
            s.getConnection().setAutoCommit(false);
            return attempts(
                    () -> s.executeUpdate(
                            "DECLARE GLOBAL TEMPORARY TABLE TEMPORARY (A INTEGER) ON COMMIT PRESERVE ROWS NOT LOGGED"),
                    () -> s.executeUpdate("INSERT INTO SESSION.TEMPORARY VALUES 1, 2"),
                    doing(() -> s.getConnection().commit()),
                    () -> s.executeQuery("SELECT COUNT(*) FROM SESSION.TEMPORARY"),
                    () -> s.executeUpdate("DROP TABLE SESSION.TEMPORARY"));
        });
        statement(all, "sequence", s -> {
            long first;
            try (ResultSet row = s.executeQuery("VALUES NEXT VALUE FOR COUNTER")) {
                row.next();
                first = row.getLong(1);
            }
            try (ResultSet row = s.executeQuery("VALUES NEXT VALUE FOR COUNTER")) {
                row.next();
                return row.getLong(1) - first;
            }
        });
        statement(
                all,
                "MERGE",
                s -> s.executeUpdate(
                                "MERGE INTO ITEM I USING FIXED F ON I.ID = F.ID + 1 "
                                        + "WHEN MATCHED THEN UPDATE SET NAME = F.NAME WHEN NOT MATCHED THEN INSERT (ID) VALUES (F.ID + 20)")
                        + items(s.getConnection()));
        statement(
                all,
                "plan statistics",
                s -> attempts(
                        () -> s.execute("CALL SYSCS_UTIL.SYSCS_SET_RUNTIMESTATISTICS(1)"),
                        () -> s.executeQuery("SELECT ID FROM ITEM WHERE ID = 1"),
                        () -> query(s.getConnection(), "VALUES SYSCS_UTIL.SYSCS_GET_RUNTIMESTATISTICS()")
                                .isEmpty()));
    }

    private static void limits(List<Behaviour> all) {
        statement(all, "at most so many rows", s -> {
            s.setMaxRows(2);
            return s.getMaxRows()
                    + rows(s.executeQuery("SELECT ID FROM ITEM ORDER BY ID"))
                    + attempts(doing(() -> s.setMaxRows(-1)), s::getMaxRows, s::getLargeMaxRows);
        });
        statement(all, "at most so many rows, as a long", s -> {
            s.setLargeMaxRows(1);
            return s.getLargeMaxRows() + rows(s.executeQuery("SELECT ID FROM ITEM ORDER BY ID"));
        });
        statement(all, "fetch size", s -> {
            int first = s.getFetchSize();
            s.setFetchSize(2);
            return first + " " + s.getFetchSize() + rows(s.executeQuery("SELECT ID FROM ITEM ORDER BY ID"))
                    + attempts(doing(() -> s.setFetchSize(-1)), s::getFetchSize);
        });
        statement(
                all,
                "fetch direction",
                s -> attempts(
                        s::getFetchDirection,
                        doing(() -> s.setFetchDirection(ResultSet.FETCH_REVERSE)),
                        s::getFetchDirection,
                        doing(() -> s.setFetchDirection(77))));
        statement(all, "largest field", s -> {
            s.setMaxFieldSize(3);
            return s.getMaxFieldSize()
                    + rows(s.executeQuery("SELECT ID, NAME FROM ITEM ORDER BY ID"))
                    + attempts(doing(() -> s.setMaxFieldSize(-1)));
        });
        statement(
                all,
                "query timeout is kept",
                s -> attempts(
                        s::getQueryTimeout,
                        doing(() -> s.setQueryTimeout(7)),
                        s::getQueryTimeout,
                        doing(() -> s.setQueryTimeout(-1))));
        statement(all, "query timeout ends a query", s -> {
            s.setQueryTimeout(1);
            return attempts(
                    () -> s.executeQuery("SELECT SUM(DAWDLE(200)) FROM SYS.SYSCOLUMNS"),
                    () -> s.executeQuery("VALUES 1"));
        });
        statement(all, "query timeout ends an update", s -> {
            s.setQueryTimeout(1);
            return attempts(
                    () -> s.executeUpdate(
                            "INSERT INTO PART SELECT 1000 + ROW_NUMBER() OVER () + DAWDLE(200), 1 FROM SYS.SYSCOLUMNS"),
                    () -> query(s.getConnection(), "SELECT COUNT(*) FROM PART"));
        });
    }

    private static void completion(List<Behaviour> all) {
        statement(all, "closes on completion", s -> {
            boolean before = s.isCloseOnCompletion();
            s.closeOnCompletion();
            ResultSet rows = s.executeQuery("SELECT ID FROM ITEM");
            rows.next();
            rows.close();
            return before + " " + attempts(s::isCloseOnCompletion, s::isClosed, () -> s.executeQuery("VALUES 1"));
        });
        statement(all, "does not close on completion of an update", s -> {
            s.closeOnCompletion();
            s.executeUpdate("DELETE FROM PART");
            return s.isClosed() + " " + s.isCloseOnCompletion();
        });
        all.add(new Behaviour("statement: cursor names", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement reads = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE)) {
                reads.setCursorName("MINE");
                try (ResultSet rows = reads.executeQuery("SELECT ID, NAME FROM ITEM FOR UPDATE")) {
                    rows.next();
                    int id = rows.getInt(1);
                    String seen = rows.getCursorName()
                            + update(c, "UPDATE ITEM SET NAME = 'at ' || NAME WHERE CURRENT OF MINE");
                    rows.next();
                    return id
                            + seen
                            + update(c, "DELETE FROM PART WHERE ITEM_ID = 1")
                            + attempt(() -> update(c, "DELETE FROM ITEM WHERE CURRENT OF MINE"))
                            + attempt(() -> update(c, "DELETE FROM ITEM WHERE CURRENT OF OTHERS"))
                            + items(c);
                }
            }
        }));
        all.add(new Behaviour("statement: two cursors of one name", (c, side) -> {
            try (Statement first = c.createStatement();
                    Statement second = c.createStatement()) {
                first.setCursorName("MINE");
                return attempts(
                        doing(() -> second.setCursorName("MINE")),
                        () -> first.executeQuery("SELECT ID FROM ITEM FOR UPDATE")
                                .next(),
                        () -> second.executeQuery("SELECT ID FROM ITEM FOR UPDATE")
                                .next());
            }
        }));
    }

    private static void prepared(List<Behaviour> all) {
        prepared(all, "runs again and again", "INSERT INTO ITEM (ID, NAME) VALUES (?, ?)", s -> {
            List<Integer> counts = new ArrayList<>();
            for (int id = 4; id < 8; id++) {
                s.setInt(1, id);
                s.setString(2, "n" + id);
                counts.add(s.executeUpdate());
            }
            return counts;
        });
        prepared(all, "a parameter is missing", "UPDATE ITEM SET NAME = ? WHERE ID = ?", s -> {
            s.setString(1, "x");
            return attempt(() -> s.executeUpdate());
        });
        prepared(
                all,
                "no such parameter",
                "UPDATE ITEM SET NAME = ? WHERE ID = 1",
                s -> attempts(
                        doing(() -> s.setString(0, "x")),
                        doing(() -> s.setString(2, "x")),
                        doing(() -> s.setNull(3, 12))));
        prepared(all, "parameters are cleared", "UPDATE ITEM SET NAME = ? WHERE ID = 1", s -> {
            s.setString(1, "x");
            s.clearParameters();
            return attempt(() -> s.executeUpdate());
        });
        prepared(all, "parameters are kept", "UPDATE ITEM SET NAME = NAME || ? WHERE ID = 1", s -> {
            s.setString(1, "x");
            return s.executeUpdate() + s.executeUpdate() + s.executeLargeUpdate();
        });
        prepared(all, "execute of a query", "SELECT NAME FROM ITEM WHERE ID >= ? ORDER BY ID", s -> {
            s.setInt(1, 2);
            return attempts(s::execute, s::getResultSet, s::getUpdateCount, s::getMoreResults, s::executeQuery);
        });
        prepared(
                all,
                "execute of an update",
                "UPDATE ITEM SET PRICE = 8",
                s -> attempts(() -> s.execute(), s::getResultSet, s::getUpdateCount));
        prepared(all, "query by executeUpdate", "SELECT 1 FROM ITEM", s -> attempt(() -> s.executeUpdate()));
        prepared(all, "update by executeQuery", "DELETE FROM PART", s -> attempt(() -> s.executeQuery()));
        prepared(
                all,
                "text given again",
                "DELETE FROM PART",
                s -> attempts(
                        () -> s.execute("DELETE FROM PART"),
                        () -> s.executeQuery("VALUES 1"),
                        () -> s.executeUpdate("DELETE FROM PART"),
                        doing(() -> s.addBatch("DELETE FROM PART"))));
        prepared(
                all,
                "metadata of its rows",
                "SELECT ID, NAME AS N, PRICE * 2 FROM ITEM",
                s -> MetaDataBehaviours.columns(s.getMetaData()));
        prepared(
                all,
                "metadata of an update",
                "DELETE FROM PART",
                s -> s.getMetaData() == null ? "none" : MetaDataBehaviours.columns(s.getMetaData()));
        prepared(
                all,
                "metadata of its parameters",
                "UPDATE ITEM SET NAME = ?, PRICE = ? WHERE ID = ?",
                s -> parameters(s.getParameterMetaData()));
        prepared(all, "NULL", "UPDATE ITEM SET PRICE = ?, NAME = ? WHERE ID = 1", s -> {
            s.setNull(1, java.sql.Types.DECIMAL);
            s.setObject(2, null);
            return s.executeUpdate();
        });
        prepared(all, "recompiled after a schema change", "SELECT * FROM FIXED", s -> {
            String before = rows(s.executeQuery());
            update(s.getConnection(), "CREATE INDEX SOME_INDEX ON FIXED (NAME)");
            String after = rows(s.executeQuery());
            update(s.getConnection(), "DROP INDEX SOME_INDEX");
            return before.equals(after);
        });
        prepared(
                all,
                "unwrap",
                "VALUES 1",
                s -> attempts(
                        () -> s.isWrapperFor(PreparedStatement.class),
                        () -> s.unwrap(PreparedStatement.class) == s,
                        () -> s.unwrap(List.class)));
        all.add(new Behaviour("prepared: closed", (c, side) -> {
            PreparedStatement statement = c.prepareStatement("UPDATE ITEM SET NAME = ?");
            statement.close();
            return attempts(
                    doing(() -> statement.setString(1, "x")),
                    () -> statement.executeUpdate(),
                    statement::getMetaData,
                    statement::getParameterMetaData,
                    doing(statement::clearParameters),
                    doing(statement::addBatch));
        }));
        all.add(new Behaviour(
                "prepared: errors come when it is prepared",
                (c, side) -> attempts(
                        () -> c.prepareStatement("SELECT NOTHING FROM ITEM"),
                        () -> c.prepareStatement(""),
                        () -> c.prepareStatement(null),
                        () -> c.prepareStatement("VALUES ?"))));
        all.add(new Behaviour("prepared: made in one transaction, used in others", (c, side) -> {
            c.setAutoCommit(false);
            try (PreparedStatement statement = c.prepareStatement("UPDATE ITEM SET PRICE = PRICE + ?")) {
                c.commit();
                statement.setInt(1, 1);
                statement.executeUpdate();
                c.rollback();
                statement.executeUpdate();
                c.commit();
                c.setAutoCommit(true);
                statement.executeUpdate();
            }
            return Seen.committed(side);
        }));
    }

    private static String parameters(ParameterMetaData metaData) throws Exception {
        List<String> seen = new ArrayList<>();
        for (int i = 1; i <= metaData.getParameterCount(); i++) {
            int parameter = i;
            seen.add(attempts(
                    () -> metaData.getParameterType(parameter),
                    () -> metaData.getParameterTypeName(parameter),
                    () -> metaData.getParameterClassName(parameter),
                    () -> metaData.getParameterMode(parameter),
                    () -> metaData.getPrecision(parameter),
                    () -> metaData.getScale(parameter),
                    () -> metaData.isNullable(parameter),
                    () -> metaData.isSigned(parameter)));
        }
        return seen + attempt(() -> metaData.getParameterType(99));
    }

    private static void escapes(List<Behaviour> all) {
        statement(
                all,
                "escapes",
                s -> attempts(
                        () -> s.executeQuery("SELECT {fn UCASE(NAME)} FROM ITEM WHERE ID = 1"),
                        () -> s.executeQuery("VALUES {d '2026-02-03'}"),
                        () -> s.executeQuery("VALUES {t '11:12:13'}"),
                        () -> s.executeQuery("VALUES {ts '2026-02-03 11:12:13.5'}"),
                        () -> s.executeQuery("SELECT ID FROM ITEM WHERE NAME LIKE 'o!_%' {escape '!'}"),
                        () -> s.executeQuery(
                                "SELECT I.ID, P.ID FROM {oj ITEM I LEFT OUTER JOIN PART P ON P.ITEM_ID = I.ID} ORDER BY I.ID"),
                        () -> s.executeQuery("VALUES {fn NOTHING()}"),
                        () -> s.executeQuery("SELECT ID FROM ITEM {limit 1}")));
        statement(all, "escapes turned off", s -> {
            s.setEscapeProcessing(false);
            return attempt(() -> s.executeQuery("VALUES {d '2026-02-03'}"));
        });
        all.add(new Behaviour("statement: cancelled by another thread", (c, side) -> {
            try (Statement statement = c.createStatement()) {
                String[] cancelled = new String[1];
                Thread thread = new Thread(() -> {
                    try {
                        Thread.sleep(200);
                        cancelled[0] = attempt(statement::cancel);
                    } catch (Exception e) {
                        cancelled[0] = e.toString();
                    }
                });
                thread.start();
                String seen = attempt(() -> statement.executeQuery("SELECT COUNT(*) FROM ITEM WHERE DAWDLE(200) > 0"));
                thread.join();
                return seen + cancelled[0] + connectionStillWorks(c);
            }
        }));
    }

    private static String connectionStillWorks(Connection connection) throws Exception {
        return attempt(() -> query(connection, "VALUES 1"));
    }
}
