package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A database of a PostgreSQL server, open for one replica. Thread-safe. */
final class PostgresDatabase implements ReflectedDatabase {

    private static final Logger LOG = LoggerFactory.getLogger(PostgresDatabase.class);

    /** Room in front of each write set for what the meta level sends before it. */
    private static final int HEADROOM_BYTES = 128;

    /** Descriptions of tables that are remembered, as they are or once were. */
    private static final int DESCRIPTIONS_MAX = 10_000;

    /** Whoever holds it on the server has the database open. */
    private static final long OPEN_LOCK = 0x676f726461L;

    private static final int OPEN_LOCK_TIMEOUT_MILLIS = 2000;
    static final String LOCK_NOT_AVAILABLE = "55P03";

    /** Of a session, by a server that stops or by {@code pg_terminate_backend}: it does not say which. */
    private static final String ENDED_BY_ADMINISTRATOR = "57P01";

    /** Stores a position, of which a {@linkplain #rowOf row} is to be inserted. */
    static final String STORES = "INSERT INTO gorda.position VALUES ($1, $2, $3, $4, $5, $6)";

    /** Whether the transaction has made or changed large objects: what the session has counted first, or each commit would look through all that there are. */
    private static final String HAS_LARGE_OBJECTS =
            "CASE WHEN pg_catalog.pg_stat_get_xact_tuples_inserted('pg_catalog.pg_largeobject_metadata'::pg_catalog.regclass) OPERATOR(pg_catalog.>) 0"
                    + " OR pg_catalog.pg_stat_get_xact_tuples_updated('pg_catalog.pg_largeobject_metadata'::pg_catalog.regclass) OPERATOR(pg_catalog.>) 0"
                    + " OR pg_catalog.current_setting('track_counts') OPERATOR(pg_catalog.=) 'off'"
                    + " THEN EXISTS (SELECT FROM pg_catalog.pg_largeobject_metadata WHERE pg_catalog.age(xmin) OPERATOR(pg_catalog.<=) 0) ELSE false END";

    private static final String UNSEEN = Installation.script("unseen.sql");

    private final DatabaseConfiguration configuration;
    private final TransactionListener listener;
    private final Server server;
    private final String token = UUID.randomUUID().toString();
    private final Sessions sessions;
    private final String location;
    private final SerialTurn serialTurn;
    private final SequenceLeases leases;
    private final Pulse pulse;
    private final Map<String, CapturedTable> described = new ConcurrentHashMap<>();
    private final Map<String, String> generated = new ConcurrentHashMap<>();

    /** Positions that were stored, or were to be. */
    private final AtomicLong turns = new AtomicLong();

    /** All positions before it were deleted; they are looked for no more, because they stay for as long as somebody may see them. */
    private volatile long oldest;

    private final AtomicLong schemaChanges = new AtomicLong();

    /** The server's transactions that have changed the schema and may not have ended. */
    private final Set<String> changing = ConcurrentHashMap.newKeySet();

    /** Whether changes are taken from what statements return, where that is proved to be all. */
    private final boolean takesReturned;

    private volatile @Nullable ProvableTables provable;

    private volatile boolean readsMayChange;

    /** All generators. */
    static final Set<String> ALL = Set.of("0");

    /** Generators, by their identity on the server, of which values were taken that nobody was told of. */
    private final Set<String> untold = ConcurrentHashMap.newKeySet();

    private final AtomicBoolean stopped = new AtomicBoolean();

    /** Used by one thread at a time. */
    private final Connection internal;

    private volatile @Nullable StoredPosition committed;
    private @Nullable PostgresApplier applier;

    /**
     * Opens a database, which exists.
     *
     * @throws SQLException if it cannot be used
     */
    PostgresDatabase(DatabaseConfiguration configuration, TransactionListener listener, Server server)
            throws SQLException {
        this.configuration = configuration;
        this.listener = listener;
        this.server = server;
        this.location = server.toString();
        this.serialTurn = new SerialTurn(server);
        this.takesReturned = !Server.COMPLETE.equals(configuration.attributes().get(Server.CAPTURE));
        this.leases = new SequenceLeases(server, listener);
        this.pulse = new Pulse(server);
        // it reads the catalogue, by joins that are in a good order as they are written
        this.internal = server.connect(" -c join_collapse_limit=1");
        this.sessions = new Sessions(this, listener);
        try {
            internal.setAutoCommit(false);
            SqlSession session = SqlSession.of(internal);
            lock(session, "pg_advisory_lock", server + " is open already, in another process or in this one");
            try (LockWatch watch = new LockWatch(this, session)) {
                watch.begin(new Refusal(Refusal.Cause.STOPPED, "the database is being opened: connect again"));
                install(session);
            }
            WriteSetWriter.clearSpools(configuration.spoolDirectory());
        } catch (IOException e) {
            leave();
            throw new ReflectionException(
                    "the directory " + configuration.spoolDirectory() + " cannot be used: " + e, e);
        } catch (SQLException | RuntimeException e) {
            leave();
            throw e;
        }
    }

    /** Who is in the way, as a dump that goes on or what a process before has left, makes way as for what is applied. */
    private void install(SqlSession session) throws SQLException {
        Installation.install(internal, token, takesReturned);
        describe(session);
        readsMayChange = "t"
                .equals(session.query("SELECT gorda.reads_may_change()").get(0).get(0));
        session.query("SELECT gorda.end_leases()");
        leases.begin("t"
                .equals(session.query("SELECT leases FROM gorda.leasing").get(0).get(0)));
        committed = PostgresSnapshot.position(session);
        turns.set(session.number("SELECT coalesce(max(turn), 0) FROM gorda.position"));
        internal.commit();
    }

    /** It could not be opened. */
    private void leave() {
        sessions.close();
        close(internal);
    }

    /**
     * Takes the lock of who has the database open. Waits for a moment: the server may not have noticed yet that the process that had it is gone.
     *
     * @param function for the session or the transaction
     * @param taken what is told if another one has it
     */
    static void lock(SqlSession session, String function, String taken) throws SQLException {
        try {
            session.query("SET LOCAL lock_timeout TO " + OPEN_LOCK_TIMEOUT_MILLIS);
            session.query("SELECT " + function + "(" + OPEN_LOCK + ")");
            session.query("SET LOCAL lock_timeout TO 0");
        } catch (SQLException e) {
            if (LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                throw new ReflectionException(taken, e);
            }
            throw e;
        }
    }

    // ------------------------------------------------------------------------------------- for the rest of the binding

    Server server() {
        return server;
    }

    TransactionListener listener() {
        return listener;
    }

    SerialTurn serialTurn() {
        return serialTurn;
    }

    SequenceLeases leases() {
        return leases;
    }

    Duration readGrace() {
        return configuration.readGrace();
    }

    /**
     * Has the server tell what a transaction has changed, and check all that is deferred; it refuses to commit what was not told. Constraints are
     * checked by a statement of its own, or clients would see in errors who has it done.
     *
     * @param others the generators that were {@linkplain #untold not told of}, of which it is to tell, too
     */
    List<OwnStatement> tell(Set<String> others) {
        String[] asked = others.isEmpty() ? new String[0] : new String[] {"{" + String.join(",", others) + "}"};
        return List.of(
                listen(),
                OwnStatement.kept("SET CONSTRAINTS ALL IMMEDIATE"),
                OwnStatement.kept(
                        "SELECT gorda.told_at_last(EXISTS (SELECT FROM pg_catalog.pg_sequence WHERE NOT EXISTS"
                                + " (SELECT FROM gorda.generator WHERE relid OPERATOR(pg_catalog.=) seqrelid)), "
                                + (others.isEmpty() ? "'{}'" : "$1::pg_catalog.oid[]")
                                + ", " + HAS_LARGE_OBJECTS + ")",
                        asked));
    }

    /** Has the server tell within a transaction what it has changed so far. */
    OwnStatement tellSoFar() {
        return OwnStatement.kept("SELECT gorda.tell_so_far($1)", token);
    }

    /** From now on the server accepts what it refuses within other statements, until {@code gorda.told()}. */
    OwnStatement listen() {
        return OwnStatement.kept("SELECT gorda.know($1)", token);
    }

    /** The last of a transaction that has changed the schema, if values are leased: what it has made is leased from its commit on. */
    OwnStatement settling() {
        return OwnStatement.kept("SELECT gorda.settle_schema($1)", token);
    }

    /**
     * Before a statement that changes the schema, if values are leased: generators have their own bounds while it is executed, if it may look at them.
     *
     * @return null if it does not
     */
    @Nullable
    OwnStatement showing(SqlStatement statement) {
        return GeneratorChange.of(statement).showing(statement, token);
    }

    /** After each such statement. */
    OwnStatement hiding(SqlStatement statement) {
        return OwnStatement.kept(
                "SELECT gorda.hide_generators($1, $2)",
                token,
                GeneratorChange.of(statement).name());
    }

    /** Tells of all rows of a table, by its number, that are there since before it was captured. */
    OwnStatement tellRows(String table) {
        return OwnStatement.kept("SELECT gorda.tell_rows($1, $2::pg_catalog.oid)", token, table);
    }

    /** Locks the tables against writers whose rows a statement may concern, or read, without a lock of the server's own. */
    OwnStatement keepWritersAway(SqlStatement statement) {
        return OwnStatement.kept(
                "SELECT gorda.keep_writers_away($1, $2::pg_catalog.bool, $3, pg_catalog.to_regclass($4))",
                token,
                String.valueOf(statement.changesNamesOfTables()),
                statement.fills(),
                statement.fills().isEmpty() ? "pg_catalog.pg_class" : statement.fills());
    }

    WriteSetWriter newWriter() {
        return new WriteSetWriter(HEADROOM_BYTES, configuration.writeSetBytesMax(), configuration.spoolDirectory());
    }

    /** The table whose description has this digest. */
    CapturedTable table(String digest) {
        CapturedTable known = described.get(digest);
        if (known != null) {
            return known;
        }
        internally("its tables cannot be read", session -> {
            describe(session);
            return true;
        });
        CapturedTable found = described.get(digest);
        if (found == null) {
            throw new ReflectionException("a row was changed in " + server + " of a table that nobody has described");
        }
        return found;
    }

    private void describe(SqlSession session) throws SQLException {
        described(session.query(
                "SELECT md5(description), description FROM (SELECT description FROM gorda.described OFFSET 0) d"));
    }

    private void described(List<List<@Nullable String>> rows) {
        if (described.size() > DESCRIPTIONS_MAX) {
            described.clear();
        }
        for (List<@Nullable String> row : rows) {
            described.computeIfAbsent(
                    Objects.requireNonNull(row.get(0)),
                    digest -> new CapturedTable(Objects.requireNonNull(row.get(1))));
        }
    }

    /** The last values of generators, by their identity on the server, that others were told of. */
    Map<String, String> generated() {
        return generated;
    }

    /** Has the rows of all tables captured as they are after a change of the schema; within its transaction. */
    void captureNewTables(SqlSession session) throws SQLException {
        described(session.query("SELECT digest, description FROM gorda.adopt()"));
        generated.clear(); // some may have been restarted
        List<@Nullable String> told = session.query("SELECT pg_current_xact_id(), gorda.reads_may_change()")
                .get(0);
        changing.add(Objects.requireNonNull(told.get(0)));
        readsMayChange |= "t".equals(told.get(1));
        schemaChanges.incrementAndGet();
    }

    /** Whether statements that only read may change rows, by what views, policies, operators or casts call; once it is so, until the database is opened again. */
    boolean readsMayChange() {
        return readsMayChange;
    }

    boolean takesReturned() {
        return takesReturned;
    }

    /** The tables of which statements change only what they return; null if that was not read since the last change of the schema. */
    @Nullable
    ProvableTables provable() {
        ProvableTables known = provable;
        return known != null && known.schemaChanges() == schemaChanges.get() ? known : null;
    }

    /** As {@link #provable}, read if need be; null while the schema is being changed. */
    @Nullable
    ProvableTables readProvable() {
        ProvableTables known = provable();
        if (known != null || !takesReturned) {
            return known;
        }
        long before = schemaChanges.get();
        changing.removeIf(change -> !isOpen(change));
        if (!changing.isEmpty()) {
            return null;
        }
        provable = internally("its tables cannot be read", session -> readProvable(session, before));
        return provable();
    }

    private boolean isOpen(String transaction) {
        return internally(
                "its schema cannot be read",
                session -> "in progress"
                        .equals(session.query("SELECT pg_xact_status('" + transaction + "')")
                                .get(0)
                                .get(0)));
    }

    private ProvableTables readProvable(SqlSession session, long before) throws SQLException {
        List<List<@Nullable String>> rows =
                session.query("SELECT relid, nspname, relname, digest, by_settings, asked, is_only"
                        + " FROM gorda.provable WHERE digest IS NOT NULL AND (SELECT NOT gorda.has_operators())");
        if (rows.stream().anyMatch(row -> !described.containsKey(row.get(3)))) {
            describe(session);
        }
        Map<String, ProvableTable> tables = new HashMap<>();
        for (List<@Nullable String> row : rows) {
            String schema = Objects.requireNonNull(row.get(1));
            String name = Objects.requireNonNull(row.get(2));
            String digest = Objects.requireNonNull(row.get(3));
            Set<String> asked = new HashSet<>();
            RowText names = new RowText(Objects.requireNonNull(row.get(5)), 0);
            while (names.hasMore()) {
                asked.add(Objects.requireNonNull(names.row().get(0)));
            }
            CapturedTable captured = described.get(digest);
            if (captured != null) {
                ProvableTable table =
                        new ProvableTable(Objects.requireNonNull(row.get(0)), "t".equals(row.get(4)), asked, captured);
                tables.put(ProvableTables.name(schema, name), table);
                if ("t".equals(row.get(6))) {
                    tables.put(name, table);
                }
            }
        }
        return new ProvableTables(before, tables);
    }

    /** From these generators values may have been taken by transactions that were rolled back, {@linkplain #ALL or from all}. */
    void untold(Set<String> generators) {
        untold.addAll(generators);
    }

    /** Of which generators the next commit is to tell such values; that is left to the caller then. */
    Set<String> takeUntold() {
        if (untold.isEmpty()) {
            return Set.of();
        }
        Set<String> taken = Set.copyOf(untold);
        untold.removeAll(taken); // who adds one of them meanwhile has done so before the caller looks
        return taken;
    }

    /** Counts changes of the schema, committed or not. */
    long schemaChanges() {
        return schemaChanges.get();
    }

    /** A table as the session sees it; null if there is none. */
    static @Nullable TableShape table(SqlSession session, String schema, String name) throws SQLException {
        String description = session.query(
                        "SELECT gorda.description_of(" + literal(schema) + ", " + literal(name) + ")")
                .get(0)
                .get(0);
        return description == null ? null : new CapturedTable(description).shape();
    }

    /** All tables as the session sees them, in the order of their names. */
    static List<TableShape> tables(SqlSession session) throws SQLException {
        List<TableShape> found = new ArrayList<>();
        for (List<@Nullable String> row : session.query("SELECT description FROM gorda.described")) {
            found.add(new CapturedTable(Objects.requireNonNull(row.get(0))).shape());
        }
        found.sort(Comparator.comparing(TableShape::schema).thenComparing(TableShape::name));
        return found;
    }

    /** Its name, and the names of its columns in parentheses. */
    static String withColumns(TableShape table) {
        return table.columns().stream()
                .map(column -> TableShape.quoted(column.name()))
                .collect(Collectors.joining(", ", table + " (", ")"));
    }

    /** Whatever standard_conforming_strings is. */
    static String literal(String text) {
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
    }

    /** Stores a position; in the transaction that brings the database there, just before its commit. */
    OwnStatement storing(StoredPosition position) {
        return OwnStatement.kept(STORES, rowOf(position).toArray(String[]::new));
    }

    /** The row to be inserted to store a position. */
    List<String> rowOf(StoredPosition position) {
        return values(turns.incrementAndGet(), position, token);
    }

    static String positionInsert(long turn, StoredPosition position, String token) {
        return values(turn, position, token).stream()
                .map(PostgresDatabase::literal)
                .collect(Collectors.joining(", ", "INSERT INTO gorda.position VALUES (", ")"));
    }

    private static List<String> values(long turn, StoredPosition position, String token) {
        return List.of(
                Long.toString(turn),
                Long.toString(position.index()),
                Long.toString(position.term()),
                Long.toString(position.groupHigh()),
                Long.toString(position.groupLow()),
                token);
    }

    /** As {@link StoredPosition#checkNew}. */
    void checkNew(StoredPosition position) {
        position.checkNew(committed, location);
    }

    /** The database holds everything up to a position now. */
    void committed(StoredPosition position) {
        committed = position;
    }

    /** The first who meets it tells that the database cannot be reached any more. */
    void notice(SQLException failure) {
        String state = Objects.requireNonNullElse(failure.getSQLState(), "");
        if ((state.startsWith("08") || state.startsWith("57P") || state.startsWith("58"))
                && stopped.compareAndSet(false, true)) {
            listener.databaseFailed(new ReflectionException(
                    state.equals(ENDED_BY_ADMINISTRATOR)
                            ? "the server of the database " + server
                                    + " has stopped, or somebody has had it end the replica's sessions ("
                                    + failure.getMessage() + "): start this replica again once the server runs"
                            : "the database " + server + " has stopped: " + failure.getMessage(),
                    failure));
        }
    }

    /** Frees the locks that a process of the server holds, if it is a client's session of ours. */
    boolean giveWay(int backend, Refusal why) {
        return sessions.giveWay(backend, why);
    }

    synchronized void closed(PostgresApplier closing) {
        applier = closing.equals(applier) ? null : applier;
    }

    // --------------------------------------------------------------------------------------------------- public side

    @Override
    public Connection connect(Properties properties) throws SQLException {
        return sessions.connect(properties);
    }

    @Override
    public List<TableShape> tables() {
        return internally("its tables cannot be read", session -> tables(session));
    }

    private interface Work<T> {
        T with(SqlSession session) throws SQLException;
    }

    private <T> T internally(String failed, Work<T> work) {
        synchronized (internal) {
            try {
                T result = work.with(SqlSession.of(internal));
                internal.commit();
                return result;
            } catch (SQLException e) {
                notice(e);
                rollback();
                throw new ReflectionException("of the database " + server + " " + failed + ": " + e.getMessage(), e);
            }
        }
    }

    /**
     * Makes sure that the server has not crashed since the database was opened: it ends all sessions then, ours too, and begins again by itself, without what it
     * had told to be committed and had not written yet. To be called once a client's session has begun, which a crash after that ends.
     */
    void requireSameRun() {
        ask("SELECT 1");
    }

    /**
     * Makes sure that no session of that user begins with settings by which triggers see nothing of what it changes.
     *
     * @throws RefusedException if it would
     */
    void requireSeen(String user) {
        List<List<@Nullable String>> unseen =
                ask("SELECT setting FROM (" + UNSEEN + ") u WHERE setrole = 0 OR rolname = " + literal(user));
        if (!unseen.isEmpty()) {
            throw new RefusedException(Refusal.unsupported("no trigger would see what a session of " + user
                    + " changes, which begins with " + unseen.get(0).get(0)
                    + ": reset that for the role, or for the database"));
        }
    }

    private List<List<@Nullable String>> ask(String sql) {
        try {
            return internally(
                    "it is not known whether the server runs since it was opened", session -> session.query(sql));
        } catch (ReflectionException e) {
            throw new RefusedException(new Refusal(
                    Refusal.Cause.STOPPED, "this replica's server has stopped or begun again: connect to another one"));
        }
    }

    private void rollback() {
        try {
            internal.rollback();
        } catch (SQLException e) {
            LOG.debug("the connection was gone already", e);
        }
    }

    @Override
    public synchronized Applier applier() {
        if (applier != null) {
            throw new IllegalStateException("there is an applier already");
        }
        try {
            PostgresApplier opened = new PostgresApplier(this);
            applier = opened;
            return opened;
        } catch (SQLException e) {
            throw new ReflectionException("no session for the applier with " + server + ": " + e.getMessage(), e);
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
        oldest = internally("nothing can be forced to disk", session -> {
            long newest = session.number("SELECT coalesce(max(turn), 0) FROM gorda.position");
            session.query(
                    "WITH deleted AS (DELETE FROM gorda.position WHERE turn >= " + oldest + " AND turn < " + newest
                            + " RETURNING turn) UPDATE gorda.flush SET flushes = flushes + 1 WHERE NOT EXISTS (SELECT FROM deleted)");
            return newest;
        });
        return Optional.ofNullable(before);
    }

    /** Leased values that other replicas have taken are told nowhere but in the rows. */
    @Override
    public void forget() {
        internally("its position cannot be forgotten", session -> session.query("SELECT gorda.forget()"));
        committed = null;
    }

    @Override
    public void ping() {
        try {
            pulse.feel();
        } catch (SQLException e) {
            if (Pulse.LETS_NOBODY_IN.equals(e.getSQLState())) {
                notice(e);
            }
            // or the server has begun again, which nobody else may meet while there is nothing to do
            internally("it is not known whether it is there", session -> session.query("SELECT 1"));
            throw new ReflectionException("the database " + server + " gives no answer: " + e.getMessage(), e);
        }
    }

    @Override
    public void snapshot(Path directory) {
        PostgresSnapshot.write(server, directory);
    }

    /** By one transaction, which sees them as they are at its begin; nothing is on disk. */
    @Override
    public FrozenRows freeze(Path directory) {
        Connection connection = null;
        try {
            connection = server.connect("");
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            connection.setReadOnly(true);
            SqlSession session = SqlSession.of(connection);
            Connection reading = connection;
            Optional<StoredPosition> position = Optional.ofNullable(PostgresSnapshot.position(session));
            List<TableShape> tables = tables(session);
            return new FrozenRows(position, tables, reading, lastGenerated(session), () -> release(reading, tables));
        } catch (SQLException | RuntimeException e) {
            if (connection != null) {
                close(connection);
            }
            throw new ReflectionException("the rows of " + server + " cannot be read: " + e.getMessage(), e);
        }
    }

    /** All tables were read, or reading them has failed for another reason. */
    private void release(Connection reading, List<TableShape> tables) {
        try {
            SqlSession session = SqlSession.of(reading);
            for (TableShape table : tables) {
                PostgresSnapshot.requireNotMadeAnew(session, table);
            }
        } catch (SQLException e) {
            throw new ReflectionException("the rows of " + server + " cannot be read: " + e.getMessage(), e);
        } finally {
            close(reading);
        }
    }

    /** Leased ones have come to the end of their lease, for all that one can know here. */
    private static Map<Generator, Long> lastGenerated(SqlSession session) throws SQLException {
        Map<Generator, Long> found = new HashMap<>();
        for (List<@Nullable String> row : session.query("SELECT of_table, n.nspname, n.relname,"
                + " coalesce(g.last, pg_sequence_last_value(n.relid)) FROM gorda.named n JOIN pg_class c ON c.oid = n.relid"
                + " LEFT JOIN gorda.generator g USING (relid) WHERE c.relpersistence = 'p'")) {
            if (row.get(3) != null) {
                found.put(
                        new Generator(
                                "t".equals(row.get(0)),
                                Objects.requireNonNull(row.get(1)),
                                Objects.requireNonNull(row.get(2))),
                        Long.valueOf(Objects.requireNonNull(row.get(3))));
            }
        }
        return found;
    }

    static void close(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            LOG.debug("the connection was gone already", e);
        }
    }

    /** Whatever generators have given elsewhere, they know. In a group of before their values may have been leased. */
    @Override
    public void takeOver() {
        if (leases.haveBegun()) {
            internally(
                    "generators cannot go on by themselves",
                    session -> session.query("SELECT gorda.lease_generators(false)"));
            leases.begin(false);
        }
    }

    @Override
    public void abortAll(Refusal refusal) {
        sessions.abortAll(refusal);
    }

    @Override
    public List<SuspendedCommit> suspended() {
        return sessions.suspended();
    }

    @Override
    public String listen(InetSocketAddress address, @Nullable SSLContext tls) {
        return sessions.listen(address, tls);
    }

    @Override
    public synchronized void close() {
        suspended().forEach(SuspendedCommit::leaveAtStop);
        stopped.set(true); // what clients meet from now on is no failure
        abortAll(new Refusal(Refusal.Cause.STOPPED, "this replica is stopping: connect to another one"));
        sessions.close();
        leases.close();
        pulse.close();
        PostgresApplier open = applier;
        if (open != null) {
            open.close();
        }
        try {
            flush();
        } catch (ReflectionException e) {
            LOG.warn("the database {} was not closed in order: {}", server, e.getMessage());
            LOG.debug("the database {} was not closed in order", server, e);
        }
        try {
            serialTurn.close();
            internal.close();
        } catch (SQLException e) {
            LOG.debug("the connection was gone already", e);
        }
    }
}
