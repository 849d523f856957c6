package org.gorda.bindings.derby;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.ConglomerateDescriptor;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.store.access.ScanController;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.DataTypeDescriptor;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.jspecify.annotations.Nullable;

/**
 * The keys that an update gives to rows, of one unique constraint over columns that may be null. A row that takes back a key which it had before gets its old
 * entry of the index again, and Derby does not look whether another row has that key by now. Confined to the connection's thread.
 */
final class NullableKeys {

    /** Of so many the keys are remembered; if there are more, the whole index is looked through. */
    private static final int REMEMBERED_MAX = 1000;

    private final LanguageConnectionContext connection;
    private final long indexId;
    private final int[] columns;
    private final List<DataValueDescriptor[]> given = new ArrayList<>();
    private boolean isOverflown;

    /** @param columns positions from 1 of the columns of the key */
    NullableKeys(LanguageConnectionContext connection, long indexId, int[] columns) {
        this.connection = connection;
        this.indexId = indexId;
        this.columns = columns.clone();
    }

    /** Of a row that is updated. */
    void give(DataValueDescriptor[] values, int[] indexInRow) {
        if (isOverflown) {
            return;
        }
        DataValueDescriptor[] key = new DataValueDescriptor[columns.length];
        for (int i = 0; i < columns.length; i++) {
            DataValueDescriptor value = values[indexInRow[columns[i]]];
            if (value.isNull()) {
                return; // equal to nothing
            }
            key[i] = value.cloneValue(true);
        }
        given.add(key);
        if (given.size() > REMEMBERED_MAX) {
            given.clear();
            isOverflown = true;
        }
    }

    /**
     * Once the statement has changed the index.
     *
     * @throws StandardException 23505 if another row has one of the keys
     */
    void check(RowLocation template, List<DataTypeDescriptor> types) throws StandardException {
        try {
            for (DataValueDescriptor[] key : given) {
                check(key, template, types);
            }
            if (isOverflown) {
                check(null, template, types);
            }
        } finally {
            given.clear();
            isOverflown = false;
        }
    }

    private void check(DataValueDescriptor @Nullable [] key, RowLocation template, List<DataTypeDescriptor> types)
            throws StandardException {
        ScanController scan = connection
                .getTransactionExecute()
                .openScan(
                        indexId,
                        false,
                        0,
                        TransactionController.MODE_RECORD,
                        TransactionController.ISOLATION_READ_COMMITTED,
                        null,
                        key,
                        key == null ? ScanController.NA : ScanController.GE,
                        null,
                        key,
                        key == null ? ScanController.NA : ScanController.GT);
        try {
            DataValueDescriptor[] before = row(template, types);
            DataValueDescriptor[] row = row(template, types);
            for (int rows = 0; scan.fetchNext(row); rows++) {
                if (rows > 0 && isSame(before, row)) {
                    throw duplicate();
                }
                DataValueDescriptor[] last = before;
                before = row;
                row = last;
            }
        } finally {
            scan.close();
        }
    }

    private DataValueDescriptor[] row(RowLocation template, List<DataTypeDescriptor> types) throws StandardException {
        DataValueDescriptor[] row = new DataValueDescriptor[columns.length + 1];
        for (int i = 0; i < columns.length; i++) {
            row[i] = types.get(columns[i] - 1).getNull();
        }
        row[columns.length] = template.cloneValue(false);
        return row;
    }

    private boolean isSame(DataValueDescriptor[] one, DataValueDescriptor[] other) throws StandardException {
        for (int i = 0; i < columns.length; i++) {
            if (one[i].isNull() || one[i].compare(other[i]) != 0) {
                return false;
            }
        }
        return true;
    }

    private StandardException duplicate() throws StandardException {
        DataDictionary dictionary = connection.getDataDictionary();
        ConglomerateDescriptor index = Objects.requireNonNull(CapturedTable.descriptor(connection, indexId));
        TableDescriptor table = dictionary.getTableDescriptor(index.getTableID());
        ConstraintDescriptor constraint = dictionary.getConstraintDescriptor(table, index.getUUID());
        return StandardException.newException(
                SQLState.LANG_DUPLICATE_KEY_CONSTRAINT,
                constraint == null ? index.getConglomerateName() : constraint.getConstraintName(),
                table.getName());
    }
}
