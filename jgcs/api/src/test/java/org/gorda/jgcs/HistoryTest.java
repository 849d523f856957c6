package org.gorda.jgcs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class HistoryTest {

    private static final GroupId GROUP = new GroupId(0xfedc_ba98_7654_3210L, 1);
    private static final long TIMELINE = 1L << Recovery.TIMELINE_TERM_BITS;

    @Test
    void isReadAsItIsWritten() {
        for (History history : List.of(History.UNKNOWN, new History(GROUP, 0), new History(GROUP, TIMELINE + 4711))) {
            assertThat(History.parse(history.toString())).isEqualTo(history);
        }
        assertThat(new History(GROUP, TIMELINE + 10)).hasToString("fedcba98765432100000000000000001.1000000000a");
        assertThat(History.UNKNOWN).hasToString("");
    }

    @Test
    void whatIsNoneIsRefused() {
        for (String text : List.of("1", "fedcba9876543210000000000000000g", "fedcba98765432100000000000000001.")) {
            assertThatThrownBy(() -> History.parse(text)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    /** Of two that were both told to go on alone neither continues the other. */
    @Test
    void tellsHowOftenAMemberWasToldToGoOnAlone() {
        assertThat(new History(GROUP, 0).continuations()).isZero();
        assertThat(new History(GROUP, TIMELINE + 5).continuations()).isOne();
        assertThat(new History(GROUP, 2 * TIMELINE - 1).continuations()).isOne();
        assertThat(new History(GROUP, 2 * TIMELINE).continuations()).isEqualTo(2);
    }
}
