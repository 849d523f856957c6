package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.items;
import static org.gorda.replicator.node.behaviours.Seen.query;
import static org.gorda.replicator.node.behaviours.Seen.update;
import static org.gorda.replicator.node.behaviours.Seen.warnings;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** Of connections themselves. */
@SuppressWarnings({"SelfEquals", "EqualsNull", "IdentityBinaryExpression"}) // what drivers make of it
final class ConnectionBehaviours {

    private ConnectionBehaviours() {}

    /** Something called on a connection that is closed. */
    private interface OnClosed {
        Object call(Connection connection) throws Exception;
    }

    private static void onClosed(List<Behaviour> all, String name, OnClosed called) {
        all.add(new Behaviour("closed connection: " + name, (c, side) -> {
            c.close();
            return attempt(() -> called.call(c));
        }));
    }

    private static Properties user(String name, String password) {
        Properties properties = new Properties();
        properties.setProperty("user", name);
        properties.setProperty("password", password);
        return properties;
    }

    static void addTo(List<Behaviour> all) {
        all.add(new Behaviour(
                "connection: autocommit, isolation, holdability, schema and catalog at first",
                (c, side) -> List.of(
                        c.getAutoCommit(),
                        c.getTransactionIsolation(),
                        c.getHoldability(),
                        c.getSchema(),
                        String.valueOf(c.getCatalog()))));
        all.add(new Behaviour("connection: each isolation level is kept", (c, side) -> {
            StringBuilder seen = new StringBuilder();
            for (int level : new int[] {1, 2, 4, 8, 0, 3, -1}) {
                seen.append(attempt(() -> {
                            c.setTransactionIsolation(level);
                            return c.getTransactionIsolation();
                        }))
                        .append(' ');
            }
            return seen;
        }));
        all.add(new Behaviour("connection: isolation set by SQL is seen", (c, side) -> {
            update(c, "SET ISOLATION SERIALIZABLE");
            return c.getTransactionIsolation() + query(c, "VALUES CURRENT ISOLATION");
        }));
        all.add(new Behaviour("connection: a change of isolation commits", (c, side) -> {
            c.setAutoCommit(false);
            update(c, "INSERT INTO ITEM VALUES (4, 'four', 4)");
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            c.rollback();
            return items(c);
        }));
        all.add(new Behaviour("connection: isolation cannot change under held rows", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT ID FROM ITEM")) {
                rows.next();
                return attempt(() -> c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE));
            }
        }));
        all.add(new Behaviour(
                "connection: holdability is kept",
                (c, side) -> attempts(
                        () -> {
                            c.setHoldability(ResultSet.CLOSE_CURSORS_AT_COMMIT);
                            return c.getHoldability();
                        },
                        doing(() -> c.setHoldability(99)),
                        c::getHoldability)));
        all.add(new Behaviour("connection: schema is set by JDBC", (c, side) -> {
            c.setSchema("SYS");
            return c.getSchema() + query(c, "VALUES CURRENT SCHEMA");
        }));
        all.add(new Behaviour("connection: schema is set by SQL", (c, side) -> {
            update(c, "SET SCHEMA SYS");
            return c.getSchema();
        }));
        all.add(new Behaviour(
                "connection: unknown schema, null schema",
                (c, side) ->
                        attempts(doing(() -> c.setSchema("NOWHERE")), doing(() -> c.setSchema(null)), c::getSchema)));
        all.add(new Behaviour(
                "connection: catalog is passed over",
                (c, side) -> attempts(doing(() -> c.setCatalog("X")), c::getCatalog)));
        all.add(new Behaviour("connection: read-only", (c, side) -> {
            c.setReadOnly(true);
            return attempts(c::isReadOnly, () -> update(c, "INSERT INTO ITEM VALUES (4, 'four', 4)"));
        }));
        all.add(new Behaviour("connection: reads while it is read-only", (c, side) -> {
            c.setReadOnly(true);
            String before = query(c, "SELECT * FROM FIXED ORDER BY ID");
            c.setAutoCommit(false);
            String within = query(c, "SELECT COUNT(*) FROM FIXED");
            c.commit();
            c.setReadOnly(false);
            return before + within + c.isReadOnly() + update(c, "DELETE FROM PART");
        }));
        all.add(new Behaviour(
                "connection: not read-only at first",
                (c, side) -> attempts(c::isReadOnly, doing(() -> c.setReadOnly(false)))));
        all.add(new Behaviour(
                "connection: isValid",
                (c, side) -> attempts(() -> c.isValid(0), () -> c.isValid(5), () -> c.isValid(-1))));
        all.add(new Behaviour("connection: isValid leaves a transaction alone", (c, side) -> {
            c.setAutoCommit(false);
            update(c, "DELETE FROM PART");
            c.isValid(5);
            c.rollback();
            return query(c, "SELECT COUNT(*) FROM PART");
        }));
        all.add(new Behaviour("connection: close, twice", (c, side) -> {
            boolean before = c.isClosed();
            c.close();
            return before + " " + c.isClosed() + attempt(c::close);
        }));
        all.add(new Behaviour("connection: close within a transaction", (c, side) -> {
            c.setAutoCommit(false);
            update(c, "DELETE FROM PART");
            String seen = attempt(c::close) + c.isClosed();
            c.rollback();
            return seen;
        }));
        all.add(new Behaviour("connection: close after a commit and a query", (c, side) -> {
            c.setAutoCommit(false);
            update(c, "DELETE FROM PART");
            c.commit();
            query(c, "SELECT ID FROM ITEM");
            String seen = attempt(c::close) + c.isClosed();
            if (!c.isClosed()) {
                c.commit();
            }
            return seen;
        }));
        all.add(new Behaviour("connection: close in autocommit mode with open rows", (c, side) -> {
            Statement statement = c.createStatement();
            ResultSet rows = statement.executeQuery("SELECT ID FROM ITEM");
            rows.next();
            c.close();
            return attempts(rows::next, rows::isClosed, statement::isClosed, () -> statement.executeQuery("VALUES 1"));
        }));
        onClosed(all, "isClosed, isValid", c -> c.isClosed() + " " + c.isValid(1));
        onClosed(all, "createStatement", Connection::createStatement);
        onClosed(all, "prepareStatement", c -> c.prepareStatement("VALUES 1"));
        onClosed(all, "prepareCall", c -> c.prepareCall("CALL FAILS()"));
        onClosed(all, "commit", c -> attempt(c::commit));
        onClosed(all, "rollback", c -> attempt(() -> c.rollback()));
        onClosed(all, "setSavepoint", c -> c.setSavepoint());
        onClosed(
                all,
                "autocommit",
                c -> attempts(
                        c::getAutoCommit, doing(() -> c.setAutoCommit(true)), doing(() -> c.setAutoCommit(false))));
        onClosed(all, "getMetaData", Connection::getMetaData);
        onClosed(
                all, "isolation", c -> attempts(c::getTransactionIsolation, doing(() -> c.setTransactionIsolation(8))));
        onClosed(all, "read-only", c -> attempts(c::isReadOnly, doing(() -> c.setReadOnly(true))));
        onClosed(all, "holdability", c -> attempts(c::getHoldability, doing(() -> c.setHoldability(1))));
        onClosed(
                all,
                "schema and catalog",
                c -> attempts(
                        c::getSchema, doing(() -> c.setSchema("APP")), c::getCatalog, doing(() -> c.setCatalog("X"))));
        onClosed(all, "warnings", c -> attempts(c::getWarnings, doing(c::clearWarnings)));
        onClosed(all, "createBlob, createClob", c -> attempts(c::createBlob, c::createClob));
        onClosed(
                all,
                "client info",
                c -> attempts(c::getClientInfo, () -> c.getClientInfo("x"), doing(() -> c.setClientInfo("x", "y"))));
        onClosed(all, "nativeSQL, type map", c -> attempts(() -> c.nativeSQL("VALUES 1"), c::getTypeMap));
        onClosed(
                all,
                "unwrap",
                c -> attempts(() -> c.isWrapperFor(Connection.class), () -> c.unwrap(Connection.class) == c));
        onClosed(
                all,
                "network timeout",
                c -> attempts(c::getNetworkTimeout, doing(() -> c.setNetworkTimeout(Runnable::run, 1))));
        onClosed(all, "abort", c -> attempts(doing(() -> c.abort(Runnable::run)), doing(() -> c.abort(null))));
        all.add(new Behaviour("connection: metadata after it is closed", (c, side) -> {
            DatabaseMetaData metaData = c.getMetaData();
            c.close();
            return attempts(
                    metaData::getDatabaseProductName,
                    () -> metaData.getTables(null, "APP", "ITEM", null),
                    metaData::getUserName);
        }));
        all.add(new Behaviour("connection: abort ends it and its transaction", (c, side) -> {
            c.setAutoCommit(false);
            update(c, "DELETE FROM PART");
            c.abort(Runnable::run);
            String seen = attempts(c::isClosed, () -> c.isValid(1), c::createStatement, doing(c::close));
            try (Connection other = side.connect()) {
                return seen + query(other, "SELECT COUNT(*) FROM PART");
            }
        }));
        all.add(new Behaviour(
                "connection: abort without an executor",
                (c, side) -> attempts(doing(() -> c.abort(null)), c::isClosed)));
        all.add(new Behaviour(
                "connection: network timeout",
                (c, side) -> attempts(
                        c::getNetworkTimeout,
                        doing(() -> c.setNetworkTimeout(Runnable::run, 1000)),
                        doing(() -> c.setNetworkTimeout(null, -1)))));
        all.add(new Behaviour(
                "connection: client info",
                (c, side) -> attempts(
                        c::getClientInfo,
                        () -> c.getClientInfo("ApplicationName"),
                        doing(() -> c.setClientInfo("ApplicationName", "x")),
                        doing(() -> c.setClientInfo(new Properties())),
                        doing(() -> c.setClientInfo(user("a", "b"))))));
        all.add(new Behaviour(
                "connection: type map",
                (c, side) -> attempts(
                        c::getTypeMap,
                        doing(() -> c.setTypeMap(Map.of())),
                        doing(() -> c.setTypeMap(Map.of("X", String.class))))));
        all.add(new Behaviour(
                "connection: unwrap and isWrapperFor",
                (c, side) -> attempts(
                        () -> c.isWrapperFor(Connection.class),
                        () -> c.unwrap(Connection.class) == c,
                        () -> c.isWrapperFor(List.class),
                        () -> c.unwrap(List.class),
                        () -> c.isWrapperFor(null))));
        all.add(new Behaviour(
                "connection: nativeSQL",
                (c, side) -> attempts(
                        () -> c.nativeSQL("SELECT {fn UCASE(NAME)} FROM ITEM WHERE D = {d '2026-01-01'}"),
                        () -> c.nativeSQL(null))));
        all.add(new Behaviour("connection: no warnings at first", (c, side) -> {
            c.clearWarnings();
            return warnings(c.getWarnings());
        }));
        all.add(new Behaviour(
                "connection: kinds of statements that there are not",
                (c, side) -> attempts(
                        () -> c.createStatement(99, ResultSet.CONCUR_READ_ONLY),
                        () -> c.createStatement(ResultSet.TYPE_FORWARD_ONLY, 99),
                        () -> c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, 99),
                        () -> c.prepareStatement("VALUES 1", 99),
                        () -> c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_READ_ONLY)
                                .getResultSetType())));
        all.add(new Behaviour("connection: scroll-sensitive is downgraded with a warning", (c, side) -> {
            try (Statement statement = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                return statement.getResultSetType() + warnings(c.getWarnings());
            }
        }));
        all.add(new Behaviour(
                "connection: objects that there are not",
                (c, side) -> attempts(
                        () -> c.createArrayOf("INTEGER", new Object[] {1}),
                        () -> c.createStruct("X", new Object[] {1}),
                        c::createNClob,
                        c::createSQLXML)));
        all.add(new Behaviour("connection: equals, hashCode, toString", (c, side) -> {
            try (Connection other = side.connect()) {
                return List.of(
                        c.equals(c),
                        c.equals(other),
                        c.equals(null),
                        c.hashCode() == c.hashCode(),
                        c.toString() != null);
            }
        }));
        all.add(new Behaviour(
                "connection: beginRequest, endRequest, sharding",
                (c, side) ->
                        attempts(doing(c::beginRequest), doing(c::endRequest), doing(() -> c.setShardingKey(null)))));
        all.add(new Behaviour("connection: as a user", (c, side) -> {
            try (Connection other = side.connect("", user("grace", "secret"))) {
                return List.of(
                        other.getMetaData().getUserName(), other.getSchema(), query(other, "VALUES CURRENT_USER"));
            }
        }));
        all.add(new Behaviour("connection: as a user of the URL", (c, side) -> {
            try (Connection other = side.connect(";user=ada;password=secret", new Properties())) {
                return other.getMetaData().getUserName() + other.getSchema();
            }
        }));
        all.add(new Behaviour("connection: as nobody after somebody", (c, side) -> {
            side.connect("", user("grace", "secret")).close();
            try (Connection other = side.connect()) {
                return other.getMetaData().getUserName();
            }
        }));
        all.add(new Behaviour(
                "connection: bad user names",
                (c, side) -> attempts(
                        () -> side.connect("", user("a.b c", "secret")), () -> side.connect("", user("", "")))));
        all.add(new Behaviour("connection: a user with a quoted name", (c, side) -> {
            try (Connection other = side.connect("", user("\"Grace\"", "secret"))) {
                return other.getMetaData().getUserName() + query(other, "VALUES CURRENT_USER");
            }
        }));
        all.add(new Behaviour(
                "connection: to a database that is not there", (c, side) -> attempt(side::connectToUnknown)));
        all.add(new Behaviour("connection: two see each other's commits", (c, side) -> {
            try (Connection other = side.connect()) {
                c.setAutoCommit(false);
                other.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
                update(c, "UPDATE ITEM SET NAME = 'uno' WHERE ID = 1");
                String dirty = query(other, "SELECT NAME FROM ITEM WHERE ID = 1");
                c.rollback();
                return dirty + query(other, "SELECT NAME FROM ITEM WHERE ID = 1");
            }
        }));
        all.add(new Behaviour("connection: waits for a lock only so long", (c, side) -> {
            try (Connection other = side.connect()) {
                c.setAutoCommit(false);
                update(c, "UPDATE ITEM SET NAME = 'uno' WHERE ID = 1");
                String seen = attempts(
                        () -> update(other, "UPDATE ITEM SET NAME = 'un' WHERE ID = 1"), () -> other.isValid(1));
                c.rollback();
                return seen;
            }
        }));
    }
}
