package org.gorda.jdbc;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
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
 * <p>As a JDBC connection, for one thread at a time; {@link #abandonUnless} is for any.
 */
final class ClusterConnection implements InvocationHandler {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterConnection.class);
    private static final Duration OUTCOME_WAIT = Duration.ofSeconds(30);
    private static final long LOGIN_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final ClusterMonitor monitor;
    private final ClusterUrl url;
    private final Connection proxy;
    private final SessionId session = SessionId.of(UUID.randomUUID());

    private final Connection physical;
    private final NodeInfo node;
    private volatile @Nullable Connection reader;
    private volatile @Nullable NodeInfo readerNode;
    private @Nullable PreparedStatement commitAs;
    private long lastNumber;
    private boolean autoCommit = true;
    private volatile boolean readOnly;

    /** Whether anything was executed since the last commit or rollback: the engine's driver forgets it with a lost connection. */
    private boolean executed;

    private volatile boolean closed;
    private volatile @Nullable SQLException broken;

    private ClusterConnection(ClusterMonitor monitor, ClusterUrl url, NodeInfo node, Connection physical) {
        this.monitor = monitor;
        this.url = url;
        this.node = node;
        this.physical = physical;
        this.proxy = (Connection) Proxy.newProxyInstance(
                ClusterConnection.class.getClassLoader(), new Class<?>[] {Connection.class}, this);
    }

    /** Opens a connection to the primary, looking for it as long as the URL allows. */
    static Connection open(ClusterMonitor monitor, ClusterUrl url) throws SQLException {
        long end = System.nanoTime() + url.connectTimeout().toNanos();
        SQLException last = null;
        while (true) {
            long left = end - System.nanoTime();
            NodeInfo primary =
                    left <= 0 ? null : monitor.primary(Duration.ofNanos(left)).orElse(null);
            if (primary == null) {
                throw new SQLNonTransientConnectionException(
                        "no primary within " + url.connectTimeout().toSeconds() + " s: " + monitor.describe()
                                + (last == null ? "" : "; the last attempt failed: " + last.getMessage()),
                        "08001",
                        last);
            }
            try {
                ClusterConnection opened = new ClusterConnection(
                        monitor, url, primary, connect(monitor, primary, url, Duration.ofNanos(left)));
                monitor.register(opened);
                return opened.proxy;
            } catch (SQLException e) {
                if (!Translation.endsConnection(e) || "08004".equals(e.getSQLState())) {
                    throw Translation.translate(e);
                }
                last = e;
                monitor.search();
            }
        }
    }

    /** Logs in; for no longer than that, nor than it takes another replica to become the primary in the stead of this one. */
    private static Connection connect(ClusterMonitor monitor, NodeInfo to, ClusterUrl url, Duration atMost)
            throws SQLException {
        if (!url.database().isEmpty() && !url.database().equals(to.database())) {
            throw new SQLNonTransientConnectionException(
                    "replica " + to.node() + " has database '" + to.database() + "', not '" + url.database() + "'",
                    "08004");
        }
        Properties properties = new Properties();
        properties.putAll(url.properties());
        CompletableFuture<Connection> opened = new CompletableFuture<>();
        // The engine's driver waits for a frozen server for ever, and its bound on that is one for all of a program.
        Thread thread = new Thread(() -> logIn(to, properties, opened), "gorda-login-" + to.node());
        thread.setDaemon(true);
        thread.start();
        long end = System.nanoTime() + atMost.toNanos();
        while (true) {
            long left = end - System.nanoTime();
            try {
                return opened.get(Math.max(0, Math.min(left, LOGIN_LOOK_NANOS)), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                if (left > LOGIN_LOOK_NANOS && !isSucceeded(monitor, to)) {
                    continue;
                }
                giveUp(opened);
                throw new SQLNonTransientConnectionException(
                        "replica " + to.node() + " does not answer a login", "08001", e);
            } catch (InterruptedException e) {
                giveUp(opened);
                Thread.currentThread().interrupt();
                throw new SQLNonTransientConnectionException("interrupted while connecting", "08004", e);
            } catch (ExecutionException e) {
                throw e.getCause() instanceof SQLException failure ? failure : new SQLException(e.getCause());
            }
        }
    }

    private static void logIn(NodeInfo to, Properties properties, CompletableFuture<Connection> opened) {
        try {
            Connection connection = DriverManager.getConnection(to.url(), properties);
            if (!opened.complete(connection)) {
                connection.close();
            }
        } catch (SQLException | RuntimeException e) {
            opened.completeExceptionally(e);
            LOG.debug("a login to {} failed", to.node(), e);
        }
    }

    /** The login that comes late ends itself; one that came just now is ended here. */
    private static void giveUp(CompletableFuture<Connection> opened) {
        if (!opened.cancel(false) && !opened.isCompletedExceptionally()) {
            try {
                opened.join().close();
            } catch (SQLException e) {
                LOG.debug("closing a connection that came late", e);
            }
        }
    }

    private static boolean isSucceeded(ClusterMonitor monitor, NodeInfo replica) {
        return monitor.primary(Duration.ZERO)
                .filter(primary -> primary.epoch() > replica.epoch())
                .filter(primary -> !primary.node().equals(replica.node()))
                .isPresent();
    }

    // --------------------------------------------------------------------------------------------------- connection

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        return switch (method.getName()) {
            case "equals" -> arguments != null && self == arguments[0];
            case "hashCode" -> System.identityHashCode(self);
            case "toString" -> "connection to " + node.node() + " of " + String.join(",", url.nodes());
            case "commit" -> commit();
            case "setAutoCommit" -> setAutoCommit(arguments != null && Boolean.TRUE.equals(arguments[0]));
            case "getAutoCommit" -> ifOpen(autoCommit);
            case "setReadOnly" -> setReadOnly(arguments != null && Boolean.TRUE.equals(arguments[0]));
            case "isReadOnly" -> ifOpen(readOnly);
            case "close" -> close();
            case "isClosed" -> closed || broken != null || physical.isClosed();
            case "isValid" -> isValid(arguments == null ? 0 : (Integer) arguments[0]);
            case "abort" -> abort(arguments == null ? null : arguments[0]);
            case "rollback" -> rollback(method, arguments);
            case "setTransactionIsolation", "setSchema", "setHoldability", "setNetworkTimeout" ->
                setForBoth(method, arguments);
            case "unwrap", "isWrapperFor" -> unwrap(method, arguments);
            default -> delegate(method, arguments);
        };
    }

    private @Nullable Object delegate(Method method, Object @Nullable [] arguments) throws Throwable {
        checkOpen();
        Object result = call(active(), method, arguments);
        if (result instanceof Statement statement) {
            return wrap(statement, method.getReturnType());
        }
        if (result instanceof DatabaseMetaData) {
            return new Guarded(result, null).as(DatabaseMetaData.class);
        }
        return result;
    }

    private Connection active() {
        Connection reading = reader;
        return readOnly && reading != null ? reading : physical;
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

    /** Calls the engine's driver; what it throws is translated, and remembered if it ends the connection. */
    private @Nullable Object call(Object target, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof SQLException failure) {
                throw failed(failure);
            }
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    private SQLException failed(SQLException failure) {
        SQLException translated = Translation.translate(failure);
        if (Translation.endsConnection(translated)) {
            if (translated == failure) {
                // Only the engine's driver has spoken: what is known of the replicas says more.
                translated = new SQLNonTransientConnectionException(
                        "the connection to replica " + node.node() + " was lost (" + failure.getMessage() + "); "
                                + monitor.describe(),
                        failure.getSQLState(),
                        failure);
            }
            breakDown(translated);
        } else if (isWriteOnBackup(translated) && !readOnly) {
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
    private static boolean isWriteOnBackup(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if ("25006".equals(e.getSQLState())) {
                return true;
            }
        }
        return false;
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
        Connection reading = reader;
        if (reading != null) {
            closeSocket(reading);
        }
    }

    private @Nullable Void commit() throws SQLException {
        checkOpen();
        Connection reading = reader;
        try {
            if (reading != null && ClientSession.inTransaction(reading)) {
                reading.commit();
            }
            if (autoCommit) {
                physical.commit(); // as the engine has it
                return null;
            }
        } catch (SQLException e) {
            throw failed(e);
        }
        if (ClientSession.inTransaction(physical)) {
            commitNamed();
            return null;
        }
        checkNotLost();
        if (executed) {
            commitNamed();
        }
        return null;
    }

    /** The engine's driver has no transaction on a connection that it found to be lost; committed is nothing then. */
    private void checkNotLost() throws SQLException {
        boolean lost;
        try {
            lost = physical.isClosed();
        } catch (SQLException e) {
            throw failed(e);
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
        Connection reading = reader;
        if (arguments != null) {
            return delegate(method, arguments);
        }
        checkOpen();
        if (reading != null) {
            call(reading, method, null);
        }
        call(physical, method, null);
        executed = false;
        return null;
    }

    /** What holds for the session must hold wherever it reads. */
    private @Nullable Object setForBoth(Method method, Object @Nullable [] arguments) throws Throwable {
        checkOpen();
        Connection reading = reader;
        if (reading != null) {
            call(reading, method, arguments);
        }
        return call(physical, method, arguments);
    }

    /** Commits under a name; an answer that is lost is asked for at the other replicas. */
    private void commitNamed() throws SQLException {
        TransactionId id = new TransactionId(session, ++lastNumber);
        long since = monitor.orderedIndex();
        try {
            PreparedStatement call = commitAs;
            if (call == null) {
                call = physical.prepareStatement("CALL GORDA.COMMIT_AS(?, ?)");
                commitAs = call;
            }
            call.setString(1, session.toString());
            call.setLong(2, id.number());
            call.execute();
            ClientSession.transactionEnded(physical);
            executed = false;
        } catch (SQLException e) {
            SQLException translated = failed(e);
            if (!Translation.endsConnection(translated)) {
                throw translated;
            }
            resolve(id, since, translated);
        }
    }

    private void resolve(TransactionId id, long since, SQLException cause) throws SQLException {
        String outcome = monitor.outcome(id, since, OUTCOME_WAIT);
        LOG.info("the answer to the commit of {} was lost ({}); its outcome is {}", id, cause.getMessage(), outcome);
        if ("COMMITTED".equals(outcome)) {
            return;
        }
        if ("ABORTED".equals(outcome)) {
            throw new SQLTransactionRollbackException(
                    "the connection to the primary was lost; transaction " + id + " did not happen: run it again",
                    "40001",
                    cause);
        }
        throw new SQLNonTransientConnectionException(
                "whether transaction " + id + " is committed could not be found out within " + OUTCOME_WAIT.toSeconds()
                        + " s: " + monitor.describe(),
                "08007",
                cause);
    }

    private @Nullable Void setAutoCommit(boolean value) throws SQLException {
        checkOpen();
        if (value == autoCommit) {
            return null;
        }
        if (value) {
            commit();
        }
        autoCommit = value;
        try {
            physical.setAutoCommit(value);
            Connection reading = reader;
            if (reading != null) {
                reading.setAutoCommit(value);
            }
        } catch (SQLException e) {
            throw failed(e);
        }
        return null;
    }

    private @Nullable Void setReadOnly(boolean value) throws SQLException {
        checkOpen();
        if (value == readOnly) {
            return null;
        }
        if (!autoCommit && ClientSession.inTransaction(active())) {
            throw new SQLException("a connection cannot become read-only, or cease to be, in a transaction", "25001");
        }
        if (value && reader == null) {
            NodeInfo info = monitor.reader(url.connectTimeout()).orElse(null);
            if (info == null) {
                throw new SQLNonTransientConnectionException("no replica to read from: " + monitor.describe(), "08001");
            }
            try {
                Connection opened = connect(monitor, info, url, url.connectTimeout());
                opened.setAutoCommit(autoCommit);
                opened.setReadOnly(true);
                opened.setTransactionIsolation(physical.getTransactionIsolation());
                opened.setHoldability(physical.getHoldability());
                opened.setSchema(physical.getSchema());
                readerNode = info;
                reader = opened;
            } catch (SQLException e) {
                throw Translation.translate(e);
            }
        }
        readOnly = value;
        return null;
    }

    private boolean isValid(int seconds) throws SQLException {
        if (seconds < 0) {
            throw new SQLException("a time of " + seconds + " s to wait is negative", "22003");
        }
        if (closed || broken != null) {
            return false;
        }
        try {
            return active().isValid(seconds);
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
            physical.close();
        } catch (SQLException e) {
            if ("25001".equals(e.getSQLState())) {
                throw Translation.translate(e); // it stays open, as with the engine
            }
            LOG.debug("closing a connection to {}", node.node(), e);
        }
        closed = true;
        monitor.forget(this);
        closeReader();
        return null;
    }

    private void closeReader() {
        Connection reading = reader;
        if (reading != null) {
            try {
                if (broken == null && ClientSession.inTransaction(reading)) {
                    reading.rollback();
                }
                reading.close();
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
            return own || physical.isWrapperFor(wanted);
        }
        return own ? proxy : call(physical, method, arguments);
    }

    /** Another replica is the primary: ends this connection if it goes to an older one. For any thread. */
    void abandonUnless(NodeInfo primary) {
        NodeInfo mine = node;
        if (primary.epoch() > mine.epoch() && !primary.node().equals(mine.node())) {
            breakDown(new SQLNonTransientConnectionException(
                    "the primary changed from " + mine.node() + " to " + primary.node(), "08006"));
        }
    }

    /** A replica does not answer any more: ends the connection if it reads there. For any thread. */
    void abandonReader(String silent) {
        Connection reading = reader;
        NodeInfo from = readerNode;
        if (reading == null || from == null || !from.node().equals(silent)) {
            return;
        }
        if (readOnly) {
            breakDown(new SQLNonTransientConnectionException(
                    "replica " + silent + ", which this connection reads from, does not answer", "08006"));
        } else {
            reader = null;
            closeSocket(reading);
        }
    }

    private void closeSocket(Connection connection) {
        try {
            ClientSession.closeSocket(connection);
        } catch (IOException | IllegalStateException e) {
            LOG.warn("a connection of {} could not be ended at once", node.node(), e);
        }
    }

    // ---------------------------------------------------------------------------------------------------- statements

    private Object wrap(Statement statement, Class<?> as) {
        boolean writes = active() == physical;
        return new Guarded(statement, writes ? statement : null).as(as);
    }

    /** A statement or metadata of the engine's driver. */
    private final class Guarded implements InvocationHandler {
        private final Object target;
        private final @Nullable Statement executes;

        Guarded(Object target, @Nullable Statement executes) {
            this.target = target;
            this.executes = executes;
        }

        Object as(Class<?> type) {
            Class<?> most = target instanceof CallableStatement
                    ? CallableStatement.class
                    : target instanceof PreparedStatement ? PreparedStatement.class : type;
            return Proxy.newProxyInstance(ClusterConnection.class.getClassLoader(), new Class<?>[] {most}, this);
        }

        @Override
        public @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
            return switch (method.getName()) {
                case "equals" -> arguments != null && self == arguments[0];
                case "hashCode" -> System.identityHashCode(self);
                case "toString" -> target.toString();
                case "getConnection" -> ifOpen(proxy);
                case "isWrapperFor" ->
                    arguments != null && isOwn(self, arguments) ? true : call(target, method, arguments);
                case "unwrap" -> arguments != null && isOwn(self, arguments) ? self : call(target, method, arguments);
                default -> delegateStatement(self, method, arguments);
            };
        }

        private boolean isOwn(Object self, Object[] arguments) {
            return arguments[0] instanceof Class<?> wanted && wanted.isInstance(self);
        }

        private @Nullable Object guarded(@Nullable Object result, Object self) {
            return result instanceof ResultSet rows
                    ? new GuardedRows(rows, self instanceof Statement statement ? statement : null).proxy()
                    : result;
        }

        private @Nullable Object delegateStatement(Object self, Method method, Object @Nullable [] arguments)
                throws Throwable {
            if (executes == null || !method.getName().startsWith("execute")) {
                return guarded(call(target, method, arguments), self);
            }
            checkOpen();
            boolean query = method.getName().equals("executeQuery") || isQuery(arguments);
            if (readOnly && !query) {
                throw new SQLException("the connection is read-only, this statement was made before it was", "25006");
            }
            if (!autoCommit || query) {
                executed |= !autoCommit;
                return guarded(call(target, method, arguments), self);
            }
            return guarded(executeAndCommit(method, arguments), self);
        }

        private boolean isQuery(Object @Nullable [] arguments) {
            String text = arguments != null && arguments.length > 0 && arguments[0] instanceof String sql ? sql : "";
            String start = text.stripLeading();
            return start.regionMatches(true, 0, "select", 0, 6) || start.regionMatches(true, 0, "values", 0, 6);
        }

        /** In autocommit mode too a lost answer is asked for, which needs a name. */
        private @Nullable Object executeAndCommit(Method method, Object @Nullable [] arguments) throws Throwable {
            engineAutoCommit(false);
            boolean done = false;
            try {
                Object result = call(target, method, arguments);
                if (!Boolean.TRUE.equals(result)) { // else rows, with which the engine's driver ends the transaction
                    commitNamed();
                }
                done = true;
                return result;
            } finally {
                if (broken == null) {
                    if (!done) {
                        rollBackQuietly();
                    }
                    engineAutoCommit(true);
                }
            }
        }

        private void engineAutoCommit(boolean value) throws SQLException {
            try {
                physical.setAutoCommit(value);
            } catch (SQLException e) {
                throw failed(e);
            }
        }

        /** What made it necessary is thrown, not what happens here. */
        private void rollBackQuietly() {
            try {
                physical.rollback();
            } catch (SQLException e) {
                breakDown(Translation.translate(e));
            }
        }
    }

    /** Rows of the engine's driver, which may be the first to notice that the connection is lost. */
    private final class GuardedRows implements InvocationHandler {
        private final ResultSet rows;
        private final @Nullable Statement statement;

        /** Without a statement, those of metadata. */
        GuardedRows(ResultSet rows, @Nullable Statement statement) {
            this.rows = rows;
            this.statement = statement;
        }

        ResultSet proxy() {
            return (ResultSet) Proxy.newProxyInstance(
                    ClusterConnection.class.getClassLoader(), new Class<?>[] {ResultSet.class}, this);
        }

        @Override
        public @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
            boolean own = arguments != null && arguments[0] instanceof Class<?> wanted && wanted.isInstance(self);
            return switch (method.getName()) {
                case "equals" -> arguments != null && self == arguments[0];
                case "hashCode" -> System.identityHashCode(self);
                case "toString" -> rows.toString();
                case "isWrapperFor" -> own ? true : call(rows, method, arguments);
                case "unwrap" -> own ? self : call(rows, method, arguments);
                case "getStatement" -> statement(call(rows, method, arguments));
                default -> call(rows, method, arguments);
            };
        }

        private @Nullable Object statement(@Nullable Object raw) {
            if (statement != null) {
                return statement;
            }
            return raw instanceof Statement made ? wrap(made, Statement.class) : raw;
        }
    }
}
