package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.AT_ONCE;
import static org.gorda.bindings.postgresql.Behaviour.BINARY;
import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.util.List;
import org.postgresql.PGResultSetMetaData;

/** What the driver tells of the database, of results and of parameters. */
final class MetadataBehaviours {

    private MetadataBehaviours() {}

    private interface Asked {
        ResultSet of(DatabaseMetaData metadata) throws Exception;
    }

    private static final String[] SCHEMA = {
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN pos AS int CHECK (VALUE > 0)",
        "CREATE TABLE kinds (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n numeric(7,3) NOT NULL DEFAULT 1.5, v varchar(20), c char(3), b bit(5), m mood, p pos, ts timestamp(3) with time zone, a int[], j jsonb, twice numeric GENERATED ALWAYS AS (n * 2) STORED)",
        "COMMENT ON COLUMN kinds.v IS 'a comment'",
        "CREATE UNIQUE INDEX by_v ON kinds (lower(v), n DESC) WHERE n > 0",
        "CREATE TABLE child (a bigint, b int, k bigint REFERENCES kinds ON DELETE CASCADE, t int REFERENCES t DEFERRABLE, PRIMARY KEY (b, a))",
        "CREATE VIEW seen AS SELECT id, v FROM kinds",
        "CREATE SEQUENCE counted",
        "CREATE FUNCTION two(a int, OUT b text, VARIADIC c int[]) LANGUAGE sql AS $$ SELECT 'x' $$",
        "CREATE PROCEDURE proc(INOUT a int) LANGUAGE sql AS $$ SELECT a $$",
        "GRANT SELECT ON kinds TO PUBLIC"
    };

    static List<Behaviour> all() {
        return List.of(
                asked("tables", data -> data.getTables(null, "public", "%", null)),
                asked(
                        "tables of some types",
                        data -> data.getTables(null, "public", "%", new String[] {"VIEW", "SEQUENCE"})),
                asked("columns", data -> data.getColumns(null, "public", "%", "%")),
                asked("primary keys", data -> data.getPrimaryKeys(null, "public", "child")),
                asked("imported keys", data -> data.getImportedKeys(null, "public", "child")),
                asked("exported keys", data -> data.getExportedKeys(null, "public", "kinds")),
                asked("cross reference", data -> data.getCrossReference(null, "public", "t", null, "public", "child")),
                asked("indexes", data -> data.getIndexInfo(null, "public", "kinds", false, true)),
                asked("functions", data -> data.getFunctions(null, "public", "%")),
                asked("columns of functions", data -> data.getFunctionColumns(null, "public", "two", "%")),
                asked("procedures", data -> data.getProcedures(null, "public", "%")),
                asked("columns of procedures", data -> data.getProcedureColumns(null, "public", "%", "%")),
                asked("types of its own", data -> data.getUDTs(null, "public", "%", null)),
                asked("privileges", data -> data.getTablePrivileges(null, "public", "kinds")),
                asked("privileges of columns", data -> data.getColumnPrivileges(null, "public", "kinds", "v")),
                asked(
                        "best row identifier",
                        data -> data.getBestRowIdentifier(
                                null, "public", "child", DatabaseMetaData.bestRowSession, true)),
                asked("version columns", data -> data.getVersionColumns(null, "public", "kinds")),
                asked("client info", DatabaseMetaData::getClientInfoProperties),
                asked("table types", DatabaseMetaData::getTableTypes),
                asked(
                        "catalogs that are this one",
                        data -> data.getConnection()
                                .createStatement()
                                .executeQuery("SELECT current_database() AS table_cat")),
                Behaviour.of("schemas: there is one more, ours", client -> {
                    List<String> names = new java.util.ArrayList<>();
                    try (ResultSet schemas = client.connection().getMetaData().getSchemas()) {
                        while (schemas.next()) {
                            names.add(schemas.getString(1));
                        }
                    }
                    client.differs("gorda", names.remove("gorda"), false, true);
                    client.see("schemas", names.toString());
                }),
                Behaviour.of("product, limits and key words", client -> {
                    DatabaseMetaData data = client.connection().getMetaData();
                    client.see(
                            "product",
                            data.getDatabaseProductName() + " " + data.getDatabaseProductVersion() + " "
                                    + data.getDatabaseMajorVersion());
                    client.see("driver", data.getDriverName() + " " + data.getDriverVersion());
                    client.see("user", data.getUserName());
                    client.see("key words", data.getSQLKeywords());
                    client.see("isolation", data.getDefaultTransactionIsolation());
                    client.see("names", data.getMaxTableNameLength() + " " + data.getMaxIndexLength());
                    client.see("read only", data.isReadOnly());
                }),
                Behaviour.of("metadata of results", client -> {
                            client.execute(String.join(";", SCHEMA));
                            client.run("INSERT INTO kinds (v, m, p) VALUES ('x', 'ok', 5)");
                            for (String sql : List.of(
                                    "SELECT k.*, k.n + 1 AS more, t.a AS \"A\" FROM kinds k, t",
                                    "SELECT * FROM seen",
                                    "SELECT count(*), NULL, 'x' FROM t",
                                    "UPDATE kinds SET v = 'y' RETURNING id, v",
                                    "SHOW work_mem")) {
                                client.attempt(sql, c -> {
                                    try (PreparedStatement statement =
                                            c.connection().prepareStatement(sql)) {
                                        c.attempt("before", d -> describe(d, statement.getMetaData()));
                                        statement.execute();
                                        c.attempt(
                                                "after",
                                                d -> describe(
                                                        d,
                                                        statement.getResultSet().getMetaData()));
                                    }
                                });
                            }
                        })
                        .in(EXTENDED, AT_ONCE, BINARY, "disableColumnSanitiser=true"),
                Behaviour.of("metadata of results within a transaction", client -> {
                    client.begin();
                    client.run("CREATE TABLE made (id int PRIMARY KEY, v varchar(5))");
                    client.attempt(
                            "made",
                            c -> describe(
                                    c,
                                    c.connection()
                                            .createStatement()
                                            .executeQuery("SELECT * FROM made")
                                            .getMetaData()));
                    client.rollback();
                }),
                Behaviour.of("metadata of parameters", client -> {
                            for (String sql : List.of(
                                    "INSERT INTO t VALUES (?, ?, ?)",
                                    "SELECT * FROM t WHERE s LIKE ? AND a = ANY (?)",
                                    "SELECT ?::numeric(5,2), ?",
                                    "nonsense ?",
                                    "CREATE TABLE x (id int)",
                                    "UPDATE t SET a = ?; SELECT ?::text")) {
                                client.attempt(sql, c -> {
                                    try (PreparedStatement statement =
                                            c.connection().prepareStatement(sql)) {
                                        ParameterMetaData data = statement.getParameterMetaData();
                                        for (int i = 1; i <= data.getParameterCount(); i++) {
                                            c.see(
                                                    "parameter",
                                                    data.getParameterTypeName(i) + " " + data.getParameterType(i) + " "
                                                            + data.getParameterClassName(i) + " " + data.getPrecision(i)
                                                            + " " + data.getScale(i) + " " + data.getParameterMode(i)
                                                            + " " + data.isNullable(i) + " " + data.isSigned(i));
                                        }
                                    }
                                });
                            }
                            client.begin();
                            client.attempt(
                                    "in a transaction",
                                    c -> c.connection()
                                            .prepareStatement("nonsense ?")
                                            .getParameterMetaData());
                            client.run("SELECT 1");
                        })
                        .in(EXTENDED, AT_ONCE),
                Behaviour.of("described, then executed", client -> {
                            client.attempt("insert", c -> {
                                try (PreparedStatement insert =
                                        c.connection().prepareStatement("INSERT INTO t VALUES (?) RETURNING *")) {
                                    insert.getParameterMetaData();
                                    insert.getMetaData();
                                    for (int i = 4; i < 12; i++) {
                                        insert.setInt(1, i);
                                        c.results(insert, insert::execute);
                                    }
                                }
                            });
                        })
                        .in(EXTENDED, AT_ONCE));
    }

    private static Behaviour asked(String what, Asked question) {
        return Behaviour.of("metadata: " + what, client -> {
                    client.execute(String.join(";", SCHEMA));
                    client.attempt(what, c -> {
                        Connection connection = c.connection();
                        try (ResultSet answer = question.of(connection.getMetaData())) {
                            c.see(answer);
                        }
                    });
                })
                .in(EXTENDED);
    }

    private static void describe(Observer client, ResultSetMetaData data) throws Exception {
        PGResultSetMetaData own = data.unwrap(PGResultSetMetaData.class);
        for (int i = 1; i <= data.getColumnCount(); i++) {
            client.see(
                    "column",
                    data.getColumnName(i) + " " + data.getColumnLabel(i) + " " + data.getColumnTypeName(i) + " "
                            + data.getColumnType(i) + " " + data.getColumnClassName(i) + " "
                            + data.getPrecision(i) + "," + data.getScale(i) + " " + data.getColumnDisplaySize(i)
                            + " null " + data.isNullable(i) + " " + data.isAutoIncrement(i) + " "
                            + data.isCaseSensitive(i) + " "
                            + data.isCurrency(i) + " " + data.isSearchable(i) + " " + data.isWritable(i) + " table "
                            + data.getSchemaName(i) + "." + data.getTableName(i) + " base " + own.getBaseSchemaName(i)
                            + "." + own.getBaseTableName(i) + "." + own.getBaseColumnName(i) + " format "
                            + own.getFormat(i));
        }
    }
}
