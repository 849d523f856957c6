package org.gorda.bindings.triggers;

import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionId;
import org.jspecify.annotations.Nullable;

/** A client's transaction, from its first statement on; the meta level knows it from its first change on. Thread-safe. */
final class LocalTransaction implements TransactionContext {

    private final ClientConnection connection;
    private volatile long begunAt;
    private volatile @Nullable TransactionId id;
    private volatile @Nullable Object attachment;
    private volatile @Nullable Refusal refusal;
    private volatile @Nullable LocalCommit commit;

    LocalTransaction(ClientConnection connection, long begunAt) {
        this.connection = connection;
        this.begunAt = begunAt;
    }

    @Override
    public ClientConnection connection() {
        return connection;
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

    /**
     * It is to be rolled back.
     *
     * @return whether it was not refused before
     */
    synchronized boolean refuse(Refusal why) {
        if (refusal != null) {
            return false;
        }
        refusal = why;
        return true;
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
        connection.abort(this, why);
    }
}
