package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.BINARY;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.UUID;

/** Values of all types, as texts and binary, into the server and back. */
final class TypeBehaviours {

    private TypeBehaviours() {}

    static List<Behaviour> all() {
        return List.of(
                type("bool", "true", "f", "maybe"),
                type("int2", "-32768", "32767", "32768"),
                type("int4", "-2147483648", "2147483647", "1.5"),
                type("int8", "-9223372036854775808", "9223372036854775807", "9223372036854775808"),
                type("float4", "0.1", "-3.4028235e38", "1e-45", "NaN", "Infinity", "-0", "1e99"),
                type("float8", "0.1", "1.7976931348623157e308", "5e-324", "NaN", "-Infinity", "-0"),
                type("numeric", "0", "-0.00", "123456789012345678901234567890.123456789", "1e-30", "1e30", "9999"),
                type("numeric(5,2)", "999.99", "1.005", "-0.1", "1000"),
                type("numeric", "NaN", "Infinity", "-Infinity").named("numeric that is no number"),
                type("money", "12.34", "-1,234,567.89", "0"),
                type("date", "2024-02-29", "infinity", "-infinity", "0044-03-15 BC", "5874897-12-31", "2024-02-30"),
                type("time", "00:00", "23:59:59.999999", "24:00"),
                type("timetz", "12:30:01+05:30", "23:59:59.999999-08", "00:00+00"),
                type("timestamp", "2016-03-27 02:30:00.000001", "infinity", "-infinity", "0044-03-15 12:00 BC"),
                type("timestamptz", "2016-03-27 02:30:00.000001+05", "infinity", "0044-03-15 12:00+00 BC"),
                type("interval", "1 year 2 mons -3 days 04:05:06.789", "-0.000001s", "P1Y2M3DT4H5M6S", "infinity"),
                type("char(5)", "ab", "abcde", "", "abcdef"),
                type("varchar(4)", "ä€日𝄞", "", " x ", "12345"),
                type("text", "it's", "", "\\ \"q\" $1 ? ;--", "line\nline\ttab", "ä€日本𝄞"),
                type("name", "a_name", "x".repeat(70)),
                type("\"char\"", "x", ""),
                type("bytea", "\\x00ff7f", "", "\\x5c27", "abc\\000"),
                type("uuid", "12345678-9abc-def0-1234-56789abcdef0", "not-one"),
                type("json", "{\"a\":   [1, null, \"\\u00e4\"]}", "null", "{"),
                type("jsonb", "{\"b\": 1.50, \"a\":   [1, null]}", "\"x\"", "1e400"),
                type("jsonpath", "$.a[*] ? (@ > 1)"),
                type("xml", "<a b=\"ä\"> <c/>&lt;</a>", "<a>", "text"),
                type("inet", "10.0.0.1/8", "::1", "256.0.0.1"),
                type("cidr", "10.0.0.0/8", "10.0.0.1/8"),
                type("macaddr", "08:00:2b:01:02:03", "08002b:010203"),
                type("macaddr8", "08:00:2b:01:02:03:04:05"),
                type("bit(4)", "1010", "10", "0000"),
                type("varbit", "101", "", "1"),
                type("bit", "1", "0").named("bit of one"),
                type("point", "(1.5,-2)", "(NaN,Infinity)", "1"),
                type("line", "{1,2,3}"),
                type("lseg", "[(1,2),(3,4)]"),
                type("box", "(1,2),(3,4)"),
                type("path", "[(1,2),(3,4)]", "((1,2),(3,4))"),
                type("polygon", "((1,2),(3,4),(5,6))"),
                type("circle", "<(1,2),3>", "<(1,2),-3>"),
                type("tsvector", "a:1A fat:2B,4 cat:5", ""),
                type("tsquery", "fat & (rat | !cat)"),
                type("int4[]", "{1,NULL,3}", "{}", "{{1,2},{3,4}}", "[2:3]={7,8}", "{1"),
                type("text[]", "{\"a,b\",\"\",NULL,\"NULL\",\"\\\"\\\\\"}", "{}"),
                type("bool[]", "{t,f,NULL}"),
                type("float8[]", "{NaN,Infinity,0.1}"),
                type("numeric[]", "{1.50,-2,NULL}"),
                type("bytea[]", "{\"\\\\x00ff\",NULL}"),
                type("timestamptz[]", "{\"2016-03-27 02:30:00+05\",infinity}"),
                type("uuid[]", "{12345678-9abc-def0-1234-56789abcdef0}"),
                type("jsonb[]", "{\"{\\\"a\\\": 1}\",\"null\"}"),
                type("int4range", "[1,5)", "[1,5]", "empty", "(,3)", "[5,1]"),
                type("numrange", "[1.5,2.5]", "(,)"),
                type("tstzrange", "[\"2024-01-01 00:00+00\",infinity)"),
                type("int4multirange", "{[1,3),[2,7),[9,10)}", "{}"),
                type("datemultirange", "{[2024-01-01,2024-01-05]}"),
                type("oid", "4294967295", "-1"),
                type("regclass", "t", "missing"),
                type("regtype", "integer"),
                type("pg_lsn", "16/B374D848"),
                type("xid8", "18446744073709551615"),
                made(
                        "an enum",
                        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'very glad')",
                        "mood",
                        "sad",
                        "very glad",
                        "so"),
                made("a domain", "CREATE DOMAIN pos AS int CHECK (VALUE > 0)", "pos", "1", "-1"),
                made(
                        "a composite",
                        "CREATE TYPE pair AS (a int, \"B c\" text)",
                        "pair",
                        "(1,\"x, \\\"y\\\"\")",
                        "(,)",
                        "(1)"),
                made("composites in an array", "CREATE TYPE pair AS (a int, b text)", "pair[]", "{\"(1,x)\",NULL}"),
                made("enums in an array", "CREATE TYPE mood AS ENUM ('sad', 'ok')", "mood[]", "{sad,NULL,ok}"),
                made("a range of its own", "CREATE TYPE fr AS RANGE (subtype = float8)", "fr", "[1.5,NaN)"),
                made("an extension's type, hstore", "CREATE EXTENSION hstore", "hstore", "a=>1, b=>NULL", "x"),
                made("an extension's type, citext", "CREATE EXTENSION citext", "citext", "AbC"),
                Behaviour.of("NULLs of each type that setNull knows", client -> {
                            for (int type : new int[] {
                                Types.INTEGER,
                                Types.BIGINT,
                                Types.VARCHAR,
                                Types.NUMERIC,
                                Types.BINARY,
                                Types.DATE,
                                Types.TIMESTAMP,
                                Types.TIMESTAMP_WITH_TIMEZONE,
                                Types.BOOLEAN,
                                Types.NULL,
                                Types.OTHER
                            }) {
                                client.attempt("null of " + type, c -> {
                                    try (PreparedStatement one = c.connection().prepareStatement("SELECT ? AS x")) {
                                        one.setNull(1, type);
                                        c.results(one, one::execute);
                                    }
                                });
                            }
                        })
                        .in(SIMPLE, BINARY),
                Behaviour.of("getters of all kinds on values that fit, and that do not", TypeBehaviours::getters)
                        .in(SIMPLE, BINARY),
                Behaviour.of("java.time, there and back", TypeBehaviours::times).in(SIMPLE, BINARY),
                Behaviour.of("streams as parameters", TypeBehaviours::streams).in(SIMPLE, BINARY),
                Behaviour.of("arrays by createArrayOf", client -> {
                            Connection connection = client.connection();
                            client.run(
                                    "SELECT ?::text[] AS x",
                                    List.of(connection.createArrayOf("text", new Object[] {"a", null, "\"{,}"})));
                            client.run("SELECT ? AS x", List.of(connection.createArrayOf("int4", new Integer[][] {
                                {1, 2}, {3, 4}
                            })));
                            client.run("SELECT ? AS x", List.of(connection.createArrayOf("float8", new Double[] {
                                1.0, Double.NaN
                            })));
                            client.run(
                                    "SELECT id FROM t WHERE id = ANY (?) ORDER BY id",
                                    List.of(connection.createArrayOf("int4", new Integer[] {1, 3})));
                            client.get("no such type", () -> connection.createArrayOf("nothing", new Object[] {1}));
                        })
                        .in(SIMPLE, BINARY),
                Behaviour.of("XML by SQLXML", client -> {
                    var xml = client.connection().createSQLXML();
                    xml.setString("<a>ä</a>");
                    client.run("SELECT ? AS x", List.of(xml));
                }),
                Behaviour.of("values of 5 MB", client -> {
                            client.run("CREATE TABLE big (id int PRIMARY KEY, b bytea, s text)");
                            client.run(
                                    "INSERT INTO big VALUES (1, ?, ?)",
                                    List.of(new byte[5 << 20], "ä".repeat(5 << 19)));
                            client.run("SELECT length(b), length(s), md5(b), md5(s) FROM big");
                            try (Statement statement = client.connection().createStatement();
                                    ResultSet rows = statement.executeQuery("SELECT b, s FROM big")) {
                                rows.next();
                                client.see("bytes", rows.getBytes(1).length);
                                client.see("characters", rows.getString(2).length());
                            }
                            client.run("DELETE FROM big");
                        })
                        .in(SIMPLE, BINARY),
                Behaviour.of(
                                "texts that are compared with what is unspecified",
                                client -> client.run("SELECT id FROM t WHERE id = ?", List.of("2")))
                        .in("stringtype=unspecified", "stringtype=varchar", SIMPLE),
                Behaviour.of("settings for the text of values", client -> client.lines("""
                        SET datestyle TO 'ISO, DMY'
                        SELECT now() > '01.02.2003'::date
                        SET intervalstyle TO 'iso_8601'
                        SELECT interval '1 day 2:03'
                        SET bytea_output TO escape
                        SELECT '\\x00ff'::bytea
                        SET extra_float_digits TO 0
                        SELECT 0.1::float8 + 0.2
                        SET timezone TO 'Asia/Tokyo'
                        SELECT '2024-01-01 00:00+00'::timestamptz::text
                        INSERT INTO t VALUES (7, 7, now()::date < 'infinity')
                        SET lc_monetary TO 'C'
                        SELECT 5::money""")));
    }

    /** Literals into a column of the type, also as NULL, and out of it; and each value that came out in again. */
    private static Behaviour type(String type, String... literals) {
        return Behaviour.of("values of type " + type, client -> values(client, type, literals))
                .in(SIMPLE, BINARY);
    }

    private static Behaviour made(String what, String make, String type, String... literals) {
        return Behaviour.of("values of " + what, client -> {
                    client.run(make);
                    values(client, type, literals);
                })
                .in(SIMPLE, BINARY);
    }

    private static void values(Observer client, String type, String... literals) throws Exception {
        client.execute("CREATE TABLE v (id int PRIMARY KEY, x " + type + ", again " + type + ")");
        String insert = "INSERT INTO v VALUES (?, CAST(? AS " + type + "))";
        for (int i = 0; i < literals.length; i++) {
            client.run(insert, List.of(i, literals[i]));
        }
        client.run("INSERT INTO v VALUES (-1, NULL)");
        try (PreparedStatement select = client.connection().prepareStatement("SELECT x, id FROM v ORDER BY id");
                PreparedStatement update =
                        client.connection().prepareStatement("UPDATE v SET again = ? WHERE id = ? RETURNING again")) {
            client.attempt("read", c -> c.results(select, select::execute));
            ResultSet rows = select.executeQuery();
            while (rows.next()) {
                client.attempt("again", c -> {
                    update.setObject(1, rows.getObject(1));
                    update.setInt(2, rows.getInt(2));
                    c.results(update, update::execute);
                });
            }
        }
    }

    private static void getters(Observer client) throws Exception {
        String values =
                "SELECT 42::int4 AS i, 1.5::numeric AS n, 'x'::text AS s, NULL::int8 AS z, true AS b, '2024-02-29 12:30:01.5'::timestamp AS ts,"
                        + " '\\x01ff'::bytea AS y, '3e9'::float8 AS f, '7' AS u";
        try (PreparedStatement statement = client.connection().prepareStatement(values);
                ResultSet rows = statement.executeQuery()) {
            rows.next();
            for (int i = 1; i <= 9; i++) {
                int column = i;
                client.see("column " + column);
                client.get("int", () -> rows.getInt(column));
                client.get("was null", rows::wasNull);
                client.get("short", () -> rows.getShort(column));
                client.get("byte", () -> rows.getByte(column));
                client.get("long", () -> rows.getLong(column));
                client.get("double", () -> rows.getDouble(column));
                client.get("decimal", () -> rows.getBigDecimal(column));
                client.get("boolean", () -> rows.getBoolean(column));
                client.get("date", () -> rows.getDate(column));
                client.get("time", () -> rows.getTime(column));
                client.get("timestamp", () -> rows.getTimestamp(column));
                client.get("bytes", () -> rows.getBytes(column));
                client.get("binary stream", () -> rows.getBinaryStream(column));
                client.get("characters", () -> {
                    var reader = rows.getCharacterStream(column);
                    return reader == null ? null : new java.io.BufferedReader(reader).readLine();
                });
                client.get("local date", () -> rows.getObject(column, LocalDate.class));
                client.get("text as object", () -> rows.getObject(column, String.class));
                client.get("uuid", () -> rows.getObject(column, UUID.class));
            }
            client.get("by name", () -> rows.getInt("I"));
            client.get("no such column", () -> rows.getInt("nothing"));
            client.get("behind the last", () -> rows.getInt(10));
        }
    }

    private static void times(Observer client) {
        for (Object value : List.of(
                LocalDate.of(2024, 2, 29),
                LocalDate.MIN,
                LocalDate.of(-43, 3, 15),
                LocalTime.of(23, 59, 59, 999_999_500),
                LocalDateTime.of(2016, 3, 27, 2, 30, 0, 1_000),
                LocalDateTime.MAX,
                OffsetDateTime.of(2024, 1, 1, 0, 0, 0, 0, ZoneOffset.ofHours(5)),
                OffsetTime.of(12, 0, 0, 0, ZoneOffset.ofHours(-8)),
                java.sql.Date.valueOf("2024-02-29"),
                java.sql.Timestamp.valueOf("2024-02-29 12:30:01.5"),
                new BigDecimal("1.50"),
                UUID.fromString("12345678-9abc-def0-1234-56789abcdef0"))) {
            client.run("SELECT ? AS x", List.of(value));
        }
    }

    private static void streams(Observer client) {
        byte[] bytes = "bytes of ä stream".getBytes(StandardCharsets.UTF_8);
        client.run("CREATE TABLE streams (id int PRIMARY KEY, b bytea, s text)");
        for (int length : new int[] {bytes.length, 5, 50, -1}) {
            client.attempt("of " + length, c -> {
                try (PreparedStatement insert =
                        c.connection().prepareStatement("INSERT INTO streams VALUES (?, ?, ?)")) {
                    insert.setInt(1, length);
                    if (length < 0) {
                        insert.setBinaryStream(2, new ByteArrayInputStream(bytes));
                        insert.setCharacterStream(3, new StringReader("characters"));
                    } else {
                        insert.setBinaryStream(2, new ByteArrayInputStream(bytes), length);
                        insert.setCharacterStream(
                                3, new StringReader("characters of some length and more behind"), Math.min(length, 20));
                    }
                    c.results(insert, insert::execute);
                }
            });
        }
        client.run("SELECT * FROM streams ORDER BY id");
    }
}
