package org.gorda.jgcs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class HistoryTest {

    private static final GroupId GROUP = new GroupId(0xfedc_ba98_7654_3210L, 1);
    private static final long TIMELINE = 1L << Recovery.TIMELINE_TERM_BITS;

    @Test
    void itsTextTellsTheGroupAndHowOftenAMemberWasToldToGoOnAlone() {
        assertThat(History.UNKNOWN).hasToString("");
        assertThat(new History(GROUP, 0)).hasToString("fedcba98765432100000000000000001");
        assertThat(new History(GROUP, TIMELINE + 10)).hasToString("fedcba98765432100000000000000001.1.a");
        assertThat(new History(GROUP, 3 * TIMELINE - 1)).hasToString("fedcba98765432100000000000000001.2.ffffffffff");
    }

    @Test
    void aGroupsIdentityIsReadAsItIsWritten() {
        assertThat(GroupId.parse(GROUP.toString())).isEqualTo(GROUP);
        for (String text : List.of("1", "fedcba9876543210000000000000000g")) {
            assertThatThrownBy(() -> GroupId.parse(text)).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
