package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.TreeMap;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StageTimesTest {

    private static StageTimes of(long... nanos) {
        Map<Integer, Long> buckets = new TreeMap<>();
        long sum = 0;
        for (long each : nanos) {
            buckets.merge(StageTimes.bucket(each), 1L, Long::sum);
            sum += each;
        }
        return new StageTimes(sum, buckets);
    }

    @ParameterizedTest
    @ValueSource(
            longs = {0, 1, 15, 16, 31, 32, 33, 63, 64, 1_000, 123_456, 987_654_321, 3_600_000_000_000L, Long.MAX_VALUE})
    void aTimeIsToldNoShorterThanItWasAndAtMostASixteenthLonger(long nanos) {
        assertThat(StageTimes.bucket(nanos)).isBetween(0, StageTimes.BUCKETS - 1);
        assertThat(of(nanos).percentile(50) * 1e3).isBetween(nanos * (1 - 1e-9), nanos * (1 + 1 / 16.0));
    }

    @Test
    void longerTimesAreNeverCountedBeforeShorterOnes() {
        for (long nanos = 1; nanos < 1L << 40; nanos += 1 + nanos / 100) {
            assertThat(StageTimes.bucket(nanos)).isGreaterThanOrEqualTo(StageTimes.bucket(nanos - 1));
        }
    }

    @Test
    void halfAreBelowTheMedianAndAllBelowTheLongest() {
        StageTimes times = of(1_000, 2_000, 3_000, 4_000, 1_000_000);
        assertThat(times.count()).isEqualTo(5);
        assertThat(times.mean()).isEqualTo(202);
        assertThat(times.percentile(50)).isCloseTo(3, Percentage.withPercentage(7));
        assertThat(times.percentile(100)).isCloseTo(1_000, Percentage.withPercentage(7));
        assertThat(StageTimes.NONE.percentile(99)).isEqualTo(0, within(0.0));
    }

    @Test
    void whatCameBetweenIsWhatIsThereLaterWithoutWhatWasThereBefore() {
        StageTimes before = of(1_000, 50_000);
        StageTimes between = of(2_000, 50_000);
        assertThat(before.plus(between).minus(before)).isEqualTo(between);
        assertThat(before.minus(before).count()).isZero();
    }
}
