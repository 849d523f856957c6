package org.gorda.gapi;

/**
 * What generates values: a sequence, or the identity column of a table, by the same name on all replicas. Immutable.
 *
 * @param name of the sequence, or of the table
 */
public record Generator(boolean identity, String schema, String name) {

    @Override
    public String toString() {
        return (identity ? "the identity column of table \"" : "sequence \"") + schema + "\".\"" + name + '"';
    }
}
