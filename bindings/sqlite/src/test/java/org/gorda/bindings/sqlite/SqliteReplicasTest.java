package org.gorda.bindings.sqlite;

import org.gorda.bindings.triggers.tck.ReplicasTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;

class SqliteReplicasTest extends ReplicasTck {

    private static final TriggeredUnderTest SQLITE = new SqliteUnderTest();

    @Override
    protected TriggeredUnderTest tested() {
        return SQLITE;
    }
}
