package org.gorda.replicator.engine.isolation;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.gorda.replicator.engine.Replica;

/** Replicas of a group on which schedules run, with the tables of {@link IsolationCase#TABLES}. */
public abstract class IsolationReplicas implements AutoCloseable {

    private final Map<Integer, Connection> others = new HashMap<>();

    public abstract int size();

    public abstract Replica replica(int i);

    /** A client's connection, whose session is called so. */
    public abstract Connection connect(int i, String session) throws SQLException;

    /** A connection of another client's, without a transaction, that stays open. */
    public final Connection other(int i) throws SQLException {
        Connection known = others.get(i);
        if (known == null) {
            known = connect(i, "other");
            others.put(i, known);
        }
        return known;
    }

    /** The clients' sessions that wait for a lock of the database. */
    public abstract Set<String> waiting(int i) throws SQLException;

    /** A connection with an open transaction, for whose end what others change in the table GATE waits on this replica, and all that is ordered after it. */
    public abstract Connection hold(int i) throws SQLException;

    @Override
    public abstract void close();
}
