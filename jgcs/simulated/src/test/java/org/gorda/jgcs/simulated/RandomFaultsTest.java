package org.gorda.jgcs.simulated;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RandomFaultsTest {

    /** {@code -Dgorda.seed=S} runs one seed, {@code -Dgorda.seeds=N} the first N. */
    @Test
    void membersAgreeUnderRandomFaults() {
        Long one = Long.getLong("gorda.seed");
        long first = one == null ? 1 : one;
        long count = one == null ? Long.getLong("gorda.seeds", 200) : 1;
        int messages = 0;
        for (long seed = first; seed < first + count; seed++) {
            RandomFaults run = new RandomFaults(seed);
            assertThat(run.run())
                    .as("seed %d; run it alone by ./mvnw -pl jgcs/simulated -am test -Dgorda.seed=%d", seed, seed)
                    .isEmpty();
            messages += run.messages();
        }
        assertThat(messages).as("something must have happened").isGreaterThan((int) count * 100);
    }

    @Test
    void theSameSeedGivesTheSameEvents() {
        RandomFaults first = new RandomFaults(42);
        RandomFaults second = new RandomFaults(42);
        assertThat(first.run()).isEqualTo(second.run());
        assertThat(first.hash()).isEqualTo(second.hash());
    }
}
