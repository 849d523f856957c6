package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Frees a session, the applier's or one that changes the schema, from whoever holds a lock that it waits for; in a thread of its own. Thread-safe. */
final class LockWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LockWatch.class);

    private static final long GLANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);

    /** Up to where it grows while nobody is in the way of what is executed. */
    private static final long GLANCE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(50);

    /** Without work for so long it waits to be woken. */
    private static final int IDLE_GLANCES = 300;

    private final PostgresDatabase database;
    private final Connection connection;
    private final String blockers;
    private final Thread thread = new Thread(this::run, "gorda-lock-watch");

    /** What is executed now, what those in the way are told, and who of them people were told of; each is equal to itself only. */
    private static final class Work {
        private final Refusal refusal;
        private final Set<String> told = new HashSet<>();

        Work(Refusal refusal) {
            this.refusal = refusal;
        }
    }

    /** Null if nothing is executed. */
    private volatile @Nullable Work current;

    private volatile boolean sleeps;
    private volatile boolean closed;

    /** @param session who is watched from now on */
    LockWatch(PostgresDatabase database, SqlSession session) throws SQLException {
        this(database, Math.toIntExact(session.number("SELECT pg_catalog.pg_backend_pid()")));
    }

    /** @param backend whose session is watched, by its process on the server */
    LockWatch(PostgresDatabase database, int backend) throws SQLException {
        this.database = database;
        // who makes a file longer, or a page of an index, has it locked for a moment only, and not until its
        // transaction ends
        this.blockers = "SELECT unnest(pg_blocking_pids(pid)) FROM pg_locks WHERE pid = " + backend
                + " AND NOT granted AND locktype NOT IN ('extend', 'page')";
        this.connection = database.server().connect("");
        thread.setDaemon(true);
        thread.start();
    }

    /** The session executes something from now on. */
    void begin(Refusal refusal) {
        current = new Work(refusal);
        if (sleeps) {
            LockSupport.unpark(thread);
        }
    }

    void end() {
        current = null;
    }

    private void run() {
        Work seen = null;
        long since = System.nanoTime();
        long glance = GLANCE_NANOS;
        for (int idle = 0; !closed; idle++) {
            Work now = current;
            if (now == null) {
                sleeps = idle > IDLE_GLANCES;
                LockSupport.parkNanos(sleeps && current == null ? TimeUnit.SECONDS.toNanos(1) : GLANCE_NANOS);
                continue;
            }
            idle = 0;
            if (!now.equals(seen)) {
                seen = now;
                since = System.nanoTime();
                glance = GLANCE_NANOS;
            } else {
                boolean isFree = free(now, System.nanoTime() - since);
                glance = isFree ? Math.min(glance + glance / 8, GLANCE_NANOS_MAX) : GLANCE_NANOS;
            }
            sleeps = glance > GLANCE_NANOS;
            LockSupport.parkNanos(now.equals(current) ? glance : GLANCE_NANOS);
        }
    }

    /** Returns whether nobody was in the way. */
    private boolean free(Work work, long nanos) {
        boolean isFree = true;
        try {
            for (List<@Nullable String> row : SqlSession.of(connection).query(blockers)) {
                isFree = false;
                int pid = Integer.parseInt(Objects.requireNonNull(row.get(0)));
                boolean isStranger = work.equals(current) && (pid == 0 || !database.giveWay(pid, work.refusal));
                if (isStranger && nanos > database.readGrace().toNanos()) {
                    end(work, pid);
                }
            }
        } catch (SQLException e) {
            if (!closed) {
                LOG.warn("who is in the way in {} cannot be found: {}", database.server(), e.getMessage());
            }
        }
        return isFree;
    }

    /**
     * A stranger's session is ended, unless it is us, copying a snapshot; the server cleans up some other time.
     *
     * @param pid 0 of what nobody has, and we are not to decide: a transaction that is prepared
     */
    private void end(Work work, int pid) throws SQLException {
        if (pid == 0) {
            tell(work, "a prepared transaction is in the way (see pg_prepared_xacts): commit it, or roll it back");
            return;
        }
        for (List<@Nullable String> row : SqlSession.of(connection)
                .query(
                        "SELECT CASE backend_type WHEN 'autovacuum worker' THEN pg_cancel_backend(pid) ELSE pg_terminate_backend(pid) END,"
                                + " format('ends process %s (%s, user %s, application %s), which is in the way longer than read-grace',"
                                + " pid, backend_type, coalesce(usename, '-'), coalesce(nullif(application_name, ''), '-'))"
                                + " FROM pg_stat_activity WHERE pid = " + pid
                                + " AND application_name IS DISTINCT FROM '"
                                + Server.APPLICATION + "'")) {
            tell(work, Objects.requireNonNull(row.get(1)));
        }
    }

    private void tell(Work work, String what) {
        if (work.told.add(what)) {
            LOG.warn("{}: {}", database.server(), what);
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        try {
            connection.close();
        } catch (SQLException e) {
            LOG.debug("the connection was gone already", e);
        }
    }
}
