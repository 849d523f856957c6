package org.gorda.bindings.derby;

import org.apache.derby.catalog.UUID;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptorList;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.ReferencedKeyConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.TableShape;

/**
 * The rows in whose place an insert puts its own. Derby would swap what is on disk, which nobody sees; here they are deleted before, each by
 * itself. Derby itself refuses it for tables with triggers.
 */
final class ReplacedRows {

    private ReplacedRows() {}

    /** Within the statement that inserts, which takes it back if it fails. */
    static void delete(LanguageConnectionContext connection, UUID identity) throws StandardException {
        DataDictionary dictionary = connection.getDataDictionary();
        TableDescriptor table = dictionary.getTableDescriptor(identity);
        String name = TableShape.quoted(table.getSchemaName()) + "." + TableShape.quoted(table.getName());
        if (isReferenced(dictionary, table)) {
            throw DerbyRefusal.unsupported(
                    "an import that replaces the rows of " + name
                            + " cannot be replicated, because other tables refer to it: DELETE the rows, then import without replace");
        }
        connection
                .prepareInternalStatement("DELETE FROM " + name)
                .executeSubStatement(connection, true, 0)
                .close();
    }

    private static boolean isReferenced(DataDictionary dictionary, TableDescriptor table) throws StandardException {
        ConstraintDescriptorList constraints = dictionary.getConstraintDescriptors(table);
        for (int i = 0; i < constraints.size(); i++) {
            if (constraints.elementAt(i) instanceof ReferencedKeyConstraintDescriptor key
                    && !key.getNonSelfReferencingFK(ConstraintDescriptor.ENABLED)
                            .isEmpty()) {
                return true;
            }
        }
        return false;
    }
}
