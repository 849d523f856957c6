package org.gorda.jdbc;

import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;
import org.postgresql.core.PGStream;
import org.postgresql.core.Query;
import org.postgresql.core.QueryExecutor;
import org.postgresql.core.ResultHandlerBase;
import org.postgresql.core.TransactionState;
import org.postgresql.jdbc.PgConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** By PostgreSQL's driver, through a replica's door, which understands settings {@code gorda.…} that say something to the replica. */
final class PostgresConnection extends EngineConnection {

    static final String PREFIX = "jdbc:postgresql:";

    /** Goes with what it commits: one round trip for both, as the driver's own commit has it. */
    private static final int COMMIT_FLAGS = QueryExecutor.QUERY_NO_METADATA
            | QueryExecutor.QUERY_NO_RESULTS
            | QueryExecutor.QUERY_SUPPRESS_BEGIN
            | QueryExecutor.QUERY_ONESHOT;

    private static final Set<String> READING = Set.of("select", "values", "table", "show");

    /** What can be executed in a transaction and neither begins nor ends one, with CREATE, ALTER and DROP of what is in a database. */
    private static final Set<String> CHANGING = Set.of(
            "insert",
            "update",
            "delete",
            "merge",
            "with",
            "call",
            "do",
            "execute",
            "truncate",
            "grant",
            "revoke",
            "comment");

    /** What begins and ends transactions. */
    private static final Pattern ENDING =
            Pattern.compile("\\b(begin|start|commit|end|rollback|abort)\\b", Pattern.CASE_INSENSITIVE);

    /** By which a query makes a table. */
    private static final Pattern INTO = Pattern.compile("\\binto\\b", Pattern.CASE_INSENSITIVE);

    private static final Set<String> DEFINING = Set.of("create", "alter", "drop");
    private static final Pattern OF_SERVER =
            Pattern.compile("\\b(database|tablespace|system|subscription|concurrently)\\b", Pattern.CASE_INSENSITIVE);

    private final PgConnection driver;

    PostgresConnection(NodeInfo replica, Connection jdbc) throws SQLException {
        super(replica, jdbc);
        driver = jdbc.unwrap(PgConnection.class);
    }

    /** As {@link EngineConnection#open}. */
    static Connection open(String url, Properties properties, @Nullable Tls tls) throws SQLException {
        if (tls == null) {
            return DriverManager.getConnection(url, properties);
        }
        String key = TlsSockets.keep(tls.context());
        try {
            PGProperty.SSL_MODE.set(properties, "verify-full");
            PGProperty.SSL_FACTORY.set(properties, TlsSockets.class.getName());
            PGProperty.SSL_FACTORY_ARG.set(properties, key);
            return DriverManager.getConnection(url, properties);
        } finally {
            TlsSockets.forget(key);
        }
    }

    @Override
    Effect effect(String sql) {
        String text = fromFirstWord(sql);
        if (text.isEmpty() || text.startsWith("{")) {
            return Effect.CHANGES; // a batch, or a call
        }
        String first = firstWord(text);
        boolean isSeveral = text.indexOf(';') >= 0
                && text.indexOf(';') < text.stripTrailing().length() - 1;
        if ((isSeveral && ENDING.matcher(text).find()) || ENDING.matcher(first).matches()) {
            return Effect.OWN;
        }
        if (READING.contains(first)) {
            return isSeveral || INTO.matcher(text).find()
                    ? Effect.CHANGES
                    : sql.indexOf('(') >= 0 ? Effect.CALLS : Effect.READS;
        }
        boolean changes = CHANGING.contains(first)
                || (DEFINING.contains(first) && !OF_SERVER.matcher(text).find());
        return changes ? Effect.CHANGES : Effect.ALONE;
    }

    @Override
    boolean inTransaction() {
        return driver.getTransactionState() != TransactionState.IDLE;
    }

    @Override
    void commitAs(TransactionId id) throws SQLException {
        if (driver.getTransactionState() != TransactionState.OPEN) {
            jdbc().commit(); // ends one that has failed, as by this driver alone
            return;
        }
        QueryExecutor executor = driver.getQueryExecutor();
        Query query = executor.createQuery("SET LOCAL gorda.transaction TO '" + id + "'; COMMIT", false, true).query;
        ResultHandlerBase ending = new ResultHandlerBase() {
            @Override
            public void handleWarning(SQLWarning warning) {
                driver.addWarning(warning);
            }
        };
        try {
            executor.execute(query, null, ending, 0, 0, COMMIT_FLAGS);
        } catch (SQLException e) {
            endFailed(e);
            throw e;
        }
    }

    /** What was refused before its COMMIT has still to be ended, as COMMIT alone would have done. */
    private void endFailed(SQLException failure) {
        try {
            if (driver.getTransactionState() == TransactionState.FAILED) {
                jdbc().rollback();
            }
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    /** What is executed next begins a transaction, or does not. */
    @Override
    void autoCommit(boolean value) throws SQLException {
        jdbc().setAutoCommit(value);
    }

    @Override
    boolean readsRowsInTransaction() {
        return false;
    }

    @Override
    boolean outlivesFailures() {
        return false;
    }

    @Override
    boolean hasOwnTransaction() {
        return inTransaction();
    }

    @Override
    boolean commitsBySettingIsolation() {
        return false;
    }

    /** The server itself says so of read-only transactions, and from which of its routines. */
    @Override
    boolean isOfBackup(SQLException failure) {
        ServerErrorMessage told = failure instanceof PSQLException known ? known.getServerErrorMessage() : null;
        return BACKUP.equals(failure.getSQLState()) && told != null && told.getRoutine() == null;
    }

    @Override
    Settings settings() throws SQLException {
        return new Settings(
                driver.getAutoCommit(),
                driver.getTransactionIsolation(),
                driver.getHoldability(),
                text("SELECT current_setting('search_path')"),
                driver.getNetworkTimeout());
    }

    @Override
    void set(Settings settings) throws SQLException {
        jdbc().setTransactionIsolation(settings.isolation());
        text("SELECT set_config('search_path', '" + driver.escapeString(settings.schema()) + "', false)");
        jdbc().setHoldability(settings.holdability());
        jdbc().setNetworkTimeout(Runnable::run, settings.networkTimeoutMillis());
    }

    @Override
    void readWith(Settings settings) throws SQLException {
        driver.execSQLUpdate("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
        set(settings);
        jdbc().setReadOnly(true);
        jdbc().setAutoCommit(settings.autoCommit());
    }

    @Override
    long position() throws SQLException {
        return Long.parseLong(text("SHOW gorda.position"));
    }

    @Override
    void awaitPosition(long position) throws SQLException {
        driver.execSQLUpdate("SET gorda.position TO '" + position + "'");
    }

    /** The one value that a statement gives, outside of a transaction. */
    private String text(String sql) throws SQLException {
        try (ResultSet row = driver.execSQLQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @Override
    void closeSocket() throws IOException {
        try {
            QueryExecutor executor = driver.getQueryExecutor();
            Object stream =
                    DerbyConnection.field(executor.getClass(), "pgStream").get(executor);
            if (stream instanceof PGStream known) {
                TlsSockets.waitForNobody(known.getSocket());
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        } finally {
            abort();
        }
    }

    /** Closes the socket, and does not wait for the server. */
    private void abort() {
        try {
            jdbc().abort(Runnable::run);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
