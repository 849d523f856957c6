package org.gorda.bindings.derby;

import java.lang.reflect.Field;
import java.util.Properties;
import java.util.Set;
import org.apache.derby.iapi.services.io.FormatableBitSet;
import org.apache.derby.iapi.services.loader.GeneratedMethod;
import org.apache.derby.iapi.sql.Activation;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.dictionary.IndexRowGenerator;
import org.apache.derby.iapi.sql.execute.ConstantAction;
import org.apache.derby.iapi.sql.execute.NoPutResultSet;
import org.apache.derby.iapi.sql.execute.ResultSetFactory;
import org.apache.derby.iapi.sql.execute.RowChanger;
import org.apache.derby.iapi.store.access.DynamicCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.StaticCompiledOpenConglomInfo;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.impl.sql.execute.GenericExecutionFactory;
import org.apache.derby.impl.sql.execute.GenericResultSetFactory;
import org.apache.derby.shared.common.error.StandardException;
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
        return capturing(derby, heap, indexes, changedColumns, null, activation);
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
        return capturing(derby, heap, indexes, changedColumns, readColumns, activation);
    }

    /** Without an activation it is Derby itself that changes its catalogue, or the applier. */
    private static RowChanger capturing(
            RowChanger derby,
            long heap,
            IndexRowGenerator @Nullable [] indexes,
            int @Nullable [] changedColumns,
            @Nullable FormatableBitSet readColumns,
            @Nullable Activation activation)
            throws StandardException {
        if (activation != null
                && activation.getLanguageConnectionContext() instanceof ReflectedConnection connection
                && connection.isCapturing()) {
            CapturedTable table = connection.database().captured(connection, heap);
            if (table != null) {
                return new CapturingRowChanger(derby, connection, table, indexes, changedColumns, readColumns);
            }
        }
        return derby;
    }

    /** Sees statements that do not go row by row. */
    private static final class ReflectedResultSetFactory extends GenericResultSetFactory {

        /** Procedures whose effect on the database is neither rows nor a schema change that would be seen. */
        private static final Set<String> REFUSED_PROCEDURES = Set.of(
                "SYSCS_SET_DATABASE_PROPERTY",
                "SYSCS_SET_USER_ACCESS",
                "SYSCS_CREATE_USER",
                "SYSCS_DROP_USER",
                "SYSCS_MODIFY_PASSWORD",
                "SYSCS_RESET_PASSWORD",
                "SYSCS_FREEZE_DATABASE",
                "SYSCS_BULK_INSERT",
                "INSTALL_JAR",
                "REPLACE_JAR",
                "REMOVE_JAR");

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
            if (isCapturing(activation)) {
                insertRowByRow(activation);
            }
            return super.getInsertResultSet(source, generationClauses, checks, fullTemplate, schema, table);
        }

        /** Bulk insert goes past the row changer; without its mark the same statement goes row by row. */
        private static void insertRowByRow(Activation activation) throws StandardException {
            Properties properties = Hooks.targetProperties(activation.getConstantAction());
            if (properties == null) {
                return;
            }
            String mode = properties.getProperty("insertMode");
            if (mode != null && mode.equalsIgnoreCase("replace")) {
                throw DerbyRefusal.unsupported(
                        "an import that replaces the table's rows cannot be replicated: DELETE the rows, then import without replace");
            }
            properties.remove("insertMode");
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
                if (!elsewhere && REFUSED_PROCEDURES.contains(name)) {
                    throw DerbyRefusal.unsupported("procedure " + name
                            + " cannot be replicated: run it on each replica while GORDA does not run there");
                }
            }
        }

        private static boolean isCapturing(Activation activation) {
            return activation.getLanguageConnectionContext() instanceof ReflectedConnection connection
                    && connection.isCapturing();
        }
    }

    /** The one place where Derby's own classes are reached by reflection. */
    private static final class Hooks {

        private static final ClassValue<Field> TARGET_PROPERTIES = new ClassValue<>() {
            @Override
            protected @Nullable Field computeValue(Class<?> type) {
                for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                    for (Field field : at.getDeclaredFields()) {
                        if (field.getName().equals("targetProperties")) {
                            field.setAccessible(true);
                            return field;
                        }
                    }
                }
                return null;
            }
        };

        private Hooks() {}

        static @Nullable Properties targetProperties(@Nullable ConstantAction action) {
            if (action == null) {
                return null;
            }
            try {
                Field field = TARGET_PROPERTIES.get(action.getClass());
                if (field == null) {
                    throw new IllegalStateException(
                            action.getClass() + " has no targetProperties: unknown Derby version");
                }
                return (Properties) field.get(action);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException("the target properties of an insert cannot be read", e);
            }
        }
    }
}
