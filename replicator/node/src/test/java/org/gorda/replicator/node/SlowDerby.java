package org.gorda.replicator.node;

import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TransactionListener;

/** Derby, which takes as long to open as a test wants. */
public final class SlowDerby implements DatabaseBinding {

    static final String NAME = "slow-derby";

    /** Until then. */
    static final AtomicReference<CountDownLatch> OPENS = new AtomicReference<>(new CountDownLatch(0));

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
        try {
            if (!OPENS.get().await(60, TimeUnit.SECONDS)) {
                throw new AssertionError("nobody lets the database be opened");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return derby().open(configuration, listener);
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
