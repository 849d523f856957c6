package org.gorda.bindings.postgresql.wire;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * One SQL statement, as far as an interceptor must know it. Immutable.
 *
 * @param text without comments and blanks before it and without the semicolon behind it
 * @param name of the savepoint, as the server compares names, or of the statement that EXECUTE executes or DEALLOCATE drops; the relations that a {@link Kind#SCHEMA} statement
 *     changes, a line for each, if they may be temporary; that of setval, of a {@link Kind#WRITE} statement that calls it and does more; what a statement for the replica says to it;
 *     of a {@link Kind#REFUSED} statement why it is refused; else empty
 * @param plain what it does if it is so plain that nothing else can come of it; null if that is not known
 * @param parameterTypes what the client says of the types of its parameters
 */
public record SqlStatement(
        Kind kind, String text, String name, @Nullable PlainStatement plain, List<Integer> parameterTypes) {

    static final String SETVAL = "SETVAL";

    static final String SNAPSHOT = "SNAPSHOT";

    private static final String TOO_DENSE =
            "the statement has more words and signs than this replica has memory for: have several, or COPY, or a larger heap (-Xmx)";

    private static final int LONG_TEXT = 8192;

    /** With what it is set to in the client's session a {@link Kind#SCHEMA} statement is executed everywhere. */
    public static final List<String> SETTINGS = List.of(
            "search_path",
            "TimeZone",
            "DateStyle",
            "IntervalStyle",
            "standard_conforming_strings",
            "check_function_bodies",
            "bytea_output",
            "extra_float_digits",
            "default_text_search_config",
            "array_nulls",
            "transform_null_equals",
            "xmlbinary",
            "xmloption");

    /** As no relation is called that is written out. */
    static final String QUERY = "(QUERY)";

    /** A call that sets for longer than its transaction, and what it sets if that is written there. */
    private static final Pattern CONFIGURES =
            Pattern.compile("(?i)\\bset_config\\s*\\((?![^()]*,\\s*true\\s*\\))(\\s*'(?<setting>[\\w.]+)'\\s*,)?");

    /** Values that are read and written as it is done at some place, with its names and signs. */
    private static final Pattern PLACES = Pattern.compile("(?i)\\b(money|to_(char|number|date|timestamp))\\b");

    /** A sign of money in a format. */
    private static final Pattern SIGN = Pattern.compile("(?i)\\bto_(char|number)\\b.*'[^']*L[^']*'");

    private static final Pattern RETYPES = Pattern.compile("(?i)\\bTYPE\\b");

    private static final Pattern USING = Pattern.compile("(?is)ALTER\\b.*?\\bTYPE\\b.*?\\bUSING\\b(.*)");

    private static final Pattern CALL = Pattern.compile("(?s)\\b(\\w+)(?:\\s|/\\*.*?\\*/|--[^\n]*)*\\(");

    /** What the server does with locks on all tables whose rows it may concern, in a mode that does not go with writers of them. */
    private static final Pattern OF_TABLES = Pattern.compile(
            "(?is)((CREATE|ALTER|DROP)\\s+(OR\\s+REPLACE\\s+|UNIQUE\\s+)?(TABLE|INDEX|SEQUENCE|VIEW|TRIGGER)"
                    + "|CREATE\\s+(SCHEMA|TYPE|DOMAIN|EXTENSION)|ALTER\\s+TYPE\\s+\\S+\\s+ADD\\s+VALUE"
                    + "|COMMENT|GRANT|REVOKE|TRUNCATE)\\b.*");

    private static final Pattern OF_ROUTINES =
            Pattern.compile("(?is)(CREATE|ALTER|DROP)\\s+(OR\\s+REPLACE\\s+)?(FUNCTION|PROCEDURE|ROUTINE)\\b.*");

    private static final Pattern CHANGES_WHAT_IS_THERE =
            Pattern.compile("(?is)(ALTER|DROP|CREATE\\s+(OR\\s+REPLACE|FUNCTION|PROCEDURE))\\b.*");

    /** What all values of a type, or all of a schema, are written by, checked, or found; no table is locked for that. */
    private static final Pattern OF_NAMES =
            Pattern.compile("(?is)ALTER\\s+(TYPE|DOMAIN|(?<more>SCHEMA|EXTENSION|TEXT))\\b.*");

    /** Computes rows from those of tables, without locks on them that keep writers away. */
    private static final Pattern FILLS = Pattern.compile(
            "(?is)(CREATE|REFRESH)\\s+MATERIALIZED\\s+VIEW\\s+(IF\\s+NOT\\s+EXISTS\\s+)?(?<view>(\"([^\"]|\"\")+\"|[\\w$.])+).*(?<!WITH NO DATA)");

    /** Set until the end of the transaction. */
    static final String LOCAL = "LOCAL";

    /** What a statement means for the transaction that it is in. */
    public enum Kind {
        /** Reads, and calls nothing that could do more. */
        READ,
        /** May change rows, by itself or by a function that it calls, but probably does not. */
        CALL,
        /** Changes rows, as far as one can tell. */
        WRITE,
        /** As WRITE, and the client sends the rows. */
        COPY_IN,
        /** Changes no rows, and goes to the server as it is; some of them not in a transaction block. */
        PASS,
        BEGIN,
        COMMIT,
        ROLLBACK,
        SAVEPOINT,
        RELEASE,
        ROLLBACK_TO,
        /** SET CONSTRAINTS. */
        CONSTRAINTS,
        /** {@code SET LOCAL gorda.transaction}: what the client calls its transaction. */
        CALLED,
        /** {@code SHOW gorda.position}: asks for a place in the order. */
        POSITION,
        /** {@code SET gorda.position}: waits for one. */
        AWAIT_POSITION,
        /** Changes the schema. */
        SCHEMA,
        /** Cannot be replicated. */
        REFUSED;

        /** Whether it may change rows. */
        public boolean mayChange() {
            return this == CALL || this == WRITE || this == COPY_IN;
        }

        /** Whether it sets, releases or goes back to a savepoint. */
        public boolean isAboutSavepoints() {
            return this == SAVEPOINT || this == RELEASE || this == ROLLBACK_TO;
        }

        /** Whether it is for the replica. The server executes it, too, as one of a setting that it does nothing with. */
        public boolean isForReplica() {
            return this == CALLED || this == POSITION || this == AWAIT_POSITION;
        }

        /** Whether the order among others of its kind is all that matters, so that they may be sent together. */
        boolean isPlain() {
            return this == READ || this == PASS || mayChange() || isForReplica();
        }
    }

    SqlStatement(Kind kind, String text, String name) {
        this(kind, text, name, null, List.of());
    }

    SqlStatement as(@Nullable PlainStatement known) {
        return new SqlStatement(kind, text, name, known, parameterTypes);
    }

    SqlStatement with(List<Integer> types) {
        return types.isEmpty() ? this : new SqlStatement(kind, text, name, plain, types);
    }

    /** Whether a statement's text is so long that nothing is to look at it for each row that it changes: the server copies it for that. */
    public static boolean isLong(CharSequence text) {
        return text.length() >= LONG_TEXT;
    }

    /** Whether it changes only tables, and what else the server keeps locked with them until the commit: other tables' rows it does not concern. */
    public boolean changesTablesOnly() {
        return makesTableOfQuery() || OF_TABLES.matcher(text).matches();
    }

    /** Whether it makes a table of the rows of a query, which others could not compute: CREATE TABLE AS, SELECT INTO. */
    public boolean makesTableOfQuery() {
        return kind == Kind.SCHEMA && name.equals(QUERY);
    }

    /** Whether it computes values, of rows that are there, that are other ones where other names and signs are used. */
    public boolean computesByPlace() {
        return PLACES.matcher(text).find() && (begins("ALTER") || makesMaterializedView());
    }

    private boolean makesMaterializedView() {
        return begins("CREATE") && FILLS.matcher(text).matches();
    }

    /** Whether they may be written with the sign of money. */
    public boolean writesSignOfMoney() {
        return SIGN.matcher(text).find();
    }

    /** Whether values that are there may get another type. */
    public boolean retypes() {
        return begins("ALTER") && RETYPES.matcher(text).find();
    }

    /** The everyday functions of the server's, in lower case, of which it makes values of other types; others may have their names, too. */
    public List<String> callsToRetype() {
        Matcher using = USING.matcher(text);
        return using.matches()
                ? CALL.matcher(using.group(1))
                        .results()
                        .map(call -> call.group(1).toUpperCase(Locale.ROOT))
                        .filter(SqlGrammar::isEveryday)
                        .map(name -> name.toLowerCase(Locale.ROOT))
                        .distinct()
                        .toList()
                : List.of();
    }

    /** Whether it calls triggers, before and after it, as no other change of the schema does. */
    public boolean truncates() {
        return begins("TRUNCATE");
    }

    /** Whether what it makes is in the first schema of the search path unless it names another. */
    public boolean creates() {
        return begins("CREATE") || makesTableOfQuery();
    }

    /** Whether it changes only functions or procedures. */
    public boolean changesRoutinesOnly() {
        return OF_ROUTINES.matcher(text).matches();
    }

    /** Whether what is there is called as before, and has the columns that it had. */
    public boolean onlyAdds() {
        return !CHANGES_WHAT_IS_THERE.matcher(text).matches();
    }

    /** Whether it may change how values are written, or tables found, without locks on the tables. */
    public boolean changesNames() {
        return OF_NAMES.matcher(text).matches();
    }

    /** The materialized view that it fills, as it is written; empty if it does not. */
    public String fills() {
        Matcher fills = FILLS.matcher(text);
        return fills.matches() ? fills.group("view") : "";
    }

    /** Whether those may be any tables, and not only those with columns of types of the database's own. */
    public boolean changesNamesOfTables() {
        Matcher names = OF_NAMES.matcher(text);
        return names.matches() && names.group("more") != null;
    }

    /** Whether it is executed in a transaction block, in one of ours if the client has none. The server refuses a cursor that is not held without the client's. */
    boolean needsBlock() {
        boolean isForBlock = isCursor() && !text.toUpperCase(Locale.ROOT).contains("HOLD");
        return !isForBlock && (kind.mayChange() || kind == Kind.SCHEMA || kind == Kind.CONSTRAINTS);
    }

    /** Whether it reads rows, and can do so without a transaction. */
    boolean isQuery() {
        return kind == Kind.READ && !isCursor() && !fetches() && !begins("CLOSE") && !begins("LOCK") && !begins("SHOW");
    }

    private boolean isCursor() {
        return begins("DECLARE");
    }

    /** Whether it goes on with what a cursor, or a portal that the client has bound, executes. */
    boolean fetches() {
        return begins("FETCH") || begins("MOVE");
    }

    private boolean begins(String word) {
        return text.regionMatches(true, 0, word, 0, word.length());
    }

    /** Whether it may change the session's settings, or keep something beyond its transaction. */
    public boolean mayChangeSession() {
        return kind == Kind.BEGIN
                || kind == Kind.PASS
                || isCursor()
                || (kind == Kind.CALL && text.toUpperCase(Locale.ROOT).contains("SET_CONFIG"));
    }

    /** Whether it sets something that goes on behind its transaction, and is lost if the server takes that back. */
    public boolean outlivesTransaction() {
        return kind == Kind.PASS && !name.equals(LOCAL) && !name.equals(SNAPSHOT);
    }

    /** Whether that is all it does, and it can be executed again. */
    public boolean setsSession() {
        return outlivesTransaction() && (begins("SET") || begins("RESET"));
    }

    /** The settings that its calls of set_config set for longer than its transaction; an empty name for each that is not known. */
    public List<String> configures() {
        return kind != Kind.CALL
                ? List.of()
                : CONFIGURES
                        .matcher(text)
                        .results()
                        .map(call -> Objects.requireNonNullElse(call.group(2), ""))
                        .toList();
    }

    /** Whether it sets something until the end of its transaction. */
    public boolean setsLocally() {
        return kind == Kind.PASS && name.equals(LOCAL);
    }

    /** Whether its transaction reads from now on what another one does. */
    public boolean importsSnapshot() {
        return kind == Kind.PASS && name.equals(SNAPSHOT);
    }

    /** Whether it sets where a sequence goes on. */
    public boolean setsGenerator() {
        return kind == Kind.WRITE && name.equals(SETVAL);
    }

    /** Whether it ends a transaction and begins the next one. */
    boolean chains() {
        return (kind == Kind.COMMIT || kind == Kind.ROLLBACK) && name.equals("CHAIN");
    }

    /** Why it is refused, if it is {@link Kind#REFUSED}. */
    Refusal refusal() {
        return name.equals(TOO_DENSE) ? new Refusal(Refusal.Cause.TOO_LARGE, name) : Refusal.unsupported(name);
    }

    /** The statement that a text consists of. */
    public static SqlStatement of(String text) {
        return SqlLexer.statements(text, true).get(0);
    }

    static SqlStatement tooDense(String text) {
        return refused(text, TOO_DENSE);
    }

    static SqlStatement refused(String text, String why) {
        return new SqlStatement(Kind.REFUSED, text, why);
    }
}
