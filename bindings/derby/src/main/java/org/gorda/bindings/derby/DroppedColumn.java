package org.gorda.bindings.derby;

import java.util.Set;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.sql.execute.ExecRow;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.SQLLongvarchar;
import org.apache.derby.shared.common.error.StandardException;
import org.jspecify.annotations.Nullable;

/**
 * A column that a statement drops, with the triggers that it might take along: Derby compiles those anew that it knows to depend on the table, and drops the ones
 * that it cannot compile. It knows that of triggers that are compiled just then, which may be so on one replica and not on another.
 */
final class DroppedColumn {

    /** What else is dropped from a table. */
    private static final Set<String> OTHERS = Set.of("CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK");

    private static final int NAME = 1;

    private DroppedColumn() {}

    /** Refuses to drop a column where a trigger belongs to its table, or names it in what it does. */
    static void requireNoTrigger(ReflectedConnection connection, String source) throws StandardException {
        SqlText text = SqlText.of(source);
        int action = text.isDot(3) ? 5 : 3;
        if (!text.has(0, "ALTER", "TABLE") || !text.has(action, "DROP") || OTHERS.contains(text.nameAt(action + 1))) {
            return;
        }
        String schemaName = text.isDot(3) ? text.nameAt(2) : connection.getCurrentSchemaName();
        String name = text.nameAt(action - 1);
        DataDictionary dictionary = connection.getDataDictionary();
        SchemaDescriptor schema = dictionary.getSchemaDescriptor(schemaName, connection.getTransactionExecute(), false);
        TableDescriptor table =
                schema == null ? null : dictionary.getTableDescriptor(name, schema, connection.getTransactionExecute());
        if (table == null) {
            return; // Derby says so
        }
        String trigger = trigger(connection, table, name);
        if (trigger != null) {
            throw DerbyRefusal.unsupported("dropping a column of " + schemaName + "." + name
                    + " cannot be replicated while there is trigger " + trigger
                    + ", which Derby might drop with it on one replica and not on another: DROP TRIGGER " + trigger
                    + ", drop the column, and make the trigger again");
        }
    }

    private static @Nullable String trigger(ReflectedConnection connection, TableDescriptor table, String name)
            throws StandardException {
        ResultSet triggers = connection
                .prepareInternalStatement("SELECT T.TRIGGERNAME, T.* FROM SYS.SYSTRIGGERS T WITH UR")
                .executeSubStatement(connection, true, 0);
        try {
            String identity = table.getUUID().toString();
            for (ExecRow row = triggers.getNextRow(); row != null; row = triggers.getNextRow()) {
                for (DataValueDescriptor value : row.getRowArray()) {
                    boolean isMeant = value instanceof SQLLongvarchar
                            ? !value.isNull() && names(value.getString(), name)
                            : identity.equals(value.toString());
                    if (isMeant) {
                        return row.getColumn(NAME).getString();
                    }
                }
            }
            return null;
        } finally {
            triggers.close();
        }
    }

    private static boolean names(String definition, String name) {
        SqlText text = SqlText.of(definition);
        for (int i = 0; i < text.size(); i++) {
            if (text.isName(i, name)) {
                return true;
            }
        }
        return false;
    }
}
