package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.gorda.jgcs.MemberId;
import org.junit.jupiter.api.Test;

class LagsTest {

    private static final MemberId A = new MemberId("a:1");
    private static final MemberId B = new MemberId("b:1");
    private static final List<MemberId> ALL = List.of(A, B);
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Lags lags = new Lags(1000, PATIENCE);
    private long now = 1;

    private Duration delay(long a, long b) {
        return delayAfter(Duration.ofMillis(200), a, b);
    }

    private Duration delayAfter(Duration since, long a, long b) {
        now += since.toNanos();
        lags.heard(A, a, false, now);
        lags.heard(B, b, false, now);
        lags.update(ALL, now);
        return lags.delay();
    }

    @Test
    void othersWaitTheMoreTheFartherOneIsBehind() {
        assertThat(delay(5000, 5000)).isZero();
        assertThat(lags.slowest()).isNull();
        assertThat(delay(5500, 5000)).as("half of what is allowed").isZero();
        assertThat(lags.slowest()).isEqualTo(B);
        Duration little = delay(5600, 5000);
        Duration more = delay(5999, 5000);
        assertThat(little).isPositive().isLessThan(Duration.ofMillis(15));
        assertThat(more).isGreaterThan(little).isLessThan(Duration.ofMillis(51));
        assertThat(delay(6000, 5000)).isEqualTo(Lags.STOP);
        assertThat(lags.lag()).isEqualTo(1000);
        assertThat(delay(6000, 5600)).isZero();
    }

    @Test
    void allThatStandStillTogetherAreNotBehind() {
        delay(100, 100);
        assertThat(delayAfter(Duration.ofMinutes(5), 100, 100)).isZero();
        assertThat(lags.isOut(A)).isFalse();
    }

    @Test
    void whoStaysBehindIsPutOutUntilItHasCaughtUp() {
        delay(0, 0);
        assertThat(delay(1000, 0)).isEqualTo(Lags.STOP);
        assertThat(delayAfter(PATIENCE, 1000, 100)).isPositive();
        assertThat(delay(1000, 100)).isZero();
        assertThat(lags.isOut(B)).isTrue();
        assertThat(lags.isOut(A)).isFalse();
        assertThat(lags.slowest()).isNull();
        assertThat(delay(100_000, 200)).isZero();
        assertThat(delay(100_000, 99_400)).as("nearly").isZero();
        assertThat(lags.isOut(B)).isTrue();
        assertThat(delay(100_000, 99_500)).isZero();
        assertThat(lags.isOut(B)).isFalse();
        assertThat(delay(101_000, 99_500)).isEqualTo(Lags.STOP);
    }

    @Test
    void whoComesNearInTimeHasAllThePatienceAgain() {
        delay(0, 0);
        delay(900, 0);
        delayAfter(PATIENCE.minusSeconds(1), 900, 0);
        delay(900, 400);
        delay(2000, 1100);
        delayAfter(PATIENCE.minusSeconds(1), 2000, 1100);
        assertThat(lags.isOut(B)).isFalse();
        assertThat(lags.delay()).isPositive();
    }

    @Test
    void nobodyWaitsForWhoHasBegunAgain() {
        delay(5000, 5000);
        assertThat(delay(6000, 4500)).as("as after a restart").isZero();
        assertThat(delay(6000, 4600)).isZero();
        assertThat(delay(6000, 5500)).isZero();
        assertThat(delay(6600, 5550)).isEqualTo(Lags.STOP);
    }

    @Test
    void whoHasJustBegunWaitsForWhoIsWaitedForAlready() {
        now += 1;
        lags.heard(A, 2000, false, now);
        lags.heard(B, 1000, true, now);
        lags.update(ALL, now);
        assertThat(lags.delay()).isEqualTo(Lags.STOP);
        assertThat(lags.slowest()).isEqualTo(B);
        delayAfter(PATIENCE.plusMillis(1), 2000, 1000);
        assertThat(lags.delay()).as("but no longer than others").isZero();
        lags.heard(B, 1000, true, now);
        lags.update(ALL, now);
        assertThat(lags.delay()).as("whatever it says").isZero();
        lags.forget(B);
        assertThat(delay(2000, 1000)).as("which says that it is not waited for").isZero();
    }

    @Test
    void nobodyWaitsForWhoIsNewOrSilentOrGone() {
        assertThat(delay(1_000_000, 7)).as("comes back from far").isZero();
        assertThat(delay(1_000_000, 1_000_000)).isZero();
        assertThat(delay(1_001_000, 1_000_000)).isEqualTo(Lags.STOP);
        now += Lags.SILENCE.toNanos() + 1;
        lags.heard(A, 1_001_000, false, now);
        lags.update(ALL, now);
        assertThat(lags.delay()).as("silent").isZero();
        assertThat(delay(1_001_000, 1_000_000))
                .as("far behind when it is heard again")
                .isZero();
        assertThat(delay(1_001_000, 1_001_000)).isZero();
        assertThat(delay(1_002_000, 1_001_000)).isEqualTo(Lags.STOP);
        lags.update(List.of(A), now);
        assertThat(lags.delay()).as("no member").isZero();
    }

    @Test
    void whoShowsMostIsTheFurthestOfThoseThatAreHeardOf() {
        MemberId c = new MemberId("c:1");
        delay(500, 700);
        lags.heard(c, 900, true, now);
        assertThat(lags.furthest(A, 0, now)).isEqualTo(c);
        assertThat(lags.furthest(c, 0, now)).as("but itself").isEqualTo(B);
        assertThat(lags.furthest(B, 900, now)).as("no farther than that").isNull();
        now += Lags.SILENCE.toNanos() + 1;
        lags.heard(A, 500, true, now);
        assertThat(lags.furthest(B, 0, now)).as("of those that are not silent").isEqualTo(A);
        assertThat(lags.furthest(A, 0, now)).isNull();
    }
}
