package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.Properties;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens connections of the engine's own driver, which waits for a frozen server for ever: here a login has an end. Thread-safe. */
final class ClusterLogin {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterLogin.class);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** As replicas tell them; what else a URL may have would have drivers do more than connect. */
    private static final Pattern OF_REPLICAS = Pattern.compile(
            "jdbc:derby://[^/;]+:\\d+/[^;]+(;ssl=basic)?|jdbc:postgresql://[^/?]+:\\d+/[^?]+(\\?sslmode=verify-full)?");

    static {
        // DriverManager looks for drivers once in a program: in a container perhaps before the application and its
        // drivers were there.
        try {
            ServiceLoader.load(Driver.class, ClusterLogin.class.getClassLoader())
                    .forEach(driver -> LOG.trace("{} is there", driver));
        } catch (ServiceConfigurationError | LinkageError e) {
            LOG.debug("a driver on the class path cannot be loaded", e);
        }
    }

    private ClusterLogin() {}

    /**
     * Logs in to a replica.
     *
     * @param onlyReads whether nothing may be changed there
     * @param tls how it must speak TLS; if null, as its URL says
     * @param atMost how long that may take
     * @param hopeless asked now and then: whether not to wait any longer
     * @throws SQLException with 08001 if the replica does not answer, else what it answered
     */
    static EngineConnection connect(
            NodeInfo to,
            boolean onlyReads,
            ClusterUrl url,
            @Nullable Tls tls,
            Duration atMost,
            BooleanSupplier hopeless)
            throws SQLException {
        if (!url.database().isEmpty() && !url.database().equals(to.database())) {
            throw new SQLNonTransientConnectionException(
                    "replica " + to.node() + " has database '" + to.database() + "', not '" + url.database() + "'",
                    "08004");
        }
        if (!OF_REPLICAS.matcher(to.url()).matches()) {
            throw new SQLNonTransientConnectionException(
                    to.node() + " tells of '" + to.url() + "', which is no URL of a replica's database", "08004");
        }
        Properties properties = new Properties();
        properties.putAll(url.properties());
        if (onlyReads) {
            EngineConnection.onlyReads(to.url(), properties);
        }
        CompletableFuture<Connection> opened = new CompletableFuture<>();
        // The bound that the engine's driver has on this is one for all of a program.
        Thread thread = new Thread(() -> logIn(to, properties, tls, opened), "gorda-login-" + to.node());
        thread.setDaemon(true);
        thread.start();
        long end = System.nanoTime() + atMost.toNanos();
        while (true) {
            long left = end - System.nanoTime();
            try {
                return EngineConnection.of(
                        to, opened.get(Math.max(0, Math.min(left, LOOK_NANOS)), TimeUnit.NANOSECONDS));
            } catch (TimeoutException e) {
                if (left > LOOK_NANOS && !hopeless.getAsBoolean()) {
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
                if (e.getCause() instanceof LinkageError missing) {
                    throw new SQLNonTransientConnectionException(
                            "the engine's driver for " + to.url()
                                    + " is not on the class path, or one of another version than is known (" + missing
                                    + "): for PostgreSQL it is org.postgresql:postgresql",
                            "08004",
                            missing);
                }
                throw e.getCause() instanceof SQLException failure ? failure : new SQLException(e.getCause());
            }
        }
    }

    private static void logIn(
            NodeInfo to, Properties properties, @Nullable Tls tls, CompletableFuture<Connection> opened) {
        try {
            Connection connection = EngineConnection.open(to.url(), properties, tls);
            if (!opened.complete(connection)) {
                connection.close();
            }
        } catch (SQLException | RuntimeException | Error e) { // of any kind: who waits has to be told
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
}
