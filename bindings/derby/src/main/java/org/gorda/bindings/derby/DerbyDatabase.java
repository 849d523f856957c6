package org.gorda.bindings.derby;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import javax.net.ssl.SSLContext;
import org.apache.derby.iapi.services.context.ContextManager;
import org.apache.derby.iapi.services.context.ContextService;
import org.apache.derby.iapi.services.property.PropertyUtil;
import org.apache.derby.iapi.sql.PreparedStatement;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SequenceDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.impl.jdbc.EmbedConnection;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.Property;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.Generator;
import org.gorda.gapi.NetworkClients;
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

/** A Derby database, reflected. Thread-safe. */
final class DerbyDatabase implements ReflectedDatabase {

    private static final Logger LOG = LoggerFactory.getLogger(DerbyDatabase.class);
    private static final int DEADLOCK_SECONDS = 1;
    private static final Duration CALLS_END = Duration.ofSeconds(10);

    /** How SQLSTATEs of what went wrong with a page in a file begin. */
    private static final String PAGE_FAILED = "XSDG";

    /** Room in front of each write set for what the meta level sends before it. */
    private static final int HEADROOM_BYTES = 128;

    private final DatabaseConfiguration configuration;
    private final TransactionListener listener;
    private final boolean wantsReads;
    private final String url;
    private final EmbedConnection internal;
    private final ReflectedConnectionFactory factory;
    private final PriorityLockFactory locks;
    private final DataDictionary dictionary;
    private final PositionTable positions;
    private final CompiledTriggers triggers;
    private final Set<LocalTransaction> open = ConcurrentHashMap.newKeySet();
    private final Set<LocalCommit> suspended = ConcurrentHashMap.newKeySet();
    private final CapturedTables captured = new CapturedTables();
    private final Map<Object, List<String>> generatedNames = Collections.synchronizedMap(new WeakHashMap<>());
    private final AtomicBoolean failed = new AtomicBoolean();
    private volatile @Nullable StoredPosition committed;
    private volatile @Nullable Refusal closing;

    /** Held for reading while somebody connects, who would have Derby open the database anew if it were closed just before. */
    private final ReentrantReadWriteLock connecting = new ReentrantReadWriteLock();

    private @Nullable DerbyServer server;
    private @Nullable DerbyApplier applier;

    DerbyDatabase(DatabaseConfiguration configuration, TransactionListener listener) {
        this.configuration = configuration;
        this.listener = listener;
        this.wantsReads = listener.wantsReads();
        this.url = "jdbc:derby:" + configuration.location();
        Path directory = DerbyLocation.of(configuration);
        DerbyEngine.start();
        InterruptedCreation.setAside(directory);
        try {
            internal = boot();
            if (!(internal.getLanguageConnection() instanceof ReflectedConnection connection)) {
                internal.close();
                throw DerbyEngine.notReflected(configuration.location());
            }
            if (!(connection.getLanguageConnectionFactory() instanceof ReflectedConnectionFactory connections)) {
                throw DerbyEngine.notReflected(configuration.location());
            }
            factory = connections;
            if (factory.reflected() != null) {
                throw new ReflectionException(configuration.location() + " is open already in this process");
            }
            if (!connection
                    .getDatabase()
                    .getDataDictionary()
                    .checkVersion(DataDictionary.DD_VERSION_DERBY_10_11, null)) {
                // Its identity columns take their values where nobody sees it.
                internal.close();
                throw new ReflectionException(
                        configuration.location()
                                + " was made by a Derby before 10.11: open it once with jdbc:derby:PATH;upgrade=true, before it is copied to other replicas");
            }
            locks = connection.locks();
            connection.applies();
            internal.setAutoCommit(false);
            createTables();
            letAllCallRoutines(connection);
            dictionary = ReflectedDictionary.of(connection.getDatabase().getDataDictionary(), captured);
            triggers = new CompiledTriggers(internal, dictionary);
            positions = within(connection, () -> PositionTable.open(connection));
            committed = PositionTable.load(internal);
            internal.commit();
            WriteSetWriter.clearSpools(configuration.spoolDirectory());
            try {
                factory.reflect(this, connection);
            } catch (ReflectionException e) {
                internal.close();
                throw e;
            }
        } catch (IOException e) {
            throw new ReflectionException(
                    "the directory " + configuration.spoolDirectory() + " cannot be used: " + e, e);
        } catch (SQLException e) {
            throw DerbyEngine.cannotOpen(configuration.location(), e);
        } catch (StandardException e) {
            throw new ReflectionException("the Derby database " + configuration.location() + " cannot be opened", e);
        }
    }

    /** For connections of our own: they are made as whoever opened the database. */
    private Properties attributes() {
        Properties all = new Properties();
        all.putAll(configuration.attributes());
        return all;
    }

    private EmbedConnection boot() throws SQLException {
        PageCacheFactory.opens();
        try {
            return (EmbedConnection) DriverManager.getConnection(url + ";create=true", attributes());
        } finally {
            PageCacheFactory.opened();
        }
    }

    private void createTables() throws SQLException {
        try (ResultSet found = internal.getMetaData().getTables(null, PositionTable.SCHEMA, "POSITION", null)) {
            if (found.next()) {
                return;
            }
        }
        try (Statement statement = internal.createStatement()) {
            statement.execute("CREATE SCHEMA " + PositionTable.SCHEMA);
            PositionTable.create(internal);
            GeneratorTable.create(internal);
            createRoutine(
                    statement,
                    "PROCEDURE GORDA.COMMIT_AS (SESSION_ID CHAR(36), NUMBER BIGINT)",
                    "MODIFIES SQL DATA",
                    "commitAs");
            createRoutine(statement, "FUNCTION GORDA.POSITION () RETURNS BIGINT", "NO SQL", "position");
            createRoutine(statement, "PROCEDURE GORDA.AWAIT_POSITION (POSITION BIGINT)", "NO SQL", "awaitPosition");
            lookForDeadlocksSoon(statement);
        }
        internal.commit();
    }

    private static void createRoutine(Statement statement, String declaration, String sql, String method)
            throws SQLException {
        statement.execute("CREATE " + declaration + " LANGUAGE JAVA PARAMETER STYLE JAVA " + sql + " EXTERNAL NAME '"
                + DerbyProcedures.class.getName() + "." + method + "'");
    }

    /**
     * Derby looks for deadlocks when somebody has waited for 20 s, unless told otherwise, and meanwhile whoever needs what those in it
     * have waits, too. Who has set that keeps it.
     */
    private static void lookForDeadlocksSoon(Statement statement) throws SQLException {
        try (ResultSet set = statement.executeQuery(
                "VALUES SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY('" + Property.DEADLOCK_TIMEOUT + "')")) {
            if ((set.next() && set.getString(1) != null)
                    || PropertyUtil.getSystemProperty(Property.DEADLOCK_TIMEOUT) != null) {
                return;
            }
        }
        statement.execute("CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('" + Property.DEADLOCK_TIMEOUT + "', '"
                + DEADLOCK_SECONDS + "')");
    }

    /** Where users need privileges, they need some for what the driver calls. */
    private void letAllCallRoutines(ReflectedConnection connection) throws SQLException {
        if (!connection.getDataDictionary().usesSqlAuthorization()) {
            return;
        }
        try (Statement statement = internal.createStatement()) {
            statement.execute("GRANT EXECUTE ON PROCEDURE GORDA.COMMIT_AS TO PUBLIC");
            statement.execute("GRANT EXECUTE ON FUNCTION GORDA.POSITION TO PUBLIC");
            statement.execute("GRANT EXECUTE ON PROCEDURE GORDA.AWAIT_POSITION TO PUBLIC");
        }
        internal.commit();
    }

    // ------------------------------------------------------------------------------------- for the rest of the binding

    TransactionListener listener() {
        return listener;
    }

    boolean wantsReads() {
        return wantsReads;
    }

    /** What statements that begin now meet; null if the database is not being closed. */
    @Nullable
    Refusal closing() {
        return closing;
    }

    boolean leases() {
        return listener.leases();
    }

    boolean wantsKeys() {
        return listener.wantsKeys();
    }

    DataDictionary dictionary() {
        return dictionary;
    }

    PositionTable positions() {
        return positions;
    }

    WriteSetWriter newWriter() {
        return new WriteSetWriter(HEADROOM_BYTES, configuration.writeSetBytesMax(), configuration.spoolDirectory());
    }

    /** For long values of rows that must be out of their place for a while. */
    WriteSetWriter newScratch() {
        return new WriteSetWriter(0, Long.MAX_VALUE, configuration.spoolDirectory());
    }

    /** What runs within a connection's context. */
    interface Work<T> {
        T run() throws StandardException, SQLException;
    }

    /** Runs something that Derby does only for a thread that has the connection's context. */
    static <T> T within(ReflectedConnection connection, Work<T> work) throws StandardException, SQLException {
        ContextService contexts = ContextService.getFactory();
        ContextManager manager = connection.getContextManager();
        contexts.setCurrentContextManager(manager);
        try {
            return work.run();
        } finally {
            contexts.resetCurrentContextManager(manager);
        }
    }

    @Nullable
    CapturedTable captured(ReflectedConnection connection, long heapId) throws StandardException {
        return captured.ofHeap(connection, heapId);
    }

    CapturedTable.@Nullable Container container(ReflectedConnection connection, long id) throws StandardException {
        return captured.inContainer(connection, id);
    }

    /** Whatever a connection did to the schema, it does no more. */
    void sessionEnded(ReflectedConnection connection) {
        captured.schemaChangeEnded(connection);
    }

    /**
     * The connection has committed what it did to the schema. The dictionary is told in the context of a connection that has nothing to
     * lose, because it rolls that one back if it cannot write back its sequences.
     */
    void schemaChangeEnded(ReflectedConnection connection) throws StandardException {
        synchronized (internal) {
            ReflectedConnection context = (ReflectedConnection) internal.getLanguageConnection();
            try {
                within(context, () -> {
                    dictionary().transactionFinished();
                    if (!context.equals(connection)) {
                        triggers.renew();
                    }
                    return true;
                });
            } catch (SQLException e) {
                throw StandardException.plainWrapException(e);
            } finally {
                captured.schemaChangeEnded(connection);
            }
        }
    }

    /** Rolls back schema changes that are in the applier's way. */
    void makeWay() throws StandardException {
        locks.rollBackForApplier(() -> open.stream()
                .map(LocalTransaction::connection)
                .filter(ReflectedConnection::changesSchema)
                .toList());
    }

    /** Derby has shut the database down. Each connection meets it, and the first of them the cause. */
    void failed(StandardException cause) {
        if (failed.compareAndSet(false, true)) {
            listener.databaseFailed(new ReflectionException(
                    "the Derby database " + configuration.location() + " has stopped: " + cause.getMessage(), cause));
        }
    }

    /**
     * A page could not be read or written. Derby goes on, by what it has in memory, and asks the disk again and again; what is
     * ordered must not wait for that.
     */
    void noticeFailedStorage(Exception e) {
        if (e instanceof StandardException cause && cause.getSQLState().startsWith(PAGE_FAILED)) {
            failed(cause);
        }
    }

    /** Nothing is tried again on a disk that has failed. */
    void requireStorage() {
        if (failed.get()) {
            throw new ReflectionException("the Derby database " + configuration.location() + " has failed");
        }
    }

    CapturedTables capturedTables() {
        return captured;
    }

    /** Derby has generated a name while it compiles a statement, the last one of these. */
    void generatedNames(Object statement, List<String> names) {
        generatedNames.put(statement, List.copyOf(names));
    }

    /** The names that Derby generated when it compiled the statement, which may have been on another connection. */
    List<String> generatedNames(PreparedStatement statement) {
        return generatedNames.getOrDefault(statement, List.of());
    }

    /** Adds to a write set what its transaction took from generators, by their identities in the catalogue. */
    void putGenerated(ReflectedConnection connection, Map<String, Long> taken, WriteSetWriter out)
            throws StandardException {
        for (Map.Entry<String, Long> entry : taken.entrySet()) {
            SequenceDescriptor sequence =
                    dictionary.getSequenceDescriptor(dictionary.getUUIDFactory().recreateUUID(entry.getKey()));
            if (sequence == null) {
                continue; // dropped by the same transaction
            }
            Generator generator = LocalGenerators.generator(dictionary, sequence);
            if (generator != null) {
                out.generated(generator.identity(), generator.schema(), generator.name(), entry.getValue());
            }
        }
    }

    void opened(LocalTransaction transaction) {
        open.add(transaction);
    }

    void closed(LocalTransaction transaction) {
        open.remove(transaction);
    }

    void suspended(LocalCommit commit) {
        suspended.add(commit);
    }

    void answered(LocalCommit commit) {
        suspended.remove(commit);
    }

    /** As {@link StoredPosition#checkNew}. */
    void checkNew(StoredPosition position) {
        position.checkNew(committed, configuration.location());
    }

    void committed(StoredPosition position) {
        committed = position;
    }

    EmbedConnection connectInternally() throws SQLException {
        return (EmbedConnection) DriverManager.getConnection(url, attributes());
    }

    // --------------------------------------------------------------------------------------------------- public side

    @Override
    public Connection connect(Properties given) throws SQLException {
        Properties all = attributes();
        // A client says itself who it is, or is nobody.
        all.remove("user");
        all.remove("password");
        all.putAll(given);
        connecting.readLock().lock();
        try {
            Refusal why = closing;
            if (why != null) {
                throw new SQLException(why.message(), why.cause().sqlState());
            }
            if (failed.get()) {
                throw new SQLException(
                        "the Derby database " + configuration.location() + " has stopped: connect to another replica",
                        Refusal.Cause.STOPPED.sqlState());
            }
            return DriverManager.getConnection(url, all);
        } finally {
            connecting.readLock().unlock();
        }
    }

    @Override
    public List<TableShape> tables() {
        synchronized (internal) {
            try {
                List<TableShape> found = tables(internal);
                internal.commit();
                return found;
            } catch (SQLException | StandardException e) {
                throw new ReflectionException("the tables of " + configuration.location() + " cannot be listed", e);
            }
        }
    }

    /** The tables that are reflected, as a connection sees them, within its transaction. */
    List<TableShape> tables(EmbedConnection reader) throws SQLException, StandardException {
        return within((ReflectedConnection) reader.getLanguageConnection(), () -> {
            List<TableShape> found = new ArrayList<>();
            try (Statement statement = reader.createStatement();
                    ResultSet rows = statement.executeQuery(
                            "SELECT TABLEID, TABLETYPE, SCHEMANAME FROM SYS.SYSTABLES T JOIN SYS.SYSSCHEMAS S "
                                    + "ON T.SCHEMAID = S.SCHEMAID ORDER BY SCHEMANAME, TABLENAME")) {
                while (rows.next()) {
                    // Not by SQL: what is written there is of the database's collation, and the catalogue is not.
                    if (!rows.getString(2).equals("T") || rows.getString(3).equals(PositionTable.SCHEMA)) {
                        continue;
                    }
                    TableDescriptor table = dictionary.getTableDescriptor(
                            dictionary.getUUIDFactory().recreateUUID(rows.getString(1)));
                    CapturedTable captured = CapturedTable.of(dictionary, table);
                    if (captured.obstacle() == null) {
                        found.add(captured.shape());
                    }
                }
            }
            return found;
        });
    }

    @Override
    public synchronized Applier applier() {
        if (applier != null) {
            throw new IllegalStateException("there is an applier already");
        }
        try {
            EmbedConnection connection = connectInternally();
            connection.setAutoCommit(false);
            ReflectedConnection context = (ReflectedConnection) connection.getLanguageConnection();
            context.applies();
            DerbyApplier opened = new DerbyApplier(this, connection, context);
            locks.prefer(context, configuration.readGrace(), opened::row);
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
        // Read first: what is committed meanwhile may be on disk, too, but need not.
        StoredPosition before = committed;
        synchronized (internal) {
            try {
                ((ReflectedConnection) internal.getLanguageConnection()).storing(() -> PositionTable.flush(internal));
            } catch (SQLException e) {
                throw new ReflectionException(
                        "the Derby database " + configuration.location() + " could not be forced to disk: "
                                + DerbyEngine.messages(e),
                        e);
            }
        }
        return Optional.ofNullable(before);
    }

    @Override
    public void forget() {
        synchronized (internal) {
            ReflectedConnection context = (ReflectedConnection) internal.getLanguageConnection();
            try {
                within(context, () -> {
                    dictionary.startWriting(context);
                    GeneratorTable.settleBehindRows(internal, context);
                    return true;
                });
                PositionTable.forget(internal);
                committed = null;
            } catch (SQLException | StandardException e) {
                throw new ReflectionException(
                        "the Derby database " + configuration.location() + " does not forget its position: "
                                + e.getMessage(),
                        e);
            }
        }
    }

    @Override
    public void snapshot(Path directory) {
        // On a connection of its own: it takes long, and what else is done internally goes on.
        try (EmbedConnection connection = connectInternally()) {
            ((ReflectedConnection) connection.getLanguageConnection()).applies();
            DerbySnapshot.write(connection, Path.of(configuration.location()), directory);
        } catch (SQLException e) {
            throw new ReflectionException(
                    "a snapshot of " + configuration.location() + " cannot be written to " + directory + ": "
                            + DerbyEngine.messages(e),
                    e);
        }
    }

    /** Derby locks what it reads: the rows are those of a copy, which nobody else uses. */
    @Override
    public FrozenRows freeze(Path directory) {
        snapshot(directory);
        DerbyDatabase copy = new DerbyDatabase(configuration.ofCopy(directory), new NoClients());
        try {
            Connection reading = copy.applier().reading();
            copy.takeOver(); // what others have taken from generators is in the catalogue now
            return new FrozenRows(copy.storedPosition(), copy.tables(), reading, copy.generated(), copy::close);
        } catch (RuntimeException e) {
            copy.close();
            throw e;
        }
    }

    /** How far generators have come, by the catalogue: by some values farther than what they have given. */
    private Map<Generator, Long> generated() {
        synchronized (internal) {
            try (Statement statement = internal.createStatement();
                    ResultSet found = statement.executeQuery("SELECT SEQUENCEID FROM SYS.SYSSEQUENCES")) {
                Map<Generator, Long> generated = new HashMap<>();
                while (found.next()) {
                    String id = found.getString(1);
                    within((ReflectedConnection) internal.getLanguageConnection(), () -> {
                        SequenceDescriptor sequence = dictionary.getSequenceDescriptor(
                                dictionary.getUUIDFactory().recreateUUID(id));
                        Generator generator = LocalGenerators.generator(dictionary, sequence);
                        OptionalLong last = GeneratorTable.last(sequence);
                        if (generator != null && last.isPresent()) {
                            generated.put(generator, last.getAsLong());
                        }
                        return true;
                    });
                }
                internal.commit();
                return generated;
            } catch (SQLException | StandardException e) {
                throw new ReflectionException(
                        "the generators of " + configuration.location() + " cannot be read: " + e.getMessage(), e);
            }
        }
    }

    @Override
    public synchronized void takeOver() {
        if (applier != null) {
            applier.settleGenerators();
        }
        renewTriggers();
    }

    private void renewTriggers() {
        synchronized (internal) {
            try {
                within((ReflectedConnection) internal.getLanguageConnection(), () -> {
                    triggers.renew();
                    return true;
                });
            } catch (SQLException | StandardException e) {
                throw new ReflectionException("the triggers of " + configuration.location() + " cannot be read", e);
            }
        }
    }

    @Override
    public void abortAll(Refusal refusal) {
        open.forEach(transaction -> transaction.abort(refusal));
    }

    @Override
    public List<SuspendedCommit> suspended() {
        return List.copyOf(suspended);
    }

    @Override
    public synchronized String listen(InetSocketAddress address, @Nullable SSLContext tls) {
        InetAddress host = address.getAddress();
        // With TLS the name as it was given: a certificate is for names.
        boolean isByName = tls != null || host instanceof Inet6Address;
        String name = isByName ? address.getHostString() : host.getHostAddress();
        if (name.indexOf(':') >= 0) {
            throw new ReflectionException(
                    "Derby's own driver takes no address of IPv6, as " + name + ": give clients a name that has it");
        }
        requireFree(address);
        server = new DerbyServer(host, address.getPort(), tls, new NetworkClients());
        return "jdbc:derby://" + name + ":" + address.getPort() + "/" + configuration.location()
                + (tls == null ? "" : ";ssl=basic");
    }

    /** Derby's server does not tell, and whether one answers says nothing: it may be another's. */
    private static void requireFree(InetSocketAddress address) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(address);
        } catch (IOException e) {
            throw new ReflectionException(
                    "Derby's network server cannot listen on " + address.getHostString() + ":" + address.getPort()
                            + " ("
                            + e.getMessage()
                            + "): is another process using that port, and is the host an address of this machine?",
                    e);
        }
    }

    @Override
    public synchronized void close() {
        Refusal stops = new Refusal(Refusal.Cause.STOPPED, "this replica is stopping: connect to another one");
        closing = stops;
        suspended.forEach(SuspendedCommit::leaveAtStop);
        abortAll(stops);
        DerbyServer running = server;
        if (running != null) {
            running.close();
        }
        if (applier != null) {
            applier.close();
        }
        awaitCallsEnd();
        failed.set(true); // what Derby tells of its end from now on is no failure
        factory.letGo();
        closeInternal();
        connecting.writeLock().lock();
        try {
            shutDown();
        } finally {
            connecting.writeLock().unlock();
        }
    }

    /**
     * Derby's shutdown ends whatever is executed wherever it is: also with a page latched, for which it then waits itself, for ever. Statements that
     * begin meanwhile fail by themselves.
     */
    private void awaitCallsEnd() {
        long end = System.nanoTime() + CALLS_END.toNanos();
        while (factory.executing() > 0 && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }

    private void shutDown() {
        try {
            DriverManager.getConnection(url + ";shutdown=true", attributes()).close();
        } catch (SQLException e) {
            if (!"08006".equals(e.getSQLState())) {
                LOG.warn(
                        "the Derby database {} was not shut down in order: {}",
                        configuration.location(),
                        DerbyEngine.messages(e));
            }
        }
    }

    /** Derby keeps the database in memory as long as one of its connections is not closed. */
    private void closeInternal() {
        synchronized (internal) {
            try {
                internal.rollback();
                internal.close();
            } catch (SQLException e) {
                LOG.debug("the connection of our own to {} was gone already", configuration.location(), e);
            }
        }
    }
}
