package org.gorda.bindings.postgresql.wire;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.bindings.postgresql.wire.SqlLexer.Token;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;

/**
 * Tells the kind of a statement by its key words. What is taken for less than it is does not get past the server: it commits changed rows only if it was
 * told to just before. Stateless.
 */
final class SqlGrammar {

    private static final Set<String> CHANGES = Set.of("INSERT", "UPDATE", "DELETE", "MERGE");

    /** What may stand before a parenthesis and changes nothing: key words, aggregates and everyday functions of the server's own. */
    private static final Set<String> HARMLESS = words("""
            IN EXISTS ANY ALL SOME VALUES AND OR NOT AS FROM JOIN ON USING WHERE SELECT BY OVER UNION EXCEPT
            INTERSECT WITH MATERIALIZED DISTINCT CASE WHEN THEN ELSE LATERAL HAVING LIMIT OFFSET FILTER EXPLAIN
            COPY CAST COALESCE NULLIF GREATEST LEAST COUNT SUM MIN MAX AVG ROW ARRAY EXTRACT SUBSTRING LENGTH
            LOWER UPPER TRIM ABS ROUND NOW VARCHAR CHAR NUMERIC DECIMAL ROWS BETWEEN LIKE INTERVAL TIMESTAMP
            TIME RANGE PARTITION SETVAL PG_GET_SERIAL_SEQUENCE PG_ADVISORY_LOCK PG_ADVISORY_XACT_LOCK
            PG_TRY_ADVISORY_LOCK PG_TRY_ADVISORY_XACT_LOCK PG_ADVISORY_UNLOCK""");

    /** The server's own by which values are everyday made of others; they are the same everywhere. */
    private static final Set<String> CONVERTING = words("""
            BIT FLOAT REPLACE TRANSLATE REGEXP_REPLACE REGEXP_MATCH SPLIT_PART SUBSTR LEFT RIGHT POSITION STRPOS
            OVERLAY LTRIM RTRIM BTRIM LPAD RPAD REPEAT REVERSE INITCAP CONCAT CONCAT_WS FORMAT ASCII CHR MD5 SHA256
            ENCODE DECODE CONVERT_FROM CONVERT_TO CHAR_LENGTH CHARACTER_LENGTH FLOOR CEIL CEILING TRUNC MOD DIV POWER SQRT
            SIGN TO_CHAR TO_NUMBER TO_DATE TO_TIMESTAMP TIMEZONE DATE_TRUNC DATE_PART MAKE_DATE MAKE_TIME
            MAKE_TIMESTAMP MAKE_TIMESTAMPTZ MAKE_INTERVAL TO_JSON TO_JSONB JSON_BUILD_OBJECT JSONB_BUILD_OBJECT JSON_BUILD_ARRAY
            JSONB_BUILD_ARRAY ARRAY_TO_STRING STRING_TO_ARRAY ARRAY_APPEND ARRAY_REMOVE ARRAY_LENGTH CARDINALITY
            TO_TSVECTOR""");

    private static final Set<String> LARGE_OBJECTS = words("""
            LO_CREATE LO_CREAT LO_IMPORT LO_UNLINK LO_PUT LOWRITE LO_FROM_BYTEA LO_TRUNCATE LO_TRUNCATE64
            LO_OPEN""");

    /** What is done to large objects, among others, by statements of their own. */
    private static final Set<String> ABOUT = Set.of("ALTER", "COMMENT", "GRANT", "REVOKE", "SECURITY");

    /** Functions that take values, which only a replica may that takes writes. */
    private static final Set<String> GENERATING = Set.of("NEXTVAL", "SETVAL");

    private static final Set<String> SETTING = Set.of(SqlStatement.SETVAL);

    /** As dumps have it. */
    private static final Pattern SETVAL = Pattern.compile(
            "(?is)SELECT\\s+(pg_catalog\\s*\\.\\s*)?setval\\s*\\(\\s*'(?<name>([^'\\\\]|'')+)'\\s*,\\s*-?\\d+\\s*(,\\s*(true|false)\\s*)?\\)");

    private static final Set<String> RELATIONS = Set.of("TABLE", "VIEW", "SEQUENCE", "INDEX");

    private static final Set<String> BEFORE_RELATION = Set.of("TABLE", "EXISTS", "ON", "ONLY", "OF", ".");

    private static final String TABLESPACE = "a tablespace, which is each server's own,";

    private static final String TABLESPACE_INSTEAD =
            "leave it out; default_tablespace says where a server puts what is made there";

    /** What is computed without parentheses, and otherwise at each place and time. */
    private static final Set<String> MOMENTS = words("""
            CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_USER CURRENT_ROLE
            CURRENT_CATALOG CURRENT_SCHEMA SESSION_USER USER SYSTEM_USER NOW""");

    /** What else differs from place to place and from time to time. */
    private static final Set<String> VOLATILE = words("""
            RANDOM RANDOM_NORMAL GEN_RANDOM_UUID UUIDV4 UUIDV7 UUID_GENERATE_V1 UUID_GENERATE_V4 CLOCK_TIMESTAMP
            STATEMENT_TIMESTAMP TRANSACTION_TIMESTAMP TIMEOFDAY NEXTVAL TXID_CURRENT PG_CURRENT_XACT_ID""");

    /** Settings by which changes would escape. */
    private static final Set<String> SETTINGS = Set.of("SESSION_REPLICATION_ROLE", "GORDA");

    /** That by which the server calls no triggers, or event triggers, in a body or where it is set. */
    private static final Pattern HIDES = Pattern.compile(
            "(?i)session_replication_role|\\bset\\s+((local|session)\\s+)?\"?event_triggers\\b|'event_triggers'");

    /** In the body of a DO, also as the text of an EXECUTE; of roles the server tells no event trigger. */
    private static final Pattern CHANGES_ROLE = Pattern.compile(
            "(?i)\\b(create|alter|drop)\\s+(role|user|group)\\b|\\b(grant|revoke)\\b(?![^;]*\\bon\\b)[^;]*\\b(to|from)\\b");

    /** What of them is for the replica. */
    private static final Pattern CALLED = Pattern.compile(
            "SET\\s+LOCAL\\s+gorda\\.transaction\\s*(?:=|\\sTO\\s)\\s*'([^']*)'", Pattern.CASE_INSENSITIVE);

    private static final Pattern AWAITED =
            Pattern.compile("SET\\s+gorda\\.position\\s*(?:=|\\sTO\\s)\\s*'?(\\d{1,18})'?", Pattern.CASE_INSENSITIVE);

    private static final Pattern ENCODING = Pattern.compile(
            "(?i)SET\\s+((SESSION|LOCAL)\\s+)?(\"?client_encoding\"?\\s*(=|\\sTO\\s)|NAMES\\b)\\s*(?<quote>['\"]?)(?<name>[\\w -]+)\\k<quote>");

    /** As options are written, too: {@code EXPLAIN ("analyze")}. */
    private static final Set<String> ANALYZES = Set.of("analyze", "analyse");

    private static final String CHECKS = "a constraint that each replica would check by its own time or user";

    private static final String CHECK_INSTEAD =
            "compare with a column that has it by DEFAULT, or have a trigger check it, which only the origin calls";

    private static final String MOMENT =
            "'now', 'today', 'tomorrow' or 'yesterday', which each replica may read at another time,";

    private static final String MOMENT_INSTEAD =
            "write the time that is meant; where it is no time, but such a text, put it together: 'no' || 'w'";

    private final String text;
    private final List<Token> tokens;

    private SqlGrammar(String text, List<Token> tokens) {
        this.text = text;
        this.tokens = tokens;
    }

    private static Set<String> words(String text) {
        return Set.of(text.split("\\s+"));
    }

    /** Whether a function is called by that name without a look at the catalogue. */
    static boolean isEveryday(String function) {
        return HARMLESS.contains(function) || CONVERTING.contains(function);
    }

    static SqlStatement statement(String text, List<Token> tokens) {
        SqlStatement known = new SqlGrammar(text, tokens).statement();
        boolean mayBePlain = known.kind() == Kind.READ || known.kind() == Kind.WRITE;
        return mayBePlain ? known.as(PlainGrammar.of(text, tokens)) : known;
    }

    /** Whether the statement creates a function or procedure, whose body may hold semicolons. */
    static boolean isRoutine(List<Token> tokens) {
        int what = tokens.size() > 3 && tokens.get(1).is("OR") && tokens.get(2).is("REPLACE") ? 3 : 1;
        return tokens.size() > what
                && tokens.get(0).is("CREATE")
                && (tokens.get(what).is("FUNCTION") || tokens.get(what).is("PROCEDURE"));
    }

    private boolean is(int i, String... words) {
        for (int k = 0; k < words.length; k++) {
            if (i + k >= tokens.size() || !tokens.get(i + k).is(words[k])) {
                return false;
            }
        }
        return true;
    }

    /** Whether the words stand one behind the other outside of parentheses. */
    private boolean has(String... words) {
        for (int i = 0; i < tokens.size(); i++) {
            if (tokens.get(i).depth() == 0 && is(i, words)) {
                return true;
            }
        }
        return false;
    }

    private boolean hasAnywhere(Set<String> words) {
        return tokens.stream().anyMatch(token -> !token.isQuoted() && words.contains(token.text()));
    }

    /** Which only the server reads. */
    private boolean hasEscapedName() {
        return text.toUpperCase(Locale.ROOT).contains("U&\"");
    }

    /** Whether a setting is named, in whatever case and quotes, by which changes would escape. */
    private boolean namesOurs() {
        for (int i = 0; i < tokens.size(); i++) {
            String name = tokens.get(i).text().toUpperCase(Locale.ROOT);
            boolean isSet = i > 0 && (is(i - 1, "SET") || is(i - 1, "LOCAL") || is(i - 1, "SESSION"));
            if (SETTINGS.contains(name) || name.startsWith("GORDA.") || (isSet && name.equals("EVENT_TRIGGERS"))) {
                return true;
            }
        }
        return false;
    }

    /** Where the relation is named that a clause changes which begins there; the end if none does. */
    private int target(int clause) {
        Token first = tokens.get(clause);
        boolean copies = clause == 0 && first.is("COPY") && has("FROM") && !has("TO");
        if (!copies && (first.isQuoted() || !CHANGES.contains(first.text()))) {
            return tokens.size();
        }
        int at = clause + 1;
        if (!copies && !first.is("UPDATE")) {
            if (!is(at, first.is("DELETE") ? "FROM" : "INTO")) {
                return tokens.size();
            }
            at++;
        }
        at += is(at, "ONLY") || (copies && is(at, "BINARY")) ? 1 : 0;
        return at + (is(at, "(") ? 1 : 0);
    }

    /** A relation of the server's catalogue of which rows are changed, which are this server's own; empty if there is none. */
    private String changedCatalogue() {
        for (int i = 0; i < tokens.size(); i++) {
            int at = target(i);
            if (at < tokens.size()) {
                boolean isQualified = is(at + 1, ".") && at + 2 < tokens.size();
                String name = tokens.get(at).name();
                if (isQualified ? name.equals("pg_catalog") : name.startsWith("pg_")) {
                    return isQualified ? tokens.get(at + 2).name() : name;
                }
            }
        }
        return "";
    }

    private SqlStatement of(Kind kind) {
        return new SqlStatement(kind, text, "");
    }

    private SqlStatement refused(String what, String instead) {
        return SqlStatement.refused(text, what + " cannot be replicated: " + instead);
    }

    private SqlStatement statement() {
        if (calls(LARGE_OBJECTS) || (ABOUT.contains(tokens.get(0).text()) && has("LARGE", "OBJECT"))) {
            return refused("a large object", "use a column of type bytea");
        }
        if (tokens.stream().anyMatch(token -> token.is("SET_CONFIG")) && namesSetting()) {
            return settingRefused();
        }
        String catalogue = changedCatalogue();
        if (catalogue.equals("pg_settings")) {
            return refused("an UPDATE of pg_settings", "use SET");
        }
        if (!catalogue.isEmpty()) {
            return refused(
                    "a change of rows of the server's catalogue",
                    "use the statements for that; write the schema before a table of your own that is called pg_...");
        }
        Token first = tokens.get(0);
        if (first.isQuoted()) {
            return of(Kind.PASS); // a syntax error
        }
        return switch (first.text()) {
            case "SELECT", "VALUES", "TABLE", "WITH", "(", "DECLARE" -> query();
            case "SHOW" -> of(tokens.size() == 4 && is(1, "GORDA", ".", "POSITION") ? Kind.POSITION : Kind.READ);
            case "FETCH", "MOVE", "CLOSE", "LOCK" -> of(Kind.READ);
            case "EXPLAIN" -> explain();
            case "INSERT", "UPDATE", "DELETE", "MERGE", "CALL" -> of(Kind.WRITE);
            case "DO" ->
                CHANGES_ROLE.matcher(text).find()
                        ? refused("a role within DO", "have a statement of its own for it, without DO")
                        : hides() ? settingRefused() : of(Kind.WRITE);
            case "EXECUTE" -> execute(1);
            case "COPY" -> copy();
            case "BEGIN" -> of(Kind.BEGIN);
            case "START" -> of(is(1, "TRANSACTION") ? Kind.BEGIN : Kind.PASS);
            case "COMMIT", "END", "ROLLBACK", "ABORT" -> end(first.text());
            case "SAVEPOINT" -> named(Kind.SAVEPOINT);
            case "RELEASE" -> named(Kind.RELEASE);
            case "PREPARE" -> is(1, "TRANSACTION") ? refused("a two-phase commit", "use COMMIT") : of(Kind.PASS);
            case "DEALLOCATE" ->
                new SqlStatement(Kind.PASS, text, tokens.get(tokens.size() - 1).name());
            case "SET", "RESET" -> set();
            case "CREATE" -> create();
            case "ALTER" -> alter();
            case "DROP" -> onServer(1);
            case "COMMENT", "GRANT", "REVOKE", "TRUNCATE", "SECURITY", "REASSIGN" -> schema();
            case "REFRESH" -> onServer(1);
            case "IMPORT" ->
                refused("a foreign table", "create it on each replica, outside of the replicated database");
            default -> of(Kind.PASS);
        };
    }

    private boolean namesSetting() {
        return hides() || text.toLowerCase(Locale.ROOT).contains("gorda.");
    }

    private boolean hides() {
        return HIDES.matcher(text).find();
    }

    /** The first setting of an object that is taken from the session, if others do not have it from there; empty if there is none. */
    private String setFromCurrent() {
        for (int i = 3; i + 1 < tokens.size(); i++) {
            if (is(i, "FROM", "CURRENT") && (is(i - 2, "SET") || (i > 3 && is(i - 2, ".") && is(i - 4, "SET")))) {
                String name = tokens.get(i - 1).name();
                String setting = is(i - 2, ".") ? tokens.get(i - 3).name() + "." + name : name;
                if (SqlStatement.SETTINGS.stream().noneMatch(setting::equalsIgnoreCase)) {
                    return setting;
                }
            }
        }
        return "";
    }

    private SqlStatement settingRefused() {
        return refused("a change of that setting", "leave it, it is for the replica's own sessions");
    }

    private boolean calls(Set<String> functions) {
        for (int i = 0; i + 1 < tokens.size(); i++) {
            if (tokens.get(i + 1).is("(")
                    && functions.contains(tokens.get(i).text().toUpperCase(Locale.ROOT))) {
                return true;
            }
        }
        return false;
    }

    private SqlStatement query() {
        for (int i = 0; i < tokens.size(); i++) {
            if (is(i, "INTO") && tokens.get(i).depth() == 0 && !hasAnywhere(CHANGES)) {
                return is(i + 1, "TEMP") || is(i + 1, "TEMPORARY") ? of(Kind.CALL) : tableOfQuery();
            }
        }
        return rows(hasAnywhere(CHANGES) && !onlyLocks());
    }

    /** CREATE TABLE AS, SELECT INTO. */
    private SqlStatement tableOfQuery() {
        if (has("UNLOGGED")) {
            return refused("an unlogged table", "leave out UNLOGGED");
        }
        return calls(SETTING)
                ? refused("setval in what makes a table", "have it in a SELECT by itself, with constants")
                : new SqlStatement(Kind.SCHEMA, text, SqlStatement.QUERY);
    }

    /** Whether its only changing word is that of FOR UPDATE. */
    private boolean onlyLocks() {
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (!token.isQuoted()
                    && CHANGES.contains(token.text())
                    && !(token.is("UPDATE") && i > 0 && (is(i - 1, "FOR") || is(i - 1, "KEY")))) {
                return false;
            }
        }
        return true;
    }

    private boolean computesForItself(int from, int to) {
        return tokens.subList(from, to).stream()
                .anyMatch(token ->
                        !token.isQuoted() && (MOMENTS.contains(token.text()) || VOLATILE.contains(token.text())));
    }

    /**
     * Whether a string is read where each replica keeps what it makes of it: not by DEFAULT, which only the origin of a row computes, but for a column that is
     * added, where it is more than that string.
     */
    private boolean readsMoment(int what) {
        boolean isKept = is(what, "TABLE")
                || is(what, "DOMAIN")
                || is(what, "SCHEMA")
                || is(what, "INDEX")
                || is(what, "UNIQUE")
                || is(what, "MATERIALIZED");
        boolean adds = is(0, "ALTER") && has("ADD");
        for (int i = what; i < tokens.size(); i++) {
            if (is(i, "DEFAULT") && !is(i - 1, "BY")) {
                int end = expressionEnd(i);
                if (adds && !is(i - 1, "SET") && end > i + 2 && hasMoment(i, end)) {
                    return true;
                }
                i = Math.max(i, end - 1);
            } else if (is(i, SqlLexer.MOMENT) && (isKept || is(i - 1, "UNTIL"))) {
                return true;
            }
        }
        return false;
    }

    private boolean hasMoment(int from, int to) {
        return tokens.subList(from, to).stream().anyMatch(token -> token.is(SqlLexer.MOMENT));
    }

    /** Of a partition. */
    private boolean hasComputedBounds() {
        for (int i = 0; i < tokens.size(); i++) {
            if (is(i, "FOR", "VALUES") && tokens.get(i).depth() == 0) {
                return computesForItself(i, tokens.size());
            }
        }
        return false;
    }

    /** Whether a constraint of a table or domain may hold for a row at one place and time, and not where it is brought later. */
    private boolean checksForItself(int what) {
        if (!is(what, "TABLE") && !is(what, "DOMAIN")) {
            return false;
        }
        for (int i = what; i < tokens.size(); i++) {
            if (is(i, "CHECK", "(") && computesForItself(i, closing(i + 1))) {
                return true;
            }
        }
        return false;
    }

    /** Where the parenthesis is closed that is opened there. */
    private int closing(int at) {
        int end = at + 1;
        while (end < tokens.size()
                && !(is(end, ")") && tokens.get(end).depth() == tokens.get(at).depth())) {
            end++;
        }
        return end;
    }

    /** Where what DEFAULT says ends: at the next action or constraint of the column, or where its parentheses are closed. */
    private int expressionEnd(int at) {
        int end = actionEnd(at);
        for (int i = at + 1; i < end; i++) {
            boolean isConstraint = is(i, "CHECK")
                    || is(i, "UNIQUE")
                    || is(i, "PRIMARY")
                    || is(i, "REFERENCES")
                    || is(i, "CONSTRAINT")
                    || is(i, "NOT", "NULL");
            int depth = tokens.get(i).depth();
            if (depth < tokens.get(at).depth()
                    || (isConstraint && depth == tokens.get(at).depth())) {
                return i;
            }
        }
        return end;
    }

    /** Where the action ends to which that place belongs: at a comma that is in no parentheses or brackets which begin behind it. */
    private int actionEnd(int at) {
        int brackets = 0;
        for (int i = at + 1; i < tokens.size(); i++) {
            brackets += is(i, "[") ? 1 : is(i, "]") ? -1 : 0;
            if (is(i, ",")
                    && brackets == 0
                    && tokens.get(i).depth() <= tokens.get(at).depth()) {
                return i;
            }
        }
        return tokens.size();
    }

    /** Whether a function is called behind that place that may change something. */
    private boolean callsUnknown(int from) {
        return callsUnknown(from, tokens.size(), Set.of());
    }

    private boolean callsUnknown(int from, int to, Set<String> known) {
        for (int i = from + 1; i < to; i++) {
            Token before = tokens.get(i - 1);
            boolean isName = before.isQuoted()
                    || (!before.text().isEmpty()
                            && SqlLexer.isNameStart(before.text().charAt(0)));
            if (tokens.get(i).is("(")
                    && isName
                    && (before.isQuoted() || !(HARMLESS.contains(before.text()) || known.contains(before.text())))) {
                return true;
            }
        }
        return false;
    }

    private SqlStatement copy() {
        for (int i = 1; i < tokens.size(); i++) {
            if (tokens.get(i).depth() == 0 && is(i, "FROM")) {
                return of(is(i + 1, "STDIN") ? Kind.COPY_IN : Kind.WRITE);
            }
            if (tokens.get(i).depth() == 0 && is(i, "TO")) {
                break;
            }
        }
        return rows(hasAnywhere(CHANGES));
    }

    private SqlStatement rows(boolean changes) {
        if (calls(SETTING)) {
            return setval(changes);
        }
        return of(changes || calls(GENERATING) ? Kind.WRITE : callsUnknown(0) ? Kind.CALL : Kind.READ);
    }

    /** Executed on all replicas as a change of the schema is, where it does nothing else. */
    private SqlStatement setval(boolean changes) {
        boolean isAlone = is(0, "SELECT")
                && !changes
                && !callsUnknown(0)
                && !computesForItself(0, tokens.size())
                && !hasMoment(0, tokens.size())
                && tokens.stream().noneMatch(token -> token.is("$"));
        Matcher ofOne = SETVAL.matcher(text);
        return isAlone
                ? new SqlStatement(
                        Kind.SCHEMA, text, ofOne.matches() ? ofOne.group("name").replace("''", "'") : "")
                : new SqlStatement(Kind.WRITE, text, SqlStatement.SETVAL);
    }

    private SqlStatement end(String first) {
        if (is(1, "PREPARED")) {
            return refused("a two-phase commit", "use COMMIT");
        }
        int next = is(1, "WORK") || is(1, "TRANSACTION") ? 2 : 1;
        if (first.equals("ROLLBACK") && is(next, "TO")) {
            return named(Kind.ROLLBACK_TO);
        }
        boolean chains = is(next, "AND", "CHAIN");
        Kind kind = first.equals("COMMIT") || first.equals("END") ? Kind.COMMIT : Kind.ROLLBACK;
        return new SqlStatement(kind, text, chains ? "CHAIN" : "");
    }

    private SqlStatement named(Kind kind) {
        if (hasEscapedName()) {
            return refused("a savepoint whose name is escaped (U&)", "write its letters");
        }
        return new SqlStatement(kind, text, tokens.get(tokens.size() - 1).name());
    }

    private SqlStatement set() {
        if (is(1, "CONSTRAINTS")) {
            return of(Kind.CONSTRAINTS);
        }
        if (is(1, "TRANSACTION", "SNAPSHOT") || is(2, "TRANSACTION", "SNAPSHOT")) {
            return new SqlStatement(Kind.PASS, text, SqlStatement.SNAPSHOT);
        }
        if (is(0, "SET") && hasEscapedName()) {
            return refused("a setting whose name is escaped (U&)", "write its letters");
        }
        if (is(0, "SET") && namesOurs()) {
            return setOurs();
        }
        Matcher encoded = ENCODING.matcher(text);
        if (encoded.matches()
                && !is(tokens.size() - 1, "DEFAULT")
                && !ClientEncoding.isUnderstood(encoded.group("name"))) {
            return SqlStatement.refused(text, ClientEncoding.refusal(encoded.group("name")));
        }
        return is(1, "LOCAL") || is(1, "TRANSACTION")
                ? new SqlStatement(Kind.PASS, text, SqlStatement.LOCAL)
                : of(Kind.PASS);
    }

    private SqlStatement setOurs() {
        Matcher called = CALLED.matcher(text);
        Matcher awaited = AWAITED.matcher(text);
        return called.matches()
                ? new SqlStatement(Kind.CALLED, text, called.group(1))
                : awaited.matches() ? new SqlStatement(Kind.AWAIT_POSITION, text, awaited.group(1)) : settingRefused();
    }

    private SqlStatement execute(int at) {
        return new SqlStatement(
                Kind.CALL, text, at < tokens.size() ? tokens.get(at).name() : "");
    }

    private SqlStatement explain() {
        if (tokens.stream().noneMatch(token -> ANALYZES.contains(token.name()))) {
            return of(Kind.READ);
        }
        int what = is(1, "(") ? closing(1) + 1 : 1;
        while (is(what, "ANALYZE") || is(what, "ANALYSE") || is(what, "VERBOSE")) {
            what++;
        }
        if (is(what, "EXECUTE")) {
            return execute(what + 1);
        }
        boolean isTemporary = has("CREATE", "TEMP") || has("CREATE", "TEMPORARY");
        return (has("CREATE") && !isTemporary) || has("REFRESH") || selectsInto()
                ? refused("EXPLAIN ANALYZE of what makes a table", "explain its query")
                : query();
    }

    /** SELECT INTO of what is not TEMPORARY, in whatever parentheses: no event trigger sees it within EXPLAIN. */
    private boolean selectsInto() {
        for (int i = 1; i < tokens.size(); i++) {
            boolean adds = is(i - 1, "INSERT") || is(i - 1, "MERGE");
            if (is(i, "INTO") && !adds && !is(i + 1, "TEMP") && !is(i + 1, "TEMPORARY")) {
                return true;
            }
        }
        return false;
    }

    private SqlStatement create() {
        if (has("UNLOGGED")) {
            return refused("an unlogged table", "leave out UNLOGGED");
        }
        if (isRoutine(tokens) && hides()) {
            return settingRefused();
        }
        int what = is(1, "OR", "REPLACE") ? 3 : 1;
        if (is(what, "LOCAL") || is(what, "GLOBAL")) {
            what++;
        }
        if (is(what, "TEMP") || is(what, "TEMPORARY") || has("PG_TEMP", ".")) {
            return of(Kind.CALL);
        }
        if (is(what, "TABLE") && has("AS")) {
            return tableOfQuery();
        }
        if ((is(what, "MATERIALIZED") && computesForItself(what, tokens.size())) || hasComputedBounds()) {
            return refused("what each replica would compute for itself", "use constants");
        }
        if (readsMoment(what)) {
            return refused(MOMENT, MOMENT_INSTEAD);
        }
        if (checksForItself(what)) {
            return refused(CHECKS, CHECK_INSTEAD);
        }
        boolean liesOnDisk = is(what, "TABLE") || is(what, "INDEX") || is(what, "UNIQUE") || is(what, "MATERIALIZED");
        if (liesOnDisk && namesTablespace()) {
            return refused(TABLESPACE, TABLESPACE_INSTEAD);
        }
        if (is(what, "FOREIGN", "TABLE") || is(what, "SUBSCRIPTION")) {
            return refused("what lies in other databases", "make it outside of the replicated database");
        }
        return onServer(what);
    }

    private SqlStatement alter() {
        if (has("DISABLE", "TRIGGER") || has("ENABLE", "REPLICA") || has("ENABLE", "ALWAYS")) {
            return refused("changes that no trigger sees", "leave the triggers enabled");
        }
        if (has("UNLOGGED")) {
            return refused("an unlogged table", "leave it logged");
        }
        if (namesOurs()) {
            return settingRefused();
        }
        for (int i = 1; i < tokens.size() && has("ADD"); i++) {
            if (is(i, "DEFAULT")
                    && !is(i - 1, "BY")
                    && (callsUnknown(i + 1, expressionEnd(i), CONVERTING) || hasAnywhere(MOMENTS))) {
                return refused(
                        "a column whose first values each replica would compute for itself",
                        "add it without a default, then set that, and update the rows");
            }
        }
        for (int i = 1; i < tokens.size() && is(1, "TABLE"); i++) {
            if (is(i, "USING")
                    && tokens.get(i).depth() == 0
                    && !isMethod(i)
                    && (computesForItself(i, actionEnd(i)) || callsUnknown(i + 1, actionEnd(i), CONVERTING))) {
                return refused("values that each replica would compute for itself", "update the rows instead");
            }
        }
        if (hasComputedBounds()) {
            return refused("what each replica would compute for itself", "use constants");
        }
        if (readsMoment(1)) {
            return refused(MOMENT, MOMENT_INSTEAD);
        }
        if (checksForItself(1)) {
            return refused(CHECKS, CHECK_INSTEAD);
        }
        if (namesTablespace()) {
            return refused(TABLESPACE, TABLESPACE_INSTEAD);
        }
        return is(1, "SYSTEM") ? of(Kind.PASS) : onServer(1);
    }

    /** Whether USING names the index by which a constraint excludes rows, and does not follow a type, which may be called EXCLUDE. */
    private boolean isMethod(int using) {
        return (using > 2 && is(using - 2, "ADD", "EXCLUDE"))
                || (using > 4 && is(using - 4, "ADD", "CONSTRAINT") && is(using - 1, "EXCLUDE"));
    }

    /** Databases are the server's, and not in this one. */
    private SqlStatement onServer(int what) {
        if (is(what, "DATABASE") || is(what, "TABLESPACE")) {
            return of(Kind.PASS);
        }
        return has("CONCURRENTLY")
                ? refused("CONCURRENTLY", "leave it out; the change then locks the table while it is made")
                : schema();
    }

    private SqlStatement schema() {
        if (is(1, "SUBSCRIPTION") || isOn("SUBSCRIPTION")) {
            return refused("a subscription, which is this server's own,", "do it on the server itself");
        }
        String setting = setFromCurrent();
        if (!setting.isEmpty()) {
            return refused(
                    "SET " + setting + " FROM CURRENT, which is another value in each replica's session,",
                    "write the value");
        }
        if (is(0, "DROP") && has("PG_TEMP", ".")) { // elsewhere it may be only a part of what is changed
            return tokens.stream().anyMatch(token -> token.is(",") && token.depth() == 0)
                    ? refused("a statement on what is temporary and others", "have one for each")
                    : of(Kind.CALL);
        }
        if (isOn("TABLESPACE")) {
            return of(Kind.PASS); // as its creation is
        }
        boolean isInDatabase = is(0, "ALTER") && (is(1, "ROLE") || is(1, "USER")) && has("IN", "DATABASE");
        if ((isOn("DATABASE") || isInDatabase) && NamedDatabase.of(text) == null) {
            return refused(
                    "a statement on several databases, or with comments before the name of one",
                    "have one for each, without comments");
        }
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if ((token.name().equals("gorda") && (is(i + 1, ".") || (i > 0 && is(i - 1, "SCHEMA"))))
                    || (token.name().startsWith("gorda_")
                            && ((i > 0 && is(i - 1, "TRIGGER")) || (i > 2 && is(i - 3, "TRIGGER", "IF", "EXISTS"))))) {
                return refused("what the replica keeps in its database", "leave it, or uninstall it");
            }
        }
        return new SqlStatement(Kind.SCHEMA, text, String.join("\n", relations()));
    }

    /** Whether it grants rights on, or describes, something of the server's of that kind, and not a table that is called so. */
    private boolean isOn(String kind) {
        int at = behind("ON", 0);
        boolean isOfServer = is(0, "GRANT") || is(0, "REVOKE") || is(0, "COMMENT") || is(0, "SECURITY");
        return isOfServer
                && is(at, kind)
                && !(is(at + 1, "TO") || is(at + 1, "FROM") || is(at + 1, ",") || is(at + 1, "."));
    }

    /** Whether it names where on the server's disks something is to lie. */
    private boolean namesTablespace() {
        for (int i = 2; i + 1 < tokens.size(); i++) {
            boolean isLast = i + 2 == tokens.size() || is(i + 2, "WHERE") || is(i + 2, "AS");
            boolean isClause = is(i - 1, "SET")
                    || is(i - 2, "USING", "INDEX")
                    || (is(0, "CREATE")
                            && isLast
                            && tokens.get(i).depth() == 0
                            && !BEFORE_RELATION.contains(tokens.get(i - 1).text()));
            if (is(i, "TABLESPACE") && isClause) {
                return true;
            }
        }
        return false;
    }

    /** The relations that the statement changes, if they may be temporary ones. */
    private List<String> relations() {
        int kind = is(0, "COMMENT", "ON") ? 2 : is(1, "OR", "REPLACE") ? 3 : is(1, "CONSTRAINT") ? 2 : 1;
        boolean isRule = is(kind, "RULE");
        boolean isOfTable = isRule || is(kind, "TRIGGER") || is(kind, "POLICY");
        int at = kind;
        if (isOfTable || is(0, "CREATE", "INDEX") || is(0, "CREATE", "UNIQUE")) {
            at = behind(isRule && is(0, "CREATE") ? "TO" : "ON", kind);
        } else if (is(0, "CREATE")) {
            return List.of();
        }
        for (String word : List.of("TABLE", "VIEW", "SEQUENCE", "INDEX", "IF", "EXISTS", "ONLY")) {
            at += is(at, word) ? 1 : 0;
        }
        boolean isNamedKind = at > kind && RELATIONS.contains(tokens.get(kind).text());
        boolean isRelation = isOfTable || is(0, "CREATE") || is(0, "TRUNCATE") || isNamedKind;
        List<String> names = new ArrayList<>();
        while (isRelation && at < tokens.size()) {
            StringBuilder name = new StringBuilder(tokens.get(at).asWritten());
            for (at++; is(at, ".") && at + 1 < tokens.size(); at += 2) {
                name.append('.').append(tokens.get(at + 1).asWritten());
            }
            names.add(name.toString());
            if (!is(at, ",")) {
                break;
            }
            at += is(at + 1, "ONLY") ? 2 : 1;
        }
        return names;
    }

    /** Behind the first such word that is not in parentheses, from there on. */
    private int behind(String word, int from) {
        int at = from;
        while (at < tokens.size() && !(is(at, word) && tokens.get(at).depth() == 0)) {
            at++;
        }
        return at + 1;
    }
}
