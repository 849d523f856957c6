package org.gorda.replicator.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class SimulationRunTest {

    /** How many seeds at most each mistake needs. */
    private static final Path TABLE = Path.of("../../docs/correctness.md");

    /** {@code -Dgorda.from=S} and {@code -Dgorda.seeds=N} run other seeds than 1 to 300. A failure names its seed. */
    @Test
    void replicasKeepTheirPromisesUnderRandomFaults() {
        long first = Long.getLong("gorda.from", 1);
        long count = Long.getLong("gorda.seeds", 300);
        long acknowledged = 0;
        int crashes = 0;
        int schemaChanges = 0;
        int protocolChanges = 0;
        int lost = 0;
        int deadlocks = 0;
        int gaveWay = 0;
        int violations = 0;
        int failedCommits = 0;
        for (long seed = first; seed < first + count; seed++) {
            SimulationResult result = SimulationRun.run(Scenario.of(seed));
            acknowledged += result.acknowledged();
            crashes += result.crashes();
            protocolChanges += result.protocolChanges();
            lost += result.lost();
            deadlocks += result.deadlocks();
            gaveWay += result.gaveWay();
            violations += result.violations();
            failedCommits += result.failedCommits();
            schemaChanges += SimulationRun.protocol(seed).isEverywhere() ? result.schemaChanges() : 0;
        }
        assertThat(acknowledged).as("something must have happened").isGreaterThan(count * 50);
        assertThat(schemaChanges).as("and been changed").isGreaterThan((int) count / 2);
        assertThat(protocolChanges).as("of the protocol, too").isGreaterThan((int) count / 2);
        System.out.printf(
                "%d seeds: %d committed, %d lost by asynchronous primaries, %d crashes, %d schema changes, %d changes of the protocol%n",
                count, acknowledged, lost, crashes, schemaChanges, protocolChanges);
        System.out.printf(
                "%d deadlocks, %d gave way, %d refused by constraints, %d failed commits%n",
                deadlocks, gaveWay, violations, failedCommits);
        assertThat(deadlocks).as("clients must have waited for each other").isGreaterThan((int) count / 4);
        assertThat(gaveWay).as("and made way").isGreaterThan((int) count);
        assertThat(violations).as("and met constraints").isGreaterThan((int) count / 4);
        assertThat(failedCommits).as("and databases failed").isPositive();
        assertThat(lost).as("and been risked and lost, where that may be").isPositive();
        assertThat(crashes).as("something must have gone wrong").isGreaterThan((int) count);
    }

    /**
     * A lost directory whose late messages demoted the new one; one that was made the leader before it was taken in; what was not
     * forced; a chunk that the others released because a learner did not count; an answer to what an earlier run had asked.
     */
    @ParameterizedTest
    @ValueSource(longs = {490, 1399, 1502, 26507, 1553, 288, 9661})
    void seedsThatOnceFoundSomethingFindNothing(long seed) {
        for (ReplicationProtocol begins : EnumSet.complementOf(EnumSet.of(ReplicationProtocol.LOOPBACK))) {
            assertThat(SimulationRun.run(Scenario.of(seed), Flaw.NONE, begins).acknowledged())
                    .isPositive();
        }
    }

    /** What is left is what the mistake needs, and it is found again by the command that is printed. */
    @Test
    void aScenarioIsMadeSmaller() {
        Flaw flaw = Flaw.SKIPS_ONE_AFTER_RESTART;
        long seed = 1;
        ViolationError found = null;
        while (found == null) {
            try {
                SimulationRun.run(Scenario.of(seed), flaw, SimulationRun.protocol(seed));
                seed++;
            } catch (ViolationError e) {
                found = e;
            }
        }
        ViolationError smallest = new Shrinker(found, flaw).shrink();

        assertThat(smallest.faults()).hasSizeLessThan(found.faults().size()).hasSizeLessThanOrEqualTo(3);
        assertThat(smallest.transactions()).isLessThan(found.transactions() / 4);
        assertThat(smallest).hasMessageContaining(smallest.scenario().command());
        assertThatThrownBy(() -> SimulationRun.run(
                        smallest.scenario(),
                        flaw,
                        SimulationRun.protocol(smallest.scenario().seed())))
                .hasMessage(smallest.getMessage());
        System.out.println(smallest.getMessage());
    }

    @Test
    void theSameSeedGivesTheSameEvents() {
        for (long seed = 1; seed <= 5; seed++) {
            assertThat(SimulationRun.run(Scenario.of(seed))).isEqualTo(SimulationRun.run(Scenario.of(seed)));
        }
    }

    /** The checks can fail: a shell that makes a mistake is found out by one of as many seeds as the table says. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void aFlawedShellIsFoundOut(Flaw flaw) throws IOException {
        Matcher row =
                Pattern.compile("(?m)^\\| `" + flaw + "`[^|]*\\| (\\d+) \\|$").matcher(Files.readString(TABLE));
        assertThat(row.find()).as("%s stands in %s", flaw, TABLE).isTrue();
        int seeds = Integer.parseInt(row.group(1));
        ViolationError found = null;
        for (long seed = 1; seed <= seeds && found == null; seed++) {
            try {
                SimulationRun.run(Scenario.of(seed), flaw, SimulationRun.protocol(seed));
            } catch (ViolationError e) {
                found = e;
            }
        }
        assertThat(found)
                .as("%s within %d seeds", flaw, seeds)
                .isNotNull()
                .hasMessageContaining(
                        "./gorda simulate --seed " + found.scenario().seed());
        System.out.printf("%s: seed %d of at most %d%n", flaw, found.scenario().seed(), seeds);
    }
}
