package org.gorda.bench.torture;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.gorda.bench.torture.Digraph.Edge;
import org.gorda.bench.torture.ListTransaction.Append;
import org.gorda.bench.torture.ListTransaction.Read;
import org.gorda.bench.torture.ListTransaction.Step;
import org.jspecify.annotations.Nullable;

/**
 * Whether a history of lists may have happened. The lists of the end give the order of all that wrote to each of them; from that and
 * from what was read follow the dependencies between transactions (Adya 1999): {@code ww}, who appended next; {@code wr}, who read
 * what one appended; {@code rw}, who appended next to what one read. What must hold:
 *
 * <ul>
 *   <li>what was answered is there, once; what was refused is not; of what is unknown, all or nothing;
 *   <li>each read gave the beginning of the list of the end, and what its own transaction had appended behind that;
 *   <li>no cycle of {@code ww} and {@code wr} (G1c), whatever the levels;
 *   <li>none with {@code rw} of rows that their readers keep as they have read them, no two of them next to each other: what
 *       snapshot isolation forbids (Fekete et al. 2005). Whether a row that was not there stays away is for the {@link Promise};
 *   <li>none with {@code rw} of serializable transactions at all, to whomever the {@link Promise} says.
 * </ul>
 *
 * Of transactions at different levels each is held to its own, as mixed levels are (Adya 1999, 4.5). Confined to one thread.
 */
final class ListChecker {

    private static final int[] NOTHING = {};

    private final List<Recorded> history;
    private final Map<Integer, int[]> lists;
    private final Promise promise;
    private final Findings findings;
    private final Map<Integer, Integer> writers = new HashMap<>();
    private final Map<Integer, Integer> keys = new HashMap<>();
    private final Set<Integer> present = new HashSet<>();
    private final boolean[] committed;
    private final Digraph dependencies;
    private final Digraph antiDependencies;

    /** @param lists as they are in the end, by key */
    ListChecker(List<Recorded> history, Map<Integer, int[]> lists, Promise promise, Findings findings) {
        this.history = history;
        this.lists = lists;
        this.promise = promise;
        this.findings = findings;
        this.committed = new boolean[history.size()];
        this.dependencies = new Digraph(history.size());
        this.antiDependencies = new Digraph(history.size());
    }

    void check() {
        for (int number = 0; number < history.size(); number++) {
            for (Step step : transaction(number).steps()) {
                if (step instanceof Append append) {
                    writers.put(append.value, number);
                    keys.put(append.value, append.key);
                }
            }
        }
        lists.forEach(this::checkList);
        for (int number = 0; number < history.size(); number++) {
            checkAppends(number);
        }
        lists.forEach(this::orderWrites);
        for (int number = 0; number < history.size(); number++) {
            if (committed[number]) {
                checkReads(number);
            }
        }
        checkOrder();
    }

    private ListTransaction transaction(int number) {
        return (ListTransaction) history.get(number).operation();
    }

    private void checkList(int key, int[] list) {
        for (int value : list) {
            if (!present.add(value)) {
                findings.add(Findings.DUPLICATED, "value " + value + " is in list " + key + " more than once");
            } else if (!Integer.valueOf(key).equals(keys.get(value))) {
                findings.add("from nowhere", "value " + value + " was appended to list " + key + " by nobody");
            }
        }
    }

    private void checkAppends(int number) {
        List<Integer> all = new ArrayList<>();
        for (Step step : transaction(number).steps()) {
            if (step instanceof Append append) {
                all.add(append.value);
            }
        }
        List<Integer> missing =
                all.stream().filter(value -> !present.contains(value)).toList();
        Outcome outcome = history.get(number).outcome();
        committed[number] = outcome == Outcome.OK || (outcome == Outcome.UNKNOWN && missing.size() < all.size());
        if (outcome == Outcome.OK && !missing.isEmpty()) {
            findings.add(Findings.LOST, missing + " of " + describe(number));
        } else if (outcome == Outcome.UNKNOWN && committed[number] && !missing.isEmpty()) {
            findings.add("half of a transaction", missing + " is missing of " + describe(number));
        } else if (outcome == Outcome.FAILED && missing.size() < all.size()) {
            findings.add("resurrected", "refused, and there: " + describe(number));
        }
    }

    private void orderWrites(int key, int[] list) {
        for (int i = 1; i < list.length; i++) {
            Integer before = writers.get(list[i - 1]);
            Integer after = writers.get(list[i]);
            if (before != null && before.equals(after) && list[i - 1] > list[i]) {
                findings.add(
                        "incompatible order",
                        "one transaction's own appends to list " + key + " are not in their order");
            }
            depend(before, after, "ww", key, dependencies);
        }
    }

    private static void depend(@Nullable Integer from, @Nullable Integer to, String kind, int key, Digraph graph) {
        if (from != null && to != null && !from.equals(to)) {
            graph.add(from, to, kind + " " + key);
        }
    }

    private void checkReads(int number) {
        Map<Integer, List<Integer>> own = new HashMap<>();
        Map<Integer, Integer> before = new HashMap<>();
        for (Step step : transaction(number).steps()) {
            if (step instanceof Append append) {
                own.computeIfAbsent(step.key, any -> new ArrayList<>()).add(append.value);
            } else if (step instanceof Read read && read.seen != null) {
                int length = checkRead(number, read.key, read.seen, own.getOrDefault(step.key, List.of()));
                Integer earlier = before.put(step.key, length);
                if (length >= 0 && earlier != null && earlier >= 0) {
                    checkAgain(number, step.key, earlier, length);
                }
            }
        }
    }

    private void checkAgain(int number, int key, int earlier, int length) {
        boolean keeps = keeps(number, earlier);
        if (keeps ? length != earlier : length < earlier) {
            findings.add(
                    keeps ? "non-repeatable read" : "non-monotonic read",
                    "list " + key + " had " + earlier + " elements of others and then " + length + " in "
                            + describe(number));
        }
    }

    /** Of how many elements of others the read is, -1 if that has no answer. */
    private int checkRead(int number, int key, int[] seen, List<Integer> own) {
        int length = seen.length - own.size();
        if (length < 0
                || !Arrays.equals(
                        Arrays.copyOfRange(seen, length, seen.length),
                        own.stream().mapToInt(Integer::intValue).toArray())) {
            findings.add("does not see its own", "list " + key + " in " + describe(number));
            return -1;
        }
        int[] list = lists.getOrDefault(key, NOTHING);
        if (length > list.length || !Arrays.equals(seen, 0, length, list, 0, length)) {
            findings.add(wrongRead(seen, length), "list " + key + " in " + describe(number));
            return -1;
        }
        Integer last = length == 0 ? null : writers.get(list[length - 1]);
        Integer next = length == list.length ? null : writers.get(list[length]);
        if (last != null && last.equals(next) && last != number) {
            findings.add("G1b intermediate read", "list " + key + " in " + describe(number));
        }
        depend(last, number, "wr", key, dependencies);
        if (keeps(number, length)) {
            depend(number, next, "rw", key, antiDependencies);
        }
        return length;
    }

    private String wrongRead(int[] seen, int length) {
        for (int i = 0; i < length; i++) {
            Integer writer = writers.get(seen[i]);
            if (writer != null && history.get(writer).outcome() == Outcome.FAILED) {
                return "G1a aborted read";
            }
        }
        return "incompatible order";
    }

    /** Whether what a transaction has read of a list must not change until its end. */
    private boolean keeps(int number, int length) {
        Isolation isolation = isolation(number);
        return length > 0 ? isolation.keepsWhatItReads() : promise.keepsAbsence(isolation);
    }

    private void checkOrder() {
        report("G1c", dependencies.cycle());

        Digraph snapshot = new Digraph(history.size());
        Digraph serial = new Digraph(history.size());
        for (int number = 0; number < history.size(); number++) {
            for (Edge edge : dependencies.from(number)) {
                snapshot.add(edge.from(), edge.to(), edge.name());
                serial.add(edge.from(), edge.to(), edge.name());
                for (Edge anti : antiDependencies.from(edge.to())) {
                    snapshot.add(edge.from(), anti.to(), edge.name() + ", T" + anti.from() + ", " + anti.name());
                }
            }
            for (Edge anti : antiDependencies.from(number)) {
                if (promise.ordersAfter(isolation(number), isolation(anti.to()))) {
                    serial.add(anti.from(), anti.to(), anti.name());
                }
            }
        }
        report("not snapshot isolation (G-single, G-nonadjacent)", snapshot.cycle());
        report("not serializable (G2)", serial.cycle());
    }

    private Isolation isolation(int number) {
        return history.get(number).operation().isolation();
    }

    private void report(String kind, List<Edge> cycle) {
        if (!cycle.isEmpty()) {
            String path = cycle.stream()
                    .map(edge -> "T" + edge.from() + " -(" + edge.name() + ")-> ")
                    .collect(Collectors.joining("", "", "T" + cycle.get(0).from()));
            String who =
                    cycle.stream().map(edge -> describe(edge.from())).distinct().collect(Collectors.joining("; "));
            findings.add(kind, path + " where " + who);
        }
    }

    private String describe(int number) {
        Recorded recorded = history.get(number);
        return String.format(
                Locale.ROOT,
                "T%d %s of process %d at %.3f to %.3f s, %s: %s",
                number,
                recorded.operation().isolation(),
                recorded.process(),
                recorded.begunNanos() / 1e9,
                recorded.endedNanos() / 1e9,
                recorded.outcome(),
                recorded.operation().value(true));
    }
}
