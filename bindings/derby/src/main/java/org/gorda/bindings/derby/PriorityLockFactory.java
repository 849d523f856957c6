package org.gorda.bindings.derby;

import java.io.Serializable;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.derby.iapi.jdbc.ConnectionContext;
import org.apache.derby.iapi.services.daemon.Serviceable;
import org.apache.derby.iapi.services.locks.C_LockFactory;
import org.apache.derby.iapi.services.locks.CompatibilitySpace;
import org.apache.derby.iapi.services.locks.Latch;
import org.apache.derby.iapi.services.locks.Limit;
import org.apache.derby.iapi.services.locks.LockFactory;
import org.apache.derby.iapi.services.locks.LockOwner;
import org.apache.derby.iapi.services.locks.Lockable;
import org.apache.derby.iapi.services.property.PropertyUtil;
import org.apache.derby.iapi.util.Matchable;
import org.apache.derby.impl.services.locks.ConcurrentPool;
import org.apache.derby.shared.common.error.ShutdownException;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.TransactionListener;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Derby's module that grants locks; one instance per database. Derby's own does the work; this one lets the applier win against
 * local transactions, and ends local transactions from outside, whatever they are doing:
 *
 * <ul>
 *   <li>one that waits for a lock is interrupted, but only while it is in here, so that Derby never sees the interrupt;
 *   <li>one that runs meets its refusal at its next lock request, change or commit;
 *   <li>one that is idle is rolled back by a helper, and its client is told with its next call;
 *   <li>so is one whose client gives a stream that gives nothing, within the call.
 * </ul>
 *
 * <p>Thread-safe.
 */
@SuppressWarnings("rawtypes") // as in Derby's interface
public final class PriorityLockFactory implements LockFactory {

    private static final Logger LOG = LoggerFactory.getLogger(PriorityLockFactory.class);
    private static final int SLICE_MILLIS = 20;
    private static final int HELPERS = 64;

    /**
     * How long Derby's own transactions wait, but for those that a client's statement needs. By one a commit removes what its transaction
     * has dropped, and who still has a lock there may wait for a commit himself, behind this one.
     */
    private static final int OWN_WAIT_MILLIS = 100;

    /** How long who wins waits for a lock that nobody holds who could be rolled back. */
    private static final Duration WINNER_WAIT_MAX = Duration.ofMinutes(1);

    private static final String DEADLOCK_WAIT = "derby.locks.deadlockTimeout";

    /** When Derby looks for deadlocks unless it is told. */
    private static final int DEADLOCK_MILLIS = 20_000;

    /** A client that waits shorter keeps its place in the queue. */
    private static final int WAIT_MILLIS_MIN = 10_000;

    private final LockFactory derby = new ConcurrentPool();
    private final Map<CompatibilitySpace, ReflectedConnection> connections = new ConcurrentHashMap<>();

    /** How many connections have a refusal to meet; while it is 0, a lock request costs one read more. */
    private final AtomicInteger refused = new AtomicInteger();

    /** Several, because one whose connection is in a long call waits for the end of that. */
    private final ExecutorService helpers;

    private volatile @Nullable CompatibilitySpace applier;
    private volatile Supplier<@Nullable RowKey> applied = () -> null;
    private volatile long readGraceNanos;
    private volatile int deadlockMillis = DEADLOCK_MILLIS;

    /** For Derby. */
    public PriorityLockFactory() {
        ThreadPoolExecutor executor =
                new ThreadPoolExecutor(HELPERS, HELPERS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Helper::new);
        executor.allowCoreThreadTimeOut(true);
        helpers = executor;
    }

    /** A thread that rolls back what clients have left open. */
    private static final class Helper extends Thread {
        Helper(Runnable task) {
            super(task, "gorda-derby-rollback");
            setDaemon(true);
        }
    }

    void register(ReflectedConnection connection) {
        connections.put(connection.lockSpace(), connection);
    }

    void forget(ReflectedConnection connection) {
        connections.remove(connection.lockSpace());
        clear(connection);
    }

    /**
     * From now on requests of this connection win.
     *
     * @param row tells, in that connection's thread, which row it is about to change
     */
    void prefer(ReflectedConnection connection, Duration readGrace, Supplier<@Nullable RowKey> row) {
        applied = row;
        applier = connection.lockSpace();
        readGraceNanos = readGrace.toNanos();
    }

    // ---------------------------------------------------------------------------------------------------- refusals

    /** The connection's next lock request, change or commit fails; nothing of what it did waits for the group's decision. */
    void refuseNext(ReflectedConnection connection, Refusal refusal) {
        refuse(connection.localTransaction(), connection, refusal);
    }

    private boolean refuse(@Nullable LocalTransaction only, ReflectedConnection connection, Refusal refusal) {
        // Counted before it can be met, and taken off: nobody may miss one because another was counted late.
        refused.incrementAndGet();
        boolean first = connection.refuse(only, refusal);
        if (!first) {
            refused.decrementAndGet();
        }
        return first;
    }

    private void clear(ReflectedConnection connection) {
        if (connection.clearRefusal()) {
            refused.decrementAndGet();
        }
    }

    void throwIfRefused(ReflectedConnection connection) throws StandardException {
        if (refused.get() == 0) {
            return;
        }
        Refusal refusal = connection.refusal();
        if (refusal != null) {
            if (!refusal.cause().endsTransaction() && !refusal.cause().endsSession()) {
                // Otherwise it stays until the rollback, should Derby try again instead of giving up.
                clear(connection);
            }
            throw new DerbyRefusal(refusal);
        }
    }

    /** Whether the calling thread rolls back for a client. */
    static boolean isHelping() {
        return Thread.currentThread() instanceof Helper;
    }

    /** The connection's transaction has ended. If its client ended it, the client need not be told any more. */
    void ended(ReflectedConnection connection) {
        if (!isHelping()) {
            clear(connection);
        }
    }

    /**
     * Rolls back what the connection has open, whatever it is doing, but for a commit that waits for the group's decision.
     *
     * @param only the transaction it must still have open; null if it had only read
     * @return false if it has another one, or is rolled back already
     */
    boolean roll(@Nullable LocalTransaction only, ReflectedConnection connection, Refusal refusal) {
        boolean rolled = refuse(only, connection, refusal);
        if (rolled) {
            undo(connection);
        }
        return rolled;
    }

    /** Has rolled back what is refused, at once if its client is not within a call. */
    private void undo(ReflectedConnection connection) {
        connection.interruptWait();
        helpers.execute(() -> rollBackIfIdle(connection));
    }

    private void rollBackIfIdle(ReflectedConnection connection) {
        try {
            if (connection.rollBackWhileReading()) {
                return;
            }
            ConnectionContext context =
                    (ConnectionContext) connection.getContextManager().getContext(ConnectionContext.CONTEXT_ID);
            if (context != null) {
                // Waits for the connection's monitor, and so until the client is not within a call.
                nested(context).rollback();
            }
        } catch (SQLException | StandardException | ShutdownException e) {
            LOG.debug("the connection of {} was gone before it was rolled back", connection.getSessionUserId(), e);
        }
    }

    private static Connection nested(ConnectionContext context) throws SQLException {
        try {
            return context.getNestedConnection(true);
        } catch (NullPointerException e) { // Derby's context forgets its connection when that is closed
            throw new SQLException("the connection is closed", "08003", e);
        }
    }

    // ------------------------------------------------------------------------------------------------------- locks

    @Override
    public boolean lockObject(CompatibilitySpace space, Object group, Lockable ref, Object qualifier, int timeout)
            throws StandardException {
        if (refused.get() > 0) {
            meetRefusal(space);
        }
        if (isNested(space)) {
            return derby.lockObject(space, group, ref, qualifier, timeout);
        }
        if (derby.lockObject(space, group, ref, qualifier, C_LockFactory.NO_WAIT)) {
            return true;
        }
        if (timeout == C_LockFactory.NO_WAIT) {
            return false;
        }
        return contended(
                space, ref, qualifier, timeout, slice -> derby.lockObject(space, group, ref, qualifier, slice));
    }

    @Override
    public boolean zeroDurationlockObject(CompatibilitySpace space, Lockable ref, Object qualifier, int timeout)
            throws StandardException {
        if (refused.get() > 0) {
            meetRefusal(space);
        }
        if (isNested(space)) {
            return derby.zeroDurationlockObject(space, ref, qualifier, timeout);
        }
        if (derby.zeroDurationlockObject(space, ref, qualifier, C_LockFactory.NO_WAIT)) {
            return true;
        }
        if (timeout == C_LockFactory.NO_WAIT) {
            return false;
        }
        return contended(
                space, ref, qualifier, timeout, slice -> derby.zeroDurationlockObject(space, ref, qualifier, slice));
    }

    /** Derby's short transactions within another; they mean something of their own by a request that does not wait. */
    private static boolean isNested(CompatibilitySpace space) {
        LockOwner owner = space.getOwner();
        return owner != null && owner.isNestedOwner();
    }

    private void meetRefusal(CompatibilitySpace space) throws StandardException {
        ReflectedConnection connection = connections.get(space);
        if (connection != null) {
            meetRefusal(connection);
        }
    }

    /** A rollback takes locks too, and must not be refused. */
    private void meetRefusal(ReflectedConnection connection) throws StandardException {
        if (!isHelping() && !connection.isRollingBack()) {
            throwIfRefused(connection);
        }
    }

    private interface Attempt {
        boolean lock(int timeoutMillis) throws StandardException;
    }

    private boolean contended(CompatibilitySpace space, Lockable ref, Object qualifier, int timeout, Attempt attempt)
            throws StandardException {
        if (space == applier) {
            return contendedByWinner(null, space, ref, qualifier, attempt, applied);
        }
        ReflectedConnection connection = connections.get(space);
        if (connection == null) {
            connection = ReflectedConnection.current();
            if (connection == null || connection.isCommittingInStore()) {
                return attempt.lock(OWN_WAIT_MILLIS);
            }
            // For instance that by which a statement gets a new page.
        }
        connection.beginWait();
        try {
            // Who refused it before it was known to wait has not woken it.
            meetRefusal(connection);
            return contendedByWinner(connection, space, ref, qualifier, attempt, () -> null)
                    || lockedInTime(attempt, timeout);
        } catch (StandardException e) {
            throwIfRefused(connection);
            throw e;
        } finally {
            connection.endWait();
        }
    }

    /**
     * Derby looks for a deadlock once in each wait. What is one only later, or remains when another one has ended, may not be looked for
     * any more: two were seen that waited for each other until the lock time-out. So long waits are several.
     */
    private boolean lockedInTime(Attempt attempt, int timeout) throws StandardException {
        int wait = timeout == C_LockFactory.TIMED_WAIT ? derby.getWaitTimeout() : timeout;
        if (deadlockMillis < 0 || deadlockMillis > DEADLOCK_MILLIS) {
            return attempt.lock(timeout); // nobody is to look, or so late that there is no second time
        }
        int once = Math.max(WAIT_MILLIS_MIN, deadlockMillis + deadlockMillis / 2);
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(wait);
        long left = wait;
        while (wait < 0 || left > once) {
            try {
                return attempt.lock(once);
            } catch (StandardException e) {
                if (!SQLState.LOCK_TIMEOUT.equals(e.getSQLState())) {
                    throw e;
                }
            }
            left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        }
        return attempt.lock((int) Math.max(1, left));
    }

    /**
     * @param client whose request it is; null if it is the applier's
     * @return false if it did not get the lock while it won, or in time
     */
    private boolean contendedByWinner(
            @Nullable ReflectedConnection client,
            CompatibilitySpace space,
            Lockable ref,
            Object qualifier,
            Attempt attempt,
            Supplier<@Nullable RowKey> row)
            throws StandardException {
        long start = System.nanoTime();
        while (client == null || client.wins()) {
            long waited = System.nanoTime() - start;
            for (ReflectedConnection blocker : blockers(space, ref, qualifier)) {
                if (client == null || (blocker != client && !blocker.isOurs())) {
                    rollBackFor(blocker, waited, row);
                }
            }
            try {
                boolean locked = attempt.lock(SLICE_MILLIS);
                if (locked || waited > WINNER_WAIT_MAX.toNanos()) {
                    return locked;
                }
            } catch (StandardException e) {
                if (!e.isLockTimeoutOrDeadlock() || waited > WINNER_WAIT_MAX.toNanos()) {
                    throw e;
                }
            }
        }
        return false;
    }

    /**
     * Makes way for the applier where no lock would: a schema change that is not committed can take a table away before anyone asks
     * for its lock.
     */
    void rollBackForApplier(Supplier<List<ReflectedConnection>> inTheWay) throws StandardException {
        long end = System.nanoTime() + WINNER_WAIT_MAX.toNanos();
        List<ReflectedConnection> left = inTheWay.get();
        while (!left.isEmpty() && System.nanoTime() < end) {
            left.forEach(blocker -> rollBackFor(blocker, Long.MAX_VALUE, applied));
            try {
                Thread.sleep(SLICE_MILLIS);
            } catch (InterruptedException e) {
                throw StandardException.interrupt(e);
            }
            left = inTheWay.get();
        }
    }

    private void rollBackFor(ReflectedConnection blocker, long waitedNanos, Supplier<@Nullable RowKey> changes) {
        LocalTransaction open = blocker.localTransaction();
        if (open == null && waitedNanos < readGraceNanos && !waitsInVain(blocker, waitedNanos)) {
            return;
        }
        LocalCommit suspended = open == null ? null : open.commit();
        if (suspended == null && blocker.refusal() != null) {
            return;
        }
        TransactionListener listener = blocker.database().listener();
        RowKey row = changes.get();
        Refusal refusal = listener.makeWay(row);
        if (suspended == null ? refuse(open, blocker, refusal) : suspended.giveWay(refusal)) {
            listener.gaveWay(blocker, row); // before its client can begin anew
            if (suspended == null) {
                undo(blocker);
            }
        }
    }

    /**
     * Who only reads and waits, waits for somebody who writes, and who cannot commit before what is ordered goes on; or for others to
     * keep up. For a moment it may count as waiting still that was woken just now.
     */
    private static boolean waitsInVain(ReflectedConnection reader, long waitedNanos) {
        return waitedNanos >= TimeUnit.MILLISECONDS.toNanos(SLICE_MILLIS) && reader.isWaiting();
    }

    /**
     * The connections that hold a lock on {@code ref} which does not go with the one wanted. If nobody does, those that wait for such a
     * one: who asks for one that goes with all that are held waits behind them all the same.
     */
    private List<ReflectedConnection> blockers(CompatibilitySpace space, Lockable ref, Object qualifier) {
        List<ReflectedConnection> holders = new ArrayList<>();
        List<ReflectedConnection> waiters = new ArrayList<>();
        Enumeration<?> locks = derby.makeVirtualLockTable();
        while (locks.hasMoreElements()) {
            Latch lock = (Latch) locks.nextElement();
            if (lock.getCompatabilitySpace() == space || !ref.equals(lock.getLockable())) {
                continue;
            }
            ReflectedConnection connection = connections.get(lock.getCompatabilitySpace());
            List<ReflectedConnection> found = lock.getCount() == 0 ? waiters : holders;
            if (connection != null
                    && !found.contains(connection)
                    && !ref.requestCompatible(qualifier, lock.getQualifier())) {
                found.add(connection);
            }
        }
        return holders.isEmpty() ? waiters : holders;
    }

    // ------------------------------------------------------------------------------------------------------ properties

    @Override
    public void init(boolean dbOnly, Dictionary properties) {
        derby.init(dbOnly, properties);
        deadlockAfter(PropertyUtil.getPropertyFromSet(dbOnly, properties, DEADLOCK_WAIT));
    }

    @Override
    public @Nullable Serviceable apply(String key, Serializable value, Dictionary properties) throws StandardException {
        Serviceable passedOn = derby.apply(key, value, properties);
        if (key.equals(DEADLOCK_WAIT)) {
            deadlockAfter(value == null ? PropertyUtil.getPropertyFromSet(properties, key) : value);
        }
        return passedOn;
    }

    /** When Derby looks for deadlocks, as it reads that itself. */
    private void deadlockAfter(@Nullable Serializable seconds) {
        deadlockMillis = DEADLOCK_MILLIS;
        if (seconds != null) {
            try {
                deadlockMillis = Math.multiplyExact(1_000, Integer.parseInt(seconds.toString()));
            } catch (ArithmeticException | NumberFormatException e) {
                LOG.debug("{} is {}", DEADLOCK_WAIT, seconds, e);
            }
        }
    }

    // -------------------------------------------------------------------------------------------------- only passed on

    @Override
    public CompatibilitySpace createCompatibilitySpace(LockOwner owner) {
        return derby.createCompatibilitySpace(owner);
    }

    @Override
    public int unlock(CompatibilitySpace space, Object group, Lockable ref, Object qualifier) {
        return derby.unlock(space, group, ref, qualifier);
    }

    @Override
    public void unlockGroup(CompatibilitySpace space, Object group) {
        derby.unlockGroup(space, group);
    }

    @Override
    public void unlockGroup(CompatibilitySpace space, Object group, Matchable key) {
        derby.unlockGroup(space, group, key);
    }

    @Override
    public void transfer(CompatibilitySpace space, Object oldGroup, Object newGroup) {
        derby.transfer(space, oldGroup, newGroup);
    }

    @Override
    public boolean anyoneBlocked() {
        return derby.anyoneBlocked();
    }

    @Override
    public boolean areLocksHeld(CompatibilitySpace space, Object group) {
        return derby.areLocksHeld(space, group);
    }

    @Override
    public boolean areLocksHeld(CompatibilitySpace space) {
        return derby.areLocksHeld(space);
    }

    @Override
    public boolean isLockHeld(CompatibilitySpace space, Object group, Lockable ref, Object qualifier) {
        return derby.isLockHeld(space, group, ref, qualifier);
    }

    @Override
    public int getWaitTimeout() {
        return derby.getWaitTimeout();
    }

    @Override
    public void setLimit(CompatibilitySpace space, Object group, int limit, Limit callback) {
        derby.setLimit(space, group, limit, callback);
    }

    @Override
    public void clearLimit(CompatibilitySpace space, Object group) {
        derby.clearLimit(space, group);
    }

    @Override
    public Enumeration makeVirtualLockTable() {
        return derby.makeVirtualLockTable();
    }

    @Override
    public boolean validate(String key, Serializable value, Dictionary properties) throws StandardException {
        return derby.validate(key, value, properties);
    }

    @Override
    public @Nullable Serializable map(String key, Serializable value, Dictionary properties) throws StandardException {
        return derby.map(key, value, properties);
    }
}
