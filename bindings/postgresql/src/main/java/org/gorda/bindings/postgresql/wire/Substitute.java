package org.gorda.bindings.postgresql.wire;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is executed in place of a client's statement and returns rows, of which the client does not know.
 *
 * @param sql with the same parameters
 */
public record Substitute(String sql, Rows rows) {

    /** Who takes rows, as texts. Called by who takes the server's answers. */
    public interface Rows {

        /** Of what returns none, or none of interest. */
        Rows NONE = values -> {};

        /**
         * Takes a row.
         *
         * @throws org.gorda.gapi.RefusedException if the transaction is to be rolled back for it
         */
        void row(List<@Nullable String> values);

        /** There are no more; otherwise as {@link #row}. */
        default void end() {}
    }
}
