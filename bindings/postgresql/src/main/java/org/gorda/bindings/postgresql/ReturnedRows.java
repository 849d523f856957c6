package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.PlainStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.bindings.postgresql.wire.Substitute;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * Decides for each statement of a session whether its changes are taken from the rows that it returns, or from triggers at the commit. Triggers tell of theirs
 * later: so in a transaction the first statement whose changes are not proved to be only those that it returns leaves all behind it to triggers. Nothing
 * is known of the session then, until a transaction of nothing but plain statements asks for it anew, at its commit. Called by who sends the client's messages
 * and by who takes the server's.
 */
final class ReturnedRows {

    private static final OwnStatement ASK = OwnStatement.kept("SELECT gorda.footing()");

    /**
     * No trigger refuses to commit what was returned. Before anything else that could be more than it seems comes this, so that only a commit of ours is possible, and only
     * of the same transaction.
     */
    private static final OwnStatement GUARD =
            OwnStatement.once("DECLARE gorda_guard CURSOR WITH HOLD FOR SELECT gorda.guard()");

    private static final OwnStatement END_GUARD = OwnStatement.kept("CLOSE gorda_guard");

    private static final Pattern CLOSES_ALL = Pattern.compile("(?i)CLOSE\\s+ALL");

    private static final Set<String> PLAIN_BEGINS = Set.of("BEGIN", "BEGIN TRANSACTION", "START TRANSACTION");

    private final PostgresDatabase database;
    private final String session;
    private final Footing.Changes changes;

    // ------------------------------------------------------------------------------------------------- of the session
    private volatile @Nullable Footing footing;

    /** Nothing has happened since the session was asked that could make the answer another one, but for the schema. */
    private volatile boolean isAsked;

    private volatile boolean beginsPlainly = true;

    /** So did the transaction that is open. */
    private volatile boolean hasBegunPlainly = true;

    // --------------------------------------------------------------------------------------------- of the transaction
    /** All that it has changed is told by what was returned, and nothing waits for its end. */
    private volatile boolean isComplete;

    private volatile boolean isCandidate;
    private volatile boolean hasReturned;
    private volatile boolean isGuarded;

    /** The generators of which it tells what was taken by transactions that did not. */
    private volatile Set<String> tellsForOthers = Set.of();

    private volatile @Nullable ProvableTables askedOf;

    ReturnedRows(PostgresDatabase database, String session, Footing.Changes changes) {
        this.database = database;
        this.session = session;
        this.changes = changes;
    }

    /** A transaction begins. */
    void opening() {
        Footing now = footing;
        isComplete = now != null && now.holds() && beginsPlainly;
        isCandidate = beginsPlainly && database.takesReturned();
        tellsForOthers = Set.of();
        askedOf = null;
        hasBegunPlainly = beginsPlainly;
        beginsPlainly = true;
    }

    /** The next transaction begins as this one has. */
    void chaining() {
        beginsPlainly = hasBegunPlainly;
    }

    /** As {@link org.gorda.bindings.postgresql.wire.Transactions#substitute}. */
    @Nullable
    Substitute substitute(SqlStatement statement) {
        Footing now = footing;
        PlainStatement plain = statement.plain();
        return plain == null || now == null || !isComplete || !now.holds() || SqlStatement.isLong(statement.text())
                ? null
                : now.substitute(statement, plain, changes);
    }

    /** As {@link org.gorda.bindings.postgresql.wire.Transactions#executing}. */
    List<OwnStatement> executing(SqlStatement statement, boolean isReplaced) {
        if (statement.kind() == Kind.BEGIN) {
            if (!PLAIN_BEGINS.contains(statement.text().toUpperCase(Locale.ROOT))) {
                beginsPlainly = false;
                hasBegunPlainly = false;
                leaveToTriggers();
            }
            return List.of();
        }
        if (isReplaced) {
            if (!isComplete) {
                throw new RefusedException(
                        Refusal.unsupported(
                                "a portal cannot be executed behind a statement that came after it was bound: bind it when it is executed"));
            }
            hasReturned = true;
            return List.of();
        }
        PlainStatement plain = statement.plain();
        Footing now = footing;
        if (plain != null && now != null && now.holds() && now.isRead(plain)) {
            return List.of();
        }
        boolean endsGuard = CLOSES_ALL.matcher(statement.text()).matches();
        return other(isPlain(plain), statement.kind().isAboutSavepoints(), endsGuard);
    }

    /** A statement that changes the schema, or when constraints are checked, is about to be executed; as {@link #executing}. */
    List<OwnStatement> changing() {
        return other(false, false, false);
    }

    /** Whether all that a statement is about is a table, of which nothing is called. */
    boolean isOfPlainTable(SqlStatement statement) {
        PlainStatement plain = statement.plain();
        ProvableTables known = database.provable();
        return plain != null && known != null && known.proving(plain) != null;
    }

    private boolean isPlain(@Nullable PlainStatement plain) {
        ProvableTables known = database.provable();
        return plain != null && (known == null ? isCandidate : known.proving(plain) != null);
    }

    private List<OwnStatement> other(boolean isPlain, boolean isSavepoint, boolean endsGuard) {
        boolean guards = hasReturned && !isGuarded && !endsGuard;
        isGuarded = (isGuarded || guards) && !endsGuard;
        isComplete = false;
        isCandidate &= isPlain;
        if (!isPlain && !isSavepoint) {
            footing = null;
            isAsked = false;
        }
        return guards ? List.of(GUARD) : List.of();
    }

    private void leaveToTriggers() {
        isComplete = false;
        isCandidate = false;
    }

    /** What the server has answered to was executed with a schema that may have changed. */
    void executed() {
        Footing now = footing;
        if (now == null || !now.holds()) {
            isComplete = false; // and nothing else: who sends may do the same meanwhile
        }
    }

    /**
     * Nothing was executed before the commit because all was told by then.
     *
     * @throws RefusedException if that is not so any more
     */
    void requireComplete() {
        if (!isComplete) {
            throw new RefusedException(Footing.changedMeanwhile());
        }
    }

    /** As {@link org.gorda.bindings.postgresql.wire.Transactions#beforeCommit}. */
    List<OwnStatement> beforeCommit() {
        tellsForOthers = database.takeUntold();
        if (isComplete && tellsForOthers.isEmpty()) {
            return List.of();
        }
        List<OwnStatement> tell = new ArrayList<>(database.tell(tellsForOthers));
        int last = tell.size() - 1;
        if (isGuarded) {
            tell.add(last, END_GUARD);
        }
        Footing now = footing;
        if (isCandidate && (now == null ? !isAsked : !now.holds())) {
            askedOf = database.readProvable();
            if (askedOf != null) {
                isAsked = true;
                tell.add(last, ASK);
            }
        }
        return tell;
    }

    /** What that has told. */
    void told(List<List<@Nullable String>> rows) {
        ProvableTables known = askedOf;
        if (known != null) {
            String told = Objects.requireNonNull(rows).get(rows.size() - 2).get(0);
            footing = told == null ? null : new Footing(database, known, told, session);
        }
    }

    /** The transaction has ended. */
    void ended(boolean committed, boolean mayHaveChanged) {
        if (!committed) {
            database.untold(mayHaveChanged && !isComplete ? PostgresDatabase.ALL : tellsForOthers);
        }
        isComplete = false;
        hasReturned = false;
        isGuarded = false;
    }
}
