package org.gorda.bindings.sqlite;

import org.gorda.gapi.tck.AllSuites;
import org.gorda.gapi.tck.TckBinding;

class SqliteTckTest extends AllSuites {

    private static final TckBinding SQLITE = new SqliteUnderTest();

    @Override
    protected TckBinding tested() {
        return SQLITE;
    }
}
