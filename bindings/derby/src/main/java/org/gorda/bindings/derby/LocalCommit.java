package org.gorda.bindings.derby;

import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.WaitingCommit;
import org.gorda.gapi.WriteSet;
import org.jspecify.annotations.Nullable;

/** A client's commit, its thread waiting in Derby's commit for the meta level's answer. Thread-safe. */
final class LocalCommit extends WaitingCommit<LocalTransaction, StandardException> {

    private final ReflectedConnection connection;
    private final boolean byUser;

    LocalCommit(LocalTransaction transaction, ReflectedConnection connection, WriteSet writeSet, boolean byUser) {
        super(transaction, writeSet);
        this.connection = connection;
        this.byUser = byUser;
    }

    /**
     * Tells the listener and waits for the answer, in the client's thread.
     *
     * @throws StandardException the refusal, upon which Derby rolls back
     */
    void awaitAnswer(DerbyDatabase database) throws StandardException {
        Refusal refused;
        database.suspended(this);
        try {
            refused = await(database.listener());
        } finally {
            database.answered(this);
        }
        if (refused != null) {
            throw DerbyRefusal.ofCommit(refused);
        }
    }

    @Override
    protected void checkNew(StoredPosition position) {
        connection.database().checkNew(position);
    }

    @Override
    protected boolean commitOpen(@Nullable StoredPosition position, boolean durable) throws StandardException {
        DerbyDatabase database = connection.database();
        if (position != null) {
            database.listener().executed(position);
        }
        connection.commitInStore(position, durable, byUser);
        if (position != null) {
            database.committed(position);
        }
        return true;
    }

    @Override
    protected void undo() throws StandardException {
        connection.undo();
    }
}
