package org.gorda.bindings.h2;

import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.EngineFields;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.SchemaText;
import org.h2.command.CommandInterface;
import org.h2.command.Prepared;
import org.h2.command.ddl.CreateTableData;
import org.h2.command.ddl.SequenceOptions;
import org.h2.command.query.Query;
import org.h2.engine.DbObject;
import org.h2.engine.SessionLocal;
import org.h2.expression.Expression;
import org.h2.expression.ExpressionVisitor;
import org.h2.schema.Schema;
import org.h2.table.Column;
import org.h2.table.Table;
import org.h2.util.JdbcUtils;
import org.h2.value.DataType;
import org.jspecify.annotations.Nullable;

/** What H2's statements mean for replication. What is not known to be replicated is refused. Stateless. */
final class H2Statements {

    /** Schema changes that do the same wherever they are executed, unless something in their text is looked for below. */
    private static final Set<Integer> SCHEMA = Set.of(
            CommandInterface.ALTER_INDEX_RENAME,
            CommandInterface.ALTER_SCHEMA_RENAME,
            CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_CHECK,
            CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_UNIQUE,
            CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_REFERENTIAL,
            CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_PRIMARY_KEY,
            CommandInterface.ALTER_TABLE_ADD_COLUMN,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_NOT_NULL,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_DROP_NOT_NULL,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_DEFAULT,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_CHANGE_TYPE,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_RENAME,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_VISIBILITY,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_ON_UPDATE,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_DROP_EXPRESSION,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_DROP_IDENTITY,
            CommandInterface.ALTER_TABLE_ALTER_COLUMN_DEFAULT_ON_NULL,
            CommandInterface.ALTER_TABLE_DROP_COLUMN,
            CommandInterface.ALTER_TABLE_DROP_CONSTRAINT,
            CommandInterface.ALTER_TABLE_RENAME,
            CommandInterface.ALTER_TABLE_RENAME_CONSTRAINT,
            CommandInterface.ALTER_VIEW,
            CommandInterface.ALTER_SEQUENCE,
            CommandInterface.CREATE_INDEX,
            CommandInterface.CREATE_SCHEMA,
            CommandInterface.CREATE_SEQUENCE,
            CommandInterface.CREATE_TABLE,
            CommandInterface.CREATE_TRIGGER,
            CommandInterface.CREATE_DOMAIN,
            CommandInterface.CREATE_VIEW,
            CommandInterface.CREATE_SYNONYM,
            CommandInterface.COMMENT,
            CommandInterface.DROP_DOMAIN,
            CommandInterface.DROP_INDEX,
            CommandInterface.DROP_SCHEMA,
            CommandInterface.DROP_SEQUENCE,
            CommandInterface.DROP_SYNONYM,
            CommandInterface.DROP_TABLE,
            CommandInterface.DROP_TRIGGER,
            CommandInterface.DROP_VIEW,
            CommandInterface.TRUNCATE_TABLE);

    private static final Pattern ROWS_OF_CHANGES = SchemaText.pattern("\\b(FINAL|NEW|OLD)\\s+TABLE\\s*(\\(|/\\*|--|//)"
            + "|\\b(FINAL|NEW|OLD)\\s*(/\\*|--|//)(?s:.*)\\bTABLE\\b");
    private static final Pattern ESCAPED_NAMES = SchemaText.pattern("\\bU&\"");
    private static final Pattern OF_THE_SESSION =
            SchemaText.pattern("^\\s*SET\\s+(SCHEMA\\b|LOCK_TIMEOUT\\b|QUERY_TIMEOUT\\b|@)");
    private static final Pattern TAKES_VALUES = SchemaText.pattern("\\bNEXT(VAL|\\s+VALUE)\\b");
    private static final Pattern TAKES_SOMETHING = SchemaText.pattern(TAKES_VALUES + "|\\bFOR\\s+UPDATE\\b");
    private static final Pattern RELEASE = SchemaText.pattern("\\bRELEASE\\b");
    private static final Pattern FILES = SchemaText.pattern("\\b(CSVREAD|CSVWRITE|FILE_READ|FILE_WRITE)\\b");
    private static final Pattern REACHES_OTHERS =
            SchemaText.pattern("\\b(LINK_SCHEMA|ABORT_SESSION|CANCEL_SESSION)\\b");

    private H2Statements() {}

    /**
     * Before it is compiled, whereby H2 may execute functions.
     *
     * @throws SQLException with 0A000 if it is refused
     */
    static void check(String sql) throws SQLException {
        if (REACHES_OTHERS.matcher(sql).find()) {
            throw Refused.unsupported("what other databases and sessions are told to do is not seen");
        }
        if (ESCAPED_NAMES.matcher(sql).find()) {
            throw Refused.unsupported("names are not replicated with escapes: write them out");
        }
        if (ROWS_OF_CHANGES.matcher(sql).find()) {
            throw Refused.unsupported("queries that change rows are not replicated: change them, and read them");
        }
    }

    /** @throws SQLException with 0A000 if it is refused */
    static Dialect.Kind kind(Prepared prepared, String sql, SessionLocal session) throws SQLException {
        int type = prepared.getType();
        if (SCHEMA.contains(type)) {
            checkSchemaChange(prepared, sql, session);
            return Dialect.Kind.SCHEMA;
        }
        return switch (type) {
            case CommandInterface.SELECT, CommandInterface.CALL, CommandInterface.EXPLAIN, CommandInterface.HELP ->
                prepared.isReadOnly() && !TAKES_SOMETHING.matcher(sql).find()
                        ? Dialect.Kind.READ
                        : Dialect.Kind.READ_FOR_UPDATE;
            case CommandInterface.INSERT, CommandInterface.UPDATE, CommandInterface.DELETE, CommandInterface.MERGE ->
                Dialect.Kind.ROWS;
            case CommandInterface.NO_OPERATION ->
                RELEASE.matcher(sql).find() ? Dialect.Kind.RELEASE_SAVEPOINT : Dialect.Kind.READ;
            case CommandInterface.BEGIN ->
                throw Refused.unsupported("a transaction does not begin by a statement: use setAutoCommit(false)");
            case CommandInterface.COMMIT -> Dialect.Kind.COMMIT;
            case CommandInterface.ROLLBACK -> Dialect.Kind.ROLLBACK;
            case CommandInterface.SAVEPOINT -> Dialect.Kind.SAVEPOINT;
            case CommandInterface.ROLLBACK_TO_SAVEPOINT -> Dialect.Kind.ROLLBACK_TO_SAVEPOINT;
            case CommandInterface.SET_AUTOCOMMIT_TRUE -> Dialect.Kind.AUTOCOMMIT_ON;
            case CommandInterface.SET_AUTOCOMMIT_FALSE -> Dialect.Kind.AUTOCOMMIT_OFF;
            case CommandInterface.SET -> {
                if (!OF_THE_SESSION.matcher(sql).find()) {
                    throw Refused.unsupported(
                            "settings are not replicated, but SET SCHEMA, SET LOCK_TIMEOUT, SET QUERY_TIMEOUT and SET @variable: "
                                    + SchemaText.shown(sql));
                }
                yield TAKES_SOMETHING.matcher(sql).find() ? Dialect.Kind.READ_FOR_UPDATE : Dialect.Kind.READ;
            }
            default ->
                throw Refused.unsupported("this kind of statement is not replicated on H2: " + SchemaText.shown(sql));
        };
    }

    private static void checkSchemaChange(Prepared prepared, String sql, SessionLocal session) throws SQLException {
        int type = prepared.getType();
        SchemaText.check(sql, session.getCurrentSchemaName(), session.getUser().isAdmin());
        if (sql.indexOf('@') >= 0) {
            throw Refused.unsupported("variables are the session's own: a schema change is replicated without @");
        }
        if (FILES.matcher(sql).find()) {
            throw Refused.unsupported(
                    "other replicas do not have the file: read it by INSERT or UPDATE: " + SchemaText.shown(sql));
        }
        boolean isRefused = switch (type) {
            case CommandInterface.CREATE_TABLE -> {
                CreateTableData data = EngineFields.there(prepared, "data", CreateTableData.class);
                if (data.temporary || !data.persistData || data.tableEngine != null) {
                    throw Refused.unsupported(
                            "tables that are temporary, not persistent or of another engine are not replicated");
                }
                yield EngineFields.get(prepared, "asQuery") != null
                        || data.columns.stream().anyMatch(column -> isComputed(column.getIdentityOptions()));
            }
            case CommandInterface.ALTER_TABLE_ALTER_COLUMN_CHANGE_TYPE ->
                dependsOnClock(altered(prepared), (Column) EngineFields.get(prepared, "newColumn"))
                        || SchemaText.computes(sql)
                        || isComputedAgain(copied(prepared, session), session);
            case CommandInterface.ALTER_TABLE_ADD_COLUMN -> {
                if (EngineFields.get(prepared, "constraintCommands") != null) {
                    throw Refused.unsupported(
                            "H2 adds a column also if its constraint fails afterwards: add the column, and its constraint by a statement of its own: "
                                    + SchemaText.shown(sql));
                }
                List<?> added = EngineFields.there(prepared, "columnsToAdd", List.class);
                yield EngineFields.get(prepared, "usingExpression") != null
                        || added.stream().anyMatch(column -> isComputed((Column) column))
                        || isComputedAgain(copied(prepared, session), session);
            }
            case CommandInterface.ALTER_TABLE_DROP_COLUMN -> isComputedAgain(copied(prepared, session), session);
            case CommandInterface.CREATE_TRIGGER -> {
                if (EngineFields.get(prepared, "triggerClassName") instanceof String action) {
                    JdbcUtils.loadUserClass(action); // of whose lack H2 tells as of what fails on all replicas
                }
                yield false;
            }
            case CommandInterface.CREATE_VIEW -> {
                checkView(prepared, sql, session);
                yield false;
            }
            case CommandInterface.CREATE_DOMAIN -> SchemaText.hasComputedDefault(sql);
            case CommandInterface.ALTER_SEQUENCE, CommandInterface.CREATE_SEQUENCE ->
                isComputed(EngineFields.there(prepared, "options", SequenceOptions.class));
            default -> false;
        };
        if (isRefused) {
            throw SchemaText.refusedAsComputed(sql);
        }
    }

    private static void checkView(Prepared prepared, String sql, SessionLocal session) throws SQLException {
        if (TAKES_VALUES.matcher(sql).find()) {
            throw Refused.unsupported("a view takes no values of a sequence, which who reads it would take unseen: "
                    + SchemaText.shown(sql));
        }
        Table before = EngineFields.there(prepared, "schema", Schema.class)
                .findTableOrView(session, EngineFields.there(prepared, "viewName", String.class));
        if (before != null && EngineFields.get(prepared, "query") instanceof Query query) {
            HashSet<DbObject> read = new HashSet<>();
            query.isEverything(ExpressionVisitor.getDependenciesVisitor(read));
            if (isAmong(read, before)) {
                throw Refused.unsupported("a view is not made of itself: " + SchemaText.shown(sql));
            }
        }
    }

    /** Whether the table is among them, or a view that is made of it. */
    private static boolean isAmong(Set<DbObject> read, Table table) {
        return read.contains(table) || table.getDependentViews().stream().anyMatch(view -> isAmong(read, view));
    }

    /** Whether rows that are there get values of a column that is added which are no literals: by itself, or by its domain. */
    private static boolean isComputed(Column added) {
        Expression value = added.getEffectiveDefaultExpression();
        return added.isIdentity() || (value != null && !value.isConstant());
    }

    /** Whether a sequence has something that is no literal, and which each replica would compute for itself. */
    private static boolean isComputed(@Nullable SequenceOptions options) {
        return options != null
                && Stream.of("start", "restart", "increment", "minValue", "maxValue", "cacheSize")
                        .map(name -> EngineFields.get(options, name))
                        .anyMatch(value -> value instanceof Expression given && !given.isConstant());
    }

    /** Whether a row that is copied would not be the same: H2 computes generated columns anew, and gives those their default that are NULL and never to be. */
    private static boolean isComputedAgain(@Nullable Table copied, SessionLocal session) throws SQLException {
        if (copied == null) {
            return false;
        }
        if (session.getDatabase().getAllSchemas().stream()
                .flatMap(schema -> schema.getAllSynonyms().stream())
                .anyMatch(synonym -> copied.equals(synonym.getSynonymFor()))) {
            throw Refused.unsupported("H2 cannot copy a table that has a synonym: drop that before, and make it again");
        }
        return Stream.of(copied.getColumns())
                .filter(column -> column.isGenerated() || (column.isDefaultOnNull() && column.isNullable()))
                .map(Column::getEffectiveDefaultExpression)
                .anyMatch(value -> value != null && !value.isEverything(ExpressionVisitor.DETERMINISTIC_VISITOR));
    }

    /** The column whose type is changed; null if none is, or if there is none of its name. */
    static @Nullable Column altered(Prepared prepared) {
        return prepared.getType() == CommandInterface.ALTER_TABLE_ALTER_COLUMN_CHANGE_TYPE
                ? (Column) EngineFields.get(prepared, "oldColumn")
                : null;
    }

    /** Whether values get another type by the clock, or by the time zone. */
    private static boolean dependsOnClock(@Nullable Column before, @Nullable Column after) {
        if (before == null || after == null) {
            return false; // there is no such table
        }
        int from = before.getType().getValueType();
        int to = after.getType().getValueType();
        return from != to && (DataType.isDateTimeType(from) || DataType.isDateTimeType(to));
    }

    /** The table that the statement copies or indexes, as far as there is one; null if it does neither. */
    static @Nullable Table copied(Prepared prepared, SessionLocal session) {
        return switch (prepared.getType()) {
            case CommandInterface.ALTER_TABLE_ADD_COLUMN,
                    CommandInterface.ALTER_TABLE_DROP_COLUMN,
                    CommandInterface.ALTER_TABLE_ALTER_COLUMN_CHANGE_TYPE,
                    CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_UNIQUE,
                    CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_REFERENTIAL,
                    CommandInterface.ALTER_TABLE_ADD_CONSTRAINT_PRIMARY_KEY,
                    CommandInterface.CREATE_INDEX ->
                EngineFields.there(prepared, "schema", Schema.class)
                        .findTableOrView(session, EngineFields.there(prepared, "tableName", String.class));
            default -> null;
        };
    }
}
