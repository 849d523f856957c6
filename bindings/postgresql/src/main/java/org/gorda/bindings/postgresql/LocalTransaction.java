package org.gorda.bindings.postgresql;

import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionId;
import org.jspecify.annotations.Nullable;

/** A client's transaction, from its first statement on; the meta level knows it from its first change on. Thread-safe. */
final class LocalTransaction implements TransactionContext {

    private final ClientSession session;
    private volatile long begunAt;
    private volatile @Nullable TransactionId id;
    private volatile @Nullable Object attachment;

    // ------------------------------------------------------------------------------ confined to the client's thread
    private boolean hasExecuted;
    private boolean mayHaveChanged;
    private boolean hasChangedSession;

    // -------------------------------------------------------------------------------------- guarded by the session
    private @Nullable Refusal refusal;
    private @Nullable LocalCommit commit;
    private long refusedNanos;
    private boolean told;
    private boolean undone;

    LocalTransaction(ClientSession session, long begunAt) {
        this.session = session;
        this.begunAt = begunAt;
    }

    @Override
    public ClientSession connection() {
        return session;
    }

    @Override
    public TransactionId id() {
        TransactionId given = id;
        if (given == null) {
            throw new IllegalStateException("a transaction that has changed nothing has no identity");
        }
        return given;
    }

    /** It is about to make its first change. */
    void begin(TransactionId given) {
        id = given;
    }

    boolean hasBegun() {
        return id != null;
    }

    /** The first change was refused. */
    void didNotBegin() {
        id = null;
    }

    @Override
    public long begunAt() {
        return begunAt;
    }

    /** Nothing that it has read was read before. */
    void beginsAt(long visible) {
        begunAt = visible;
    }

    /** Whether something was executed in it. */
    boolean hasExecuted() {
        return hasExecuted;
    }

    boolean mayHaveChanged() {
        return mayHaveChanged;
    }

    void executes(Kind kind) {
        hasExecuted = true;
        mayHaveChanged |= kind != Kind.READ && kind != Kind.PASS;
        hasChangedSession |= kind == Kind.PASS;
    }

    /** Whether it may have changed what is lost with it and is not replicated, as settings are. */
    boolean hasChangedSession() {
        return hasChangedSession;
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }

    /** Why it is rolled back, or is about to be; null if it is not. */
    @Nullable
    Refusal refusal() {
        return refusal;
    }

    /** It is to be rolled back, if it was not refused before. */
    void refuse(Refusal why) {
        if (refusal == null) {
            refusal = why;
            refusedNanos = System.nanoTime();
        }
    }

    long refusedNanos() {
        return refusedNanos;
    }

    /** The refusal that its client was not told of, who is told now. */
    @Nullable
    Refusal takeRefusal() {
        if (told) {
            return null;
        }
        told = refusal != null;
        return refusal;
    }

    /** It is rolled back, before its client has ended it. */
    void undone() {
        undone = true;
    }

    boolean isUndone() {
        return undone;
    }

    /** The client has asked for the commit, which waits for its answer. */
    void commit(LocalCommit suspended) {
        commit = suspended;
    }

    @Nullable
    LocalCommit commit() {
        return commit;
    }

    @Override
    public void abort(Refusal why) {
        session.abort(this, why);
    }
}
