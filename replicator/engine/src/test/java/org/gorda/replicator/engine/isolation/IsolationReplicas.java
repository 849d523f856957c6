package org.gorda.replicator.engine.isolation;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import org.gorda.replicator.engine.Replica;

/** Replicas of a group on which schedules run, with the tables of {@link IsolationCase#TABLES}. */
public interface IsolationReplicas extends AutoCloseable {

    int size();

    Replica replica(int i);

    /** A client's connection, whose session is called so. */
    Connection connect(int i, String session) throws SQLException;

    /** A connection of another client's, without a transaction, that stays open. */
    Connection other(int i) throws SQLException;

    /** The clients' sessions that wait for a lock of the database. */
    Set<String> waiting(int i) throws SQLException;

    /** A connection with an open transaction, for whose end what others change in the table GATE waits on this replica, and all that is ordered after it. */
    Connection hold(int i) throws SQLException;

    @Override
    void close();
}
