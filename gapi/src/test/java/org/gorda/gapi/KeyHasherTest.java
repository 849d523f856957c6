package org.gorda.gapi;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class KeyHasherTest {

    private static long key(Consumer<KeyHasher> value) {
        KeyHasher hasher = new KeyHasher().begin(1);
        value.accept(hasher);
        return hasher.value();
    }

    /** A foreign key may be of another type of number than what it refers to. */
    @Test
    void equalNumbersOfAnyTypeAreOneKey() {
        for (long number : new long[] {0, 1, -1, 4_000_000_000L, 1L << 53, Long.MIN_VALUE}) {
            long expected = key(hasher -> hasher.addInteger(number));
            assertThat(key(hasher -> hasher.addDouble((double) number))).isEqualTo(expected);
            assertThat(key(hasher -> hasher.addDecimal(BigDecimal.valueOf(number))))
                    .isEqualTo(expected);
            assertThat(key(hasher ->
                            hasher.addDecimal(BigDecimal.valueOf(number).setScale(2))))
                    .isEqualTo(expected);
        }
        assertThat(key(hasher -> hasher.addDouble(-0.0))).isEqualTo(key(hasher -> hasher.addInteger(0)));
        assertThat(key(hasher -> hasher.addDouble(Float.NaN))).isEqualTo(key(hasher -> hasher.addDouble(Double.NaN)));
    }

    @Test
    void otherNumbersAreOtherKeys() {
        double[] numbers = {
            0,
            0.5,
            1,
            -1,
            Double.NaN,
            Double.MAX_VALUE,
            Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY,
            0x1p63,
            -0x1p63
        };
        assertThat(Arrays.stream(numbers)
                        .mapToObj(number -> key(hasher -> hasher.addDouble(number)))
                        .distinct())
                .hasSameSizeAs(Arrays.stream(numbers).boxed().toList());
    }
}
