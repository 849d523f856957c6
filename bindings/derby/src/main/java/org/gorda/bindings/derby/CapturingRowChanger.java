package org.gorda.bindings.derby;

import java.util.ArrayList;
import java.util.List;
import org.apache.derby.iapi.services.io.FormatableBitSet;
import org.apache.derby.iapi.sql.dictionary.IndexRowGenerator;
import org.apache.derby.iapi.sql.execute.ExecRow;
import org.apache.derby.iapi.sql.execute.RowChanger;
import org.apache.derby.iapi.sql.execute.TemporaryRowHolder;
import org.apache.derby.iapi.store.access.ConglomerateController;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * Encodes each row change before Derby makes it. One per activation, which means per statement and connection. Confined to the
 * connection's thread.
 */
final class CapturingRowChanger implements RowChanger {

    private final RowChanger derby;
    private final ReflectedConnection connection;
    private final CapturedTable table;
    private final List<SqlType> types;

    /** Where in Derby's partial rows the columns are: by column position from 1, the index from 0, or -1. */
    private final int[] indexInRow;

    private final int[] changedColumns;
    private final boolean[] isChanged;
    private final boolean changesKeys;
    private final boolean changesPrimaryKey;
    private final boolean primaryKeyInRow;
    private final boolean isOfMerge;
    private final boolean deletesHere;
    private final DataValueDescriptor @Nullable [] fetched;
    private final @Nullable FormatableBitSet primaryKeyColumns;
    private final List<NullableKeys> nullableKeys;
    private boolean keysChanged;

    /**
     * Wraps a row changer.
     *
     * @param indexes those that Derby changes with the rows, null if none
     * @param indexIds where they are, in the same order
     * @param changed positions from 1 of the columns an update changes, null for inserts and deletes
     * @param readColumns which columns Derby's rows hold, by position from 1; null if all
     * @param isOfMerge whether the rows were all found before the first of them is changed
     * @param deletesHere whether it is of a statement that deletes rows of this table, be it that rows are updated for it
     */
    CapturingRowChanger(
            RowChanger derby,
            ReflectedConnection connection,
            CapturedTable table,
            IndexRowGenerator @Nullable [] indexes,
            long @Nullable [] indexIds,
            int @Nullable [] changed,
            @Nullable FormatableBitSet readColumns,
            boolean isOfMerge,
            boolean deletesHere)
            throws StandardException {
        this.derby = derby;
        this.connection = connection;
        this.table = table;
        this.types = table.types();
        this.isOfMerge = isOfMerge;
        this.deletesHere = deletesHere;
        int columns = types.size();
        indexInRow = new int[columns + 1];
        int next = 0;
        for (int position = 1; position <= columns; position++) {
            boolean held = readColumns == null || (position < readColumns.getLength() && readColumns.get(position));
            indexInRow[position] = held ? next++ : -1;
        }
        isChanged = new boolean[columns + 1];
        changedColumns = changed == null ? new int[0] : changed.clone();
        java.util.Arrays.sort(changedColumns);
        for (int position : changedColumns) {
            isChanged[position] = true;
        }
        changesPrimaryKey = changes(table.primaryKey());
        // A column that is being added may be UNIQUE, which is not known of it yet.
        changesKeys = changedColumns.length > 0
                && (changesConstraint() || changesUniqueIndex(indexes) || connection.changesSchema());
        boolean inRow = true;
        for (int position : table.primaryKey()) {
            inRow &= indexInRow[position] >= 0;
        }
        primaryKeyInRow = inRow;
        DataValueDescriptor[] templates = null;
        FormatableBitSet keyColumns = null;
        if (isOfMerge || !primaryKeyInRow) {
            keyColumns = new FormatableBitSet(columns);
            templates = new DataValueDescriptor[columns];
            for (int position : table.primaryKey()) {
                keyColumns.set(position - 1);
                templates[position - 1] = table.derbyTypes().get(position - 1).getNull();
            }
        }
        fetched = templates;
        primaryKeyColumns = keyColumns;
        nullableKeys = indexes == null || indexIds == null ? List.of() : nullableKeys(indexes, indexIds);
    }

    private List<NullableKeys> nullableKeys(IndexRowGenerator[] indexes, long[] indexIds) {
        List<NullableKeys> found = List.of();
        for (int i = 0; i < indexes.length; i++) {
            int[] columns = indexes[i].baseColumnPositions();
            if (indexes[i].isUniqueWithDuplicateNulls()
                    && !indexes[i].hasDeferrableChecking()
                    && isAnyChanged(columns)) {
                found = found.isEmpty() ? new ArrayList<>() : found;
                found.add(new NullableKeys(connection, indexIds[i], columns));
            }
        }
        return found;
    }

    private boolean isAnyChanged(int[] positions) {
        for (int position : positions) {
            if (isChanged[position]) {
                return true;
            }
        }
        return false;
    }

    /** One of these is made for each execution of a statement, so that loops are used where streams would read better. */
    private boolean changes(List<Integer> positions) {
        for (int position : positions) {
            if (isChanged[position]) {
                return true;
            }
        }
        return false;
    }

    private boolean changesConstraint() {
        for (CapturedTable.Key key : table.uniqueKeys()) {
            if (changes(key.columns())) {
                return true;
            }
        }
        return false;
    }

    /** A unique index is as good as a constraint to {@link AppliedTable}, which must know where the statement ends. */
    private boolean changesUniqueIndex(IndexRowGenerator @Nullable [] indexes) {
        if (indexes == null) {
            return false;
        }
        for (IndexRowGenerator index : indexes) {
            if (isUnique(index) && isAnyChanged(index.baseColumnPositions())) {
                return true;
            }
        }
        return false;
    }

    static boolean isUnique(IndexRowGenerator index) {
        return index.isUnique() || index.isUniqueWithDuplicateNulls();
    }

    @Override
    public RowLocation insertRow(ExecRow row, boolean getLocation) throws StandardException {
        WriteSetWriter out = connection.beginInsert(table);
        DataValueDescriptor[] values = row.getRowArray();
        try {
            out.insert(table.shape(), types.size());
            for (int i = 0; i < types.size(); i++) {
                connection.values().write(types.get(i), values[i], out);
            }
            if (connection.withKeys()) {
                for (CapturedTable.Key key : table.uniqueKeys()) {
                    addKey(out, KeyMode.WRITTEN, key, values);
                }
                for (CapturedTable.Key key : table.foreignKeys()) {
                    addKey(out, KeyMode.REFERENCED, key, values);
                }
            }
            return derby.insertRow(row, getLocation);
        } catch (RefusedException e) {
            throw new DerbyRefusal(e.refusal());
        } finally {
            connection.values().rewind();
        }
    }

    @Override
    public void deleteRow(ExecRow row, RowLocation location) throws StandardException {
        if (deletesHere && connection.hasNewKeys(location)) {
            // Derby, too, would find no entry of it in the index of that key, and add one for it when the statement
            // ends.
            throw DerbyRefusal.unsupported(
                    "the statement is to delete a row of " + table.shape()
                            + " whose unique column it has set to NULL before, as that refers to another row that it deletes: make two statements of it");
        }
        WriteSetWriter out = connection.beginChange(table);
        DataValueDescriptor[] values = row.getRowArray();
        try {
            out.delete(table.shape());
            putPrimaryKey(out, values, location);
            if (connection.withKeys()) {
                for (CapturedTable.Key key : table.uniqueKeys()) {
                    addKey(out, KeyMode.REMOVED, key, values);
                }
            }
        } catch (RefusedException e) {
            throw new DerbyRefusal(e.refusal());
        }
        derby.deleteRow(row, location);
    }

    @Override
    public void updateRow(ExecRow oldRow, ExecRow newRow, RowLocation location) throws StandardException {
        WriteSetWriter out = connection.beginChange(table);
        DataValueDescriptor[] oldValues = oldRow.getRowArray();
        DataValueDescriptor[] newValues = newRow.getRowArray();
        try {
            out.update(table.shape());
            putPrimaryKey(out, oldValues, location);
            out.changed(changedColumns.length);
            for (int position : changedColumns) {
                out.column(position);
                connection.values().write(types.get(position - 1), newValues[indexInRow[position]], out);
            }
            if (changesKeys) {
                keysChanged = true;
                if (deletesHere) {
                    connection.givesNewKeys(location);
                }
            }
            if (connection.withKeys()) {
                addKeysOfUpdate(out, oldValues, newValues, location);
            }
            for (NullableKeys keys : nullableKeys) {
                keys.give(newValues, indexInRow);
            }
            derby.updateRow(oldRow, newRow, location);
        } catch (RefusedException e) {
            throw new DerbyRefusal(e.refusal());
        } finally {
            connection.values().rewind();
        }
    }

    private void addKeysOfUpdate(
            WriteSetWriter out, DataValueDescriptor[] oldValues, DataValueDescriptor[] newValues, RowLocation location)
            throws StandardException {
        if (!changesPrimaryKey) {
            CapturedTable.Key primary = table.primary();
            if (primaryKeyInRow) {
                addKey(out, KeyMode.WRITTEN, primary, oldValues);
            } else {
                KeyHasher hasher = connection.hasher().begin(primary.identity());
                for (int position : primary.columns()) {
                    table.addColumn(hasher, position, fetchedKey(location)[position - 1], connection.values());
                }
                out.key(KeyMode.WRITTEN, hasher.value());
            }
        }
        for (CapturedTable.Key key : table.uniqueKeys()) {
            if (changes(key.columns())) {
                addKey(out, KeyMode.REMOVED, key, oldValues);
                addKey(out, KeyMode.WRITTEN, key, newValues);
            }
        }
        for (CapturedTable.Key key : table.foreignKeys()) {
            if (changes(key.columns())) {
                addKey(out, KeyMode.REFERENCED, key, newValues);
            }
        }
    }

    /** Adds a key of a row, unless a column is null, which makes it equal to nothing. */
    private void addKey(WriteSetWriter out, KeyMode mode, CapturedTable.Key key, DataValueDescriptor[] values)
            throws StandardException {
        KeyHasher hasher = connection.hasher().begin(key.identity());
        for (int position : key.columns()) {
            DataValueDescriptor value = values[indexInRow[position]];
            if (value.isNull()) {
                if (!key.nullsAreEqual()) {
                    return;
                }
                hasher.addBoolean(false);
            } else {
                table.addColumn(hasher, position, value, connection.values());
            }
        }
        out.key(mode, hasher.value());
        if (key.isCheckedLate() && mode == KeyMode.WRITTEN) {
            out.key(KeyMode.READ_UNLOCKED, hasher.value());
        }
    }

    private void putPrimaryKey(WriteSetWriter out, DataValueDescriptor[] values, RowLocation location)
            throws StandardException {
        if (isOfMerge && primaryKeyInRow) {
            requireSameKey(values, fetchedKey(location));
        }
        DataValueDescriptor[] source = primaryKeyInRow ? values : fetchedKey(location);
        for (int position : table.primaryKey()) {
            int index = primaryKeyInRow ? indexInRow[position] : position - 1;
            connection.values().write(types.get(position - 1), source[index], out);
        }
    }

    /** Derby reads for an update only what it needs; the key is fetched from the row. */
    private DataValueDescriptor[] fetchedKey(RowLocation location) throws StandardException {
        DataValueDescriptor[] key = fetched;
        if (key == null) {
            throw new IllegalStateException("the key of " + table.shape() + " is in the row");
        }
        if (!getHeapConglomerateController().fetch(location, key, primaryKeyColumns)) {
            throw changedBefore();
        }
        return key;
    }

    private void requireSameKey(DataValueDescriptor[] found, DataValueDescriptor[] now) throws StandardException {
        for (int position : table.primaryKey()) {
            if (found[indexInRow[position]].compare(now[position - 1]) != 0) {
                throw changedBefore();
            }
        }
    }

    private StandardException changedBefore() {
        return DerbyRefusal.unsupported("the statement is to change a row of " + table.shape()
                + " that it has found, and that what it has changed before has removed or given another key, by a trigger or by a key that cascades:"
                + " make two statements of it");
    }

    @Override
    public void finish() throws StandardException {
        derby.finish();
        for (NullableKeys keys : nullableKeys) {
            keys.check(getHeapConglomerateController().newRowLocationTemplate(), table.derbyTypes());
        }
        if (keysChanged) {
            keysChanged = false;
            connection.forgetNewKeys();
            connection.endOfKeyChanges();
        }
    }

    @Override
    public void open(int lockMode) throws StandardException {
        derby.open(lockMode);
    }

    @Override
    public void open(int lockMode, boolean wait) throws StandardException {
        derby.open(lockMode, wait);
    }

    @Override
    public void openForUpdate(boolean[] fixOnUpdate, int lockMode, boolean wait) throws StandardException {
        derby.openForUpdate(fixOnUpdate, lockMode, wait);
    }

    @Override
    public void setRowHolder(TemporaryRowHolder rowHolder) {
        derby.setRowHolder(rowHolder);
    }

    @Override
    public void setIndexNames(String[] indexNames) {
        derby.setIndexNames(indexNames);
    }

    @Override
    public void close() throws StandardException {
        derby.close();
    }

    @Override
    public ConglomerateController getHeapConglomerateController() {
        return derby.getHeapConglomerateController();
    }

    @Override
    public int findSelectedCol(int selectedCol) {
        return derby.findSelectedCol(selectedCol);
    }
}
