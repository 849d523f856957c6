package org.gorda.bindings.derby;

import java.util.Locale;
import java.util.Set;
import org.apache.derby.iapi.sql.execute.ConstantAction;

/** Tells which of Derby's statements change the schema as all replicas must. Derby's own classes for them are not public. */
final class SchemaChanges {

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

    /** Temporary tables and the layout of tables on disk are each replica's own. */
    static boolean isReplicated(ReflectedConnection connection, String text) {
        String[] words = text.strip().toUpperCase(Locale.ROOT).split("\\s+", 5);
        boolean temporary = words[0].equals("DECLARE")
                || (words.length > 2
                        && words[0].equals("DROP")
                        && words[2].startsWith("SESSION.")
                        && connection.getTableDescriptorForDeclaredGlobalTempTable(
                                        words[2].substring("SESSION.".length()))
                                != null);
        boolean layout = words[0].equals("ALTER") && words.length > 3 && words[3].startsWith("COMPRESS");
        return !temporary && !layout;
    }
}
