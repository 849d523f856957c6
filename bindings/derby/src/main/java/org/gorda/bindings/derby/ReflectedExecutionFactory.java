package org.gorda.bindings.derby;

import java.util.Map;
import java.util.Properties;
import org.apache.derby.iapi.services.io.FormatableBitSet;
import org.apache.derby.iapi.services.loader.GeneratedMethod;
import org.apache.derby.iapi.sql.Activation;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.dictionary.IndexRowGenerator;
import org.apache.derby.iapi.sql.execute.ConstantAction;
import org.apache.derby.iapi.sql.execute.ExecPreparedStatement;
import org.apache.derby.iapi.sql.execute.NoPutResultSet;
import org.apache.derby.iapi.sql.execute.ResultSetFactory;
import org.apache.derby.iapi.sql.execute.RowChanger;
import org.apache.derby.iapi.store.access.DynamicCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.Qualifier;
import org.apache.derby.iapi.store.access.ScanController;
import org.apache.derby.iapi.store.access.StaticCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.transaction.TransactionControl;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.impl.sql.execute.DeleteConstantAction;
import org.apache.derby.impl.sql.execute.GenericExecutionFactory;
import org.apache.derby.impl.sql.execute.GenericResultSetFactory;
import org.apache.derby.impl.sql.execute.MergeConstantAction;
import org.apache.derby.impl.sql.execute.UpdateConstantAction;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.jspecify.annotations.Nullable;

/** Derby's module that makes what executes statements; one instance per database. Thread-safe. */
public final class ReflectedExecutionFactory extends GenericExecutionFactory {

    private final ResultSetFactory resultSets = new ReflectedResultSetFactory();

    /** For Derby. */
    public ReflectedExecutionFactory() {}

    @Override
    public ResultSetFactory getResultSetFactory() {
        return resultSets;
    }

    @Override
    public RowChanger getRowChanger(
            long heap,
            StaticCompiledOpenConglomInfo heapStatic,
            DynamicCompiledOpenConglomInfo heapDynamic,
            IndexRowGenerator[] indexes,
            long[] indexIds,
            StaticCompiledOpenConglomInfo[] indexStatics,
            DynamicCompiledOpenConglomInfo[] indexDynamics,
            int columns,
            TransactionController transaction,
            int @Nullable [] changedColumns,
            int @Nullable [] streamColumns,
            @Nullable Activation activation)
            throws StandardException {
        RowChanger derby = super.getRowChanger(
                heap,
                heapStatic,
                heapDynamic,
                indexes,
                indexIds,
                indexStatics,
                indexDynamics,
                columns,
                transaction,
                changedColumns,
                streamColumns,
                activation);
        return capturing(derby, heap, indexes, indexIds, changedColumns, null, activation);
    }

    @Override
    public RowChanger getRowChanger(
            long heap,
            StaticCompiledOpenConglomInfo heapStatic,
            DynamicCompiledOpenConglomInfo heapDynamic,
            IndexRowGenerator[] indexes,
            long[] indexIds,
            StaticCompiledOpenConglomInfo[] indexStatics,
            DynamicCompiledOpenConglomInfo[] indexDynamics,
            int columns,
            TransactionController transaction,
            int @Nullable [] changedColumns,
            @Nullable FormatableBitSet readColumns,
            int @Nullable [] readMap,
            int @Nullable [] streamColumns,
            @Nullable Activation activation)
            throws StandardException {
        RowChanger derby = super.getRowChanger(
                heap,
                heapStatic,
                heapDynamic,
                indexes,
                indexIds,
                indexStatics,
                indexDynamics,
                columns,
                transaction,
                changedColumns,
                readColumns,
                readMap,
                streamColumns,
                activation);
        return capturing(derby, heap, indexes, indexIds, changedColumns, readColumns, activation);
    }

    /** Without an activation it is Derby itself that changes its catalogue, or the applier. */
    private static RowChanger capturing(
            RowChanger derby,
            long heap,
            IndexRowGenerator @Nullable [] indexes,
            long @Nullable [] indexIds,
            int @Nullable [] changedColumns,
            @Nullable FormatableBitSet readColumns,
            @Nullable Activation activation)
            throws StandardException {
        if (activation != null
                && activation.getLanguageConnectionContext() instanceof ReflectedConnection connection
                && connection.isCapturing()) {
            CapturedTable table = connection.database().captured(connection, heap);
            if (table != null) {
                ConstantAction action = activation.getConstantAction();
                boolean isOfMerge = (action instanceof UpdateConstantAction update && update.underMerge())
                        || (action instanceof DeleteConstantAction delete && delete.underMerge());
                return new CapturingRowChanger(
                        derby, connection, table, indexes, indexIds, changedColumns, readColumns, isOfMerge);
            }
        }
        return derby;
    }

    /** Sees statements that do not go row by row, and what is read. */
    private static final class ReflectedResultSetFactory extends GenericResultSetFactory {

        private static final String ELSEWHERE = "run it on each replica by jdbc:derby:PATH while that is stopped";

        /** Procedures whose effect is neither rows nor a schema change that would be seen, and what to do instead. */
        private static final Map<String, String> REFUSED_PROCEDURES = Map.ofEntries(
                Map.entry("SYSCS_SET_DATABASE_PROPERTY", ELSEWHERE),
                Map.entry("SYSCS_SET_USER_ACCESS", ELSEWHERE),
                Map.entry("SYSCS_CREATE_USER", ELSEWHERE),
                Map.entry("SYSCS_DROP_USER", ELSEWHERE),
                Map.entry("SYSCS_MODIFY_PASSWORD", ELSEWHERE),
                Map.entry("SYSCS_RESET_PASSWORD", ELSEWHERE),
                Map.entry("INSTALL_JAR", ELSEWHERE),
                Map.entry("REPLACE_JAR", ELSEWHERE),
                Map.entry("REMOVE_JAR", ELSEWHERE),
                Map.entry("SYSCS_FREEZE_DATABASE", "use SYSCS_UTIL.SYSCS_BACKUP_DATABASE, which holds up nobody"),
                Map.entry("SYSCS_BULK_INSERT", "use INSERT INTO ... SELECT"),
                Map.entry(
                        "SYSCS_SET_XPLAIN_SCHEMA",
                        "use SYSCS_UTIL.SYSCS_SET_RUNTIMESTATISTICS and SYSCS_UTIL.SYSCS_GET_RUNTIMESTATISTICS"));

        /** Marks the properties of an insert whose rows replace the table's. */
        private static final String REPLACES = "gorda.replaces";

        @Override
        public ResultSet getInsertResultSet(
                NoPutResultSet source,
                GeneratedMethod generationClauses,
                GeneratedMethod checks,
                int fullTemplate,
                String schema,
                String table)
                throws StandardException {
            Activation activation = source.getActivation();
            ConstantAction action = activation.getConstantAction();
            boolean replaces = action != null && isCapturing(activation) && insertsRowByRow(action);
            ResultSet insert = unlessDropped(
                    activation,
                    () -> super.getInsertResultSet(source, generationClauses, checks, fullTemplate, schema, table));
            if (replaces) {
                ReplacedRows.delete(activation.getLanguageConnectionContext(), DerbyFields.targetTable(action));
            }
            return insert;
        }

        @Override
        public ResultSet getUpdateResultSet(
                NoPutResultSet source, GeneratedMethod generationClauses, GeneratedMethod checks)
                throws StandardException {
            Activation activation = source.getActivation();
            ResultSet update =
                    unlessDropped(activation, () -> super.getUpdateResultSet(source, generationClauses, checks));
            if (activation.getLanguageConnectionContext() instanceof ReflectedConnection connection
                    && connection.isOurs()) {
                // Of a schema change that fills a new column: what triggers have done at its origin comes behind it.
                DerbyFields.withoutTriggers(update);
            }
            return update;
        }

        @Override
        public ResultSet getDeleteResultSet(NoPutResultSet source) throws StandardException {
            return unlessDropped(source.getActivation(), () -> super.getDeleteResultSet(source));
        }

        private interface Creation {
            ResultSet create() throws StandardException;
        }

        /**
         * If another transaction has dropped the table since the statement was compiled, Derby is asked to compile it again, and so
         * tells the client which table there is no more, rather than the number of a file, or ending the connection by a
         * NullPointerException.
         */
        private static ResultSet unlessDropped(Activation activation, Creation creation) throws StandardException {
            try {
                return creation.create();
            } catch (StandardException | NullPointerException e) {
                boolean missing = !(e instanceof StandardException told)
                        || SQLState.STORE_CONGLOMERATE_DOES_NOT_EXIST.equals(told.getMessageId());
                ExecPreparedStatement statement = activation.getPreparedStatement(); // of a MERGE it may be gone
                if (missing && statement != null && !statement.upToDate()) {
                    throw StandardException.newException(SQLState.LANG_STATEMENT_NEEDS_RECOMPILE, e);
                }
                throw e;
            }
        }

        /**
         * Bulk insert goes past the row changer; without its mark the same statement goes row by row.
         *
         * @return whether the rows replace those of the table
         */
        private static boolean insertsRowByRow(ConstantAction action) {
            Properties properties = DerbyFields.targetProperties(action);
            if (properties == null) {
                return false;
            }
            // The properties belong to all who execute the statement.
            if ("replace".equalsIgnoreCase(properties.getProperty("insertMode"))) {
                properties.setProperty(REPLACES, "true");
            }
            properties.remove("insertMode");
            return properties.containsKey(REPLACES);
        }

        @Override
        public ResultSet getCallStatementResultSet(GeneratedMethod method, Activation activation)
                throws StandardException {
            if (isCapturing(activation)) {
                refuse(activation.getPreparedStatement().getSource());
            }
            return super.getCallStatementResultSet(method, activation);
        }

        /** Without a schema's name before it, it may be the current schema, now or when the statement was compiled. */
        private static void refuse(String source) throws StandardException {
            SqlText text = SqlText.of(source);
            for (int i = 0; i < text.size(); i++) {
                String name = text.nameAt(i);
                boolean elsewhere =
                        text.isDot(i - 1) && !text.isName(i - 2, "SYSCS_UTIL") && !text.isName(i - 2, "SQLJ");
                String instead = REFUSED_PROCEDURES.get(name);
                if (!elsewhere && instead != null) {
                    throw DerbyRefusal.unsupported("procedure " + name + " cannot be replicated: " + instead);
                }
            }
        }

        // What is read by scans. All others take their rows from these, or look up rows that these have found; but for
        // those of foreign
        // keys and of what they cascade to, which certification compares by the keys of parents.

        @Override
        public NoPutResultSet getTableScanResultSet(
                Activation activation,
                long containerId,
                int scociItem,
                int resultRowTemplate,
                int resultSetNumber,
                @Nullable GeneratedMethod startKey,
                int startOperator,
                @Nullable GeneratedMethod stopKey,
                int stopOperator,
                boolean sameStartStop,
                Qualifier @Nullable [] @Nullable [] qualifiers,
                @Nullable String tableName,
                @Nullable String overrides,
                @Nullable String indexName,
                boolean isConstraint,
                boolean forUpdate,
                int columnsItem,
                int indexColumnsItem,
                int lockMode,
                boolean tableLocked,
                int isolation,
                boolean oneRow,
                double estimatedRows,
                double estimatedCost)
                throws StandardException {
            return super.getTableScanResultSet(
                    activation,
                    containerId,
                    scociItem,
                    resultRowTemplate,
                    resultSetNumber,
                    CapturedRead.of(activation, containerId, isolation, startKey, startOperator, sameStartStop),
                    startOperator,
                    stopKey,
                    stopOperator,
                    sameStartStop,
                    qualifiers,
                    tableName,
                    overrides,
                    indexName,
                    isConstraint,
                    forUpdate,
                    columnsItem,
                    indexColumnsItem,
                    lockMode,
                    tableLocked,
                    isolation(activation, containerId, forUpdate, isolation),
                    oneRow,
                    estimatedRows,
                    estimatedCost);
        }

        @Override
        public NoPutResultSet getBulkTableScanResultSet(
                Activation activation,
                long containerId,
                int scociItem,
                int resultRowTemplate,
                int resultSetNumber,
                @Nullable GeneratedMethod startKey,
                int startOperator,
                @Nullable GeneratedMethod stopKey,
                int stopOperator,
                boolean sameStartStop,
                Qualifier @Nullable [] @Nullable [] qualifiers,
                @Nullable String tableName,
                @Nullable String overrides,
                @Nullable String indexName,
                boolean isConstraint,
                boolean forUpdate,
                int columnsItem,
                int indexColumnsItem,
                int lockMode,
                boolean tableLocked,
                int isolation,
                int rowsPerRead,
                boolean disableForHoldable,
                boolean oneRow,
                double estimatedRows,
                double estimatedCost)
                throws StandardException {
            return super.getBulkTableScanResultSet(
                    activation,
                    containerId,
                    scociItem,
                    resultRowTemplate,
                    resultSetNumber,
                    CapturedRead.of(activation, containerId, isolation, startKey, startOperator, sameStartStop),
                    startOperator,
                    stopKey,
                    stopOperator,
                    sameStartStop,
                    qualifiers,
                    tableName,
                    overrides,
                    indexName,
                    isConstraint,
                    forUpdate,
                    columnsItem,
                    indexColumnsItem,
                    lockMode,
                    tableLocked,
                    isolation(activation, containerId, forUpdate, isolation),
                    rowsPerRead,
                    disableForHoldable,
                    oneRow,
                    estimatedRows,
                    estimatedCost);
        }

        @Override
        public NoPutResultSet getMultiProbeTableScanResultSet(
                Activation activation,
                long containerId,
                int scociItem,
                int resultRowTemplate,
                int resultSetNumber,
                @Nullable GeneratedMethod startKey,
                int startOperator,
                @Nullable GeneratedMethod stopKey,
                int stopOperator,
                boolean sameStartStop,
                Qualifier @Nullable [] @Nullable [] qualifiers,
                DataValueDescriptor[] probes,
                int sortRequired,
                @Nullable String tableName,
                @Nullable String overrides,
                @Nullable String indexName,
                boolean isConstraint,
                boolean forUpdate,
                int columnsItem,
                int indexColumnsItem,
                int lockMode,
                boolean tableLocked,
                int isolation,
                boolean oneRow,
                double estimatedRows,
                double estimatedCost)
                throws StandardException {
            return super.getMultiProbeTableScanResultSet(
                    activation,
                    containerId,
                    scociItem,
                    resultRowTemplate,
                    resultSetNumber,
                    CapturedRead.of(activation, containerId, isolation, startKey, ScanController.NA, false),
                    startOperator,
                    stopKey,
                    stopOperator,
                    sameStartStop,
                    qualifiers,
                    probes,
                    sortRequired,
                    tableName,
                    overrides,
                    indexName,
                    isConstraint,
                    forUpdate,
                    columnsItem,
                    indexColumnsItem,
                    lockMode,
                    tableLocked,
                    isolation(activation, containerId, forUpdate, isolation),
                    oneRow,
                    estimatedRows,
                    estimatedCost);
        }

        @Override
        public NoPutResultSet getHashScanResultSet(
                Activation activation,
                long containerId,
                int scociItem,
                int resultRowTemplate,
                int resultSetNumber,
                @Nullable GeneratedMethod startKey,
                int startOperator,
                @Nullable GeneratedMethod stopKey,
                int stopOperator,
                boolean sameStartStop,
                Qualifier @Nullable [] @Nullable [] scanQualifiers,
                Qualifier @Nullable [] @Nullable [] nextQualifiers,
                int initialCapacity,
                float loadFactor,
                int maxCapacity,
                int hashKeyColumn,
                @Nullable String tableName,
                @Nullable String overrides,
                @Nullable String indexName,
                boolean isConstraint,
                boolean forUpdate,
                int columnsItem,
                int indexColumnsItem,
                int lockMode,
                boolean tableLocked,
                int isolation,
                double estimatedRows,
                double estimatedCost)
                throws StandardException {
            return super.getHashScanResultSet(
                    activation,
                    containerId,
                    scociItem,
                    resultRowTemplate,
                    resultSetNumber,
                    CapturedRead.of(activation, containerId, isolation, startKey, startOperator, sameStartStop),
                    startOperator,
                    stopKey,
                    stopOperator,
                    sameStartStop,
                    scanQualifiers,
                    nextQualifiers,
                    initialCapacity,
                    loadFactor,
                    maxCapacity,
                    hashKeyColumn,
                    tableName,
                    overrides,
                    indexName,
                    isConstraint,
                    forUpdate,
                    columnsItem,
                    indexColumnsItem,
                    lockMode,
                    tableLocked,
                    isolation(activation, containerId, forUpdate, isolation),
                    estimatedRows,
                    estimatedCost);
        }

        @Override
        public NoPutResultSet getDistinctScanResultSet(
                Activation activation,
                long containerId,
                int scociItem,
                int resultRowTemplate,
                int resultSetNumber,
                int hashKeyColumn,
                @Nullable String tableName,
                @Nullable String overrides,
                @Nullable String indexName,
                boolean isConstraint,
                int columnsItem,
                int lockMode,
                boolean tableLocked,
                int isolation,
                double estimatedRows,
                double estimatedCost)
                throws StandardException {
            NoPutResultSet scan = super.getDistinctScanResultSet(
                    activation,
                    containerId,
                    scociItem,
                    resultRowTemplate,
                    resultSetNumber,
                    hashKeyColumn,
                    tableName,
                    overrides,
                    indexName,
                    isConstraint,
                    columnsItem,
                    lockMode,
                    tableLocked,
                    isolation(activation, containerId, false, isolation),
                    estimatedRows,
                    estimatedCost);
            return CapturedRead.ofAll(scan, activation, containerId, isolation);
        }

        @Override
        public NoPutResultSet getLastIndexKeyResultSet(
                Activation activation,
                int resultSetNumber,
                int resultRowTemplate,
                long containerId,
                @Nullable String tableName,
                @Nullable String overrides,
                @Nullable String indexName,
                int columnsItem,
                int lockMode,
                boolean tableLocked,
                int isolation,
                double estimatedRows,
                double estimatedCost)
                throws StandardException {
            NoPutResultSet scan = super.getLastIndexKeyResultSet(
                    activation,
                    resultSetNumber,
                    resultRowTemplate,
                    containerId,
                    tableName,
                    overrides,
                    indexName,
                    columnsItem,
                    lockMode,
                    tableLocked,
                    isolation(activation, containerId, false, isolation),
                    estimatedRows,
                    estimatedCost);
            return CapturedRead.ofLast(scan, activation, containerId, isolation);
        }

        /**
         * MERGE, and what fires triggers or asks for its own table, find all rows first and change them afterwards, by where they were. At READ COMMITTED others
         * could change them in between, and what is there then would be changed: what was read of that table is kept.
         */
        private static int isolation(Activation activation, long containerId, boolean forUpdate, int statementIsolation)
                throws StandardException {
            ConstantAction action = activation.getConstantAction();
            if (action instanceof MergeConstantAction merge) {
                action = DerbyFields.action(merge.getMatchingClause(0));
            } else if (!(action instanceof UpdateConstantAction || action instanceof DeleteConstantAction)
                    || (forUpdate && !DerbyFields.isDeferred(action))) {
                return statementIsolation;
            }
            if (!(activation.getLanguageConnectionContext() instanceof ReflectedConnection connection)
                    || !connection.isCapturing()
                    || !isOfTable(connection, containerId, DerbyFields.targetHeap(action))) {
                return statementIsolation;
            }
            int asked = statementIsolation == TransactionControl.UNSPECIFIED_ISOLATION_LEVEL
                    ? connection.getCurrentIsolationLevel()
                    : statementIsolation;
            return Math.max(asked, TransactionControl.REPEATABLE_READ_ISOLATION_LEVEL);
        }

        private static boolean isOfTable(ReflectedConnection connection, long containerId, long heapId)
                throws StandardException {
            CapturedTable.Container container = connection.database().container(connection, containerId);
            CapturedTable.Container heap = connection.database().container(connection, heapId);
            return container != null
                    && heap != null
                    && container.table().shape().equals(heap.table().shape());
        }

        private static boolean isCapturing(Activation activation) {
            return activation.getLanguageConnectionContext() instanceof ReflectedConnection connection
                    && connection.isCapturing();
        }
    }
}
