package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.net.Socket;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.bindings.postgresql.wire.Interceptor;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.bindings.postgresql.wire.StartupMessage;
import org.gorda.bindings.postgresql.wire.Transactions;
import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's session, whose commits wait for the meta level. Thread-safe: what {@link Transactions} says is called in the client's thread, aborts come from
 * others.
 */
final class ClientSession implements ConnectionContext, Transactions, SqlSession {

    private static final Logger LOG = LoggerFactory.getLogger(ClientSession.class);

    /** Who was refused so long ago and still holds locks is cut off. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The name of the trigger that tells of rows. */
    private static final String TRIGGER = "gorda_capture";

    private final Sessions sessions;
    private final TransactionListener listener;
    private final SessionId id = SessionId.of(UUID.randomUUID());
    private final String user;
    private final WriteSetWriter out;
    private final RowCapture capture;
    private final Interceptor interceptor;
    private final ReentrantLock using = new ReentrantLock();
    private volatile @Nullable Object attachment;
    private volatile boolean mayFailToCommit;
    private volatile boolean isSerializable;
    private volatile boolean hasSnapshots;

    // ------------------------------------------------------------------------------ confined to the client's thread
    private final List<Savepoint> savepoints = new ArrayList<>();
    private long lastNumber;
    private boolean keys;
    private @Nullable String schemaContext;
    private String schemaUser = "";
    private String schemaRole = "";
    private boolean isTemporary;

    /** While the schema is changed by a transaction that wins. */
    private @Nullable LockWatch watch;

    // ------------------------------------------------------------------------------------------------ guarded by this
    private @Nullable LocalTransaction transaction;
    private boolean isLeaving;

    private record Savepoint(String name, WriteSetWriter.Mark mark) {}

    /**
     * Begins with the message that the client has sent.
     *
     * @param isRelayed whether two threads serve the client, one for each direction
     * @throws IOException if the server cannot be reached
     */
    ClientSession(Sessions sessions, Socket server, StartupMessage startup, boolean isRelayed) throws IOException {
        this.sessions = sessions;
        this.listener = sessions.listener();
        this.out = sessions.database().newWriter();
        this.capture = new RowCapture(sessions.database());
        Map<String, String> parameters = new LinkedHashMap<>(startup.parameters());
        this.user = parameters.getOrDefault("user", "");
        // The order is durable; who commits says when the database must be.
        parameters.merge("options", "-c synchronous_commit=off", (given, ours) -> ours + " " + given);
        this.interceptor = new Interceptor(
                server,
                startup,
                parameters,
                this,
                List.of(
                        "SET LOCAL gorda.token TO '" + sessions.database().token() + "'",
                        "SET CONSTRAINTS ALL IMMEDIATE",
                        "CALL gorda.generated()",
                        "SET LOCAL gorda.token TO ''"),
                isRelayed);
        noteSettings(parameters.getOrDefault("options", ""));
    }

    Interceptor interceptor() {
        return interceptor;
    }

    int process() {
        return interceptor.process();
    }

    // -------------------------------------------------------------------------------------------------------- context

    @Override
    public String user() {
        return user;
    }

    @Override
    public SessionId session() {
        return id;
    }

    /** Whether they may be: what makes them so was seen once in the session. */
    @Override
    public boolean isSerializable() {
        return isSerializable;
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }

    /** Whether the server may refuse a commit after all checks: by its own certification, or by a cursor that it keeps. */
    boolean mayFailToCommit() {
        return mayFailToCommit;
    }

    private void noteSettings(String sql) {
        String text = sql.toUpperCase(Locale.ROOT);
        isSerializable |= text.contains("SERIALIZABLE");
        hasSnapshots |= isSerializable || text.contains("REPEATABLE");
        mayFailToCommit |= isSerializable || text.contains("HOLD");
    }

    // ----------------------------------------------------------------------------------------------------- statements

    private @Nullable LocalTransaction current() {
        synchronized (this) {
            return transaction;
        }
    }

    private LocalTransaction open() {
        return Objects.requireNonNull(current(), "there is no transaction");
    }

    @Override
    public boolean takesWrites() {
        return listener.takesWrites();
    }

    @Override
    public void opening() {
        LocalTransaction opened = new LocalTransaction(this, listener.visible());
        synchronized (this) {
            transaction = opened;
        }
    }

    @Override
    public void executing(SqlStatement statement) {
        endWatch(); // of a change that has failed
        Kind kind = statement.kind();
        if (kind == Kind.BEGIN || kind == Kind.PASS || kind == Kind.READ) {
            noteSettings(statement.text());
        }
        if (kind != Kind.BEGIN && kind != Kind.PASS && sessions.wantsReads()) {
            listener.reading(this);
        }
        LocalTransaction running = current();
        if (running != null && kind != Kind.BEGIN) {
            checkNotRefused(running);
            if (kind == Kind.WRITE || kind == Kind.COPY_IN) {
                begin(running);
                checkNotRefused(running);
            }
            running.executes(kind);
        }
    }

    /** A request to cancel may have come before there was anything to cancel. */
    private void checkNotRefused(LocalTransaction running) {
        synchronized (this) {
            Refusal refusal = running.refusal();
            if (refusal != null && !running.isUndone()) {
                throw new RefusedException(refusal);
            }
        }
    }

    private void begin(LocalTransaction running) {
        if (running.hasBegun()) {
            return;
        }
        if (listener.isPacing()) {
            listener.pace();
        }
        running.begin(new TransactionId(id, lastNumber + 1));
        try {
            listener.begin(running);
            lastNumber++;
            keys = listener.wantsKeys(); // if that changes from now on, the listener refuses the transaction
        } catch (RefusedException e) {
            running.didNotBegin();
            throw e;
        }
    }

    @Override
    public void row(String message) {
        LocalTransaction running = open();
        synchronized (this) {
            if (running.refusal() != null) {
                return;
            }
        }
        begin(running); // by a function that nobody expected to change something
        capture.row(out, message, keys);
    }

    @Override
    public void refuse(Refusal refusal) {
        synchronized (this) {
            open().refuse(refusal);
        }
    }

    @Override
    public void executed(SqlStatement statement) {
        switch (statement.kind()) {
            case SAVEPOINT -> savepoints.add(new Savepoint(statement.name(), out.mark()));
            case RELEASE ->
                savepoints.subList(find(statement.name()), savepoints.size()).clear();
            case ROLLBACK_TO -> {
                int set = find(statement.name());
                if (set < savepoints.size()) {
                    cutBack(savepoints.get(set).mark());
                    savepoints.subList(set + 1, savepoints.size()).clear();
                }
            }
            default -> {}
        }
    }

    /** The last of that name; behind all if there is none. */
    private int find(String name) {
        int i = savepoints.size() - 1;
        while (i >= 0 && !savepoints.get(i).name().equals(name)) {
            i--;
        }
        return i < 0 ? savepoints.size() : i;
    }

    private void cutBack(WriteSetWriter.Mark mark) {
        boolean changed = out.changesSchema();
        out.cutBack(mark);
        if (changed && !out.changesSchema()) {
            listener.schemaUnchanged(open());
        }
    }

    // --------------------------------------------------------------------------------------------- changes of the
    // schema

    @Override
    public void changing(SqlStatement statement) throws SQLException {
        LocalTransaction running = open();
        boolean isSchema = statement.kind() == Kind.SCHEMA;
        // To ask for the relations takes the snapshot of the transaction, if it has one.
        boolean first = !running.hasExecuted() && (statement.name().isEmpty() || !hasSnapshots);
        isTemporary = isSchema && areTemporary(statement.name());
        running.executes(statement.kind());
        if (isSchema && !isTemporary) {
            begin(running);
            listener.changesSchema(running, first);
            if (first) {
                running.beginsAt(listener.visible());
            }
            if (listener.wins(running)) {
                watch = new LockWatch(sessions.database(), process());
                watch.begin(listener.makeWay(null));
            }
        }
        if (!first) {
            defer();
            capture.flushed();
        }
        if (isSchema) {
            List<@Nullable String> context = query("SELECT session_user, current_user, current_setting('search_path')")
                    .get(0);
            schemaUser = Objects.requireNonNull(context.get(0));
            String role = Objects.requireNonNull(context.get(1));
            schemaRole = role.equals(schemaUser) ? "" : role;
            schemaContext = context.get(2);
        }
        query("SET LOCAL gorda.token TO '" + sessions.database().token() + "'");
    }

    /** Others need not make way any more. */
    private void endWatch() {
        LockWatch ending = watch;
        watch = null;
        if (ending != null) {
            ending.close();
        }
    }

    /** Whether the relations are temporary ones, which are the session's own. */
    private boolean areTemporary(String relations) throws SQLException {
        if (relations.isEmpty()) {
            return false;
        }
        List<String> named = new ArrayList<>();
        relations.lines().forEach(name -> named.add("(" + PostgresDatabase.literal(name) + ")"));
        List<@Nullable String> counts = query(
                        "SELECT count(*) FILTER (WHERE c.relpersistence = 't'), count(*) FROM (VALUES "
                                + String.join(", ", named)
                                + ") n (name) JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(n.name)")
                .get(0);
        if ("0".equals(counts.get(0))) {
            return false;
        }
        if (!Objects.equals(counts.get(0), counts.get(1))) {
            throw new RefusedException(new Refusal(
                    Refusal.Cause.UNSUPPORTED,
                    "a statement on temporary relations and others cannot be replicated: have one for each"));
        }
        return true;
    }

    /** Has the server tell of the rows so far, and of those that follow when it is asked again. */
    private void defer() throws SQLException {
        List<String> names = new ArrayList<>();
        for (List<@Nullable String> row : query("SELECT DISTINCT quote_ident(n.nspname) FROM pg_catalog.pg_constraint c"
                + " JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace WHERE c.conname = '" + TRIGGER + "'")) {
            names.add(row.get(0) + "." + TRIGGER);
        }
        if (!names.isEmpty()) {
            String all = String.join(", ", names);
            query("SET LOCAL gorda.token TO '" + sessions.database().token() + "'");
            query("SET CONSTRAINTS " + all + " IMMEDIATE");
            query("SET CONSTRAINTS " + all + " DEFERRED");
        }
    }

    @Override
    public void changed(SqlStatement statement) throws SQLException {
        endWatch();
        if (isTemporary) {
            query("SET LOCAL gorda.token TO ''");
            return;
        }
        if (statement.kind() == Kind.SCHEMA) {
            out.statement(
                    schemaUser, schemaRole, Objects.requireNonNullElse(schemaContext, ""), statement.text(), List.of());
            sessions.database().captureNewTables(this);
        } else {
            defer();
        }
        query("SET LOCAL gorda.token TO ''");
    }

    @Override
    public List<List<@Nullable String>> query(String sql) throws SQLException {
        try {
            return interceptor.query(sql);
        } catch (IOException e) {
            throw new SQLException("the connection to the server is lost: " + e.getMessage(), "08006", e);
        }
    }

    // ---------------------------------------------------------------------------------------------- ends of
    // transactions

    @Override
    public boolean mayHaveChanged() {
        LocalTransaction running = current();
        return running != null && running.mayHaveChanged();
    }

    @Override
    public @Nullable Refusal takeRefusal() {
        synchronized (this) {
            return transaction == null ? null : transaction.takeRefusal();
        }
    }

    @Override
    public boolean isRefused() {
        synchronized (this) {
            return transaction != null && transaction.refusal() != null && !transaction.isUndone();
        }
    }

    @Override
    public void undone() {
        undone(open());
    }

    private void undone(LocalTransaction refused) {
        synchronized (this) {
            if (refused.isUndone()) {
                return;
            }
            refused.undone();
        }
        if (refused.hasBegun()) {
            listener.ended(refused, false);
        }
    }

    @Override
    public void ended(boolean committed) {
        LocalTransaction ending;
        boolean tells;
        synchronized (this) {
            ending = transaction;
            transaction = null;
            tells = ending != null && ending.hasBegun() && !ending.isUndone();
            if (ending != null) {
                ending.undone(); // who aborts it at this moment has nothing to tell
            }
        }
        endWatch();
        out.clear();
        capture.ended(committed);
        savepoints.clear();
        if (tells) {
            listener.ended(Objects.requireNonNull(ending), committed);
        }
    }

    @Override
    public @Nullable Refusal commit(String sql) throws SQLException {
        LocalTransaction ending = open();
        Refusal refusal;
        synchronized (this) {
            refusal = ending.refusal();
        }
        if (refusal == null) {
            try {
                if (out.isEmpty()) {
                    commitUnchanged(sql);
                    return null;
                }
                refusal = suspend(ending, sql);
            } catch (RefusedException e) {
                refusal = e.refusal();
            }
        }
        if (refusal != null && !interceptor.isIdle()) {
            undo();
        }
        LocalCommit suspended = ending.commit();
        if (suspended != null && suspended.isUndone() && ending.hasChangedSession()) {
            interceptor.close(); // what the session was set to is not so any more
        }
        ended(refusal == null);
        return refusal;
    }

    private void commitUnchanged(String sql) throws SQLException {
        try {
            query(sql);
        } catch (SQLException e) {
            ended(false);
            throw e;
        }
        ended(true);
    }

    private @Nullable Refusal suspend(LocalTransaction ending, String sql) throws SQLException {
        if (keys) {
            out.keysOfTables();
            out.key(out.changesSchema() ? KeyMode.REMOVED : KeyMode.REFERENCED, KeyHasher.SCHEMA);
        }
        LocalCommit commit = new LocalCommit(ending, sessions, out.finish(), sql);
        synchronized (this) {
            Refusal refusal = ending.refusal();
            if (refusal != null) {
                return refusal;
            }
            ending.commit(commit);
        }
        return commit.awaitAnswer();
    }

    /** Rolls back on the server, in the client's thread. What cannot be reached has lost it anyway. */
    void undo() {
        try {
            query("ROLLBACK");
        } catch (SQLException e) {
            LOG.debug("{}: not rolled back", id, e);
            interceptor.close();
        }
    }

    /** Commits on the server, while the client's thread waits. */
    void commitNow(@Nullable StoredPosition position, boolean durable, String sql) throws IOException, SQLException {
        List<String> statements = new ArrayList<>();
        if (durable) {
            statements.add("SET LOCAL synchronous_commit TO on");
        }
        if (position != null) {
            statements.add(sessions.database().positionInsert(position));
        }
        statements.add(sql);
        interceptor.query(statements.toArray(String[]::new));
    }

    /** Whether the server has not ended the session, as far as it has told. To be asked while the client's thread waits. */
    boolean isAlive() {
        return interceptor.isAlive();
    }

    // --------------------------------------------------------------------------------------------------------- aborts

    private boolean isRunning(LocalTransaction meant) {
        synchronized (this) {
            return transaction == meant && meant.commit() == null && !meant.isUndone();
        }
    }

    /** As {@link LocalTransaction#abort}. */
    void abort(LocalTransaction aborted, Refusal why) {
        LocalCommit suspended;
        synchronized (this) {
            if (transaction != aborted) {
                return;
            }
            suspended = aborted.commit();
            if (suspended == null) {
                if (aborted.refusal() != null) {
                    return;
                }
                aborted.refuse(why);
            }
        }
        if (suspended == null) {
            interrupt(aborted);
        } else {
            suspended.giveUp(why);
        }
    }

    /** Aborts its transaction if that has changed something. */
    void abortChanging(Refusal why) {
        LocalTransaction running = current();
        if (running != null && running.hasBegun()) {
            abort(running, why);
        }
    }

    /** Gives up its locks for an ordered change, if it has a transaction. */
    void giveWay(Refusal why) {
        LocalTransaction running;
        LocalCommit suspended;
        boolean isNew;
        boolean isLate;
        synchronized (this) {
            running = transaction;
            if (running == null) {
                return;
            }
            suspended = running.commit();
            isNew = suspended == null && running.refusal() == null;
            isLate = suspended == null && !isNew && System.nanoTime() - running.refusedNanos() > GRACE_NANOS;
            if (isNew) {
                running.refuse(why);
            }
        }
        if (suspended != null) {
            if (suspended.giveWay(why)) {
                listener.gaveWay(this, null);
            }
        } else if (isNew) {
            listener.gaveWay(this, null);
            interrupt(running);
        } else if (isLate && isRunning(running)) {
            LOG.warn("{}: cut off, because it does not give way: {}", id, why.message());
            interceptor.close();
        }
    }

    private void interrupt(LocalTransaction refused) {
        try {
            if (interceptor.interrupt(() -> isRunning(refused))) {
                undone(refused);
            }
        } catch (IOException e) {
            LOG.warn("{}: what its client executes cannot be cancelled, so it is cut off: {}", id, e.getMessage());
            interceptor.close();
        }
    }

    /** The client's request to cancel what it executes. */
    void cancel() throws IOException {
        LocalTransaction running = current();
        interceptor.cancel(() -> running == null || isRunning(running));
    }

    // ------------------------------------------------------------------------------------------------------ its end

    /** A thread serves the client from now on, alone or with one that it waits for. */
    void enter() {
        using.lock();
    }

    /** It does so no more. */
    void exit() {
        using.unlock();
        endIfUnused();
    }

    /** The client is gone, or is to go. A commit that waits for its answer goes on waiting. Thread-safe. */
    void leave() {
        boolean isSuspended;
        synchronized (this) {
            isLeaving = true;
            isSuspended = transaction != null && transaction.commit() != null;
        }
        if (!isSuspended) {
            interceptor.close();
        }
        endIfUnused();
    }

    /** Whoever is the last ends it. */
    private void endIfUnused() {
        synchronized (this) {
            if (!isLeaving) {
                return;
            }
        }
        if (!using.isHeldByCurrentThread() && using.tryLock()) {
            try {
                sessions.closed(this);
                interceptor.close();
                ended(false);
            } finally {
                using.unlock();
            }
        }
    }
}
