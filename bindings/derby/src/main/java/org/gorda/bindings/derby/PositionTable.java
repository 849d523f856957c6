package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.apache.derby.iapi.services.io.FormatableBitSet;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.TableDescriptor;
import org.apache.derby.iapi.store.access.ConglomerateController;
import org.apache.derby.iapi.store.access.ScanController;
import org.apache.derby.iapi.store.access.StaticCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.RowLocation;
import org.apache.derby.iapi.types.SQLInteger;
import org.apache.derby.iapi.types.SQLLongint;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.StoredPosition;
import org.jspecify.annotations.Nullable;

/**
 * The row that holds the position up to which the database has everything, changed in the transactions that bring it there, and
 * without SQL, because each of them pays for it. One committer changes it, so that transactions do not wait for each other here.
 * Thread-safe.
 */
final class PositionTable {

    static final String SCHEMA = "GORDA";

    private static final int POSITION_SLOT = 0;
    private static final int FLUSH_SLOT = 1;

    private final long heapId;
    private final StaticCompiledOpenConglomInfo heap;
    private final RowLocation row;
    private final FormatableBitSet changed;

    private PositionTable(long heapId, StaticCompiledOpenConglomInfo heap, RowLocation row) {
        this.heapId = heapId;
        this.heap = heap;
        this.row = row;
        this.changed = new FormatableBitSet(5);
        for (int column = 1; column < 5; column++) {
            changed.set(column);
        }
    }

    /** Creates the table in a database that has none. */
    static void create(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE GORDA.POSITION (SLOT INTEGER NOT NULL PRIMARY KEY, "
                            + "GROUP_HIGH BIGINT NOT NULL, GROUP_LOW BIGINT NOT NULL, TERM BIGINT NOT NULL, ENTRY BIGINT NOT NULL)");
        }
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO GORDA.POSITION VALUES (?, 0, 0, 0, 0)")) {
            for (int slot : new int[] {POSITION_SLOT, FLUSH_SLOT}) {
                insert.setInt(1, slot);
                insert.executeUpdate();
            }
        }
    }

    /** Finds the row; in the context of the connection. */
    static PositionTable open(ReflectedConnection connection) throws StandardException {
        TransactionController transaction = connection.getTransactionExecute();
        DataDictionary dictionary = connection.getDataDictionary();
        SchemaDescriptor schema = dictionary.getSchemaDescriptor(SCHEMA, transaction, true);
        TableDescriptor table = dictionary.getTableDescriptor("POSITION", schema, transaction);
        long heapId = table.getHeapConglomerateId();
        ScanController scan = transaction.openScan(
                heapId,
                false,
                0,
                TransactionController.MODE_RECORD,
                TransactionController.ISOLATION_READ_COMMITTED,
                null,
                null,
                0,
                null,
                null,
                0);
        try {
            DataValueDescriptor[] values = template();
            while (scan.fetchNext(values)) {
                if (values[0].getInt() == POSITION_SLOT) {
                    RowLocation location = scan.newRowLocationTemplate();
                    scan.fetchLocation(location);
                    return new PositionTable(heapId, transaction.getStaticCompiledConglomInfo(heapId), location);
                }
            }
        } finally {
            scan.close();
        }
        throw new IllegalStateException("table GORDA.POSITION has lost its row");
    }

    private static DataValueDescriptor[] template() {
        return new DataValueDescriptor[] {
            new SQLInteger(), new SQLLongint(), new SQLLongint(), new SQLLongint(), new SQLLongint()
        };
    }

    /** What is stored, null if nothing was yet. */
    static @Nullable StoredPosition load(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet found =
                        statement.executeQuery("SELECT GROUP_HIGH, GROUP_LOW, TERM, ENTRY FROM GORDA.POSITION "
                                + "WHERE SLOT = " + POSITION_SLOT)) {
            if (!found.next()) {
                throw new SQLException("table GORDA.POSITION has lost its row");
            }
            StoredPosition position =
                    new StoredPosition(found.getLong(1), found.getLong(2), found.getLong(3), found.getLong(4));
            return position.index() == 0 ? null : position;
        }
    }

    /** Writes something and commits it to disk, and with it everything that was committed before. */
    static void flush(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE GORDA.POSITION SET ENTRY = ENTRY + 1 WHERE SLOT = " + FLUSH_SLOT);
        }
        connection.commit();
    }

    /** Nothing is stored any more, on disk. */
    static void forget(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(
                    "UPDATE GORDA.POSITION SET GROUP_HIGH = 0, GROUP_LOW = 0, TERM = 0, ENTRY = 0 WHERE SLOT = "
                            + POSITION_SLOT);
        }
        connection.commit();
    }

    /** Stores the position in the given transaction. */
    void store(TransactionController transaction, StoredPosition position) throws StandardException {
        ConglomerateController controller = transaction.openCompiledConglomerate(
                false,
                TransactionController.OPENMODE_FORUPDATE,
                TransactionController.MODE_RECORD,
                TransactionController.ISOLATION_READ_COMMITTED,
                heap,
                transaction.getDynamicCompiledConglomInfo(heapId));
        try {
            DataValueDescriptor[] values = template();
            values[1].setValue(position.groupHigh());
            values[2].setValue(position.groupLow());
            values[3].setValue(position.term());
            values[4].setValue(position.index());
            controller.replace(row, values, changed);
        } finally {
            controller.close();
        }
    }
}
