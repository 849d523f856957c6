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
 * @param rows who takes the rows, of which the client does not know; without a statement of the client's it does not know of anything that goes well
 * @param holdsCompletion whether the client is not to be told of the last statement's end yet
 * @param then what to do when the server is ready behind it
 */
record Expected(
        Part part,
        @Nullable Exchange exchange,
        @Nullable SqlStatement statement,
        String name,
        @Nullable Refusal refusal,
        Substitute.@Nullable Rows rows,
        boolean holdsCompletion,
        Step then) {

    enum Part {
        PARSE,
        BIND,
        DESCRIBE,
        EXECUTE,
        CLOSE,
        /** As CLOSE, of the client; what a portal was bound to is prepared still. */
        CLOSE_PORTAL,
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
        return new Expected(part, exchange, null, name, null, null, false, Step.NOTHING);
    }

    static Expected of(Part part) {
        return named(part, "", null);
    }

    static Expected named(Part part, String name, @Nullable SqlStatement statement) {
        return new Expected(part, null, statement, name, null, null, false, Step.NOTHING);
    }

    static Expected failing(Refusal refusal) {
        return new Expected(Part.EXECUTE, null, null, "", refusal, null, false, Step.NOTHING);
    }

    /** A synchronisation, ours or the client's. */
    static Expected sync(Step then) {
        return new Expected(Part.SYNC, null, null, "", null, null, false, then);
    }

    /** A query of the client, of one statement if that is given. */
    static Expected query(@Nullable SqlStatement statement, boolean holdsCompletion, Step then) {
        return new Expected(Part.QUERY, null, statement, "", null, null, holdsCompletion, then);
    }

    /** A query of ours, whatever comes of it. */
    static Expected ownQuery(Exchange exchange) {
        return new Expected(Part.QUERY, exchange, null, "", null, null, false, Step.NOTHING);
    }

    /** Of what the client knows only if it fails. */
    static Expected unseen(Part part, String name) {
        return new Expected(part, null, null, name, null, Substitute.Rows.NONE, false, Step.NOTHING);
    }

    /** The same answer; if there are rows to be taken the client does not know of them. */
    Expected without(Substitute.@Nullable Rows taken) {
        return taken == null
                ? this
                : new Expected(part, exchange, statement, name, refusal, taken, holdsCompletion, then);
    }

    /** Whether the client has asked for it. */
    boolean isClients() {
        return exchange == null && (rows == null || statement != null);
    }
}
