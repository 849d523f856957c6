package org.gorda.bindings.derby;

import org.gorda.gapi.tck.AllSuites;
import org.gorda.gapi.tck.TckBinding;

class DerbyTckTest extends AllSuites {

    private static final TckBinding DERBY = new DerbyUnderTest();

    @Override
    protected TckBinding tested() {
        return DERBY;
    }
}
