package org.gorda.bindings.derby;

import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.OpenTransaction;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionId;
import org.jspecify.annotations.Nullable;

/** A client's transaction that has changed something. Thread-safe. */
final class LocalTransaction extends OpenTransaction<ReflectedConnection> {

    private volatile @Nullable LocalCommit commit;

    LocalTransaction(ReflectedConnection connection, TransactionId id, long begunAt) {
        super(connection, begunAt);
        begin(id);
    }

    /** The client names it, before its commit. */
    void name(TransactionId given) {
        begin(given);
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
        connection().locks().throwIfRefused(connection());
    }

    @Override
    public void abort(Refusal refusal) {
        ReflectedConnection connection = connection();
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
