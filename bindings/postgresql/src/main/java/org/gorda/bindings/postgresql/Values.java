package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.temporal.ChronoField;
import java.util.HexFormat;
import java.util.Set;
import java.util.regex.Pattern;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.LongValue;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * Values between the server's texts and write sets. What a type of write sets cannot hold, for instance a NaN among decimals, travels as the server's text.
 * Stateless.
 */
final class Values {

    /** Dates and times that java.time knows, too. */
    private static final Pattern PLAIN =
            Pattern.compile("(\\d{4,6}-\\d\\d-\\d\\d)?( ?(?:[01]\\d|2[0-3]):\\d\\d:\\d\\d(?:\\.\\d+)?)?");

    /** Other types whose equal values have equal texts. */
    private static final Set<String> SAME_TEXT =
            Set.of("uuid", "timestamptz", "oid", "macaddr", "inet", "cidr", "char", "name");

    private static final Set<String> OWN_TEXT = Set.of("inet", "cidr", "oid");

    private Values() {}

    /** The type of write sets that stands for a type of the server; all that have no counterpart travel as their texts. */
    static SqlType type(String name) {
        return switch (name) {
            case "bool" -> SqlType.BOOLEAN;
            case "int2" -> SqlType.SMALLINT;
            case "int4" -> SqlType.INTEGER;
            case "int8" -> SqlType.BIGINT;
            case "float4" -> SqlType.REAL;
            case "float8" -> SqlType.DOUBLE;
            case "numeric" -> SqlType.DECIMAL;
            case "bpchar" -> SqlType.CHAR;
            case "text" -> SqlType.LONGVARCHAR;
            case "bytea" -> SqlType.LONGVARBINARY;
            case "date" -> SqlType.DATE;
            case "time" -> SqlType.TIME;
            case "timestamp" -> SqlType.TIMESTAMP;
            default -> SqlType.VARCHAR;
        };
    }

    /** Whether values of a type are equal only if {@link #hash} makes the same of them. */
    static boolean areComparable(String name) {
        return type(name) != SqlType.VARCHAR || name.equals("varchar") || SAME_TEXT.contains(name);
    }

    /** Whether values of other types that are equal to those of this one have other texts. */
    static boolean haveOwnTexts(String name) {
        return OWN_TEXT.contains(name);
    }

    /** The type by which {@link #hash} makes the same of values that refer to others and of those, if they are equal to the server. */
    static SqlType comparedAs(SqlType referring, SqlType referred) {
        boolean isExact = referring != SqlType.REAL && referring != SqlType.DOUBLE;
        return isExact ? referred : referring;
    }

    static void put(WriteSetWriter out, SqlType type, @Nullable String text) {
        if (text == null) {
            out.putNull();
            return;
        }
        switch (type) {
            case BOOLEAN -> out.putBoolean(text.equals("t"));
            case SMALLINT, INTEGER, BIGINT -> out.putInteger(type, Long.parseLong(text));
            case REAL -> out.putReal(Float.parseFloat(text));
            case DOUBLE -> out.putDouble(Double.parseDouble(text));
            case DECIMAL -> {
                if (isNumber(text)) {
                    out.putDecimal(new BigDecimal(text));
                } else {
                    out.putString(SqlType.VARCHAR, text);
                }
            }
            case LONGVARBINARY -> {
                byte[] bytes = bytes(text);
                out.putBytes(type, bytes, 0, bytes.length);
            }
            case DATE, TIME, TIMESTAMP -> putMoment(out, type, text);
            default -> out.putString(type, text);
        }
    }

    private static void putMoment(WriteSetWriter out, SqlType type, String text) {
        if (!PLAIN.matcher(text).matches()) { // infinite, before Christ, 24:00:00
            out.putString(SqlType.VARCHAR, text);
            return;
        }
        switch (type) {
            case DATE -> {
                LocalDate day = day(text);
                out.putDate(day.getYear(), day.getMonthValue(), day.getDayOfMonth());
            }
            case TIME -> {
                LocalTime time = time(text);
                out.putTime(time.toSecondOfDay(), time.get(ChronoField.NANO_OF_SECOND));
            }
            default -> {
                LocalDate day = day(text);
                LocalTime time = time(text);
                out.putTimestamp(
                        day.getYear(),
                        day.getMonthValue(),
                        day.getDayOfMonth(),
                        time.toSecondOfDay(),
                        time.get(ChronoField.NANO_OF_SECOND));
            }
        }
    }

    /** Of a date, or of the date before a time. Its year may have more than four digits. */
    private static LocalDate day(String text) {
        int year = text.indexOf('-');
        return LocalDate.of(number(text, 0, year), number(text, year + 1, 2), number(text, year + 4, 2));
    }

    /** Of a time, or of the time behind a date. */
    private static LocalTime time(String text) {
        int at = text.indexOf(' ') + 1;
        int fraction = at + "00:00:00.".length();
        int nanos = 0;
        for (int i = 0; i < 9; i++) {
            nanos = nanos * 10 + (fraction + i < text.length() ? text.charAt(fraction + i) - '0' : 0);
        }
        return LocalTime.of(number(text, at, 2), number(text, at + 3, 2), number(text, at + 6, 2), nanos);
    }

    private static int number(String text, int at, int length) {
        return Integer.parseInt(text, at, at + length, 10);
    }

    private static boolean isNumber(String text) {
        char last = text.charAt(text.length() - 1);
        return last >= '0' && last <= '9';
    }

    private static byte[] bytes(String text) {
        if (!text.startsWith("\\x")) {
            throw new IllegalArgumentException("bytes that are not written as hexadecimal digits");
        }
        return HexFormat.of().parseHex(text, 2, text.length());
    }

    static void hash(KeyHasher hasher, SqlType type, String text) {
        switch (type) {
            case BOOLEAN -> hasher.addBoolean(text.equals("t"));
            case SMALLINT, INTEGER, BIGINT -> hasher.addInteger(Long.parseLong(text));
            case REAL -> hasher.addDouble(Float.parseFloat(text));
            case DOUBLE -> hasher.addDouble(Double.parseDouble(text));
            case DECIMAL -> {
                if (isNumber(text)) {
                    hasher.addDecimal(new BigDecimal(text));
                } else {
                    hasher.addText(text);
                }
            }
            case LONGVARBINARY -> hasher.addBytes(bytes(text));
            case DATE, TIME, TIMESTAMP -> hashMoment(hasher, type, text);
            default -> hasher.addText(text);
        }
    }

    /** As databases of other kinds do. */
    private static void hashMoment(KeyHasher hasher, SqlType type, String text) {
        if (!PLAIN.matcher(text).matches()) { // before Christ the day, which a date and its beginning have in common
            hasher.addText(text.replaceFirst(" .* BC", " BC"));
            return;
        }
        if (type != SqlType.TIME) {
            LocalDate day = day(text);
            hasher.addDate(day.getYear(), day.getMonthValue(), day.getDayOfMonth());
        }
        if (type != SqlType.DATE) { // a date that refers to one with a time means its beginning
            LocalTime time = text.indexOf(':') < 0 ? LocalTime.MIDNIGHT : time(text);
            hasher.addTime(time.toSecondOfDay(), time.get(ChronoField.NANO_OF_SECOND));
        }
    }

    /** The next value as a parameter: a text, of which the server makes what the column is, or bytes. */
    static @Nullable Object read(WriteSetReader in) {
        SqlType type = in.type();
        if (type == null) {
            return null;
        }
        Object value = in.isLong() ? whole(type, in.readLongValue()) : in.readValue(type);
        if (value instanceof byte[]) {
            return value;
        }
        if (value instanceof BigDecimal decimal) {
            return decimal.toPlainString();
        }
        if (value instanceof LocalDate date) {
            return date(date, "");
        }
        return value instanceof LocalDateTime moment
                ? date(moment.toLocalDate(), " " + moment.toLocalTime())
                : value.toString();
    }

    private static String date(LocalDate date, String time) {
        boolean beforeChrist = date.getYear() <= 0;
        StringBuilder text = new StringBuilder();
        append(text, beforeChrist ? 1 - date.getYear() : date.getYear(), 4);
        append(text.append('-'), date.getMonthValue(), 2);
        append(text.append('-'), date.getDayOfMonth(), 2);
        return text.append(time).append(beforeChrist ? " BC" : "").toString();
    }

    private static void append(StringBuilder text, int number, int digits) {
        String all = Integer.toString(number);
        text.append("0".repeat(Math.max(0, digits - all.length()))).append(all);
    }

    private static Object whole(SqlType type, LongValue value) {
        try {
            if (Set.of(SqlType.BINARY, SqlType.VARBINARY, SqlType.LONGVARBINARY, SqlType.BLOB)
                    .contains(type)) {
                return value.binary().readAllBytes();
            }
            StringWriter text = new StringWriter((int) Math.min(value.characters(), Integer.MAX_VALUE));
            value.text().transferTo(text);
            return text.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Gives a statement what {@link #read} gave, on a connection whose strings have no type. */
    static void set(PreparedStatement statement, int parameter, @Nullable Object value) throws SQLException {
        if (value == null) {
            statement.setNull(parameter, Types.OTHER);
        } else if (value instanceof byte[] bytes) {
            statement.setBytes(parameter, bytes);
        } else {
            statement.setString(parameter, (String) value);
        }
    }

    /** About how much memory it takes. */
    static long size(@Nullable Object value) {
        return value == null ? 0 : value instanceof byte[] bytes ? bytes.length : ((String) value).length();
    }
}
