package org.gorda.bindings.sqlite;

import org.gorda.bindings.triggers.tck.CrashTck;
import org.gorda.bindings.triggers.tck.TriggeredUnderTest;

class SqliteCrashTest extends CrashTck {

    private static final TriggeredUnderTest SQLITE = new SqliteUnderTest();

    @Override
    protected TriggeredUnderTest tested() {
        return SQLITE;
    }
}
