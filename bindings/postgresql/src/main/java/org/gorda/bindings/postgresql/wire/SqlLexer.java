package org.gorda.bindings.postgresql.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Splits SQL texts into statements where the server does: outside of strings, quoted names, comments, parentheses and the bodies of functions. Follows
 * the server's {@code scan.l} and, for the bodies, {@code psqlscan.l}. Confined to one thread.
 */
final class SqlLexer {

    /** Of a longer name the server takes the beginning. */
    private static final int NAME_BYTES_MAX = 63;

    /** What the tokens of a statement take at most, and what one takes: of its own, or shared with all that are the same. */
    private static final long TOKEN_BYTES_MAX = Runtime.getRuntime().maxMemory() / 4;

    private static final int TOKEN_BYTES = 80;
    private static final int REFERENCE_BYTES = 8;

    /** In place of a sign. */
    private static final char LITERAL = 0;

    /** In place of a string that the server may read as the time at which it does. */
    static final String MOMENT = "'";

    /** What matters to statements that begin with these. */
    private static final Set<String> READ_ONCE = Set.of("CREATE", "ALTER", "SELECT");

    private static final String MOMENTS = "\\s*([\\d:.]+\\s+)?(now|today|tomorrow|yesterday)(\\s+[\\d:.+-]+)?\\s*";

    /** The whole string, or something in an array or a range. */
    private static final Pattern READS_MOMENT =
            Pattern.compile("(?is)" + MOMENTS + "|\\s*[{(\\[](.*[{(\\[,\"])?" + MOMENTS + "[\"}\\]),].*");

    /** A longer string is no time, nor a few of them. */
    private static final int MOMENT_MAX = 200;

    private static final int SHARED_SIGNS = 128;

    /** Signs and literals by how many parentheses are open: a dense statement has one for each two bytes. */
    private static final Token[][] SHARED = new Token[16][SHARED_SIGNS];

    static {
        for (int depth = 0; depth < SHARED.length; depth++) {
            for (char sign = 0; sign < SHARED_SIGNS; sign++) {
                SHARED[depth][sign] = new Token(sign == LITERAL ? "" : String.valueOf(sign), false, depth);
            }
        }
    }

    private final String sql;
    private final boolean standardStrings;
    private int at;

    /** Where the statement begins; -1 before its first token. */
    private int start = -1;

    private int parentheses;
    private int bodies;
    private List<Token> tokens = new ArrayList<>();

    /** What they take, about. */
    private long tokenBytes;

    /**
     * A token that matters: a name, a sign, or the place of a string.
     *
     * @param text of a name in upper case, if it was not quoted; a sign; empty for a string or a number, but for a {@linkplain #MOMENT moment}
     * @param isQuoted whether it is a quoted name, so that it is no key word
     * @param depth how many parentheses are open
     */
    record Token(String text, boolean isQuoted, int depth) {

        boolean is(String word) {
            return !isQuoted && text.equals(word);
        }

        /** As SQL has it. */
        String asWritten() {
            return isQuoted ? '"' + text.replace("\"", "\"\"") + '"' : inCase(text, 'A', 'a');
        }

        /** As the server compares names. */
        String name() {
            return isQuoted ? text : inCase(text, 'A', 'a');
        }
    }

    private SqlLexer(String sql, boolean standardStrings) {
        this.sql = sql;
        this.standardStrings = standardStrings;
    }

    /**
     * The statements of a text, without empty ones.
     *
     * @param standardStrings the setting standard_conforming_strings: whether a backslash in a plain string is one
     */
    static List<SqlStatement> statements(String sql, boolean standardStrings) {
        return new SqlLexer(sql, standardStrings).split();
    }

    private List<SqlStatement> split() {
        List<SqlStatement> statements = new ArrayList<>();
        while (at < sql.length()) {
            if (token()) {
                end(statements, at - 1);
            }
        }
        end(statements, at);
        return statements;
    }

    private void end(List<SqlStatement> statements, int end) {
        if (start >= 0) {
            int textEnd = end;
            while (isBlank(sql.charAt(textEnd - 1))) {
                textEnd--;
            }
            String text = sql.substring(start, textEnd);
            statements.add(
                    tokenBytes > TOKEN_BYTES_MAX ? SqlStatement.tooDense(text) : SqlGrammar.statement(text, tokens));
            tokens = new ArrayList<>();
            tokenBytes = 0;
        }
        start = -1;
        parentheses = 0;
        bodies = 0;
    }

    /** Goes behind the next token, blank or comment; tells whether a semicolon ends the statement there. */
    private boolean token() {
        char c = sql.charAt(at);
        if (isBlank(c)) {
            at++;
            return false;
        }
        if (sql.startsWith("--", at)) {
            lineComment();
            return false;
        }
        if (sql.startsWith("/*", at)) {
            blockComment();
            return false;
        }
        if (c == ';' && parentheses == 0 && bodies == 0) {
            at++;
            return true;
        }
        if (start < 0) {
            start = at;
        }
        if (isNameStart(c)) {
            word();
        } else if (c == '"') {
            quotedName();
        } else if (c == '\'') {
            string(!standardStrings);
        } else if (c == '$') {
            dollar();
        } else if (c >= '0' && c <= '9') {
            number();
        } else {
            sign(c);
        }
        return false;
    }

    private void add(String text, boolean isQuoted) {
        add(new Token(text, isQuoted, parentheses), TOKEN_BYTES);
    }

    /** A sign, or that of a literal. */
    private void add(char sign) {
        if (sign < SHARED_SIGNS && parentheses < SHARED.length) {
            add(SHARED[parentheses][sign], REFERENCE_BYTES);
        } else {
            add(String.valueOf(sign), false);
        }
    }

    private void add(Token token, int bytes) {
        tokenBytes += bytes;
        if (tokenBytes <= TOKEN_BYTES_MAX) {
            tokens.add(token);
        }
    }

    private void lineComment() {
        while (at < sql.length() && sql.charAt(at) != '\n' && sql.charAt(at) != '\r') {
            at++;
        }
    }

    /** They nest. */
    private void blockComment() {
        int depth = 0;
        do {
            if (sql.startsWith("/*", at)) {
                depth++;
                at += 2;
            } else if (sql.startsWith("*/", at)) {
                depth--;
                at += 2;
            } else {
                at++;
            }
        } while (depth > 0 && at < sql.length());
        at = Math.min(at, sql.length());
    }

    private void sign(char c) {
        at++;
        parentheses = c == ')' ? Math.max(0, parentheses - 1) : parentheses;
        add(c);
        parentheses += c == '(' ? 1 : 0;
    }

    /** A name, a key word, or what introduces a string. */
    private void word() {
        int from = at;
        while (at < sql.length() && isNamePart(sql.charAt(at))) {
            at++;
        }
        int length = at - from;
        char first = sql.charAt(from);
        if (at < sql.length() && sql.charAt(at) == '\'' && length == 1 && "eEbBxXnN".indexOf(first) >= 0) {
            boolean escapes = first == 'e' || first == 'E' || ((first == 'n' || first == 'N') && !standardStrings);
            string(escapes);
            return;
        }
        if ((first == 'u' || first == 'U') && length == 1 && at + 1 < sql.length() && sql.charAt(at) == '&') {
            char next = sql.charAt(at + 1);
            if (next == '\'') {
                at++;
                string(false);
                return;
            }
            if (next == '"') {
                at++;
                quotedName();
                return;
            }
        }
        String word = inCase(shortened(sql.substring(from, at)), 'a', 'A');
        add(word, false);
        body(word);
    }

    /** Counts what BEGIN ATOMIC and CASE open and END closes in the body of a routine. */
    private void body(String word) {
        if (word.equals("ATOMIC")
                && parentheses == 0
                && tokens.size() > 1
                && tokens.get(tokens.size() - 2).is("BEGIN")
                && SqlGrammar.isRoutine(tokens)) {
            bodies++;
        } else if (word.equals("CASE") && bodies > 0) {
            bodies++;
        } else if (word.equals("END") && bodies > 0) {
            bodies--;
        }
    }

    private void quotedName() {
        at++;
        StringBuilder name = new StringBuilder();
        while (at < sql.length()) {
            char c = sql.charAt(at++);
            if (c == '"') {
                if (at < sql.length() && sql.charAt(at) == '"') {
                    at++;
                } else {
                    break;
                }
            }
            name.append(c);
        }
        add(shortened(name.toString()), true);
    }

    private static String shortened(String name) {
        if (name.length() <= NAME_BYTES_MAX / 3) {
            return name;
        }
        int end = 0;
        for (int bytes = 0; end < name.length(); ) {
            int next = name.offsetByCodePoints(end, 1);
            bytes += name.substring(end, next).getBytes(UTF_8).length;
            if (bytes > NAME_BYTES_MAX) {
                break;
            }
            end = next;
        }
        return name.substring(0, end);
    }

    /** As the server folds names: in UTF-8 only the letters that ASCII has. */
    static String inCase(String name, char from, char to) {
        char[] folded = name.toCharArray();
        for (int i = 0; i < folded.length; i++) {
            if (folded[i] >= from && folded[i] < from + 26) {
                folded[i] = (char) (folded[i] - from + to);
            }
        }
        return new String(folded);
    }

    private void string(boolean escapes) {
        int from = ++at;
        while (at < sql.length()) {
            char c = sql.charAt(at++);
            if (c == '\\' && escapes) {
                at = Math.min(at + 1, sql.length());
            } else if (c == '\'') {
                if (at < sql.length() && sql.charAt(at) == '\'') {
                    at++;
                } else if (!isContinued()) {
                    break;
                }
            }
        }
        literal(from, at - 1);
    }

    private void literal(int from, int to) {
        boolean mayMatter = to > from
                && to - from <= MOMENT_MAX
                && !tokens.isEmpty()
                && READ_ONCE.contains(tokens.get(0).text());
        boolean isMoment =
                mayMatter && READS_MOMENT.matcher(sql.substring(from, to)).matches();
        add(isMoment ? MOMENT.charAt(0) : LITERAL);
    }

    /** Strings with nothing but blanks, a line's end among them, between them are one; at their next quote then. */
    private boolean isContinued() {
        int from = at;
        boolean newLine = false;
        while (at < sql.length()) {
            char c = sql.charAt(at);
            if (c == '\n' || c == '\r') {
                newLine = true;
            } else if (sql.startsWith("--", at)) {
                lineComment();
                continue;
            } else if (!isBlank(c)) {
                break;
            }
            at++;
        }
        if (newLine && at < sql.length() && sql.charAt(at) == '\'') {
            at++;
            return true;
        }
        at = from;
        return false;
    }

    /** A string in dollar quotes, or a parameter. */
    private void dollar() {
        int tagEnd = at + 1;
        while (tagEnd < sql.length() && isTagPart(sql.charAt(tagEnd), tagEnd == at + 1)) {
            tagEnd++;
        }
        if (tagEnd >= sql.length() || sql.charAt(tagEnd) != '$') {
            at++;
            add('$');
            return;
        }
        String quote = sql.substring(at, tagEnd + 1);
        int end = sql.indexOf(quote, tagEnd + 1);
        at = end < 0 ? sql.length() : end + quote.length();
        literal(tagEnd + 1, end);
    }

    private void number() {
        while (at < sql.length() && (isNamePart(sql.charAt(at)) || sql.charAt(at) == '.')) {
            at++;
        }
        add(LITERAL);
    }

    private static boolean isBlank(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == 0x0b;
    }

    /** Whatever has no place in ASCII is a letter to the server. */
    static boolean isNameStart(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
    }

    private static boolean isNamePart(char c) {
        return isNameStart(c) || (c >= '0' && c <= '9') || c == '$';
    }

    private static boolean isTagPart(char c, boolean first) {
        return isNameStart(c) || (!first && c >= '0' && c <= '9');
    }
}
