package org.gorda.bindings.postgresql.wire;

import java.sql.SQLException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * What a session decides at the ends of its transactions, and is told between them. Called in the client's thread, which writes to or reads from the {@link
 * Interceptor}; whatever uses the server's connection is called when it is free.
 */
public interface Transactions {

    /** Whether a transaction that changes something would not be refused because another replica takes them. */
    boolean takesWrites();

    /** A transaction block is about to be opened. */
    void opening();

    /**
     * A statement is about to be sent.
     *
     * @throws RefusedException to have it fail with that instead
     */
    void executing(SqlStatement statement);

    /** A statement has ended well. */
    void executed(SqlStatement statement);

    /**
     * The server tells of changes, before it tells of the last ones.
     *
     * @throws RefusedException if the transaction is to be rolled back for it
     */
    void told(String part);

    /** As {@link #told}, which has thrown. */
    void refuse(Refusal refusal);

    /** Whether the open transaction may have changed rows or the schema. */
    boolean mayHaveChanged();

    /** Why the open transaction is rolled back, if its client was not told yet, who is told now. */
    @Nullable
    Refusal takeRefusal();

    /**
     * The server has failed the open transaction because a sequence has no value for it.
     *
     * @param message the server's
     * @return what the client is told instead, if anything
     */
    @Nullable
    Refusal valueRefused(String message);

    /** Whether the open transaction is to be rolled back and was not yet. */
    boolean isRefused();

    /** The open transaction is rolled back, which its client does not know yet. */
    void undone();

    /**
     * Commits: all that it has changed was told.
     *
     * @param sql the statement that does it
     * @param last of what the server tells of changes
     * @return why it is refused and was rolled back; null if it is committed
     * @throws SQLException the server's own refusal; it was rolled back
     */
    @Nullable
    Refusal commit(String sql, String last) throws SQLException;

    /** The open transaction has ended. */
    void ended(boolean committed);

    /**
     * A statement is about to be executed that changes the schema, or when constraints are checked.
     *
     * @throws RefusedException to have it fail with that
     * @throws SQLException if the server refuses what must be done before
     */
    void changing(SqlStatement statement) throws SQLException;

    /** It has ended well; otherwise as {@link #changing}. */
    void changed(SqlStatement statement) throws SQLException;
}
