package org.gorda.bench.torture;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Nodes by number, and named edges between them. Confined to one thread. */
final class Digraph {

    /** @param name says why it is there */
    record Edge(int from, int to, String name) {}

    private final List<List<Edge>> out = new ArrayList<>();

    Digraph(int nodes) {
        for (int i = 0; i < nodes; i++) {
            out.add(List.of());
        }
    }

    void add(int from, int to, String name) {
        List<Edge> edges = out.get(from);
        if (edges.isEmpty()) {
            edges = new ArrayList<>(2);
            out.set(from, edges);
        }
        edges.add(new Edge(from, to, name));
    }

    List<Edge> from(int node) {
        return out.get(node);
    }

    int size() {
        return out.size();
    }

    /** A cycle, the shortest of one of the nodes that are on one; empty if there is none. */
    List<Edge> cycle() {
        BitSet left = whoIsOnACycleOrBehindOne();
        int start = left.nextSetBit(0);
        return start < 0 ? List.of() : shortestThrough(onACycle(start, left), left);
    }

    /** Takes away whom nobody leads to, again and again (Kahn 1962). */
    private BitSet whoIsOnACycleOrBehindOne() {
        int[] into = new int[size()];
        out.forEach(edges -> edges.forEach(edge -> into[edge.to()]++));
        ArrayDeque<Integer> free = new ArrayDeque<>();
        for (int node = 0; node < size(); node++) {
            if (into[node] == 0) {
                free.add(node);
            }
        }
        BitSet left = new BitSet();
        left.set(0, size());
        while (!free.isEmpty()) {
            int node = free.remove();
            left.clear(node);
            for (Edge edge : out.get(node)) {
                if (--into[edge.to()] == 0) {
                    free.add(edge.to());
                }
            }
        }
        return left;
    }

    /** Each that is left is led to by another one that is: going backwards leads into a cycle. */
    private int onACycle(int start, BitSet left) {
        int[] before = new int[size()];
        left.stream().forEach(node -> out.get(node).forEach(edge -> before[edge.to()] = node));
        BitSet seen = new BitSet();
        int at = start;
        while (!seen.get(at)) {
            seen.set(at);
            at = before[at];
        }
        return at;
    }

    private List<Edge> shortestThrough(int start, BitSet left) {
        @Nullable Edge[] reachedBy = new Edge[size()];
        ArrayDeque<Integer> next = new ArrayDeque<>(List.of(start));
        while (reachedBy[start] == null) {
            for (Edge edge : out.get(next.remove())) {
                if (left.get(edge.to()) && reachedBy[edge.to()] == null) {
                    reachedBy[edge.to()] = edge;
                    next.add(edge.to());
                }
            }
        }
        ArrayDeque<Edge> path = new ArrayDeque<>();
        int at = start;
        do {
            Edge edge = Objects.requireNonNull(reachedBy[at]);
            path.addFirst(edge);
            at = edge.from();
        } while (at != start);
        return List.copyOf(path);
    }
}
