package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;

/** Transactions: their ends, savepoints, isolation, deferred constraints, and what belongs to them. */
final class TransactionBehaviours {

    private TransactionBehaviours() {}

    private static final String[] AUTOSAVES = {
        SIMPLE, EXTENDED, "autosave=always&cleanupSavepoints=true", "autosave=conservative&prepareThreshold=1"
    };

    static List<Behaviour> all() {
        return List.of(
                Behaviour.of("commit and rollback", client -> {
                    client.begin();
                    client.run("INSERT INTO t VALUES (4)", "SELECT count(*) FROM t");
                    client.commit();
                    client.run("INSERT INTO t VALUES (5)");
                    client.rollback();
                    client.run("SELECT count(*) FROM t");
                    client.commit();
                    client.commit();
                    client.rollback();
                }),
                Behaviour.of("an error in a transaction, and what follows", client -> {
                            client.begin();
                            client.lines("""
                                    INSERT INTO t VALUES (4)
                                    INSERT INTO t VALUES (1)
                                    SELECT 1
                                    INSERT INTO t VALUES (5)""");
                            client.commit();
                            client.run("SELECT id FROM t ORDER BY id");
                            client.commit();
                        })
                        .in(AUTOSAVES),
                Behaviour.of("the first statement of a transaction fails", client -> {
                            client.begin();
                            client.run("nonsense", "SELECT 1");
                            client.commit();
                            client.run("INSERT INTO t VALUES (1)");
                            client.rollback();
                            client.run("INSERT INTO t VALUES (4)");
                            client.commit();
                        })
                        .in(AUTOSAVES),
                Behaviour.of("silent rollback at a commit", client -> {
                            client.begin();
                            client.run("INSERT INTO t VALUES (1)");
                            client.commit();
                        })
                        .in(EXTENDED, "raiseExceptionOnSilentRollback=false"),
                Behaviour.of("autocommit turned on within a transaction", client -> {
                    client.begin();
                    client.run("INSERT INTO t VALUES (4)");
                    client.attempt("on", c -> c.connection().setAutoCommit(true));
                    client.run("INSERT INTO t VALUES (5)");
                    client.attempt("commit", c -> c.connection().commit());
                    client.attempt("rollback", c -> c.connection().rollback());
                }),
                Behaviour.of("a connection closed within a transaction", client -> {
                    Observer other = client.other();
                    other.begin();
                    other.run("INSERT INTO t VALUES (4)");
                    int process = other.postgres().getBackendPID();
                    other.attempt("close", c -> c.connection().close());
                    client.awaitGone(process);
                    client.run("INSERT INTO t VALUES (4)");
                }),
                Behaviour.of("transactions by SQL", client -> client.lines("""
                        BEGIN
                        INSERT INTO t VALUES (4)
                        COMMIT AND CHAIN
                        INSERT INTO t VALUES (5)
                        ROLLBACK AND CHAIN
                        INSERT INTO t VALUES (6)
                        END
                        START TRANSACTION READ ONLY
                        INSERT INTO t VALUES (7)
                        ABORT
                        BEGIN
                        BEGIN
                        ROLLBACK WORK
                        COMMIT AND CHAIN
                        BEGIN; SELECT 1
                        nonsense
                        COMMIT AND CHAIN
                        COMMIT TRANSACTION
                        SELECT count(*) FROM t""")),
                Behaviour.of("transactions by SQL without autocommit", client -> {
                    client.begin();
                    client.lines("""
                            BEGIN
                            INSERT INTO t VALUES (4)
                            COMMIT
                            INSERT INTO t VALUES (5)
                            ROLLBACK
                            SELECT count(*) FROM t""");
                }),
                Behaviour.of("savepoints, named and not", TransactionBehaviours::savepoints)
                        .in(AUTOSAVES),
                Behaviour.of("savepoints by SQL", client -> {
                    client.lines("""
                            SAVEPOINT s
                            RELEASE s
                            ROLLBACK TO s
                            BEGIN
                            INSERT INTO t VALUES (4)
                            SAVEPOINT "S"
                            SAVEPOINT s
                            INSERT INTO t VALUES (5)
                            INSERT INTO t VALUES (5)
                            ROLLBACK TO SAVEPOINT s
                            INSERT INTO t VALUES (6)
                            SAVEPOINT s
                            INSERT INTO t VALUES (7)
                            ROLLBACK TO s
                            RELEASE s
                            ROLLBACK TO s
                            RELEASE SAVEPOINT missing
                            ROLLBACK TO "S"
                            INSERT INTO t VALUES (8)
                            COMMIT""");
                }),
                Behaviour.of(
                        "on purpose: what is sent together is a block of ours, for savepoints and ends", client -> {
                            client.differs(
                                    "SAVEPOINT", outcome(client, "INSERT INTO t VALUES (4); SAVEPOINT s"), "25P01", "");
                            client.differs(
                                    "COMMIT", outcome(client, "INSERT INTO t VALUES (5); COMMIT"), "warning 25P01", "");
                            client.differs(
                                    "ROLLBACK",
                                    outcome(client, "INSERT INTO t VALUES (6); ROLLBACK"),
                                    "warning 25P01",
                                    "");
                            client.differs(
                                    "SET CONSTRAINTS",
                                    outcome(client, "SET CONSTRAINTS ALL DEFERRED"),
                                    "warning 25P01",
                                    "");
                            client.execute("DELETE FROM t WHERE id = 4");
                        }),
                Behaviour.of("a deferred constraint fails at the commit", client -> {
                            client.run(
                                    "CREATE TABLE child (id int PRIMARY KEY, t int CONSTRAINT parent REFERENCES t DEFERRABLE INITIALLY DEFERRED)");
                            client.run("INSERT INTO child VALUES (1, 99)", "INSERT INTO child VALUES (1, 1)");
                            client.begin();
                            client.run("INSERT INTO child VALUES (2, 99)", "SELECT count(*) FROM child");
                            client.commit();
                            client.run("INSERT INTO child VALUES (3, 99)", "INSERT INTO t VALUES (99)");
                            client.commit();
                            client.run("INSERT INTO child VALUES (4, 77)", "SET CONSTRAINTS ALL IMMEDIATE", "SELECT 1");
                            client.rollback();
                            client.run("SET CONSTRAINTS parent IMMEDIATE", "INSERT INTO child VALUES (4, 77)");
                            client.commit();
                            client.run("SET CONSTRAINTS missing IMMEDIATE");
                            client.rollback();
                        })
                        .in(AUTOSAVES),
                Behaviour.of("a deferred trigger of its own speaks, and fails, at the commit", client -> {
                    client.lines("""
                            CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS $$ begin raise notice 'judged %', new.id; if new.id > 100 then raise exception 'too large: %', new.id using detail = 'D', hint = 'H', errcode = 'ZZ001'; end if; return null; end $$
                            CREATE CONSTRAINT TRIGGER judging AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION judge()
                            INSERT INTO t VALUES (4)
                            INSERT INTO t VALUES (104)""");
                    client.begin();
                    client.run("INSERT INTO t VALUES (5)");
                    client.commit();
                    client.run("INSERT INTO t VALUES (105)");
                    client.commit();
                }),
                Behaviour.of("isolation levels", client -> {
                    for (int level : new int[] {
                        Connection.TRANSACTION_READ_UNCOMMITTED,
                        Connection.TRANSACTION_REPEATABLE_READ,
                        Connection.TRANSACTION_SERIALIZABLE,
                        Connection.TRANSACTION_READ_COMMITTED,
                        Connection.TRANSACTION_NONE
                    }) {
                        client.attempt("level " + level, c -> {
                            c.connection().setTransactionIsolation(level);
                            c.see("is", c.connection().getTransactionIsolation());
                        });
                        client.run("SHOW transaction_isolation", "INSERT INTO t VALUES (" + (100 + level) + ")");
                    }
                    client.begin();
                    client.run("SELECT 1");
                    client.attempt(
                            "late", c -> c.connection().setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE));
                    client.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
                    client.rollback();
                    client.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SHOW transaction_isolation");
                    client.rollback();
                }),
                Behaviour.of("what is read committed, and what is repeatable", client -> {
                    Observer other = client.other();
                    client.begin();
                    client.run("SELECT count(*) FROM t");
                    other.run("INSERT INTO t VALUES (4)");
                    client.run("SELECT count(*) FROM t");
                    client.commit();
                    client.attempt(
                            "repeatable",
                            c -> c.connection().setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ));
                    client.run("SELECT count(*) FROM t");
                    other.run("INSERT INTO t VALUES (5)", "UPDATE t SET a = 7 WHERE id = 1");
                    client.run("SELECT count(*) FROM t", "UPDATE t SET a = 8 WHERE id = 1");
                    client.rollback();
                }),
                Behaviour.of("write skew that is found at a statement", client -> {
                    Observer other = client.other();
                    for (Observer one : List.of(client, other)) {
                        one.begin();
                        one.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT sum(a) FROM t");
                    }
                    client.run("UPDATE t SET a = 0 WHERE id = 1");
                    client.commit();
                    other.run("UPDATE t SET a = 0 WHERE id = 2", "SELECT 1");
                    other.rollback();
                }),
                Behaviour.of("read-only connections", client -> {
                            client.attempt("read only", c -> c.connection().setReadOnly(true));
                            client.run(
                                    "SELECT count(*) FROM t", "INSERT INTO t VALUES (4)", "SHOW transaction_read_only");
                            client.begin();
                            client.run("SELECT 1", "INSERT INTO t VALUES (4)");
                            client.rollback();
                            client.run("SHOW transaction_read_only");
                            client.attempt("within", c -> c.connection().setReadOnly(false));
                            client.rollback();
                            client.attempt("writable", c -> c.connection().setReadOnly(false));
                            client.run("INSERT INTO t VALUES (4)");
                            client.commit();
                        })
                        .in(SIMPLE, EXTENDED, "readOnlyMode=ignore", "readOnlyMode=transaction", "readOnlyMode=always"),
                Behaviour.of("SET, and what a rollback takes back of it", client -> {
                    client.run(
                            "SET work_mem TO '5MB'", "SHOW work_mem", "SET LOCAL work_mem TO '6MB'", "SHOW work_mem");
                    client.begin();
                    client.lines("""
                            SET work_mem TO '7MB'
                            SET LOCAL application_name TO 'mine'
                            INSERT INTO t VALUES (4)
                            SHOW work_mem
                            SHOW application_name""");
                    client.commit();
                    client.lines("""
                            SHOW work_mem
                            SHOW application_name
                            SET work_mem TO '8MB'
                            INSERT INTO t VALUES (5)""");
                    client.rollback();
                    client.lines("""
                            SHOW work_mem
                            SAVEPOINT s
                            SET work_mem TO '9MB'
                            ROLLBACK TO s
                            SHOW work_mem
                            RESET work_mem
                            SET nonsense TO 1""");
                    client.rollback();
                    client.lines("""
                            SELECT set_config('my.own', 'x', false), set_config('my.local', 'y', true)
                            SELECT current_setting('my.local')""");
                    client.commit();
                    client.lines("""
                            SELECT current_setting('my.own'), current_setting('my.local')
                            SHOW my.missing""");
                    client.rollback();
                }),
                Behaviour.of("settings the driver is told of", client -> {
                    client.begin();
                    client.lines("""
                            SET application_name TO 'one'
                            SET timezone TO 'Asia/Tokyo'
                            SET datestyle TO 'ISO, DMY'""");
                    client.see(
                            "parameters",
                            new java.util.TreeMap<>(client.postgres().getParameterStatuses()).toString());
                    client.rollback();
                    client.lines("""
                            SET client_encoding TO 'UTF8'
                            SET application_name TO 'two'
                            SET search_path TO pg_catalog
                            SELECT count(*) FROM pg_class WHERE false""");
                }),
                Behaviour.of("temporary tables and what a commit does to them", client -> {
                    client.begin();
                    client.lines("""
                            CREATE TEMP TABLE keeps (id int)
                            CREATE TEMP TABLE empties (id int) ON COMMIT DELETE ROWS
                            CREATE TEMP TABLE goes (id int) ON COMMIT DROP
                            INSERT INTO keeps VALUES (1)
                            INSERT INTO empties VALUES (1)
                            INSERT INTO goes VALUES (1)
                            INSERT INTO t VALUES (4)
                            UPDATE keeps SET id = 2""");
                    client.commit();
                    client.run("SELECT * FROM keeps", "SELECT * FROM empties");
                    client.commit();
                    client.run("SELECT * FROM goes");
                    client.rollback();
                    client.lines("""
                            CREATE TEMP TABLE t (x text)
                            INSERT INTO t VALUES ('hidden')
                            SELECT * FROM t
                            DROP TABLE t
                            SELECT count(*) FROM t
                            CREATE TEMP TABLE copied AS SELECT * FROM t
                            SELECT * FROM copied
                            TRUNCATE copied
                            ALTER TABLE copied ADD b int
                            CREATE INDEX ON copied (b)
                            DROP TABLE copied""");
                    client.commit();
                }),
                Behaviour.of("advisory locks", client -> {
                    Observer other = client.other();
                    client.run("SELECT pg_advisory_lock(5)");
                    other.run("SELECT pg_try_advisory_lock(5)");
                    client.run("SELECT pg_advisory_unlock(5)", "SELECT pg_advisory_unlock(5)");
                    other.run("SELECT pg_try_advisory_lock(5)");
                    client.begin();
                    client.run("SELECT pg_try_advisory_xact_lock(6)");
                    other.run("SELECT pg_try_advisory_xact_lock(6)");
                    client.commit();
                    other.run("SELECT pg_try_advisory_xact_lock(6)");
                }),
                Behaviour.of("locks of rows and tables", client -> {
                    Observer other = client.other();
                    client.run("LOCK TABLE t");
                    client.begin();
                    client.run("SELECT id FROM t WHERE id = 1 FOR UPDATE");
                    other.lines("""
                            SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT
                            SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED
                            SET lock_timeout TO '50ms'
                            UPDATE t SET a = 1 WHERE id = 1""");
                    client.run("LOCK TABLE t IN EXCLUSIVE MODE");
                    other.begin();
                    other.run("INSERT INTO t VALUES (4)", "SELECT 1");
                    other.rollback();
                    client.commit();
                    other.run("INSERT INTO t VALUES (4)");
                    other.commit();
                }),
                Behaviour.of("a deadlock", client -> {
                            Observer other = client.other();
                            client.run("SET deadlock_timeout TO '50ms'");
                            other.run("SET deadlock_timeout TO '1min'");
                            client.begin();
                            other.begin();
                            client.run("UPDATE t SET a = 0 WHERE id = 1");
                            other.run("UPDATE t SET a = 0 WHERE id = 2");
                            var waiting = client.meanwhile(c -> other.execute("UPDATE t SET a = 0 WHERE id = 1"));
                            other.awaitWaiting("Lock");
                            // Its detail names processes.
                            client.get("state", () -> {
                                try {
                                    client.execute("UPDATE t SET a = 0 WHERE id = 2");
                                    return "none";
                                } catch (java.sql.SQLException e) {
                                    return e.getSQLState();
                                }
                            });
                            client.rollback();
                            waiting.get();
                            other.commit();
                        })
                        .in(SIMPLE, EXTENDED),
                Behaviour.of("NOTIFY after the commit, and not after a rollback", client -> {
                    Observer other = client.other();
                    client.run("LISTEN news", "LISTEN \"Other\"");
                    other.begin();
                    other.lines("""
                            NOTIFY news, 'first'
                            INSERT INTO t VALUES (4)
                            SELECT pg_notify('news', 'second')""");
                    client.run("SELECT 1");
                    client.see("before", client.notifications());
                    other.commit();
                    client.see("after", await(client));
                    other.run("NOTIFY news, 'undone'");
                    other.rollback();
                    other.run("INSERT INTO t VALUES (5); NOTIFY \"Other\"");
                    other.commit();
                    client.see("other", await(client));
                    client.run("NOTIFY news, 'own'");
                    client.see("own", client.notifications());
                    client.run("SELECT pg_notify('news', 'by a function'); UNLISTEN news; NOTIFY news, 'unheard'");
                    client.see("last", client.notifications());
                }),
                Behaviour.of("notifications that are waited for", client -> {
                    client.run("LISTEN news");
                    client.see("none", client.postgres().getNotifications(1).length);
                    client.other().run("INSERT INTO t VALUES (4); NOTIFY news, 'x'");
                    client.see("one", client.postgres().getNotifications(5_000).length);
                }));
    }

    private static List<String> await(Observer client) throws Exception {
        return java.util.Arrays.stream(client.postgres().getNotifications(5_000))
                .map(one -> one.getName() + " " + one.getParameter())
                .toList();
    }

    private static String outcome(Observer client, String sql) throws SQLException {
        try (Statement statement = client.connection().createStatement()) {
            statement.execute(sql);
            while (statement.getMoreResults() || statement.getUpdateCount() >= 0) {
                // to the last
            }
            SQLWarning warning = statement.getWarnings();
            return warning == null ? "" : "warning " + warning.getSQLState();
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    private static void savepoints(Observer client) throws Exception {
        client.attempt("in autocommit", c -> c.connection().setSavepoint());
        client.begin();
        client.run("INSERT INTO t VALUES (4)");
        Savepoint first = client.connection().setSavepoint("a \"name\"");
        client.run("INSERT INTO t VALUES (5)");
        Savepoint second = client.connection().setSavepoint();
        client.see("id", second.getSavepointId());
        client.run("INSERT INTO t VALUES (6)", "INSERT INTO t VALUES (1)");
        client.attempt("to the second", c -> c.connection().rollback(second));
        client.run("INSERT INTO t VALUES (7)", "SELECT count(*) FROM t");
        client.attempt("release", c -> c.connection().releaseSavepoint(second));
        client.attempt("released", c -> c.connection().rollback(second));
        client.attempt("to the first", c -> c.connection().rollback(first));
        client.run("INSERT INTO t VALUES (8)");
        client.commit();
        client.attempt("of a transaction before", c -> c.connection().rollback(first));
        client.rollback();
    }
}
