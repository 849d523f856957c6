package org.gorda.bindings.derby;

import java.util.Set;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.execute.ConstantAction;

/** Tells which of Derby's statements change the schema as all replicas must. Derby's own classes for them are not public. */
final class SchemaChanges {

    /** Where it shows what a statement does: more than its first words are not looked at. */
    static final int BEGINNING = 8;

    private static final String EXECUTE = "org.apache.derby.impl.sql.execute.";

    /** They are of the same kind to Derby, but concern the session or the layout on disk. */
    private static final Set<String> OTHERS = Set.of(
            EXECUTE + "SavepointConstantAction",
            EXECUTE + "SetConstraintsConstantAction",
            EXECUTE + "DropStatisticsConstantAction");

    private static final ClassValue<Boolean> IS_SCHEMA_CHANGE = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                if (OTHERS.contains(at.getName())) {
                    return false;
                }
                if (at.getName().equals(EXECUTE + "DDLConstantAction")
                        || at.getName().equals(EXECUTE + "GrantRevokeConstantAction")) {
                    return true;
                }
            }
            return false;
        }
    };

    private SchemaChanges() {}

    static boolean isSchemaChange(ConstantAction action) {
        return IS_SCHEMA_CHANGE.get(action.getClass());
    }

    /** Temporary tables, and the layout and the statistics of tables on disk, are each replica's own. */
    static boolean isReplicated(ReflectedConnection connection, String source) {
        SqlText text = SqlText.of(source, BEGINNING);
        if (text.has(0, "DECLARE")) {
            return false;
        }
        int rest = text.isDot(3) ? 5 : 3;
        if (text.has(0, "ALTER", "TABLE")) {
            // DROP STATISTICS drops a column of that name: Derby says STATISTICS DROP for the other.
            return !(text.has(rest, "COMPRESS")
                    || text.has(rest, "ALL", "UPDATE", "STATISTICS")
                    || text.has(rest, "ALL", "DROP", "STATISTICS")
                    || text.has(rest, "UPDATE", "STATISTICS")
                    || text.has(rest, "STATISTICS", "DROP"));
        }
        if (text.has(0, "DROP", "TABLE")) {
            String schema = text.isDot(3) ? text.nameAt(2) : connection.getCurrentSchemaName();
            return !(schema.equals(SchemaDescriptor.STD_DECLARED_GLOBAL_TEMPORARY_TABLES_SCHEMA_NAME)
                    && connection.getTableDescriptorForDeclaredGlobalTempTable(text.nameAt(rest - 1)) != null);
        }
        return true;
    }

    /** Whether a table is to be written anew in another place: whoever knows where its rows are would not find them. */
    static boolean movesRows(String source) {
        SqlText text = SqlText.of(source, BEGINNING);
        int rest = text.isDot(3) ? 5 : 3;
        return text.has(0, "ALTER", "TABLE") && text.has(rest, "COMPRESS") && !text.has(rest, "COMPRESS", "INPLACE");
    }

    /** Whether the statement makes a table from a temporary one, which others have not. */
    static boolean isFromTemporary(ReflectedConnection connection, String source) {
        SqlText text = SqlText.of(source);
        boolean isInSession = connection
                .getCurrentSchemaName()
                .equals(SchemaDescriptor.STD_DECLARED_GLOBAL_TEMPORARY_TABLES_SCHEMA_NAME);
        for (int i = 0; text.has(0, "CREATE", "TABLE") && i < text.size(); i++) {
            boolean isMeant = text.isDot(i - 1)
                    ? text.isName(i - 2, SchemaDescriptor.STD_DECLARED_GLOBAL_TEMPORARY_TABLES_SCHEMA_NAME)
                    : isInSession;
            if (isMeant && connection.getTableDescriptorForDeclaredGlobalTempTable(text.nameAt(i)) != null) {
                return true;
            }
        }
        return false;
    }

    /** Whether the statement makes, changes or drops something in the schema that is ours, or that schema. */
    static boolean concernsOurs(ReflectedConnection connection, String source) {
        SqlText text = SqlText.of(source);
        if (text.has(0, "GRANT") || text.has(0, "REVOKE")) {
            return false;
        }
        for (int i = 0; i < text.size(); i++) {
            if (text.isName(i, PositionTable.SCHEMA)
                    && ((text.isDot(i + 1) && !text.isDot(i - 1)) || text.has(i - 1, "SCHEMA"))) {
                return true;
            }
        }
        boolean schemaItself = text.has(1, "SCHEMA");
        return !schemaItself && PositionTable.SCHEMA.equals(connection.getCurrentSchemaName());
    }
}
