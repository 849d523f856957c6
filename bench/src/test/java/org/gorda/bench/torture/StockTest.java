package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import org.junit.jupiter.api.Test;

class StockTest {

    private static final int TRANSACTIONS = 300;

    @Test
    void findsNothingButWhatIsNotAsItWasTold() throws SQLException {
        try (EngineAlone alone = new EngineAlone(new Stock(Dialect.DERBY, random -> Isolation.READ_COMMITTED))) {
            alone.run(TRANSACTIONS);
            assertThat(alone.history()).extracting(Recorded::outcome).contains(Outcome.OK, Outcome.FAILED);
            assertThat(alone.history())
                    .filteredOn(one -> one.outcome() == Outcome.OK)
                    .hasSizeGreaterThan(TRANSACTIONS / 3);
            assertThat(alone.history())
                    .filteredOn(one -> one.outcome() == Outcome.FAILED)
                    .extracting(Recorded::state)
                    .as("only constraints end what nobody disturbs")
                    .allMatch(state -> state.matches("23...|XJ208"));

            assertThat(alone.found()).isEmpty();
            assertThat(alone.foundAfter("DELETE FROM MARKS")).containsExactly(Findings.LOST);
            assertThat(alone.foundAfter("INSERT INTO MARKS VALUES (0)")).containsExactly("from nowhere");
            assertThat(alone.foundAfter("DELETE FROM MOVES")).containsExactly("in part");
            int failed =
                    1 + alone.history().stream().map(Recorded::outcome).toList().indexOf(Outcome.FAILED);
            assertThat(alone.foundAfter("INSERT INTO MARKS VALUES (" + failed + ")"))
                    .containsExactly("resurrected");
        }
    }
}
