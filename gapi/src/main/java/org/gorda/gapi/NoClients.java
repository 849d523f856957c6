package org.gorda.gapi;

/** Listens to a database that only its owner uses, by its applier: there is nothing to be told. Immutable. */
public final class NoClients implements TransactionListener {

    private static IllegalStateException unexpected() {
        return new IllegalStateException("a database without clients has one");
    }

    @Override
    public void begin(TransactionContext transaction) {
        throw unexpected();
    }

    @Override
    public long committing(SuspendedCommit commit) {
        throw unexpected();
    }

    @Override
    public void overdue(SuspendedCommit commit) {
        throw unexpected();
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
