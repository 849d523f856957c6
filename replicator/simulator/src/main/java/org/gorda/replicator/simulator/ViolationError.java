package org.gorda.replicator.simulator;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A run has shown something that never may happen. The message names what, the faults by number, and the command that shows it again.
 */
public final class ViolationError extends AssertionError {

    private static final long serialVersionUID = 1L;

    private final transient Scenario scenario;
    private final transient SortedMap<Integer, String> faults;
    private final int replicas;
    private final int lastTransaction;

    /**
     * @param faults that there were, by number
     * @param replicas how many formed the group
     * @param lastTransaction the number of the last that was begun
     */
    ViolationError(
            Scenario scenario,
            List<String> violations,
            SortedMap<Integer, String> faults,
            int replicas,
            int lastTransaction) {
        super("seed " + scenario.seed() + " violates what replication promises; see it again by " + scenario.command()
                + "\n" + String.join("\n", violations) + "\n" + replicas + " replicas, "
                + Math.max(0, lastTransaction - scenario.first() + 1) + " transactions, " + faults.size() + " faults:"
                + faults.entrySet().stream().map(ViolationError::line).collect(Collectors.joining()));
        this.scenario = scenario;
        this.faults = new TreeMap<>(faults);
        this.replicas = replicas;
        this.lastTransaction = lastTransaction;
    }

    private static String line(Map.Entry<Integer, String> fault) {
        return "\n  " + fault.getKey() + ": " + fault.getValue();
    }

    /** What was run. */
    public Scenario scenario() {
        return scenario;
    }

    SortedMap<Integer, String> faults() {
        return faults;
    }

    int replicas() {
        return replicas;
    }

    int lastTransaction() {
        return lastTransaction;
    }

    int transactions() {
        return Math.max(0, lastTransaction - scenario.first() + 1);
    }

    /** The smallest scenario that was found by leaving out what is not needed, and what it violates. Runs many. */
    public ViolationError shrunk() {
        return new Shrinker(this, Flaw.NONE).shrink();
    }
}
