package org.gorda.bindings.hsqldb;

import org.gorda.bindings.triggers.tck.CrashTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;

class HsqldbCrashTest extends CrashTck {

    private static final TriggeredUnderTest HSQLDB = new HsqldbUnderTest();

    @Override
    protected TriggeredUnderTest tested() {
        return HSQLDB;
    }
}
