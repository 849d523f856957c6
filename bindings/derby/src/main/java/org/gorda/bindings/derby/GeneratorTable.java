package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.SequenceDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.shared.common.error.StandardException;

/**
 * How far generated keys went at their origin: this replica's own generators must go on behind that when it takes over, or they
 * would give keys a second time. A bound is kept some values ahead, so that it is seldom written. Confined to the applier's
 * thread.
 */
final class GeneratorTable {

    private static final int AHEAD = 100;

    /** A sequence, or the identity column of a table. */
    record Generator(boolean identity, String schema, String name) {}

    private final Connection connection;
    private final Map<Generator, Long> bounds = new LinkedHashMap<>();

    /** Values known to be within the bounds, to be spared the look at the catalogue. */
    private final Map<Generator, Long> increments = new LinkedHashMap<>();

    GeneratorTable(Connection connection) throws SQLException {
        this.connection = connection;
        load();
    }

    static void create(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE GORDA.GENERATED (IDENTITY_COLUMN SMALLINT NOT NULL, "
                    + "OBJECT_SCHEMA VARCHAR(128) NOT NULL, OBJECT_NAME VARCHAR(128) NOT NULL, BOUND BIGINT NOT NULL, "
                    + "PRIMARY KEY (OBJECT_SCHEMA, OBJECT_NAME, IDENTITY_COLUMN))");
        }
    }

    private void load() throws SQLException {
        bounds.clear();
        increments.clear();
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(
                        "SELECT IDENTITY_COLUMN, OBJECT_SCHEMA, OBJECT_NAME, BOUND FROM GORDA.GENERATED")) {
            while (found.next()) {
                bounds.put(
                        new Generator(found.getInt(1) != 0, found.getString(2), found.getString(3)), found.getLong(4));
            }
        }
    }

    /** The origin took a value. Part of the current transaction. */
    void taken(ReflectedConnection context, Generator generator, long value) throws SQLException, StandardException {
        Long increment = increments.get(generator);
        if (increment == null) {
            SequenceDescriptor sequence = find(context, generator);
            if (sequence == null) {
                return; // dropped later in the same transaction
            }
            increment = sequence.getIncrement();
            increments.put(generator, increment);
        }
        Long bound = bounds.get(generator);
        if (bound != null && (increment > 0 ? value <= bound : value >= bound)) {
            return;
        }
        long next = value + AHEAD * increment;
        boolean overflows = increment > 0 ? next < value : next > value;
        next = overflows ? value : next;
        String sql = bound == null
                ? "INSERT INTO GORDA.GENERATED (BOUND, IDENTITY_COLUMN, OBJECT_SCHEMA, OBJECT_NAME) VALUES (?, ?, ?, ?)"
                : "UPDATE GORDA.GENERATED SET BOUND = ? WHERE IDENTITY_COLUMN = ? AND OBJECT_SCHEMA = ? AND OBJECT_NAME = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setLong(1, next);
            statement.setInt(2, generator.identity() ? 1 : 0);
            statement.setString(3, generator.schema());
            statement.setString(4, generator.name());
            statement.executeUpdate();
        }
        bounds.put(generator, next);
    }

    /** The transaction was rolled back: what it had written is gone. */
    void rolledBack() throws SQLException {
        load();
    }

    /**
     * Moves this replica's generators behind the bounds and forgets the bounds: before it takes over, and before schema changes,
     * which may drop or restart generators. Part of the current transaction.
     */
    void settle(ReflectedConnection context) throws SQLException, StandardException {
        if (bounds.isEmpty()) {
            return;
        }
        TransactionController transaction = context.getTransactionExecute();
        DataDictionary dictionary = context.getDataDictionary();
        // First forgets values in memory, which would be written back over what is set here.
        dictionary.clearSequenceCaches();
        for (Map.Entry<Generator, Long> entry : bounds.entrySet()) {
            SequenceDescriptor sequence = find(context, entry.getKey());
            if (sequence == null || sequence.getCurrentValue() == null) {
                continue; // dropped, or exhausted
            }
            long bound = entry.getValue();
            long increment = sequence.getIncrement();
            boolean behind = increment > 0 ? sequence.getCurrentValue() <= bound : sequence.getCurrentValue() >= bound;
            if (behind) {
                RowLocation[] location = new RowLocation[1];
                SequenceDescriptor[] current = new SequenceDescriptor[1];
                dictionary.computeSequenceRowLocation(
                        transaction, sequence.getUUID().toString(), location, current);
                long next = within(sequence, bound + increment);
                dictionary.updateCurrentSequenceValue(transaction, location[0], true, null, next);
            }
        }
        dictionary.clearSequenceCaches();
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM GORDA.GENERATED");
        }
        bounds.clear();
        increments.clear();
    }

    private static long within(SequenceDescriptor sequence, long value) {
        return Math.max(sequence.getMinimumValue(), Math.min(sequence.getMaximumValue(), value));
    }

    private static @org.jspecify.annotations.Nullable SequenceDescriptor find(
            ReflectedConnection context, Generator generator) throws StandardException {
        DataDictionary dictionary = context.getDataDictionary();
        TransactionController transaction = context.getTransactionExecute();
        SchemaDescriptor schema = dictionary.getSchemaDescriptor(generator.schema(), transaction, false);
        if (schema == null) {
            return null;
        }
        if (!generator.identity()) {
            return dictionary.getSequenceDescriptor(schema, generator.name());
        }
        TableDescriptor table = dictionary.getTableDescriptor(generator.name(), schema, transaction);
        return table == null
                ? null
                : dictionary.getSequenceDescriptor(
                        dictionary.getSystemSchemaDescriptor(), TableDescriptor.makeSequenceName(table.getUUID()));
    }
}
