package org.gorda.jdbc;

import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import java.util.Properties;
import java.util.regex.Pattern;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;

/**
 * A connection of an engine's own driver to a replica, and what its engine does otherwise than others. As a JDBC connection, for one thread at a
 * time; {@link #closeSocket} is for any.
 */
abstract class EngineConnection {

    /** What is known of a statement by its text. */
    enum Effect {
        /** It changes nothing: it may be run again. */
        READS,
        /** It may change something, and can be executed in a transaction. */
        CHANGES,
        /** A query that calls what may change something, but hardly does: it is not worth a transaction of its own. */
        CALLS,
        /** It may change something, and is executed as it comes: it might not be possible in a transaction. */
        ALONE,
        /** It may begin a transaction or end one, and must be executed as it comes. */
        OWN;

        /** Whether it may leave something set in the session. */
        boolean maySet() {
            return this != READS && this != CHANGES;
        }
    }

    /**
     * What holds for a session. Immutable.
     *
     * @param schema where what is named without a schema is looked for
     * @param networkTimeoutMillis 0 if there is none, or the engine's driver has none
     */
    record Settings(boolean autoCommit, int isolation, int holdability, String schema, int networkTimeoutMillis) {}

    static final String BACKUP = "25006";

    private static final Pattern BEFORE_FIRST_WORD =
            Pattern.compile("(\\s|\\(|--[^\\n]*(\\n|$)|/\\*.*?\\*/)*+", Pattern.DOTALL);

    private final NodeInfo replica;
    private final Connection jdbc;

    EngineConnection(NodeInfo replica, Connection jdbc) {
        this.replica = replica;
        this.jdbc = jdbc;
    }

    /**
     * Opens a connection by the engine's own driver.
     *
     * @param tls if not null, the server must speak TLS, and its certificate must be trusted and be for the host of the URL
     * @param properties which are added to
     */
    static Connection open(String url, Properties properties, @Nullable Tls tls) throws SQLException {
        if (url.startsWith(PostgresConnection.PREFIX)) {
            return PostgresConnection.open(url, properties, tls);
        }
        return DerbyConnection.open(url, properties, tls);
    }

    /** Has a login be one that only reads: its session refuses changes by itself, wherever it is. */
    static void onlyReads(String url, Properties properties) {
        if (!url.startsWith(PostgresConnection.PREFIX)) {
            DerbyConnection.onlyReads(properties);
        }
    }

    /** Of a connection that was just opened to a replica. */
    static EngineConnection of(NodeInfo replica, Connection opened) throws SQLException {
        return replica.url().startsWith(PostgresConnection.PREFIX)
                ? new PostgresConnection(replica, opened)
                : new DerbyConnection(replica, opened);
    }

    /** Where it goes to, as it was known when it was opened. */
    final NodeInfo replica() {
        return replica;
    }

    /** The driver's own object. */
    final Connection jdbc() {
        return jdbc;
    }

    abstract Effect effect(String sql);

    /** A statement without the comments and parentheses before it. */
    static String fromFirstWord(String sql) {
        return BEFORE_FIRST_WORD.matcher(sql).replaceFirst("");
    }

    /** The word that a text begins with, in small letters; empty if it begins with none. */
    static String firstWord(String text) {
        int end = 0;
        while (end < text.length() && Character.isLetter(text.charAt(end))) {
            end++;
        }
        return text.substring(0, end).toLowerCase(Locale.ROOT);
    }

    /** Whether a transaction is open, as far as the driver knows. */
    abstract boolean inTransaction();

    /** Commits the open transaction under a name, by which any replica can be asked for its outcome. */
    abstract void commitAs(TransactionId id) throws SQLException;

    /** Whether each statement is committed by itself. Other than by JDBC, an open transaction stays open. */
    abstract void autoCommit(boolean value) throws SQLException;

    /** Whether rows come while they are read, and belong to a transaction until then; or are all with the client when the statement has ended. */
    abstract boolean readsRowsInTransaction();

    /** Whether a transaction in which a statement has failed may be committed without it. */
    abstract boolean outlivesFailures();

    /** In autocommit mode: whether the application has begun a transaction by SQL. */
    abstract boolean hasOwnTransaction();

    /** Whether a transaction is committed by setting the isolation of those that follow. */
    abstract boolean commitsBySettingIsolation();

    /** Whether a statement has open rows other than these, where {@linkplain #readsRowsInTransaction they} belong to a transaction. */
    boolean hasRowsBeside(Statement statement, @Nullable ResultSet rows) {
        return false;
    }

    /** What a failure means, which may be known only by asking. */
    SQLException meaning(SQLException failure) {
        return failure;
    }

    /** Whether a replica has refused a change because another one takes them. */
    abstract boolean isOfBackup(SQLException failure);

    /** What holds for the session; in no transaction, nor leaves one open. */
    abstract Settings settings() throws SQLException;

    /** As if what holds for another session had been set here, too; in no transaction, nor leaves one open. */
    abstract void set(Settings settings) throws SQLException;

    /** Of one that {@linkplain #onlyReads only reads}: is set as another session, and commits as that does; in no transaction. */
    abstract void readWith(Settings settings) throws SQLException;

    /** A place in the order: all that was seen here is up to there. Leaves no transaction open. */
    abstract long position() throws SQLException;

    /** Waits until the replica shows everything up to a place in the order. Leaves no transaction open. */
    abstract void awaitPosition(long position) throws SQLException;

    /** Ends it at once, whatever the driver waits for. For any thread. */
    abstract void closeSocket() throws IOException;
}
