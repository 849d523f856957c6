package org.gorda.bindings.derby;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptorList;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.ReferencedKeyConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * An insert that puts its rows in place of the table's. Derby would swap what is on disk, which nobody sees; here the old rows are
 * deleted first, each by itself. Derby itself refuses it for tables with triggers. Confined to the connection's thread.
 */
final class ReplacingInsert implements InvocationHandler {

    private final ResultSet derby;
    private final LanguageConnectionContext connection;
    private final String table;

    private ReplacingInsert(ResultSet derby, LanguageConnectionContext connection, String table) {
        this.derby = derby;
        this.connection = connection;
        this.table = table;
    }

    static ResultSet of(ResultSet derby, LanguageConnectionContext connection, TableDescriptor table)
            throws StandardException {
        String name = TableShape.quoted(table.getSchemaName()) + "." + TableShape.quoted(table.getName());
        DataDictionary dictionary = connection.getDataDictionary();
        if (isReferenced(dictionary, table)) {
            throw DerbyRefusal.unsupported(
                    "an import that replaces the rows of " + name
                            + " cannot be replicated, because other tables refer to it: DELETE the rows, then import without replace");
        }
        return (ResultSet) Proxy.newProxyInstance(
                ResultSet.class.getClassLoader(),
                new Class<?>[] {ResultSet.class},
                new ReplacingInsert(derby, connection, name));
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

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        if (method.getName().equals("open")) {
            connection
                    .prepareInternalStatement("DELETE FROM " + table)
                    .executeSubStatement(connection, true, 0)
                    .close();
        }
        try {
            return method.invoke(derby, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
