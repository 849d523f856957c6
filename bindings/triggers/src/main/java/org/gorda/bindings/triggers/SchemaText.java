package org.gorda.bindings.triggers;

import java.sql.SQLException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the text of a schema change tells, where each replica executes it for itself. What hides something is refused. Stateless. */
public final class SchemaText {

    private static final Pattern OURS = pattern("(?<!\\w)\"?GORDA\"?\\s*\\.|\\bSCHEMA\\b[^.]*\\bGORDA\\b|GORDA\\$");
    private static final Pattern QUOTED = pattern("'[^']*'|\"[^\"]*\"");
    private static final Pattern HIDES = pattern("/\\*|--|//|\\$\\$");

    /** With what may stand behind it: anything else goes on with the expression. */
    private static final Pattern LITERAL = pattern(
            "\\bDEFAULT\\s+(NULL|TRUE|FALSE|[-+]?[0-9.]+|((DATE|TIME|TIMESTAMP)\\s*)?'[^']*')"
                    + "(?=\\s*([,;)]|$)|\\s+(NOT\\s+NULL|NULL|BEFORE|AFTER|CHECK|UNIQUE|PRIMARY|CONSTRAINT|COMMENT)\\b)");

    /** Literals of times, or defaults that may become some, with something behind the time. */
    private static final Pattern ZONED =
            pattern("\\b(DEFAULT|TIME|TIMESTAMP|ZONE)\\s*'[^']*\\d:\\d\\d(:[0-9.]+)?\\s*([-+]\\d|[A-Z])[^']*'");

    /**
     * Rows that are there are compared with it, now or with what is made of it: some replicas would have that, and others not. What stands in a default or by an update
     * behind a check is none of it.
     */
    private static final Pattern CHECK_BY_CHANCE =
            pattern("\\bCHECK\\b((?!\\b(DEFAULT|UPDATE)\\b)(?s:.))*?\\b(RAND|RANDOM|SECURE_RAND|RANDOM_UUID|UUID"
                    + "|RANDOMBLOB|CHANGES|TOTAL_CHANGES|LAST_INSERT_ROWID)\"?\\s*\\(");

    private static final Pattern DEFAULT = pattern("\\bDEFAULT\\b");
    private static final Pattern COMPUTED =
            pattern("\\b(DEFAULT|GENERATED|IDENTITY|AUTO_INCREMENT|SERIAL|SMALLSERIAL|BIGSERIAL|AS|USING)\\b");

    private static final int SHOWN = 80;

    private SchemaText() {}

    /** A pattern to be looked for in texts of SQL, where the case does not matter. */
    public static Pattern pattern(String regex) {
        return Pattern.compile(regex, Pattern.CASE_INSENSITIVE);
    }

    /**
     * As {@link #check(String, String)}, where there are users, and types of times: a time with a zone is another
     * one where the machine's own zone is another.
     *
     * @param isAdministrator whether it is wanted by one: elsewhere it is executed by the replica, which is allowed everything
     */
    public static void check(String sql, String currentSchema, boolean isAdministrator) throws SQLException {
        if (!isAdministrator) {
            throw Refused.unsupported("only the administrator changes the schema of a replicated database");
        }
        if (ZONED.matcher(sql).find()) {
            throw Refused.unsupported(
                    "times in a schema change have no zone, from which each replica would compute them for that of its machine: "
                            + shown(sql));
        }
        check(sql, currentSchema);
    }

    /**
     * Refuses what is not to be executed by anybody but us, or cannot be looked through.
     *
     * @throws SQLException with 0A000 if it is refused
     */
    public static void check(String sql, String currentSchema) throws SQLException {
        if (OURS.matcher(withoutTexts(sql)).find() || currentSchema.equals(TriggeredDatabase.SCHEMA)) {
            throw Refused.unsupported("what is named GORDA is the replica's own, and not changed by clients");
        }
        if (HIDES.matcher(QUOTED.matcher(sql).replaceAll("''")).find()) {
            throw Refused.unsupported("schema changes are replicated without comments and $$: leave them out");
        }
        if (CHECK_BY_CHANCE.matcher(sql).find()) {
            throw Refused.unsupported(
                    "a check does not depend on chance, by which it would fail on some replicas only: " + shown(sql));
        }
    }

    /** Names of Java classes are texts, and may begin as ours do. */
    private static String withoutTexts(String sql) {
        return QUOTED.matcher(sql)
                .replaceAll(quoted -> quoted.group().startsWith("'") ? "''" : Matcher.quoteReplacement(quoted.group()));
    }

    /** Whether rows that are there get values that are no literals. */
    public static boolean computes(String sql) {
        return COMPUTED.matcher(LITERAL.matcher(sql).replaceAll("")).find();
    }

    /** Whether there is a default that is no literal. */
    public static boolean hasComputedDefault(String sql) {
        return DEFAULT.matcher(LITERAL.matcher(sql).replaceAll("")).find();
    }

    /** To be thrown where replicas would come to differ. */
    public static SQLException refusedAsComputed(String sql) {
        return Refused.unsupported(
                "each replica would compute values of its own: make the table or column without them, and fill it by "
                        + "INSERT or UPDATE (only literals may be defaults of columns that are added): "
                        + shown(sql));
    }

    /** As much of a text as a message may have. */
    public static String shown(String sql) {
        String line = sql.strip().replaceAll("\\s+", " ");
        return line.length() > SHOWN ? line.substring(0, SHOWN) + "..." : line;
    }
}
