package org.gorda.bindings.triggers;

import org.gorda.gapi.OpenTransaction;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** A client's transaction, from its first statement on; the meta level knows it from its first change on. Thread-safe. */
final class LocalTransaction extends OpenTransaction<ClientConnection> {

    private volatile @Nullable Refusal refusal;
    private volatile @Nullable LocalCommit commit;

    LocalTransaction(ClientConnection connection, long begunAt) {
        super(connection, begunAt);
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
        connection().abort(this, why);
    }
}
