package org.gorda.bindings.triggers;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Brings write sets into the database. Confined to one thread. */
final class WriteSetApplier implements Applier {

    private static final Logger LOG = LoggerFactory.getLogger(WriteSetApplier.class);

    private final TriggeredDatabase database;
    private final Dialect dialect;
    private final Connection connection;
    private final Dialect.Rows rows;
    private boolean rowsChanged;

    /** Nobody else changes anything until it is committed. */
    private boolean schemaChanged;

    /** Whether the row that was changed last was there. */
    private boolean isThere;

    WriteSetApplier(TriggeredDatabase database, Connection connection) {
        this.database = database;
        this.dialect = database.dialect();
        this.connection = connection;
        this.rows = dialect.rows(connection);
    }

    /** A change of a row, which may find that there is none. */
    private interface Change {
        boolean make() throws Dialect.Rows.Locked;
    }

    @Override
    public void apply(WriteSet writeSet) {
        WriteSetReader in = new WriteSetReader(writeSet);
        TableShape[] shapes = new TableShape[in.tables().size()];
        for (WriteSetReader.Kind kind = in.next(); kind != null; kind = in.next()) {
            switch (kind) {
                case INSERT -> insert(in, shape(in, shapes));
                case UPDATE -> update(in, shape(in, shapes));
                case DELETE -> {
                    TableShape table = shape(in, shapes);
                    List<@Nullable Object> key = values(in, table.key().size());
                    change(table, key, () -> rows.delete(table, key));
                }
                case STATEMENT -> {
                    statement(in);
                    Arrays.fill(shapes, null);
                }
                case END_OF_STATEMENT -> endOfStatement();
                case GENERATED -> {
                    Generator generator = new Generator(in.readBoolean(), in.readText(), in.readText());
                    long last = in.readInteger();
                    first(
                            () -> {
                                rows.generated(generator, last);
                                return true;
                            },
                            null);
                }
            }
        }
        endOfStatement();
    }

    private TableShape shape(WriteSetReader in, TableShape[] shapes) {
        int index = in.tableIndex();
        TableShape known = shapes[index];
        if (known != null) {
            return known;
        }
        WriteSetReader.Table named = in.tables().get(index);
        try {
            TableShape found = dialect.table(named.schema(), named.name()).shape();
            if (found.fingerprint() != named.fingerprint()) {
                throw new DivergenceException(
                        "table " + named + " has other columns here than where its rows were changed");
            }
            shapes[index] = found;
            return found;
        } catch (SQLException e) {
            throw new DivergenceException("rows of " + named + " cannot be changed here: " + e.getMessage(), e);
        }
    }

    private List<@Nullable Object> values(WriteSetReader in, int count) {
        List<@Nullable Object> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            values.add(value(in));
        }
        return values;
    }

    private @Nullable Object value(WriteSetReader in) {
        SqlType type = in.type();
        return type == null ? null : in.isLong() && dialect.takesPieces() ? in.readLongValue() : in.readValue(type);
    }

    private void insert(WriteSetReader in, TableShape table) {
        List<@Nullable Object> values = values(in, in.count());
        List<@Nullable Object> key = new ArrayList<>();
        table.key().forEach(position -> key.add(values.get(position - 1)));
        change(table, key, () -> {
            rows.insert(table, values);
            return true;
        });
    }

    private void update(WriteSetReader in, TableShape table) {
        List<@Nullable Object> key = values(in, table.key().size());
        int count = in.count();
        List<Integer> columns = new ArrayList<>(count);
        List<@Nullable Object> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            columns.add(in.column());
            values.add(value(in));
        }
        change(table, key, () -> rows.update(table, key, columns, values));
    }

    private void change(TableShape table, List<@Nullable Object> key, Change change) {
        rowsChanged = true;
        RowKey row = RowKey.of(table, key);
        if (!first(change, row)) {
            throw new DivergenceException("there is no row " + row + " here, which was changed elsewhere");
        }
    }

    private void endOfStatement() {
        first(
                () -> {
                    rows.endOfStatement();
                    return true;
                },
                null);
    }

    /** Ahead of local transactions, of which those in the way are rolled back. */
    private boolean first(Change change, @Nullable RowKey row) {
        for (int tries = 1; ; tries++) {
            if (makes(change, row, tries == TriggeredDatabase.tries())) {
                return isThere;
            }
            database.makeWay(null, database.listener().makeWay(row));
        }
    }

    /** False if somebody is in the way. */
    private boolean makes(Change change, @Nullable RowKey row, boolean isLastTry) {
        try {
            return Boolean.TRUE.equals(database.change(() -> {
                try {
                    isThere = change.make();
                    return true;
                } catch (Dialect.Rows.Locked e) {
                    if (isLastTry) {
                        throw new ReflectionException("the lock of " + row + " cannot be had", e);
                    }
                    return false;
                }
            }));
        } catch (SQLException e) {
            database.notice(e);
            throw new ReflectionException("what was applied cannot be written", e);
        }
    }

    private void statement(WriteSetReader in) {
        WriteSetReader.Statement change = in.readStatement();
        String sql = change.text();
        if (rowsChanged) {
            throw new ReflectionException(
                    "a change of the schema must not share its transaction with changes of rows: " + sql);
        }
        try {
            SQLException failed = database.changeSchema(connection, null, change.currentSchema(), sql);
            schemaChanged = true;
            if (failed != null) {
                LOG.info(
                        "{} of user {} has failed, as it does on all replicas: {}",
                        sql,
                        change.user(),
                        failed.getMessage());
            }
        } catch (SQLException e) {
            throw new ReflectionException("the schema change cannot be made here: " + sql, e);
        }
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {
        if (!next.isEmpty()) {
            throw new ReflectionException("generators do not take leased values here: " + next.keySet());
        }
    }

    @Override
    public void commit(StoredPosition position, boolean durable) {
        database.checkNew(position);
        first(
                () -> {
                    rows.committing();
                    return true;
                },
                null);
        try {
            database.commit(connection, position, durable);
            rowsChanged = false;
            if (schemaChanged) {
                schemaChanged = false;
                database.endSchemaChange(true);
            }
        } catch (SQLException e) {
            database.notice(e);
            throw new ReflectionException("what was ordered up to " + position + " cannot be committed", e);
        }
    }

    /** Versions of rows are read, which nobody locks. */
    @Override
    public Connection reading() {
        return connection;
    }

    @Override
    public List<TableShape> tables() {
        return dialect.tables().captured();
    }

    /** The database checks itself when it is opened. */
    @Override
    public @Nullable String damage(TableShape table) {
        return null;
    }

    @Override
    public void rollback() {
        try {
            database.change(() -> {
                rows.rolledBack();
                connection.rollback();
                return true;
            });
            rowsChanged = false;
            if (schemaChanged) {
                schemaChanged = false;
                database.endSchemaChange(false);
                throw new ReflectionException(
                        "a change of the schema cannot be taken back while the database is open: start the replica again");
            }
        } catch (SQLException e) {
            database.notice(e);
            throw new ReflectionException("what was applied cannot be rolled back", e);
        }
    }

    @Override
    public void close() {
        try {
            if (!connection.isClosed()) {
                connection.rollback();
                connection.close();
            }
        } catch (SQLException e) {
            LOG.debug("the applier's connection was gone already", e);
        }
        database.closed(this);
    }
}
