package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BacklogTest {

    private final Backlog backlog = new Backlog();

    @Test
    void nothingIsLeftWhereAllIsDone() {
        backlog.look(5, 5, 100);
        backlog.look(9, 9, 200);
        assertThat(backlog.nanos(9, 300)).isZero();
    }

    @Test
    void theOldestThatIsNotDoneCounts() {
        backlog.look(5, 4, 100);
        backlog.look(8, 4, 200);
        backlog.look(8, 4, 300);
        assertThat(backlog.nanos(4, 400)).isEqualTo(300);
        assertThat(backlog.nanos(5, 400)).as("5 is done by now").isEqualTo(200);
        backlog.look(20, 6, 500);
        assertThat(backlog.nanos(6, 600)).isEqualTo(400);
        assertThat(backlog.nanos(8, 600)).isEqualTo(100);
        backlog.look(20, 20, 700);
        assertThat(backlog.nanos(20, 800)).isZero();
    }

    /** What was wanted can be lost: then less is. */
    @Test
    void whatIsNotWantedAnyMoreIsNotLeftForEver() {
        backlog.look(20, 4, 100);
        backlog.look(10, 10, 200);
        assertThat(backlog.nanos(10, 300)).isZero();
    }

    @Test
    void itIsBoundedAndTheOldestIsKept() {
        for (int i = 1; i <= 100_000; i++) {
            backlog.look(i, 0, i);
        }
        assertThat(backlog.nanos(0, 100_000)).isEqualTo(99_999);
    }
}
