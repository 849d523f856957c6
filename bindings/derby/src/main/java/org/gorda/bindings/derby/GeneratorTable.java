package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.SequenceDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * How far generated keys went at their origin: this replica's own generators must go on behind that when it takes over, or they
 * would give keys a second time. A bound is kept some values ahead, so that it is seldom written. Confined to the applier's
 * thread.
 */
final class GeneratorTable {

    private static final int AHEAD = 100;

    private final Connection connection;
    private final Map<Generator, Long> bounds = new LinkedHashMap<>();

    /** Those of which values were taken, to be spared the look at the catalogue. */
    private final Map<Generator, SequenceDescriptor> known = new HashMap<>();

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
        known.clear();
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
        SequenceDescriptor sequence = known.get(generator);
        if (sequence == null) {
            sequence = find(context, generator);
            if (sequence == null) {
                return; // dropped later in the same transaction
            }
            known.put(generator, sequence);
        }
        long increment = sequence.getIncrement();
        Long bound = bounds.get(generator);
        if (bound != null && isBehind(sequence, value, bound)) {
            return;
        }
        // Near its end exactly, or what is left up to there would be lost.
        long next = isAmong(sequence, value, AHEAD * increment) ? value + AHEAD * increment : value;
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

    /** Whether a bound is beyond a value still: one that is far beyond is of the round before, if the generator cycles. */
    private static boolean isBehind(SequenceDescriptor sequence, long value, long bound) {
        long increment = sequence.getIncrement();
        boolean isFar = sequence.canCycle() && Math.abs(bound - value) > AHEAD * Math.abs(increment);
        return (increment > 0 ? value <= bound : value >= bound) && !isFar;
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
        Map<Generator, OptionalLong> next = new LinkedHashMap<>();
        for (Map.Entry<Generator, Long> entry : bounds.entrySet()) {
            SequenceDescriptor sequence = find(context, entry.getKey());
            if (sequence != null) {
                next.put(entry.getKey(), behind(sequence, entry.getValue()));
            }
        }
        settle(context, next);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM GORDA.GENERATED");
        }
        bounds.clear();
        known.clear();
    }

    /** The first value behind the bound. */
    private static OptionalLong behind(SequenceDescriptor sequence, long bound) {
        long increment = sequence.getIncrement();
        if (isAmong(sequence, bound, increment)) {
            return OptionalLong.of(bound + increment);
        }
        return sequence.canCycle()
                ? OptionalLong.of(increment > 0 ? sequence.getMinimumValue() : sequence.getMaximumValue())
                : OptionalLong.empty();
    }

    /** The value before the one that it would give next; empty if that is its first one. */
    static OptionalLong last(SequenceDescriptor sequence) {
        Long next = sequence.getCurrentValue();
        long increment = sequence.getIncrement();
        if (next == null) {
            return OptionalLong.of(increment > 0 ? sequence.getMaximumValue() : sequence.getMinimumValue());
        }
        return next == sequence.getStartValue() || !isAmong(sequence, next, -increment)
                ? OptionalLong.empty()
                : OptionalLong.of(next - increment);
    }

    /** Whether the generator has a value so far from the one given. */
    private static boolean isAmong(SequenceDescriptor sequence, long value, long distance) {
        long other = value + distance;
        boolean overflows = distance > 0 ? other < value : other > value;
        return !overflows && other <= sequence.getMaximumValue() && other >= sequence.getMinimumValue();
    }

    /** Moves identity columns behind what is in their rows: leased values of other replicas are told nowhere else. Part of the current transaction. */
    static void settleBehindRows(Connection connection, ReflectedConnection context)
            throws SQLException, StandardException {
        Map<Generator, OptionalLong> next = new LinkedHashMap<>();
        try (Statement columns = connection.createStatement();
                Statement rows = connection.createStatement();
                ResultSet found = columns.executeQuery(
                        "SELECT S.SCHEMANAME, T.TABLENAME, C.COLUMNNAME, T.TABLETYPE FROM SYS.SYSCOLUMNS C"
                                + " JOIN SYS.SYSTABLES T ON C.REFERENCEID = T.TABLEID JOIN SYS.SYSSCHEMAS S ON T.SCHEMAID = S.SCHEMAID"
                                + " WHERE C.AUTOINCREMENTINC IS NOT NULL")) {
            while (found.next()) {
                if (!found.getString(4).equals("T")) { // by SQL it would be of the database's collation
                    continue;
                }
                Generator generator = new Generator(true, found.getString(1), found.getString(2));
                SequenceDescriptor sequence = find(context, generator);
                if (sequence == null) {
                    continue;
                }
                String farthest =
                        (sequence.getIncrement() > 0 ? "MAX(" : "MIN(") + TableShape.quoted(found.getString(3)) + ")";
                try (ResultSet value = rows.executeQuery("SELECT " + farthest + " FROM "
                        + TableShape.quoted(generator.schema()) + "." + TableShape.quoted(generator.name()))) {
                    value.next();
                    long last = value.getLong(1);
                    if (!value.wasNull()) {
                        next.put(generator, behind(sequence, last));
                    }
                }
            }
        }
        settle(context, next);
    }

    /** Has generators go on with these values, unless they are farther; empty: they have none left. Part of the current transaction. */
    static void settle(ReflectedConnection context, Map<Generator, OptionalLong> next)
            throws SQLException, StandardException {
        TransactionController transaction = context.getTransactionExecute();
        DataDictionary dictionary = context.getDataDictionary();
        // First forgets values in memory, which would be written back over what is set here.
        dictionary.clearSequenceCaches();
        for (Map.Entry<Generator, OptionalLong> entry : next.entrySet()) {
            SequenceDescriptor sequence = find(context, entry.getKey());
            if (sequence == null) {
                throw new DivergenceException("there is no " + entry.getKey() + " here, of which values were taken");
            }
            Long current = sequence.getCurrentValue();
            OptionalLong value = entry.getValue();
            boolean behind = current != null
                    && (value.isEmpty()
                            || (sequence.getIncrement() > 0
                                    ? current < value.getAsLong()
                                    : current > value.getAsLong()));
            if (behind) {
                RowLocation[] location = new RowLocation[1];
                SequenceDescriptor[] found = new SequenceDescriptor[1];
                dictionary.computeSequenceRowLocation(
                        transaction, sequence.getUUID().toString(), location, found);
                dictionary.updateCurrentSequenceValue(
                        transaction, location[0], true, null, value.isPresent() ? value.getAsLong() : null);
            }
        }
        dictionary.clearSequenceCaches();
    }

    static @Nullable SequenceDescriptor find(ReflectedConnection context, Generator generator)
            throws StandardException {
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
