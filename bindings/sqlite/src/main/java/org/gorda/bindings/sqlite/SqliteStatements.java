package org.gorda.bindings.sqlite;

import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.gorda.bindings.sqlite.SqliteLexer.Token;
import org.gorda.bindings.triggers.Dialect.Kind;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.SchemaText;
import org.jspecify.annotations.Nullable;

/** What SQLite's statements mean for replication, by their text. What is not known to be replicated is refused. Stateless. */
final class SqliteStatements {

    /** Pragmas that tell something, of a table for instance. */
    private static final Set<String> TELLING = words("COLLATION_LIST COMPILE_OPTIONS DATABASE_LIST FOREIGN_KEY_CHECK"
            + " FOREIGN_KEY_LIST FUNCTION_LIST INDEX_INFO INDEX_LIST INDEX_XINFO INTEGRITY_CHECK PRAGMA_LIST QUICK_CHECK"
            + " TABLE_INFO TABLE_LIST TABLE_XINFO");

    /** Pragmas that tell something unless a value is given. */
    private static final Set<String> SETTINGS = words("APPLICATION_ID BUSY_TIMEOUT ENCODING FOREIGN_KEYS FREELIST_COUNT"
            + " JOURNAL_MODE PAGE_COUNT PAGE_SIZE RECURSIVE_TRIGGERS SCHEMA_VERSION SYNCHRONOUS USER_VERSION");

    /** Numbers in the database that are their application's. */
    private static final Set<String> APPLICATIONS = Set.of("APPLICATION_ID", "USER_VERSION");

    private static final Set<String> VERBS = words("SELECT VALUES INSERT REPLACE UPDATE DELETE");
    private static final Pattern REPLACE = SchemaText.pattern("\\bREPLACE\\b");
    private static final String PRAGMAS = "PRAGMA_";
    private static final String OURS = "GORDA$";
    private static final String SQLITES = "SQLITE_";

    private SqliteStatements() {}

    private static Set<String> words(String text) {
        return Set.of(text.split(" "));
    }

    /** @throws SQLException with 0A000 if it is refused */
    static Kind kind(String sql) throws SQLException {
        List<Token> tokens = SqliteLexer.tokens(sql);
        while (!tokens.isEmpty() && tokens.get(tokens.size() - 1).isMark(';')) {
            tokens.remove(tokens.size() - 1);
        }
        if (tokens.isEmpty()) {
            return Kind.READ;
        }
        if (tokens.stream()
                .anyMatch(token -> token.isMark(SqliteLexer.BOM) || token.isMark(SqliteLexer.VERTICAL_TAB))) {
            throw Refused.unsupported(
                    "a text has no byte order marks and no vertical tabs but in quotes: " + SchemaText.shown(sql));
        }
        if (hasParameterOfTcl(tokens)) {
            throw Refused.unsupported("a parameter is named by letters and digits only, without :: and parentheses: "
                    + SchemaText.shown(sql));
        }
        checkTold(tokens, sql);
        if (!isTrigger(tokens) && tokens.stream().anyMatch(token -> token.isMark(';'))) {
            throw Refused.unsupported("only one statement is executed at a time: " + SchemaText.shown(sql));
        }
        switch (verb(tokens)) {
            case "SELECT", "VALUES" -> {
                return Kind.READ;
            }
            case "EXPLAIN" -> {
                int explained = tokens.size() > 2 && tokens.get(1).is("QUERY") ? 3 : 1;
                if (tokens.size() > explained && !tokens.get(explained).is("EXPLAIN")) {
                    kind(sql.substring(tokens.get(explained).start()));
                    return Kind.READ;
                }
            }
            case "INSERT", "REPLACE", "UPDATE", "DELETE" -> {
                checkRows(tokens, sql);
                return Kind.ROWS;
            }
            case "CREATE", "ALTER", "DROP", "ANALYZE", "REINDEX" -> {
                checkSchemaChange(tokens, sql);
                return Kind.SCHEMA;
            }
            case "PRAGMA" -> {
                return pragma(tokens, sql);
            }
            case "COMMIT", "END" -> {
                return Kind.COMMIT;
            }
            case "ROLLBACK" -> {
                return tokens.stream().anyMatch(token -> token.is("TO")) ? Kind.ROLLBACK_TO_SAVEPOINT : Kind.ROLLBACK;
            }
            case "SAVEPOINT" -> {
                return Kind.SAVEPOINT;
            }
            case "RELEASE" -> {
                return Kind.RELEASE_SAVEPOINT;
            }
            case "BEGIN" ->
                throw Refused.unsupported(
                        "transactions begin by themselves: call setAutoCommit(false) of the connection");
            default -> {
                // refused
            }
        }
        throw Refused.unsupported("this kind of statement is not replicated on SQLite: " + SchemaText.shown(sql));
    }

    /** Whether a parameter's name goes on with :: or in parentheses, where SQLite takes quotes and marks for a part of it. */
    private static boolean hasParameterOfTcl(List<Token> tokens) {
        for (int i = 1; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            Token before = tokens.get(i - 1);
            boolean isLong = token.isMark(':') && before.isMark(':');
            boolean hasSuffix = token.isMark('(') && isParameter(before, tokens.get(Math.max(0, i - 2)));
            if (token.isDirectlyBehind(before) && (isLong || hasSuffix)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isParameter(Token name, Token before) {
        boolean isMark = before.isMark('@') || before.isMark(':') || before.isMark('#');
        return name.isWord() && (name.text().startsWith("$") || (isMark && name.isDirectlyBehind(before)));
    }

    /** The keyword that says what it does, behind what it names by WITH. */
    private static String verb(List<Token> tokens) {
        return tokens.get(verbAt(tokens)).upper();
    }

    private static int verbAt(List<Token> tokens) {
        if (!tokens.get(0).is("WITH")) {
            return 0;
        }
        int depth = 0;
        for (int i = 1; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            depth += token.isMark('(') ? 1 : token.isMark(')') ? -1 : 0;
            // What is named by WITH may have one of them for its name, but does not follow a parenthesis.
            if (depth == 0 && tokens.get(i - 1).isMark(')') && VERBS.contains(token.upper())) {
                return i;
            }
        }
        return 0;
    }

    /** Whether there is nothing to execute. */
    static boolean isEmpty(String sql) {
        return SqliteLexer.tokens(sql).stream().allMatch(token -> token.isMark(';'));
    }

    /** Whether it puts rows into a table. */
    static boolean inserts(String sql) {
        List<Token> tokens = SqliteLexer.tokens(sql);
        return !tokens.isEmpty() && Set.of("INSERT", "REPLACE").contains(verb(tokens));
    }

    /** Whether these keywords follow one another somewhere. */
    static boolean follow(List<Token> tokens, String... keywords) {
        for (int from = 0; from + keywords.length <= tokens.size(); from++) {
            int found = 0;
            while (found < keywords.length && tokens.get(from + found).is(keywords[found])) {
                found++;
            }
            if (found == keywords.length) {
                return true;
            }
        }
        return false;
    }

    private static boolean isNamed(List<Token> tokens, String prefix) {
        return tokens.stream()
                .anyMatch(token ->
                        token.isName() && token.text().toUpperCase(Locale.ROOT).startsWith(prefix));
    }

    private static void checkRows(List<Token> tokens, String sql) throws SQLException {
        if (follow(tokens, "OR", "ROLLBACK")) {
            throw Refused.unsupported(
                    "OR ROLLBACK is not replicated: what follows would not be in a transaction any more: "
                            + SchemaText.shown(sql));
        }
        String table = table(tokens).toUpperCase(Locale.ROOT);
        if (table.startsWith(OURS) || table.startsWith(SQLITES)) {
            throw Refused.unsupported("rows of SQLite's own tables and of the replica's are not changed by clients: "
                    + SchemaText.shown(sql));
        }
    }

    /** Whose rows are changed. */
    private static String table(List<Token> tokens) {
        int at = verbAt(tokens);
        if (tokens.get(at).is("UPDATE")) {
            at += at + 1 < tokens.size() && tokens.get(at + 1).is("OR") ? 2 : 0;
        } else {
            while (at < tokens.size()
                    && !tokens.get(at).is("INTO")
                    && !tokens.get(at).is("FROM")) {
                at++;
            }
        }
        at++;
        at += at + 1 < tokens.size() && tokens.get(at + 1).isMark('.') ? 2 : 0;
        return at < tokens.size() ? tokens.get(at).text() : "";
    }

    /** Whether it may delete rows that others are put in the place of. */
    static boolean replaces(String sql) {
        if (!REPLACE.matcher(sql).find()) {
            return false;
        }
        List<Token> tokens = SqliteLexer.tokens(sql);
        return follow(tokens, "OR", "REPLACE") || follow(tokens, "REPLACE", "INTO");
    }

    /** Pragmas can be read like tables, and some then do something. */
    private static void checkTold(List<Token> tokens, String sql) throws SQLException {
        for (Token token : tokens) {
            String name = token.isName() ? token.text().toUpperCase(Locale.ROOT) : "";
            if (name.startsWith(PRAGMAS) && !TELLING.contains(name.substring(PRAGMAS.length()))) {
                throw Refused.unsupported("of pragmas those that tell something are read: " + SchemaText.shown(sql));
            }
        }
    }

    private static Kind pragma(List<Token> tokens, String sql) throws SQLException {
        int at = tokens.size() > 2 && tokens.get(2).isMark('.') ? 3 : 1;
        String name = tokens.size() > at ? tokens.get(at).upper() : "";
        boolean isGiven = tokens.size() > at + 1;
        if (TELLING.contains(name) || (SETTINGS.contains(name) && !isGiven)) {
            return Kind.READ;
        }
        if (APPLICATIONS.contains(name)) {
            return Kind.SCHEMA;
        }
        throw Refused.unsupported("of pragmas those that tell something are executed, user_version and application_id: "
                + SchemaText.shown(sql));
    }

    // ------------------------------------------------------------------------------------------------ schema changes

    /** Whether it makes a trigger, in which there are several statements. */
    static boolean isTrigger(List<Token> tokens) {
        return tokens.get(0).is("CREATE")
                && tokens.size() > 2
                && (tokens.get(1).is("TRIGGER") || tokens.get(2).is("TRIGGER"))
                && tokens.get(tokens.size() - 1).is("END");
    }

    private static void checkSchemaChange(List<Token> tokens, String sql) throws SQLException {
        SchemaText.check(sql, ReflectedConnection.SCHEMA);
        if (isNamed(tokens, OURS)) {
            throw Refused.unsupported("what is named " + OURS + " is the replica's own, and not changed by clients");
        }
        String second = tokens.size() > 1 ? tokens.get(1).upper() : "";
        if (second.startsWith("TEMP") || isInTemp(tokens)) {
            throw Refused.unsupported(
                    "what is temporary belongs to one connection, and is not replicated: " + SchemaText.shown(sql));
        }
        if (second.equals("VIRTUAL")) {
            throw Refused.unsupported("rows of virtual tables are not seen: " + SchemaText.shown(sql));
        }
        if (second.equals("TABLE") && tokens.get(0).is("CREATE")) {
            checkTable(tokens, sql);
        }
        int depth = 0;
        for (Token token : tokens) {
            depth += token.isMark('(') ? 1 : token.isMark(')') ? -1 : 0;
            if (depth < 0) {
                throw Refused.unsupported("a parenthesis is closed that was not opened: " + SchemaText.shown(sql));
            }
        }
        if (isTrigger(tokens) && isNamed(tokens, SQLITES)) {
            throw Refused.unsupported("SQLite's own tables are not changed by triggers: " + SchemaText.shown(sql));
        }
        if (follow(tokens, "OR", "REPLACE")
                || follow(tokens, "REPLACE", "INTO")
                || follow(tokens, "CONFLICT", "REPLACE")) {
            throw Refused.unsupported(
                    "REPLACE in a schema is not replicated, because SQLite does not tell of rows that it deletes; a statement may: "
                            + SchemaText.shown(sql));
        }
        if (follow(tokens, "INITIALLY", "DEFERRED")) {
            throw Refused.unsupported(
                    "a constraint that is compared at the commit is not replicated: the commit is ordered before: "
                            + SchemaText.shown(sql));
        }
        if (follow(tokens, "OR", "ROLLBACK") || follow(tokens, "CONFLICT", "ROLLBACK") || raisesRollback(tokens)) {
            throw Refused.unsupported(
                    "ROLLBACK of a conflict is not replicated: what follows would not be in a transaction any more: "
                            + SchemaText.shown(sql));
        }
    }

    /** Whether what it is about is named so; there is no other schema that could be. */
    private static boolean isInTemp(List<Token> tokens) {
        for (int i = 1; i < tokens.size(); i++) {
            if (tokens.get(i).isMark('.')) {
                return tokens.get(i - 1).text().equalsIgnoreCase("temp");
            }
        }
        return false;
    }

    private static void checkTable(List<Token> tokens, String sql) throws SQLException {
        if (follow(tokens, "WITHOUT", "ROWID")) {
            throw Refused.unsupported(
                    "rows are seen by their ROWID: leave WITHOUT ROWID out: " + SchemaText.shown(sql));
        }
        int depth = 0;
        for (Token token : tokens) {
            depth += token.isMark('(') ? 1 : token.isMark(')') ? -1 : 0;
            if (depth == 0 && token.is("AS")) {
                throw SchemaText.refusedAsComputed(sql);
            }
        }
    }

    private static boolean raisesRollback(List<Token> tokens) {
        for (int i = 2; i < tokens.size(); i++) {
            if (tokens.get(i).is("ROLLBACK")
                    && tokens.get(i - 1).isMark('(')
                    && tokens.get(i - 2).is("RAISE")) {
                return true;
            }
        }
        return false;
    }

    /** What a schema change is executed as: triggers do nothing where rows are applied. */
    static String executed(String sql) {
        List<Token> tokens = SqliteLexer.tokens(sql);
        if (tokens.size() < 3 || !(tokens.get(1).is("TRIGGER") || tokens.get(2).is("TRIGGER"))) {
            return sql;
        }
        int begin = 0;
        int when = -1;
        while (begin < tokens.size() && !tokens.get(begin).is("BEGIN")) {
            if (when < 0 && tokens.get(begin).is("WHEN")) {
                when = begin;
            }
            begin++;
        }
        if (!tokens.get(0).is("CREATE") || begin == tokens.size()) {
            return sql;
        }
        int body = tokens.get(begin).start();
        String asks = "WHEN " + ReflectedConnection.FIRES + "() ";
        if (when < 0) {
            return sql.substring(0, body) + asks + sql.substring(body);
        }
        int condition = tokens.get(when).start();
        return sql.substring(0, condition) + asks + "AND (" + sql.substring(condition + "WHEN".length(), body) + ") "
                + sql.substring(body);
    }

    /** The table that is dropped; null if none is. */
    static @Nullable String droppedTable(String sql) {
        List<Token> tokens = SqliteLexer.tokens(sql);
        while (!tokens.isEmpty() && tokens.get(tokens.size() - 1).isMark(';')) {
            tokens.remove(tokens.size() - 1);
        }
        boolean drops =
                tokens.size() > 2 && tokens.get(0).is("DROP") && tokens.get(1).is("TABLE");
        return drops ? tokens.get(tokens.size() - 1).text() : null;
    }
}
