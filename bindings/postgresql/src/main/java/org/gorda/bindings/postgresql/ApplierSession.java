package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.gorda.bindings.postgresql.wire.Pipeline;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * The session of an applier. Changes of rows are gathered and executed in one round trip, in a transaction that begins with the first; what is seldom is done
 * within it by the driver. Confined to one thread, but for {@link #close}.
 */
final class ApplierSession implements AutoCloseable {

    /** So many statements, or bytes of them, are sent together at most: their answers find room while nobody reads them. */
    private static final int STATEMENTS_MAX = 1000;

    private static final int BYTES_MAX = 1 << 20;

    private static final String CONNECTION_LOST = "08006";

    /** Commits by itself if told to do nothing else: transactions are the pipeline's. */
    private final Connection connection;

    private final Pipeline pipeline;

    /** What waits to be executed; null is for what changes no row of a client's. */
    private final List<@Nullable Change> changes = new ArrayList<>();

    private final Set<TableShape> tables = new LinkedHashSet<>();

    /** Of one row. */
    private record Change(TableShape table, List<@Nullable Object> key, String sql) {
        RowKey row() {
            return RowKey.of(table, key);
        }
    }

    ApplierSession(Server server) throws SQLException {
        String key = UUID.randomUUID().toString();
        Socket socket = null;
        try {
            connection = server.share(Server.APPLIES, key);
        } finally {
            socket = SharedSockets.take(key);
        }
        try {
            pipeline = new Pipeline(Objects.requireNonNull(socket));
        } catch (IOException e) {
            connection.close();
            throw lost(e);
        }
    }

    private static SQLException lost(IOException failure) {
        return new SQLException("the connection to the server is lost: " + failure, CONNECTION_LOST, failure);
    }

    // ------------------------------------------------------------------------------------------------ in the pipeline

    /** Has a row changed when this {@linkplain #execute executes}. */
    void change(TableShape table, List<@Nullable Object> key, String sql, List<@Nullable Object> values) {
        add(new Change(table, key, sql), sql, values);
        tables.add(table);
    }

    /** Has something else done then. */
    void add(String sql, Object... values) {
        add(null, sql, Arrays.asList(values));
    }

    private void add(@Nullable Change change, String sql, List<? extends @Nullable Object> values) {
        addBegin();
        pipeline.add(sql, values);
        changes.add(change);
    }

    private void addBegin() {
        if (!pipeline.isOpen() && changes.isEmpty()) {
            pipeline.add("BEGIN", List.of());
            changes.add(null);
        }
    }

    boolean isEmpty() {
        return changes.isEmpty();
    }

    boolean isFull() {
        return changes.size() >= STATEMENTS_MAX || pipeline.bytes() > BYTES_MAX;
    }

    /** A row that is changed next, or of which tables it may be; null if there is none. */
    @Nullable
    RowKey row() {
        if (tables.size() > 1) {
            return new RowKey(tables.stream().map(TableShape::toString).collect(Collectors.joining(" or ")), "");
        }
        for (Change change : changes) {
            if (change != null) {
                return change.row();
            }
        }
        return null;
    }

    /**
     * Executes what waits.
     *
     * @throws DivergenceException if something else than one row was changed by one of them
     * @throws SQLException if one has failed
     */
    void execute() throws SQLException {
        if (changes.isEmpty()) {
            return;
        }
        List<@Nullable Change> sent = new ArrayList<>(changes);
        forgetChanges();
        Pipeline.Answers answers;
        try {
            answers = pipeline.run();
        } catch (IOException e) {
            throw lost(e);
        }
        long[] changed = answers.changed();
        for (int i = 0; i < changed.length; i++) {
            Change change = sent.get(i);
            if (change != null && changed[i] != 1) {
                throw new DivergenceException("there is not one row " + change.row()
                        + " here, which was changed elsewhere, but " + changed[i] + ": " + change.sql());
            }
        }
        SQLException failure = answers.failure();
        if (failure != null) {
            Change failed = changed.length < sent.size() ? sent.get(changed.length) : null;
            throw failed == null
                    ? failure
                    : new SQLException(failed.row() + ": " + failure.getMessage(), failure.getSQLState(), failure);
        }
    }

    private void forgetChanges() {
        changes.clear();
        tables.clear();
    }

    /** What statements name may have changed. */
    void forgetStatements() {
        pipeline.forget();
    }

    // ------------------------------------------------------------------------------------------------- by the driver

    /** The driver's connection, for statements within the transaction if it has begun; what waits is not executed before. */
    Connection connection() {
        return connection;
    }

    /** Begins a transaction if there is none. */
    void begin() throws SQLException {
        addBegin();
        execute();
    }

    /** The driver's connection with a transaction that is its own, until {@link #rollback}. */
    Connection reading() throws SQLException {
        connection.setAutoCommit(false);
        return connection;
    }

    /** Nothing that waited or was executed has happened. */
    void rollback() throws SQLException {
        forgetChanges();
        pipeline.clear();
        if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        if (pipeline.isOpen()) {
            add("ROLLBACK");
            execute();
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
