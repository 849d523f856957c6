package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.OpenTransaction;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** A client's transaction, from its first statement on; the meta level knows it from its first change on. Thread-safe. */
final class LocalTransaction extends OpenTransaction<ClientSession> {

    /** Who was refused so long ago and still holds locks is cut off. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Who sets more in one transaction is not set again. */
    private static final int SETTINGS_KEPT = 100;

    // ------------------------------------------------------------------------------ confined to the client's thread
    private boolean hasExecuted;
    private boolean mayHaveChanged;
    private boolean hasChangedSession;
    private List<String> settings = List.of();
    private final Set<String> configured = new HashSet<>();

    // ------------------------------------------------------------------------------------------------ guarded by this
    private @Nullable Refusal refusal;
    private @Nullable LocalCommit commit;
    private long refusedNanos;
    private boolean told;
    private boolean over;

    LocalTransaction(ClientSession session, long begunAt) {
        super(session, begunAt);
    }

    /** Whether something was executed in it. */
    boolean hasExecuted() {
        return hasExecuted;
    }

    boolean mayHaveChanged() {
        return mayHaveChanged;
    }

    /** @param mayChange whether it may change rows although it only reads */
    void executes(SqlStatement statement, boolean mayChange) {
        Kind kind = statement.kind();
        hasExecuted = true;
        mayHaveChanged |= mayChange || (kind != Kind.READ && kind != Kind.PASS);
        if (statement.setsSession() && settings.size() < SETTINGS_KEPT) {
            if (settings.isEmpty()) {
                settings = new ArrayList<>();
            }
            settings.add(statement.text());
        } else {
            boolean mayTakeBack = kind == Kind.ROLLBACK_TO && !settings.isEmpty();
            hasChangedSession |= mayTakeBack || statement.outlivesTransaction();
        }
        configured.addAll(statement.configures());
        boolean isKnown = !configured.contains("") && configured.size() <= SETTINGS_KEPT;
        hasChangedSession |= !isKnown || (statement.setsLocally() && !configured.isEmpty());
    }

    /** Whether it may have changed what is lost with it and neither replicated nor {@linkplain #settings set again}. */
    boolean hasChangedSession() {
        return hasChangedSession;
    }

    /** The settings that functions have set, whose values are to be read before it is rolled back. */
    Set<String> configured() {
        return configured;
    }

    /** Has it set again, last. */
    void addSetting(String statement) {
        settings = new ArrayList<>(settings);
        settings.add(statement);
    }

    /** The statements by which it has set what goes on behind it. */
    List<String> settings() {
        return settings;
    }

    /** Whether its client may still do something in it: it neither waits for the answer to its commit nor is over. */
    synchronized boolean isRunning() {
        return commit == null && !over;
    }

    /**
     * It is to be rolled back, if it is running.
     *
     * @return whether it was not refused before
     */
    synchronized boolean refuse(Refusal why) {
        if (refusal != null || !isRunning()) {
            return false;
        }
        refusal = why;
        refusedNanos = System.nanoTime();
        return true;
    }

    /** Why it is rolled back, or is about to be; null if it is not. */
    synchronized @Nullable Refusal refusal() {
        return refusal;
    }

    /** Why it is to be rolled back, if that was not done yet. */
    synchronized @Nullable Refusal pendingRefusal() {
        return over ? null : refusal;
    }

    /** The refusal that its client was not told of, who is told now. */
    synchronized @Nullable Refusal takeRefusal() {
        if (told) {
            return null;
        }
        told = refusal != null;
        return refusal;
    }

    /** Whether it should have been rolled back long ago. */
    synchronized boolean isLate() {
        return refusal != null && isRunning() && System.nanoTime() - refusedNanos > GRACE_NANOS;
    }

    /**
     * The client has asked for the commit, which waits for its answer, unless it is refused before.
     *
     * @return why it is refused
     */
    synchronized @Nullable Refusal suspend(LocalCommit suspended) {
        if (refusal == null) {
            commit = suspended;
        }
        return refusal;
    }

    synchronized @Nullable LocalCommit commit() {
        return commit;
    }

    /**
     * It has ended, or is rolled back before its client has ended it: who aborts it from now on has nothing to tell.
     *
     * @return whether the meta level is to be told
     */
    synchronized boolean end() {
        boolean isFirst = !over;
        over = true;
        return isFirst && hasBegun();
    }

    @Override
    public void abort(Refusal why) {
        connection().abort(this, why);
    }
}
