package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.BINARY;
import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.sql.CallableStatement;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Types;
import java.util.List;

/** Result sets that are fetched in parts, scrolled, updated and held, and cursors by name. */
final class CursorBehaviours {

    private CursorBehaviours() {}

    private static final String[] MODES = {
        SIMPLE, EXTENDED, BINARY, "defaultRowFetchSize=2&adaptiveFetch=true&maxResultBuffer=1M"
    };

    static List<Behaviour> all() {
        return List.of(
                Behaviour.of("rows fetched in parts", client -> {
                            for (boolean auto : new boolean[] {true, false}) {
                                client.connection().setAutoCommit(auto);
                                fetch(client, "SELECT i, repeat('x', i) FROM generate_series(1, 25) i", 7);
                                fetch(client, "SELECT * FROM t ORDER BY id", 1);
                                fetch(client, "UPDATE t SET a = a + 1 RETURNING id", 1);
                                fetch(client, "SELECT 10 / (20 - i) FROM generate_series(1, 25) i", 7);
                            }
                        })
                        .in(MODES),
                Behaviour.of("100,000 rows", client -> {
                            for (int size : new int[] {0, 10_000}) {
                                client.connection().setAutoCommit(false);
                                try (Statement statement = client.connection().createStatement()) {
                                    statement.setFetchSize(size);
                                    long sum = 0;
                                    try (ResultSet rows = statement.executeQuery(
                                            "SELECT i, repeat('x', 40) FROM generate_series(1, 100000) i")) {
                                        while (rows.next()) {
                                            sum += rows.getInt(1)
                                                    + rows.getString(2).length();
                                        }
                                    }
                                    client.see("sum", sum);
                                }
                            }
                        })
                        .in(EXTENDED),
                Behaviour.of("statements between the parts of a result", client -> {
                            client.begin();
                            try (Statement statement = client.connection().createStatement()) {
                                statement.setFetchSize(1);
                                ResultSet rows = statement.executeQuery("SELECT id FROM t ORDER BY id");
                                while (rows.next()) {
                                    client.see(Observer.current(rows));
                                    client.run("UPDATE t SET a = 0 WHERE id = " + rows.getInt(1));
                                }
                            }
                            client.commit();
                        })
                        .in(MODES),
                Behaviour.of("a commit between the parts of a result", client -> {
                            for (int hold :
                                    new int[] {ResultSet.CLOSE_CURSORS_AT_COMMIT, ResultSet.HOLD_CURSORS_OVER_COMMIT}) {
                                client.connection().setAutoCommit(false);
                                client.run("UPDATE t SET a = a + 1");
                                client.attempt("hold " + hold, c -> {
                                    try (Statement statement = c.connection()
                                            .createStatement(
                                                    ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, hold)) {
                                        statement.setFetchSize(1);
                                        ResultSet rows = statement.executeQuery("SELECT id FROM t ORDER BY id");
                                        rows.next();
                                        c.connection().commit();
                                        c.see(rows);
                                    }
                                });
                                client.rollback();
                            }
                        })
                        .in(MODES),
                Behaviour.of("two results open at once", client -> {
                            client.begin();
                            try (Statement one = client.connection().createStatement();
                                    Statement two = client.connection().createStatement()) {
                                one.setFetchSize(1);
                                two.setFetchSize(1);
                                ResultSet rows = one.executeQuery("SELECT id FROM t ORDER BY id");
                                ResultSet others = two.executeQuery("SELECT id FROM t ORDER BY id DESC");
                                while (rows.next() && others.next()) {
                                    client.see(Observer.current(rows) + Observer.current(others));
                                }
                            }
                        })
                        .in(MODES),
                Behaviour.of("scrolling", CursorBehaviours::scroll).in(MODES),
                Behaviour.of("rows updated, inserted and deleted through a result", CursorBehaviours::update)
                        .in(MODES),
                Behaviour.of("results that cannot be updated", client -> {
                    client.run("CREATE VIEW v AS SELECT count(*) FROM t");
                    for (String sql : List.of("SELECT * FROM v", "SELECT a FROM t", "SELECT 1 AS id")) {
                        client.attempt(sql, c -> {
                            try (Statement statement = c.connection()
                                    .createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                                ResultSet rows = statement.executeQuery(sql);
                                c.see("updatable", rows.getConcurrency() == ResultSet.CONCUR_UPDATABLE);
                                rows.next();
                                rows.updateInt(1, 5);
                                rows.updateRow();
                            }
                        });
                    }
                }),
                Behaviour.of("DECLARE, FETCH, MOVE and CLOSE", client -> {
                    client.run("DECLARE c CURSOR FOR SELECT * FROM t");
                    client.begin();
                    client.lines("""
                            DECLARE c SCROLL CURSOR FOR SELECT * FROM t ORDER BY id
                            FETCH c
                            FETCH 2 FROM c
                            MOVE FIRST IN c
                            FETCH ALL c
                            FETCH BACKWARD 1 FROM c
                            UPDATE t SET a = 99 WHERE CURRENT OF c
                            CLOSE c
                            FETCH c""");
                    client.rollback();
                    client.lines("""
                            DECLARE c CURSOR FOR SELECT * FROM t FOR UPDATE
                            FETCH 2 FROM c
                            UPDATE t SET a = 99 WHERE CURRENT OF c
                            DELETE FROM t WHERE CURRENT OF c""");
                    client.commit();
                    client.run("FETCH c");
                    client.rollback();
                }),
                Behaviour.of(
                        "a cursor over functions, outside of a transaction",
                        client -> client.run("DECLARE c CURSOR FOR SELECT generate_series(1, 3)", "FETCH c")),
                Behaviour.of("WITH HOLD", client -> {
                    client.run("DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id", "FETCH h");
                    client.begin();
                    client.lines("""
                            DECLARE i CURSOR WITH HOLD FOR SELECT generate_series(1, 3)
                            INSERT INTO t VALUES (4)""");
                    client.commit();
                    client.run("FETCH ALL i", "FETCH ALL h");
                    client.rollback();
                    client.run("DECLARE j CURSOR WITH HOLD FOR SELECT 1 / (2 - id) FROM t");
                    client.commit();
                    client.run("CLOSE ALL", "FETCH i");
                    client.rollback();
                }),
                Behaviour.of("refcursors", client -> {
                    client.run(
                            "CREATE FUNCTION opened() RETURNS refcursor LANGUAGE plpgsql AS $$ declare c refcursor := 'named'; begin open c for select * from t order by id; return c; end $$");
                    client.attempt("in autocommit", c -> c.execute("SELECT opened()"));
                    client.begin();
                    client.run(
                            "SELECT opened()", "CLOSE named", "SELECT opened()", "FETCH ALL IN named", "CLOSE named");
                    client.attempt("call", c -> {
                        try (CallableStatement call = c.connection().prepareCall("{? = call opened()}")) {
                            call.registerOutParameter(1, Types.REF_CURSOR);
                            call.execute();
                            c.see("rows", call.getObject(1));
                        }
                    });
                    client.commit();
                }),
                Behaviour.of("a result closed before its end", client -> {
                            client.begin();
                            try (PreparedStatement statement =
                                    client.connection().prepareStatement("SELECT generate_series(1, 1000)")) {
                                statement.setFetchSize(10);
                                for (int i = 0; i < 6; i++) {
                                    try (ResultSet rows = statement.executeQuery()) {
                                        rows.next();
                                        client.see(Observer.current(rows));
                                    }
                                }
                            }
                            client.run("INSERT INTO t VALUES (4)");
                            client.commit();
                        })
                        .in(MODES),
                Behaviour.of(
                                "more bytes than the driver may hold",
                                client ->
                                        client.run("SELECT repeat('x', 1000) FROM generate_series(1, 100)", "SELECT 1"))
                        .in("maxResultBuffer=10K"));
    }

    private static void fetch(Observer client, String sql, int size) {
        client.attempt(sql, c -> {
            try (PreparedStatement statement = c.connection().prepareStatement(sql)) {
                statement.setFetchSize(size);
                c.results(statement, statement::execute);
            }
            if (!c.connection().getAutoCommit()) {
                c.connection().commit();
            }
        });
        client.attempt("end", c -> {
            if (!c.connection().getAutoCommit()) {
                c.connection().rollback();
            }
        });
    }

    private static void scroll(Observer client) {
        client.attempt("scroll", c -> {
            try (Statement statement =
                    c.connection().createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
                ResultSet rows = statement.executeQuery("SELECT * FROM t ORDER BY id");
                c.see("last", rows.last());
                c.see("row", rows.getRow());
                c.see(Observer.current(rows));
                c.see("previous", rows.previous());
                c.see(Observer.current(rows));
                c.see("absolute", rows.absolute(-3));
                c.see(Observer.current(rows));
                c.see("relative", rows.relative(5));
                c.see("behind", rows.isAfterLast());
                rows.beforeFirst();
                c.see(rows);
                c.see("type", rows.getType());
            }
        });
        client.attempt(
                "not scrollable",
                c -> c.connection().createStatement().executeQuery("SELECT 1").previous());
    }

    private static void update(Observer client) {
        client.lines("""
                CREATE TABLE u (id serial PRIMARY KEY, a int UNIQUE, s text DEFAULT 'new')
                INSERT INTO u (a) VALUES (1), (2), (3)""");
        for (boolean auto : new boolean[] {true, false}) {
            client.attempt("autocommit " + auto, c -> {
                c.connection().setAutoCommit(auto);
                try (Statement statement =
                        c.connection().createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                    ResultSet rows = statement.executeQuery("SELECT id, a, s FROM u ORDER BY id");
                    rows.next();
                    rows.updateInt("a", auto ? 10 : 20);
                    rows.updateNull("s");
                    rows.updateRow();
                    c.see(Observer.current(rows));
                    c.see("updated", rows.rowUpdated());
                    rows.next();
                    c.attempt("violates", d -> {
                        rows.updateInt(2, auto ? 10 : 20);
                        rows.updateRow();
                    });
                    if (!auto) {
                        c.connection().rollback();
                    }
                    rows.cancelRowUpdates();
                    rows.refreshRow();
                    c.see(Observer.current(rows));
                    rows.moveToInsertRow();
                    rows.updateInt(2, auto ? 100 : 200);
                    rows.insertRow();
                    c.see(Observer.current(rows));
                    rows.moveToCurrentRow();
                    rows.last();
                    c.see(Observer.current(rows));
                    rows.absolute(3);
                    rows.deleteRow();
                    rows.beforeFirst();
                    c.see(rows);
                }
            });
            client.attempt("end", c -> {
                if (!auto) {
                    c.connection().commit();
                }
            });
        }
        client.run("SELECT * FROM u ORDER BY id");
    }
}
