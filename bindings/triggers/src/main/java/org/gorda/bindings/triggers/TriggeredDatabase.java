package org.gorda.bindings.triggers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.Generator;
import org.gorda.gapi.NoClients;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A database that is reflected by triggers. Thread-safe. */
public final class TriggeredDatabase implements ReflectedDatabase {

    /** The schema of what is ours. */
    public static final String SCHEMA = "GORDA";

    private static final Logger LOG = LoggerFactory.getLogger(TriggeredDatabase.class);

    /** Room in front of each write set for what the meta level sends before it. */
    private static final int HEADROOM_BYTES = 128;

    /** How often somebody who comes between is rolled back before that is given up. */
    private static final int TRIES = 1000;

    private static final Duration WAY_GLANCE = Duration.ofMillis(10);
    private static final int WAY_GLANCES = 100;

    private final String product;
    private final Opening opening;
    private final DatabaseConfiguration configuration;
    private final TransactionListener listener;
    private final boolean wantsReads;
    private final Dialect dialect;
    private final Connection internal;
    private final Turn turn = new Turn();
    private final Changes changes = new Changes();

    /** Held for reading while somebody connects, who would open the database anew if it were closed just before. */
    private final ReentrantReadWriteLock connecting = new ReentrantReadWriteLock();

    private final Set<ClientConnection> connections = ConcurrentHashMap.newKeySet();
    private final Set<LocalCommit> suspended = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private volatile @Nullable StoredPosition committed;
    private @Nullable WriteSetApplier applier;

    /** Why nobody connects any more; null while the database is open. */
    private volatile @Nullable Refusal closed;

    /** Opens a database as it says in its configuration. */
    public interface Opening {
        Dialect open(DatabaseConfiguration configuration) throws SQLException;
    }

    /**
     * As {@link org.gorda.gapi.DatabaseBinding#open}.
     *
     * @param product for people
     */
    static ReflectedDatabase open(
            String product, Opening opening, DatabaseConfiguration configuration, TransactionListener listener) {
        Dialect dialect = null;
        try {
            dialect = opening.open(configuration);
            return new TriggeredDatabase(product, opening, configuration, listener, dialect);
        } catch (SQLException | RuntimeException e) {
            if (dialect != null) {
                dialect.close();
            }
            throw e instanceof ReflectionException known
                    ? known
                    : new ReflectionException(
                            "the " + product + " database " + configuration.location() + " cannot be opened: "
                                    + e.getMessage(),
                            e);
        }
    }

    private TriggeredDatabase(
            String product,
            Opening opening,
            DatabaseConfiguration configuration,
            TransactionListener listener,
            Dialect dialect)
            throws SQLException {
        this.product = product;
        this.opening = opening;
        this.configuration = configuration;
        this.listener = listener;
        this.wantsReads = listener.wantsReads();
        this.dialect = dialect;
        this.internal = dialect.connect();
        try (Statement statement = internal.createStatement()) {
            for (String sql : dialect.installation()) {
                statement.execute(sql);
            }
            String positions = dialect.positions();
            try (ResultSet last = statement.executeQuery("SELECT HIGH, LOW, TERM, IDX FROM " + positions
                    + " WHERE IDX = (SELECT MAX(IDX) FROM " + positions + ")")) {
                if (last.next()) {
                    committed = new StoredPosition(last.getLong(1), last.getLong(2), last.getLong(3), last.getLong(4));
                }
            }
            internal.commit();
            dialect.changeSchema(internal, SCHEMA, "");
            internal.commit();
            WriteSetWriter.clearSpools(configuration.spoolDirectory());
        } catch (IOException e) {
            throw new ReflectionException(
                    "the directory " + configuration.spoolDirectory() + " cannot be used: " + e, e);
        }
    }

    // ------------------------------------------------------------------------------------- for the rest of the binding

    TransactionListener listener() {
        return listener;
    }

    boolean wantsReads() {
        return wantsReads;
    }

    Dialect dialect() {
        return dialect;
    }

    WriteSetWriter newWriter() {
        return new WriteSetWriter(HEADROOM_BYTES, configuration.writeSetBytesMax(), configuration.spoolDirectory());
    }

    Turn turn() {
        return turn;
    }

    /** Changes something in the database. */
    <T> @Nullable T change(ClientConnection.Work<T> work) throws SQLException {
        changes.begin();
        @Nullable T result;
        try {
            result = work.run();
        } finally {
            changes.end();
        }
        relieve(false);
        return result;
    }

    /** Has the database write if it has much to write, and nobody is changing something but perhaps this thread. */
    void relieve(boolean isChanging) throws SQLException {
        if (dialect.hasMuchToWrite() && changes.tryAlone(isChanging)) {
            try {
                dialect.write();
            } finally {
                changes.endAlone();
            }
        }
    }

    /** Has the database write what was changed; returns what is committed of that. */
    private @Nullable StoredPosition write() throws SQLException {
        if (dialect.commitsWrite()) {
            StoredPosition written = committed;
            relieve(false);
            return written;
        }
        changes.alone();
        try {
            dialect.write();
            return committed;
        } finally {
            changes.endAlone();
        }
    }

    void suspended(LocalCommit commit) {
        suspended.add(commit);
    }

    void answered(LocalCommit commit) {
        suspended.remove(commit);
    }

    void closed(ClientConnection connection) {
        connections.remove(connection);
    }

    /** The first who meets it tells that the database has stopped. */
    void notice(SQLException failure) {
        if (dialect.hasStopped(failure) && stopped.compareAndSet(false, true)) {
            listener.databaseFailed(new ReflectionException(
                    "the database " + configuration.location() + " has stopped: " + failure.getMessage(), failure));
        }
    }

    /** As {@link StoredPosition#checkNew}. */
    void checkNew(StoredPosition position) {
        position.checkNew(committed, configuration.location());
    }

    /** Commits a connection's transaction together with its position: a row of its own, so that no two write the same. */
    void commit(Connection connection, @Nullable StoredPosition position, boolean durable) throws SQLException {
        change(() -> {
            dialect.ours(connection, true);
            try {
                if (position != null) {
                    insert(connection, position);
                }
                connection.commit();
            } finally {
                dialect.ours(connection, false);
            }
            if (position != null) {
                committed = position;
            }
            return true;
        });
        if (durable) {
            write();
            dialect.force();
        }
    }

    private void insert(Connection connection, StoredPosition position) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(dialect.storing())) {
            insert.setLong(1, position.index());
            insert.setLong(2, position.term());
            insert.setLong(3, position.groupHigh());
            insert.setLong(4, position.groupLow());
            insert.executeUpdate();
        }
    }

    synchronized void closed(WriteSetApplier closing) {
        applier = closing.equals(applier) ? null : applier;
    }

    /**
     * Makes a change of the schema, for which whoever is in the way is rolled back. Nobody changes anything until it is committed or rolled back, and
     * {@link #endSchemaChange} is called.
     *
     * @return what it has failed with, as it does on all replicas; null if it has not
     */
    @Nullable
    SQLException changeSchema(ClientConnection connection, LocalCommit.SchemaChange change) throws SQLException {
        return changeSchema(connection.inner(), connection, change.schema(), change.sql());
    }

    @Nullable
    SQLException changeSchema(Connection inner, @Nullable ClientConnection own, String schema, String sql)
            throws SQLException {
        Refusal why = listener.makeWay(null);
        for (int tries = 1; ; tries++) {
            aloneWithoutLocks(own, why); // it may need any lock
            boolean isDone = false;
            try {
                dialect.ours(inner, true);
                dialect.changeSchema(inner, schema, sql);
                isDone = true;
                return null;
            } catch (SQLException e) {
                inner.rollback();
                if (!dialect.isLocked(e)) {
                    isDone = true;
                    return e;
                }
                if (tries == TRIES) {
                    throw e;
                }
            } finally {
                dialect.ours(inner, false);
                if (!isDone) {
                    changes.endAlone();
                }
            }
        }
    }

    void endSchemaChange(boolean isCommitted) throws SQLException {
        try {
            if (isCommitted) {
                dialect.schemaChanged();
            }
        } finally {
            changes.endAlone();
        }
    }

    /** Waits until nobody changes anything, nor keeps others from it but {@code own}: who has come between, or has not rolled back yet. Not for long. */
    private void aloneWithoutLocks(@Nullable ClientConnection own, Refusal why) {
        for (int tries = 1; ; tries++) {
            try {
                makeWay(own, why); // who has begun since is in the way of being alone
            } catch (RuntimeException e) {
                changes.endAlone(); // nobody would begin anything any more
                throw e;
            }
            if (changes.soonAlone()) {
                boolean isFree = false;
                try {
                    isFree = tries >= WAY_GLANCES
                            || connections.stream().noneMatch(one -> !one.equals(own) && one.isInTheWay());
                } finally {
                    if (!isFree) {
                        changes.endAlone();
                    }
                }
                if (isFree) {
                    return;
                }
            }
            try {
                TimeUnit.NANOSECONDS.sleep(WAY_GLANCE.toNanos());
            } catch (InterruptedException e) {
                changes.endAlone();
                Thread.currentThread().interrupt();
                throw new ReflectionException("interrupted while others give way to a schema change", e);
            }
        }
    }

    /** Rolls back local transactions that hold locks. */
    void makeWay(@Nullable ClientConnection but, Refusal why) {
        for (ClientConnection connection : connections) {
            if (!connection.equals(but)) {
                connection.giveWay(why);
            }
        }
    }

    static int tries() {
        return TRIES;
    }

    // --------------------------------------------------------------------------------------------------- public side

    @Override
    public Connection connect(Properties properties) throws SQLException {
        connecting.readLock().lock();
        try {
            Refusal why = closed;
            if (why != null) {
                throw Refused.of(why);
            }
            ClientConnection connection = new ClientConnection(this, properties);
            connections.add(connection);
            return connection.outer();
        } finally {
            connecting.readLock().unlock();
        }
    }

    @Override
    public List<TableShape> tables() {
        return dialect.tables().captured();
    }

    @Override
    public synchronized Applier applier() {
        if (applier != null) {
            throw new IllegalStateException("there is an applier already");
        }
        if (closed != null) {
            throw new IllegalStateException("the database is closed");
        }
        try {
            WriteSetApplier opened = new WriteSetApplier(this, dialect.connect());
            applier = opened;
            return opened;
        } catch (SQLException e) {
            throw new ReflectionException("no connection for the applier to " + configuration.location(), e);
        }
    }

    @Override
    public Optional<StoredPosition> storedPosition() {
        return Optional.ofNullable(committed);
    }

    @Override
    public Optional<StoredPosition> flush() {
        try {
            deleteOldPositions();
            StoredPosition written = write();
            dialect.force();
            return Optional.ofNullable(written);
        } catch (SQLException e) {
            notice(e);
            throw new ReflectionException(
                    "the database " + configuration.location() + " could not be forced to disk: " + e.getMessage(), e);
        }
    }

    private void deleteOldPositions() throws SQLException {
        StoredPosition last = committed;
        if (last != null) {
            try {
                deletePositions(last.index());
            } catch (SQLException e) {
                if (!dialect.isLocked(e)) {
                    throw e;
                }
            }
        }
    }

    private void deletePositions(long before) throws SQLException {
        change(() -> {
            synchronized (internal) {
                try (Statement statement = internal.createStatement()) {
                    statement.executeUpdate("DELETE FROM " + dialect.positions() + " WHERE IDX < " + before);
                    internal.commit();
                } catch (SQLException e) {
                    internal.rollback();
                    throw e;
                }
            }
            return true;
        });
    }

    @Override
    public void forget() {
        try {
            deletePositions(Long.MAX_VALUE);
            committed = null;
            write();
            dialect.force();
        } catch (SQLException e) {
            throw new ReflectionException(
                    "the database " + configuration.location() + " does not forget its position: " + e.getMessage(), e);
        }
    }

    @Override
    public void snapshot(Path directory) {
        flush();
        dialect.snapshot(directory);
    }

    /** Of a copy, which nobody else uses. */
    @Override
    public FrozenRows freeze(Path directory) {
        snapshot(directory);
        ReflectedDatabase copy = open(product, opening, configuration.ofCopy(directory), new NoClients());
        try {
            Map<Generator, Long> generated = ((TriggeredDatabase) copy)
                    .dialect().generators().stream()
                            .collect(Collectors.toMap(Dialect.Generated::generator, Dialect.Generated::last));
            Connection reading = copy.applier().reading();
            ClientTables tables = ((TriggeredDatabase) copy).dialect().tables();
            tables.requireNoOtherRows(reading);
            return new FrozenRows(copy.storedPosition(), tables.captured(), reading, generated, copy::close);
        } catch (RuntimeException e) {
            copy.close();
            throw e;
        }
    }

    /** Nothing to do: whatever generators have given elsewhere, they know. */
    @Override
    public void takeOver() {}

    @Override
    public void abortAll(Refusal refusal) {
        connections.forEach(connection -> connection.abortChanging(refusal));
    }

    @Override
    public List<SuspendedCommit> suspended() {
        return List.copyOf(suspended);
    }

    @Override
    public String listen(InetSocketAddress address, @Nullable SSLContext tls) {
        throw new ReflectionException(
                product
                        + " has no network server whose clients' commits could be replicated: use it in the replica's own process");
    }

    @Override
    public synchronized void close() {
        suspended.forEach(SuspendedCommit::leaveAtStop);
        stopped.set(true); // what clients meet from now on is no failure
        Refusal stops = new Refusal(Refusal.Cause.STOPPED, "this replica is stopping: connect to another one");
        closed = stops;
        abortAll(stops);
        WriteSetApplier open = applier;
        if (open != null && !dialect.isChangingSchema()) {
            open.close();
        }
        connecting.writeLock().lock();
        try {
            dialect.close();
        } catch (RuntimeException e) {
            LOG.warn("the database {} was not shut down in order", configuration.location(), e);
        } finally {
            connecting.writeLock().unlock();
        }
    }
}
