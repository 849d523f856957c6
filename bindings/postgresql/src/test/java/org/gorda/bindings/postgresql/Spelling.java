package org.gorda.bindings.postgresql;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.gapi.ReflectedDatabase;

/** Connections that take the suites' SQL as PostgreSQL spells it, and go on after a statement that has failed. Stateless. */
final class Spelling {

    private record Rule(Pattern pattern, String replacement) {}

    private static final String NAME = "(\"(?:[^\"]|\"\")*\"|\\w+)";

    private static final List<Rule> RULES = List.of(
            rule("^VALUES NEXT VALUE FOR (\\w+)$", "SELECT nextval('$1')"),
            rule("NEXT VALUE FOR (\\w+)", "nextval('$1')"),
            rule(
                    "START WITH (-?\\d+),? INCREMENT BY (-\\d+)",
                    "START WITH $1 INCREMENT BY $2 MINVALUE -32768 MAXVALUE 32767"),
            rule(
                    "START WITH (-?\\d+),? INCREMENT BY (\\d+)(?! M)",
                    "START WITH $1 INCREMENT BY $2 MINVALUE -2147483648"),
            rule("CAST\\(X'([0-9A-F]*)' AS BLOB\\)", "'\\\\x$1'::bytea"),
            rule("\\bBLOB\\(\\w+\\)", "BYTEA"),
            rule("\\bCLOB\\(\\w+\\)", "TEXT"),
            rule("^SET SCHEMA (.*)$", "SET search_path TO $1"),
            rule("^RENAME TABLE " + NAME + " TO " + NAME + "$", "ALTER TABLE $1 RENAME TO $2"),
            rule(
                    "^RENAME COLUMN " + NAME + "\\." + NAME + " TO " + NAME + "$",
                    "ALTER TABLE $1 RENAME COLUMN $2 TO $3"),
            rule("^RENAME INDEX " + NAME + " TO " + NAME + "$", "ALTER INDEX $1 RENAME TO $2"),
            rule("CONSTRAINT PK ", "CONSTRAINT \"PK\" "),
            rule(" ON ROLLBACK RETAIN CURSORS$", ""),
            rule("^ALTER TABLE (\\w+) DROP PRIMARY KEY$", "ALTER TABLE $1 DROP CONSTRAINT $1_pkey"),
            rule("(GENERATED ALWAYS AS \\([^)]*\\))", "$1 STORED"),
            rule("^ALTER TABLE (.*) ALTER COLUMN (\\w+) NULL$", "ALTER TABLE $1 ALTER COLUMN $2 DROP NOT NULL"),
            rule("^ALTER TABLE (.*) ALTER COLUMN (\\w+) DEFAULT", "ALTER TABLE $1 ALTER COLUMN $2 SET DEFAULT"));

    private static final Pattern TRIGGER = Pattern.compile(
            "CREATE TRIGGER (\\w+) (AFTER .*? ON \\w+)(?: REFERENCING .*?)? (FOR EACH (?:ROW|STATEMENT))(?: (WHEN \\(.*?\\)))? ((?:INSERT|UPDATE|DELETE|CALL) .*)");

    private Spelling() {}

    private static Rule rule(String pattern, String replacement) {
        return new Rule(Pattern.compile(pattern), replacement);
    }

    static String of(String sql) {
        Matcher trigger = TRIGGER.matcher(sql);
        if (trigger.matches()) {
            String when = trigger.group(4) == null ? "" : images(trigger.group(4));
            return "CREATE FUNCTION " + trigger.group(1) + "_does() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                    + images(trigger.group(5)) + "; RETURN NULL; END $$; CREATE TRIGGER " + trigger.group(1) + " "
                    + trigger.group(2) + " " + trigger.group(3) + " " + when + " EXECUTE FUNCTION " + trigger.group(1)
                    + "_does()";
        }
        String spelt = sql;
        for (Rule rule : RULES) {
            spelt = rule.pattern().matcher(spelt).replaceAll(rule.replacement());
        }
        return spelt;
    }

    private static String images(String sql) {
        return sql.replaceAll("\\bN\\.", "NEW.").replaceAll("\\bO\\.", "OLD.");
    }

    static ReflectedDatabase of(ReflectedDatabase database) {
        return wrap(ReflectedDatabase.class, database, null);
    }

    private static <T> T wrap(Class<T> type, Object inner, Connection owner) {
        return type.cast(Proxy.newProxyInstance(
                Spelling.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, given) -> {
                    Object[] arguments = given == null ? new Object[0] : given.clone();
                    if (method.getName().equals("equals")) {
                        return proxy == arguments[0];
                    }
                    if (owner != null && method.getName().equals("getConnection")) {
                        return owner;
                    }
                    boolean isText = arguments.length > 0 && arguments[0] instanceof String;
                    if (isText
                            && (inner instanceof Statement || method.getName().startsWith("prepare"))
                            && !method.getName().startsWith("set")) {
                        arguments[0] = of((String) arguments[0]);
                    }
                    if (inner instanceof ReflectedDatabase
                            && arguments.length > 0
                            && arguments[0] instanceof Properties properties) {
                        Properties more = new Properties();
                        more.putAll(properties);
                        more.putIfAbsent("autosave", "always");
                        arguments[0] = more;
                    }
                    try {
                        Object result = method.invoke(inner, arguments);
                        if (result instanceof Connection && inner instanceof ReflectedDatabase) {
                            return wrap(Connection.class, result, null);
                        }
                        if (result instanceof PreparedStatement && inner instanceof Connection) {
                            return wrap(PreparedStatement.class, result, (Connection) proxy);
                        }
                        return result instanceof Statement && inner instanceof Connection
                                ? wrap(Statement.class, result, (Connection) proxy)
                                : result;
                    } catch (InvocationTargetException e) {
                        if (e.getCause() instanceof SQLException failed
                                && String.valueOf(failed.getSQLState()).startsWith("40")
                                && inner instanceof Statement statement
                                && !statement.getConnection().getAutoCommit()) {
                            statement.getConnection().rollback(); // others end the transaction by themselves
                        }
                        if (e.getCause() instanceof SQLException || e.getCause() instanceof RuntimeException) {
                            throw e.getCause();
                        }
                        throw e;
                    }
                }));
    }
}
