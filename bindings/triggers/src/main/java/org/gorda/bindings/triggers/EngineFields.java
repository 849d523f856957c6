package org.gorda.bindings.triggers;

import java.lang.reflect.Field;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What an engine's own objects know and have no method to tell or to be told. Stateless. */
public final class EngineFields {

    private EngineFields() {}

    /**
     * What an object has in a field, of its class or one above.
     *
     * @throws IllegalStateException if the engine is another one than its binding was made for
     */
    public static @Nullable Object get(Object of, String name) {
        try {
            return field(of, name).get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** As {@link #get}, where there is always something of a type. */
    public static <T> T there(Object of, String name, Class<T> type) {
        return type.cast(Objects.requireNonNull(get(of, name), name));
    }

    /** Changes that, as {@link #get} finds it. */
    public static void set(Object of, String name, Object value) {
        try {
            field(of, name).set(of, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Object of, String name) {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException e) {
                // It may be the superclass's.
            }
        }
        throw new IllegalStateException("the engine is another one than this was made for: its "
                + of.getClass().getName() + " has no " + name);
    }
}
