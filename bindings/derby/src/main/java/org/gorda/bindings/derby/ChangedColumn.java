package org.gorda.bindings.derby;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.dictionary.ColumnDescriptor;
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
 * that it cannot compile. It knows that of triggers that are compiled just then, which may be so on one replica and not on another. Or a column that gets another
 * default: Derby refuses that for triggers that insert the one it has, as far as they were compiled since it has it.
 *
 * <p>Of which columns something depends may be stored otherwise on a replica that applies the change by which it was made: there Derby has several descriptors
 * of the same table, and keeps what the first one says. Nothing comes of that: who depends on any column of a table counts, whichever column is dropped or renamed.
 */
final class ChangedColumn {

    /** What else is dropped from a table. */
    private static final Set<String> OTHERS = Set.of("CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK");

    private static final String TRIGGERS = "SELECT T.TRIGGERNAME, T.* FROM SYS.SYSTRIGGERS T WITH UR";

    private static final String VIEWS_AND_SYNONYMS =
            "SELECT T.TABLENAME, V.VIEWDEFINITION FROM SYS.SYSVIEWS V JOIN SYS.SYSTABLES T ON T.TABLEID = V.TABLEID "
                    + "UNION ALL SELECT A.ALIAS, CAST(A.ALIASINFO AS VARCHAR(1000)) FROM SYS.SYSALIASES A WHERE A.ALIASTYPE = 'S' WITH UR";

    private static final int NAME = 1;

    private static final int DEFINITION = 2;

    private ChangedColumn() {}

    /**
     * Refuses to drop a column where a trigger belongs to its table, or names it in what it does, by itself or by a view or synonym; and to change the default of
     * one where a trigger so names its table.
     */
    static void requireNoTrigger(ReflectedConnection connection, String source) throws StandardException {
        SqlText text = SqlText.of(source);
        int action = text.isDot(3) ? 5 : 3;
        boolean drops = text.has(action, "DROP") && !OTHERS.contains(text.nameAt(action + 1));
        String column = drops ? "" : columnOfDefault(text, action);
        if (!text.has(0, "ALTER", "TABLE") || !(drops || !column.isEmpty())) {
            return;
        }
        String schemaName = text.isDot(3) ? text.nameAt(2) : connection.getCurrentSchemaName();
        String name = text.nameAt(action - 1);
        DataDictionary dictionary = connection.getDataDictionary();
        SchemaDescriptor schema = dictionary.getSchemaDescriptor(schemaName, connection.getTransactionExecute(), false);
        TableDescriptor table =
                schema == null ? null : dictionary.getTableDescriptor(name, schema, connection.getTransactionExecute());
        if (table == null || !(drops || hasDefault(table, column))) {
            return; // Derby says so, or has nobody who depends on a default
        }
        String trigger = trigger(connection, drops ? table.getUUID().toString() : "", name);
        if (trigger != null) {
            throw DerbyRefusal.unsupported(
                    (drops ? "dropping a column of " : "changing the default of a column of ") + schemaName + "." + name
                            + " cannot be replicated while there is trigger " + trigger
                            + (drops
                                    ? ", which Derby might drop with it on one replica and not on another: DROP TRIGGER "
                                            + trigger + ", drop the column"
                                    : ", for which Derby might refuse it on one replica and not on another: DROP TRIGGER "
                                            + trigger + ", change the default")
                            + ", and make the trigger again");
        }
    }

    /** The column whose default is set or dropped, empty if none is. */
    private static String columnOfDefault(SqlText text, int action) {
        int column = text.has(action + 1, "COLUMN") ? action + 2 : action + 1;
        boolean isMeant = text.has(action, "ALTER")
                && (text.has(column + 1, "DEFAULT")
                        || text.has(column + 1, "SET", "DEFAULT")
                        || text.has(column + 1, "WITH", "DEFAULT")
                        || text.has(column + 1, "DROP", "DEFAULT"));
        return isMeant ? text.nameAt(column) : "";
    }

    private static boolean hasDefault(TableDescriptor table, String name) {
        ColumnDescriptor column = table.getColumnDescriptor(name);
        return column != null && column.hasNonNullDefault();
    }

    /** @param owner the identity of the table whose own triggers count, too */
    private static @Nullable String trigger(ReflectedConnection connection, String owner, String name)
            throws StandardException {
        Set<String> names = namesOf(connection, name);
        for (ExecRow row : rows(connection, TRIGGERS)) {
            for (DataValueDescriptor value : row.getRowArray()) {
                boolean isMeant = value instanceof SQLLongvarchar
                        ? !value.isNull() && namesOneOf(value.getString(), names)
                        : owner.equals(value.toString());
                if (isMeant) {
                    return row.getColumn(NAME).getString();
                }
            }
        }
        return null;
    }

    /** The table's name, and those of views and synonyms through which it may be meant, whatever their schema. */
    private static Set<String> namesOf(ReflectedConnection connection, String table) throws StandardException {
        List<ExecRow> others = rows(connection, VIEWS_AND_SYNONYMS);
        Set<String> names = new HashSet<>(Set.of(table));
        int known = 0;
        while (known < names.size()) {
            known = names.size();
            for (ExecRow other : others) {
                if (namesOneOf(other.getColumn(DEFINITION).getString(), names)) {
                    names.add(other.getColumn(NAME).getString());
                }
            }
        }
        return names;
    }

    private static List<ExecRow> rows(ReflectedConnection connection, String query) throws StandardException {
        ResultSet result = connection.prepareInternalStatement(query).executeSubStatement(connection, true, 0);
        try {
            List<ExecRow> rows = new ArrayList<>();
            for (ExecRow row = result.getNextRow(); row != null; row = result.getNextRow()) {
                rows.add(row.getClone());
            }
            return rows;
        } finally {
            result.finish(); // a closed one still counts as the last, to which Derby adds the warnings of what it drops
        }
    }

    private static boolean namesOneOf(String definition, Set<String> names) {
        SqlText text = SqlText.of(definition);
        for (int i = 0; i < text.size(); i++) {
            if (names.contains(text.nameAt(i))) {
                return true;
            }
        }
        return false;
    }
}
