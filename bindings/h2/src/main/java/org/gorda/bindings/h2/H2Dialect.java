package org.gorda.bindings.h2;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.ClientTables;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.Owner;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.h2.api.ErrorCode;
import org.h2.command.Prepared;
import org.h2.engine.Database;
import org.h2.engine.Session;
import org.h2.engine.SessionLocal;
import org.h2.index.Index;
import org.h2.jdbc.JdbcConnection;
import org.h2.message.DbException;
import org.h2.mvstore.MVStoreException;
import org.h2.mvstore.tx.Transaction;
import org.h2.schema.Schema;
import org.h2.schema.Sequence;
import org.h2.table.Column;
import org.h2.table.Table;
import org.h2.value.Value;
import org.jspecify.annotations.Nullable;

/** An H2 database, open. Thread-safe. */
final class H2Dialect implements Dialect {

    /** Who waits for a lock does not notice that it is aborted before that time is over. */
    private static final int LOCK_TIMEOUT_MILLIS = 1000;

    private static final int APPLIERS_LOCK_TIMEOUT_MILLIS = 10;

    private static final Set<Integer> LOCKED =
            Set.of(ErrorCode.LOCK_TIMEOUT_1, ErrorCode.DEADLOCK_1, ErrorCode.CONCURRENT_UPDATE_1);
    private static final Set<Integer> STOPPED = Set.of(
            ErrorCode.FILE_CORRUPTED_1,
            ErrorCode.DATABASE_IS_CLOSED,
            ErrorCode.OUT_OF_MEMORY,
            ErrorCode.DATABASE_CALLED_AT_SHUTDOWN);

    /** Of the database's file, or of one that a statement names. */
    private static final Set<Integer> FILES = Set.of(ErrorCode.IO_EXCEPTION_1, ErrorCode.IO_EXCEPTION_2);

    private static final Set<Integer> OF_THIS_REPLICA =
            Set.of(ErrorCode.GENERAL_ERROR_1, ErrorCode.STATEMENT_WAS_CANCELED);

    /** Who is told of a session's changes: nobody of those that are our own. What is changed in others is refused. */
    private static final Map<SessionLocal, Optional<RowCapture>> CAPTURES = new ConcurrentHashMap<>();

    private static final Map<Database, H2Dialect> OPEN = new ConcurrentHashMap<>();

    private final Driver driver = new org.h2.Driver();
    private final String url;
    private final Owner owner;
    private final Connection internal;
    private final Database database;
    private final H2Store store;
    private final H2SchemaChanges schemaChanges;
    private final Map<Generator, Long> ordered = new ConcurrentHashMap<>();

    /** Those of clients, in whose sessions something is done that is ours. */
    private final Map<SessionLocal, Integer> timeouts = new ConcurrentHashMap<>();

    private volatile Tables known = new Tables(-1, Map.of());

    /** Tables by schema and name, as they were with a modification of the catalogue. */
    private record Tables(long modification, Map<String, Captured> byName) {}

    H2Dialect(DatabaseConfiguration configuration) throws SQLException {
        H2Files files = new H2Files(configuration.location());
        files.restore();
        this.url = files.url();
        this.owner = Owner.of(configuration, "H2", "sa");
        this.internal =
                connect(url + ";DB_CLOSE_ON_EXIT=FALSE;TRACE_LEVEL_FILE=0", owner.properties(), Optional.empty());
        this.database = session(internal).getDatabase();
        this.store = new H2Store(database);
        this.schemaChanges = new H2SchemaChanges(database, store, files);
        if (OPEN.putIfAbsent(database, this) != null) {
            internal.close();
            throw new ReflectionException(configuration.location() + " is open already in this process");
        }
        H2Check.FITNESS.require(internal);
        ordered(generators());
    }

    static SessionLocal session(Connection connection) throws SQLException {
        return (SessionLocal) connection.unwrap(JdbcConnection.class).getSession();
    }

    /** Null if the connection is closed. */
    private static @Nullable SessionLocal openSession(Connection connection) {
        return (SessionLocal) ((JdbcConnection) connection).getSession();
    }

    private static SessionLocal sessionOf(Connection connection) {
        return Objects.requireNonNull(openSession(connection));
    }

    /** Who is to be told of what the connection's session changes; null if nobody. */
    static @Nullable RowCapture capture(Connection connection) throws SQLException {
        Optional<RowCapture> capture = CAPTURES.get(session(connection));
        if (capture == null) {
            throw Refused.unsupported(
                    "the database is replicated, and can only be changed by connections of its replica");
        }
        return capture.orElse(null);
    }

    static Captured captured(Connection connection, String schema, String table) throws SQLException {
        return Objects.requireNonNull(OPEN.get(session(connection).getDatabase()))
                .table(schema, table);
    }

    /** As {@link RowCapture.Rows#now}. */
    static RowCapture.@Nullable Row now(Connection connection, TableShape table, RowCapture.Row key)
            throws SQLException {
        SessionLocal session = session(connection);
        H2Dialect dialect = Objects.requireNonNull(OPEN.get(session.getDatabase()));
        return new H2Rows(dialect, session).now(connection, table, key);
    }

    @Override
    public Connection connect(Properties properties, RowCapture capture) throws SQLException {
        return connect(url, owner.unless(properties), Optional.of(capture));
    }

    @Override
    public Connection connect() throws SQLException {
        return connect(url, owner.properties(), Optional.empty());
    }

    private Connection connect(String to, Properties who, Optional<RowCapture> capture) throws SQLException {
        CAPTURES.keySet().removeIf(SessionLocal::isClosed);
        Connection connection = driver.connect(to, who);
        connection.setAutoCommit(false);
        sessionOf(connection).setLockTimeout(LOCK_TIMEOUT_MILLIS);
        CAPTURES.put(sessionOf(connection), capture);
        return connection;
    }

    @Override
    public void check(String sql) throws SQLException {
        H2Statements.check(sql);
    }

    @Override
    public Kind kind(Connection connection, String sql) throws SQLException {
        SessionLocal session = sessionOf(connection);
        H2Statements.check(sql);
        try {
            return within(session, () -> {
                Prepared prepared = session.prepare(sql.strip().replaceAll(";+$", ""));
                return H2Statements.kind(prepared, sql, session);
            });
        } catch (DbException e) {
            throw DbException.toSQLException(e);
        }
    }

    interface Work<T> {
        T run() throws SQLException;
    }

    static <T> T within(SessionLocal session, Work<T> work) throws SQLException {
        session.lock();
        Session before = session.setThreadLocalSession();
        try {
            return work.run();
        } finally {
            session.resetThreadLocalSession(before);
            session.unlock();
        }
    }

    @Override
    public void inStatement(Connection connection, @Nullable String sql) {
        sessionOf(connection).setCommitOrRollbackDisabled(sql != null);
    }

    @Override
    public void ours(Connection connection, boolean ours) {
        SessionLocal session = sessionOf(connection);
        CAPTURES.getOrDefault(session, Optional.empty()).ifPresent(capture -> capture.pause(ours));
        if (ours) {
            timeouts.put(session, session.getQueryTimeout());
            session.setQueryTimeout(0); // and forgets what is left of it
        } else {
            session.setQueryTimeout(Objects.requireNonNullElse(timeouts.remove(session), 0));
        }
    }

    // ----------------------------------------------------------------------------------------------------- catalogue

    @Override
    public ClientTables tables() {
        Stream<Table> all = H2SchemaChanges.tables(database).filter(H2SchemaChanges::isClients);
        return ClientTables.of(all, table -> table.getSQL(0), H2Dialect::captured);
    }

    @Override
    public Captured table(String schema, String name) throws SQLException {
        Tables now = known;
        long modification = database.getModificationMetaId();
        if (now.modification() != modification) {
            now = new Tables(modification, new ConcurrentHashMap<>());
            known = now;
        }
        String key = TableShape.quoted(schema) + TableShape.quoted(name);
        Captured captured = now.byName().get(key);
        if (captured == null) {
            captured = captured(find(schema, name));
            now.byName().put(key, captured);
        }
        return captured;
    }

    Table find(String schema, String name) throws SQLException {
        Schema found = database.findSchema(schema);
        Table table = found == null ? null : found.findTableOrView(null, name);
        if (table == null || !H2SchemaChanges.isClients(table)) {
            throw Refused.unsupported("a table " + TableShape.quoted(schema) + "." + TableShape.quoted(name)
                    + " is not a client's, and not changed");
        }
        return table;
    }

    private static Captured captured(Table table) throws SQLException {
        List<TableShape.Column> columns = new ArrayList<>();
        for (Column column : table.getColumns()) {
            columns.add(new TableShape.Column(column.getName(), type(table, column)));
        }
        List<Integer> key = new ArrayList<>();
        Index primary = table.findPrimaryKey();
        if (primary != null) {
            Stream.of(primary.getColumns()).forEach(column -> key.add(column.getColumnId() + 1));
        }
        Set<Integer> unique = new HashSet<>(key);
        for (Index index : table.getIndexes()) {
            if (index.getIndexType().isUnique()) {
                Stream.of(index.getColumns()).forEach(column -> unique.add(column.getColumnId() + 1));
            }
        }
        boolean hasTriggers = table.getSchema().getAllTriggers().stream()
                .anyMatch(trigger -> trigger.getTable().equals(table) && !H2SchemaChanges.isOurs(trigger.getName()));
        return new Captured(
                new TableShape(table.getSchema().getName(), table.getName(), columns, key), unique, hasTriggers);
    }

    private static SqlType type(Table table, Column column) throws SQLException {
        return switch (column.getType().getValueType()) {
            case Value.BOOLEAN -> SqlType.BOOLEAN;
            case Value.TINYINT, Value.SMALLINT -> SqlType.SMALLINT;
            case Value.INTEGER -> SqlType.INTEGER;
            case Value.BIGINT -> SqlType.BIGINT;
            case Value.REAL -> SqlType.REAL;
            case Value.DOUBLE -> SqlType.DOUBLE;
            case Value.NUMERIC -> SqlType.DECIMAL;
            case Value.CHAR -> SqlType.CHAR;
            case Value.VARCHAR, Value.VARCHAR_IGNORECASE, Value.ENUM -> SqlType.VARCHAR;
            case Value.CLOB -> SqlType.CLOB;
            case Value.BINARY, Value.UUID -> SqlType.BINARY;
            case Value.VARBINARY -> SqlType.VARBINARY;
            case Value.BLOB -> SqlType.BLOB;
            case Value.DATE -> SqlType.DATE;
            case Value.TIME -> SqlType.TIME;
            case Value.TIMESTAMP -> SqlType.TIMESTAMP;
            default ->
                throw Refused.unsupported("rows of " + table.getSQL(0) + " cannot be replicated: column "
                        + column.getName() + " is of type " + column.getType().getTraceSQL());
        };
    }

    // ---------------------------------------------------------------------------------------------------- generators

    @Override
    public Map<Generator, Long> lastOrdered() {
        return ordered;
    }

    @Override
    public List<Generated> generators() {
        List<Generated> found = new ArrayList<>();
        sequences().forEach((generator, sequence) -> found.add(new Generated(generator, last(sequence))));
        return found;
    }

    /** Sequences, and those of identity columns, whose own names are different on each replica. */
    private Map<Generator, Sequence> sequences() {
        Map<Generator, Sequence> found = new HashMap<>();
        for (Schema schema : database.getAllSchemasNoMeta()) {
            for (Sequence sequence : schema.getAllSequences()) {
                if (!sequence.getBelongsToTable()) {
                    found.put(new Generator(false, schema.getName(), sequence.getName()), sequence);
                }
            }
        }
        H2SchemaChanges.tables(database).forEach(table -> {
            for (Column column : table.getColumns()) {
                Sequence sequence = column.getSequence();
                if (sequence != null && sequence.getBelongsToTable()) {
                    found.put(new Generator(true, table.getSchema().getName(), table.getName()), sequence);
                }
            }
        });
        return found;
    }

    private static long last(Sequence sequence) {
        synchronized (sequence) {
            return sequence.getCycle() != Sequence.Cycle.EXHAUSTED
                    ? sequence.getCurrentValue()
                    : sequence.getIncrement() > 0 ? sequence.getMaxValue() : sequence.getMinValue();
        }
    }

    /** A generator has given a value elsewhere. */
    void generated(SessionLocal applier, Generator generator, long last) {
        Sequence sequence = sequences().get(generator);
        if (sequence == null) {
            return; // dropped in the meantime, where nobody misses it
        }
        long increment = sequence.getIncrement();
        boolean isOver =
                increment > 0 ? last > sequence.getMaxValue() - increment : last < sequence.getMinValue() - increment;
        if (isOver && sequence.getCycle() != Sequence.Cycle.CYCLE) {
            sequence.modify(null, null, null, null, null, Sequence.Cycle.EXHAUSTED, null);
        } else {
            long first = increment > 0 ? sequence.getMinValue() : sequence.getMaxValue();
            sequence.modify(isOver ? first : last + increment, null, null, null, null, null, null);
        }
        // In its own transaction, unless the applier has changed the schema in one that is open.
        sequence.flush(applier);
        ordered.put(generator, last);
    }

    // -------------------------------------------------------------------------------------------------------- schema

    @Override
    public void changeSchema(Connection connection, String schema, String sql) throws SQLException {
        SessionLocal session = sessionOf(connection);
        boolean isLazy = session.isLazyQueryExecution();
        session.setLazyQueryExecution(false);
        try {
            within(session, () -> {
                try {
                    session.startStatementWithinTransaction(null);
                    if (sql.isEmpty()) {
                        schemaChanges.captureAll(session);
                        schemaChanges.putOursFirst();
                    } else {
                        schemaChanges.make(session, schema, sql);
                    }
                    return true;
                } finally {
                    session.endStatement();
                }
            });
        } catch (MVStoreException e) {
            throw new ReflectionException(
                    "H2 could not write its file for a change of the schema: " + e.getMessage(), e);
        } catch (DbException e) {
            SQLException failed = DbException.toSQLException(e);
            if (hasStopped(failed)
                    || OF_THIS_REPLICA.contains(failed.getErrorCode())
                    || FILES.contains(failed.getErrorCode())
                    || isBy(ClassNotFoundException.class, failed)
                    || isBy(LinkageError.class, failed)) {
                throw new ReflectionException("H2 could not change the schema: " + failed.getMessage(), failed);
            }
            throw failed;
        } finally {
            session.setLazyQueryExecution(isLazy);
            ordered.clear(); // a generator may have begun anew, and reach again what was ordered
        }
    }

    @Override
    public void schemaChanged() throws SQLException {
        inStore(schemaChanges::committed);
    }

    @Override
    public boolean isInTheWay(Connection connection, boolean hasBegun) {
        SessionLocal session = openSession(connection);
        try {
            // Rows that are only locked are pending changes, too, and of tables that are not told.
            return session != null
                    && (session.hasPendingTransaction() || !session.getLocks().isEmpty());
        } catch (DbException e) {
            if (session.isClosed()) {
                return false; // its client has gone meanwhile, and H2 says that the database was closed
            }
            throw e;
        }
    }

    @Override
    public void cancel(Connection connection) {
        SessionLocal session = openSession(connection);
        if (session != null) {
            session.cancel();
        }
    }

    @Override
    public void forgetCancel(Connection connection) {
        SessionLocal session = openSession(connection);
        try {
            if (session != null) {
                session.checkCanceled();
            }
        } catch (DbException e) {
            // That was it.
        }
    }

    @Override
    public boolean takesPieces() {
        return true;
    }

    @Override
    public Rows rows(Connection connection) {
        SessionLocal session = sessionOf(connection);
        session.setLockTimeout(APPLIERS_LOCK_TIMEOUT_MILLIS);
        session.setLazyQueryExecution(true); // who reads all rows of a table may not have the memory for them
        return new H2Rows(this, session);
    }

    static boolean isLocked(int errorCode) {
        return LOCKED.contains(errorCode);
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return isLocked(failure.getErrorCode());
    }

    /** Another session marks it so that ends a deadlock, also when this one has just stopped waiting. */
    @Override
    public boolean isVictim(Connection connection) {
        SessionLocal session = openSession(connection);
        return session != null
                && session.hasPendingTransaction()
                && session.getTransaction().getStatus() != Transaction.STATUS_OPEN;
    }

    /** A commit that is forbidden may have been H2's own, after the statement. */
    @Override
    public boolean leavesInDoubt(Connection connection, SQLException failure) {
        return failure.getErrorCode() == ErrorCode.COMMIT_ROLLBACK_NOT_ALLOWED
                || failure.getErrorCode() == ErrorCode.GENERAL_ERROR_1;
    }

    static boolean isTheEnd(SQLException failure) {
        int code = failure.getErrorCode();
        return STOPPED.contains(code) || (FILES.contains(code) && isBy(MVStoreException.class, failure));
    }

    private static boolean isBy(Class<?> cause, @Nullable Throwable failure) {
        return failure != null && (cause.isInstance(failure) || isBy(cause, failure.getCause()));
    }

    @Override
    public boolean hasStopped(SQLException failure) {
        return isTheEnd(failure);
    }

    @Override
    public boolean hasMuchToWrite() {
        return store.hasMuchToWrite();
    }

    @Override
    public void write() throws SQLException {
        inStore(store::write);
    }

    @Override
    public void force() throws SQLException {
        inStore(store::force);
    }

    private static void inStore(Runnable work) throws SQLException {
        try {
            work.run();
        } catch (MVStoreException e) {
            throw DbException.toSQLException(DbException.get(ErrorCode.IO_EXCEPTION_1, e, e.getMessage()));
        }
    }

    @Override
    public void snapshot(Path directory) {
        H2Files.DIRECTORY.snapshot(directory, copy -> schemaChanges.copy(copy.resolve(H2Files.FILE)));
    }

    @Override
    public boolean isChangingSchema() {
        return schemaChanges.isHalfMade();
    }

    @Override
    public void close() {
        OPEN.remove(database);
        schemaChanges.end();
        if (isChangingSchema()) {
            database.shutdownImmediately(); // its file is as it was before, or a copy of that is aside
            return;
        }
        try (Statement statement = internal.createStatement()) {
            statement.execute("SHUTDOWN");
        } catch (SQLException e) {
            if (e.getErrorCode() != ErrorCode.DATABASE_IS_CLOSED) {
                throw new ReflectionException("H2 was not shut down in order: " + e.getMessage(), e);
            }
        }
    }
}
