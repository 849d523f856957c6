package org.gorda.bindings.postgresql;

import java.util.HashMap;
import java.util.Map;
import org.gorda.bindings.postgresql.wire.PlainStatement;
import org.jspecify.annotations.Nullable;

/** The tables of a database of which plain statements change only what they return, as they are up to the next change of the schema. Immutable. */
final class ProvableTables {

    private final long schemaChanges;
    private final Map<String, ProvableTable> tables;

    /**
     * Takes what was read.
     *
     * @param schemaChanges how many there had been
     * @param tables by their names, and by what {@link #name} makes of their schemas and names; the first only if no other relation has it
     */
    ProvableTables(long schemaChanges, Map<String, ProvableTable> tables) {
        this.schemaChanges = schemaChanges;
        this.tables = new HashMap<>(tables);
    }

    long schemaChanges() {
        return schemaChanges;
    }

    static String name(String schema, String table) {
        return schema.isEmpty() ? table : schema + '\0' + table;
    }

    /** The table that a statement is about, if its changes can be taken from what it returns. */
    @Nullable
    ProvableTable proving(PlainStatement statement) {
        ProvableTable table = tables.get(name(statement.schema(), statement.table()));
        return table != null && table.proves(statement) ? table : null;
    }
}
