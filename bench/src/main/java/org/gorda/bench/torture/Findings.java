package org.gorda.bench.torture;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What should not have happened, counted by kind, with the first examples of each. Thread-safe. */
final class Findings {

    private static final int EXAMPLES = 5;

    /** The kinds that are reported under their own names; all others are anomalies. */
    static final String LOST = "lost";

    static final String DUPLICATED = "duplicated";
    static final String DIVERGED = "diverged";

    /** Kinds that are not about the data. */
    static final String STUCK = "stuck";

    static final String ENDED = "ended by itself";
    static final String BROKEN = "client broke down";
    static final String NOT_COMPARED = "not compared";
    static final String NOTHING_SHOWN = "nothing shown";

    private final Map<String, Long> counts = new TreeMap<>();
    private final Map<String, List<String>> examples = new TreeMap<>();

    /** @param example what was seen, for people */
    synchronized void add(String kind, String example) {
        counts.merge(kind, 1L, Long::sum);
        List<String> known = examples.computeIfAbsent(kind, any -> new ArrayList<>());
        if (known.size() < EXAMPLES) {
            known.add(example);
        }
    }

    /**
     * Adds what a replica has shown: of each kind there is as much as the one has that shows most.
     *
     * @param where is added to examples that are new
     */
    synchronized void addOf(String where, Findings replica) {
        replica.counts().forEach((kind, count) -> counts.merge(kind, count, Math::max));
        replica.examples.forEach((kind, all) -> {
            List<String> known = examples.computeIfAbsent(kind, any -> new ArrayList<>());
            all.stream()
                    .filter(example -> known.size() < EXAMPLES && !known.contains(example))
                    .forEach(example -> known.add(example + where));
        });
    }

    synchronized long count(String kind) {
        return counts.getOrDefault(kind, 0L);
    }

    /** How many there are of the kinds that are about the data and have no name of their own in the result. */
    synchronized long anomalies() {
        return counts.entrySet().stream()
                .filter(entry -> !List.of(LOST, DUPLICATED, DIVERGED, STUCK, ENDED, BROKEN, NOT_COMPARED, NOTHING_SHOWN)
                        .contains(entry.getKey()))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    synchronized boolean isEmpty() {
        return counts.isEmpty();
    }

    synchronized Map<String, Long> counts() {
        return Collections.unmodifiableMap(new TreeMap<>(counts));
    }

    /** A line for each example. */
    synchronized List<String> lines() {
        List<String> lines = new ArrayList<>();
        examples.forEach((kind, known) -> known.forEach(example -> lines.add(kind + ": " + example)));
        return lines;
    }
}
