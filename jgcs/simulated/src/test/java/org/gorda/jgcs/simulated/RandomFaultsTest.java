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
        int ahead = 0;
        int lost = 0;
        int changes = 0;
        int reads = 0;
        for (long seed = first; seed < first + count; seed++) {
            RandomFaults run = new RandomFaults(seed);
            assertThat(run.run())
                    .as("seed %d; run it alone by ./mvnw -pl jgcs/simulated -am test -Dgorda.seed=%d", seed, seed)
                    .isEmpty();
            messages += run.messages();
            ahead += run.deliveredAhead();
            lost += run.lostAhead();
            changes += run.changes();
            reads += run.reads();
        }
        System.out.printf(
                "%d messages, %d delivered ahead, %d times such ones lost, %d members added or removed, %d reads%n",
                messages, ahead, lost, changes, reads);
        assertThat(messages).as("something must have happened").isGreaterThan((int) count * 100);
        assertThat(count < 100 || (ahead > 0 && lost > 0))
                .as("%d delivered ahead, %d times lost", ahead, lost)
                .isTrue();
        assertThat(count < 100 || (changes > count / 2 && reads > count))
                .as("%d members added or removed, %d reads", changes, reads)
                .isTrue();
    }

    @Test
    void theSameSeedGivesTheSameEvents() {
        RandomFaults first = new RandomFaults(42);
        RandomFaults second = new RandomFaults(42);
        assertThat(first.run()).isEqualTo(second.run());
        assertThat(first.hash()).isEqualTo(second.hash());
    }
}
