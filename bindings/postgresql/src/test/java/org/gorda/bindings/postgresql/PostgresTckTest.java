package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.gorda.gapi.tck.AllSuites;
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;
import org.junit.jupiter.api.Test;

class PostgresTckTest extends AllSuites {

    private static final TckBinding POSTGRESQL = new PostgresUnderTest();

    @Override
    protected TckBinding tested() {
        return POSTGRESQL;
    }

    /** What was written anew in 2008 for PostgreSQL: 12,858 lines. Aimed at is a sixth of that. */
    @Test
    void itHasLessThanFourFifthsOfWhatTheOriginalHad() throws IOException {
        assertThat(TckTable.linesOfCode("bindings/postgresql")).isLessThanOrEqualTo(12858 * 4 / 5);
    }
}
