package org.gorda.jdbc;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.jdbc.EngineConnection.Effect;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection to a group of replica processes: the engine's own connection to the primary, or to a backup while it is
 * read-only, with what the group adds. Only what differs is overridden; all else goes to the engine's driver by reflection.
 *
 * <p>Transactions are committed under a name of the client's: should the answer be lost, the other replicas are asked for the
 * outcome, and the application learns it.
 *
 * <p>Thread-safe as engines' drivers are: what changes something and its commit are not parted by another thread, which waits; {@code abort}
 * and {@link #abandonUnless} wait for nobody.
 */
final class ClusterConnection implements InvocationHandler {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterConnection.class);

    private static final Duration OUTCOME_WAIT = Duration.ofSeconds(30);
    private static final long LOGIN_PAUSE_MILLIS_MAX = 250;

    /** So long a session is waited for whose replica does not tell of itself. */
    private static final int SILENT_SECONDS_MAX = 1;

    /** How pools put a connection in order that they take back. */
    private static final Set<String> RESETS = Set.of(
            "clearWarnings",
            "rollback",
            "setAutoCommit",
            "setCatalog",
            "setHoldability",
            "setReadOnly",
            "setSchema",
            "setTransactionIsolation");

    /** What is about the transaction, which one thread executes and commits at a time. */
    private static final Set<String> OF_TRANSACTION = Set.of(
            "close",
            "commit",
            "isValid",
            "releaseSavepoint",
            "rollback",
            "setAutoCommit",
            "setHoldability",
            "setNetworkTimeout",
            "setReadOnly",
            "setSavepoint",
            "setSchema",
            "setTransactionIsolation");

    private static final Set<String> OWN_WHEN_CLOSED =
            Set.of("close", "equals", "hashCode", "isClosed", "isValid", "toString");

    private final ClusterMonitor monitor;
    private final ClusterUrl url;
    private final Connection proxy;
    private final SessionId session = SessionId.of(UUID.randomUUID());
    private final ReentrantLock transaction = new ReentrantLock();

    private final EngineConnection physical;
    private final NodeInfo node;
    private volatile @Nullable EngineConnection reader;
    private long lastNumber;
    private boolean autoCommit = true;
    private volatile boolean readOnly;

    /** Whether anything was executed since the last commit or rollback: the engine's driver forgets it with a lost connection. */
    private boolean executed;

    /** Whether that was more than queries, which change nothing; in no autocommit mode. */
    private boolean changed;

    /** Whether the application has the engine's own object, by which it may do anything. */
    private boolean unwrapped;

    /** Whether something may have been set that is not in the reading connection. */
    private boolean hasSet;

    /** Whether something may have been set in the reading connection alone. */
    private boolean readerHasSet;

    /** A place in the order: what was read elsewhere is up to there. */
    private long seen;

    /** The place in the order that the last reader did not show in time; 0 if it did. */
    private long missed;

    /** The statement in autocommit mode whose rows are still open, and with them its transaction. */
    private @Nullable Statement unfinished;

    /** Lost in a commit of which the application knows that it happened: a pool may put it in order and take it back. */
    private boolean settled;

    private volatile boolean closed;
    private volatile @Nullable SQLException broken;

    private ClusterConnection(ClusterMonitor monitor, ClusterUrl url, NodeInfo node, EngineConnection physical) {
        this.monitor = monitor;
        this.url = url;
        this.node = node;
        this.physical = physical;
        this.proxy = (Connection) Proxy.newProxyInstance(
                ClusterConnection.class.getClassLoader(), new Class<?>[] {Connection.class}, this);
    }

    /** Why nobody waits any longer. */
    private static String within(Duration wait) {
        return Thread.currentThread().isInterrupted()
                ? ", as the thread is interrupted"
                : " within " + wait.toSeconds() + " s";
    }

    /** Opens a connection to the primary, looking for it as long as the URL allows. */
    static Connection open(ClusterMonitor monitor, ClusterUrl url) throws SQLException {
        long end = System.nanoTime() + url.connectTimeout().toNanos();
        SQLException last = null;
        for (int failures = 0; ; failures++) {
            pause(failures);
            long left = end - System.nanoTime();
            NodeInfo primary =
                    left <= 0 ? null : monitor.primary(Duration.ofNanos(left)).orElse(null);
            String conflict = primary == null ? monitor.conflict() : null;
            if (conflict != null) {
                throw new SQLNonTransientConnectionException(conflict, "08004", last);
            }
            if (primary == null) {
                throw new SQLNonTransientConnectionException(
                        "no primary" + within(url.connectTimeout()) + ": " + monitor.describe()
                                + (last == null ? "" : "; the last attempt failed: " + last.getMessage()),
                        "08001",
                        last);
            }
            try {
                EngineConnection physical = ClusterLogin.connect(
                        primary,
                        false,
                        url,
                        monitor.tls(),
                        Duration.ofNanos(left),
                        () -> isSucceeded(monitor, primary));
                if (monitor.hold(primary)) {
                    ClusterConnection opened = new ClusterConnection(monitor, url, primary, physical);
                    monitor.register(opened);
                    return opened.proxy;
                }
                closeSocket(physical);
                last = changedHands(primary);
                monitor.search();
            } catch (SQLException e) {
                if (Translation.isRejection(e)) {
                    throw e;
                }
                last = e;
                monitor.search();
            }
        }
    }

    /** Who answers there now may be of another group. */
    private static SQLException changedHands(NodeInfo replica) {
        return new SQLNonTransientConnectionException(
                "replica " + replica.node() + " is gone, or is not on history " + replica.history() + " any more",
                "08006");
    }

    /** Before the next login, the longer the more have failed; none if the thread is interrupted. */
    private static void pause(int failures) {
        long millis = failures == 0 ? 0 : Math.min(LOGIN_PAUSE_MILLIS_MAX, 8L << Math.min(failures, 10));
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private static boolean isSucceeded(ClusterMonitor monitor, NodeInfo replica) {
        if (replica.everywhere()) {
            return !monitor.answers(replica);
        }
        return monitor.primary(Duration.ZERO)
                .filter(primary ->
                        primary.epoch() > replica.epoch() || !primary.history().equals(replica.history()))
                .filter(primary -> !primary.node().equals(replica.node()))
                .isPresent();
    }

    // --------------------------------------------------------------------------------------------------- connection

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        boolean isAlone = isAlone(method);
        if (isAlone) {
            transaction.lock();
        }
        try {
            return dispatch(self, method, arguments);
        } catch (SQLException e) {
            if (method.getName().equals("setClientInfo") && !(e instanceof SQLClientInfoException)) {
                throw new SQLClientInfoException(e.getMessage(), e.getSQLState(), e.getErrorCode(), Map.of(), e);
            }
            throw e;
        } finally {
            if (isAlone) {
                transaction.unlock();
            }
        }
    }

    /** Where rows are of no transaction there is nothing to be committed by closing: as the engine's driver, at once. */
    private boolean isAlone(Method method) {
        String name = method.getName();
        return OF_TRANSACTION.contains(name) && (!name.equals("close") || physical.readsRowsInTransaction());
    }

    private @Nullable Object dispatch(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        if (settled && RESETS.contains(method.getName()) && !isToSavepoint(method, arguments)) {
            return null;
        }
        if (isJustClosed(method)) {
            return reflect(physical.jdbc(), method, arguments);
        }
        return switch (method.getName()) {
            case "equals" -> arguments != null && self == arguments[0];
            case "hashCode" -> System.identityHashCode(self);
            case "toString" -> "connection to " + active().replica().node() + " of " + String.join(",", url.nodes());
            case "commit" -> commit();
            case "setAutoCommit" -> setAutoCommit(arguments != null && Boolean.TRUE.equals(arguments[0]));
            case "getAutoCommit" -> ifOpen(autoCommit);
            case "setReadOnly" -> setReadOnly(arguments != null && Boolean.TRUE.equals(arguments[0]));
            case "isReadOnly" -> ifOpen(readOnly);
            case "close" -> close();
            case "isClosed" -> closed || broken != null || physical.jdbc().isClosed();
            case "isValid" -> isValid(arguments == null ? 0 : (Integer) arguments[0]);
            case "abort" -> abort(arguments == null ? null : arguments[0]);
            case "rollback" -> rollback(method, arguments);
            case "setTransactionIsolation" -> setIsolation(method, arguments);
            case "setSchema" -> setForActive(method, arguments);
            case "setHoldability", "setNetworkTimeout" -> setForBoth(method, arguments);
            case "unwrap", "isWrapperFor" -> unwrap(method, arguments);
            default -> delegate(method, arguments);
        };
    }

    /** In order, as the application wanted; the engine's driver says so itself, call by call. */
    private boolean isJustClosed(Method method) {
        return closed && broken == null && !OWN_WHEN_CLOSED.contains(method.getName());
    }

    private static boolean isToSavepoint(Method method, Object @Nullable [] arguments) {
        return method.getName().equals("rollback") && arguments != null;
    }

    /** What the application has of this. */
    Connection proxy() {
        return proxy;
    }

    private @Nullable Object delegate(Method method, Object @Nullable [] arguments) throws Throwable {
        checkOpen();
        EngineConnection active = active();
        Object result = call(active, active.jdbc(), method, arguments);
        if (result instanceof Statement statement) {
            String text = arguments != null && arguments.length > 0 && arguments[0] instanceof String sql ? sql : "";
            return new ClusterStatement(this, active, statement, text).proxy();
        }
        return result instanceof DatabaseMetaData metaData
                ? new ClusterMetaData(this, active, metaData).as(DatabaseMetaData.class)
                : result;
    }

    private EngineConnection active() {
        EngineConnection reading = reader;
        return readOnly && reading != null ? reading : physical;
    }

    /** Whether this is where the connection writes. */
    boolean writesBy(EngineConnection engine) {
        return engine == physical;
    }

    private void checkOpen() throws SQLException {
        SQLException reason = broken;
        if (reason != null) {
            throw new SQLNonTransientConnectionException(reason.getMessage(), reason.getSQLState(), reason);
        }
        if (closed) {
            throw new SQLNonTransientConnectionException("the connection is closed", "08003");
        }
    }

    private <T> T ifOpen(T value) throws SQLException {
        checkOpen();
        return value;
    }

    /**
     * Calls the engine's driver; what it throws is translated, and remembered if it ends the connection.
     *
     * @param engine which connection of the driver's the target is of
     */
    @Nullable
    Object call(EngineConnection engine, Object target, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return reflect(target, method, arguments);
        } catch (SQLException e) {
            throw failed(engine, e);
        }
    }

    private static @Nullable Object reflect(Object target, Method method, Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    /** Calls as {@link #call} for what the last execution has left: where that is known to be committed, what is lost with the connection is not told as if it were not. */
    @Nullable
    Object callAboutLast(EngineConnection engine, Object target, Method method, Object @Nullable [] arguments)
            throws Throwable {
        try {
            return call(engine, target, method, arguments);
        } catch (SQLException e) {
            throw settled && Translation.endsConnection(e)
                    ? new SQLNonTransientConnectionException(
                            "what was executed last is committed, and what is asked for about it was lost with the connection: "
                                    + e.getMessage(),
                            "08007",
                            e)
                    : e;
        }
    }

    private SQLException failed(EngineConnection engine, SQLException failure) {
        if (closed && broken == null) {
            return failure;
        }
        SQLException translated = Translation.translate(autoCommit ? failure : engine.meaning(failure));
        if (Translation.endsConnection(translated)) {
            if (translated == failure) {
                // Only the engine's driver has spoken: what is known of the replicas says more.
                translated = new SQLNonTransientConnectionException(
                        "the connection to replica " + engine.replica().node() + " was lost (" + failure.getMessage()
                                + "); " + monitor.describe(engine.replica().node()),
                        failure.getSQLState(),
                        failure);
            }
            if (engine == physical || engine == active()) {
                breakDown(translated);
            } else {
                drop(engine);
            }
        } else if (!readOnly && engine == physical && isWriteOnBackup(failure)) {
            // The replica is the primary no more, and the URL promises the primary: go and find it.
            translated = new SQLNonTransientConnectionException(
                    "replica " + node.node() + " is not the primary any more: " + translated.getMessage(),
                    "08006",
                    failure);
            breakDown(translated);
        }
        return translated;
    }

    /** A batch tells what failed only in what follows it. */
    private boolean isWriteOnBackup(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if (physical.isOfBackup(e)) {
                return true;
            }
        }
        return false;
    }

    /** Nobody reads there now: it does not matter to what is written. */
    private void drop(EngineConnection lost) {
        if (lost == reader) {
            reader = null;
        }
        closeSocket(lost);
    }

    private void breakDown(SQLException reason) {
        synchronized (monitor) {
            if (broken != null) {
                return;
            }
            broken = reason;
        }
        monitor.forget(this);
        monitor.search();
        closeSocket(physical);
        EngineConnection reading = reader;
        if (reading != null) {
            closeSocket(reading);
        }
    }

    private @Nullable Void commit() throws SQLException {
        checkOpen();
        finishRows();
        EngineConnection reading = reader;
        if (reading != null && reading.inTransaction()) {
            try {
                reading.jdbc().commit();
            } catch (SQLException e) {
                failedAtReader(reading, e);
            }
        }
        try {
            if (autoCommit) {
                physical.jdbc().commit(); // as the engine has it
                return null;
            }
        } catch (SQLException e) {
            throw failed(physical, e);
        }
        boolean open = physical.inTransaction();
        if (!open) {
            checkNotLost();
        }
        if (open || executed) {
            commitOpen();
        }
        return null;
    }

    private void commitOpen() throws SQLException {
        if (changed) {
            commitNamed();
        } else {
            commitReads();
        }
    }

    /** What has only read needs no name: whether the commit happened or not, it can be run again. */
    private void commitReads() throws SQLException {
        try {
            physical.jdbc().commit();
            executed = false;
        } catch (SQLException e) {
            SQLException translated = failed(physical, e);
            throw Translation.endsConnection(translated)
                    ? runAgain(
                            "the connection to the primary was lost; this transaction has only read: run it again", e)
                    : translated;
        }
    }

    /** @param lost by which a pool knows that the connection is of no use */
    private static SQLException runAgain(String message, SQLException lost) {
        SQLException aborted = new SQLTransactionRollbackException(message, "40001", lost);
        aborted.setNextException(lost);
        return aborted;
    }

    /** The engine's driver has no transaction on a connection that it found to be lost; committed is nothing then. */
    private void checkNotLost() throws SQLException {
        boolean lost;
        try {
            lost = physical.jdbc().isClosed();
        } catch (SQLException e) {
            throw failed(physical, e);
        }
        if (lost) {
            SQLException reason = new SQLNonTransientConnectionException(
                    "the connection to replica " + node.node()
                            + " was lost before the commit: the transaction did not happen",
                    "08006");
            breakDown(reason);
            throw reason;
        }
    }

    private @Nullable Object rollback(Method method, Object @Nullable [] arguments) throws Throwable {
        EngineConnection reading = reader;
        if (arguments != null) {
            return delegate(method, arguments);
        }
        checkOpen();
        if (reading != null && reading.inTransaction()) { // else it would be asked, and may be frozen
            try {
                reading.jdbc().rollback();
            } catch (SQLException e) {
                failedAtReader(reading, e);
            }
        }
        call(physical, physical.jdbc(), method, null);
        executed = false;
        changed = unwrapped;
        if (unfinished != null) {
            unfinished = null;
            autoCommitAgain();
        }
        return null;
    }

    /** What drivers keep themselves. */
    private @Nullable Object setForBoth(Method method, Object @Nullable [] arguments) throws Throwable {
        checkOpen();
        EngineConnection reading = reader;
        if (reading != null) {
            try {
                reflect(reading.jdbc(), method, arguments);
            } catch (SQLException e) {
                failedAtReader(reading, e);
            }
        }
        return call(physical, physical.jdbc(), method, arguments);
    }

    /** Holds for the other connection, too, as soon as that is the active one. */
    private @Nullable Object setForActive(Method method, Object @Nullable [] arguments) throws Throwable {
        checkOpen();
        EngineConnection active = active();
        sets(active == physical);
        return call(active, active.jdbc(), method, arguments);
    }

    /** Its loss does not matter to what is written if nobody reads there now: the next reader is set as this connection is. */
    private void failedAtReader(EngineConnection reading, SQLException failure) throws SQLException {
        SQLException translated = failed(reading, failure);
        if (readOnly || !Translation.endsConnection(translated)) {
            throw translated;
        }
    }

    /** If the engine commits when this is set, better by name. */
    private @Nullable Object setIsolation(Method method, Object @Nullable [] arguments) throws Throwable {
        checkOpen();
        finishRows();
        commitBefore();
        return settled ? null : setForActive(method, arguments);
    }

    /** What is open, if the engine would commit it, under no name, before the isolation is set. */
    private void commitBefore() throws SQLException {
        if (!autoCommit && physical.commitsBySettingIsolation() && physical.inTransaction()) {
            commitOpen();
        }
    }

    /** Commits under a name; an answer that is lost is asked for at the other replicas. */
    private void commitNamed() throws SQLException {
        TransactionId id = new TransactionId(session, ++lastNumber);
        long since = monitor.orderedIndex();
        try {
            physical.commitAs(id);
            executed = false;
            changed = unwrapped;
        } catch (SQLException e) {
            SQLException translated = failed(physical, e);
            if (!Translation.endsConnection(translated)) {
                throw translated;
            }
            if (Translation.isWithoutMajority(e)) {
                throw new SQLNonTransientConnectionException(
                        translated.getMessage() + "; transaction " + id + " did not happen",
                        translated.getSQLState(),
                        translated);
            }
            resolve(id, since, translated);
        } catch (RuntimeException e) {
            // The engine's driver does not know any more what it is answered.
            SQLException lost = new SQLNonTransientConnectionException(
                    "the engine's driver has failed in a commit (" + e + ")", "08006", e);
            breakDown(lost);
            resolve(id, since, lost);
        }
    }

    private void resolve(TransactionId id, long since, SQLException cause) throws SQLException {
        String outcome = monitor.outcome(id, since, node.history(), OUTCOME_WAIT);
        LOG.info("the answer to the commit of {} was lost ({}); its outcome is {}", id, cause.getMessage(), outcome);
        if ("COMMITTED".equals(outcome)) {
            settled = true;
            return;
        }
        if ("ABORTED".equals(outcome)) {
            throw runAgain(
                    "the connection to the primary was lost; transaction " + id + " did not happen: run it again",
                    cause);
        }
        throw new SQLNonTransientConnectionException(
                "whether transaction " + id + " is committed could not be found out" + within(OUTCOME_WAIT) + ": "
                        + monitor.describe(),
                "08007",
                cause);
    }

    private @Nullable Void setAutoCommit(boolean value) throws SQLException {
        checkOpen();
        finishRows();
        if (value == autoCommit) {
            return null;
        }
        if (value) {
            commit();
        }
        autoCommit = value;
        if (settled) {
            return null;
        }
        if (!value && physical.hasOwnTransaction()) { // which goes on
            executed = true;
            changed = true;
        }
        try {
            physical.jdbc().setAutoCommit(value);
        } catch (SQLException e) {
            throw failed(physical, e);
        }
        EngineConnection reading = reader;
        if (reading != null) {
            try {
                reading.jdbc().setAutoCommit(value);
            } catch (SQLException e) {
                failedAtReader(reading, e);
            }
        }
        return null;
    }

    private @Nullable Void setReadOnly(boolean value) throws SQLException {
        checkOpen();
        if (value == readOnly) {
            return null;
        }
        if ((!autoCommit || active().hasOwnTransaction()) && active().inTransaction()) {
            throw new SQLException("a connection cannot become read-only, or cease to be, in a transaction", "25001");
        }
        finishRows();
        if (value) {
            bringReader();
            if (url.sessionReads()) {
                bringUpReader();
            }
        } else {
            bringBack();
        }
        readOnly = value; // not before: until then the loss of the reader does not matter to what is written
        return null;
    }

    private void bringReader() throws SQLException {
        EngineConnection reading = reader;
        if (reading != null && !isToStay(reading)) {
            drop(reading);
            reading = null;
        }
        if (reading == null || hasSet || unwrapped) {
            EngineConnection.Settings settings = settings(physical);
            if (reading != null) {
                try {
                    readWith(reading, settings);
                } catch (SQLException e) {
                    failedAtReader(reading, e);
                }
            }
            if (reader == null) {
                openReader(settings);
            }
        }
        hasSet = false;
    }

    /** Sets a reader as this connection is; what that names may have been made a moment ago, and not be shown there yet. */
    private void readWith(EngineConnection reading, EngineConnection.Settings settings) throws SQLException {
        try {
            reading.readWith(settings);
        } catch (SQLException e) {
            if (Translation.endsConnection(e)) {
                throw e;
            }
            LOG.debug(
                    "replica {} cannot be read as the connection is set",
                    reading.replica().node(),
                    e);
            reading.awaitPosition(wanted(reading));
            reading.readWith(settings);
        }
    }

    /**
     * Whether to go on reading there: not if another history is there by now, nor if it is known not to show what is committed and another replica is that does, nor if the session has ended, which is asked
     * for while that replica does not tell of itself.
     */
    private boolean isToStay(EngineConnection reading) {
        NodeInfo told = monitor.told(reading.replica());
        if (told == null) {
            return isValid(reading, SILENT_SECONDS_MAX);
        }
        if (!told.history().equals(reading.replica().history())) {
            return false;
        }
        return told.isUpToDate()
                || monitor.reader(missed, Duration.ZERO)
                        .filter(NodeInfo::isUpToDate)
                        .isEmpty();
    }

    private EngineConnection.Settings settings(EngineConnection of) throws SQLException {
        try {
            return of.settings();
        } catch (SQLException e) {
            throw failed(of, e);
        }
    }

    /** What was set while it was read-only holds for what is written, too; and what was read, for the next reader. */
    private void bringBack() throws SQLException {
        EngineConnection reading = reader;
        if (reading != null) {
            if (url.sessionReads()) {
                try {
                    seen = Math.max(seen, reading.position());
                } catch (SQLException e) {
                    throw failed(reading, e);
                }
            }
            if (readerHasSet) {
                EngineConnection.Settings settings = settings(reading);
                try {
                    physical.set(settings);
                } catch (SQLException e) {
                    throw failed(physical, e);
                }
            }
        }
        readerHasSet = false;
    }

    /**
     * Has a reader wait until it shows what this connection may have seen or written; one that does not get there in time is left for another the next time, and one
     * that is lost meanwhile at once. Leaves no transaction open.
     */
    private void bringUpReader() throws SQLException {
        long end = System.nanoTime() + url.connectTimeout().toNanos();
        EngineConnection reading = reader;
        while (reading != null) {
            long wanted = wanted(reading);
            try {
                if (wanted > 0) {
                    reading.awaitPosition(wanted);
                }
                return;
            } catch (SQLException e) {
                SQLException told = failed(reading, e);
                missed = wanted;
                drop(reading);
                if (broken != null || !Translation.endsConnection(told) || System.nanoTime() - end > 0) {
                    throw told;
                }
            }
            openReader(settings(physical));
            reading = reader;
        }
    }

    /** The place in the order up to which a reader has to show everything. */
    private long wanted(EngineConnection reading) throws SQLException {
        try {
            boolean isSame = reading.replica().node().equals(node.node());
            return isSame ? seen : Math.max(seen, physical.position());
        } catch (SQLException e) {
            throw failed(physical, e);
        }
    }

    /** Connects to a replica to read from; should that freeze meanwhile, to another. */
    private void openReader(EngineConnection.Settings settings) throws SQLException {
        long end = System.nanoTime() + url.connectTimeout().toNanos();
        SQLException last = null;
        for (int failures = 0; ; failures++) {
            pause(failures);
            long left = end - System.nanoTime();
            NodeInfo info = left <= 0
                    ? null
                    : monitor.reader(missed, Duration.ofNanos(left)).orElse(null);
            if (info == null) {
                throw new SQLNonTransientConnectionException(
                        "no replica to read from" + within(url.connectTimeout()) + ": " + monitor.describe(),
                        "08001",
                        last);
            }
            EngineConnection opened = null;
            try {
                opened = ClusterLogin.connect(
                        info, true, url, monitor.tls(), Duration.ofNanos(left), () -> !monitor.answers(info));
                reader = opened; // from here on it is ended should the replica fall silent
                if (!monitor.hold(info)) {
                    throw changedHands(info);
                }
                checkOpen(); // who has ended the connection just before has not seen it
                readWith(opened, settings);
                missed = 0;
                return;
            } catch (SQLException e) {
                reader = null;
                if (opened != null) {
                    closeSocket(opened);
                }
                if (broken != null || closed || Translation.isRejection(e)) {
                    throw e;
                }
                last = e;
                monitor.search();
            }
        }
    }

    private boolean isValid(int seconds) throws SQLException {
        if (seconds < 0) {
            return active().jdbc().isValid(seconds); // it says what is wrong with that
        }
        if (closed || broken != null) {
            return false;
        }
        return isValid(active(), seconds);
    }

    private boolean isValid(EngineConnection asked, int seconds) {
        try {
            boolean began = !autoCommit && !asked.inTransaction();
            boolean valid = asked.jdbc().isValid(seconds);
            if (valid && began && asked.inTransaction()) {
                asked.jdbc().rollback(); // of the driver's own question: it would keep the connection from being closed
            }
            return valid;
        } catch (SQLException e) {
            return false;
        }
    }

    private @Nullable Void close() throws SQLException {
        if (closed) {
            return null;
        }
        if (broken != null) {
            closed = true;
            monitor.forget(this);
            closeReader();
            return null;
        }
        try {
            finishRows();
        } finally {
            closeAll();
        }
        return null;
    }

    private void closeAll() throws SQLException {
        try {
            physical.jdbc().close();
        } catch (SQLException e) {
            if ("25001".equals(e.getSQLState())) {
                throw Translation.translate(e); // it stays open, as with the engine
            }
            LOG.debug("closing a connection to {}", node.node(), e);
        }
        closed = true; // first: a reader that is being opened is not seen here, and sees this
        closeReader(); // which waits for a replica that does not answer until the monitor ends that
        monitor.forget(this);
    }

    private void closeReader() {
        EngineConnection reading = reader;
        if (reading != null) {
            try {
                if (broken == null && reading.inTransaction()) {
                    reading.jdbc().rollback();
                }
                reading.jdbc().close();
            } catch (SQLException e) {
                LOG.debug("closing the reading connection", e);
            }
            reader = null;
        }
    }

    private @Nullable Void abort(@Nullable Object executor) throws SQLException {
        if (executor == null) {
            throw new SQLException("abort needs an executor", "XCZ02");
        }
        if (closed) {
            return null;
        }
        closed = true;
        breakDown(new SQLNonTransientConnectionException("the connection was aborted", "08003"));
        return null;
    }

    private @Nullable Object unwrap(Method method, Object @Nullable [] arguments) throws Throwable {
        Class<?> wanted = arguments == null ? Connection.class : (Class<?>) arguments[0];
        boolean own = wanted.isInstance(proxy);
        if (method.getName().equals("isWrapperFor")) {
            return own || physical.jdbc().isWrapperFor(wanted);
        }
        if (own) {
            return proxy;
        }
        Object found = call(physical, physical.jdbc(), method, arguments);
        escaped();
        return found;
    }

    /** The application has an object of the engine's own, and what it does by that is not seen. */
    void escaped() {
        unwrapped = true;
        changed = true;
    }

    /** Another replica is the primary: ends this connection if it goes to an older one, or is of another history. For any thread. */
    void abandonUnless(NodeInfo primary) {
        NodeInfo mine = node;
        if (!primary.history().equals(mine.history())) {
            breakDown(new SQLNonTransientConnectionException(
                    "the group went on with another history, of " + primary.node() + ", than that of this connection",
                    "08006"));
            return;
        }
        boolean otherProtocol = primary.everywhere() != mine.everywhere();
        if (primary.epoch() > mine.epoch() && (otherProtocol || !primary.node().equals(mine.node()))) {
            breakDown(new SQLNonTransientConnectionException(
                    otherProtocol
                            ? primary.everywhere()
                                    ? "every replica takes writes now"
                                    : "only " + primary.node() + " takes writes now"
                            : "the primary changed from " + mine.node() + " to " + primary.node(),
                    "08006"));
        }
    }

    /** A replica answers: ends what goes to an earlier run of it, of which a machine that lost its power has told nobody. For any thread. */
    void abandonRunBefore(NodeInfo now) {
        String reason = " was started again";
        if (node.isEarlierRunOf(now)) {
            breakDown(new SQLNonTransientConnectionException(
                    "replica " + now.node() + ", to which this connection went," + reason, "08006"));
        }
        EngineConnection reading = reader;
        if (reading != null && reading.replica().isEarlierRunOf(now)) {
            abandonReader(reading, reason);
        }
    }

    /** What is being read ends; where nobody reads now, the next reader is another connection. */
    private void abandonReader(EngineConnection reading, String reason) {
        if (readOnly) {
            breakDown(new SQLNonTransientConnectionException(
                    "replica " + reading.replica().node() + ", which this connection reads from," + reason, "08006"));
        } else {
            drop(reading);
        }
    }

    /**
     * A replica does not answer any more: ends the connection if it reads there, or if it executes there and others go on executing; and in any
     * case after as long as one would wait for a new one. For any thread.
     *
     * @param othersAnswer whether a replica answers
     * @param since for how long this one has not
     */
    void abandonSilent(String silent, boolean othersAnswer, Duration since) {
        boolean longEnough = since.compareTo(url.connectTimeout()) > 0;
        if (node.node().equals(silent) && (longEnough || (othersAnswer && node.everywhere()))) {
            breakDown(new SQLNonTransientConnectionException(
                    "replica " + silent + ", to which this connection goes, does not answer", "08006"));
        }
        EngineConnection reading = reader;
        if (reading == null || !reading.replica().node().equals(silent) || !(longEnough || othersAnswer)) {
            return;
        }
        abandonReader(reading, " does not answer");
    }

    private static void closeSocket(EngineConnection connection) {
        try {
            connection.closeSocket();
        } catch (IOException | IllegalStateException e) {
            LOG.warn(
                    "a connection of {} could not be ended at once",
                    connection.replica().node(),
                    e);
        }
    }

    // ---------------------------------------------------------------------------------------------------- executions

    /** What is known of a statement. */
    Effect effect(String sql) {
        return physical.effect(sql);
    }

    /** What is about to be executed may set something in the session, there alone. */
    void sets(boolean atPrimary) {
        hasSet |= atPrimary;
        readerHasSet |= !atPrimary;
    }

    /**
     * Executes a statement at the primary; in autocommit mode under a name, so that a lost answer can be asked for, if it may change something.
     *
     * @param atomic whether nothing is left of it when it fails
     */
    @Nullable
    Object execute(Statement statement, Effect effect, boolean atomic, Method method, Object @Nullable [] arguments)
            throws Throwable {
        transaction.lock();
        try {
            return executeAlone(statement, effect, atomic, method, arguments);
        } finally {
            transaction.unlock();
        }
    }

    private @Nullable Object executeAlone(
            Statement statement, Effect effect, boolean atomic, Method method, Object @Nullable [] arguments)
            throws Throwable {
        checkOpen();
        if (readOnly && effect != Effect.READS && effect != Effect.CALLS) {
            throw new SQLException("the connection is read-only, this statement was made before it was", "25006");
        }
        finishRows();
        if (effect == Effect.OWN) {
            commitBefore();
            if (settled) {
                throw new SQLNonTransientConnectionException(
                        "what was executed before is committed, but the connection was lost with it, and this is not executed",
                        "08007",
                        broken);
            }
        }
        executed |= !autoCommit;
        changed |= !autoCommit && effect != Effect.READS;
        boolean isAlone = autoCommit && !physical.hasOwnTransaction();
        if (isAlone && effect == Effect.CHANGES) {
            return autoCommitted(statement, statement, atomic, method, arguments);
        }
        boolean mayCommit = effect == Effect.OWN || (isAlone && effect != Effect.READS);
        try {
            return call(physical, statement, method, arguments);
        } catch (SQLException e) {
            throw mayCommit && Translation.endsConnection(e) ? unknown(e) : e;
        }
    }

    /** The connection was lost in what commits under no name. */
    private static SQLException unknown(SQLException lost) {
        return new SQLNonTransientConnectionException(
                "whether what was executed last is committed, if it has changed anything, is not known: "
                        + lost.getMessage(),
                "08007",
                lost);
    }

    /**
     * Before the execution of a statement that was made to read elsewhere. Refuses it where the connection writes now, whose transaction it would
     * not belong to; what changes something the session there refuses itself.
     */
    void checkReads() throws SQLException {
        if (!readOnly) {
            throw new SQLException(
                    "this statement was made while the connection was read-only, and would still read elsewhere, outside of this"
                            + " transaction: make it again",
                    "25000");
        }
    }

    /** Changes the row that rows of the primary are at; in autocommit mode, too, it is committed when they are closed. */
    @Nullable
    Object changeRow(Statement statement, ResultSet rows, Method method) throws Throwable {
        transaction.lock();
        try {
            return changeRowAlone(statement, rows, method);
        } finally {
            transaction.unlock();
        }
    }

    private @Nullable Object changeRowAlone(Statement statement, ResultSet rows, Method method) throws Throwable {
        checkOpen();
        if (readOnly) {
            throw new SQLException("the connection is read-only, these rows were read before it was", "25006");
        }
        executed |= !autoCommit;
        changed |= !autoCommit;
        if (autoCommit && !physical.readsRowsInTransaction()) {
            return physical.hasOwnTransaction()
                    ? call(physical, rows, method, null)
                    : autoCommitted(statement, rows, true, method, null);
        }
        if (autoCommit && unfinished != statement) {
            finishRows();
            physical.autoCommit(false);
            unfinished = statement;
        }
        return call(physical, rows, method, null);
    }

    /** @param target of the call: the statement, or rows of it */
    private @Nullable Object autoCommitted(
            Statement statement, Object target, boolean atomic, Method method, Object @Nullable [] arguments)
            throws Throwable {
        int rowsAtOnce = physical.readsRowsInTransaction() ? 0 : statement.getFetchSize();
        physical.autoCommit(false);
        boolean executing = true;
        boolean done = false;
        try {
            if (rowsAtOnce != 0) {
                statement.setFetchSize(0); // so that none is left to be read when it is committed
            }
            Object result = call(physical, target, method, arguments);
            executing = false;
            boolean isRead = Boolean.TRUE.equals(result) || result instanceof ResultSet;
            if (isRead && physical.readsRowsInTransaction()) {
                unfinished = statement; // committed when its rows are closed
            } else {
                commitNamed();
            }
            done = true;
            return result;
        } catch (BatchUpdateException e) {
            executing = false;
            BatchUpdateException thrown = commitRest(e);
            done = true;
            throw thrown;
        } finally {
            if (executing && atomic && physical.outlivesFailures()) {
                endQuietly(physical.jdbc()::commit); // nothing is left of it, and rows of others stay open
            } else if (!done) {
                rollBackQuietly();
            }
            if (unfinished == null) {
                autoCommitAgain();
            }
            if (rowsAtOnce != 0) {
                statement.setFetchSize(rowsAtOnce);
            }
        }
    }

    /** Of a batch, what succeeded is committed, as the engine's driver does; unless the engine has rolled back some of it. */
    private BatchUpdateException commitRest(BatchUpdateException failure) throws SQLException {
        if (!physical.outlivesFailures() || broken != null) {
            rollBackQuietly();
            return failure;
        }
        String state = failure.getSQLState();
        if (state != null && state.startsWith("40")) {
            rollBackQuietly();
            long[] counts = failure.getLargeUpdateCounts();
            Arrays.fill(counts, Statement.EXECUTE_FAILED);
            BatchUpdateException none = new BatchUpdateException(
                    "nothing of the batch happened: " + failure.getMessage(), state, 0, counts, failure);
            none.setNextException(failure.getNextException());
            return none;
        }
        commitNamed();
        return failure;
    }

    /** Rows of a statement were closed or read to the end, or all of them if null is given. */
    void rowsEnded(Statement statement, @Nullable ResultSet rows) throws SQLException {
        transaction.lock();
        try {
            if (statement == unfinished && !physical.hasRowsBeside(statement, rows)) {
                finishRows();
            }
        } finally {
            transaction.unlock();
        }
    }

    /** Ends the transaction of a statement in autocommit mode that returned rows. */
    private void finishRows() throws SQLException {
        if (unfinished == null) {
            return;
        }
        unfinished = null;
        boolean done = false;
        try {
            commitNamed();
            done = true;
        } finally {
            if (!done) {
                rollBackQuietly();
            }
            autoCommitAgain();
        }
    }

    /** What was executed is decided by now, and told as it is. */
    private void autoCommitAgain() {
        endQuietly(() -> physical.autoCommit(true));
    }

    private void rollBackQuietly() {
        endQuietly(physical.jdbc()::rollback);
    }

    private interface End {
        void run() throws SQLException;
    }

    /** What made it necessary is thrown, not what happens here. */
    private void endQuietly(End end) {
        if (broken != null) {
            return;
        }
        try {
            end.run();
        } catch (SQLException e) {
            breakDown(Translation.translate(e));
        }
    }
}
