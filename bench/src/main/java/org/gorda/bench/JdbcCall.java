package org.gorda.bench;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A call of JDBC as a {@link Line} takes it. What can be called are the methods of connections, statements, rows, savepoints and the catalogue whose values are
 * numbers, truth values and texts, arrays of them, and these objects. Immutable.
 *
 * @param object whose method it is: {@link #CONNECTION}, or the number by which an answer has given it
 * @param method as Java writes it
 */
record JdbcCall(int object, String method, List<JsonElement> arguments) {

    static final int CONNECTION = 0;

    private static final Gson JSON = new Gson();
    private static final List<Class<?>> OBJECTS = List.of(
            Connection.class,
            PreparedStatement.class,
            Statement.class,
            ResultSet.class,
            DatabaseMetaData.class,
            Savepoint.class);
    private static final Map<String, Method> METHODS = OBJECTS.stream()
            .flatMap(type -> Stream.of(type.getMethods()))
            .filter(method -> Arrays.stream(method.getParameterTypes()).allMatch(JdbcCall::goesOver))
            .filter(method -> goesOver(method.getReturnType()))
            .distinct()
            .collect(Collectors.toMap(Method::toString, Function.identity()));

    /**
     * What it gave. Immutable.
     *
     * @param state the SQLSTATE by which it failed; null if it has not
     * @param object the number of the object that it gave, if it gave one
     */
    record Answer(
            @Nullable String state,
            @Nullable String message,
            @Nullable Integer object,
            @Nullable JsonElement value) {}

    private static boolean isValue(Class<?> type) {
        return type.isPrimitive() || type == String.class || (type.isArray() && isValue(type.getComponentType()));
    }

    private static boolean goesOver(Class<?> type) {
        return isValue(type) || isObject(type);
    }

    /** Whether what a method of this type gives stays where it is, and is called by its number. */
    static boolean isObject(Class<?> type) {
        return OBJECTS.contains(type);
    }

    /**
     * @param numbers of objects that were given before
     * @throws SQLFeatureNotSupportedException if it cannot be called so
     */
    static JdbcCall of(int object, Method method, Object[] arguments, ToIntFunction<Object> numbers)
            throws SQLFeatureNotSupportedException {
        if (!METHODS.containsKey(method.toString())) {
            throw new SQLFeatureNotSupportedException(method + " is not called over a line", "0A000");
        }
        Class<?>[] types = method.getParameterTypes();
        return new JdbcCall(
                object,
                method.toString(),
                IntStream.range(0, types.length)
                        .mapToObj(i -> JSON.toJsonTree(
                                isObject(types[i]) ? (Object) numbers.applyAsInt(arguments[i]) : arguments[i]))
                        .toList());
    }

    /** @throws SQLFeatureNotSupportedException if nobody can have meant it */
    Method called() throws SQLFeatureNotSupportedException {
        Method called = METHODS.get(method);
        if (called == null || called.getParameterCount() != arguments.size()) {
            throw new SQLFeatureNotSupportedException("there is no " + method, "0A000");
        }
        return called;
    }

    /**
     * As the method takes them.
     *
     * @param objects by their numbers
     */
    @Nullable
    Object[] values(Method called, IntFunction<@Nullable Object> objects) {
        Class<?>[] types = called.getParameterTypes();
        return IntStream.range(0, types.length)
                .mapToObj(i -> isObject(types[i])
                        ? objects.apply(arguments.get(i).getAsInt())
                        : JSON.fromJson(arguments.get(i), (java.lang.reflect.Type) types[i]))
                .toArray();
    }

    /** What a method gave that gives a value. */
    static JsonElement json(@Nullable Object value) {
        return value == null ? JsonNull.INSTANCE : JSON.toJsonTree(value);
    }

    /** What a method gave, as its caller takes it. */
    static @Nullable Object value(Method called, @Nullable JsonElement value) {
        return called.getReturnType() == void.class ? null : JSON.fromJson(value, called.getReturnType());
    }
}
