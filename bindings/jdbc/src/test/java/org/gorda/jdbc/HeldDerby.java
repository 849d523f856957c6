package org.gorda.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TransactionListener;

/** Derby, whose disk fails when a test wants, and which is closed only then. */
public final class HeldDerby implements DatabaseBinding {

    static final String NAME = "helddisk";

    /** Whether the disk fails. */
    static volatile boolean fails;

    /** One of them is being closed. */
    static final CountDownLatch CLOSING = new CountDownLatch(1);

    /** Before that nothing is closed. */
    static final CountDownLatch MAY_CLOSE = new CountDownLatch(1);

    private static DatabaseBinding derby() {
        return ServiceLoader.load(DatabaseBinding.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(binding -> binding.name().equals("derby"))
                .findFirst()
                .orElseThrow();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Set<Capability> capabilities() {
        return derby().capabilities();
    }

    @Override
    public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
        ReflectedDatabase opened = derby().open(configuration, listener);
        return (ReflectedDatabase) Proxy.newProxyInstance(
                HeldDerby.class.getClassLoader(),
                new Class<?>[] {ReflectedDatabase.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("flush") && fails) {
                        throw new ReflectionException("planted");
                    }
                    if (method.getName().equals("close")) {
                        CLOSING.countDown();
                        MAY_CLOSE.await(60, TimeUnit.SECONDS);
                    }
                    try {
                        return method.invoke(opened, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Override
    public void load(Path snapshot, DatabaseConfiguration configuration) {
        derby().load(snapshot, configuration);
    }

    @Override
    public void drop(DatabaseConfiguration configuration) {
        derby().drop(configuration);
    }

    @Override
    public Optional<List<Finding>> examine(Connection connection) {
        return Optional.empty();
    }
}
