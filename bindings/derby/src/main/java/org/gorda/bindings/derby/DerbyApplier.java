package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.impl.jdbc.EmbedConnection;
import org.apache.derby.shared.common.error.ExceptionSeverity;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * Applies write sets below SQL: rows are found by the primary key's index and changed in heap and indexes directly, so that no
 * trigger fires, no foreign key acts and generated values stay as they were generated. Schema changes go by SQL. Confined to one
 * thread.
 */
final class DerbyApplier implements Applier {

    /** An index has another value than its row, points to no row, or has more or fewer entries than there are rows. */
    private static final Set<String> CONTRADICTIONS = Set.of("X0X61", "X0X62", "X0Y55");

    private final DerbyDatabase database;
    private final EmbedConnection connection;
    private final ReflectedConnection context;
    private final DerbyValues values = new DerbyValues();
    private final GeneratorTable generators;
    private final WriteSetWriter scratch;

    /** By schema and name; forgotten with every schema change, after which Derby may have moved them. */
    private final Map<String, AppliedTable> tables = new HashMap<>();

    /** Which the next change is of; null between write sets and for the schema. */
    private @Nullable AppliedTable current;

    private boolean schemaChanged;
    private long schemaChangesSeen;
    private boolean closed;

    DerbyApplier(DerbyDatabase database, EmbedConnection connection, ReflectedConnection context) throws SQLException {
        this.database = database;
        this.connection = connection;
        this.context = context;
        this.generators = new GeneratorTable(connection);
        this.scratch = database.newScratch();
        connection.commit();
    }

    @Override
    public void apply(WriteSet writeSet) {
        synchronized (connection) {
            try {
                database.requireStorage();
                database.makeWay();
                DerbyDatabase.within(context, () -> {
                    try {
                        applyWithin(new WriteSetReader(writeSet));
                    } catch (RuntimeException e) { // a divergence, too
                        context.requireStore(); // once that has failed, it gives what was on disk, or nothing
                        throw e;
                    }
                    return true;
                });
            } catch (SQLException | StandardException e) {
                database.noticeFailedStorage(e);
                throw new ReflectionException("Derby could not apply a write set: " + e.getMessage(), e);
            } finally {
                current = null;
            }
        }
    }

    /** The row that is about to be changed, if one is. For the thread that applies. */
    @Nullable
    RowKey row() {
        AppliedTable table = current;
        return table == null ? null : table.row();
    }

    @Override
    public Connection reading() {
        synchronized (connection) {
            try {
                database.makeWay();
                return connection;
            } catch (StandardException e) {
                throw new ReflectionException("Derby cannot be read: " + e.getMessage(), e);
            }
        }
    }

    @Override
    public List<TableShape> tables() throws SQLException {
        synchronized (connection) {
            try {
                database.makeWay();
                return database.tables(connection);
            } catch (StandardException e) {
                throw new SQLException("the tables cannot be listed: " + e.getMessage(), e.getSQLState(), e);
            }
        }
    }

    @Override
    public @Nullable String damage(TableShape table) throws SQLException {
        return damage(reading(), table);
    }

    /** Derby compares each index with the rows, both ways. */
    static @Nullable String damage(Connection connection, TableShape table) throws SQLException {
        try (PreparedStatement check = connection.prepareStatement("VALUES SYSCS_UTIL.SYSCS_CHECK_TABLE(?, ?)")) {
            check.setString(1, table.schema());
            check.setString(2, table.name());
            try (ResultSet found = check.executeQuery()) {
                found.next();
                return null;
            }
        } catch (SQLException e) {
            if (CONTRADICTIONS.contains(e.getSQLState())) {
                return e.getMessage();
            }
            throw e;
        }
    }

    private void applyWithin(WriteSetReader in) throws SQLException, StandardException {
        forgetTablesThatWereChanged();
        AppliedTable[] byIndex = new AppliedTable[in.tables().size()];
        boolean changesSchema = false;
        boolean generates = false;
        WriteSetReader.Kind kind = in.next();
        while (kind != null) {
            switch (kind) {
                case INSERT -> table(in, byIndex).insert(in);
                case UPDATE -> table(in, byIndex).update(in);
                case DELETE -> table(in, byIndex).delete(in);
                case END_OF_STATEMENT -> insertPostponed();
                case STATEMENT -> {
                    execute(in);
                    changesSchema = true;
                    java.util.Arrays.fill(byIndex, null);
                }
                case GENERATED -> {
                    boolean identity = in.readBoolean();
                    Generator generator = new Generator(identity, in.readText(), in.readText());
                    generators.taken(context, generator, in.readInteger());
                    generates = true;
                }
            }
            kind = in.next();
        }
        insertPostponed();
        if (changesSchema && generates) {
            // What it created itself has generated values already; the catalogue is where others will begin.
            generators.settle(context);
        }
    }

    /**
     * Before any lock in the catalogue: a client's statement that is being compiled holds up the dictionary, and may wait for that lock.
     */
    private void beginSchemaChange() throws StandardException {
        context.getDataDictionary().startWriting(context);
        schemaChanged = true;
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {
        if (next.isEmpty()) {
            return;
        }
        synchronized (connection) {
            try {
                database.makeWay();
                DerbyDatabase.within(context, () -> {
                    beginSchemaChange();
                    GeneratorTable.settle(context, next);
                    return true;
                });
            } catch (SQLException | StandardException e) {
                throw new ReflectionException("Derby's generators could not be settled: " + e.getMessage(), e);
            }
        }
    }

    /** By a transaction of this replica's own; what is applied forgets them itself. */
    private void forgetTablesThatWereChanged() throws StandardException {
        long ended = database.capturedTables().ended();
        if (ended != schemaChangesSeen) {
            closeTables();
            tables.clear();
            schemaChangesSeen = ended;
        }
    }

    private AppliedTable table(WriteSetReader in, @Nullable AppliedTable[] byIndex) throws StandardException {
        AppliedTable known = byIndex[in.tableIndex()];
        if (known != null) {
            current = known;
            return known;
        }
        WriteSetReader.Table named = in.tables().get(in.tableIndex());
        AppliedTable table = tables.get(named.toString());
        if (table == null) {
            table = AppliedTable.open(context, named.schema(), named.name(), values, scratch);
            if (table == null) {
                throw new DivergenceException("a write set changes table " + named + ", which does not exist here");
            }
            tables.put(named.toString(), table);
        }
        if (table.fingerprint() != named.fingerprint()) {
            throw new DivergenceException("table " + named
                    + " has other columns, types or key here than at the origin of a " + "write set that changes it");
        }
        byIndex[in.tableIndex()] = table;
        current = table;
        return table;
    }

    private void insertPostponed() throws StandardException {
        for (AppliedTable table : tables.values()) {
            current = table;
            table.insertPostponed();
        }
        scratch.clear();
    }

    private void execute(WriteSetReader in) throws SQLException, StandardException {
        WriteSetReader.Statement change = in.readStatement();
        String user = change.user();
        String role = change.role();
        String schema = change.currentSchema();
        String text = change.text();
        insertPostponed();
        current = null;
        closeTables();
        tables.clear();
        beginSchemaChange();
        generators.settle(context);
        try (Statement statement = connection.createStatement()) {
            context.actAs(user, role.isEmpty() ? null : role);
            context.setDefaultSchema(schema(schema, user));
            context.giveNames(change.generatedNames());
            // The comment makes the text unlike any other, so that Derby compiles it and asks for the names.
            statement.execute("/* gorda " + System.nanoTime() + " */ " + text);
        } catch (SQLException e) {
            if (isOfThisMoment(e)) {
                throw e;
            }
            throw new DivergenceException(
                    "a schema change that succeeded at its origin fails here: " + text + ": " + e.getMessage(), e);
        } finally {
            context.giveNames(null);
            context.applies();
        }
    }

    /** Whether it says nothing of the change: somebody was in the way for too long, or what is stored cannot be read or written. */
    private static boolean isOfThisMoment(SQLException e) {
        return e.getErrorCode() >= ExceptionSeverity.TRANSACTION_SEVERITY
                || e.getSQLState().startsWith("XS");
    }

    /** If there is none of that name, it is a user's own, which Derby creates with the first object in it. */
    private SchemaDescriptor schema(String name, String user) throws StandardException {
        DataDictionary dictionary = context.getDataDictionary();
        SchemaDescriptor found = dictionary.getSchemaDescriptor(name, context.getTransactionExecute(), false);
        return found == null ? new SchemaDescriptor(dictionary, name, user, null, false) : found;
    }

    private void closeTables() throws StandardException {
        for (AppliedTable table : tables.values()) {
            table.close();
        }
    }

    @Override
    public void commit(StoredPosition position, boolean durable) {
        synchronized (connection) {
            try {
                DerbyDatabase.within(context, () -> {
                    database.checkNew(position);
                    closeTables();
                    database.positions().store(context.getTransactionExecute(), position);
                    if (durable || schemaChanged) {
                        context.internalCommit(true);
                    } else {
                        context.internalCommitNoSync(TransactionController.RELEASE_LOCKS);
                    }
                    return true;
                });
                schemaChanged = false;
                database.committed(position);
            } catch (SQLException | StandardException e) {
                throw new ReflectionException("Derby could not commit what was applied up to " + position, e);
            }
        }
    }

    @Override
    public void rollback() {
        synchronized (connection) {
            try {
                database.requireStorage();
                connection.rollback();
                tables.clear();
                scratch.clear();
                schemaChanged = false;
                generators.rolledBack();
                connection.commit();
            } catch (SQLException e) {
                throw new ReflectionException("Derby could not roll back what was applied", e);
            }
        }
    }

    /** Moves generated keys behind those of others, in a transaction of its own. */
    void settleGenerators() {
        synchronized (connection) {
            try {
                DerbyDatabase.within(context, () -> {
                    generators.settle(context);
                    return true;
                });
                connection.commit();
            } catch (SQLException | StandardException e) {
                throw new ReflectionException("Derby's generators could not be moved behind those of others", e);
            }
        }
    }

    @Override
    public void close() {
        synchronized (connection) {
            if (closed) {
                return;
            }
            closed = true;
            try {
                if (!connection.isClosed()) { // as it is once Derby has shut the database down by itself
                    connection.rollback();
                    connection.close();
                }
            } catch (SQLException e) {
                throw new ReflectionException("the applier's connection could not be closed", e);
            }
        }
    }
}
