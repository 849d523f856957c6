package org.gorda.bindings.derby;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.derby.catalog.UUID;
import org.apache.derby.iapi.services.io.FormatableBitSet;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.ColumnDescriptor;
import org.apache.derby.iapi.sql.dictionary.ConglomerateDescriptor;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.ConstraintDescriptorList;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.ForeignKeyConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.IndexRowGenerator;
import org.apache.derby.iapi.sql.dictionary.ReferencedKeyConstraintDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.sql.execute.ScanQualifier;
import org.apache.derby.iapi.store.access.ScanController;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.DataTypeDescriptor;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.Orderable;
import org.apache.derby.iapi.types.SQLChar;
import org.apache.derby.iapi.types.SQLLongint;
import org.apache.derby.iapi.types.StringDataValue;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * A table as capture sees it: its shape, its keys, and why it cannot be replicated if so. Immutable.
 *
 * @param types of the columns, by position from 0
 * @param derbyTypes the same as Derby knows them
 * @param primaryKey positions from 1 of the primary key's columns, in the key's order
 * @param uniqueKeys the primary key, the unique constraints and the unique indexes
 * @param foreignKeys what rows refer to
 * @param obstacle why changes to the table are refused whatever its key, or null
 */
record CapturedTable(
        TableShape shape,
        List<SqlType> types,
        List<DataTypeDescriptor> derbyTypes,
        List<Integer> primaryKey,
        List<Key> uniqueKeys,
        List<Key> foreignKeys,
        @Nullable String obstacle) {

    /**
     * Columns whose values make a certification key.
     *
     * @param identity of the constraint that they are a key of: for a foreign key, the referenced one
     * @param columns positions from 1
     * @param nullsAreEqual whether a key with NULLs is a key like others, and not equal to nothing
     * @param isCheckedLate whether it is seen to be free without a lock that keeps it so: what is ordered is not held up by rows that the check has not seen
     */
    record Key(long identity, List<Integer> columns, boolean nullsAreEqual, boolean isCheckedLate) {}

    /**
     * A heap or an index.
     *
     * @param indexed the positions from 1 of an index's columns, in its order; none for a heap
     */
    record Container(CapturedTable table, List<Integer> indexed) {

        boolean isPrimaryKey() {
            return !indexed.isEmpty() && indexed.equals(table.primaryKey());
        }
    }

    /** The key by which replicas find a row; only if there is one. */
    Key primary() {
        for (Key key : uniqueKeys) {
            if (key.columns().equals(primaryKey)) {
                return key;
            }
        }
        throw new IllegalStateException(shape + " has no primary key");
    }

    /**
     * Adds a column's value to a key. Where a collation takes different texts for equal, all are taken for equal.
     *
     * @param position from 1
     */
    void addColumn(KeyHasher hasher, int position, DataValueDescriptor value, DerbyValues values)
            throws StandardException {
        if (derbyTypes.get(position - 1).getCollationType() == StringDataValue.COLLATION_TYPE_UCS_BASIC) {
            values.hash(types.get(position - 1), value, hasher);
        }
    }

    CapturedTable withShape(TableShape same) {
        return new CapturedTable(same, types, derbyTypes, primaryKey, uniqueKeys, foreignKeys, obstacle);
    }

    /** Why rows of a table without primary key cannot be changed once they are there, null if it has one. */
    @Nullable
    String keyObstacle() {
        return primaryKey.isEmpty()
                ? "it has no primary key, by which replicas find a row: ALTER TABLE " + shape
                        + " ADD PRIMARY KEY (...); if no column will do, make another table with one and INSERT INTO it ... SELECT"
                : null;
    }

    /** Looks up the table of a heap or an index; null if it is none that can be changed by clients. */
    static @Nullable Container inContainer(LanguageConnectionContext lcc, long id) throws StandardException {
        DataDictionary dictionary = lcc.getDataDictionary();
        // In a nested transaction, as the compiler does, so that no locks on the catalogue stay with the client's
        // transaction.
        lcc.beginNestedTransaction(true);
        try {
            ConglomerateDescriptor container = descriptor(lcc, id);
            if (container == null) {
                return null; // a declared temporary table
            }
            TableDescriptor table = dictionary.getTableDescriptor(container.getTableID());
            if (table == null || table.getTableType() != TableDescriptor.BASE_TABLE_TYPE) {
                return null;
            }
            List<Integer> columns =
                    container.isIndex() ? list(container.getIndexDescriptor().baseColumnPositions()) : List.of();
            return new Container(of(dictionary, table), columns);
        } finally {
            lcc.commitNestedTransaction();
        }
    }

    /**
     * What the catalogue has of a heap or an index; null if that is a temporary table's, or of none. Derby has the catalogue locked while it looks for it, and
     * so would wait for any transaction that changes the schema. It is found without here, with a look at what nobody may have committed, and only if
     * what is committed has it, too.
     */
    static @Nullable ConglomerateDescriptor descriptor(LanguageConnectionContext lcc, long id)
            throws StandardException {
        if (id < 0) {
            return null; // temporary
        }
        DataDictionary dictionary = lcc.getDataDictionary();
        UUID tableId = tableOf(lcc, id);
        TableDescriptor table = tableId == null ? null : dictionary.getTableDescriptor(tableId);
        ConglomerateDescriptor found = table == null ? null : table.getConglomerateDescriptor(id);
        return found == null ? dictionary.getConglomerateDescriptor(id) : found;
    }

    private static @Nullable UUID tableOf(LanguageConnectionContext lcc, long id) throws StandardException {
        TransactionController transaction = lcc.getTransactionExecute();
        DataDictionary dictionary = lcc.getDataDictionary();
        TableDescriptor catalogue =
                dictionary.getTableDescriptor("SYSCONGLOMERATES", dictionary.getSystemSchemaDescriptor(), transaction);
        int number = catalogue.getColumnDescriptor("CONGLOMERATENUMBER").getPosition() - 1;
        int table = catalogue.getColumnDescriptor("TABLEID").getPosition() - 1;
        DataValueDescriptor[] row = new DataValueDescriptor[Math.max(number, table) + 1];
        row[number] = new SQLLongint();
        row[table] = new SQLChar();
        FormatableBitSet columns = new FormatableBitSet(row.length);
        columns.set(number);
        columns.set(table);
        ScanQualifier[][] isIt =
                lcc.getLanguageConnectionFactory().getExecutionFactory().getScanQualifier(1);
        isIt[0][0].setQualifier(number, new SQLLongint(id), Orderable.ORDER_OP_EQUALS, false, false, false);
        ScanController scan = transaction.openScan(
                catalogue.getHeapConglomerateId(),
                false,
                0,
                TransactionController.MODE_RECORD,
                TransactionController.ISOLATION_READ_UNCOMMITTED,
                columns,
                null,
                ScanController.NA,
                isIt,
                null,
                ScanController.NA);
        try {
            return scan.fetchNext(row) ? dictionary.getUUIDFactory().recreateUUID(row[table].getString()) : null;
        } finally {
            scan.close();
        }
    }

    /** A table and all that are connected with it by foreign keys: whose constraints a change of it may violate. */
    static List<TableShape> related(LanguageConnectionContext lcc, UUID tableId) throws StandardException {
        DataDictionary dictionary = lcc.getDataDictionary();
        Map<UUID, TableShape> found = new LinkedHashMap<>();
        lcc.beginNestedTransaction(true);
        try {
            Deque<TableDescriptor> next = new ArrayDeque<>();
            next.add(dictionary.getTableDescriptor(tableId));
            while (!next.isEmpty()) {
                TableDescriptor table = next.remove();
                if (found.containsKey(table.getUUID())) {
                    continue;
                }
                found.put(table.getUUID(), of(dictionary, table).shape());
                ConstraintDescriptorList constraints = dictionary.getConstraintDescriptors(table);
                for (int i = 0; i < constraints.size(); i++) {
                    ConstraintDescriptor constraint = constraints.elementAt(i);
                    if (constraint instanceof ForeignKeyConstraintDescriptor foreign) {
                        next.add(foreign.getReferencedConstraint().getTableDescriptor());
                    } else if (constraint instanceof ReferencedKeyConstraintDescriptor key) {
                        ConstraintDescriptorList children = key.getForeignKeyConstraints(ConstraintDescriptor.ALL);
                        for (int child = 0; child < children.size(); child++) {
                            next.add(children.elementAt(child).getTableDescriptor());
                        }
                    }
                }
            }
            return List.copyOf(found.values());
        } finally {
            lcc.commitNestedTransaction();
        }
    }

    static CapturedTable of(DataDictionary dictionary, TableDescriptor table) throws StandardException {
        String obstacle = table.getSchemaName().equals(PositionTable.SCHEMA)
                ? "schema " + PositionTable.SCHEMA + " is GORDA's own: use another schema"
                : null;
        List<TableShape.Column> columns = new ArrayList<>();
        List<SqlType> types = new ArrayList<>();
        List<DataTypeDescriptor> derbyTypes = new ArrayList<>();
        for (int position = 1; position <= table.getNumberOfColumns(); position++) {
            ColumnDescriptor column = table.getColumnDescriptor(position);
            SqlType type = DerbyValues.typeOf(column.getType());
            if (type == null) {
                obstacle = "its column \"" + column.getColumnName() + "\" has type "
                        + column.getType().getTypeName() + ", which cannot be replicated: store it as a CLOB or BLOB";
                type = SqlType.BLOB;
            }
            columns.add(new TableShape.Column(column.getColumnName(), type));
            types.add(type);
            derbyTypes.add(column.getType());
        }
        ReferencedKeyConstraintDescriptor primary = table.getPrimaryKey();
        List<Integer> primaryKey = primary == null ? List.of() : list(primary.getReferencedColumns());
        List<Key> uniqueKeys = new ArrayList<>();
        List<Key> foreignKeys = new ArrayList<>();
        ConstraintDescriptorList constraints = dictionary.getConstraintDescriptors(table);
        for (int i = 0; i < constraints.size(); i++) {
            ConstraintDescriptor constraint = constraints.elementAt(i);
            if (constraint instanceof ForeignKeyConstraintDescriptor foreign) {
                ReferencedKeyConstraintDescriptor referenced = foreign.getReferencedConstraint();
                foreignKeys.add(new Key(identityOf(referenced), list(foreign.getReferencedColumns()), false, false));
            } else if (constraint instanceof ReferencedKeyConstraintDescriptor unique) {
                uniqueKeys.add(
                        new Key(identityOf(unique), list(unique.getReferencedColumns()), false, unique.deferrable()));
                if (unique.getConstraintType() == DataDictionary.PRIMARYKEY_CONSTRAINT && unique.deferrable()) {
                    obstacle = "its primary key \"" + unique.getConstraintName()
                            + "\" is deferrable, so that it does not always tell rows apart: drop it and add it without DEFERRABLE";
                }
            }
        }
        addUniqueIndexes(table, uniqueKeys);
        TableShape shape = new TableShape(table.getSchemaName(), table.getName(), columns, primaryKey);
        return new CapturedTable(
                shape,
                List.copyOf(types),
                List.copyOf(derbyTypes),
                primaryKey,
                List.copyOf(uniqueKeys),
                List.copyOf(foreignKeys),
                obstacle);
    }

    /** Those that are not a constraint's. */
    private static void addUniqueIndexes(TableDescriptor table, List<Key> uniqueKeys) {
        for (ConglomerateDescriptor conglomerate : table.getConglomerateDescriptors()) {
            IndexRowGenerator index = conglomerate.getIndexDescriptor();
            if (conglomerate.isIndex() && !conglomerate.isConstraint() && index.isUnique()) {
                int[] columns = index.baseColumnPositions();
                uniqueKeys.add(new Key(identityOf(table, columns), list(columns), true, false));
            }
        }
    }

    private static long identityOf(ConstraintDescriptor constraint) throws StandardException {
        return identityOf(constraint.getTableDescriptor(), constraint.getReferencedColumns());
    }

    private static long identityOf(TableDescriptor table, int[] columns) {
        List<String> names = new ArrayList<>();
        for (int position : columns) {
            names.add(table.getColumnDescriptor(position).getColumnName());
        }
        return KeyHasher.constraint(table.getSchemaName(), table.getName(), names);
    }

    private static List<Integer> list(int[] positions) {
        return java.util.Arrays.stream(positions).boxed().toList();
    }

    /** The table an identity column's generator belongs to, by the name that Derby gives the generator. */
    static UUID tableOfGenerator(DataDictionary dictionary, String generatorName) {
        return dictionary
                .getUUIDFactory()
                .recreateUUID(generatorName.substring(1).replace('X', '-'));
    }
}
