package org.gorda.bindings.postgresql.wire;

import java.util.List;

/**
 * A statement of ours that is executed on a client's connection. Immutable.
 *
 * @param isKept whether it comes again and again, and so stays prepared
 * @param parameters as texts, in the order of their numbers
 */
public record OwnStatement(String sql, boolean isKept, List<String> parameters) {

    /** One that is not executed again. */
    public static OwnStatement once(String sql) {
        return new OwnStatement(sql, false, List.of());
    }

    /** As one text, for sessions by JDBC. */
    public String inOne() {
        String text = sql;
        for (int i = parameters.size(); i > 0; i--) {
            text = text.replace("$" + i, "'" + parameters.get(i - 1).replace("'", "''") + "'");
        }
        return text;
    }

    /** One that stays prepared. */
    public static OwnStatement kept(String sql, String... parameters) {
        return new OwnStatement(sql, true, List.of(parameters));
    }
}
