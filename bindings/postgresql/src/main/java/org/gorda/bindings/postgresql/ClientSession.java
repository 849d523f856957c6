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
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.bindings.postgresql.wire.Interceptor;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.StartupMessage;
import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.StoredPosition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's session with the server, whose transactions others may abort. Thread-safe: what it executes is executed in the client's thread, aborts come from
 * others.
 */
final class ClientSession implements ConnectionContext, SqlSession {

    private static final Logger LOG = LoggerFactory.getLogger(ClientSession.class);

    private static final OwnStatement DURABLY = OwnStatement.kept("SET LOCAL synchronous_commit TO on");

    private static final OwnStatement OWN = OwnStatement.kept(
            "SELECT 1 FROM pg_catalog.pg_class WHERE relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()"
                    + " UNION ALL SELECT 1 FROM pg_catalog.pg_cursors WHERE is_holdable"
                    + " AND creation_time OPERATOR(pg_catalog.>=) pg_catalog.transaction_timestamp() LIMIT 1");

    /** Parameters that name something, and set nothing. */
    private static final Set<String> NAMES = Set.of("user", "database", "application_name");

    private final Sessions sessions;
    private final SessionId id = SessionId.of(UUID.randomUUID());

    /** By which triggers know statements that return their rows: they begin with it. */
    private final String mark = "/*" + UUID.randomUUID() + "*/";

    private final ClientTransactions transactions;
    private final Interceptor interceptor;
    private final ReentrantLock using = new ReentrantLock();
    private final StatementAlone alone = new StatementAlone(this);
    private volatile @Nullable LocalTransaction transaction;
    private volatile @Nullable Object attachment;
    private volatile boolean keepsCursors;
    private volatile boolean isSerializable;
    private volatile boolean hasSnapshots;
    private volatile boolean isLeaving;

    /**
     * Begins with the message that the client has sent.
     *
     * @param isRelayed whether two threads serve the client, one for each direction
     * @throws IOException if the server cannot be reached
     */
    ClientSession(Sessions sessions, Socket server, StartupMessage startup, boolean isRelayed) throws IOException {
        this.sessions = sessions;
        this.transactions = new ClientTransactions(this, sessions);
        Map<String, String> parameters = new LinkedHashMap<>(startup.parameters());
        // The order is durable; who commits says when the database must be.
        parameters.merge(
                "options",
                "-c synchronous_commit=off -c gorda.position=0 -c gorda.session=" + mark,
                (given, ours) -> ours + " " + given);
        this.interceptor = new Interceptor(server, startup, parameters, transactions, isRelayed);
        parameters.forEach((name, value) -> {
            if (!NAMES.contains(name)) {
                noteSettings(value.replace("\\", ""));
            }
        });
    }

    Interceptor interceptor() {
        return interceptor;
    }

    String mark() {
        return mark;
    }

    int process() {
        return interceptor.process();
    }

    // -------------------------------------------------------------------------------------------------------- context

    /** Under which its transactions are known to the group. */
    SessionId session() {
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

    /** Whether its transactions may have snapshots of their own, and not their statements. */
    boolean hasSnapshots() {
        return hasSnapshots;
    }

    /** Whether the server may refuse a commit after all checks: by its own certification, or by a cursor that it keeps. */
    boolean mayFailToCommit() {
        return isSerializable || keepsCursors;
    }

    /** Whether it may leave cursors open behind a commit, of which the server executes the rest in COMMIT. */
    boolean keepsCursors() {
        return keepsCursors;
    }

    /** What a text sets, which may be SQL. */
    void noteSettings(String sql) {
        String text = sql.toUpperCase(Locale.ROOT);
        isSerializable |= text.contains("SERIALIZABLE");
        hasSnapshots |= isSerializable || text.contains("REPEATABLE");
        keepsCursors |= text.contains("HOLD");
    }

    /** What is executed while there is no transaction. */
    StatementAlone alone() {
        return alone;
    }

    /** The open transaction; null if there is none. */
    @Nullable
    LocalTransaction transaction() {
        return transaction;
    }

    void transaction(@Nullable LocalTransaction now) {
        transaction = now;
    }

    // ----------------------------------------------------------------------------------------------------- statements

    @Override
    public List<List<@Nullable String>> query(String sql) throws SQLException {
        return query(OwnStatement.once(sql));
    }

    List<List<@Nullable String>> query(OwnStatement statement) throws SQLException {
        try {
            return interceptor.query(statement);
        } catch (IOException e) {
            throw new SQLException("the connection to the server is lost: " + e.getMessage(), "08006", e);
        }
    }

    /** Rolls back on the server, in the client's thread. What cannot be reached has lost it anyway. */
    void undo() {
        try {
            query(OwnStatement.kept("ROLLBACK"));
        } catch (SQLException e) {
            LOG.debug("{}: not rolled back", id, e);
            interceptor.close();
        }
    }

    /**
     * As {@link #undo}, what has not failed, and notes in it what is to be set again.
     *
     * @return whether the transaction may have made temporary relations, or changed their rows, or leaves a cursor open
     */
    boolean undoWithOwn(LocalTransaction undone) {
        try {
            for (String setting : undone.configured()) {
                undone.addSetting(Objects.requireNonNull(
                        query("SELECT pg_catalog.format('SELECT pg_catalog.set_config(%L, %L, false)', "
                                        + "name, pg_catalog.current_setting(name)) FROM (VALUES ('" + setting
                                        + "')) one (name)")
                                .get(0)
                                .get(0)));
            }
            return !interceptor.query(OWN, OwnStatement.kept("ROLLBACK")).isEmpty();
        } catch (IOException | SQLException e) {
            LOG.debug("{}: not rolled back", id, e);
            interceptor.close();
            return true;
        }
    }

    /** Commits on the server, while the client's thread waits. */
    void commitNow(@Nullable StoredPosition position, boolean durable, String sql) throws IOException, SQLException {
        List<OwnStatement> statements = new ArrayList<>();
        if (durable) {
            statements.add(DURABLY);
        }
        if (position != null) {
            statements.add(sessions.database().storing(position));
        }
        statements.add(OwnStatement.kept(sql));
        interceptor.socket().setSoTimeout(0); // the client's is for what it reads itself
        interceptor.query(statements.toArray(OwnStatement[]::new));
    }

    /** Whether the server has not ended the session, as far as it has told. To be asked while the client's thread waits. */
    boolean isAlive() {
        return interceptor.isAlive();
    }

    // --------------------------------------------------------------------------------------------------------- aborts

    /** As {@link LocalTransaction#abort}. */
    void abort(LocalTransaction aborted, Refusal why) {
        if (aborted.refuse(why)) {
            interrupt(aborted);
            return;
        }
        LocalCommit suspended = aborted.commit();
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

    /** Gives up its locks for an ordered change. */
    void giveWay(Refusal why) {
        LocalTransaction running = transaction;
        if (running == null) {
            alone.giveWay(why);
            return;
        }
        boolean isNew = running.refuse(why);
        LocalCommit suspended = running.commit();
        if (isNew) {
            sessions.listener().gaveWay(this, null);
            interrupt(running);
        } else if (suspended != null) {
            if (suspended.giveWay(why)) {
                sessions.listener().gaveWay(this, null);
            }
        } else if (running.isLate()) {
            LOG.warn("{}: cut off, because it does not give way: {}", id, why.message());
            interceptor.close();
        }
    }

    private void interrupt(LocalTransaction refused) {
        try {
            if (interceptor.interrupt(refused::isRunning)) {
                undone(refused);
            }
        } catch (IOException e) {
            LOG.warn("{}: what its client executes cannot be cancelled, so it is cut off: {}", id, e.getMessage());
            interceptor.close();
        }
    }

    /** A refused transaction is rolled back, before its client has ended it. */
    void undone(LocalTransaction refused) {
        if (refused.end()) {
            sessions.listener().ended(refused, false);
        }
    }

    /** The client's request to cancel what it executes. */
    void cancel() throws IOException {
        LocalTransaction running = transaction;
        interceptor.cancel(() -> running == null ? transaction == null : running.isRunning());
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
        isLeaving = true;
        LocalTransaction running = transaction;
        if (running == null || running.commit() == null) {
            interceptor.close();
        }
        endIfUnused();
    }

    /** Whoever is the last ends it. */
    private void endIfUnused() {
        if (isLeaving && !using.isHeldByCurrentThread() && using.tryLock()) {
            try {
                sessions.closed(this);
                interceptor.end();
                transactions.ended(false);
            } finally {
                using.unlock();
            }
        }
    }
}
