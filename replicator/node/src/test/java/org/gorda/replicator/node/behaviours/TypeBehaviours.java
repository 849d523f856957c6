package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.doing;

import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.Date;
import java.sql.JDBCType;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Calendar;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.UUID;

/** Of all types of SQL and Java, there and back. */
@SuppressWarnings("JavaUtilDate") // looked at
final class TypeBehaviours {

    /** Columns of KINDS, with the SQL of the values to look at. */
    private static final Map<String, List<String>> VALUES = new LinkedHashMap<>();

    /** What may be given for a parameter. */
    private static final Map<String, Set> SETTERS = new LinkedHashMap<>();

    private TypeBehaviours() {}

    /** Sets parameter 1. */
    private interface Set {
        void parameter(PreparedStatement statement) throws Exception;
    }

    static {
        VALUES.put("SM", List.of("-32768", "32767", "0"));
        VALUES.put("IT", List.of("-2147483648", "2147483647", "1"));
        VALUES.put("BI", List.of("-9223372036854775808", "9223372036854775807", "1"));
        VALUES.put("RE", List.of("-3.402E38", "1.5", "0"));
        VALUES.put("DO", List.of("-1.79769E308", "2.5E0", "1E-300"));
        VALUES.put("DE", List.of("-99999999999999999999999999.99999", "0.10000", "7"));
        VALUES.put("NU", List.of("-9999999.99", "1.50"));
        VALUES.put("BO", List.of("TRUE", "FALSE"));
        VALUES.put("CH", List.of("'ab'", "''", "'€äöü'"));
        VALUES.put("VC", List.of("'text'", "''", "'12'", "'true'", "'2026-01-02'", "'€äöü𝄞'"));
        VALUES.put("LV", List.of("'long text'", "''"));
        VALUES.put("CB", List.of("X'0102'", "X'FFFFFFFF'"));
        VALUES.put("VB", List.of("X'0102'", "X''"));
        VALUES.put("LB", List.of("X'010203'"));
        VALUES.put("DA", List.of("DATE('2026-01-02')", "DATE('0001-01-01')", "DATE('9999-12-31')"));
        VALUES.put("TI", List.of("TIME('03:04:05')", "TIME('23:59:59')"));
        VALUES.put("TS", List.of("TIMESTAMP('2026-01-02 03:04:05.123456789')", "TIMESTAMP('0001-01-01 00:00:00')"));
        VALUES.put("CL", List.of("CAST('clob' AS CLOB)"));
        VALUES.put("BL", List.of("CAST(X'0A0B' AS BLOB)"));

        SETTERS.put("setByte", s -> s.setByte(1, (byte) 12));
        SETTERS.put("setShort", s -> s.setShort(1, (short) 1234));
        SETTERS.put("setInt", s -> s.setInt(1, 1));
        SETTERS.put("setLong", s -> s.setLong(1, Long.MAX_VALUE));
        SETTERS.put("setFloat", s -> s.setFloat(1, 1.25f));
        SETTERS.put("setDouble", s -> s.setDouble(1, -1.5e10));
        SETTERS.put("setBigDecimal", s -> s.setBigDecimal(1, new BigDecimal("12345.678")));
        SETTERS.put("setBoolean", s -> s.setBoolean(1, true));
        SETTERS.put("setString of a number", s -> s.setString(1, " 12 "));
        SETTERS.put("setString of a text", s -> s.setString(1, "text"));
        SETTERS.put("setString of a date", s -> s.setString(1, "2026-01-02"));
        SETTERS.put("setBytes", s -> s.setBytes(1, new byte[] {1, 2, 3}));
        SETTERS.put("setDate", s -> s.setDate(1, Date.valueOf("2026-01-02")));
        SETTERS.put("setTime", s -> s.setTime(1, Time.valueOf("03:04:05")));
        SETTERS.put("setTimestamp", s -> s.setTimestamp(1, Timestamp.valueOf("2026-01-02 03:04:05.123456789")));
        SETTERS.put("setBinaryStream", s -> s.setBinaryStream(1, new ByteArrayInputStream(new byte[] {1, 2})));
        SETTERS.put("setCharacterStream", s -> s.setCharacterStream(1, new StringReader("12"), 2));
        SETTERS.put("setAsciiStream", s -> s.setAsciiStream(1, new ByteArrayInputStream(new byte[] {'1', '2'}), 2));
        SETTERS.put("setNull of INTEGER", s -> s.setNull(1, Types.INTEGER));
        SETTERS.put("setNull of VARCHAR", s -> s.setNull(1, Types.VARCHAR));
        SETTERS.put("setNull of BLOB", s -> s.setNull(1, Types.BLOB));
        SETTERS.put("setNull of NULL", s -> s.setNull(1, Types.NULL));
        SETTERS.put("setObject of null", s -> s.setObject(1, null));
        SETTERS.put("setObject of an Integer", s -> s.setObject(1, 5));
        SETTERS.put("setObject of a Byte", s -> s.setObject(1, (byte) 5));
        SETTERS.put("setObject of a BigInteger", s -> s.setObject(1, BigInteger.TEN));
        SETTERS.put("setObject of a Character", s -> s.setObject(1, 'x'));
        SETTERS.put("setObject of a LocalDate", s -> s.setObject(1, LocalDate.of(2026, 1, 2)));
        SETTERS.put("setObject of a LocalTime", s -> s.setObject(1, LocalTime.of(3, 4, 5)));
        SETTERS.put("setObject of a LocalDateTime", s -> s.setObject(1, LocalDateTime.of(2026, 1, 2, 3, 4)));
        SETTERS.put(
                "setObject of an OffsetDateTime",
                s -> s.setObject(1, OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 6, ZoneOffset.UTC)));
        SETTERS.put("setObject of an Instant", s -> s.setObject(1, Instant.EPOCH));
        SETTERS.put("setObject of a java.util.Date", s -> s.setObject(1, new java.util.Date(0)));
        SETTERS.put("setObject of a Calendar", s -> s.setObject(1, calendar()));
        SETTERS.put("setObject of a UUID", s -> s.setObject(1, new UUID(1, 2)));
        SETTERS.put("setObject as INTEGER", s -> s.setObject(1, "17", Types.INTEGER));
        SETTERS.put("setObject as DECIMAL of a scale", s -> s.setObject(1, 1.26, Types.DECIMAL, 1));
        SETTERS.put("setObject as VARCHAR", s -> s.setObject(1, 17, Types.VARCHAR));
        SETTERS.put("setObject as a JDBCType", s -> s.setObject(1, 17, JDBCType.BIGINT));
        SETTERS.put("setObject as ARRAY", s -> s.setObject(1, 17, Types.ARRAY));
        SETTERS.put("setNString", s -> s.setNString(1, "x"));
        SETTERS.put("setArray", s -> s.setArray(1, null));
        SETTERS.put("setRef", s -> s.setRef(1, null));
        SETTERS.put("setURL", s -> s.setURL(1, null));
        SETTERS.put("setRowId", s -> s.setRowId(1, null));
        SETTERS.put("setSQLXML", s -> s.setSQLXML(1, null));
    }

    private static Calendar calendar() {
        Calendar calendar = Calendar.getInstance(TimeZone.getTimeZone("Asia/Tokyo"));
        calendar.setTimeInMillis(0);
        return calendar;
    }

    static void addTo(List<Behaviour> all) {
        VALUES.keySet().forEach(column -> {
            all.add(new Behaviour("type: column " + column + " by all getters", (c, side) -> getters(c, column)));
            all.add(new Behaviour("type: column " + column + " as objects", (c, side) -> objects(c, column)));
        });
        SETTERS.forEach((name, set) ->
                all.add(new Behaviour("type: " + name + " for all columns", (c, side) -> setter(c, set))));
        all.add(new Behaviour("type: dates with a calendar", (c, side) -> {
            try (PreparedStatement values =
                    c.prepareStatement("VALUES (CAST(? AS DATE), CAST(? AS TIME), CAST(? AS TIMESTAMP))")) {
                values.setDate(1, new Date(0), calendar());
                values.setTime(2, new Time(0), calendar());
                values.setTimestamp(3, new Timestamp(0), calendar());
                try (ResultSet row = values.executeQuery()) {
                    row.next();
                    return attempts(
                            () -> row.getString(1),
                            () -> row.getString(2),
                            () -> row.getString(3),
                            () -> row.getDate(1, calendar()),
                            () -> row.getTime(2, calendar()),
                            () -> row.getTimestamp(3, calendar()),
                            () -> row.getTimestamp(3, null));
                }
            }
        }));
        all.add(new Behaviour(
                "type: overflows",
                (c, side) -> attempts(
                        () -> Seen.query(c, "VALUES CAST(2147483648 AS INTEGER)"),
                        () -> Seen.query(c, "VALUES 9223372036854775807 + 1"),
                        () -> Seen.query(c, "VALUES CAST(1E300 AS REAL)"),
                        () -> Seen.query(c, "VALUES 1E308 * 10"))));
        all.add(new Behaviour("type: decimals keep their scale", (c, side) -> {
            try (PreparedStatement values = c.prepareStatement("VALUES CAST(? AS DECIMAL(10, 3))")) {
                values.setBigDecimal(1, new BigDecimal("1.2"));
                try (ResultSet row = values.executeQuery()) {
                    row.next();
                    return attempts(
                            () -> row.getBigDecimal(1),
                            () -> row.getObject(1),
                            () -> row.getDouble(1),
                            () -> row.getInt(1));
                }
            }
        }));
        all.add(new Behaviour("type: texts keep every character", (c, side) -> {
            String text = "\u0000\u0001\t\r\n'\"\\ äöü€𝄞\uFFFD";
            try (PreparedStatement update = c.prepareStatement("UPDATE ITEM SET NAME = ? WHERE ID = 1")) {
                update.setString(1, text);
                return attempt(() -> update.executeUpdate()) + Seen.items(c).contains(text);
            }
        }));
    }

    private static Object getters(Connection c, String column) throws Exception {
        return eachValue(
                c,
                column,
                r -> attempts(
                        () -> r.getString(1),
                        () -> r.getBoolean(1),
                        () -> r.getByte(1),
                        () -> r.getShort(1),
                        () -> r.getInt(1),
                        () -> r.getLong(1),
                        () -> r.getFloat(1),
                        () -> r.getDouble(1),
                        () -> r.getBigDecimal(1),
                        () -> r.getDate(1),
                        () -> r.getTime(1),
                        () -> r.getTimestamp(1)));
    }

    private static Object objects(Connection c, String column) throws Exception {
        return eachValue(
                c,
                column,
                r -> attempts(
                        () -> r.getObject(1),
                        r::wasNull,
                        () -> String.valueOf(
                                r.getObject(1) == null
                                        ? null
                                        : r.getObject(1)
                                                .getClass()
                                                .getSimpleName()
                                                .replaceAll("(Embed|Client)", "")),
                        () -> r.getObject(1, String.class),
                        () -> r.getObject(1, byte[].class),
                        () -> r.getObject(1, Integer.class),
                        () -> r.getObject(1, LocalDate.class),
                        () -> r.getObject(1, LocalTime.class),
                        () -> r.getObject(1, LocalDateTime.class),
                        () -> r.getObject(1, OffsetDateTime.class),
                        () -> r.getObject(1, BigInteger.class),
                        () -> r.getObject(1, Map.of())));
    }

    /** Looks at a row. */
    private interface Look {
        String at(ResultSet row) throws Exception;
    }

    private static String eachValue(Connection c, String column, Look look) throws Exception {
        c.setAutoCommit(false);
        StringBuilder seen = new StringBuilder();
        try (Statement statement = c.createStatement()) {
            statement.executeUpdate("INSERT INTO KINDS (ID) VALUES (0)");
            int id = 0;
            for (String value : VALUES.get(column)) {
                statement.executeUpdate("INSERT INTO KINDS (ID, " + column + ") VALUES (" + ++id + ", " + value + ")");
            }
            c.commit();
            try (ResultSet rows = statement.executeQuery("SELECT " + column + " FROM KINDS ORDER BY ID")) {
                while (rows.next()) {
                    seen.append(look.at(rows)).append('\n');
                }
            }
            try (ResultSet rows = statement.executeQuery("SELECT " + column + " FROM KINDS ORDER BY ID")) {
                while (rows.next()) {
                    seen.append(attempt(() -> rows.getBytes(1))).append(' ');
                }
            }
        }
        c.commit();
        return seen.toString();
    }

    private static Object setter(Connection c, Set set) throws Exception {
        c.setAutoCommit(false);
        StringBuilder seen = new StringBuilder();
        Seen.update(c, "INSERT INTO KINDS (ID) VALUES (0)");
        for (String column : VALUES.keySet()) {
            try (PreparedStatement update = c.prepareStatement("UPDATE KINDS SET " + column + " = ?")) {
                seen.append(column)
                        .append(' ')
                        .append(attempts(doing(() -> set.parameter(update)), () -> update.executeUpdate()))
                        .append(Seen.query(c, "SELECT " + column + " FROM KINDS"))
                        .append('\n');
            }
        }
        c.commit();
        return seen;
    }
}
