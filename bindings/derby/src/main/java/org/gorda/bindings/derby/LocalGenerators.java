package org.gorda.bindings.derby;

import java.util.HashSet;
import java.util.Set;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.SequenceDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.jspecify.annotations.Nullable;

/**
 * Generators as one transaction sees them, which may have created or changed some. For Derby, an identity column has a sequence named
 * after its table's identity in the system's schema; to alter the column it drops that and creates another. Confined to the client's
 * thread.
 */
final class LocalGenerators {

    /** By their identities. Nobody else can take from them yet. */
    private final Set<String> created = new HashSet<>();

    /** By their new identities. Where they go on is settled with the commit. */
    private final Set<String> altered = new HashSet<>();

    private boolean alters;
    private boolean tablesRenamed;

    /** What comes next is done by this statement. */
    void schemaChanges(String source) {
        SqlText text = SqlText.of(source, SchemaChanges.BEGINNING);
        alters = text.has(0, "ALTER", "TABLE") && text.has(text.isDot(3) ? 5 : 3, "ALTER");
        tablesRenamed |= text.has(0, "RENAME", "TABLE");
    }

    void created(SequenceDescriptor sequence) {
        (alters ? altered : created).add(sequence.getUUID().toString());
    }

    boolean createdHere(String id) {
        return created.contains(id);
    }

    void clear() {
        created.clear();
        altered.clear();
        tablesRenamed = false;
    }

    /**
     * What the catalogue says of a generator that others may take from.
     *
     * @throws StandardException if it cannot be leased, or has no values left
     */
    GeneratorState state(DataDictionary dictionary, String id) throws StandardException {
        SequenceDescriptor sequence =
                dictionary.getSequenceDescriptor(dictionary.getUUIDFactory().recreateUUID(id));
        Generator generator = sequence == null ? null : generator(dictionary, sequence);
        if (sequence == null || generator == null) {
            throw new IllegalStateException("there is no generator " + id);
        }
        if (altered.contains(id) || (generator.identity() && tablesRenamed)) {
            throw DerbyRefusal.unsupported(generator
                    + " cannot generate values in the transaction that alters it or renames tables: commit first");
        }
        if (sequence.canCycle()) {
            throw DerbyRefusal.unsupported(generator
                    + " has CYCLE, which cannot be had where every replica takes writes: create it without, or run"
                    + " protocol=primary-backup");
        }
        Long next = sequence.getCurrentValue();
        if (next == null) {
            throw usedUp(generator);
        }
        return new GeneratorState(
                generator, next, sequence.getIncrement(), sequence.getMinimumValue(), sequence.getMaximumValue());
    }

    /** By its name; null if its table is gone. */
    static @Nullable Generator generator(DataDictionary dictionary, SequenceDescriptor sequence)
            throws StandardException {
        SchemaDescriptor schema = sequence.getSchemaDescriptor();
        if (!schema.isSystemSchema()) {
            return new Generator(false, schema.getSchemaName(), sequence.getSequenceName());
        }
        TableDescriptor table =
                dictionary.getTableDescriptor(CapturedTable.tableOfGenerator(dictionary, sequence.getSequenceName()));
        return table == null ? null : new Generator(true, table.getSchemaName(), table.getName());
    }

    /** As Derby says it. */
    static StandardException usedUp(Generator generator) {
        return StandardException.newException(
                SQLState.LANG_SEQUENCE_GENERATOR_EXHAUSTED, generator.schema(), generator.name());
    }
}
