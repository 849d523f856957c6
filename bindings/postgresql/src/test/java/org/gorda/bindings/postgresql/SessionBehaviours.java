package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.AT_ONCE;
import static org.gorda.bindings.postgresql.Behaviour.CACHED;
import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.postgresql.util.PGobject;

/** Connections: their settings, time-outs, cancelling, ends, and what the server keeps for them. */
final class SessionBehaviours {

    private SessionBehaviours() {}

    /** One that ends only when somebody ends it. */
    private static final String SLEEP = "SELECT pg_sleep(60)";

    private static final String WRITE_AND_SLEEP = "INSERT INTO t SELECT 4 FROM pg_sleep(60)";

    static List<Behaviour> all() {
        return List.of(
                Behaviour.of("settings of the URL", client -> client.lines("""
                        SHOW search_path
                        SHOW work_mem
                        SHOW application_name
                        SHOW datestyle
                        SHOW default_transaction_isolation
                        INSERT INTO t VALUES (4)"""))
                        .in(
                                "options=-c%20work_mem%3D5MB%20-c%20datestyle%3DISO,DMY",
                                "currentSchema=pg_catalog,public&ApplicationName=app",
                                "options=-c%20default_transaction_isolation%3Dserializable",
                                "binaryTransfer=false&prepareThreshold=1",
                                "binaryTransferDisable=int4,text&prepareThreshold=-1",
                                "assumeMinServerVersion=14&loggerLevel=OFF",
                                "tcpKeepAlive=true&socketTimeout=20&loginTimeout=20&connectTimeout=20",
                                "disableColumnSanitiser=true&unknownLength=100",
                                "preparedStatementCacheQueries=1&preparedStatementCacheSizeMiB=1&prepareThreshold=1",
                                "queryTimeout=5",
                                "targetServerType=primary",
                                "logServerErrorDetail=false"),
                Behaviour.of("settings of the URL that the server refuses", client -> {
                    for (String bad : List.of("nothing=1", "work_mem=much")) {
                        client.attempt(bad, c -> {
                            Observer other = c.other();
                            other.attempt("options", d -> d.execute("SET " + bad));
                        });
                    }
                }),
                Behaviour.of("a statement that is cancelled from another thread", client -> {
                            for (boolean auto : new boolean[] {true, false}) {
                                client.connection().setAutoCommit(auto);
                                for (String sql : List.of(SLEEP, WRITE_AND_SLEEP)) {
                                    try (Statement statement =
                                            client.connection().createStatement()) {
                                        Future<?> cancel = client.meanwhile(c -> {
                                            c.awaitWaiting("PgSleep");
                                            statement.cancel();
                                        });
                                        client.attempt(
                                                "cancelled", c -> c.results(statement, () -> statement.execute(sql)));
                                        cancel.get();
                                    }
                                    client.run("SELECT 1");
                                    client.attempt("end", c -> {
                                        if (!auto) {
                                            c.connection().rollback();
                                        }
                                    });
                                }
                            }
                        })
                        .in(SIMPLE, EXTENDED, "autosave=always"),
                Behaviour.of("a request to cancel when nothing runs", client -> {
                    try (Statement statement = client.connection().createStatement()) {
                        client.attempt("cancel", c -> statement.cancel());
                        client.attempt("driver", c -> c.postgres().cancelQuery());
                    }
                }),
                Behaviour.of("setQueryTimeout", client -> {
                    client.attempt("time-out", c -> {
                        try (Statement statement = c.connection().createStatement()) {
                            statement.setQueryTimeout(1);
                            c.see("seconds", statement.getQueryTimeout());
                            c.results(statement, () -> statement.execute(WRITE_AND_SLEEP));
                        }
                    });
                    client.run("INSERT INTO t VALUES (4)");
                }),
                Behaviour.of("statement_timeout", client -> {
                    client.run("SET statement_timeout TO '100ms'", SLEEP, WRITE_AND_SLEEP, "INSERT INTO t VALUES (4)");
                    client.begin();
                    client.run("INSERT INTO t VALUES (5)", SLEEP, "SELECT 1");
                    client.commit();
                    client.lines("""
                            SET LOCAL statement_timeout TO 0
                            INSERT INTO t VALUES (6)
                            SELECT pg_sleep(0.15)""");
                    client.commit();
                }),
                Behaviour.of("lock_timeout", client -> {
                    Observer other = client.other();
                    other.begin();
                    other.run("UPDATE t SET a = 0 WHERE id = 1");
                    client.lines("""
                            SET lock_timeout TO '50ms'
                            UPDATE t SET a = 1 WHERE id = 1
                            INSERT INTO t VALUES (4)""");
                    client.begin();
                    client.run("INSERT INTO t VALUES (5)", "SELECT * FROM t WHERE id = 1 FOR UPDATE", "SELECT 1");
                    client.rollback();
                    other.commit();
                }),
                Behaviour.of("idle_in_transaction_session_timeout", client -> {
                    Observer other = client.other();
                    other.run("SET idle_in_transaction_session_timeout TO '50ms'");
                    other.begin();
                    int process = other.postgres().getBackendPID();
                    other.run("INSERT INTO t VALUES (4)");
                    client.awaitGone(process);
                    other.run("SELECT 1", "SELECT 1");
                }),
                Behaviour.of("idle_session_timeout", client -> {
                    Observer other = client.other();
                    int process = other.postgres().getBackendPID();
                    other.run("SET idle_session_timeout TO '50ms'");
                    client.awaitGone(process);
                    other.run("SELECT 1");
                }),
                Behaviour.of("transaction_timeout", client -> {
                    Observer other = client.other();
                    other.begin();
                    int process = other.postgres().getBackendPID();
                    other.run("INSERT INTO t VALUES (4)", "SET transaction_timeout TO '50ms'");
                    if (other.connection().getMetaData().getDatabaseMajorVersion() >= 17) { // others do not have it
                        client.awaitGone(process);
                    }
                    other.run("SELECT 1");
                }),
                Behaviour.of("socketTimeout", client -> client.run(SLEEP, "SELECT 1"))
                        .in("socketTimeout=1", "socketTimeout=1&preferQueryMode=simple"),
                Behaviour.of("setNetworkTimeout", client -> {
                    client.attempt("set", c -> c.connection().setNetworkTimeout(Runnable::run, 200));
                    client.see("is", client.connection().getNetworkTimeout());
                    client.run("INSERT INTO t VALUES (4)", SLEEP);
                }),
                Behaviour.of("a server's session that an administrator ends", client -> {
                            Observer other = client.other();
                            Observer third = client.other();
                            int process = other.postgres().getBackendPID();
                            int busy = third.postgres().getBackendPID();
                            other.begin();
                            other.run("INSERT INTO t VALUES (4)");
                            client.execute("SELECT pg_terminate_backend(" + process + ")");
                            client.awaitGone(process);
                            other.run("INSERT INTO t VALUES (5)", "SELECT 1");
                            Future<?> ends = client.meanwhile(c -> {
                                third.awaitWaiting("PgSleep");
                                c.execute("SELECT pg_terminate_backend(" + busy + ")");
                            });
                            third.run(SLEEP, "SELECT 1");
                            ends.get();
                        })
                        .in(SIMPLE, EXTENDED),
                Behaviour.of(
                        "a session that ends itself",
                        client -> client.other().run("SELECT pg_terminate_backend(pg_backend_pid())", "SELECT 1")),
                Behaviour.of("close, and what comes after", client -> {
                    Observer other = client.other();
                    Statement statement = other.connection().createStatement();
                    var rows = statement.executeQuery("SELECT 1");
                    other.attempt("close", c -> c.connection().close());
                    other.attempt("again", c -> c.connection().close());
                    other.attempt("statement", c -> statement.execute("SELECT 1"));
                    other.attempt("rows", c -> rows.next());
                    other.attempt("commit", c -> c.connection().commit());
                    other.attempt("valid", c -> c.see("valid", c.connection().isValid(1)));
                }),
                Behaviour.of("abort, idle", client -> {
                    Observer other = client.other();
                    other.begin();
                    other.run("INSERT INTO t VALUES (4)");
                    int process = other.postgres().getBackendPID();
                    other.attempt("abort", c -> c.connection().abort(Runnable::run));
                    client.awaitGone(process);
                    other.run("SELECT 1");
                    client.run("INSERT INTO t VALUES (4)");
                }),
                Behaviour.of("abort of what runs", client -> {
                    Observer other = client.other();
                    Future<?> abort = client.meanwhile(c -> {
                        other.awaitWaiting("PgSleep");
                        other.connection().abort(Runnable::run);
                    });
                    other.run(SLEEP);
                    abort.get();
                }),
                Behaviour.of("isValid", client -> {
                    client.get("idle", () -> client.connection().isValid(1));
                    client.begin();
                    client.run("INSERT INTO t VALUES (4)");
                    client.get("within", () -> client.connection().isValid(1));
                    client.run("nonsense");
                    client.get("failed", () -> client.connection().isValid(1));
                    client.get("negative", () -> client.connection().isValid(-1));
                    client.get("without a limit", () -> client.connection().isValid(0));
                }),
                Behaviour.of("setSchema and search_path", client -> {
                    client.lines("""
                            CREATE SCHEMA IF NOT EXISTS away
                            DROP SCHEMA away
                            CREATE SCHEMA away CREATE TABLE t (id int PRIMARY KEY)""");
                    client.attempt("set", c -> c.connection().setSchema("away"));
                    client.run("SELECT * FROM t", "INSERT INTO t VALUES (1)", "SHOW search_path");
                    client.begin();
                    client.attempt("set", c -> c.connection().setSchema("it's \"none\""));
                    client.get("is", client.connection()::getSchema);
                    client.run("SELECT * FROM t");
                    client.rollback();
                    client.run("SELECT * FROM t", "SET search_path TO public, away", "DROP SCHEMA away CASCADE");
                    client.commit();
                }),
                Behaviour.of("prepared statements whose search_path changes", client -> {
                            client.run("CREATE SCHEMA away CREATE TABLE t (other text PRIMARY KEY)");
                            try (PreparedStatement select = client.connection().prepareStatement("SELECT * FROM t")) {
                                for (String path : List.of("public", "away", "public")) {
                                    client.run("SET search_path TO " + path);
                                    client.attempt(path, c -> c.results(select, select::execute));
                                    client.attempt(path, c -> c.results(select, select::execute));
                                }
                            }
                            client.run("DROP SCHEMA away CASCADE");
                        })
                        .in(SIMPLE, EXTENDED, AT_ONCE, CACHED),
                Behaviour.of("setClientInfo", client -> {
                    client.attempt("name", c -> c.connection().setClientInfo("ApplicationName", "it's mine"));
                    client.run("SHOW application_name");
                    client.attempt("another", c -> c.connection().setClientInfo("ClientUser", "x"));
                    client.attempt("all", c -> c.connection().setClientInfo(new Properties()));
                    client.see("info", client.connection().getClientInfo().toString());
                    client.begin();
                    client.run("nonsense");
                    client.attempt("failed", c -> c.connection().setClientInfo("ApplicationName", "late"));
                }),
                Behaviour.of("DISCARD ALL and RESET ALL", client -> {
                            client.lines("""
                                    SET work_mem TO '5MB'
                                    CREATE TEMP TABLE own (id int)
                                    PREPARE p AS SELECT 1
                                    LISTEN news
                                    INSERT INTO t VALUES (4)""");
                            try (PreparedStatement insert =
                                    client.connection().prepareStatement("INSERT INTO t VALUES (?)")) {
                                for (int i = 5; i < 15; i++) {
                                    insert.setInt(1, i);
                                    if (i == 11) {
                                        client.run("DISCARD ALL");
                                    }
                                    client.attempt("insert", c -> c.results(insert, insert::execute));
                                }
                            }
                            client.lines("""
                                    SHOW work_mem
                                    SELECT * FROM own
                                    EXECUTE p
                                    SELECT count(*) FROM pg_listening_channels()
                                    DISCARD PLANS
                                    DISCARD TEMP
                                    RESET ALL""");
                            client.begin();
                            client.run("INSERT INTO t VALUES (90)", "DISCARD ALL");
                            client.rollback();
                        })
                        .in(SIMPLE, EXTENDED, AT_ONCE),
                Behaviour.of("PREPARE, EXECUTE and DEALLOCATE", client -> {
                            client.lines("""
                                    PREPARE p (int, text) AS INSERT INTO t VALUES ($1, 0, $2) RETURNING s
                                    EXECUTE p(4, 'x')
                                    EXECUTE p(4, 'x')
                                    EXECUTE p(5)
                                    PREPARE p AS SELECT 1
                                    DEALLOCATE p
                                    EXECUTE p(6, 'y')
                                    PREPARE q AS SELECT * FROM t ORDER BY id
                                    EXECUTE q
                                    DEALLOCATE ALL
                                    INSERT INTO t VALUES (7)
                                    EXECUTE q""");
                            client.begin();
                            client.run("PREPARE r AS UPDATE t SET a = 0", "EXECUTE r");
                            client.rollback();
                            client.run("EXECUTE r");
                            client.commit();
                        })
                        .in(SIMPLE, EXTENDED, AT_ONCE),
                Behaviour.of("roles", client -> {
                    client.lines("""
                            SET ROLE pg_read_all_data
                            SELECT count(*) FROM t
                            SELECT current_user, session_user
                            INSERT INTO t VALUES (4)
                            RESET ROLE
                            GRANT USAGE ON SCHEMA public TO pg_monitor
                            GRANT INSERT ON t TO pg_monitor
                            SET ROLE pg_monitor
                            INSERT INTO t VALUES (5)
                            UPDATE t SET a = 0
                            CREATE TABLE x (id int PRIMARY KEY)
                            SET SESSION AUTHORIZATION pg_monitor
                            INSERT INTO t VALUES (6)
                            SELECT session_user
                            RESET SESSION AUTHORIZATION
                            SET ROLE missing""");
                    client.begin();
                    client.run("SET LOCAL ROLE pg_monitor", "INSERT INTO t VALUES (7)");
                    client.commit();
                    client.run("SELECT current_user");
                    client.commit();
                }),
                Behaviour.of("types that a client adds", client -> {
                    client.postgres().addDataType("int4range", Range.class);
                    client.run("SELECT '[1,5)'::int4range AS r");
                }),
                Behaviour.of("escaping by the driver", client -> {
                    client.get("identifier", () -> client.postgres().escapeIdentifier("a\"b"));
                    client.get("literal", () -> client.postgres().escapeLiteral("it's \\"));
                    client.get(
                            "native",
                            () -> client.connection().nativeSQL("SELECT {fn concat('a', 'b')}, {d '2024-01-01'}"));
                    client.run(
                            "SELECT {fn concat('a', 'b')} AS x, {d '2024-01-01'} AS d, {fn length({fn ucase('abc')})} AS n");
                }),
                Behaviour.of("properties of the connection", client -> {
                    client.see("prepare threshold", client.postgres().getPrepareThreshold());
                    client.see("fetch size", client.postgres().getDefaultFetchSize());
                    client.see("mode", client.postgres().getPreferQueryMode());
                    client.see("autosave", client.postgres().getAutosave());
                    client.see("type map", client.connection().getTypeMap().toString());
                    client.get("hold", () -> {
                        client.connection().setHoldability(java.sql.ResultSet.HOLD_CURSORS_OVER_COMMIT);
                        return client.connection().getHoldability();
                    });
                    client.get("catalog", client.connection()::getCatalog);
                    client.attempt("begin", c -> c.connection().beginRequest());
                    client.attempt("end", c -> c.connection().endRequest());
                    client.get(
                            "sharding",
                            () -> client.connection().unwrap(Connection.class).isReadOnly());
                }));
    }

    /** As any that an application brings. Public for the driver, which makes them. */
    public static final class Range extends PGobject {
        private static final long serialVersionUID = 1;

        /** For the driver. */
        public Range() {}
    }
}
