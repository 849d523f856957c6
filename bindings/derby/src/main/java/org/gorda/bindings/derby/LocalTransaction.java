package org.gorda.bindings.derby;

import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionId;
import org.jspecify.annotations.Nullable;

/** A client's transaction that has changed something. Thread-safe. */
final class LocalTransaction implements TransactionContext {

    private final ReflectedConnection connection;
    private volatile long begunAt;
    private volatile TransactionId id;
    private volatile @Nullable Object attachment;
    private volatile @Nullable LocalCommit commit;

    LocalTransaction(ReflectedConnection connection, TransactionId id, long begunAt) {
        this.connection = connection;
        this.begunAt = begunAt;
        this.id = id;
    }

    @Override
    public ReflectedConnection connection() {
        return connection;
    }

    @Override
    public TransactionId id() {
        return id;
    }

    @Override
    public long begunAt() {
        return begunAt;
    }

    /** Nothing that it has read was read before. */
    void beginsAt(long visible) {
        begunAt = visible;
    }

    /** The client names it, before its commit. */
    void name(TransactionId given) {
        id = given;
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }

    /** The client has asked for the commit, which waits for its answer. */
    void commit(LocalCommit suspended) {
        commit = suspended;
    }

    @Nullable
    LocalCommit commit() {
        return commit;
    }

    void checkNotAborted() throws StandardException {
        connection.locks().throwIfRefused(connection);
    }

    @Override
    public void abort(Refusal refusal) {
        if (commit == null) {
            connection.locks().roll(this, connection, refusal);
        }
        // Which may have come too late.
        LocalCommit suspended = commit;
        if (suspended != null) {
            suspended.giveUp(refusal);
        }
    }
}
