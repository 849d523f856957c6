package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.gorda.gapi.Refusal;
import org.gorda.gapi.RowKey;
import org.junit.jupiter.api.Test;

class HotRowsTest {

    private final HotRows rows = new HotRows();

    private void lose(String key, Refusal.Cause cause) {
        rows.add(new RowKey("T", key), cause, "somebody");
    }

    @Test
    void theHottestAreKeptHoweverManyRowsAreLostBy() {
        for (int i = 0; i < 30_000; i++) {
            lose("(cold " + i + ")", Refusal.Cause.CONFLICT);
            if (i % 10 == 0) {
                lose("(hot)", Refusal.Cause.PRIORITY);
            }
            if (i % 20 == 0) {
                lose("(warm)", Refusal.Cause.CONFLICT);
            }
        }
        assertThat(rows.list()).hasSize(HotRows.KEPT);
        assertThat(rows.list().get(0).row().key()).isEqualTo("(hot)");
        assertThat(rows.list().get(1).row().key()).isEqualTo("(warm)");
        assertThat(rows.list()).allSatisfy(hot -> {
            assertThat(hot.total() - hot.over()).isEqualTo(hot.conflicts() + hot.gaveWay());
            assertThat(hot.over()).isLessThanOrEqualTo(34_500 / HotRows.KEPT);
        });
    }

    @Test
    void whatIsCountedIsExactWhileThereIsRoom() {
        lose("(1)", Refusal.Cause.CONFLICT);
        lose("(1)", Refusal.Cause.PRIORITY);
        lose("(1)", Refusal.Cause.PRIORITY);
        lose("(2)", Refusal.Cause.CONFLICT);
        assertThat(rows.list())
                .extracting(hot -> hot.row() + " " + hot.conflicts() + " " + hot.gaveWay() + " " + hot.over())
                .containsExactly("T key (1) 1 2 0", "T key (2) 1 0 0");
    }
}
