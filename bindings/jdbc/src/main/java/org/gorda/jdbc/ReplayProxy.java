package org.gorda.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * Stands before an object of a driver whose transactions are replayed; after a replay it may be another one. As a connection, for one
 * thread at a time.
 */
abstract class ReplayProxy implements InvocationHandler {

    final Replay replay;
    private @Nullable Object proxy;

    ReplayProxy(Replay replay) {
        this.replay = replay;
    }

    /** What it stands before now. */
    abstract Object target();

    /** Does what its own behaviour is, {@link #pass} all else. */
    abstract @Nullable Object call(Method method, @Nullable Object @Nullable [] arguments) throws SQLException;

    final @Nullable Object pass(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        return ReplayCall.on(target(), method, arguments);
    }

    /** What the application has of it. */
    final Object proxy(Class<?> type) {
        Object made = proxy;
        if (made == null) {
            made = Proxy.newProxyInstance(ReplayProxy.class.getClassLoader(), new Class<?>[] {type}, this);
            proxy = made;
        }
        return made;
    }

    @Override
    public final @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        return switch (method.getName()) {
            case "equals" -> arguments != null && self == arguments[0];
            case "hashCode" -> System.identityHashCode(self);
            case "toString" -> target().toString();
            case "unwrap" -> unwrap(self, method, arguments);
            default -> call(method, arguments);
        };
    }

    private @Nullable Object unwrap(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object found = pass(method, arguments);
        if (arguments != null && arguments[0] instanceof Class<?> wanted && wanted.isInstance(self)) {
            return self;
        }
        replay.neverAgain("the application uses the driver's own objects (unwrap)");
        return found;
    }
}
