package org.gorda.bindings.triggers;

import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Types;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * A client's connection, whose commits wait for the meta level. The database's own connection is never in autocommit mode: what its client
 * wants committed is committed here. Thread-safe: what the client's threads do is done one after the other, and an idle transaction is rolled back by whoever
 * aborts it.
 */
public final class ClientConnection implements ConnectionContext {

    /** All that is taken of what the database does: so its name of the savepoint is known. */
    private static final Pattern SAVEPOINT = Pattern.compile(
            "\\s*(?:ROLLBACK\\s+TO\\s+|RELEASE\\s+)?SAVEPOINT\\s+(?:([A-Z_][A-Z0-9_]*)|\"([ -~&&[^\"\\\\]]+)\")[\\s;]*",
            Pattern.CASE_INSENSITIVE);

    private static final Pattern SAVEPOINT_NAME = Pattern.compile("(?!SYSTEM_SAVEPOINT_)[ -~&&[^\"\\\\]]+");

    private static final Set<Integer> LARGE = Set.of(Types.BLOB, Types.CLOB);

    private static final int KINDS_MAX = 100;
    private static final int SQL_SHOWN_MAX = 200;

    private final TriggeredDatabase database;
    private final Dialect dialect;
    private final SessionId session = SessionId.of(UUID.randomUUID());
    private final ReentrantLock using = new ReentrantLock();
    private final WriteSetWriter out;
    private final RowCapture capture;
    private final Connection inner;
    private final Connection outer;
    private final String user;

    /** By their names, or without one by themselves, as they were set. */
    private final Map<Object, WriteSetWriter.Mark> savepoints = new LinkedHashMap<>();

    private final Map<String, Dialect.Kind> kinds = new LinkedHashMap<>(KINDS_MAX, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Dialect.Kind> eldest) {
            return size() > KINDS_MAX;
        }
    };
    private boolean autoCommit = true;
    private long lastNumber;

    /** Whether the transaction, which is refused, was rolled back, and its client was not told yet. */
    private volatile boolean undone;

    private List<Dialect.Generated> generated = List.of();
    private volatile @Nullable LocalTransaction transaction;
    private volatile @Nullable Object attachment;

    /** The last statement and the thread that has made it, for people, and when its client has done something last. */
    private volatile String lastSql = "";

    private volatile String lastThread = "";
    private volatile long usedNanos;

    /** Whether the database executes a statement; used by who uses the connection. */
    private boolean isExecuting;

    /** What is done with the database. */
    interface Work<T> {
        @Nullable
        T run() throws SQLException;
    }

    /** What reads some of a value that its client gives. */
    interface Reading {
        int read() throws IOException;
    }

    ClientConnection(TriggeredDatabase database, Properties properties) throws SQLException {
        this.database = database;
        this.dialect = database.dialect();
        this.out = database.newWriter();
        this.capture = new RowCapture(this, out);
        this.inner = dialect.connect(properties, capture);
        this.user = Objects.requireNonNullElse(inner.getMetaData().getUserName(), "");
        this.outer = Door.to(this);
    }

    Connection inner() {
        return inner;
    }

    /** What its client has. */
    Connection outer() {
        return outer;
    }

    // -------------------------------------------------------------------------------------------------------- context

    @Override
    public boolean isSerializable() {
        try {
            return inner.getTransactionIsolation() == Connection.TRANSACTION_SERIALIZABLE;
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }

    // ----------------------------------------------------------------------------------------------------- statements

    /** Executes one statement of the client as it is. */
    <T> @Nullable T execute(String sql, Work<T> work) throws SQLException {
        using.lock();
        lastSql = sql;
        lastThread = Thread.currentThread().getName();
        try {
            tellRefusal();
            Dialect.Kind kind = kind(sql);
            switch (kind) {
                case READ, READ_FOR_UPDATE, ROWS -> {
                    return statement(sql, kind != Dialect.Kind.READ, kind == Dialect.Kind.ROWS, work);
                }
                case LOCK -> statement(sql, true, true, () -> true);
                case SCHEMA -> changeSchema(inner.nativeSQL(sql));
                case COMMIT -> commitTransaction();
                case ROLLBACK -> rollbackTransaction();
                case SAVEPOINT -> setSavepoint(checkNew(savepoint(sql)), work);
                case ROLLBACK_TO_SAVEPOINT -> rollback(savepoint(sql), work);
                case RELEASE_SAVEPOINT -> savepoints.remove(checkSet(savepoint(sql)));
                case AUTOCOMMIT_ON, AUTOCOMMIT_OFF -> autoCommit(kind == Dialect.Kind.AUTOCOMMIT_ON);
            }
            return null;
        } finally {
            unlock();
        }
    }

    /** What a statement means that reads or changes rows is remembered: it means the same again. */
    private Dialect.Kind kind(String sql) throws SQLException {
        Dialect.Kind known = kinds.get(sql);
        if (known != null) {
            return known;
        }
        Dialect.Kind kind = dialect.kind(inner, inner.nativeSQL(sql));
        if (kind == Dialect.Kind.READ || kind == Dialect.Kind.READ_FOR_UPDATE || kind == Dialect.Kind.ROWS) {
            kinds.put(sql, kind);
        }
        return kind;
    }

    /**
     * A value is about to be given piece by piece.
     *
     * @param type of what it is for, as {@link Types} has it; asked only where that matters
     * @throws SQLException with 0A000 if the database would wait for it too late
     */
    void checkPieces(Work<Integer> type) throws SQLException {
        if (dialect.takesLargeObjectsLate() && LARGE.contains(type.run())) {
            throw Refused.unsupported(
                    "BLOB and CLOB are not replicated here, and such a value would be read while its statement is executed: store it as VARBINARY or LONGVARCHAR");
        }
    }

    /** As {@link Dialect#told}. */
    SQLException told(SQLException failure) {
        return dialect.told(inner, failure);
    }

    /** As {@link Dialect#check}. */
    void check(String sql) throws SQLException {
        dialect.check(inner.nativeSQL(sql));
    }

    /** The name of a savepoint in a statement, as the database compares it. */
    private static String savepoint(String sql) throws SQLException {
        Matcher matcher = SAVEPOINT.matcher(sql);
        if (!matcher.matches()) {
            throw Refused.unsupported(
                    "of savepoints only SAVEPOINT name, ROLLBACK TO SAVEPOINT name and RELEASE SAVEPOINT name are replicated, without comments: "
                            + sql);
        }
        String plain = matcher.group(1);
        return plain == null ? matcher.group(2) : plain.toUpperCase(Locale.ROOT);
    }

    /** The name of a savepoint that is about to be set. */
    private String checkNew(String name) throws SQLException {
        if (!SAVEPOINT_NAME.matcher(name).matches()) {
            throw Refused.unsupported("a savepoint is not named so: " + name);
        }
        if (savepoints.containsKey(name)) {
            throw Refused.unsupported("a savepoint " + name + " is set already: release it, or take another name");
        }
        return name;
    }

    private Object checkSet(Object savepoint) throws SQLException {
        if (!savepoints.containsKey(savepoint)) {
            throw new SQLException("there is no savepoint " + savepoint + " in this transaction", "3B001");
        }
        return savepoint;
    }

    /** Changes a row by a result set. */
    <T> @Nullable T changeRow(Work<T> work) throws SQLException {
        return within(() -> statement("", true, true, work));
    }

    /** What neither reads nor changes rows. */
    <T> @Nullable T within(Work<T> work) throws SQLException {
        using.lock();
        try {
            tellRefusal();
            return work.run();
        } finally {
            unlock();
        }
    }

    /** Prepares a statement. HSQLDB could take the table that a change of the schema replaces meanwhile for the new one, and put rows into it that nobody finds. */
    <T> @Nullable T prepare(Work<T> work) throws SQLException {
        return within(() -> {
            T prepared = dialect.readersAreInTheWay() ? database.change(work) : work.run();
            tellRefusal(); // if it was in the way of what it has waited for
            return prepared;
        });
    }

    /** What gives a value to a statement, which its client may take long for: it is told by that if its transaction was aborted meanwhile. */
    <T> @Nullable T give(Work<T> work) throws SQLException {
        return within(() -> {
            try {
                return work.run();
            } catch (SQLException e) {
                tellRefusal();
                throw e;
            }
        });
    }

    /**
     * Waits for its client, who does nothing as long as that takes: whoever aborts the transaction rolls it back meanwhile.
     *
     * @throws IOException also if the transaction was aborted
     */
    int awaitClient(Reading reading) throws IOException {
        if (isExecuting) {
            throw new IOException("the database waits for nobody's stream while it executes a statement");
        }
        unlock();
        int read;
        try {
            read = reading.read();
        } finally {
            using.lock();
        }
        LocalTransaction running = transaction;
        Refusal why = running == null ? null : running.refusal();
        if (why != null) {
            throw new IOException(Refused.of(why));
        }
        return read;
    }

    private void unlock() {
        usedNanos = System.nanoTime();
        using.unlock();
        LocalTransaction left = transaction;
        if (left != null && left.refusal() != null) {
            interrupt(left); // who has refused it could not, and what was done has not looked for that
        }
    }

    /** For how long its client has done nothing, as while what it gives is waited for; zero while it does something. */
    long idleNanos() {
        return using.isLocked() ? 0 : System.nanoTime() - usedNanos;
    }

    /** Whose it is and what it does, for people. */
    @Override
    public String toString() {
        LocalTransaction running = transaction;
        boolean isCommitting = running != null && running.commit() != null;
        long idleNanos = idleNanos();
        String state = isCommitting
                ? "whose commit waits for the group after "
                : idleNanos == 0 ? "executing " : "idle for " + TimeUnit.NANOSECONDS.toSeconds(idleNanos) + " s after ";
        return "session " + session + " of thread " + lastThread + ", " + state
                + lastSql.substring(0, Math.min(lastSql.length(), SQL_SHOWN_MAX));
    }

    /**
     * @param begins whether its transaction begins by it
     * @param isTakenBack whether the database takes back what it has changed if it fails, as it does not for queries
     */
    private <T> @Nullable T statement(String sql, boolean begins, boolean isTakenBack, Work<T> work)
            throws SQLException {
        LocalTransaction running = start();
        if (begins) {
            beginOrRefuse();
        }
        WriteSetWriter.Mark mark = capture.begin();
        @Nullable T result;
        dialect.inStatement(inner, sql);
        isExecuting = true;
        try {
            result = begins || dialect.readersAreInTheWay() ? database.change(work) : work.run();
            capture.end();
        } catch (SQLException e) {
            dialect.inStatement(inner, null);
            boolean isInDoubt = dialect.leavesInDoubt(inner, e) || (!isTakenBack && capture.hasChanged());
            capture.cutBack(mark);
            database.notice(e);
            if (isInDoubt) {
                running.refuse(new Refusal(
                        Refusal.Cause.CONFLICT,
                        "a statement has failed of which a part may be left: run the transaction again, without it: "
                                + e.getMessage()));
            }
            refuseVictim(running);
            tellRefusal();
            if (autoCommit || endsTransaction(e)) {
                rollbackTransaction();
            }
            throw e;
        } finally {
            isExecuting = false;
            dialect.inStatement(inner, null);
        }
        if (capture.isLost()) {
            running.refuse(
                    new Refusal(
                            Refusal.Cause.CONFLICT,
                            "the database executed a statement in part, and again, because of another transaction: run the transaction again;"
                                    + " if it was a MERGE of several rows without USING, write it with USING, or one for each row"));
        }
        refuseVictim(running);
        tellRefusal();
        if (autoCommit) {
            commitTransaction();
        }
        return result;
    }

    private void refuseVictim(LocalTransaction running) {
        if (dialect.isVictim(inner)) {
            running.refuse(new Refusal(
                    Refusal.Cause.CONFLICT, "the transaction has ended a deadlock with others: run it again"));
        }
    }

    static boolean endsTransaction(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("40") || state.equals("54000") || state.equals("53100");
    }

    private LocalTransaction start() throws SQLException {
        LocalTransaction running = transaction;
        if (running == null) {
            dialect.beginning(inner);
            running = new LocalTransaction(this, database.listener().beginning(this));
            undone = false;
            transaction = running;
        }
        if (database.wantsReads()) {
            try {
                database.listener().reading(this);
            } catch (RefusedException e) {
                throw Refused.of(e.refusal());
            }
        }
        return running;
    }

    private void beginOrRefuse() throws SQLException {
        if (Objects.requireNonNull(transaction).hasBegun()) {
            return;
        }
        try {
            begin();
        } catch (RefusedException e) {
            throw Refused.of(e.refusal());
        }
        if (savepoints.isEmpty()) {
            try {
                dialect.beginsToChange(inner);
            } catch (SQLException e) {
                rollbackTransaction();
                throw told(e);
            }
        }
    }

    /** The transaction is about to change something, if it has not before. */
    void begin() {
        LocalTransaction running = Objects.requireNonNull(transaction);
        if (running.hasBegun()) {
            return;
        }
        if (database.listener().isPacing()) {
            database.listener().pace();
        }
        database.turn().take(running);
        running.begin(new TransactionId(session, lastNumber + 1));
        try {
            database.listener().begin(running);
            lastNumber++;
        } catch (RefusedException e) {
            running.didNotBegin();
            database.turn().give();
            throw e;
        }
    }

    private void tellEnded(LocalTransaction ending, boolean committed) {
        if (ending.hasBegun()) {
            database.turn().give();
            database.listener().ended(ending, committed);
        }
    }

    // --------------------------------------------------------------------------------------------------- transactions

    void commit() throws SQLException {
        within(() -> {
            commitTransaction();
            return true;
        });
    }

    private void commitTransaction() throws SQLException {
        LocalTransaction ending = transaction;
        if (ending != null && ending.hasBegun()) {
            refuseVictim(ending);
            tellRefusal();
            try {
                tellChanges();
                generated.forEach(one -> out.generated(
                        one.generator().identity(),
                        one.generator().schema(),
                        one.generator().name(),
                        one.last()));
                if (!out.isEmpty()) {
                    suspend(ending, null);
                    return;
                }
            } catch (RefusedException e) {
                rollbackTransaction();
                throw Refused.of(e.refusal());
            }
        }
        changing(() -> {
            inner.commit();
            return true;
        });
        ended(true);
    }

    /** All that was changed is told now. */
    private void tellChanges() throws SQLException {
        capture.begin();
        try {
            dialect.tellRows(inner);
            capture.end();
            generated = dialect.generated(inner);
        } catch (SQLException e) {
            database.notice(e);
            tellRefusal();
            rollbackTransaction();
            throw told(e);
        }
    }

    /** Does what changes something in the database if the transaction has changed something, or only locked rows: the database may restore those, too. */
    private <T> @Nullable T changing(Work<T> work) throws SQLException {
        LocalTransaction running = transaction;
        boolean changes =
                running != null && (running.hasBegun() || (!dialect.readersAreInTheWay() && isInTheWay(running)));
        return changes ? database.change(work) : work.run();
    }

    /** As {@link TriggeredDatabase#relieve}. */
    void relieve(boolean isChanging) throws SQLException {
        database.relieve(isChanging);
    }

    private void suspend(LocalTransaction ending, LocalCommit.@Nullable SchemaChange change) throws SQLException {
        LocalCommit commit = new LocalCommit(ending, database, out.finish(), change);
        synchronized (session) {
            ending.commit(commit);
            dialect.forgetCancel(inner); // it is the statement's before, and must not meet what the commit does
        }
        tellRefusal(); // if it came before the commit was there
        Refusal refused;
        try {
            refused = commit.awaitAnswer();
        } catch (SQLException e) {
            ended(true);
            throw told(e);
        }
        if (refused != null) {
            ending.refuse(refused);
            tellRefusal();
        }
        ended(true);
    }

    /** As the database itself would, it commits before what was done until now. */
    private void changeSchema(String sql) throws SQLException {
        commitTransaction();
        LocalTransaction changing = start();
        try {
            begin();
            database.listener().changesSchema(changing, true);
            changing.beginsAt(database.listener().visible());
            String schema = inner.getSchema();
            out.statement(user, "", schema, sql, List.of());
            try {
                inner.rollback();
            } catch (SQLException e) {
                ended(false);
                throw e;
            }
            suspend(changing, new LocalCommit.SchemaChange(schema, sql));
        } catch (RefusedException e) {
            rollbackTransaction();
            throw Refused.of(e.refusal());
        }
    }

    void rollback() throws SQLException {
        using.lock();
        try {
            rollbackTransaction();
        } finally {
            using.unlock();
        }
    }

    private void rollbackTransaction() throws SQLException {
        boolean isUndone = false;
        try {
            undo();
            isUndone = true;
        } finally {
            try {
                if (!isUndone) {
                    closeInner(); // what is left must not be committed with what comes next
                }
            } finally {
                ended(false);
            }
        }
    }

    /** Rolls back, in a thread that uses the connection or in one that the client's waits for. */
    void undo() throws SQLException {
        if (!inner.isClosed()) {
            changing(() -> {
                inner.rollback();
                return true;
            });
        }
    }

    private void ended(boolean committed) {
        LocalTransaction ending = transaction;
        synchronized (session) {
            transaction = null;
        }
        if (ending != null && ending.refusal() != null) {
            dialect.forgetCancel(inner);
        }
        out.clear();
        savepoints.clear();
        if (committed) {
            dialect.ordered(generated);
        }
        generated = List.of();
        if (ending != null && !undone) {
            tellEnded(ending, committed);
        }
        undone = false;
    }

    /** Throws the refusal of a transaction that was aborted, which is over then. */
    private void tellRefusal() throws SQLException {
        LocalTransaction refused = transaction;
        Refusal why = refused == null ? null : refused.refusal();
        if (why == null) {
            return;
        }
        SQLException told = Refused.of(why);
        try {
            rollbackTransaction();
            if (why.cause().endsSession()) {
                closeInner();
            }
        } catch (SQLException e) {
            // It does not say what became of the transaction, as the refusal does, which may be of a commit that is
            // ordered.
            database.notice(e);
            told.addSuppressed(e);
        }
        throw told;
    }

    /** Reading rows has failed: what was changed before may be gone with it. Returns what the client is told. */
    SQLException readFailed(SQLException failure) throws SQLException {
        using.lock();
        try {
            LocalTransaction running = transaction;
            database.notice(failure);
            if (running != null && dialect.leavesInDoubt(inner, failure)) {
                running.refuse(new Refusal(
                        Refusal.Cause.CONFLICT,
                        "the transaction has ended with rows that could not be read: run it again: "
                                + failure.getMessage()));
            }
            tellRefusal();
            return failure;
        } finally {
            unlock();
        }
    }

    /** Rows that the database has closed must not be taken for all. */
    void checkNotCut(ResultSet rows) throws SQLException {
        if (dialect.wereCut(rows)) {
            throw new SQLException("the rows were closed before all were read: their transaction has ended", "24000");
        }
    }

    /** What is left of rows of a transaction that was rolled back must not be taken for all. */
    void checkNotRefused() throws SQLException {
        usedNanos = System.nanoTime(); // by who reads rows
        LocalTransaction running = transaction;
        if (running != null && running.refusal() != null) {
            within(() -> true);
        }
    }

    /** As {@link LocalTransaction#abort}. */
    void abort(LocalTransaction aborted, Refusal why) {
        LocalCommit suspended = aborted.commit();
        if (suspended == null && aborted.refuse(why)) {
            interrupt(aborted);
        }
        suspended = aborted.commit(); // it may have come meanwhile
        if (suspended != null) {
            suspended.giveUp(why);
        }
    }

    /** Aborts its transaction if that has changed something. */
    void abortChanging(Refusal why) {
        LocalTransaction running = transaction;
        if (running != null && running.hasBegun()) {
            abort(running, why);
        }
    }

    /** Whether it has a transaction that may keep others from changing rows, or the schema. */
    boolean isInTheWay() {
        LocalTransaction running = transaction;
        return running != null && !undone && isInTheWay(running);
    }

    private boolean isInTheWay(LocalTransaction running) {
        return dialect.isInTheWay(inner, running.hasBegun());
    }

    /** Gives up its locks for an ordered change, if it has a transaction that is in the way. */
    void giveWay(Refusal why) {
        LocalTransaction running = transaction;
        if (running == null || !isInTheWay(running)) {
            return;
        }
        LocalCommit suspended = running.commit();
        if (suspended != null) {
            suspended.giveWay(why);
        } else if (running.refuse(why)) {
            database.listener().gaveWay(this, null);
            interrupt(running);
        }
    }

    /** Rolls back an idle transaction, or ends what its client is executing, who rolls it back then. */
    private void interrupt(LocalTransaction refused) {
        if (!using.tryLock()) {
            synchronized (session) {
                boolean isCommitting = refused.commit() != null; // its commit must not meet what ends a statement
                if (transaction == refused && !isCommitting) {
                    dialect.cancel(inner);
                }
            }
            return;
        }
        try {
            if (transaction == refused && refused.commit() == null && !undone) {
                undo();
                tellEnded(refused, false);
                undone = true;
            }
        } catch (SQLException e) {
            database.notice(e);
        } finally {
            using.unlock();
        }
    }

    /** Has what its client is executing end, as the client asks for; a commit goes on. */
    void cancel(Work<?> work) throws SQLException {
        synchronized (session) {
            LocalTransaction running = transaction;
            if (running != null && running.commit() == null) {
                work.run();
            }
        }
    }

    // ------------------------------------------------------------------------------------------- as the client sets it

    boolean autoCommit() {
        return autoCommit;
    }

    void autoCommit(boolean wanted) throws SQLException {
        if (wanted != autoCommit) {
            commit();
            autoCommit = wanted;
        }
    }

    Savepoint setSavepoint(@Nullable String name) throws SQLException {
        return Objects.requireNonNull(within(() -> name == null
                ? setSavepoint(null, inner::setSavepoint)
                : setSavepoint(checkNew(name), () -> inner.setSavepoint(name))));
    }

    private <T> @Nullable T setSavepoint(@Nullable String name, Work<T> work) throws SQLException {
        if (autoCommit) {
            throw new SQLException("there are no savepoints in autocommit mode", "25000");
        }
        start();
        T set = work.run();
        savepoints.put(name == null ? Objects.requireNonNull(set) : name, out.mark());
        return set;
    }

    void rollback(Savepoint savepoint) throws SQLException {
        within(() -> rollback(key(savepoint), () -> {
            inner.rollback(savepoint);
            return true;
        }));
    }

    void release(Savepoint savepoint) throws SQLException {
        within(() -> {
            Object key = checkSet(key(savepoint));
            inner.releaseSavepoint(savepoint);
            return savepoints.remove(key);
        });
    }

    private Object key(Savepoint savepoint) throws SQLException {
        return savepoints.containsKey(savepoint) ? savepoint : savepoint.getSavepointName();
    }

    private <T> @Nullable T rollback(Object savepoint, Work<T> work) throws SQLException {
        checkSet(savepoint);
        T result = changing(work);
        capture.cutBack(Objects.requireNonNull(savepoints.get(savepoint)));
        List<Object> set = List.copyOf(savepoints.keySet());
        savepoints.keySet().removeAll(set.subList(set.indexOf(savepoint) + 1, set.size()));
        return result;
    }

    boolean isClosed() throws SQLException {
        return inner.isClosed();
    }

    void close() throws SQLException {
        using.lock();
        try {
            rollbackTransaction();
        } finally {
            closeInner();
            using.unlock();
        }
    }

    private void closeInner() throws SQLException {
        database.closed(this);
        inner.close();
    }
}
