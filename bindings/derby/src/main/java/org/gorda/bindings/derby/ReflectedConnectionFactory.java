package org.gorda.bindings.derby;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
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
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** Derby's module that makes connections; one instance per database. Thread-safe. */
public final class ReflectedConnectionFactory extends GenericLanguageConnectionFactory {

    private static final Set<ReflectedConnectionFactory> REFLECTING = ConcurrentHashMap.newKeySet();

    /** As long as Derby holds them. */
    private final Set<ReflectedConnection> connections =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private volatile @Nullable DerbyDatabase reflected;

    /** For Derby. */
    public ReflectedConnectionFactory() {}

    void reflect(@Nullable DerbyDatabase database) {
        reflected = database;
        if (database == null) {
            REFLECTING.remove(this);
        } else {
            REFLECTING.add(this);
        }
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
                && factory.reflected != null;
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
        synchronized (connections) {
            return connections.stream()
                    .mapToInt(ReflectedConnection::getStatementDepth)
                    .sum();
        }
    }
}
