package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.gorda.bench.torture.Fault.Kind;
import org.gorda.bench.workload.BenchException;
import org.junit.jupiter.api.Test;

class FaultPlanTest {

    private static final Duration TEN_MINUTES = Duration.ofMinutes(10);

    @Test
    void tenMinutesHaveAHundredFaultsOfAllKinds() {
        Set<Kind> kinds = EnumSet.noneOf(Kind.class);
        for (long seed = 0; seed < 50; seed++) {
            List<Fault> faults = FaultPlan.of(seed, TEN_MINUTES, 3, Set.copyOf(FaultPlan.families()))
                    .faults();

            assertThat(faults).hasSizeBetween(100, 200);
            assertThat(faults.stream().map(fault -> fault.kind().family())).containsAll(FaultPlan.families());
            faults.forEach(fault -> kinds.add(fault.kind()));
            assertThat(faults).allSatisfy(fault -> {
                assertThat(fault.victims()).isNotEmpty().doesNotHaveDuplicates().allMatch(victim -> victim < 3);
                assertThat(fault.atMillis() + fault.lengthMillis()).isLessThan(TEN_MINUTES.toMillis());
            });
        }
        assertThat(kinds).contains(Kind.values());
    }

    @Test
    void theSameSeedMakesTheSameFaults() {
        Set<String> all = Set.copyOf(FaultPlan.families());

        assertThat(FaultPlan.of(7, TEN_MINUTES, 3, all)).isEqualTo(FaultPlan.of(7, TEN_MINUTES, 3, all));
        assertThat(FaultPlan.of(7, TEN_MINUTES, 3, all)).isNotEqualTo(FaultPlan.of(8, TEN_MINUTES, 3, all));
    }

    @Test
    void onlyWhatIsAskedForIsDrawn() {
        Set<String> kinds = new HashSet<>();
        FaultPlan.of(7, TEN_MINUTES, 3, Set.of("pause", "slow"))
                .faults()
                .forEach(fault -> kinds.add(fault.kind().family()));

        assertThat(kinds).containsExactlyInAnyOrder("pause", "slow");
        assertThatThrownBy(() -> FaultPlan.of(7, TEN_MINUTES, 3, Set.of("flood")))
                .isInstanceOf(BenchException.class)
                .hasMessage("there is no fault 'flood': use kill,pause,partition,slow,disk-full,clock");
    }

    @Test
    void noReplicaHasTwoFaultsOfItsProcessAtOnce() {
        List<Fault> faults = FaultPlan.of(7, TEN_MINUTES, 3, Set.copyOf(FaultPlan.families()))
                .faults();
        long[] until = new long[3];
        long linksUntil = 0;
        for (Fault fault : faults) {
            if (fault.kind().isOfLinks()) {
                assertThat(fault.atMillis()).isGreaterThanOrEqualTo(linksUntil);
                linksUntil = fault.atMillis() + fault.lengthMillis();
            } else if (fault.kind().isOfProcess()) {
                fault.victims().forEach(victim -> assertThat(fault.atMillis()).isGreaterThanOrEqualTo(until[victim]));
                fault.victims().forEach(victim -> until[victim] = fault.atMillis() + fault.lengthMillis());
            }
        }
        assertThat(until).doesNotContain(0);
    }
}
