package org.gorda.replicator.engine;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.gorda.bindings.derby.DerbyBinding;
import org.gorda.gapi.Applier;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TransactionListener;

/** Derby, of which a test has its calls wait or fail. */
public final class FailingDerby implements DatabaseBinding {

    static final String NAME = "failing-derby";

    static final BiConsumer<String, String> NOTHING = (location, call) -> {};

    /** Told before each call of the database or of its applier: the database's location, and the method. */
    static final AtomicReference<BiConsumer<String, String>> ON_CALL = new AtomicReference<>(NOTHING);

    private final DerbyBinding derby = new DerbyBinding();

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Set<Capability> capabilities() {
        return derby.capabilities();
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        return watched(ReflectedDatabase.class, derby.open(configuration, listener), configuration.location());
    }

    private static <T> T watched(Class<T> type, T target, String location) {
        return type.cast(Proxy.newProxyInstance(
                FailingDerby.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    ON_CALL.get().accept(location, method.getName());
                    try {
                        Object result = method.invoke(target, arguments);
                        return result instanceof Applier applier ? watched(Applier.class, applier, location) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        derby.load(snapshot, configuration);
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        derby.drop(configuration);
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) {
        return Optional.empty();
    }
}
