package org.gorda.bindings.hsqldb;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.gorda.gapi.tck.AllSuites;
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;
import org.junit.jupiter.api.Test;

class HsqldbTckTest extends AllSuites {

    private static final TckBinding HSQLDB = new HsqldbUnderTest();

    @Override
    protected TckBinding tested() {
        return HSQLDB;
    }

    /** What was written anew in 2008 for a database behind its driver, Sequoia: 8,625 lines. */
    @Test
    void ofItsOwnItHasASixthOfWhatTheOriginalHad() throws IOException {
        assertThat(TckTable.linesOfCode("bindings/hsqldb")).isLessThanOrEqualTo(8625 / 6);
    }
}
