package org.gorda.replicator.engine;

import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionListener;
import org.gorda.replicator.core.ReplicaMessage;

/** Captures and encodes everything, sends nothing, and answers at once in the client's thread. Thread-safe. */
final class LoopbackListener implements TransactionListener {

    @Override
    public void begin(TransactionContext transaction) {}

    @Override
    public long committing(SuspendedCommit commit) {
        var message = commit.writeSet().precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(message, commit.transaction().id(), 0, 0, 0, 0);
        if (commit.commit(null, true)) {
            commit.release();
        }
        return Long.MAX_VALUE / 4;
    }

    @Override
    public void overdue(SuspendedCommit commit) {
        throw new IllegalStateException("a commit was not answered at once");
    }

    @Override
    public void ended(TransactionContext transaction, boolean committed) {}

    @Override
    public void reading(ConnectionContext connection) {}

    @Override
    public boolean wantsReads() {
        return false;
    }
}
