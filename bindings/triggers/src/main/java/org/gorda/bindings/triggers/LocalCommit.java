package org.gorda.bindings.triggers;

import java.sql.SQLException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.WaitingCommit;
import org.gorda.gapi.WriteSet;
import org.jspecify.annotations.Nullable;

/** A client's commit, its thread waiting for the meta level's answer before the database is asked to commit. Thread-safe. */
final class LocalCommit extends WaitingCommit<LocalTransaction, SQLException> {

    private final TriggeredDatabase database;
    private final @Nullable SchemaChange schemaChange;
    private volatile @Nullable SQLException failure;

    /** A change of the schema that is made by the commit, because the database would commit it by itself. */
    record SchemaChange(String schema, String sql) {}

    LocalCommit(
            LocalTransaction transaction,
            TriggeredDatabase database,
            WriteSet writeSet,
            @Nullable SchemaChange schemaChange) {
        super(transaction, writeSet);
        this.database = database;
        this.schemaChange = schemaChange;
    }

    /**
     * Tells the listener and waits for the answer, in the client's thread.
     *
     * @return why it is refused, and must be rolled back; null if it is committed
     * @throws SQLException what the change of the schema has failed with, on all replicas
     */
    @Nullable
    Refusal awaitAnswer() throws SQLException {
        Refusal refused;
        database.suspended(this);
        try {
            refused = await(database.listener());
        } finally {
            database.answered(this);
        }
        SQLException failed = failure;
        if (refused == null && failed != null) {
            throw failed;
        }
        return refused;
    }

    @Override
    protected void checkNew(StoredPosition position) {
        database.checkNew(position);
    }

    @Override
    protected boolean commitOpen(@Nullable StoredPosition position, boolean durable) throws SQLException {
        if (position != null) {
            database.listener().executed(position);
        }
        SchemaChange change = schemaChange;
        if (change == null) {
            database.commit(transaction().connection().inner(), position, durable);
            return true;
        }
        failure = database.changeSchema(transaction().connection(), change);
        boolean isCommitted = false;
        try {
            database.commit(transaction().connection().inner(), position, durable);
            isCommitted = true;
        } finally {
            database.endSchemaChange(isCommitted);
        }
        return true;
    }

    @Override
    public boolean mayTakeLong() {
        return schemaChange != null;
    }

    @Override
    protected void undo() throws SQLException {
        transaction().connection().undo();
    }
}
