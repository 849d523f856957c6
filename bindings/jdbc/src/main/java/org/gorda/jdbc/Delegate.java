package org.gorda.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Wrapper;
import org.jspecify.annotations.Nullable;

/**
 * Stands before an object of the engine's own driver: what {@link #delegate} does not change goes there by reflection. As a
 * connection, for one thread at a time.
 */
abstract class Delegate implements InvocationHandler {

    private static final Method IS_WRAPPER_FOR;

    static {
        try {
            IS_WRAPPER_FOR = Wrapper.class.getMethod("isWrapperFor", Class.class);
        } catch (NoSuchMethodException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final ClusterConnection connection;
    final EngineConnection engine;
    final Object target;

    /** @param engine which connection of the driver's the target is of */
    Delegate(ClusterConnection connection, EngineConnection engine, Object target) {
        this.connection = connection;
        this.engine = engine;
        this.target = target;
    }

    final <T> T as(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(Delegate.class.getClassLoader(), new Class<?>[] {type}, this));
    }

    @Override
    public final @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        return switch (method.getName()) {
            case "equals" -> arguments != null && self == arguments[0];
            case "hashCode" -> System.identityHashCode(self);
            case "toString" -> target.toString();
            case "isWrapperFor", "unwrap" -> unwrap(self, method, arguments);
            default -> delegate(self, method, arguments);
        };
    }

    private @Nullable Object unwrap(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        if (!isOwn(self, arguments)) {
            Object found = connection.call(engine, target, method, arguments);
            if (method.getName().equals("unwrap")) {
                connection.escaped();
            }
            return found;
        }
        connection.call(engine, target, IS_WRAPPER_FOR, arguments); // which it does not answer once it is closed
        return method.getName().equals("unwrap") ? self : true;
    }

    private static boolean isOwn(Object self, Object @Nullable [] arguments) {
        return arguments != null && arguments[0] instanceof Class<?> wanted && wanted.isInstance(self);
    }

    abstract @Nullable Object delegate(Object self, Method method, Object @Nullable [] arguments) throws Throwable;
}
