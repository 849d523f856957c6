package org.gorda.replicator.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Makes a scenario that violates something smaller while it still does: first it leaves out faults, half of them, then a quarter, and
 * so on (Zeller and Hildebrandt, Delta Debugging, 2002), then replicas, clients and transactions. Runs it
 * {@value #RUNS_MAX} times at most. Confined to one thread.
 */
final class Shrinker {

    private static final int RUNS_MAX = 500;

    private final Flaw flaw;
    private int runs;
    private ViolationError smallest;

    Shrinker(ViolationError found, Flaw flaw) {
        this.smallest = found;
        this.flaw = flaw;
    }

    /** What the smallest that was found violates. */
    ViolationError shrink() {
        leaveOutFaults();
        asLongAsItFails(scenario -> scenario.replicasMax(smallest.replicas() - 1));
        asLongAsItFails(scenario -> scenario.clients(scenario.clients() - 1));
        for (int size = smallest.transactions(); size >= 1; size /= 2) {
            int some = size;
            asLongAsItFails(scenario -> scenario.transactions(scenario.first() + some, scenario.last()));
        }
        for (int size = smallest.transactions(); size >= 1; size /= 2) {
            int some = size;
            asLongAsItFails(scenario -> scenario.transactions(scenario.first(), smallest.lastTransaction() - some));
        }
        leaveOutFaults();
        return smallest;
    }

    private void asLongAsItFails(UnaryOperator<Scenario> less) {
        boolean fails;
        do {
            fails = tries(less);
        } while (fails);
    }

    private void leaveOutFaults() {
        for (int size = Math.max(1, smallest.faults().size()); size >= 1; size /= 2) {
            List<Integer> left = new ArrayList<>(smallest.faults().keySet());
            for (int from = 0; from < left.size(); from += size) {
                List<Integer> some = left.subList(from, Math.min(left.size(), from + size));
                tries(scenario -> scenario.withoutAlso(some));
            }
        }
    }

    private boolean tries(UnaryOperator<Scenario> less) {
        Scenario scenario = less.apply(smallest.scenario());
        if (++runs > RUNS_MAX
                || scenario.replicasMax() < 1
                || scenario.clients() < 1
                || scenario.last() < scenario.first()) {
            return false;
        }
        ViolationError found = violation(scenario);
        if (found == null || !isSmaller(found)) {
            return false;
        }
        smallest = found;
        return true;
    }

    /** With less it may take another course, in which it fails later, by something else. */
    private boolean isSmaller(ViolationError found) {
        return smallest.faults().keySet().containsAll(found.faults().keySet())
                && found.transactions() <= smallest.transactions();
    }

    private @Nullable ViolationError violation(Scenario scenario) {
        try {
            SimulationRun.run(scenario, flaw, SimulationRun.protocol(scenario.seed()));
            return null;
        } catch (ViolationError e) {
            return e;
        }
    }
}
