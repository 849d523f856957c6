package org.gorda.gapi;

/**
 * Identifies a transaction for all members and for its client, who can ask for its outcome when the answer to its commit was
 * lost. Immutable.
 *
 * @param session whose transaction it is
 * @param number counts the session's transactions from 1; later ones have higher numbers
 */
public record TransactionId(SessionId session, long number) {

    /**
     * Parses what {@link #toString} gives.
     *
     * @throws IllegalArgumentException if the text is not a transaction's identity
     */
    public static TransactionId parse(String text) {
        int slash = text.indexOf('/');
        if (slash < 0) {
            throw new IllegalArgumentException("'" + text + "' is not a transaction's identity, session/number");
        }
        return new TransactionId(SessionId.parse(text.substring(0, slash)), Long.parseLong(text.substring(slash + 1)));
    }

    @Override
    public String toString() {
        return session + "/" + number;
    }
}
