package org.gorda.bindings.derby;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.apache.derby.iapi.db.Database;
import org.apache.derby.iapi.services.context.Context;
import org.apache.derby.iapi.services.context.ContextManager;
import org.apache.derby.iapi.services.context.ContextService;
import org.apache.derby.iapi.services.locks.CompatibilitySpace;
import org.apache.derby.iapi.sql.Activation;
import org.apache.derby.iapi.sql.LanguageFactory;
import org.apache.derby.iapi.sql.ParameterValueSet;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.compile.CompilerContext;
import org.apache.derby.iapi.sql.conn.StatementContext;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.SequenceDescriptor;
import org.apache.derby.iapi.sql.execute.ConstantAction;
import org.apache.derby.iapi.store.access.AccessFactoryGlobals;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.store.access.conglomerate.TransactionManager;
import org.apache.derby.iapi.transaction.TransactionControl;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.NumberDataValue;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.impl.sql.GenericPreparedStatement;
import org.apache.derby.impl.sql.conn.GenericLanguageConnectionContext;
import org.apache.derby.shared.common.error.ExceptionSeverity;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.ReadSet;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * A connection as Derby's language layer knows it, with eyes on its transactions: the first change, statement and savepoint
 * rollbacks, and the one funnel of all commits. Derby calls it in the client's thread; what other threads may call says so.
 */
final class ReflectedConnection extends GenericLanguageConnectionContext implements ConnectionContext {

    private static final Refusal LOST_ROWS = new Refusal(
            Refusal.Cause.STOPPED,
            "the commit before gave way to others and was made again, upon which rows of this session's temporary tables may be lost: connect again");

    private static final Refusal ONLY_READS = new Refusal(
            Refusal.Cause.BACKUP,
            "the connection is read-only: setReadOnly(false) before this, and make the statement again");

    private static final int NO_XA = 0;

    /** The class of SQLSTATE. */
    private static final String CONSTRAINT_VIOLATION = "23";

    /** With more statements whose cursors may be open, those are forgotten that are closed. */
    private static final int HOLDERS_KEPT = 256;

    /** So many rows at the most are kept of one statement for {@link #hasNewKeys}. */
    private static final int NEW_KEYS_KEPT = 100_000;

    /** So long a stream of a client may give nothing while its transaction is refused: more than any read of Derby's own takes, which a client can give back to it. */
    private static final long READ_NANOS_MAX = TimeUnit.SECONDS.toNanos(5);

    static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long NOT_BEGUN = -1;

    /** The store's savepoint before anything that a transaction changes. */
    private static final String START = "gorda.start";

    /** What {@link java.sql.Connection#abort} of Derby has run: a rollback, and then the end of the connection. */
    private static final String ABORT = "org.apache.derby.impl.jdbc.EmbedConnection$1";

    private static final int FRAMES_TO_ABORT = 8;

    private final ReflectedConnectionFactory factory;
    private final PriorityLockFactory locks;
    private final DerbyValues values = new DerbyValues();
    private final KeyHasher hasher = new KeyHasher();

    /** The write set as it was when a statement began, by the statement's context, of which Derby reuses a few. */
    private final IdentityHashMap<StatementContext, WriteSetWriter.Mark> statementMarks = new IdentityHashMap<>();

    private final Map<String, WriteSetWriter.Mark> savepoints = new HashMap<>();
    private final Map<String, Long> generated = new LinkedHashMap<>();
    private final LocalGenerators generators = new LocalGenerators();

    /** What was read since the last commit or rollback and must not have changed until the next. */
    private final ReadSet reads = new ReadSet();

    /** Statements whose cursors may stay open over a commit: what they read counts for the next transaction, too, which goes on reading. */
    private final Set<Activation> holders = Collections.newSetFromMap(new IdentityHashMap<>());

    /**
     * Whether another thread aborts the connection. Derby lets its client use it until it is closed: its commit would find nothing to commit
     * after that thread's rollback, and succeed.
     */
    private boolean aborted;

    /** Whether rows of its temporary tables may have been lost with a commit that gave way and was made again. Its client cannot go on as if they were there. */
    private boolean hasLostRows;

    private boolean hadTemporaryTables;

    /** What SERIALIZABLE statements that change something are at, by their contexts. */
    private final IdentityHashMap<StatementContext, ConstantAction> changing = new IdentityHashMap<>();

    /** The rows that the statement, which deletes rows of the same table, has given other keys, by where they are. */
    private final Set<DataValueDescriptor> newKeys = new HashSet<>();

    /** Whether something was read that cannot be told. */
    private boolean readsUntold;

    private boolean withKeys;

    /** Whether {@link #START} is set in the store's transaction. */
    private boolean startSaved;

    /** Whether the abort that Derby asks of the store is to wait for no disk. */
    private boolean undoesUnforced;

    private final SessionId session = SessionId.of(UUID.randomUUID());
    private long lastNumber;
    private volatile @Nullable LocalTransaction transaction;
    private @Nullable WriteSetWriter writer;
    private volatile @Nullable Object attachment;

    /** The names that Derby has generated since it began to compile what it compiles. */
    private final List<String> compiledNames = new ArrayList<>();

    /** The name for what Derby names not before it executes a schema change: a routine. Null while it executes none. */
    private @Nullable String nameForExecution;

    /** What was visible before the first statement since the last commit or rollback. */
    private long begunAt = NOT_BEGUN;

    /** That statement, and whether another one has followed. */
    private String firstText = "";

    private boolean afterOthers;

    /** Whether the transaction has changed the schema, or tried. */
    private volatile boolean schemaChanged;

    /** Whether the listener knows of it as one that changes the schema. */
    private volatile boolean inTurn;

    private boolean committing;

    /** Whether the position of what is ordered is being stored, or the database is forced to disk. */
    private volatile boolean storesPosition;

    /** Whether the dictionary is told of the transaction's end only after it; and whether it is to be told at all. */
    private boolean dictionaryWaits;

    /** Whether Derby has rolled back since the commit under way began. */
    private boolean rolledBackInside;

    private boolean dictionaryIsToBeTold;
    private volatile boolean rollingBack;
    private volatile @Nullable Refusal refusal;

    /** The client's thread while it waits for a lock; guarded by {@link #waitGuard}. */
    private @Nullable Thread waiting;

    private boolean waitInterrupted;

    /** Since when the client's thread reads what its client gives as a stream, by {@link System#nanoTime}; null if it does not; guarded, as the next two, by {@link #readGuard}. */
    private @Nullable Long readingSince;

    /** In which transaction it does. */
    private @Nullable LocalTransaction readingIn;

    /** How deep it is in Derby; deeper, when the stream itself uses the connection. */
    private int readingDepth;

    private final Object readGuard = new Object();
    private final Object waitGuard = new Object();

    /** Whether its client has come to read, and nothing else. */
    private boolean onlyReads;

    /** Set for the connection of the applier: nothing is captured. */
    private volatile boolean applies;

    private @Nullable String actingUser;
    private @Nullable String actingRole;
    private @Nullable List<String> namesToGive;

    ReflectedConnection(
            ContextManager manager,
            TransactionController controller,
            LanguageFactory language,
            ReflectedConnectionFactory factory,
            Database database,
            String user,
            int instanceNumber,
            @Nullable String networkClient,
            String databaseName)
            throws StandardException {
        super(manager, controller, language, factory, database, user, instanceNumber, networkClient, databaseName);
        this.factory = factory;
        if (!(controller.getAccessManager().getLockFactory() instanceof PriorityLockFactory priority)) {
            throw new IllegalStateException("Derby runs with another lock factory");
        }
        this.locks = priority;
        locks.register(this);
    }

    /** The connection whose context the calling thread has, if it is one of a reflected database. */
    static @Nullable ReflectedConnection current() {
        return ContextService.getContextOrNull(org.apache.derby.iapi.sql.conn.LanguageConnectionContext.CONTEXT_ID)
                        instanceof ReflectedConnection connection
                ? connection
                : null;
    }

    DerbyDatabase database() {
        DerbyDatabase database = factory.reflected();
        if (database == null) {
            throw new IllegalStateException("the database is not reflected");
        }
        return database;
    }

    /** Whether changes are captured: not while the database is set up, nor those of the applier. */
    boolean isCapturing() {
        return !applies && factory.reflected() != null;
    }

    PriorityLockFactory locks() {
        return locks;
    }

    DerbyValues values() {
        return values;
    }

    KeyHasher hasher() {
        return hasher;
    }

    // ----------------------------------------------------------------------------------------------------- contexts

    @Override
    public boolean isSerializable() {
        return getCurrentIsolationLevel() == TransactionControl.SERIALIZABLE_ISOLATION_LEVEL;
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }

    /** The transaction that has changed something, if there is one. For any thread. */
    @Nullable
    LocalTransaction localTransaction() {
        return transaction;
    }

    /** Whether the transaction that is open has changed the schema. For any thread. */
    boolean changesSchema() {
        return schemaChanged;
    }

    /** Changes are refused from now on. */
    void onlyReads() {
        onlyReads = true;
    }

    /** The client names its transaction, which it is about to commit, so that it can ask for its outcome. */
    void name(TransactionId id) {
        LocalTransaction open = transaction;
        if (open != null) {
            open.name(id);
        }
    }

    // ------------------------------------------------------------------------------------------------------ capture

    /** Makes way for a change to rows of a table: begins the transaction if it is the first. */
    WriteSetWriter beginChange(CapturedTable table) throws StandardException {
        requireNone(table.keyObstacle(), table);
        requireNone(table.obstacle(), table);
        return beginChange();
    }

    /** As {@link #beginChange(CapturedTable)}; but nobody needs a key to find a new row. */
    WriteSetWriter beginInsert(CapturedTable table) throws StandardException {
        requireNone(table.obstacle(), table);
        if (isSerializable()) {
            reads.inserted(table.shape());
        }
        return beginChange();
    }

    private static void requireNone(@Nullable String obstacle, CapturedTable table) throws StandardException {
        if (obstacle != null) {
            throw DerbyRefusal.unsupported("table " + table.shape() + " cannot be replicated: " + obstacle);
        }
    }

    WriteSetWriter beginChange() throws StandardException {
        if (onlyReads) {
            throw new DerbyRefusal(ONLY_READS);
        }
        WriteSetWriter out = writer;
        LocalTransaction open = transaction;
        if (out != null && open != null) {
            open.checkNotAborted();
            return out;
        }
        DerbyDatabase database = database();
        if (getTransactionExecute().isGlobal()) {
            throw noDistributedTransactions();
        }
        if (database.listener().isPacing()) {
            waiting(listener -> {
                listener.pace();
                return true;
            });
        }
        if (out == null) {
            out = database.newWriter();
            writer = out;
        }
        open = new LocalTransaction(this, new TransactionId(session, ++lastNumber), Math.max(0, begunAt));
        try {
            database.listener().begin(open);
        } catch (RefusedException e) {
            throw new DerbyRefusal(e.refusal());
        }
        withKeys = database.wantsKeys(); // if that changes from now on, the transaction is refused
        synchronized (this) {
            transaction = open;
        }
        database.opened(open);
        return out;
    }

    /** Whether the write set of the transaction that has begun is to carry keys. */
    boolean withKeys() {
        return withKeys;
    }

    /** What is read, to which a statement is about to add. */
    ReadSet reads(Activation activation) {
        if (activation.getResultSetHoldability()) {
            holders.add(activation);
        }
        return reads;
    }

    /** The client is told that a constraint is violated, and so of rows that no scan has read. */
    private void captureViolation(ConstantAction changes) {
        try {
            org.apache.derby.catalog.UUID target = DerbyFields.targetTableIfAny(changes);
            if (target == null) {
                readsUntold = true;
            } else {
                CapturedTable.related(this, target).forEach(reads::tableWithoutLock);
            }
        } catch (StandardException e) {
            readsUntold = true;
        }
    }

    /** A statement that deletes rows of a table has changed keys of one that it may delete yet. */
    void givesNewKeys(RowLocation location) throws StandardException {
        if (newKeys.size() == NEW_KEYS_KEPT) {
            throw DerbyRefusal.unsupported(
                    "a statement deletes rows to which more than " + NEW_KEYS_KEPT
                            + " rows of the same table refer by a unique column that is set to NULL: make several statements of it");
        }
        newKeys.add(location.cloneValue(false));
    }

    boolean hasNewKeys(RowLocation location) {
        return !newKeys.isEmpty() && newKeys.contains(location);
    }

    void forgetNewKeys() {
        newKeys.clear();
    }

    /** A statement that changed keys has ended. */
    void endOfKeyChanges() {
        WriteSetWriter out = writer;
        if (out != null && transaction != null) {
            out.endOfStatement();
        }
    }

    /** Called before each execution of a statement that changes something, also when Derby compiles it again and repeats it. */
    @Override
    public void validateStmtExecution(ConstantAction action) throws StandardException {
        super.validateStmtExecution(action);
        if (isSerializable() && isCapturing()) {
            changing.put(getStatementContext(), action);
        }
        if (isCapturing() && SchemaChanges.isSchemaChange(action)) {
            Activation activation = getStatementContext().getActivation();
            String text = activation.getPreparedStatement().getSource();
            boolean isReplicated = SchemaChanges.isReplicated(this, text);
            if ((isReplicated || SchemaChanges.movesRows(text)) && SchemaChanges.concernsOurs(this, text)) {
                throw DerbyRefusal.unsupported(
                        "schema " + PositionTable.SCHEMA + " is GORDA's own and cannot be changed: use another schema");
            }
            if (isReplicated) {
                if (SchemaChanges.isFromTemporary(this, text)) {
                    throw DerbyRefusal.unsupported(
                            "a table that is made from a temporary one cannot be replicated: name its columns and their types");
                }
                schemaChange(text, activation);
            }
        }
    }

    private void schemaChange(String text, Activation activation) throws StandardException {
        String schema = getCurrentSchemaName(activation);
        SchemaDescriptor meant =
                DerbyFields.compilationSchema(((GenericPreparedStatement) activation.getPreparedStatement()).statement);
        if (meant != null && !meant.getSchemaName().equals(schema)) {
            throw DerbyRefusal.unsupported("a schema change that was prepared while the current schema was "
                    + meant.getSchemaName() + " cannot be replicated now that it is " + schema
                    + ": prepare it again, or name schemas in it and SET SCHEMA " + meant.getSchemaName());
        }
        WriteSetWriter out = beginChange();
        if (!inTurn) {
            awaitTurn(!afterOthers && text.equals(firstText));
        }
        ChangedColumn.requireNoTrigger(this, text); // behind the last change of another
        schemaChanged = true;
        generators.schemaChanges(text);
        List<String> names = new ArrayList<>(database().generatedNames(activation.getPreparedStatement()));
        String spare = super.getDataDictionary().getSystemSQLName();
        names.add(spare);
        nameForExecution = spare;
        try {
            String role = getCurrentRoleId(activation);
            out.statement(getCurrentUserId(activation), role == null ? "" : role, schema, text, names);
        } catch (RefusedException e) {
            throw new DerbyRefusal(e.refusal());
        }
    }

    /**
     * Before a change of the schema.
     *
     * @param first whether it is the transaction's first statement: then all that it has seen so far is what it was compiled from, which
     *     Derby compares with the schema after this
     */
    private void awaitTurn(boolean first) throws StandardException {
        LocalTransaction open = java.util.Objects.requireNonNull(transaction);
        waiting(listener -> {
            listener.changesSchema(open, first);
            return first;
        });
        inTurn = true;
        if (first) {
            begunAt = Math.max(begunAt, database().listener().visible());
            open.beginsAt(begunAt);
        }
    }

    /** After changes were taken back. */
    private void endTurnIfUnused() {
        LocalTransaction open = transaction;
        WriteSetWriter left = writer;
        if (inTurn && open != null && left != null && !left.changesSchema()) {
            inTurn = false;
            database().listener().schemaUnchanged(open);
        }
    }

    /**
     * Whether the transaction wins now, like the applier, against those that hold locks it needs: also once it is ordered, when all that it
     * still locks is what is stored of its position. For any thread.
     */
    boolean wins() {
        if (storesPosition) {
            return true;
        }
        LocalTransaction open = transaction;
        return inTurn && open != null && database().listener().wins(open);
    }

    void awaitVisible(long index) throws StandardException {
        waiting(listener -> {
            listener.awaitVisible(index);
            return index;
        });
    }

    /** Has the listener do what may take long; whoever needs the locks that are held here ends it. */
    private <T> T waiting(Function<TransactionListener, T> task) throws StandardException {
        beginWait();
        try {
            // Who refused it before it was known to wait has not woken it.
            locks.throwIfRefused(this);
            return task.apply(database().listener());
        } catch (RefusedException e) {
            locks.throwIfRefused(this);
            throw new DerbyRefusal(e.refusal());
        } finally {
            endWait();
        }
    }

    /**
     * A value is to be taken from a generator: who may not write must not take it.
     *
     * @return whether it was leased; otherwise Derby generates it, in a transaction of its own
     */
    boolean takeLeased(String generatorId, NumberDataValue target) throws StandardException {
        if (!isCapturing()) {
            return false;
        }
        beginChange();
        DerbyDatabase database = database();
        if (!database.leases() || generators.createdHere(generatorId)) {
            return false;
        }
        OptionalLong value = database.listener().leased(generatorId);
        target.setValue(value.isPresent() ? value.getAsLong() : lease(database, generatorId));
        return true;
    }

    private long lease(DerbyDatabase database, String generatorId) throws StandardException {
        GeneratorState state = generators.state(database.dictionary(), generatorId);
        OptionalLong value =
                waiting(listener -> listener.lease(java.util.Objects.requireNonNull(transaction), generatorId, state));
        if (value.isEmpty()) {
            throw LocalGenerators.usedUp(state.generator());
        }
        return value.getAsLong();
    }

    void generatorCreated(SequenceDescriptor sequence) {
        generators.created(sequence);
    }

    /** Whether what Derby keeps in memory of generators is of no use: the catalogue alone says where they are. */
    boolean knowsGeneratorsByCatalogue() {
        return applies || (isCapturing() && database().leases());
    }

    /** A value was taken from a generator. */
    void generated(String generatorId, long value) {
        if (isCapturing()) {
            generated.put(generatorId, value);
        }
    }

    @Override
    public StatementContext pushStatementContext(
            boolean isAtomic,
            boolean isForReadOnly,
            @Nullable String text,
            @Nullable ParameterValueSet parameters,
            boolean rollbackParentContext,
            long timeoutMillis) {
        if (getStatementDepth() == 0 && isCapturing()) {
            beforeStatement(text == null ? "" : text);
            if (!isForReadOnly) {
                saveStart();
            }
        }
        StatementContext context = super.pushStatementContext(
                isAtomic, isForReadOnly, text, parameters, rollbackParentContext, timeoutMillis);
        WriteSetWriter out = writer;
        if (out != null && transaction != null) {
            statementMarks.put(context, out.mark());
        }
        return context;
    }

    /** Sets {@link #START} if nothing is changed yet. */
    private void saveStart() {
        TransactionController store = getTransactionExecute();
        if (startSaved || !store.isPristine()) {
            return;
        }
        try {
            store.setSavePoint(START, null);
            startSaved = true;
        } catch (StandardException e) {
            // It is rolled back as Derby does it, and the statement fails by itself if the store does.
        }
    }

    @Override
    public void popStatementContext(StatementContext context, @Nullable Throwable error) {
        nameForExecution = null;
        forgetNewKeys();
        ConstantAction changes = changing.isEmpty() ? null : changing.remove(context);
        if (changes != null
                && error instanceof StandardException failure
                && failure.getSQLState().startsWith(CONSTRAINT_VIOLATION)) {
            captureViolation(changes);
        }
        super.popStatementContext(context, error);
        statementMarks.remove(context);
        // Not if Derby compiles the statement once more and repeats it.
        if (inTurn
                && error instanceof StandardException failure
                && !SQLState.LANG_STATEMENT_NEEDS_RECOMPILE.equals(failure.getMessageId())) {
            endTurnIfUnused();
        }
    }

    private void beforeStatement(String text) {
        DerbyDatabase database = database();
        Refusal closing = database.closing();
        if (closing != null) {
            locks.refuseNext(this, closing);
        } else if (hasLostRows) {
            locks.refuseNext(this, LOST_ROWS);
        }
        if (holders.size() > HOLDERS_KEPT) {
            forgetClosedCursors(); // now, because none is being opened
        }
        if (begunAt == NOT_BEGUN) {
            // Before anything is read: a foreign key's parent is looked up before the first change is made.
            begunAt = database.listener().beginning(this);
            firstText = text;
            afterOthers = false;
        } else {
            // It is both compiled and executed here.
            afterOthers |= !text.equals(firstText);
        }
        if (database.wantsReads()) {
            beginWait();
            try {
                if (refusal == null) {
                    database.listener().reading(this);
                }
            } catch (RefusedException e) {
                // This method cannot fail as Derby wants it: the statement's first lock request will.
                locks.refuseNext(this, e.refusal());
            } finally {
                endWait();
            }
        }
    }

    @Override
    public void languageSetSavePoint(String name, Object kind) throws StandardException {
        checkNotRefused();
        super.languageSetSavePoint(name, kind);
        WriteSetWriter out = writer;
        if (out != null && transaction != null) {
            savepoints.put(name, out.mark());
        } else {
            savepoints.remove(name);
        }
    }

    @Override
    public void releaseSavePoint(String name, @Nullable Object kind) throws StandardException {
        if (kind != null) {
            checkNotRefused(); // before a client's; a statement's is let go as ever
        }
        super.releaseSavePoint(name, kind);
    }

    @Override
    public void internalRollbackToSavepoint(String name, boolean refreshStyle, @Nullable Object kind)
            throws StandardException {
        if (kind != null) {
            checkNotRefused(); // its savepoint is gone where the transaction was rolled back meanwhile
        }
        super.internalRollbackToSavepoint(name, refreshStyle, kind);
        WriteSetWriter out = writer;
        if (out == null || transaction == null) {
            return;
        }
        WriteSetWriter.Mark mark = kind == null ? statementMarks.get(getStatementContext()) : savepoints.get(name);
        if (mark == null) {
            // Set before the first change.
            out.clear();
        } else {
            out.cutBack(mark);
        }
        if (kind != null) {
            endTurnIfUnused();
        }
    }

    // ------------------------------------------------------------------------------------------- end of a transaction

    @Override
    protected void doCommit(boolean commitStore, boolean sync, int flag, boolean byUser) throws StandardException {
        if (aborted) {
            throw StandardException.newException(SQLState.NO_CURRENT_CONNECTION);
        }
        requireStore();
        LocalTransaction open = transaction;
        if (open == null || !commitStore || isWithinAtomicStatement(byUser)) {
            checkNotRefused();
            commitThenTellDictionary(commitStore, sync, flag, byUser);
            beginAnew();
            return;
        }
        if (sync && flag != NO_XA) {
            throw noDistributedTransactions();
        }
        committing = true;
        try {
            commitReflected(open, sync, flag, byUser);
        } finally {
            committing = false;
        }
    }

    private void commitReflected(LocalTransaction open, boolean sync, int flag, boolean byUser)
            throws StandardException {
        checkIntegrity();
        open.checkNotAborted();
        WriteSetWriter out = java.util.Objects.requireNonNull(writer);
        DerbyDatabase database = database();
        WriteSet writeSet = finish(database, out);
        if (writeSet == null) {
            // Everything was rolled back to savepoints.
            commitThenTellDictionary(true, sync, flag, byUser);
        } else {
            LocalCommit commit = new LocalCommit(open, this, writeSet, byUser);
            suspend(open, commit);
            commit.awaitAnswer(database);
            hasLostRows |= commit.isUndone() && hadTemporaryTables;
        }
        ended(open, true);
        beginAnew();
        locks.ended(this);
    }

    private @Nullable WriteSet finish(DerbyDatabase database, WriteSetWriter out) throws StandardException {
        try {
            database.putGenerated(this, generated, out);
            if (out.isEmpty()) {
                return null;
            }
            if (withKeys) {
                if (readsUntold) {
                    throw DerbyRefusal.unsupported(
                            "a statement of this SERIALIZABLE transaction has violated a constraint"
                                    + " of tables that cannot be told: roll back, and use INSERT, UPDATE or DELETE instead of it");
                }
                reads.addTo(out, isSerializable());
                out.keysOfTables();
                out.key(out.changesSchema() ? KeyMode.REMOVED : KeyMode.REFERENCED, KeyHasher.SCHEMA);
            }
            return out.finish();
        } catch (RefusedException e) {
            throw new DerbyRefusal(e.refusal());
        }
    }

    private boolean isWithinAtomicStatement(boolean byUser) {
        StatementContext statement = getStatementContext();
        return byUser && statement != null && statement.inUse() && statement.isAtomic();
    }

    /**
     * Derby's store, when it stops, first forgets the pages that it has in memory: who read then may have got one as it was on disk, without what was
     * committed since.
     */
    void requireStore() throws StandardException {
        StandardException failure =
                DerbyFields.failure(((TransactionManager) getTransactionExecute()).getRawStoreXact());
        if (failure != null) {
            throw StandardException.newException(SQLState.LOG_STORE_CORRUPT, failure, failure.getMessage());
        }
    }

    private void checkNotRefused() throws StandardException {
        if (isCapturing() && !PriorityLockFactory.isHelping()) {
            locks.throwIfRefused(this);
        }
    }

    private interface Rollback {
        void run() throws StandardException;
    }

    /**
     * Rolls back with no wait for the disk. Derby's store forces its log before it gives up a transaction's locks, for which ordered changes wait, and
     * even if there is nothing to undo, when something was committed unforced before; a rollback to a savepoint forces nothing, and neither does a commit
     * of what changes nothing then. What is to survive is forced when it is committed, or by {@link DerbyDatabase} for all.
     */
    private void unforced(Rollback rollback) throws StandardException {
        forgetLostNested();
        rollingBack = true;
        undoesUnforced = !dataDictionaryInWriteMode();
        try {
            rollback.run();
        } finally {
            undoesUnforced = false;
            rollingBack = false;
        }
    }

    @Override
    public TransactionController getTransactionExecute() {
        TransactionController store = super.getTransactionExecute();
        return undoesUnforced ? undoing(store) : store;
    }

    /** The store's transaction, but for the abort that is about to be called. */
    private TransactionController undoing(TransactionController store) {
        InvocationHandler handler = (proxy, method, arguments) -> {
            if (method.getName().equals("abort")) {
                abortUnforced(store);
                return null;
            }
            try {
                return method.invoke(store, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        return (TransactionController) Proxy.newProxyInstance(
                ReflectedConnection.class.getClassLoader(), new Class<?>[] {TransactionController.class}, handler);
    }

    private void abortUnforced(TransactionController store) throws StandardException {
        if (undoToStart(store)) {
            store.commitNoSync(TransactionController.RELEASE_LOCKS);
        }
        DerbyFields.forgetUnforcedCommit(((TransactionManager) store).getRawStoreXact());
        store.abort();
    }

    /** False if the savepoint is not there: it came after one of the client's, and ended with that. */
    private boolean undoToStart(TransactionController store) throws StandardException {
        if (!startSaved || transaction == null) {
            return false;
        }
        try {
            store.rollbackToSavePoint(START, true, null);
            return true;
        } catch (StandardException e) {
            if (SQLState.XACT_SAVEPOINT_NOT_FOUND.equals(e.getMessageId())) {
                return false;
            }
            throw e;
        }
    }

    /** Rolls back while the commit waits for its answer, in the client's thread. */
    void undo() throws StandardException {
        hadTemporaryTables = DerbyFields.hasTemporaryTables(this);
        unforced(super::internalRollback);
        startSaved = false;
        schemaChanged = false;
        inTurn = false;
    }

    /** Commits in the store, in the calling thread, while the client's thread waits in {@link #doCommit}. */
    void commitInStore(@Nullable StoredPosition position, boolean durable, boolean byUser) throws StandardException {
        BorrowedContext borrowed = new BorrowedContext(getContextManager());
        try {
            if (position != null) {
                storing(() -> database().positions().store(getTransactionExecute(), position));
            }
            // Derby lets others see a schema change only after a commit that is on disk.
            boolean sync = durable || dataDictionaryInWriteMode();
            commitThenTellDictionary(
                    true, sync, NO_XA, byUser); // by any other flag Derby drops the session's temporary tables
        } finally {
            borrowed.close();
        }
    }

    /** Writes what is GORDA's own, and wins against those who read it. */
    <E extends Exception> void storing(Storing<E> action) throws E {
        storesPosition = true;
        try {
            action.store();
        } finally {
            storesPosition = false;
        }
    }

    interface Storing<E extends Exception> {
        void store() throws E;
    }

    /**
     * Commits, and only then tells the dictionary that it is over. Derby tells it before, upon which the dictionary forgets what it keeps
     * in memory and writes back values of sequences that it has not given; if it does not get the locks for that, it rolls back the
     * transaction that is being committed, and the commit goes on with nothing in it.
     *
     * @throws StandardException also if Derby rolled back by itself, which nobody may take for a commit
     */
    private void commitThenTellDictionary(boolean commitStore, boolean sync, int flag, boolean byUser)
            throws StandardException {
        dictionaryWaits = true;
        rolledBackInside = false;
        try {
            super.doCommit(commitStore, sync, flag, byUser);
            if (rolledBackInside) {
                throw StandardException.plainWrapException(
                        new IllegalStateException("Derby rolled back the transaction that it was committing"));
            }
        } finally {
            dictionaryWaits = false;
            if (dictionaryIsToBeTold) {
                dictionaryIsToBeTold = false;
                tellDictionary();
            }
        }
    }

    private void tellDictionary() throws StandardException {
        DerbyDatabase database = factory.reflected();
        if (database == null) {
            super.getDataDictionary().transactionFinished();
        } else {
            database.schemaChangeEnded(this);
        }
    }

    /** Whether the calling thread is committing. */
    boolean isCommittingInStore() {
        return dictionaryWaits;
    }

    /** Asked by the dictionary, before it takes note of the end of this connection's transaction. */
    boolean tellsDictionaryLater() {
        dictionaryIsToBeTold |= dictionaryWaits;
        return dictionaryWaits;
    }

    /** Besides by a commit, called when a distributed transaction is prepared. */
    @Override
    public void checkIntegrity() throws StandardException {
        if (!committing && transaction != null) {
            throw noDistributedTransactions();
        }
        super.checkIntegrity();
    }

    private static DerbyRefusal noDistributedTransactions() {
        return DerbyRefusal.unsupported("distributed transactions (XA) cannot be replicated: use a plain connection");
    }

    @Override
    public void internalRollback() throws StandardException {
        rolledBackInside = true;
        unforced(super::internalRollback);
        rolledBack();
    }

    @Override
    public void userRollback() throws StandardException {
        if (PriorityLockFactory.isHelping() && refusal == null) {
            // The client has met it meanwhile, and what is open now is another transaction.
            return;
        }
        aborted |= isAbort();
        unforced(super::userRollback);
        rolledBack();
    }

    private static boolean isAbort() {
        return StackWalker.getInstance()
                .walk(frames -> frames.limit(FRAMES_TO_ABORT)
                        .anyMatch(frame -> frame.getClassName().equals(ABORT)));
    }

    @Override
    public void xaRollback() throws StandardException {
        super.xaRollback();
        rolledBack();
    }

    @Override
    public void beginNestedTransaction(boolean readOnly) throws StandardException {
        forgetLostNested();
        super.beginNestedTransaction(readOnly);
    }

    /** Derby leaves the transaction in which it looks up a statement of the catalogue if that fails. Of its context an error's clean-up has disposed already. */
    private void forgetLostNested() {
        if (getContextManager().getContext(AccessFactoryGlobals.RAMXACT_CHILD_CONTEXT_ID) == null) {
            DerbyFields.destroyNested(this);
        }
    }

    /** Whether the calling thread is rolling back. */
    boolean isRollingBack() {
        return rollingBack;
    }

    @Override
    public void cleanupOnError(Throwable error) throws StandardException {
        forgetLostNested();
        rollingBack = true;
        try {
            super.cleanupOnError(error);
        } finally {
            rollingBack = false;
        }
        boolean endsSession = !(error instanceof StandardException known)
                || known.getSeverity() >= ExceptionSeverity.SESSION_SEVERITY;
        if (endsSession) {
            rolledBack();
            DerbyDatabase database = factory.reflected();
            if (database != null) {
                database.sessionEnded(this);
                if (error instanceof StandardException derby
                        && derby.getSeverity() >= ExceptionSeverity.DATABASE_SEVERITY) {
                    database.failed(derby);
                }
            }
            locks.forget(this);
        }
    }

    /** The next statement is the first of another transaction, and cursors may go on. */
    private void beginAnew() {
        startSaved = false;
        begunAt = NOT_BEGUN;
        forgetClosedCursors();
        if (holders.isEmpty()) {
            reads.clear();
        }
        readsUntold = false;
    }

    private void forgetClosedCursors() {
        holders.removeIf(activation -> {
            ResultSet rows = activation.getResultSet();
            return rows == null || rows.isClosed();
        });
    }

    private void rolledBack() {
        holders.clear();
        beginAnew();
        LocalTransaction open = transaction;
        if (open != null) {
            ended(open, false);
        }
        locks.ended(this);
    }

    private void ended(LocalTransaction open, boolean committed) {
        synchronized (this) {
            if (open != transaction) {
                return; // another thread, which aborts the connection, was first
            }
            transaction = null;
        }
        schemaChanged = false;
        inTurn = false;
        savepoints.clear();
        statementMarks.clear();
        generated.clear();
        generators.clear();
        WriteSetWriter out = writer;
        if (out != null) {
            out.clear();
        }
        DerbyDatabase database = factory.reflected();
        if (database != null) {
            database.closed(open);
            database.listener().ended(open, committed);
        }
    }

    // ------------------------------------------------------------------------------------- dictionary, generated names

    @Override
    public DataDictionary getDataDictionary() {
        DerbyDatabase database = factory.reflected();
        return database == null ? super.getDataDictionary() : database.dictionary();
    }

    /** Derby asks for a name that it generates: keeps what it got, or gives it what the origin got. */
    String generatedName(String derbysOwn) {
        List<String> given = namesToGive;
        if (given != null) {
            if (given.isEmpty()) {
                throw new IllegalStateException("a schema change needs more generated names here than at its origin");
            }
            return given.remove(0);
        }
        String spare = nameForExecution;
        if (spare != null) {
            nameForExecution = null;
            return spare;
        }
        DerbyDatabase database = factory.reflected();
        if (database != null && compiler() instanceof CompilerContext compiler) {
            compiledNames.add(derbysOwn);
            Object statement = DerbyFields.compiled(compiler);
            if (statement != null) {
                database.generatedNames(statement, compiledNames);
            }
        }
        return derbysOwn;
    }

    private @Nullable Context compiler() {
        return getContextManager().getContext(CompilerContext.CONTEXT_ID);
    }

    /** Derby begins to compile a statement, or something within one. Others may execute it as soon as it is compiled. */
    @Override
    public CompilerContext pushCompilerContext(@Nullable SchemaDescriptor schema) {
        if (!(compiler() instanceof CompilerContext outer && outer.getInUse())) {
            compiledNames.clear();
        }
        return super.pushCompilerContext(schema);
    }

    // ------------------------------------------------------------------------------------------------- the applier's

    /** Whether this is one of GORDA's own connections. */
    boolean isOurs() {
        return applies;
    }

    /** Makes this one of GORDA's own connections, with the rights of the database's owner. */
    void applies() {
        applies = true;
        actAs(getDataDictionary().getAuthorizationDatabaseOwner(), null);
    }

    /** From now on what is done is done by that user in that role. */
    void actAs(String user, @Nullable String role) {
        actingUser = user;
        actingRole = role;
    }

    @Override
    public String getCurrentUserId(Activation activation) {
        String user = actingUser;
        return user == null ? super.getCurrentUserId(activation) : user;
    }

    @Override
    public @Nullable String getCurrentRoleId(Activation activation) {
        return actingUser == null ? super.getCurrentRoleId(activation) : actingRole;
    }

    /** The names that the next schema change gets instead of generated ones. */
    void giveNames(@Nullable List<String> names) {
        namesToGive = names == null ? null : new ArrayList<>(names);
    }

    // -------------------------------------------------------------------------- for the locks, from several threads

    CompatibilitySpace lockSpace() {
        return getTransactionExecute().getLockSpace();
    }

    @Nullable
    Refusal refusal() {
        return refusal;
    }

    /**
     * Refuses what comes next in the transaction. A commit that waits for the group's decision is refused no more: losing it is not
     * for this replica alone to decide.
     *
     * @param only the transaction that must be open; null if none may be
     * @return false if there is another one, if it is too late, or if it was refused already
     */
    synchronized boolean refuse(@Nullable LocalTransaction only, Refusal next) {
        LocalTransaction open = transaction;
        if (refusal != null || open != only || (open != null && open.commit() != null)) {
            return false;
        }
        refusal = next;
        return true;
    }

    /** From now on the commit waits for its answer. */
    private void suspend(LocalTransaction open, LocalCommit commit) throws StandardException {
        synchronized (this) {
            if (refusal == null) {
                open.commit(commit);
                return;
            }
        }
        open.checkNotAborted();
    }

    /** False if there was none. */
    synchronized boolean clearRefusal() {
        boolean had = refusal != null;
        refusal = null;
        return had;
    }

    void beginWait() {
        synchronized (waitGuard) {
            waiting = Thread.currentThread();
        }
    }

    void endWait() {
        synchronized (waitGuard) {
            waiting = null;
            if (waitInterrupted) {
                waitInterrupted = false;
                Thread.interrupted();
            }
        }
    }

    /** Whether the client's thread waits for a lock, or for what its replica or others do. */
    boolean isWaiting() {
        synchronized (waitGuard) {
            return waiting != null;
        }
    }

    // ------------------------------------------------------------------------------------------ what its client gives

    /** The client's thread is about to read from a stream of its client. It is within a statement, but at nothing in Derby's store. */
    void beginReading() {
        synchronized (readGuard) {
            readingSince = System.nanoTime();
            readingIn = transaction;
            readingDepth = BorrowedContext.depth(getContextManager());
        }
    }

    /** Waits while another thread rolls back. */
    void endReading() {
        synchronized (readGuard) {
            readingSince = null;
        }
    }

    /** Nothing of the statement may be changed once its transaction is over. */
    void requireReading() throws StandardException {
        locks.throwIfRefused(this);
        synchronized (readGuard) {
            if (transaction != readingIn) {
                throw new DerbyRefusal(new Refusal(
                        Refusal.Cause.CONFLICT,
                        "the transaction was rolled back while a stream of its client was read: run it again"));
            }
        }
    }

    /**
     * Rolls back what is refused where its client's thread is held up by a stream that gives nothing, in the calling thread, which is a helper's. The client is told
     * when it goes on.
     *
     * @return whether that is done, or nothing is refused any more; otherwise the thread reads no stream
     */
    boolean rollBackWhileReading() throws StandardException {
        while (refusal != null) {
            synchronized (readGuard) {
                Long since = readingSince;
                if (since == null) {
                    return false;
                }
                if (System.nanoTime() - since > READ_NANOS_MAX
                        && BorrowedContext.depth(getContextManager()) == readingDepth) {
                    BorrowedContext borrowed = new BorrowedContext(getContextManager());
                    try {
                        internalRollback();
                    } finally {
                        borrowed.close();
                    }
                    return true;
                }
            }
            LockSupport.parkNanos(GLANCE_NANOS);
        }
        return true;
    }

    /**
     * Wakes the client's thread if it waits for a lock and has a refusal to meet. It may have met that meanwhile, and wait in its next transaction: to Derby,
     * that wait would be interrupted by somebody else, which ends the connection and leaves its thread interrupted.
     */
    void interruptWait() {
        synchronized (waitGuard) {
            Thread thread = waiting;
            if (thread != null && refusal != null) {
                waitInterrupted = true;
                thread.interrupt();
            }
        }
    }
}
