package org.gorda.bindings.h2;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.gorda.gapi.tck.AllSuites;
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;
import org.junit.jupiter.api.Test;

class H2TckTest extends AllSuites {

    private static final TckBinding H2 = new H2UnderTest();

    @Override
    protected TckBinding tested() {
        return H2;
    }

    /** What was written anew in 2008 for a database behind its driver, Sequoia: 8,625 lines. */
    @Test
    void ofItsOwnItHasASixthOfWhatTheOriginalHad() throws IOException {
        assertThat(TckTable.linesOfCode("bindings/h2")).isLessThanOrEqualTo(8625 / 6);
    }
}
