package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Which history a program holds to, by what replicas tell. */
class HeldHistoryTest {

    private static final String LOST = "0123456789abcdef0123456789abcdef";
    private static final String NEXT = "fedcba9876543210fedcba9876543210";

    private final HeldHistory held = new HeldHistory();

    private void heard(String node, String history, String continued, boolean primary) {
        held.heard(new NodeInfo(
                node, "d", "jdbc:x", history, "", continued, primary, false, true, true, 1, 1, 1, System.nanoTime()));
    }

    /** Of a group that began with the rows of another one, only its first member knows that: another one may lead before that is heard often enough. */
    @Test
    void aGroupThatBeganWithTheRowsOfTheLostOneIsTakenFromAnyOfItsMembers() {
        heard("a", LOST, "", true);
        assertThat(held.hold(LOST)).isTrue();
        heard("a", NEXT, LOST, false);
        Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            heard("b", NEXT, "", true);
            assertThat(held.hold(NEXT)).isTrue();
        });
    }

    @Test
    void aGroupOfWhichNobodyTellsThatIsAStranger() {
        heard("a", LOST, "", true);
        assertThat(held.hold(LOST)).isTrue();
        long end = System.nanoTime() + Duration.ofSeconds(4).toNanos();
        while (System.nanoTime() < end) {
            heard("b", NEXT, "", true);
        }
        assertThat(held.hold(NEXT)).isFalse();
    }
}
