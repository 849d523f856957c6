package org.gorda.bindings.derby;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import org.apache.derby.iapi.types.DataTypeDescriptor;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.DateTimeDataValue;
import org.apache.derby.iapi.types.NumberDataValue;
import org.apache.derby.iapi.types.SQLClob;
import org.apache.derby.iapi.types.SQLDouble;
import org.apache.derby.iapi.types.SQLInteger;
import org.apache.derby.iapi.types.TypeId;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.LongValue;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/** Derby's values to and from the write set's encoding, and to keys. Confined to one thread, for its scratch values. */
final class DerbyValues {

    private final SQLInteger scratch = new SQLInteger();
    private final SQLDouble scratchSeconds = new SQLDouble();

    /** What was written of the current row and is a stream of what was written. */
    private final List<Stream> streams = new ArrayList<>();

    private record Stream(SqlType type, DataValueDescriptor value, LongValue written) {}

    /** The type of a column; null if it cannot be replicated. */
    static @Nullable SqlType typeOf(DataTypeDescriptor type) {
        TypeId id = type.getTypeId();
        return id.userType() ? null : typeOf(id.getJDBCTypeId());
    }

    /** As {@link #typeOf(DataTypeDescriptor)}, for what Derby tells as {@link java.sql.Types}. */
    static @Nullable SqlType typeOf(int jdbcType) {
        return switch (jdbcType) {
            case java.sql.Types.BOOLEAN -> SqlType.BOOLEAN;
            case java.sql.Types.SMALLINT -> SqlType.SMALLINT;
            case java.sql.Types.INTEGER -> SqlType.INTEGER;
            case java.sql.Types.BIGINT -> SqlType.BIGINT;
            case java.sql.Types.REAL -> SqlType.REAL;
            case java.sql.Types.DOUBLE -> SqlType.DOUBLE;
            case java.sql.Types.DECIMAL, java.sql.Types.NUMERIC -> SqlType.DECIMAL;
            case java.sql.Types.CHAR -> SqlType.CHAR;
            case java.sql.Types.VARCHAR -> SqlType.VARCHAR;
            case java.sql.Types.LONGVARCHAR -> SqlType.LONGVARCHAR;
            case java.sql.Types.CLOB -> SqlType.CLOB;
            case java.sql.Types.BINARY -> SqlType.BINARY;
            case java.sql.Types.VARBINARY -> SqlType.VARBINARY;
            case java.sql.Types.LONGVARBINARY -> SqlType.LONGVARBINARY;
            case java.sql.Types.BLOB -> SqlType.BLOB;
            case java.sql.Types.DATE -> SqlType.DATE;
            case java.sql.Types.TIME -> SqlType.TIME;
            case java.sql.Types.TIMESTAMP -> SqlType.TIMESTAMP;
            case java.sql.Types.SQLXML -> SqlType.XML;
            default -> null;
        };
    }

    /**
     * Encodes a value. One that is a stream is read to its end, and is afterwards what it was, to be read once more while the write
     * set is there.
     */
    void write(SqlType type, DataValueDescriptor value, WriteSetWriter out) throws StandardException {
        if (value.isNull()) {
            out.putNull();
            return;
        }
        if (type == SqlType.BLOB || type == SqlType.CLOB) {
            if (value.hasStream()) {
                LongValue written = StoredStreams.write(type, value, out);
                if (value.hasStream()) {
                    streams.add(new Stream(type, value, written));
                }
                return;
            }
        }
        switch (type) {
            case BOOLEAN -> out.putBoolean(value.getBoolean());
            case SMALLINT, INTEGER -> out.putInteger(type, value.getInt());
            case BIGINT -> out.putInteger(type, value.getLong());
            case REAL -> out.putReal(value.getFloat());
            case DOUBLE -> out.putDouble(value.getDouble());
            case DECIMAL -> out.putDecimal((BigDecimal) value.getObject());
            case CHAR, VARCHAR, LONGVARCHAR, CLOB, XML -> out.putString(type, value.getString());
            case BINARY, VARBINARY, LONGVARBINARY, BLOB -> {
                byte[] bytes = value.getBytes();
                out.putBytes(type, bytes, 0, bytes.length);
            }
            case DATE -> {
                DateTimeDataValue date = (DateTimeDataValue) value;
                out.putDate(year(date), month(date), day(date));
            }
            case TIME -> out.putTime(secondOfDay((DateTimeDataValue) value), 0);
            case TIMESTAMP -> {
                DateTimeDataValue moment = (DateTimeDataValue) value;
                out.putTimestamp(year(moment), month(moment), day(moment), secondOfDay(moment), nanos(moment));
            }
        }
    }

    /** The row is done with: whoever looks at it again, for instance a trigger, finds its streams unread, or gone with what failed. */
    void rewind() throws StandardException {
        if (!streams.isEmpty()) {
            for (Stream stream : streams) {
                StoredStreams.set(stream.type(), stream.value(), stream.written());
            }
            streams.clear();
        }
    }

    private int year(DateTimeDataValue value) throws StandardException {
        return value.getYear(scratch).getInt();
    }

    private int month(DateTimeDataValue value) throws StandardException {
        return value.getMonth(scratch).getInt();
    }

    private int day(DateTimeDataValue value) throws StandardException {
        return value.getDate(scratch).getInt();
    }

    private int secondOfDay(DateTimeDataValue value) throws StandardException {
        int hours = value.getHours(scratch).getInt();
        if (hours == 24) { // as Derby reads 24:00:00 and 12:00 AM of a parameter
            throw DerbyRefusal.unsupported("a time of hour 24 cannot be replicated: give 00:00:00");
        }
        int minutes = value.getMinutes(scratch).getInt();
        return hours * 3600 + minutes * 60 + (int) Math.floor(seconds(value));
    }

    private int nanos(DateTimeDataValue value) throws StandardException {
        double seconds = seconds(value);
        return (int) Math.min(999_999_999, Math.round((seconds - Math.floor(seconds)) * 1e9));
    }

    private double seconds(DateTimeDataValue value) throws StandardException {
        NumberDataValue seconds =
                value.getSeconds(value instanceof org.apache.derby.iapi.types.SQLTime ? scratch : scratchSeconds);
        return seconds.getDouble();
    }

    /**
     * Decodes the next value of the write set into {@code target}, which has the column's type. A long one becomes a stream, to be
     * read while the write set is there.
     */
    void read(WriteSetReader in, SqlType expected, DataValueDescriptor target) throws StandardException {
        SqlType type = in.type();
        if (type == null) {
            target.setToNull();
            return;
        }
        if (type.shared() != expected.shared()) {
            throw new DivergenceException(
                    "a write set has a value of type " + type + " for a column of type " + expected);
        }
        if (in.isLong() && (expected == SqlType.BLOB || expected == SqlType.CLOB)) {
            StoredStreams.set(expected, target, in.readLongValue());
            return;
        }
        switch (type) {
            case BOOLEAN -> target.setValue(in.readBoolean());
            case SMALLINT -> target.setValue((short) in.readInteger());
            case INTEGER -> target.setValue((int) in.readInteger());
            case BIGINT -> target.setValue(in.readInteger());
            case REAL -> target.setValue(in.readReal());
            case DOUBLE -> target.setValue(in.readDouble());
            case DECIMAL -> target.setBigDecimal(in.readDecimal());
            case CHAR, VARCHAR, LONGVARCHAR, CLOB -> target.setValue(in.readText());
            case BINARY, VARBINARY, LONGVARBINARY, BLOB -> target.setValue(in.readBytes());
            case DATE -> target.setValue(isoDate(in.readDate()));
            case TIME -> target.setValue(isoTime(in.readTime()));
            case TIMESTAMP -> {
                LocalDate date = in.readDate();
                LocalTime time = in.readTime();
                int nanos = (int) (time.toNanoOfDay() % 1_000_000_000);
                target.setValue(isoDate(date) + " " + isoTime(time) + "." + digits(nanos, 9));
            }
            case XML -> target.setValue(new SQLClob(in.readText()));
        }
    }

    private static String isoDate(LocalDate date) {
        return digits(date.getYear(), 4) + "-" + digits(date.getMonthValue(), 2) + "-"
                + digits(date.getDayOfMonth(), 2);
    }

    private static String isoTime(LocalTime time) {
        return digits(time.getHour(), 2) + ":" + digits(time.getMinute(), 2) + ":" + digits(time.getSecond(), 2);
    }

    private static String digits(int value, int width) {
        char[] text = new char[width];
        int rest = value;
        for (int i = width - 1; i >= 0; i--) {
            text[i] = (char) ('0' + rest % 10);
            rest /= 10;
        }
        return new String(text);
    }

    /** Adds a value that is not null to a key, equal where Derby's comparison says equal. */
    void hash(SqlType type, DataValueDescriptor value, KeyHasher key) throws StandardException {
        switch (type) {
            case BOOLEAN -> key.addBoolean(value.getBoolean());
            case SMALLINT, INTEGER, BIGINT -> key.addInteger(value.getLong());
            case REAL, DOUBLE -> key.addDouble(value.getDouble());
            case DECIMAL -> key.addDecimal((BigDecimal) value.getObject());
            case CHAR, VARCHAR, LONGVARCHAR, CLOB -> key.addText(value.getString());
            case BINARY, VARBINARY, LONGVARBINARY, BLOB -> key.addBytes(value.getBytes());
            case DATE -> {
                DateTimeDataValue date = (DateTimeDataValue) value;
                key.addDate(year(date), month(date), day(date));
            }
            case TIME -> key.addTime(secondOfDay((DateTimeDataValue) value), 0);
            case TIMESTAMP -> {
                DateTimeDataValue moment = (DateTimeDataValue) value;
                key.addDate(year(moment), month(moment), day(moment));
                key.addTime(secondOfDay(moment), nanos(moment));
            }
            case XML -> throw new IllegalStateException("XML is never part of a key");
        }
    }
}
