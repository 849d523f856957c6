package org.gorda.bindings.derby;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import org.apache.derby.catalog.UUID;
import org.apache.derby.iapi.services.loader.GeneratedMethod;
import org.apache.derby.iapi.sql.ResultSet;
import org.apache.derby.iapi.sql.Statement;
import org.apache.derby.iapi.sql.compile.CompilerContext;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.execute.ConstantAction;
import org.apache.derby.iapi.sql.execute.ExecRow;
import org.apache.derby.iapi.sql.execute.NoPutResultSet;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.store.raw.Transaction;
import org.apache.derby.impl.sql.execute.MatchingClauseConstantAction;
import org.apache.derby.impl.store.raw.data.CachedPage;
import org.apache.derby.impl.store.raw.xact.Xact;
import org.apache.derby.shared.common.error.StandardException;
import org.jspecify.annotations.Nullable;

/** What Derby's own objects know and have no method to tell or to be told. Thread-safe. */
final class DerbyFields {

    private static final Accessor TARGET_PROPERTIES = new Accessor("targetProperties");
    private static final Accessor TARGET_TABLE = new Accessor("targetUUID");
    private static final Accessor TARGET_HEAP = new Accessor("conglomId");
    private static final Accessor DEFERRED = new Accessor("deferred");
    private static final Accessor CLAUSE_ACTION = new Accessor("_thenAction");
    private static final Accessor COMPILATION_SCHEMA = new Accessor("compilationSchema");

    private static final Accessor COMPILED = new Accessor("currentDependent");

    private static final Accessor START_KEY = new Accessor("startKeyGetter");
    private static final Accessor CANDIDATE = new Accessor("candidate");

    private static final Accessor TRIGGERS = new Accessor("triggerInfo");
    private static final Accessor TEMPORARY_TABLES = new Accessor("allDeclaredGlobalTempTables");

    private static final Accessor NESTED = new Accessor("readOnlyNestedTransaction");
    private static final Accessor CONTEXT = new Accessor("context");
    private static final Accessor NESTING = new Accessor("queryNestingDepth");

    private static final Accessor UNFORCED_COMMIT = new Accessor("needSync");
    private static final Accessor WRITING = new Accessor("syncFlag");
    private static final Accessor FAILURE = new Accessor("corrupt");

    private DerbyFields() {}

    /** The properties that a statement that changes rows gives for its table. */
    static @Nullable Properties targetProperties(ConstantAction action) {
        return (Properties) TARGET_PROPERTIES.of(action);
    }

    /** The identity of the table whose rows a statement changes. */
    static UUID targetTable(ConstantAction action) {
        return (UUID) Objects.requireNonNull(TARGET_TABLE.of(action));
    }

    /** As {@link #targetTable}; null if it is not a statement that changes rows of one table. */
    static @Nullable UUID targetTableIfAny(ConstantAction action) {
        return TARGET_TABLE.isIn(action) ? (UUID) TARGET_TABLE.of(action) : null;
    }

    /** The heap of the table whose rows a statement changes. */
    static long targetHeap(ConstantAction action) {
        return (long) Objects.requireNonNull(TARGET_HEAP.of(action));
    }

    /** Whether all rows are found before the first of them is changed. */
    static boolean isDeferred(ConstantAction action) {
        return (boolean) Objects.requireNonNull(DEFERRED.of(action));
    }

    /** What a clause of MERGE does with a row. */
    static ConstantAction action(MatchingClauseConstantAction clause) {
        return (ConstantAction) Objects.requireNonNull(CLAUSE_ACTION.of(clause));
    }

    /** The schema in which names without one were looked for when the statement was compiled; null if it was none. */
    static @Nullable SchemaDescriptor compilationSchema(Statement statement) {
        return (SchemaDescriptor) COMPILATION_SCHEMA.of(statement);
    }

    /** The statement that is being compiled; null if it is not known yet. */
    static @Nullable Object compiled(CompilerContext compiler) {
        return COMPILED.of(compiler);
    }

    /** Gives a scan what it evaluates each time that it is opened. */
    static void startKey(NoPutResultSet scan, GeneratedMethod startKey) {
        START_KEY.set(scan, startKey);
    }

    /** The row that a scan copies before each time that it is opened. */
    static ExecRow candidate(NoPutResultSet scan) {
        return (ExecRow) Objects.requireNonNull(CANDIDATE.of(scan));
    }

    static void candidate(NoPutResultSet scan, ExecRow row) {
        CANDIDATE.set(scan, row);
    }

    /** Has a statement that is about to change rows fire no triggers. */
    static void withoutTriggers(ResultSet statement) {
        TRIGGERS.set(statement, null);
    }

    /** Whether a session has temporary tables. */
    static boolean hasTemporaryTables(LanguageConnectionContext session) {
        return TEMPORARY_TABLES.of(session) instanceof List<?> tables && !tables.isEmpty();
    }

    /** Ends the transaction in which a session compiles, if it has one, of which the context is gone. */
    static void destroyNested(LanguageConnectionContext session) {
        if (NESTED.of(session) instanceof TransactionController nested) {
            CONTEXT.set(nested, null);
            nested.destroy();
            NESTED.set(session, null);
            NESTING.set(session, 0);
        }
    }

    /** The store's transaction forgets that an earlier one has committed unforced, for which it would force the log when it ends otherwise than so. */
    static void forgetUnforcedCommit(Transaction store) {
        UNFORCED_COMMIT.set(store, false);
    }

    /** Has a page that is made be on disk before it is used. */
    static void writeAtOnce(Object pageToMake) {
        WRITING.set(pageToMake, CachedPage.WRITE_SYNC);
    }

    /** What has stopped the store, also if it is just about to stop; null if nothing has. */
    static @Nullable StandardException failure(Transaction store) {
        return (StandardException) FAILURE.of(((Xact) store).getLogFactory());
    }

    /** A field of that name, of whatever class. */
    private static final class Accessor extends ClassValue<Optional<Field>> {

        private final String name;

        Accessor(String name) {
            this.name = name;
        }

        @Override
        protected Optional<Field> computeValue(Class<?> type) {
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                for (Field field : at.getDeclaredFields()) {
                    if (field.getName().equals(name)) {
                        field.setAccessible(true);
                        return Optional.of(field);
                    }
                }
            }
            return Optional.empty();
        }

        boolean isIn(Object owner) {
            return get(owner.getClass()).isPresent();
        }

        private Field in(Object owner) {
            return get(owner.getClass())
                    .orElseThrow(() -> new IllegalStateException(
                            owner.getClass() + " has no " + name + ": unknown Derby version"));
        }

        @Nullable
        Object of(Object owner) {
            try {
                return in(owner).get(owner);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }

        void set(Object owner, @Nullable Object value) {
            try {
                in(owner).set(owner, value);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
