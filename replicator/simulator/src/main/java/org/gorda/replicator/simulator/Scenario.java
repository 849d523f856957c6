package org.gorda.replicator.simulator;

import java.util.Collection;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What a run is to be: what the seed stands for, or less of that, which is easier to understand. Immutable.
 *
 * @param replicasMax at most so many members form the group
 * @param clients how many of its {@value #ALL_CLIENTS} clients there are
 * @param first the number of the first transaction that they begin while there are faults, from 1; those before are passed over
 * @param last the number of the last one
 * @param without the numbers of the faults that are left out, from 1
 */
public record Scenario(long seed, int replicasMax, int clients, int first, int last, SortedSet<Integer> without) {

    static final int ALL_REPLICAS = 7;

    /** So many there are at most. */
    public static final int ALL_CLIENTS = 6;

    public Scenario {
        without = new TreeSet<>(without);
    }

    /** All that a seed stands for. */
    public static Scenario of(long seed) {
        return new Scenario(seed, ALL_REPLICAS, ALL_CLIENTS, 1, Integer.MAX_VALUE, new TreeSet<>());
    }

    Scenario replicasMax(int count) {
        return new Scenario(seed, count, clients, first, last, without);
    }

    Scenario clients(int count) {
        return new Scenario(seed, replicasMax, count, first, last, without);
    }

    Scenario transactions(int from, int to) {
        return new Scenario(seed, replicasMax, clients, from, to, without);
    }

    Scenario withoutAlso(Collection<Integer> faults) {
        SortedSet<Integer> all = new TreeSet<>(without);
        all.addAll(faults);
        return new Scenario(seed, replicasMax, clients, first, last, all);
    }

    /** What shows it again. */
    public String command() {
        return "./gorda simulate --seed " + seed
                + (replicasMax == ALL_REPLICAS ? "" : " --replicas " + replicasMax)
                + (clients == ALL_CLIENTS ? "" : " --clients " + clients)
                + (first == 1 ? "" : " --first " + first)
                + (last == Integer.MAX_VALUE ? "" : " --last " + last)
                + (without.isEmpty()
                        ? ""
                        : " --without " + without.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }
}
