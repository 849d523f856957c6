package org.gorda.bindings.h2;

import org.gorda.bindings.triggers.tck.CrashTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;

class H2CrashTest extends CrashTck {

    private static final TriggeredUnderTest H2 = new H2UnderTest();

    @Override
    protected TriggeredUnderTest tested() {
        return H2;
    }
}
