package org.gorda.bindings.hsqldb;

import java.sql.SQLException;
import java.util.Set;
import java.util.regex.Pattern;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.EngineFields;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.SchemaText;
import org.hsqldb.Session;
import org.hsqldb.Statement;
import org.hsqldb.StatementDML;
import org.hsqldb.StatementTypes;
import org.hsqldb.error.Error;
import org.hsqldb.error.ErrorCode;
import org.hsqldb.jdbc.JDBCUtil;

/** What HSQLDB's statements mean for replication. What is not known to be replicated is refused. Stateless. */
final class HsqldbStatements {

    /** Schema changes that do the same wherever they are executed, unless something in their text is looked for below. */
    private static final Set<Integer> SCHEMA = Set.of(
            StatementTypes.ADD_COLUMN,
            StatementTypes.ADD_CONSTRAINT,
            StatementTypes.ALTER_COLUMN_DEFAULT,
            StatementTypes.ALTER_COLUMN_DROP_DEFAULT,
            StatementTypes.ALTER_COLUMN_DROP_EXPRESSION,
            StatementTypes.ALTER_COLUMN_DROP_GENERATED,
            StatementTypes.ALTER_COLUMN_NULL,
            StatementTypes.ALTER_COLUMN_SEQUENCE,
            StatementTypes.ALTER_COLUMN_TYPE,
            StatementTypes.ALTER_DOMAIN,
            StatementTypes.ALTER_SEQUENCE,
            StatementTypes.ALTER_TABLE,
            StatementTypes.COMMENT,
            StatementTypes.CREATE_DOMAIN,
            StatementTypes.CREATE_INDEX,
            StatementTypes.CREATE_SCHEMA,
            StatementTypes.CREATE_SEQUENCE,
            StatementTypes.CREATE_TABLE,
            StatementTypes.CREATE_VIEW,
            StatementTypes.DROP_COLUMN,
            StatementTypes.DROP_CONSTRAINT,
            StatementTypes.DROP_DEFAULT,
            StatementTypes.DROP_DOMAIN,
            StatementTypes.DROP_INDEX,
            StatementTypes.DROP_SCHEMA,
            StatementTypes.DROP_SEQUENCE,
            StatementTypes.DROP_TABLE,
            StatementTypes.DROP_VIEW,
            StatementTypes.RENAME_OBJECT,
            StatementTypes.RENAME_SCHEMA,
            StatementTypes.TRUNCATE);

    private static final Pattern GIVEN_NAMES = SchemaText.pattern("\\bSYS_(CT|PK|FK|IDX|REF)_");
    private static final Pattern OTHER_TABLES = SchemaText.pattern(
            "^\\s*CREATE\\s+(GLOBAL|TEMP|TEMPORARY|TEXT|CACHED)\\b|\\bWITH\\s+(NO\\s+)?DATA\\b"
                    + "|\\bSYSTEM\\s+VERSIONING\\b|\\bPERIOD\\s+FOR\\b|\\bAUTO\\s+UPDATE\\b|\\bON\\s+UPDATE\\s+CURRENT");
    private static final Pattern PLAIN_SCHEMA = SchemaText.pattern(
            "\\s*CREATE\\s+SCHEMA\\s+(IF\\s+NOT\\s+EXISTS\\s+)?(\\w+|\"[^\"]+\")(\\s+AUTHORIZATION\\s+(\\w+|\"[^\"]+\"))?[\\s;]*");
    private static final Pattern RESTARTS_SOMEWHERE = SchemaText.pattern("\\bRESTART\\b(?!\\s+WITH\\b)");
    private static final Pattern ADDS = SchemaText.pattern("\\bADD\\b");
    private static final Pattern TIMES =
            SchemaText.pattern("\\bALTER\\b(?s:.*)\\bALTER\\b(?s:.*)\\b(DATE|TIME|TIMESTAMP)\\b");
    private static final Pattern TAKES_VALUES =
            SchemaText.pattern("\\bNEXT(\\s|/\\*(?s:.*?)\\*/|--.*\n)+VALUE\\b|\\bNEXTVAL\\b");
    private static final Pattern LARGE_OBJECTS = SchemaText.pattern("\\b(CLOB|BLOB|LARGE\\s+OBJECT)\\b");
    private static final Pattern TRUE = SchemaText.pattern("\\bTRUE\\b");

    private HsqldbStatements() {}

    /** @throws SQLException with 0A000 if it is refused */
    static Dialect.Kind kind(Statement compiled, String sql, Session session) throws SQLException {
        int type = isTruncate(compiled) ? StatementTypes.TRUNCATE : compiled.getType();
        if (SCHEMA.contains(type)) {
            checkSchemaChange(type, sql, session);
            return Dialect.Kind.SCHEMA;
        }
        switch (type) {
            case StatementTypes.SELECT_CURSOR,
                    StatementTypes.SELECT_SINGLE,
                    StatementTypes.CALL,
                    StatementTypes.EXPLAIN_PLAN -> {
                return TAKES_VALUES.matcher(sql).find() ? Dialect.Kind.READ_FOR_UPDATE : Dialect.Kind.READ;
            }
            case StatementTypes.INSERT,
                    StatementTypes.UPDATE_WHERE,
                    StatementTypes.DELETE_WHERE,
                    StatementTypes.MERGE -> {
                return Dialect.Kind.ROWS;
            }
            case StatementTypes.TRANSACTION_LOCK_TABLE -> {
                return Dialect.Kind.LOCK;
            }
            case StatementTypes.SET_SCHEMA -> {
                return Dialect.Kind.READ;
            }
            case StatementTypes.COMMIT_WORK -> {
                return Dialect.Kind.COMMIT;
            }
            case StatementTypes.ROLLBACK_WORK -> {
                return Dialect.Kind.ROLLBACK;
            }
            case StatementTypes.SAVEPOINT -> {
                return Dialect.Kind.SAVEPOINT;
            }
            case StatementTypes.ROLLBACK_SAVEPOINT -> {
                return Dialect.Kind.ROLLBACK_TO_SAVEPOINT;
            }
            case StatementTypes.RELEASE_SAVEPOINT -> {
                return Dialect.Kind.RELEASE_SAVEPOINT;
            }
            case StatementTypes.SET_SESSION_AUTOCOMMIT -> {
                return TRUE.matcher(sql).find() ? Dialect.Kind.AUTOCOMMIT_ON : Dialect.Kind.AUTOCOMMIT_OFF;
            }
            default -> {
                // refused
            }
        }
        throw Refused.unsupported("this kind of statement is not replicated on HSQLDB: " + SchemaText.shown(sql));
    }

    /** HSQLDB has it for a DELETE, of which no trigger is told. */
    private static boolean isTruncate(Statement compiled) {
        return compiled instanceof StatementDML change && Boolean.TRUE.equals(EngineFields.get(change, "isTruncate"));
    }

    private static void checkSchemaChange(int type, String sql, Session session) throws SQLException {
        if (session.isReadOnly() || session.isReadOnlyDefault()) {
            throw JDBCUtil.sqlException(Error.error(ErrorCode.X_25006)); // as HSQLDB would, and only it
        }
        SchemaText.check(sql, session.getCurrentSchemaHsqlName().name, session.isAdmin());
        if (GIVEN_NAMES.matcher(sql).find()) {
            throw Refused.unsupported(
                    "names that HSQLDB gives are different on each replica: give the constraint a name when it is made: "
                            + SchemaText.shown(sql));
        }
        if (OTHER_TABLES.matcher(sql).find()) {
            throw Refused.unsupported(
                    "of tables only those in memory are replicated, without what HSQLDB computes of a query or the clock: "
                            + SchemaText.shown(sql));
        }
        if (type == StatementTypes.CREATE_SCHEMA && !PLAIN_SCHEMA.matcher(sql).matches()) {
            throw Refused.unsupported("a schema is made with nothing in it: make what belongs to it afterwards");
        }
        if (RESTARTS_SOMEWHERE.matcher(sql).find()) {
            throw Refused.unsupported("HSQLDB does not keep where a generator began: say RESTART WITH and a value: "
                    + SchemaText.shown(sql));
        }
        if (type == StatementTypes.CREATE_VIEW && TAKES_VALUES.matcher(sql).find()) {
            throw Refused.unsupported("a view takes no values of a sequence, which who reads it would take unseen: "
                    + SchemaText.shown(sql));
        }
        if (type != StatementTypes.CREATE_TABLE && LARGE_OBJECTS.matcher(sql).find()) {
            throw Refused.unsupported("HSQLDB keeps large objects in a file of their own, which is not replicated: "
                    + SchemaText.shown(sql));
        }
        boolean isDomain = type == StatementTypes.CREATE_DOMAIN || type == StatementTypes.ALTER_DOMAIN;
        boolean isOfTable = type == StatementTypes.ADD_COLUMN
                || type == StatementTypes.ALTER_TABLE
                || type == StatementTypes.ALTER_COLUMN_TYPE;
        if ((isDomain && SchemaText.hasComputedDefault(sql))
                || (isOfTable && ADDS.matcher(sql).find() && SchemaText.computes(sql))
                || (isOfTable && TIMES.matcher(sql).find())) {
            throw SchemaText.refusedAsComputed(sql);
        }
    }
}
