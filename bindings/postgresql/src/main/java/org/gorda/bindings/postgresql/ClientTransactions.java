package org.gorda.bindings.postgresql;

import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.PlainStatement;
import org.gorda.bindings.postgresql.wire.ServerError;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.bindings.postgresql.wire.Substitute;
import org.gorda.bindings.postgresql.wire.Transactions;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.ReadSet;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/** The transactions of a client's session, from the first statement of each to its commit, which waits for the meta level. Confined to the client's thread. */
final class ClientTransactions implements Transactions {

    /** Ends what {@link PostgresDatabase#listen} has begun. */
    private static final OwnStatement TOLD = OwnStatement.kept("SELECT gorda.told()");

    private static final OwnStatement LOOK = OwnStatement.kept("SELECT gorda.look()");

    private static final OwnStatement KEPT_CURSORS = OwnStatement.kept("SELECT gorda.held()");

    /** Before what is told of a transaction that is, and what it has read. */
    private static final char SERIALIZABLE = 'S';

    /** Before what it has read, if a cursor stays open. */
    private static final char HELD = 'H';

    private final ClientSession session;
    private final Sessions sessions;
    private final TransactionListener listener;
    private final WriteSetWriter out;
    private final RowCapture capture;
    private final Savepoints savepoints;
    private final SchemaChange schema;
    private final ReturnedRows returned;
    private long lastNumber;

    /** What the client calls the open transaction, if it has said so. */
    private @Nullable TransactionId called;

    private boolean keys;

    private final ReadSet reads = new ReadSet();

    /** Why {@link #reads} may not be all; empty if it is. */
    private String readsMore = "";

    /** Whether the listener knows that the transaction changes the schema. */
    private boolean changesSchema;

    private boolean changesTablesOnly = true;

    /** Whether the server has not crashed since this replica has opened the database, which would have ended the session. */
    private boolean isOfThisRun;

    /** Whether the client was told so when it connected. */
    private volatile boolean tookWrites;

    ClientTransactions(ClientSession session, Sessions sessions) {
        this.session = session;
        this.sessions = sessions;
        this.listener = sessions.listener();
        this.out = sessions.database().newWriter();
        this.capture = new RowCapture(sessions.database());
        this.savepoints = new Savepoints(out);
        this.schema = new SchemaChange(session, sessions.database(), out);
        this.returned = new ReturnedRows(sessions.database(), session.mark(), this::returned);
    }

    private LocalTransaction open() {
        return Objects.requireNonNull(session.transaction(), "there is no transaction");
    }

    // ----------------------------------------------------------------------------------------------------- statements

    @Override
    public boolean takesWrites() {
        tookWrites = listener.takesWrites();
        return tookWrites;
    }

    @Override
    public boolean mayChange(SqlStatement statement) {
        return statement.kind() == Kind.READ
                && sessions.database().readsMayChange()
                && !returned.isOfPlainTable(statement);
    }

    @Override
    public void opening() {
        session.transaction(new LocalTransaction(session, listener.beginning(session)));
        session.interceptor().awaitCancelled(); // what is for the one before is not to meet its BEGIN
        returned.opening();
    }

    @Override
    public void chained() {
        returned.chaining();
        opening();
    }

    @Override
    public @Nullable Substitute substitute(SqlStatement statement) {
        return session.transaction() == null ? null : returned.substitute(statement);
    }

    /** The client's statement has returned a row that it has changed. */
    private void returned(ProvableTable table, PlainStatement statement, List<@Nullable String> row) {
        if (open().refusal() == null) {
            capture.returned(out, table, statement, row, keys);
        }
    }

    @Override
    public List<OwnStatement> executing(SqlStatement statement, boolean isReplaced) {
        session.alone().begins();
        if (!isOfThisRun) {
            sessions.database().requireSameRun();
            isOfThisRun = true;
        }
        Kind kind = statement.kind();
        if (statement.mayChangeSession()) {
            session.noteSettings(statement.text());
        }
        if (kind != Kind.BEGIN && kind != Kind.PASS && !kind.isForReplica() && sessions.wantsReads()) {
            listener.reading(session);
        }
        LocalTransaction running = session.transaction();
        if (running != null && kind != Kind.BEGIN) {
            checkNotRefused(running);
            if (changesSchema && !listener.wins(running)) {
                schema.endWatch(); // its turn is over
            }
            if (kind == Kind.WRITE || kind == Kind.COPY_IN) {
                if (!running.hasBegun() && !running.mayHaveChanged() && !session.hasSnapshots()) {
                    running.beginsAt(listener.visible()); // it sees the schema and other tables as they are now
                }
                begin(running);
                checkNotRefused(running);
                if (statement.setsGenerator() && sessions.database().leases().haveBegun()) {
                    throw new RefusedException(
                            Refusal.unsupported(
                                    "setval with parameters, or within a statement that does more, cannot be replicated where every replica takes writes: have it in a SELECT by itself, with constants"));
                }
            }
            if (kind.mayChange()) {
                sessions.database().leases().await(kind != Kind.CALL, () -> checkNotRefused(running));
            }
            if (!kind.isForReplica()) {
                running.executes(statement, mayChange(statement));
            }
            if (statement.importsSnapshot()) {
                readsMore = "has the snapshot of another one";
            }
        }
        return kind.isForReplica() ? told(statement) : returned.executing(statement, isReplaced);
    }

    /** The client says something to the replica, or asks it. */
    private List<OwnStatement> told(SqlStatement statement) {
        switch (statement.kind()) {
            case CALLED -> call(statement.name());
            case AWAIT_POSITION -> awaitPosition(Long.parseLong(statement.name()));
            default -> {
                return List.of(OwnStatement.once("SET gorda.position TO '" + listener.seen() + "'"));
            }
        }
        return List.of();
    }

    private void call(String name) {
        LocalTransaction running = session.transaction();
        if (running == null) {
            return; // as the server warns, it has no effect
        }
        try {
            called = TransactionId.parse(name);
        } catch (IllegalArgumentException e) {
            throw new RefusedException(Refusal.unsupported("gorda.transaction: " + e.getMessage()));
        }
        if (running.hasBegun()) {
            running.begin(called);
        }
    }

    private void awaitPosition(long index) {
        LocalTransaction running = session.transaction();
        if (running != null && running.hasExecuted()) {
            // What it waits for may need what is locked, and would not be seen by a transaction that has a snapshot.
            throw new RefusedException(Refusal.unsupported(
                    "a transaction cannot wait for a position once it has executed something: do it before"));
        }
        listener.awaitVisible(index);
    }

    /** A request to cancel may have come before there was anything to cancel. */
    private static void checkNotRefused(LocalTransaction running) {
        Refusal refusal = running.pendingRefusal();
        if (refusal != null) {
            throw new RefusedException(refusal);
        }
    }

    private void begin(LocalTransaction running) {
        if (running.hasBegun()) {
            return;
        }
        if (listener.isPacing()) {
            listener.pace();
        }
        running.begin(called == null ? new TransactionId(session.session(), lastNumber + 1) : called);
        try {
            listener.begin(running);
            lastNumber++;
            keys = listener.wantsKeys(); // if that changes from now on, the listener refuses the transaction
        } catch (RefusedException e) {
            running.didNotBegin();
            boolean isDeposed = tookWrites && !listener.takesWrites();
            throw isDeposed && e.refusal().cause() == Refusal.Cause.BACKUP ? deposed(e.refusal()) : e;
        }
    }

    /** Who has asked for a primary looks for another one only if the connection ends, as it does where PostgreSQL becomes a standby. */
    private static RefusedException deposed(Refusal refusal) {
        return new RefusedException(new Refusal(
                Refusal.Cause.STOPPED, "this replica was the primary when you connected: " + refusal.message()));
    }

    @Override
    public void told(String part) {
        LocalTransaction running = open();
        if (running.refusal() == null) {
            capture.part(out, part, listener.takesWrites(), () -> {
                begin(running); // it may be by a function that nobody expected to change something
                return keys;
            });
        }
    }

    /** Has the server tell of changes, of which nothing is left to be told then. */
    private void ask(OwnStatement last) throws SQLException {
        told(Objects.requireNonNull(session.query(last).get(0).get(0)));
    }

    @Override
    public void refuse(Refusal refusal) {
        open().refuse(refusal);
    }

    @Override
    public void executed(SqlStatement statement) {
        returned.executed();
        if (savepoints.executed(statement) && changesSchema && !out.changesSchema()) {
            changesSchema = false;
            schema.endWatch();
            listener.schemaUnchanged(open());
        }
    }

    @Override
    public void changing(SqlStatement statement) throws SQLException {
        LocalTransaction running = open();
        for (OwnStatement guard : returned.changing()) {
            session.query(guard);
        }
        // To ask for the relations takes the snapshot of the transaction, if it has one.
        boolean first = !running.hasExecuted() && (statement.name().isEmpty() || !session.hasSnapshots());
        boolean isReplicated = schema.isReplicated(statement);
        running.executes(statement, false);
        if (isReplicated) {
            begin(running);
            if (!changesSchema) {
                listener.changesSchema(running, first);
                changesSchema = true;
            }
            if (first) {
                running.beginsAt(listener.visible());
            }
            if (keys) {
                changesTablesOnly &= schema.changesTablesOnly(statement);
            } else {
                schema.keepWritersAway(statement);
            }
            if (listener.wins(running)) {
                schema.win(listener.makeWay(null));
            }
        }
        if (!first) {
            ask(sessions.database().tellSoFar());
        }
        schema.before(statement);
    }

    @Override
    public void changed(SqlStatement statement) throws SQLException {
        schema.after(statement);
        if (statement.kind() == Kind.CONSTRAINTS) {
            session.query(LOOK); // or our triggers would go on as the client has set all
            ask(sessions.database().tellSoFar());
        } else {
            ask(TOLD);
        }
    }

    // ------------------------------------------------------------------------------------------------------- their
    // ends

    @Override
    public boolean mayHaveChanged() {
        LocalTransaction running = session.transaction();
        return running != null && running.mayHaveChanged();
    }

    @Override
    public List<OwnStatement> beforeCommit() {
        return returned.beforeCommit();
    }

    @Override
    public @Nullable Refusal takeRefusal() {
        LocalTransaction running = session.transaction();
        return running == null ? session.alone().takeRefusal() : running.takeRefusal();
    }

    @Override
    public @Nullable Refusal valueRefused(String message) {
        return sessions.database().leases().refused(message, out.changesSchema());
    }

    @Override
    public void keyIsThere(String inSchema, String table) {
        if (session.transaction() != null) {
            reads.tableWithoutLock(new TableShape(inSchema, table, List.of(), List.of()));
        }
    }

    @Override
    public boolean isRefused() {
        LocalTransaction running = session.transaction();
        return running != null && running.pendingRefusal() != null;
    }

    @Override
    public void undone() {
        session.undone(open());
    }

    @Override
    public void ended(boolean committed) {
        LocalTransaction ending = session.transaction();
        session.transaction(null);
        if (committed && out.changesSchema()) {
            sessions.database().leases().ended();
        }
        boolean tells = ending != null && ending.end();
        schema.endWatch();
        returned.ended(committed, ending != null && ending.mayHaveChanged());
        changesSchema = false;
        changesTablesOnly = true;
        called = null;
        reads.clear();
        readsMore = "";
        out.clear();
        capture.ended(committed);
        savepoints.clear();
        if (tells) {
            listener.ended(Objects.requireNonNull(ending), committed);
        }
    }

    @Override
    public @Nullable Refusal commit(String sql, List<List<@Nullable String>> rows) throws SQLException {
        LocalTransaction ending = open();
        returned.told(rows);
        String last = rows.isEmpty()
                ? ""
                : Objects.requireNonNull(rows.get(rows.size() - 1).get(0));
        Refusal refusal = ending.refusal();
        if (refusal == null) {
            SerialTurn turn = null;
            try {
                boolean serializable = !last.isEmpty() && last.charAt(0) == SERIALIZABLE;
                if (rows.isEmpty()) {
                    returned.requireComplete();
                } else {
                    told(serializable ? read(last) : last);
                }
                turn = serializable ? takeTurn(ending) : null;
                if (out.changesSchema() && sessions.database().leases().haveBegun()) {
                    settleSchema(ending);
                }
                refusal = ending.refusal(); // if there was one before, nothing may have been told
                if (refusal == null && out.isEmpty()) {
                    commitUnchanged(sql);
                    return null;
                }
                if (refusal == null && session.keepsCursors()) {
                    String held = heldCursor();
                    if (held != null && capture.isForOthers()) {
                        capture.ended(false);
                        sessions.database().untold(PostgresDatabase.ALL); // which another commit tells
                        commitUnchanged(sql);
                        return null;
                    }
                    requireNone(held);
                }
                refusal = refusal == null ? suspend(ending, sql, serializable) : refusal;
            } catch (RefusedException e) {
                refusal = e.refusal();
            } finally {
                if (turn != null) {
                    turn.end();
                }
            }
        }
        if (refusal != null && !session.interceptor().isIdle()) {
            if (ending.commit() == null) {
                undone(); // who has refused it cancels nothing from now on, which would be of the next one
            }
            session.undo();
        }
        LocalCommit suspended = ending.commit();
        if (suspended != null
                && suspended.isUndone()
                && session.isAlive()
                && refusal == null
                && !keepsSession(ending, suspended)) {
            session.interceptor().close(); // what the client was told of the session is not so
        }
        ended(refusal == null);
        return refusal;
    }

    /** Whether the session is as a transaction has left it whose changes were taken back and are applied instead: it is set again. */
    private boolean keepsSession(LocalTransaction committed, LocalCommit undone) {
        if (committed.hasChangedSession() || undone.losesMore()) {
            return false;
        }
        try {
            for (String setting : committed.settings()) {
                session.query(OwnStatement.once(setting));
            }
            return true;
        } catch (SQLException e) {
            return false;
        }
    }

    private void commitUnchanged(String sql) throws SQLException {
        try {
            session.query(OwnStatement.kept(sql));
        } catch (SQLException e) {
            ended(false);
            throw e;
        }
        ended(true);
    }

    /**
     * What may have written something as a SERIALIZABLE transaction waits for the turn, also if it has taken that back: it is in the way of
     * others' all the same.
     *
     * @return null if it needs none
     */
    private @Nullable SerialTurn takeTurn(LocalTransaction ending) throws SQLException {
        if (!ending.hasBegun()) {
            return null;
        }
        if (!session.isSerializable()) {
            session.noteSettings("SERIALIZABLE");
            throw new RefusedException(
                    new Refusal(
                            Refusal.Cause.CONFLICT,
                            "the session's transactions are SERIALIZABLE by default, which was noticed only now: run it again"));
        }
        SerialTurn turn = sessions.database().serialTurn();
        boolean taken = false;
        boolean safe = false;
        try {
            turn.take();
            taken = true;
            if (!out.isEmpty()) {
                turn.requireSafe(session);
            }
            safe = true;
            return turn;
        } catch (ServerError e) {
            throw refused(ending, e);
        } finally {
            if (taken && !safe) {
                turn.end();
            }
        }
    }

    /** Notes what a SERIALIZABLE transaction is told to have read, and returns what is told besides. */
    private String read(String last) {
        RowText text = new RowText(last, 1);
        if (text.isNext(HELD)) {
            text.take(1);
            readsMore = "leaves a cursor open that goes on to read (WITH HOLD)";
        }
        while (text.isNext('(')) {
            List<@Nullable String> name = text.row();
            String schemaName = Objects.requireNonNull(name.get(0));
            String table = Objects.requireNonNull(name.get(1));
            // Its snapshot keeps nobody from writing.
            reads.tableWithoutLock(new TableShape(schemaName, table, List.of(), List.of()));
        }
        return text.rest();
    }

    private void addReads() {
        if (!readsMore.isEmpty()) {
            throw new RefusedException(
                    Refusal.unsupported("where every replica takes writes, a SERIALIZABLE transaction"
                            + " must tell what it has read, and this one " + readsMore));
        }
        reads.addTo(out, true);
    }

    /** The cursor that is kept and may change something; null if there is none. */
    private @Nullable String heldCursor() throws SQLException {
        List<List<@Nullable String>> rows = session.query(KEPT_CURSORS);
        return rows.isEmpty() ? null : rows.get(0).get(0);
    }

    /** The server executes what is left of a cursor that is kept in COMMIT: what that changed would be lost, and with it half of what is acknowledged. */
    private static void requireNone(@Nullable String held) {
        if (held != null) {
            throw new RefusedException(
                    Refusal.unsupported(
                            "a " + held + ", in a transaction that changes something cannot be replicated:"
                                    + " the server calls that in COMMIT, when all was told; have it in a transaction of its own"));
        }
    }

    private void settleSchema(LocalTransaction ending) throws SQLException {
        try {
            session.query(sessions.database().settling());
        } catch (ServerError e) {
            throw refused(ending, e);
        }
    }

    private static RefusedException refused(LocalTransaction ending, ServerError e) {
        Refusal refusal = ending.refusal();
        return new RefusedException(
                refusal == null
                        ? new Refusal(Refusal.Cause.CONFLICT, Objects.requireNonNull(e.getMessage()))
                        : refusal);
    }

    /** The server holds the locks of tables until the transaction ends, and looks at a table behind its lock; but for what snapshots show. */
    private KeyMode modeOfSchema() {
        if (out.changesSchema()) {
            return changesTablesOnly ? KeyMode.WRITTEN : KeyMode.REMOVED;
        }
        return session.hasSnapshots() ? KeyMode.REFERENCED : KeyMode.CHANGED;
    }

    private @Nullable Refusal suspend(LocalTransaction ending, String sql, boolean isSerializable) throws SQLException {
        if (keys) {
            if (isSerializable) {
                addReads();
            }
            out.keysOfTables();
            out.key(modeOfSchema(), KeyHasher.SCHEMA);
        }
        LocalCommit commit = new LocalCommit(ending, sessions, out.finish(), sql);
        Refusal refusal = ending.suspend(commit);
        return refusal == null ? commit.awaitAnswer() : refusal;
    }
}
