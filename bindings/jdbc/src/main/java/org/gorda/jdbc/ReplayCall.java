package org.gorda.jdbc;

import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.SQLException;
import java.sql.SQLType;
import java.time.temporal.Temporal;
import java.util.Calendar;
import java.util.Date;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A call of an application to JDBC that can be made again: of arguments that may change later it has copies.
 *
 * @param bytes about how much memory it takes
 * @param again whether it can be made again: the contents of a stream or of a LOB are there only once
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record ReplayCall(Method method, @Nullable Object @Nullable [] arguments, long bytes, boolean again) {

    private static final long OVERHEAD = 64;

    static ReplayCall of(Method method, @Nullable Object @Nullable [] arguments) {
        if (arguments == null) {
            return new ReplayCall(method, null, OVERHEAD, true);
        }
        @Nullable Object[] copies = new Object[arguments.length];
        long bytes = OVERHEAD;
        boolean again = true;
        for (int i = 0; i < arguments.length; i++) {
            Object given = arguments[i];
            again &= isValue(given);
            copies[i] = copy(given);
            bytes += size(given);
        }
        return new ReplayCall(method, copies, bytes, again);
    }

    private static boolean isValue(@Nullable Object given) {
        return !(given instanceof InputStream || given instanceof Reader)
                && (given == null
                        || given instanceof String
                        || (given instanceof Number number && isKnown(number))
                        || given instanceof Boolean
                        || given instanceof Character
                        || given instanceof byte[]
                        || given instanceof int[]
                        || given instanceof String[]
                        || given instanceof Date
                        || given instanceof Calendar
                        || given instanceof Temporal
                        || given instanceof SQLType
                        || given instanceof UUID);
    }

    /** Others may change. */
    private static boolean isKnown(Number given) {
        return given.getClass().getPackageName().equals("java.lang")
                || given.getClass() == BigDecimal.class
                || given.getClass() == BigInteger.class;
    }

    @SuppressWarnings("JavaUtilDate") // as JDBC has it
    private static @Nullable Object copy(@Nullable Object given) {
        return given instanceof byte[] bytes
                ? bytes.clone()
                : given instanceof int[] numbers
                        ? numbers.clone()
                        : given instanceof String[] texts
                                ? texts.clone()
                                : given instanceof Date date
                                        ? date.clone()
                                        : given instanceof Calendar calendar ? calendar.clone() : given;
    }

    private static long size(@Nullable Object given) {
        return given instanceof byte[] bytes
                ? bytes.length
                : given instanceof String text
                        ? 2L * text.length()
                        : given instanceof BigDecimal number ? number.precision() : Long.BYTES;
    }

    /** The SQL that is given with it; empty if there is none. */
    String sql() {
        return arguments != null && arguments.length > 0 && arguments[0] instanceof String text ? text : "";
    }

    /** Makes it, and throws what it throws. */
    @Nullable
    Object on(Object target) throws SQLException {
        return on(target, method, arguments);
    }

    static @Nullable Object on(Object target, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause();
            if (cause instanceof SQLException failure) {
                throw failure;
            }
            if (cause instanceof RuntimeException failure) {
                throw failure;
            }
            if (cause instanceof Error failure) {
                throw failure;
            }
            throw new SQLException(cause);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
