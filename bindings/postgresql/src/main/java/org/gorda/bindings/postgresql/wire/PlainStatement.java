package org.gorda.bindings.postgresql.wire;

import java.util.Set;

/**
 * A statement on the rows of one table, named once, of which all words are known: it has columns, literals, parameters and operators, and calls nothing. Whether
 * what it names as columns are columns is for who knows the table. Immutable.
 *
 * @param schema empty if the table is named without it
 * @param changed the columns that an UPDATE sets; those that an INSERT gives values, none if it does not name them
 * @param columns all that it names as columns
 */
public record PlainStatement(Verb verb, String schema, String table, Set<String> changed, Set<String> columns) {

    /** What it does. */
    public enum Verb {
        SELECT,
        INSERT,
        UPDATE,
        DELETE
    }
}
