package org.gorda.bindings.derby;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.derby.iapi.services.io.FormatableBitSet;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.ConglomerateDescriptor;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.IndexRowGenerator;
import org.apache.derby.iapi.sql.dictionary.ReferencedKeyConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.sql.execute.ExecRow;
import org.apache.derby.iapi.sql.execute.ExecutionFactory;
import org.apache.derby.iapi.sql.execute.RowChanger;
import org.apache.derby.iapi.store.access.ConglomerateController;
import org.apache.derby.iapi.store.access.DynamicCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.ScanController;
import org.apache.derby.iapi.store.access.StaticCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/** A table that write sets are applied to, below SQL. Confined to the applier's thread, in its context. */
final class AppliedTable {

    private record Index(long id, IndexRowGenerator generator, StaticCompiledOpenConglomInfo compiled) {}

    private final LanguageConnectionContext context;
    private final TransactionController transaction;
    private final CapturedTable table;
    private final DerbyValues values;
    private final long heapId;
    private final StaticCompiledOpenConglomInfo heap;
    private final List<Index> indexes;

    /** Null for a table without primary key: rows can only be added. */
    private final @Nullable Index primaryIndex;

    /** For each part of the primary index's key, which of the write set's key values it is. */
    private final int[] keyOrder;

    private final DataValueDescriptor[] keyValues;
    private final DataValueDescriptor[] indexRow;
    private final FormatableBitSet allColumns;
    private final FormatableBitSet indexedColumns;
    private final List<ExecRow> postponed = new ArrayList<>();

    /** Holds the long values of what is postponed, until it is cleared by its owner. */
    private final WriteSetWriter scratch;

    /** The row that comes new, null if the one that {@link #keyValues} tell is changed. */
    private @Nullable ExecRow inserted;

    // Open until the next commit.
    private @Nullable ScanController scan;
    private @Nullable ConglomerateController heapController;
    private final Map<FormatableBitSet, RowChanger> changers = new HashMap<>();

    private AppliedTable(
            LanguageConnectionContext context,
            CapturedTable table,
            DerbyValues values,
            long heapId,
            List<Index> indexes,
            @Nullable Index primaryIndex,
            WriteSetWriter scratch)
            throws StandardException {
        this.scratch = scratch;
        this.context = context;
        this.transaction = context.getTransactionExecute();
        this.table = table;
        this.values = values;
        this.heapId = heapId;
        this.heap = transaction.getStaticCompiledConglomInfo(heapId);
        this.indexes = indexes;
        this.primaryIndex = primaryIndex;
        int[] indexed =
                primaryIndex == null ? new int[0] : primaryIndex.generator().baseColumnPositions();
        this.keyOrder = new int[indexed.length];
        this.keyValues = new DataValueDescriptor[indexed.length];
        this.indexRow = new DataValueDescriptor[indexed.length + 1];
        for (int i = 0; i < indexed.length; i++) {
            keyOrder[table.primaryKey().indexOf(indexed[i])] = i;
            keyValues[i] = table.derbyTypes().get(indexed[i] - 1).getNull();
            indexRow[i] = table.derbyTypes().get(indexed[i] - 1).getNull();
        }
        this.allColumns = new FormatableBitSet(table.types().size());
        for (int i = 0; i < table.types().size(); i++) {
            allColumns.set(i);
        }
        this.indexedColumns = new FormatableBitSet(table.types().size());
        for (Index index : indexes) {
            for (int position : index.generator().baseColumnPositions()) {
                indexedColumns.set(position - 1);
            }
        }
    }

    /** Looks the table up; null if there is none. */
    static @Nullable AppliedTable open(
            LanguageConnectionContext context,
            String schemaName,
            String name,
            DerbyValues values,
            WriteSetWriter scratch)
            throws StandardException {
        TransactionController transaction = context.getTransactionExecute();
        DataDictionary dictionary = context.getDataDictionary();
        SchemaDescriptor schema = dictionary.getSchemaDescriptor(schemaName, transaction, false);
        TableDescriptor descriptor = schema == null ? null : dictionary.getTableDescriptor(name, schema, transaction);
        if (descriptor == null) {
            return null;
        }
        CapturedTable table = CapturedTable.of(dictionary, descriptor);
        if (table.obstacle() != null) {
            throw new DivergenceException("a write set changes table " + table.shape()
                    + ", which cannot be replicated here: " + table.obstacle());
        }
        ReferencedKeyConstraintDescriptor key = descriptor.getPrimaryKey();
        long primaryId = key == null
                ? -1
                : descriptor.getConglomerateDescriptor(key.getConglomerateId()).getConglomerateNumber();
        List<Index> indexes = new ArrayList<>();
        Index primary = null;
        // Indexes on the same columns share one conglomerate: that of a foreign key is unique on disk if the other one
        // is.
        List<ConglomerateDescriptor> conglomerates = Stream.of(descriptor.getConglomerateDescriptors())
                .filter(ConglomerateDescriptor::isIndex)
                .sorted(Comparator.comparing(
                        conglomerate -> !CapturingRowChanger.isUnique(conglomerate.getIndexDescriptor())))
                .toList();
        for (ConglomerateDescriptor conglomerate : conglomerates) {
            long id = conglomerate.getConglomerateNumber();
            if (indexes.stream().anyMatch(index -> index.id() == id)) {
                continue;
            }
            Index index = new Index(
                    id, unchecked(conglomerate.getIndexDescriptor()), transaction.getStaticCompiledConglomInfo(id));
            indexes.add(index);
            if (id == primaryId) {
                primary = index;
            }
        }
        if (key != null && primary == null) {
            throw new DivergenceException("table " + table.shape() + " has no index for its primary key");
        }
        return new AppliedTable(context, table, values, descriptor.getHeapConglomerateId(), indexes, primary, scratch);
    }

    /**
     * Without the checks of a deferrable constraint: its index is one with duplicates, of which there may be some until the end of
     * the transaction, and the origin has checked that there were none left.
     */
    private static IndexRowGenerator unchecked(IndexRowGenerator index) {
        return index.hasDeferrableChecking()
                ? new IndexRowGenerator(
                        index.indexType(),
                        false,
                        false,
                        false,
                        false,
                        index.baseColumnPositions(),
                        index.isAscending(),
                        index.numberOfOrderedColumns())
                : index;
    }

    long fingerprint() {
        return table.shape().fingerprint();
    }

    // ----------------------------------------------------------------------------------------------------- changes

    void insert(WriteSetReader in) throws StandardException {
        int count = in.count();
        if (count != table.types().size()) {
            throw new DivergenceException("a row of " + count + " columns for table " + table.shape());
        }
        ExecRow row = newRow();
        for (int i = 0; i < count; i++) {
            values.read(in, table.types().get(i), row.getRowArray()[i]);
        }
        insert(row);
    }

    private void insert(ExecRow row) throws StandardException {
        inserted = row;
        try {
            changer(null).insertRow(row, false);
        } catch (NullPointerException e) {
            // For its error Derby looks up the constraint by the statement that is executed, and there is none.
            if (Arrays.stream(e.getStackTrace())
                    .limit(1)
                    .noneMatch(at -> at.getClassName().endsWith(".IndexChanger"))) {
                throw e;
            }
            throw new DivergenceException(
                    "another row has a unique key of " + row() + ": this replica has diverged", e);
        }
    }

    void delete(WriteSetReader in) throws StandardException {
        RowLocation location = find(in, "delete");
        delete(fetch(location, indexedColumns), location);
    }

    private void delete(ExecRow row, RowLocation location) throws StandardException {
        changer(null).deleteRow(row, location);
    }

    void update(WriteSetReader in) throws StandardException {
        RowLocation location = find(in, "update");
        int count = in.count();
        int columns = table.types().size();
        if (count > columns) {
            throw new DivergenceException("an update of " + count + " columns of table " + table.shape());
        }
        DataValueDescriptor[] changed = new DataValueDescriptor[columns];
        FormatableBitSet changedColumns = new FormatableBitSet(columns);
        for (int i = 0; i < count; i++) {
            int position = in.column();
            if (position < 1 || position > columns) {
                throw new DivergenceException("an update of column " + position + " of table " + table.shape());
            }
            DataValueDescriptor value = table.derbyTypes().get(position - 1).getNull();
            values.read(in, table.types().get(position - 1), value);
            changed[position - 1] = value;
            changedColumns.set(position - 1);
        }
        if (!touches(changedColumns, indexes)) {
            heap().replace(location, changed, changedColumns);
            return;
        }
        boolean unique = indexes.stream()
                .anyMatch(index ->
                        CapturingRowChanger.isUnique(index.generator()) && touches(changedColumns, List.of(index)));
        ExecRow before = fetch(location, unique ? allColumns : indexedColumns);
        ExecRow after =
                context.getLanguageConnectionFactory().getExecutionFactory().getValueRow(columns);
        for (int i = 0; i < columns; i++) {
            after.setColumn(i + 1, changed[i] == null ? before.getColumn(i + 1) : changed[i]);
        }
        if (unique) {
            // Keys may be exchanged between the rows of a statement: first all old ones go, then the new ones come.
            delete(before, location);
            postponed.add(after);
        } else {
            changer(changedColumns).updateRow(before, after, location);
        }
    }

    /** The statement has ended: the rows with new keys come back. */
    void insertPostponed() throws StandardException {
        for (ExecRow row : postponed) {
            insert(row);
        }
        postponed.clear();
    }

    private static boolean touches(FormatableBitSet changedColumns, List<Index> among) {
        for (Index index : among) {
            for (int position : index.generator().baseColumnPositions()) {
                if (changedColumns.isSet(position - 1)) {
                    return true;
                }
            }
        }
        return false;
    }

    private ExecRow newRow() throws StandardException {
        int columns = table.types().size();
        ExecRow row =
                context.getLanguageConnectionFactory().getExecutionFactory().getValueRow(columns);
        for (int i = 0; i < columns; i++) {
            row.setColumn(i + 1, table.derbyTypes().get(i).getNull());
        }
        return row;
    }

    /** The row's values in those columns, NULL in the others. */
    private ExecRow fetch(RowLocation location, FormatableBitSet columns) throws StandardException {
        ExecRow row = newRow();
        if (!heap().fetch(location, row.getRowArray(), columns)) {
            throw new DivergenceException("a row of table " + table.shape() + " is in its index but not in the table");
        }
        for (int i = 0; i < table.types().size(); i++) {
            // A value that is a stream of the row would not outlive the row's change.
            DataValueDescriptor value = row.getColumn(i + 1);
            if (value.hasStream()) {
                values.write(table.types().get(i), value, scratch);
            }
        }
        values.rewind();
        return row;
    }

    /** Finds the row by the key that the write set gives. */
    private RowLocation find(WriteSetReader in, String purpose) throws StandardException {
        Index primary = primaryIndex;
        if (primary == null) {
            throw new DivergenceException("there is no primary key to find a row to " + purpose + " by in table "
                    + table.shape() + ": this replica has diverged");
        }
        inserted = null;
        for (int i = 0; i < keyOrder.length; i++) {
            values.read(in, table.types().get(table.primaryKey().get(i) - 1), keyValues[keyOrder[i]]);
        }
        RowLocation location = heap().newRowLocationTemplate();
        indexRow[indexRow.length - 1] = location;
        ScanController open = scan;
        if (open == null) {
            open = transaction.openCompiledScan(
                    false,
                    TransactionController.OPENMODE_FORUPDATE,
                    TransactionController.MODE_RECORD,
                    TransactionController.ISOLATION_READ_COMMITTED,
                    null,
                    keyValues,
                    ScanController.GE,
                    null,
                    keyValues,
                    ScanController.GT,
                    primary.compiled(),
                    transaction.getDynamicCompiledConglomInfo(primary.id()));
            scan = open;
        } else {
            open.reopenScan(keyValues, ScanController.GE, null, keyValues, ScanController.GT);
        }
        if (!open.fetchNext(indexRow)) {
            throw new DivergenceException(
                    "there is no row to " + purpose + " of " + row() + ": this replica has diverged");
        }
        return location;
    }

    /** The row that is being changed. */
    RowKey row() {
        ExecRow row = inserted;
        List<@Nullable Object> key = new ArrayList<>();
        try {
            for (int i = 0; i < keyOrder.length; i++) {
                DataValueDescriptor value = row == null
                        ? keyValues[keyOrder[i]]
                        : row.getColumn(table.primaryKey().get(i));
                key.add(value.getString());
            }
        } catch (StandardException e) {
            key.clear(); // no type that a key may have does that
        }
        return key.isEmpty() ? new RowKey(table.shape().toString(), "") : RowKey.of(table.shape(), key);
    }

    private ConglomerateController heap() throws StandardException {
        ConglomerateController open = heapController;
        if (open == null) {
            open = transaction.openCompiledConglomerate(
                    false,
                    TransactionController.OPENMODE_FORUPDATE,
                    TransactionController.MODE_RECORD,
                    TransactionController.ISOLATION_READ_COMMITTED,
                    heap,
                    transaction.getDynamicCompiledConglomInfo(heapId));
            heapController = open;
        }
        return open;
    }

    /** Changes heap and indexes; for inserts and deletes all indexes, for updates those that the columns touch. */
    private RowChanger changer(@Nullable FormatableBitSet changedColumns) throws StandardException {
        FormatableBitSet key = changedColumns == null ? allColumns : changedColumns;
        RowChanger open = changers.get(key);
        if (open != null) {
            return open;
        }
        List<Index> touched = changedColumns == null
                ? indexes
                : indexes.stream()
                        .filter(index -> touches(changedColumns, List.of(index)))
                        .toList();
        int count = touched.size();
        IndexRowGenerator[] generators = new IndexRowGenerator[count];
        long[] ids = new long[count];
        StaticCompiledOpenConglomInfo[] statics = new StaticCompiledOpenConglomInfo[count];
        DynamicCompiledOpenConglomInfo[] dynamics = new DynamicCompiledOpenConglomInfo[count];
        String[] names = new String[count];
        for (int i = 0; i < count; i++) {
            Index index = touched.get(i);
            generators[i] = index.generator();
            ids[i] = index.id();
            statics[i] = index.compiled();
            dynamics[i] = transaction.getDynamicCompiledConglomInfo(index.id());
            names[i] = "of " + table.shape();
        }
        int[] changed = null;
        if (changedColumns != null) {
            changed = java.util.stream.IntStream.range(0, table.types().size())
                    .filter(changedColumns::isSet)
                    .map(i -> i + 1)
                    .toArray();
        }
        ExecutionFactory execution = context.getLanguageConnectionFactory().getExecutionFactory();
        RowChanger changer = execution.getRowChanger(
                heapId,
                heap,
                transaction.getDynamicCompiledConglomInfo(heapId),
                generators,
                ids,
                statics,
                dynamics,
                table.types().size(),
                transaction,
                changed,
                null,
                null);
        changer.setIndexNames(names);
        changer.open(TransactionController.MODE_RECORD);
        changers.put(key, changer);
        return changer;
    }

    /** The transaction ends. */
    void close() throws StandardException {
        ScanController openScan = scan;
        if (openScan != null) {
            openScan.close();
            scan = null;
        }
        ConglomerateController openHeap = heapController;
        if (openHeap != null) {
            openHeap.close();
            heapController = null;
        }
        for (RowChanger changer : changers.values()) {
            changer.close();
        }
        changers.clear();
    }
}
