package org.gorda.bindings.postgresql.wire;

import java.sql.SQLException;
import java.util.List;
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

    /** Whether a statement may change rows that only reads, as its words have it. */
    boolean mayChange(SqlStatement statement);

    /** A transaction block is about to be opened. */
    void opening();

    /** One has been opened by AND CHAIN, with the level of the one before. */
    void chained();

    /** What is to be executed in place of a statement, and told of here; null if that itself is. */
    @Nullable
    Substitute substitute(SqlStatement statement);

    /**
     * A statement is about to be sent.
     *
     * @param isReplaced whether its {@link #substitute} is
     * @return what must be executed before it; without parameters
     * @throws RefusedException to have it fail with that instead
     */
    List<OwnStatement> executing(SqlStatement statement, boolean isReplaced);

    /**
     * A statement has ended well.
     *
     * @throws RefusedException if the transaction is to be rolled back for it
     */
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

    /** What is to be executed before a commit, so that all that the transaction has changed is told with the last row; nothing if that is so. */
    List<OwnStatement> beforeCommit();

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

    /** The server has failed a statement because a table has a row with that key, which the client is told, who may go on from a savepoint. */
    void keyIsThere(String schema, String table);

    /** Whether the open transaction is to be rolled back and was not yet. */
    boolean isRefused();

    /** The open transaction is rolled back, which its client does not know yet. */
    void undone();

    /**
     * Commits: all that it has changed was told.
     *
     * @param sql the statement that does it
     * @param told the rows of what was executed before it
     * @return why it is refused and was rolled back; null if it is committed
     * @throws SQLException the server's own refusal; it was rolled back
     */
    @Nullable
    Refusal commit(String sql, List<List<@Nullable String>> told) throws SQLException;

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
