package org.gorda.bindings.postgresql;

import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionListener;

/** Stands in for the sessions of clients, which are made elsewhere. */
final class Sessions implements AutoCloseable {

    private final PostgresDatabase database;

    Sessions(PostgresDatabase database, TransactionListener listener) {
        this.database = database;
    }

    Connection connect(Properties properties) throws SQLException {
        return database.server().connect(" -c search_path=public -c gorda.token=" + database.token());
    }

    String listen(InetSocketAddress address) {
        throw new UnsupportedOperationException("not here " + address);
    }

    List<SuspendedCommit> suspended() {
        return List.of();
    }

    void abortAll(Refusal refusal) {}

    boolean giveWay(int backend, Refusal why) {
        return false;
    }

    @Override
    public void close() {}
}
