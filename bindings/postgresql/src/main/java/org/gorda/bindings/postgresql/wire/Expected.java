package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * An answer that the server owes.
 *
 * @param part of the protocol that it answers
 * @param exchange whose it is; null if it is the client's
 * @param statement of the client, if it executes or parses one
 * @param name of a prepared statement that it parses or closes
 * @param refusal what the client is told when it fails, as it must
 * @param holdsCompletion whether the client is not to be told of the last statement's end yet
 * @param then what to do when the server is ready behind it
 */
record Expected(
        Part part,
        @Nullable Exchange exchange,
        @Nullable SqlStatement statement,
        String name,
        @Nullable Refusal refusal,
        boolean holdsCompletion,
        Step then) {

    enum Part {
        PARSE,
        BIND,
        DESCRIBE,
        EXECUTE,
        CLOSE,
        SYNC,
        QUERY;

        /** Whether the server is ready behind it, and goes on here after an error. */
        boolean endsErrors() {
            return this == SYNC || this == QUERY;
        }
    }

    /** What comes next. */
    interface Step {
        Step NOTHING = () -> {};

        void run() throws IOException;
    }

    static Expected own(Part part, Exchange exchange, String name) {
        return new Expected(part, exchange, null, name, null, false, Step.NOTHING);
    }

    static Expected of(Part part) {
        return named(part, "", null);
    }

    static Expected named(Part part, String name, @Nullable SqlStatement statement) {
        return new Expected(part, null, statement, name, null, false, Step.NOTHING);
    }

    static Expected failing(Refusal refusal) {
        return new Expected(Part.EXECUTE, null, null, "", refusal, false, Step.NOTHING);
    }

    /** A synchronisation, ours or the client's. */
    static Expected sync(Step then) {
        return new Expected(Part.SYNC, null, null, "", null, false, then);
    }

    /** A query of the client, of one statement if that is given. */
    static Expected query(@Nullable SqlStatement statement, boolean holdsCompletion, Step then) {
        return new Expected(Part.QUERY, null, statement, "", null, holdsCompletion, then);
    }
}
