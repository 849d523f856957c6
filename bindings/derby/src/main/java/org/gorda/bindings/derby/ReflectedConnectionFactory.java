package org.gorda.bindings.derby;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.derby.iapi.db.Database;
import org.apache.derby.iapi.services.context.ContextManager;
import org.apache.derby.iapi.services.monitor.Monitor;
import org.apache.derby.iapi.sql.LanguageFactory;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.conn.LanguageConnectionFactory;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.impl.sql.conn.GenericLanguageConnectionFactory;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.Property;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** Derby's module that makes connections; one instance per database. Thread-safe. */
public final class ReflectedConnectionFactory extends GenericLanguageConnectionFactory {

    private static final long OTHERS_WAIT_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final Set<ReflectedConnectionFactory> REFLECTING = ConcurrentHashMap.newKeySet();

    /** As long as Derby holds them. */
    private final Set<ReflectedConnection> connections =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private volatile @Nullable DerbyDatabase reflected;

    /** What Derby calls the database; null until it is known there. */
    private volatile @Nullable String service;

    /** For Derby. */
    public ReflectedConnectionFactory() {}

    /**
     * What is executed from now on is seen by the replica's database.
     *
     * @throws ReflectionException if others have connections, whose open transactions and prepared statements it would not see
     */
    void reflect(DerbyDatabase database, ReflectedConnection own) {
        reflected = database;
        REFLECTING.add(this);
        long end = System.nanoTime() + OTHERS_WAIT_NANOS; // Derby may have one of its own for a moment
        while (isOpenBesides(own)) {
            if (System.nanoTime() - end > 0) {
                letGo();
                reflected = null;
                throw new ReflectionException(
                        "this process has " + own.getDbname()
                                + " open by connections that were not made by its replica, which would not see what they change: close those first");
            }
            LockSupport.parkNanos(ReflectedConnection.GLANCE_NANOS);
        }
    }

    private boolean isOpenBesides(ReflectedConnection own) {
        return connections()
                .anyMatch(other -> other != own
                        && other.getContextManager().getContext(LanguageConnectionContext.CONTEXT_ID) == other);
    }

    private Stream<ReflectedConnection> connections() {
        return Stream.of(connections.toArray(new ReflectedConnection[0]));
    }

    /** Derby may shut the database down. Until it has, what is executed is seen still. */
    void letGo() {
        REFLECTING.remove(this);
    }

    /** Whether Derby has a database open that belongs to a replica. */
    static boolean isAnyReflected() {
        return !REFLECTING.isEmpty();
    }

    /** Whether the database of that name is open and belongs to a replica. */
    static boolean isReflected(String databaseName) throws StandardException {
        Object database = Monitor.findService(Property.DATABASE_MODULE, databaseName);
        return database != null
                && Monitor.findServiceModule(database, LanguageConnectionFactory.MODULE)
                        instanceof ReflectedConnectionFactory factory
                && REFLECTING.contains(factory);
    }

    /** Whether a replica that is not closed yet had the database open: Derby has shut it down by itself, and opened it anew for somebody else. */
    private boolean isLost() {
        String mine = service;
        return mine != null && REFLECTING.stream().anyMatch(other -> !other.equals(this) && mine.equals(other.service));
    }

    @Nullable
    DerbyDatabase reflected() {
        return reflected;
    }

    @Override
    public LanguageConnectionContext newLanguageConnectionContext(
            ContextManager manager,
            TransactionController transaction,
            LanguageFactory language,
            Database database,
            String user,
            @Nullable String networkClient,
            String databaseName)
            throws StandardException {
        if (networkClient != null && reflected == null) {
            // The network server would open and create any database that the process can reach.
            throw new DerbyRefusal(new Refusal(Refusal.Cause.STOPPED, GuardedDriver.notInto(databaseName)));
        }
        service = Monitor.getMonitor().getServiceName(database);
        if (reflected == null && isLost()) {
            throw new DerbyRefusal(new Refusal(
                    Refusal.Cause.STOPPED,
                    "Derby has stopped " + databaseName
                            + ", and what is changed in it now its replica would not see: start that again first"));
        }
        ReflectedConnection connection = new ReflectedConnection(
                manager,
                transaction,
                language,
                this,
                database,
                user,
                getNextLCCInstanceNumber(),
                networkClient,
                databaseName);
        connections.add(connection);
        return connection;
    }

    /** How many connections, or statements within them, are being executed. */
    int executing() {
        return connections().mapToInt(ReflectedConnection::getStatementDepth).sum();
    }
}
