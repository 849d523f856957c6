package org.gorda.bindings.hsqldb;

import java.math.BigDecimal;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoField;
import java.util.concurrent.TimeUnit;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.SqlType;
import org.hsqldb.ColumnSchema;
import org.hsqldb.types.BinaryData;
import org.hsqldb.types.TimeData;
import org.hsqldb.types.TimestampData;
import org.hsqldb.types.Type;
import org.hsqldb.types.Types;
import org.jspecify.annotations.Nullable;

/** Values as HSQLDB has them in rows, and as write sets do. Stateless. */
final class HsqldbValues {

    private static final long SECONDS_OF_DAY = TimeUnit.DAYS.toSeconds(1);

    private HsqldbValues() {}

    /** @throws SQLException with 0A000 if such columns are not replicated */
    static SqlType type(ColumnSchema column) throws SQLException {
        if (isSingleBit(column.getDataType())) {
            return SqlType.BOOLEAN;
        }
        return switch (column.getDataType().typeCode) {
            case Types.SQL_BOOLEAN -> SqlType.BOOLEAN;
            case Types.TINYINT, Types.SQL_SMALLINT -> SqlType.SMALLINT;
            case Types.SQL_INTEGER -> SqlType.INTEGER;
            case Types.SQL_BIGINT -> SqlType.BIGINT;
            case Types.SQL_REAL, Types.SQL_FLOAT, Types.SQL_DOUBLE -> SqlType.DOUBLE;
            case Types.SQL_NUMERIC, Types.SQL_DECIMAL -> SqlType.DECIMAL;
            case Types.SQL_CHAR -> SqlType.CHAR;
            case Types.SQL_VARCHAR -> SqlType.VARCHAR;
            case Types.SQL_BINARY, Types.SQL_GUID -> SqlType.BINARY;
            case Types.SQL_VARBINARY -> SqlType.VARBINARY;
            case Types.SQL_DATE -> SqlType.DATE;
            case Types.SQL_TIME -> SqlType.TIME;
            case Types.SQL_TIMESTAMP -> SqlType.TIMESTAMP;
            default ->
                throw Refused.unsupported("rows of " + column.getTableNameString() + " cannot be replicated: column "
                        + column.getNameString() + " is of type "
                        + column.getDataType().getNameString());
        };
    }

    /** Drivers take it for a BOOLEAN. */
    private static boolean isSingleBit(Type type) {
        return type.typeCode == Types.SQL_BIT && type.precision == 1;
    }

    /** A row that a trigger is told of; null for null. */
    static RowCapture.@Nullable Row row(@Nullable Object @Nullable [] values) {
        return values == null ? null : (type, column) -> captured(type, values[column - 1]);
    }

    private static @Nullable Object captured(SqlType type, @Nullable Object value) {
        if (value == null) {
            return null;
        }
        return switch (type) {
            case BOOLEAN -> value instanceof BinaryData bit ? (Object) (bit.getBytes()[0] != 0) : value;
            case SMALLINT, INTEGER, BIGINT -> ((Number) value).longValue();
            case DECIMAL -> value instanceof BigDecimal ? value : BigDecimal.valueOf(((Number) value).longValue());
            case BINARY, VARBINARY -> ((BinaryData) value).getBytes();
            case DATE -> LocalDate.ofEpochDay(Math.floorDiv(((TimestampData) value).getSeconds(), SECONDS_OF_DAY));
            case TIME ->
                LocalTime.ofSecondOfDay(((TimeData) value).getSeconds()).withNano(((TimeData) value).getNanos());
            case TIMESTAMP ->
                LocalDateTime.ofEpochSecond(
                        ((TimestampData) value).getSeconds(), ((TimestampData) value).getNanos(), ZoneOffset.UTC);
            default -> value;
        };
    }

    /** A value of a write set as a column has it. */
    static @Nullable Object stored(Type column, @Nullable Object value) {
        if (value == null) {
            return null;
        }
        if (isSingleBit(column)) {
            return (Boolean) value ? BinaryData.singleBitOne : BinaryData.singleBitZero;
        }
        return switch (column.typeCode) {
            case Types.TINYINT, Types.SQL_SMALLINT, Types.SQL_INTEGER -> ((Number) value).intValue();
            case Types.SQL_BINARY, Types.SQL_VARBINARY, Types.SQL_GUID -> new BinaryData((byte[]) value, false);
            case Types.SQL_DATE -> new TimestampData(((LocalDate) value).toEpochDay() * SECONDS_OF_DAY);
            case Types.SQL_TIME ->
                new TimeData(((LocalTime) value).toSecondOfDay(), ((LocalTime) value).get(ChronoField.NANO_OF_SECOND));
            case Types.SQL_TIMESTAMP ->
                new TimestampData(
                        ((LocalDateTime) value).toEpochSecond(ZoneOffset.UTC),
                        ((LocalDateTime) value).get(ChronoField.NANO_OF_SECOND));
            default -> value;
        };
    }
}
