package org.gorda.jdbc;

import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which history the connections of one program to a group hold to: that of the first replica that one was opened to. A replica that began anew, or another
 * group's at one of the addresses, answers like one of them, and knows nothing of what was acknowledged.
 *
 * <p>Only a person makes a group go on with another history: that of a member which was told to go on alone, or of a group that began with the rows of this
 * one. Such a one is taken once nobody of the one before has answered for a while. Thread-safe.
 */
final class HeldHistory {

    private static final Logger LOG = LoggerFactory.getLogger(HeldHistory.class);

    /** For so long, and not in so many answers of who comes after it, nothing is heard of a history that is left: longer than this process stands still. */
    private static final Duration SILENCE = Duration.ofSeconds(3);

    private static final int ANSWERS_MIN = 5;

    /** For so long it counts what a replica told last, though it is silent now. */
    private static final long REMEMBERED_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** What each told last. */
    private final Map<String, NodeInfo> told = new ConcurrentHashMap<>();

    /** What others told that was warned of. */
    private final Map<String, String> strangers = new ConcurrentHashMap<>();

    private volatile @Nullable String held;
    private volatile long orderedIndex;

    /** When it was last told; guarded by this, as what follows. */
    private long heldNanos;

    private @Nullable String next;
    private int answersOfNext;

    /** A replica has answered. */
    synchronized void heard(NodeInfo info) {
        told.put(info.node(), info);
        String mine = held;
        if (mine == null) {
            return;
        }
        String its = info.history();
        if (its.equals(mine)) {
            heldNanos = System.nanoTime();
            next = null;
            orderedIndex = Math.max(orderedIndex, info.orderedIndex());
        } else if (continues(info, mine)) {
            heardOfNext(info);
        } else if (isStranger(info, mine) && !its.equals(strangers.put(info.node(), its))) {
            LOG.warn(
                    "{} belongs to another group ({}) than the one that this program has connected to ({}): it is not gone to. Stop that replica, or"
                            + " take its address out of the URL",
                    info.node(),
                    its,
                    mine);
        }
    }

    private boolean isStranger(NodeInfo info, String mine) {
        return !info.history().isEmpty() && !info.history().equals(mine) && !continues(info, mine);
    }

    /** Whether the history of a replica is the one after: only the member that went on alone tells so, also when another one executes. */
    private boolean continues(NodeInfo info, String mine) {
        return told.values().stream()
                .anyMatch(other -> other.history().equals(info.history()) && other.continues(mine));
    }

    private void heardOfNext(NodeInfo info) {
        String its = info.history();
        answersOfNext = its.equals(next) ? answersOfNext + 1 : 1;
        next = its;
        if (answersOfNext >= ANSWERS_MIN && info.executes() && System.nanoTime() - heldNanos > SILENCE.toNanos()) {
            LOG.warn("the group went on with another history: {}, told by {}, after {}", its, info.node(), held);
            take(its);
        }
    }

    private void take(String history) {
        held = history;
        heldNanos = System.nanoTime();
        next = null;
        orderedIndex = told.values().stream()
                .filter(info -> info.history().equals(history))
                .mapToLong(NodeInfo::orderedIndex)
                .max()
                .orElse(0);
    }

    /** A connection was opened: false if others hold to another history. */
    synchronized boolean hold(String history) {
        if (held == null) {
            take(history);
        }
        return history.equals(held);
    }

    /** Whether there is one. */
    boolean isHeld() {
        return held != null;
    }

    /** An ordered index that was reached on this history, at the time of the call or shortly before. */
    long orderedIndex() {
        return orderedIndex;
    }

    /** Whether a replica may be gone to. As long as no history is held, those that tell one must tell the same. */
    boolean admits(NodeInfo info) {
        String mine = held;
        return mine == null ? Set.of(info.history()).equals(candidates().keySet()) : mine.equals(info.history());
    }

    /** The histories that are told, by whom, without those that others continue and nobody works on any more. */
    private Map<String, List<NodeInfo>> candidates() {
        long since = System.nanoTime() - REMEMBERED_NANOS;
        Map<String, List<NodeInfo>> known = told.values().stream()
                .filter(info -> !info.history().isEmpty() && info.readNanos() - since > 0)
                .sorted(Comparator.comparing(NodeInfo::node))
                .collect(Collectors.groupingBy(NodeInfo::history, LinkedHashMap::new, Collectors.toList()));
        Map<String, List<NodeInfo>> found = new LinkedHashMap<>(known);
        known.forEach((history, its) -> found.keySet()
                .removeIf(other -> !other.equals(history)
                        && its.stream().anyMatch(info -> info.continues(other))
                        && known.getOrDefault(other, List.of()).stream().noneMatch(NodeInfo::working)));
        return found.isEmpty() ? Map.of("", List.of()) : found;
    }

    /** Why nobody can say which of the replicas to go to; null if that is clear. */
    @Nullable
    String conflict() {
        Map<String, List<NodeInfo>> found = isHeld() ? Map.of() : candidates();
        if (found.size() < 2) {
            return null;
        }
        Map<String, String> texts = new TreeMap<>();
        found.forEach((history, its) ->
                texts.put(its.stream().map(NodeInfo::node).collect(Collectors.joining(", ")), history));
        return "the addresses in the URL are of different groups: "
                + texts.entrySet().stream()
                        .map(one -> one.getKey() + " of " + one.getValue())
                        .collect(Collectors.joining("; "))
                + ". Stop the replicas that are not meant, or take their addresses out of the URL";
    }

    /** What is wrong with a replica that answers; empty if it may be gone to. */
    String fault(NodeInfo info) {
        String mine = held;
        String its = info.history();
        if (mine == null || its.equals(mine)) {
            return "";
        }
        if (isStranger(info, mine)) {
            return " belongs to another group (" + its + ")";
        }
        return !its.isEmpty() ? " goes on with another history (" + its + ")" : " does not know its group yet";
    }

    /** What to do if none but another group's answer, for messages; empty if none of them has answered. */
    String advice() {
        String mine = held;
        return mine == null || told.values().stream().noneMatch(info -> isStranger(info, mine))
                ? ""
                : "; this program holds to the group that it has connected to first (" + mine
                        + "): start it again if it is to go to another one";
    }
}
