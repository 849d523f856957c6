package org.gorda.bindings.sqlite;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Cuts a text into what SQLite takes for its tokens. Stateless. */
final class SqliteLexer {

    /** SQLite takes it for a blank, but only where a token begins. */
    static final char BOM = '\uFEFF';

    /** SQLite takes it for a blank, but only behind another one. */
    static final char VERTICAL_TAB = '\u000B';

    private static final String BLANKS = " \t\n\f\r";

    private SqliteLexer() {}

    /**
     * A token.
     *
     * @param text as it is written; a name or text in quotes without them
     * @param isWord whether it may be a keyword
     * @param isName whether it may be the name of something, as SQLite lets even texts be
     * @param start where it begins
     */
    record Token(String text, boolean isWord, boolean isName, int start) {

        boolean is(String keyword) {
            return isWord && text.equalsIgnoreCase(keyword);
        }

        boolean isMark(char mark) {
            return !isName && text.length() == 1 && text.charAt(0) == mark;
        }

        /** Whether it begins where another ends that has no quotes. */
        boolean isDirectlyBehind(Token other) {
            return start == other.start + other.text.length();
        }

        /** A keyword as SQL writes it. */
        String upper() {
            return isWord ? text.toUpperCase(Locale.ROOT) : "";
        }
    }

    /** All but blanks and comments. */
    static List<Token> tokens(String sql) {
        List<Token> found = new ArrayList<>();
        int at = 0;
        while (at < sql.length()) {
            char c = sql.charAt(at);
            int end;
            if (BLANKS.indexOf(c) >= 0) {
                end = at + 1;
            } else if (sql.startsWith("--", at)) {
                end = endOf(sql, "\n", at);
            } else if (sql.startsWith("/*", at)) {
                end = endOf(sql, "*/", at + 2);
            } else if (c == '\'' || c == '"' || c == '`') {
                end = endOfQuoted(sql, at, c);
                String inside = sql.substring(at + 1, Math.max(at + 1, end - 1));
                found.add(new Token(inside.replace("" + c + c, "" + c), false, true, at));
            } else if (c == '[') {
                end = endOf(sql, "]", at);
                found.add(new Token(sql.substring(at + 1, Math.max(at + 1, end - 1)), false, true, at));
            } else if (isOfWord(c)) {
                end = at + 1;
                while (end < sql.length() && isOfWord(sql.charAt(end))) {
                    end++;
                }
                found.add(new Token(sql.substring(at, end), true, true, at));
            } else {
                end = at + 1;
                found.add(new Token(String.valueOf(c), false, false, at));
            }
            at = end;
        }
        return found;
    }

    /** Numbers, too, which are no keywords. */
    private static boolean isOfWord(char c) {
        return Character.isLetterOrDigit(c) || c == '_' || c == '$' || (c >= 0x80 && c != BOM);
    }

    private static int endOf(String sql, String mark, int from) {
        int found = sql.indexOf(mark, from);
        return found < 0 ? sql.length() : found + mark.length();
    }

    private static int endOfQuoted(String sql, int start, char quote) {
        int at = start + 1;
        while (at < sql.length()) {
            if (sql.charAt(at) != quote) {
                at++;
            } else if (at + 1 < sql.length() && sql.charAt(at + 1) == quote) {
                at += 2;
            } else {
                return at + 1;
            }
        }
        return at;
    }
}
