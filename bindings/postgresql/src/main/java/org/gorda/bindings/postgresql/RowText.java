package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads rows as the server writes them in texts, {@code (1,"a ""b""",)}, one behind the other, and what is between them. Confined to one thread. */
final class RowText {

    private final String text;
    private int next;
    private final StringBuilder quoted = new StringBuilder();

    RowText(String text, int from) {
        this.text = text;
        this.next = from;
    }

    boolean isNext(char c) {
        return at() == c;
    }

    /** Characters before a row. */
    String take(int length) {
        int start = next;
        if (text.length() - start < length) {
            throw new IllegalArgumentException("a row's text ends at " + text.length() + " before it");
        }
        next += length;
        return text.substring(start, next);
    }

    /** All behind what was taken. */
    String rest() {
        return text.substring(next);
    }

    boolean hasMore() {
        return next < text.length();
    }

    /** The fields of the next row; null for NULL. */
    List<@Nullable String> row() {
        List<@Nullable String> fields = new ArrayList<>();
        require('(');
        if (at() == ')') { // of a table without columns, or with one that is null
            fields.add(null);
            next++;
            return fields;
        }
        while (true) {
            fields.add(field());
            if (at() == ')') {
                next++;
                return fields;
            }
            require(',');
        }
    }

    private @Nullable String field() {
        char first = at();
        if (first == ',' || first == ')') {
            return null;
        }
        if (first == '"') {
            return quoted();
        }
        int start = next;
        while (at() != ',' && at() != ')') {
            next++;
        }
        return text.substring(start, next);
    }

    private String quoted() {
        quoted.setLength(0);
        next++;
        while (true) {
            char c = at();
            next++;
            if (c == '"') {
                if (!hasMore() || at() != '"') {
                    return quoted.toString();
                }
                next++;
            } else if (c == '\\') {
                c = at();
                next++;
            }
            quoted.append(c);
        }
    }

    private char at() {
        if (next >= text.length()) {
            throw new IllegalArgumentException("a row's text ends at " + next + " within it");
        }
        return text.charAt(next);
    }

    private void require(char c) {
        if (at() != c) {
            throw new IllegalArgumentException("a row's text has " + at() + " at " + next + " instead of " + c);
        }
        next++;
    }
}
