package org.gorda.bindings.derby;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.apache.derby.iapi.services.loader.GeneratedMethod;
import org.apache.derby.iapi.sql.Activation;
import org.apache.derby.iapi.sql.execute.ExecIndexRow;
import org.apache.derby.iapi.sql.execute.ExecRow;
import org.apache.derby.iapi.sql.execute.NoPutResultSet;
import org.apache.derby.iapi.store.access.ScanController;
import org.apache.derby.iapi.transaction.TransactionControl;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.SQLChar;
import org.apache.derby.iapi.types.SQLInteger;
import org.apache.derby.iapi.types.SQLLongint;
import org.apache.derby.iapi.types.SQLSmallint;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.ReadSet;
import org.jspecify.annotations.Nullable;

/**
 * Takes note of what a scan of a heap or an index reads, if it does so at SERIALIZABLE. Derby keeps a statement's scans and opens them again
 * for its next execution; it evaluates this each time, as the method that makes the key at which the scan starts. Confined to the
 * connection's thread.
 */
final class CapturedRead implements GeneratedMethod {

    private final ReflectedConnection connection;
    private final long containerId;
    private final int statementIsolation;
    private final @Nullable GeneratedMethod startKey;
    private final boolean equal;

    /** Up to how many schema changes the container was known to be the engine's own, or of this session alone. */
    private long foreignAt = -1;

    private CapturedRead(
            ReflectedConnection connection,
            long containerId,
            int statementIsolation,
            @Nullable GeneratedMethod startKey,
            boolean equal) {
        this.connection = connection;
        this.containerId = containerId;
        this.statementIsolation = statementIsolation;
        this.startKey = startKey;
        this.equal = equal;
    }

    /**
     * What is to be evaluated before the scan is opened, instead of {@code startKey}.
     *
     * @param statementIsolation what the statement was given for itself, or that it was given nothing
     * @param startKey null if the scan starts at the beginning
     * @param sameStartStop whether it ends with the last row whose key begins with {@code startKey}
     */
    static @Nullable GeneratedMethod of(
            Activation activation,
            long containerId,
            int statementIsolation,
            @Nullable GeneratedMethod startKey,
            int startOperator,
            boolean sameStartStop) {
        return activation.getLanguageConnectionContext() instanceof ReflectedConnection connection
                        && connection.isCapturing()
                ? new CapturedRead(
                        connection,
                        containerId,
                        statementIsolation,
                        startKey,
                        sameStartStop && startOperator == ScanController.GE)
                : startKey;
    }

    /** Has a scan captured for which Derby takes no start key though it knows what that is. */
    static NoPutResultSet ofAll(NoPutResultSet scan, Activation activation, long containerId, int statementIsolation) {
        GeneratedMethod read = of(activation, containerId, statementIsolation, null, ScanController.NA, false);
        if (read != null) {
            DerbyFields.startKey(scan, read);
        }
        return scan;
    }

    /** Has a scan captured that knows no start keys: it copies the form of its rows whenever it is opened. */
    static NoPutResultSet ofLast(NoPutResultSet scan, Activation activation, long containerId, int statementIsolation) {
        GeneratedMethod read = of(activation, containerId, statementIsolation, null, ScanController.NA, false);
        if (read != null) {
            ExecRow derbys = DerbyFields.candidate(scan);
            ExecRow reading = (ExecRow) Proxy.newProxyInstance(
                    CapturedRead.class.getClassLoader(), new Class<?>[] {ExecRow.class}, (proxy, method, arguments) -> {
                        if (method.getName().equals("getClone")) {
                            read.invoke(activation);
                        }
                        try {
                            return method.invoke(derbys, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
            DerbyFields.candidate(scan, reading);
        }
        return scan;
    }

    @Override
    public @Nullable Object invoke(Object activation) throws StandardException {
        Object start = startKey == null ? null : startKey.invoke(activation);
        int isolation = statementIsolation == TransactionControl.UNSPECIFIED_ISOLATION_LEVEL
                ? connection.getCurrentIsolationLevel()
                : statementIsolation;
        if (isolation == TransactionControl.SERIALIZABLE_ISOLATION_LEVEL) {
            capture((Activation) activation, (ExecIndexRow) start);
        }
        return start;
    }

    private void capture(Activation activation, @Nullable ExecIndexRow start) throws StandardException {
        long schema = connection.database().capturedTables().ended();
        if (schema == foreignAt) {
            return;
        }
        CapturedTable.Container container = connection.database().container(connection, containerId);
        if (container == null) {
            foreignAt = schema;
            return;
        }
        ReadSet reads = connection.reads(activation);
        CapturedTable table = container.table();
        if (start != null && equal && container.isPrimaryKey() && isWhole(start, table)) {
            captureKey(start.getRowArray(), table, reads);
        } else {
            reads.table(table.shape());
        }
    }

    private void captureKey(DataValueDescriptor[] key, CapturedTable table, ReadSet reads) throws StandardException {
        KeyHasher hasher = connection.hasher().begin(table.primary().identity());
        List<@Nullable Object> values = new ArrayList<>();
        for (int i = 0; i < table.primaryKey().size(); i++) {
            table.addColumn(hasher, table.primaryKey().get(i), key[i], connection.values());
            values.add(key[i].getObject());
        }
        reads.key(table.shape(), hasher.value(), values);
    }

    /** Whether it has all columns of the primary key, in types whose equal values make equal keys. */
    private static boolean isWhole(ExecIndexRow start, CapturedTable table) throws StandardException {
        if (start.nColumns() != table.primaryKey().size()) {
            return false;
        }
        for (int i = 0; i < start.nColumns(); i++) {
            if (!isOfType(table, table.primaryKey().get(i), start.getRowArray()[i])) {
                return false;
            }
        }
        return true;
    }

    private static boolean isOfType(CapturedTable table, int position, DataValueDescriptor value)
            throws StandardException {
        if (value.isNull()) {
            return false;
        }
        return switch (table.types().get(position - 1)) {
            case CHAR, VARCHAR -> value instanceof SQLChar;
            case SMALLINT, INTEGER, BIGINT ->
                value instanceof SQLSmallint || value instanceof SQLInteger || value instanceof SQLLongint;
            default ->
                value.getTypeFormatId()
                        == table.derbyTypes().get(position - 1).getNull().getTypeFormatId();
        };
    }
}
