package org.gorda.jgcs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which names are members'. */
class MemberIdTest {

    @ParameterizedTest
    @ValueSource(strings = {"", "db1", ":7800", "db1:", "db1:0", "db1:65536", "db1:x", "db1:000001"})
    void isAHostAndAPort(String other) {
        assertThatThrownBy(() -> new MemberId(other))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + other + "' is not host:port");
    }

    /** It goes with each message, its length in one byte. */
    @Test
    void isNoLongerThanWhatMembersCanTellEachOther() {
        assertThat(new MemberId("a".repeat(250) + ":7800").port()).isEqualTo(7800);
        assertThat(new MemberId("\u00fc".repeat(125) + ":7800").host()).hasSize(125);
        for (String longer : new String[] {"a".repeat(251), "\u00fc".repeat(126), "\u20ac".repeat(84)}) {
            assertThatThrownBy(() -> new MemberId(longer + ":7800"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageMatching(
                            "member '.{20}\\.\\.\\.' has a name of 25[67] bytes but must have one of at most 255");
        }
    }
}
