package org.gorda.bindings.postgresql.wire;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.gorda.bindings.postgresql.wire.PlainStatement.Verb;
import org.gorda.bindings.postgresql.wire.SqlLexer.Token;
import org.jspecify.annotations.Nullable;

/**
 * Recognises {@linkplain PlainStatement plain statements}: a word that it does not know, in its place, makes a statement another one. Stateless outside of one
 * call.
 */
final class PlainGrammar {

    /** Longer ones are not worth it: the server copies the text for each row. */
    private static final int TEXT_MAX = 2000;

    /** Between operands. */
    private static final Set<String> CONNECTING = Set.of("AND", "OR", "NOT", "IN", "IS");

    /** Operands that are no columns. */
    private static final Set<String> CONSTANT =
            Set.of("NULL", "TRUE", "FALSE", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIMESTAMP");

    /** Types whose names are key words, so that they are the server's own. */
    private static final Set<String> TYPES =
            Set.of("INT", "INTEGER", "SMALLINT", "BIGINT", "REAL", "NUMERIC", "DECIMAL", "BOOLEAN", "VARCHAR");

    private static final String OPERATORS = "+-*/<>=~!@#%^&|";

    private final List<Token> tokens;
    private final Set<String> changed = new HashSet<>();
    private final Set<String> columns = new HashSet<>();
    private String schema = "";
    private String table = "";
    private int at;

    private PlainGrammar(List<Token> tokens) {
        this.tokens = tokens;
    }

    /** What a statement is; null if it is not plain. */
    static @Nullable PlainStatement of(String text, List<Token> tokens) {
        if (text.length() > TEXT_MAX || text.indexOf('\\') >= 0 || text.indexOf('\0') >= 0) {
            return null;
        }
        PlainGrammar grammar = new PlainGrammar(tokens);
        Verb verb = grammar.verb();
        return verb == null
                ? null
                : new PlainStatement(
                        verb, grammar.schema, grammar.table, Set.copyOf(grammar.changed), Set.copyOf(grammar.columns));
    }

    private @Nullable Verb verb() {
        if (accept("UPDATE")) {
            return relation() && accept("SET") && assignments() && where() ? Verb.UPDATE : null;
        }
        if (accept("DELETE")) {
            return accept("FROM") && relation() && where() ? Verb.DELETE : null;
        }
        if (accept("INSERT")) {
            return accept("INTO") && relation() && targets() && accept("VALUES") && rows() ? Verb.INSERT : null;
        }
        return accept("SELECT") && select() ? Verb.SELECT : null;
    }

    private boolean accept(String word) {
        boolean is = isNext(word);
        at += is ? 1 : 0;
        return is;
    }

    private boolean isNext(String word) {
        return at < tokens.size() && tokens.get(at).is(word);
    }

    /** The place of a word outside of parentheses, from here on; the end if there is none. */
    private int find(String word) {
        int found = at;
        while (found < tokens.size()
                && !(tokens.get(found).depth() == 0 && tokens.get(found).is(word))) {
            found++;
        }
        return found;
    }

    private boolean relation() {
        table = name();
        if (accept(".")) {
            schema = table;
            table = name();
        }
        return !table.isEmpty();
    }

    /** The next name as the server compares them; empty if it is none, or one that the server may fold otherwise. */
    private String name() {
        if (at == tokens.size() || !isName(tokens.get(at))) {
            return "";
        }
        return tokens.get(at++).name();
    }

    private static boolean isName(Token token) {
        if (token.isQuoted()) {
            return !token.text().isEmpty();
        }
        String text = token.text();
        return !text.isEmpty()
                && (text.charAt(0) == '_' || (text.charAt(0) >= 'A' && text.charAt(0) <= 'Z'))
                && text.chars().allMatch(c -> c < 0x80);
    }

    private static boolean isLiteral(Token token) {
        return (token.text().isEmpty() || token.text().equals(SqlLexer.MOMENT)) && !token.isQuoted();
    }

    private boolean targets() {
        if (!accept("(")) {
            return true;
        }
        do {
            String column = name();
            if (column.isEmpty()) {
                return false;
            }
            changed.add(column);
        } while (accept(","));
        return accept(")");
    }

    private boolean assignments() {
        int end = find("WHERE");
        do {
            String column = name();
            int to = Math.min(end, find(","));
            if (column.isEmpty() || !changed.add(column) || !accept("=") || !expression(to)) {
                return false;
            }
        } while (accept(","));
        return at == end;
    }

    private boolean where() {
        return at == tokens.size() || (accept("WHERE") && expression(tokens.size()));
    }

    /** Rows of values, in parentheses; there are no columns that they could name. */
    private boolean rows() {
        do {
            int end = find(")");
            if (!accept("(") || end == tokens.size() || !expression(end)) {
                return false;
            }
            at = end + 1;
        } while (accept(","));
        return at == tokens.size() && columns.isEmpty();
    }

    private boolean select() {
        int from = find("FROM");
        boolean isAll = accept("*");
        if ((!isAll && !expression(from)) || at != from || !accept("FROM") || !relation()) {
            return false;
        }
        int end = tokens.size();
        if (end - at >= 2
                && tokens.get(end - 1).is("UPDATE")
                && tokens.get(end - 2).is("FOR")) {
            end -= 2;
        }
        return at == end || (accept("WHERE") && expression(end));
    }

    /** Operands, and what connects them; that it is one the server knows. It ends with an operand. */
    private boolean expression(int end) {
        boolean wasOperand = false;
        while (at < end) {
            Token token = tokens.get(at);
            if (token.is("(")) {
                wasOperand = false;
                at++;
            } else if (token.is(")")) {
                wasOperand = true;
                at++;
            } else if (token.is("$") || isLiteral(token)) {
                if (wasOperand || !literal(token)) {
                    return false;
                }
                wasOperand = true;
            } else if (isName(token)) {
                boolean connects = !token.isQuoted() && CONNECTING.contains(token.text());
                if ((wasOperand && !connects) || !word(token, connects)) {
                    return false;
                }
                wasOperand = !connects;
            } else if (token.is(":")) {
                if (!wasOperand || !cast()) {
                    return false;
                }
            } else if (token.is(",") || (token.text().length() == 1 && OPERATORS.contains(token.text()))) {
                wasOperand = false;
                at++;
            } else {
                return false;
            }
        }
        return wasOperand && at == end;
    }

    /** A parameter, a string or a number. */
    private boolean literal(Token first) {
        at++;
        if (first.is("$")) {
            boolean isNumbered = at < tokens.size() && isLiteral(tokens.get(at));
            at++;
            return isNumbered;
        }
        return true;
    }

    private boolean cast() {
        boolean isCast = at + 2 < tokens.size()
                && tokens.get(at + 1).is(":")
                && !tokens.get(at + 2).isQuoted()
                && TYPES.contains(tokens.get(at + 2).text());
        at += 3;
        return isCast && !isNext("(") && !isNext("[");
    }

    private boolean word(Token token, boolean connects) {
        at++;
        if (connects) {
            return true;
        }
        if (!token.isQuoted() && CONSTANT.contains(token.text())) {
            return !isNext("(");
        }
        String column = token.name();
        if (accept(".")) {
            if (!column.equals(table)) {
                return false;
            }
            column = name();
        }
        columns.add(column);
        return !column.isEmpty() && !isNext("(") && !isNext(".");
    }
}
