package org.gorda.bindings.derby;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A statement's text as Derby's own scanner cuts it: white space and comments, which nest, are nothing; names in quotes keep their
 * case. What is no name is there too, so that positions tell what stands next to what. Immutable.
 */
final class SqlText {

    private enum Kind {
        WORD,
        QUOTED_NAME,
        LITERAL,
        SIGN
    }

    private record Token(Kind kind, String text) {}

    private final List<Token> tokens;

    private SqlText(List<Token> tokens) {
        this.tokens = tokens;
    }

    static SqlText of(String text) {
        return of(text, Integer.MAX_VALUE);
    }

    /** The beginning of a text, which may be a long one. */
    static SqlText of(String text, int tokensMax) {
        List<Token> tokens = new ArrayList<>();
        int at = 0;
        while (at < text.length() && tokens.size() < tokensMax) {
            char c = text.charAt(at);
            int start = at;
            if (text.startsWith("--", at)) {
                while (at < text.length() && text.charAt(at) != '\n' && text.charAt(at) != '\r') {
                    at++;
                }
            } else if (text.startsWith("/*", at)) {
                at = endOfComment(text, at);
            } else if (Character.isWhitespace(c)) {
                at++;
            } else if (c == '"' || c == '\'') {
                at = endOfQuoted(text, at, c);
                String twice = String.valueOf(c).repeat(2);
                String inner = text.substring(start + 1, Math.max(start + 1, at - 1));
                tokens.add(
                        new Token(c == '"' ? Kind.QUOTED_NAME : Kind.LITERAL, inner.replace(twice, String.valueOf(c))));
            } else if (isOfWord(c)) {
                while (at < text.length() && isOfWord(text.charAt(at))) {
                    at++;
                }
                tokens.add(new Token(Kind.WORD, text.substring(start, at).toUpperCase(Locale.ENGLISH)));
            } else {
                at++;
                tokens.add(new Token(Kind.SIGN, String.valueOf(c)));
            }
        }
        return new SqlText(tokens);
    }

    private static int endOfComment(String text, int start) {
        int depth = 0;
        int at = start;
        while (at < text.length()) {
            if (text.startsWith("/*", at)) {
                depth++;
                at += 2;
            } else if (text.startsWith("*/", at)) {
                depth--;
                at += 2;
                if (depth == 0) {
                    return at;
                }
            } else {
                at++;
            }
        }
        return at;
    }

    private static int endOfQuoted(String text, int start, char quote) {
        int at = start + 1;
        while (at < text.length()) {
            if (text.charAt(at) != quote) {
                at++;
            } else if (at + 1 < text.length() && text.charAt(at + 1) == quote) {
                at += 2;
            } else {
                return at + 1;
            }
        }
        return at;
    }

    private static boolean isOfWord(char c) {
        return Character.isLetterOrDigit(c) || c == '_' || Character.isSurrogate(c);
    }

    int size() {
        return tokens.size();
    }

    /** Whether these words, which are no names in quotes, stand there. */
    boolean has(int position, String... words) {
        for (int i = 0; i < words.length; i++) {
            int at = position + i;
            if (at >= tokens.size()
                    || tokens.get(at).kind() != Kind.WORD
                    || !tokens.get(at).text().equals(words[i])) {
                return false;
            }
        }
        return true;
    }

    /** Whether the name stands there, in quotes or not. */
    boolean isName(int position, String name) {
        return !nameAt(position).isEmpty() && nameAt(position).equals(name);
    }

    /** The name there as the catalogue has it, empty if there is none. */
    String nameAt(int position) {
        if (position < 0 || position >= tokens.size()) {
            return "";
        }
        Token token = tokens.get(position);
        return token.kind() == Kind.WORD || token.kind() == Kind.QUOTED_NAME ? token.text() : "";
    }

    boolean isDot(int position) {
        return position >= 0
                && position < tokens.size()
                && tokens.get(position).kind() == Kind.SIGN
                && tokens.get(position).text().equals(".");
    }
}
