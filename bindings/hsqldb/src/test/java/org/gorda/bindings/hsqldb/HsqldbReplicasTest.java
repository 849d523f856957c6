package org.gorda.bindings.hsqldb;

import org.gorda.bindings.triggers.tck.ReplicasTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;

class HsqldbReplicasTest extends ReplicasTck {

    private static final TriggeredUnderTest HSQLDB = new HsqldbUnderTest();

    @Override
    protected TriggeredUnderTest tested() {
        return HSQLDB;
    }
}
