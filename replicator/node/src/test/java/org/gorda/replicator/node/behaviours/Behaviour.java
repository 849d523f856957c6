package org.gorda.replicator.node.behaviours;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;

/**
 * Something a program can see of a driver, as one text that can be compared.
 *
 * @param name what is looked at, unique
 * @param body looks at it
 */
public record Behaviour(String name, Body body) {

    /** Uses a new connection, and others that it opens at the same side. */
    @FunctionalInterface
    public interface Body {
        Object observe(Connection connection, Side side) throws Exception;
    }

    /** All of them, in the order in which they are to be run. */
    public static List<Behaviour> all() {
        List<Behaviour> all = new ArrayList<>();
        ConnectionBehaviours.addTo(all);
        TransactionBehaviours.addTo(all);
        StatementBehaviours.addTo(all);
        KeyAndBatchBehaviours.addTo(all);
        CallBehaviours.addTo(all);
        RowBehaviours.addTo(all);
        UpdatableBehaviours.addTo(all);
        LobBehaviours.addTo(all);
        TypeBehaviours.addTo(all);
        MetaDataBehaviours.addTo(all);
        return all;
    }

    @Override
    public String toString() {
        return name;
    }
}
