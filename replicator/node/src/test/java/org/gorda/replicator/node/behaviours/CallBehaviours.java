package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.committed;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.query;
import static org.gorda.replicator.node.behaviours.Seen.rows;

import java.sql.CallableStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Types;
import java.util.List;

/** Of procedures and functions. */
final class CallBehaviours {

    private CallBehaviours() {}

    /** Uses a call. */
    private interface Use {
        Object of(CallableStatement call) throws Exception;
    }

    private static void call(List<Behaviour> all, String name, String sql, Use use) {
        all.add(new Behaviour("call: " + name, (c, side) -> {
            try (CallableStatement call = c.prepareCall(sql)) {
                return use.of(call);
            }
        }));
    }

    private static void registered(CallableStatement call) throws Exception {
        call.setInt(1, 21);
        call.registerOutParameter(2, Types.INTEGER);
        call.registerOutParameter(3, Types.VARCHAR);
        call.setString(3, "ab");
    }

    static void addTo(List<Behaviour> all) {
        String doubled = "CALL DOUBLED(?, ?, ?)";
        call(all, "parameters out and both ways", doubled, call -> {
            registered(call);
            return attempts(
                    call::execute,
                    () -> call.getInt(2),
                    () -> call.getObject(2),
                    () -> call.getLong(2),
                    () -> call.getString(2),
                    () -> call.getString(3),
                    call::wasNull,
                    call::getUpdateCount);
        });
        call(all, "parameters in autocommit mode off", doubled, call -> {
            call.getConnection().setAutoCommit(false);
            registered(call);
            return attempts(
                    call::executeUpdate,
                    () -> call.getInt(2),
                    doing(() -> call.getConnection().commit()),
                    () -> call.getInt(2));
        });
        call(all, "NULL both ways", doubled, call -> {
            registered(call);
            call.setNull(3, Types.VARCHAR);
            return attempts(call::execute, () -> call.getString(3), call::wasNull);
        });
        call(all, "parameter of the wrong kind", doubled, call -> {
            registered(call);
            call.execute();
            return attempts(() -> call.getInt(1), () -> call.getDate(2), () -> call.getInt(9), () -> call.getBytes(3));
        });
        call(all, "parameter not registered", doubled, call -> {
            call.setInt(1, 21);
            call.setString(3, "ab");
            return attempts(call::execute, () -> call.getInt(2));
        });
        call(
                all,
                "registered wrongly",
                doubled,
                call -> attempts(
                        doing(() -> call.registerOutParameter(1, Types.INTEGER)),
                        doing(() -> call.registerOutParameter(9, Types.INTEGER)),
                        doing(() -> call.registerOutParameter(2, Types.BLOB)),
                        doing(() -> call.registerOutParameter(2, Types.INTEGER, 5))));
        call(
                all,
                "parameters by name",
                doubled,
                call -> attempts(
                        doing(() -> call.setInt("A", 1)),
                        () -> call.getInt("B"),
                        doing(() -> call.registerOutParameter("B", Types.INTEGER))));
        call(
                all,
                "parameter metadata",
                doubled,
                call -> attempts(
                        () -> call.getParameterMetaData().getParameterCount(),
                        () -> call.getParameterMetaData().getParameterMode(1),
                        () -> call.getParameterMetaData().getParameterMode(2),
                        () -> call.getParameterMetaData().getParameterMode(3),
                        () -> call.getParameterMetaData().getParameterTypeName(3)));
        call(all, "as a value", "VALUES HALF(?)", call -> {
            call.setDouble(1, 7);
            return rows(call.executeQuery());
        });
        call(all, "function with a result", "{? = CALL HALF(?)}", call -> {
            call.registerOutParameter(1, Types.DOUBLE);
            call.setDouble(2, 7);
            return attempts(
                    call::execute, () -> call.getDouble(1), () -> call.getObject(1), () -> call.getBigDecimal(1));
        });
        all.add(new Behaviour("call: in braces", (c, side) -> {
            try (CallableStatement call = c.prepareCall("{CALL ADD_ITEM(4)}")) {
                return attempt(() -> call.execute()) + committed(side);
            }
        }));
        call(all, "two results", "CALL TWO_RESULTS(?)", call -> {
            call.setInt(1, 2);
            return attempts(
                    call::execute,
                    call::getResultSet,
                    call::getMoreResults,
                    call::getResultSet,
                    call::getMoreResults,
                    call::getUpdateCount);
        });
        call(all, "two results, the first kept", "CALL TWO_RESULTS(1)", call -> {
            call.execute();
            ResultSet first = call.getResultSet();
            first.next();
            return attempts(
                    () -> call.getMoreResults(Statement.KEEP_CURRENT_RESULT),
                    () -> first.getInt(1),
                    call::getResultSet,
                    first::next,
                    () -> call.getMoreResults(Statement.CLOSE_ALL_RESULTS),
                    first::isClosed);
        });
        call(
                all,
                "two results by executeQuery, none by it",
                "CALL TWO_RESULTS(1)",
                call -> attempts(call::executeQuery, call::executeUpdate));
        call(
                all,
                "no results by executeQuery",
                "CALL ADD_ITEM(4)",
                call -> attempts(call::executeQuery, () -> query(call.getConnection(), "SELECT COUNT(*) FROM ITEM")));
        call(all, "two results in autocommit mode off", "CALL TWO_RESULTS(1)", call -> {
            call.getConnection().setAutoCommit(false);
            call.execute();
            ResultSet first = call.getResultSet();
            first.next();
            call.getConnection().commit();
            return attempts(first::isClosed, first::next, call::getMoreResults, call::getResultSet);
        });
        call(all, "closed", doubled, call -> {
            call.close();
            return attempts(
                    call::execute,
                    () -> call.getInt(2),
                    doing(() -> call.registerOutParameter(2, Types.INTEGER)),
                    call::wasNull);
        });
        call(
                all,
                "unwrap",
                doubled,
                call -> attempts(
                        () -> call.isWrapperFor(CallableStatement.class),
                        () -> call.unwrap(CallableStatement.class) == call));
        call(
                all,
                "throws",
                "CALL FAILS()",
                call -> attempts(call::execute, () -> query(call.getConnection(), "VALUES 1")));
        call(all, "streams and java.time of parameters", doubled, call -> {
            registered(call);
            call.execute();
            return attempts(
                    () -> call.getCharacterStream(3),
                    () -> call.getClob(3),
                    () -> call.getObject(2, Long.class),
                    () -> call.getObject(3, String.class),
                    () -> call.getNString(3),
                    () -> call.getURL(3),
                    () -> call.getArray(3));
        });
        changes(all);
        all.add(new Behaviour(
                "call: of what is not there",
                (c, side) -> attempts(
                        () -> c.prepareCall("CALL NOTHING()"),
                        () -> c.prepareCall("CALL DOUBLED(?)"),
                        () -> Seen.update(c, "CALL DOUBLED(1, 2, 3)"))));
        all.add(new Behaviour(
                "call: of an administrative procedure",
                (c, side) -> attempts(
                        () -> Seen.update(c, "CALL SYSCS_UTIL.SYSCS_INPLACE_COMPRESS_TABLE('APP', 'ITEM', 1, 1, 1)"))));
    }

    private static void changes(List<Behaviour> all) {
        all.add(new Behaviour("call: that changes, in autocommit mode", (c, side) -> {
            try (CallableStatement call = c.prepareCall("CALL ADD_ITEM(?)")) {
                call.setInt(1, 4);
                return attempts(call::executeUpdate, () -> committed(side));
            }
        }));
        all.add(new Behaviour("call: that changes, rolled back", (c, side) -> {
            c.setAutoCommit(false);
            try (CallableStatement call = c.prepareCall("CALL ADD_ITEM(4)")) {
                call.execute();
            }
            c.rollback();
            return committed(side);
        }));
        all.add(new Behaviour("call: that changes and returns rows, read to the end", (c, side) -> {
            try (CallableStatement call = c.prepareCall("CALL ADD_AND_LIST(4)")) {
                call.execute();
                ResultSet rows = call.getResultSet();
                String seen = rows(rows);
                return seen + committed(side) + attempts(rows::isClosed, c::getAutoCommit, call::getMoreResults);
            }
        }));
        all.add(new Behaviour("call: that changes and returns rows, closed early", (c, side) -> {
            try (CallableStatement call = c.prepareCall("CALL ADD_AND_LIST(4)")) {
                ResultSet rows = call.executeQuery();
                rows.next();
                rows.close();
                return committed(side);
            }
        }));
        all.add(new Behaviour("call: that changes and returns rows, its statement closed", (c, side) -> {
            CallableStatement call = c.prepareCall("CALL ADD_AND_LIST(4)");
            call.execute();
            call.close();
            return committed(side);
        }));
        all.add(new Behaviour("call: that changes and returns rows, executed again", (c, side) -> {
            try (CallableStatement call = c.prepareCall("CALL ADD_AND_LIST(?)")) {
                call.setInt(1, 4);
                call.execute();
                call.setInt(1, 5);
                call.execute();
                String seen = rows(call.getResultSet());
                return seen + committed(side);
            }
        }));
        all.add(new Behaviour("call: that changes and returns rows, then rolled back", (c, side) -> {
            c.setAutoCommit(false);
            try (CallableStatement call = c.prepareCall("CALL ADD_AND_LIST(4)")) {
                String seen = rows(call.executeQuery());
                c.rollback();
                return seen + committed(side);
            }
        }));
        all.add(new Behaviour("call: that changes and returns rows, the connection closed", (c, side) -> {
            CallableStatement call = c.prepareCall("CALL ADD_AND_LIST(4)");
            call.execute();
            c.close();
            return committed(side);
        }));
        all.add(new Behaviour("call: by a plain statement", (c, side) -> {
            try (Statement statement = c.createStatement()) {
                return attempts(
                        () -> statement.execute("CALL ADD_AND_LIST(4)"),
                        statement::getResultSet,
                        () -> statement.execute("CALL ADD_ITEM(5)"),
                        statement::getUpdateCount,
                        () -> statement.executeQuery("CALL ADD_AND_LIST(6)"),
                        () -> committed(side));
            }
        }));
    }
}
