package org.gorda.bindings.hsqldb;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
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
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.ClientTables;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.EngineFields;
import org.gorda.bindings.triggers.Owner;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.bindings.triggers.SchemaText;
import org.gorda.bindings.triggers.TriggeredDatabase;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.hsqldb.ColumnSchema;
import org.hsqldb.Database;
import org.hsqldb.HsqlException;
import org.hsqldb.NumberSequence;
import org.hsqldb.Session;
import org.hsqldb.Table;
import org.hsqldb.TableBase;
import org.hsqldb.TriggerDef;
import org.hsqldb.error.ErrorCode;
import org.hsqldb.index.Index;
import org.hsqldb.jdbc.JDBCConnection;
import org.hsqldb.jdbc.JDBCDriver;
import org.hsqldb.jdbc.JDBCUtil;
import org.hsqldb.lib.FileAccess;
import org.hsqldb.lib.Iterator;
import org.hsqldb.result.Result;
import org.jspecify.annotations.Nullable;

/** An HSQLDB database, open. Thread-safe. */
final class HsqldbDialect implements Dialect {

    /** How names of our triggers begin. */
    private static final String TRIGGER = "GORDA$";

    /** The schema in which HSQLDB notes where they are. */
    private static final String LARGE_OBJECTS = "SYSTEM_LOBS";

    /** When the log has become so long, a new script is written as soon as nobody is in a transaction. */
    private static final long LOG_BYTES_MAX = 50 << 20;

    private static final long OTHERS_END_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** How the database is kept, whoever made it. It is forced to disk when {@link #force} says so, or after 20 s. */
    private static final List<String> SETTINGS = List.of(
            "SET DATABASE TRANSACTION CONTROL MVCC",
            "SET DATABASE TRANSACTION ROLLBACK ON CONFLICT FALSE",
            "SET DATABASE DEFAULT TABLE TYPE MEMORY",
            "SET DATABASE REFERENTIAL INTEGRITY TRUE",
            "SET DATABASE EVENT LOG LEVEL 0",
            "SET FILES LOG TRUE",
            "SET FILES LOG SIZE 0",
            "SET FILES WRITE DELAY 20");

    private static final Set<Integer> LOCKED =
            Set.of(ErrorCode.X_40501, ErrorCode.X_40001, ErrorCode.X_40502, ErrorCode.X_40000);
    private static final Set<Integer> STOPPED = Set.of(
            ErrorCode.DATA_FILE_ERROR,
            ErrorCode.ERROR_IN_LOG_FILE,
            ErrorCode.DATABASE_IS_READONLY,
            ErrorCode.OUT_OF_MEMORY,
            ErrorCode.GENERAL_IO_ERROR);
    private static final Set<Integer> OF_THIS_REPLICA = Set.of(ErrorCode.GENERAL_ERROR, ErrorCode.FILE_IO_ERROR);

    /** Who is told of a session's changes: nobody of those that are our own. What is changed in others is refused. */
    private static final Map<Session, Optional<RowCapture>> CAPTURES = new ConcurrentHashMap<>();

    private static final Map<Database, HsqldbDialect> OPEN = new ConcurrentHashMap<>();

    private final HsqldbFiles files;
    private final Owner owner;
    private final Connection internal;
    private final Database database;
    private final Map<Generator, Long> ordered = new ConcurrentHashMap<>();
    private volatile LogWriter log;
    private volatile Tables known = new Tables(-1, Map.of(), Map.of());

    /** The change of the schema that was made, but not all of its tables are captured yet. */
    private @Nullable String made;

    /** Tables by schema and name, and by our triggers, as they were with a change of the schema. */
    private record Tables(long changed, Map<String, Captured> byName, Map<String, Captured> byTrigger) {}

    HsqldbDialect(DatabaseConfiguration configuration) throws SQLException {
        this.owner = Owner.of(configuration, "HSQLDB", "SA");
        this.files = new HsqldbFiles(configuration.location());
        Connection opened = null;
        try {
            opened = connect(owner.properties(), Optional.empty());
            this.internal = opened;
            this.database = session(internal).database;
            HsqldbCheck.FITNESS.require(internal);
            internal.commit();
            try (Statement statement = internal.createStatement()) {
                for (String setting : SETTINGS) {
                    statement.execute(setting);
                }
            }
            internal.commit();
            log = log();
        } catch (SQLException | RuntimeException e) {
            if (opened != null) {
                session(opened).database.close(Database.CLOSEMODE_IMMEDIATELY);
            }
            files.close();
            throw e;
        }
        OPEN.put(database, this);
        for (Generated one : generators()) {
            ordered.put(one.generator(), one.last());
        }
    }

    private static Session session(Connection connection) {
        return Objects.requireNonNull(openSession(connection));
    }

    /** Null if the connection is closed, which its client may do while others ask. */
    private static @Nullable Session openSession(Connection connection) {
        return (Session) ((JDBCConnection) connection).getSession();
    }

    /** The session whose trigger this thread executes. */
    static Session firing() {
        return session(Objects.requireNonNull(JDBCDriver.driverInstance.threadConnection.get()));
    }

    /** Who is to be told of what a session changes; null if nobody. */
    static @Nullable RowCapture capture(Session session) throws SQLException {
        Optional<RowCapture> capture = CAPTURES.get(session);
        if (capture == null) {
            throw Refused.unsupported(
                    "the database is replicated, and can only be changed by connections of its replica");
        }
        return capture.orElse(null);
    }

    /** The table that one of our triggers is of. */
    static Captured captured(Session session, String trigger) throws SQLException {
        return Objects.requireNonNull(OPEN.get(session.database)).captured(trigger);
    }

    @Override
    public Connection connect(Properties properties, RowCapture capture) throws SQLException {
        return connect(owner.unless(properties), Optional.of(capture));
    }

    @Override
    public Connection connect() throws SQLException {
        return connect(owner.properties(), Optional.empty());
    }

    private Connection connect(Properties who, Optional<RowCapture> capture) throws SQLException {
        CAPTURES.keySet().removeIf(Session::isClosed);
        Properties all = new Properties();
        all.putAll(who);
        all.setProperty("hsqldb.lock_file", "false"); // we have one of our own
        Connection connection = JDBCDriver.getConnection(files.url(), all);
        connection.setAutoCommit(false);
        CAPTURES.put(session(connection), capture);
        return connection;
    }

    @Override
    public void check(String sql) {}

    @Override
    public Kind kind(Connection connection, String sql) throws SQLException {
        Session session = session(connection);
        try {
            synchronized (session) {
                return HsqldbStatements.kind(
                        session.compileStatement(sql.strip().replaceAll(";+$", "")), sql, session);
            }
        } catch (HsqlException e) {
            throw JDBCUtil.sqlException(e);
        } catch (RuntimeException e) { // HSQLDB's own mistake
            throw new SQLException("HSQLDB cannot compile " + SchemaText.shown(sql) + ": " + e, "S1000", e);
        }
    }

    /** Nothing commits within a statement: there are no routines and triggers but ours. */
    @Override
    public void inStatement(Connection connection, @Nullable String sql) {}

    @Override
    public void ours(Connection connection, boolean ours) {
        Session session = session(connection);
        CAPTURES.getOrDefault(session, Optional.empty()).ifPresent(capture -> capture.pause(ours));
        if (ours) { // also where its client only reads; HSQLDB sets it anew for the next transaction
            EngineFields.set(session.sessionContext, "isReadOnly", false);
        }
    }

    /** HSQLDB changes its schema when nobody is in a transaction. */
    @Override
    public boolean readersAreInTheWay() {
        return true;
    }

    // ----------------------------------------------------------------------------------------------------- catalogue

    private List<Table> all() {
        List<Table> found = new ArrayList<>();
        for (Iterator<Table> tables = database.schemaManager.databaseTableIterator(); tables.hasNext(); ) {
            Table table = tables.next();
            String schema = table.getSchemaName().name;
            if (table.getTableType() == TableBase.MEMORY_TABLE
                    && !schema.equals("INFORMATION_SCHEMA")
                    && !schema.equals(LARGE_OBJECTS)) {
                found.add(table);
            }
        }
        return found;
    }

    private static boolean isClients(Table table) {
        return !table.getSchemaName().name.equals(TriggeredDatabase.SCHEMA);
    }

    @Override
    public ClientTables tables() {
        return ClientTables.of(
                all().stream().filter(HsqldbDialect::isClients),
                table -> table.getName().getSchemaQualifiedStatementName(),
                HsqldbDialect::captured);
    }

    private Tables known() {
        Tables now = known;
        long changed = database.schemaManager.getSchemaChangeTimestamp();
        if (now.changed() != changed) {
            now = new Tables(changed, new ConcurrentHashMap<>(), new ConcurrentHashMap<>());
            known = now;
        }
        return now;
    }

    @Override
    public Captured table(String schema, String name) throws SQLException {
        Map<String, Captured> byName = known().byName();
        String key = TableShape.quoted(schema) + TableShape.quoted(name);
        Captured captured = byName.get(key);
        if (captured == null) {
            captured = captured(find(schema, name));
            byName.put(key, captured);
        }
        return captured;
    }

    /** HSQLDB tells triggers their table's name without its schema. */
    private Captured captured(String trigger) throws SQLException {
        Map<String, Captured> byTrigger = known().byTrigger();
        Captured captured = byTrigger.get(trigger);
        if (captured == null) {
            Table table = all().stream()
                    .filter(each -> triggers(each).anyMatch(trigger::equals))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("no table has the trigger " + trigger));
            captured = table(table.getSchemaName().name, table.getName().name);
            byTrigger.put(trigger, captured);
        }
        return captured;
    }

    Table find(String schema, String name) throws SQLException {
        Table table =
                database.schemaManager.schemaExists(schema) ? database.schemaManager.findUserTable(name, schema) : null;
        if (table == null || !isClients(table)) {
            throw Refused.unsupported("a table " + TableShape.quoted(schema) + "." + TableShape.quoted(name)
                    + " is not a client's, and not changed");
        }
        return table;
    }

    private static Stream<String> triggers(Table table) {
        return Stream.of(table.getTriggers()).map(TriggerDef::getName).map(name -> name.name);
    }

    private static Captured captured(Table table) throws SQLException {
        List<TableShape.Column> columns = new ArrayList<>();
        for (int i = 0; i < table.getColumnCount(); i++) {
            ColumnSchema column = table.getColumn(i);
            columns.add(new TableShape.Column(column.getNameString(), HsqldbValues.type(column)));
        }
        List<Integer> key = new ArrayList<>();
        if (table.hasPrimaryKey()) {
            for (int column : table.getPrimaryKey()) {
                key.add(column + 1);
            }
        }
        Set<Integer> unique = new HashSet<>(key);
        for (Index index : table.getIndexList()) {
            if (index.isUnique()) {
                for (int column : index.getColumns()) {
                    unique.add(column + 1);
                }
            }
        }
        return new Captured(
                new TableShape(table.getSchemaName().name, table.getName().name, columns, key), unique, false);
    }

    // ---------------------------------------------------------------------------------------------------- generators

    @Override
    public Map<Generator, Long> lastOrdered() {
        return ordered;
    }

    @Override
    public List<Generated> generators() {
        List<Generated> found = new ArrayList<>();
        sequences().forEach((generator, sequence) -> found.add(new Generated(generator, last(sequence.values()))));
        return found;
    }

    /** @param of the table whose identity column has it */
    private record Sequenced(
            NumberSequence values, @Nullable Table of) {}

    private Map<Generator, Sequenced> sequences() {
        Map<Generator, Sequenced> found = new HashMap<>();
        for (Iterator<?> all = database.schemaManager.databaseObjectIterator(org.hsqldb.SchemaObject.SEQUENCE);
                all.hasNext(); ) {
            NumberSequence sequence = (NumberSequence) all.next();
            if (sequence.getSchemaName().name.equals(LARGE_OBJECTS)) {
                continue; // HSQLDB's own
            }
            found.put(
                    new Generator(false, sequence.getSchemaName().name, sequence.getName().name),
                    new Sequenced(sequence, null));
        }
        for (Table table : all()) {
            int column = table.getIdentityColumnIndex();
            if (column >= 0) {
                found.put(
                        new Generator(true, table.getSchemaName().name, table.getName().name),
                        new Sequenced(table.getColumn(column).getIdentitySequence(), table));
            }
        }
        return found;
    }

    private static long end(NumberSequence sequence) {
        return sequence.getIncrement() > 0 ? sequence.getMaxValue() : sequence.getMinValue();
    }

    private static long last(NumberSequence sequence) {
        synchronized (sequence) {
            return isUsedUp(sequence) ? end(sequence) : sequence.peek() - sequence.getIncrement();
        }
    }

    private static boolean isUsedUp(NumberSequence sequence) {
        return Boolean.TRUE.equals(EngineFields.get(sequence, "limitReached"));
    }

    /** A generator has given a value elsewhere. */
    void generated(Session applier, Generator generator, long last) {
        Sequenced found = sequences().get(generator);
        if (found == null) {
            return; // dropped in the meantime, where nobody misses it
        }
        NumberSequence sequence = found.values();
        long next = last + sequence.getIncrement();
        synchronized (sequence) {
            if (last == end(sequence)) {
                sequence.reset(last);
                sequence.getValue(); // so that it is used up, or begins anew
            } else {
                sequence.reset(next);
            }
        }
        if (found.of() == null) {
            database.logger.writeSequenceStatement(applier, sequence);
        } else {
            database.logger.writeOtherStatement(applier, NumberSequence.getRestartSQL(found.of()));
        }
        ordered.put(generator, last);
    }

    // -------------------------------------------------------------------------------------------------------- schema

    @Override
    public void changeSchema(Connection connection, String schema, String sql) throws SQLException {
        Session session = session(connection);
        try (Statement statement = connection.createStatement()) {
            if (!sql.isEmpty() && !sql.equals(made)) {
                connection.setSchema(schema);
                executeAlone(session, statement, sql.strip().replaceAll(";+$", ""));
                made = sql;
            }
            captureAll(session, statement);
            made = null;
        } catch (SQLException e) {
            if (hasStopped(e) || OF_THIS_REPLICA.contains(-e.getErrorCode()) || (made != null && !isLocked(e))) {
                throw new ReflectionException("HSQLDB could not change the schema: " + e.getMessage(), e);
            }
            throw e;
        } finally {
            ordered.clear(); // a generator may have begun anew, and reach again what was ordered
        }
    }

    /**
     * Executes a change of the schema. HSQLDB would have it wait until nobody is in a transaction any more, and all others behind it, without end.
     *
     * @throws SQLException that {@linkplain #isLocked is locked} if somebody is in one
     */
    private void executeAlone(Session session, Statement statement, String sql) throws SQLException {
        try {
            if (!isAlone(session, session.compileStatement(sql))) {
                LockSupport.parkNanos(OTHERS_END_NANOS);
                throw new SQLTransactionRollbackException("others are in transactions", "40501", -ErrorCode.X_40501);
            }
            statement.execute(sql);
        } catch (HsqlException e) {
            throw JDBCUtil.sqlException(e);
        } finally {
            if (!session.isInMidTransaction()) {
                session.rollback(false); // gives the catalogue back if the statement was not executed
            }
        }
    }

    /** Whether nobody is in a transaction; then nobody begins one until the session has executed the statement, or is rolled back. */
    private boolean isAlone(Session session, org.hsqldb.Statement compiled) {
        database.txManager.beginAction(session, compiled);
        return session.waitedSessions.isEmpty() && !isSomebodyInTransaction(session);
    }

    private boolean isSomebodyInTransaction(Session but) {
        return Stream.of(database.sessionManager.getAllSessions())
                .anyMatch(each -> each != but && each.isInMidTransaction());
    }

    private void captureAll(Session session, Statement statement) throws SQLException {
        for (Table table : all()) {
            if (triggers(table).noneMatch(name -> name.startsWith(TRIGGER))) {
                for (String event : List.of("INSERT", "UPDATE", "DELETE")) {
                    executeAlone(
                            session,
                            statement,
                            "CREATE TRIGGER " + TableShape.quoted(table.getSchemaName().name) + "."
                                    + TableShape.quoted(TRIGGER + UUID.randomUUID()) + " AFTER " + event + " ON "
                                    + TableShape.quoted(table.getSchemaName().name) + "."
                                    + TableShape.quoted(table.getName().name) + " FOR EACH ROW CALL \""
                                    + CaptureTrigger.class.getName() + "\"");
                }
            }
        }
    }

    @Override
    public boolean isInTheWay(Connection connection, boolean hasBegun) {
        Session session = openSession(connection);
        return session != null && session.isInMidTransaction();
    }

    @Override
    public void cancel(Connection connection) {
        Session session = openSession(connection);
        if (session != null) {
            session.cancel(Result.newCancelRequest(session.getRandomId(), -1, ""));
        }
    }

    @Override
    public void forgetCancel(Connection connection) {
        Session session = openSession(connection);
        if (session != null && !session.isClosed()) {
            session.endAction(Result.updateZeroResult);
        }
    }

    @Override
    public Rows rows(Connection connection) {
        Session session = session(connection);
        return new HsqldbRows(
                this,
                session,
                session.compileStatement("DELETE FROM " + TriggeredDatabase.SCHEMA + ".POSITION WHERE IDX < 0"));
    }

    static boolean isLocked(int errorCode) {
        return LOCKED.contains(-errorCode);
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return isLocked(failure.getErrorCode());
    }

    @Override
    public boolean takesLargeObjectsLate() {
        return true;
    }

    /** Whoever comes second is told so as everywhere, also where HSQLDB has a SQLSTATE of its own for it. */
    @Override
    public SQLException told(Connection connection, SQLException failure) {
        return failure.getErrorCode() == -ErrorCode.X_40501
                ? new SQLTransactionRollbackException(failure.getMessage(), "40001", failure.getErrorCode(), failure)
                : failure;
    }

    @Override
    public boolean isVictim(Connection connection) {
        return false;
    }

    @Override
    public boolean leavesInDoubt(Connection connection, SQLException failure) {
        return false;
    }

    @Override
    public boolean hasStopped(SQLException failure) {
        int code = -failure.getErrorCode();
        return STOPPED.contains(code) || (code == ErrorCode.FILE_IO_ERROR && log.hasFailed());
    }

    // --------------------------------------------------------------------------------------------------------- files

    /** To the log. */
    @Override
    public boolean commitsWrite() {
        return true;
    }

    @Override
    public boolean hasMuchToWrite() {
        return files.logBytes() > LOG_BYTES_MAX;
    }

    /** What is committed is in the log. When that has become long, and nobody is in a transaction, a new script takes its place. */
    @Override
    public synchronized void write() throws SQLException {
        Session session = session(internal);
        if (!hasMuchToWrite() || isSomebodyInTransaction(session)) {
            return;
        }
        try (Statement statement = internal.createStatement()) {
            executeAlone(session, statement, "CHECKPOINT");
        } catch (SQLException e) {
            if (!isLocked(e)) {
                throw notWritten(e);
            }
        } finally {
            log = log();
        }
    }

    @Override
    public synchronized void force() throws SQLException {
        database.logger.synchLog();
        try {
            log.check();
        } catch (IOException e) {
            throw notWritten(e);
        }
    }

    /** By which it {@linkplain #hasStopped has stopped}. */
    private static SQLException notWritten(Exception failure) {
        return new SQLException(failure.getMessage(), "S1000", -ErrorCode.GENERAL_IO_ERROR, failure);
    }

    /** What HSQLDB writes its log to, which is another one behind each new script. Nobody changes anything when it is. */
    private LogWriter log() {
        Object log = Objects.requireNonNull(EngineFields.get(database.logger, "log"));
        Object writer = Objects.requireNonNull(EngineFields.get(log, "dbLogWriter"));
        Object out = Objects.requireNonNull(EngineFields.get(writer, "fileStreamOut"));
        Object disk = Objects.requireNonNull(EngineFields.get(writer, "outDescriptor"));
        if (out instanceof LogWriter known) {
            return known;
        }
        LogWriter ours = new LogWriter((OutputStream) out, (FileAccess.FileSync) disk);
        EngineFields.set(writer, "fileStreamOut", ours);
        EngineFields.set(writer, "outDescriptor", ours);
        return ours;
    }

    @Override
    public synchronized void snapshot(Path directory) {
        files.snapshot(directory);
    }

    @Override
    public void close() {
        OPEN.remove(database);
        try {
            database.close(Database.CLOSEMODE_NORMAL);
        } catch (HsqlException e) {
            throw new ReflectionException("HSQLDB was not shut down in order: " + e.getMessage(), e);
        } finally {
            files.close();
        }
    }
}
