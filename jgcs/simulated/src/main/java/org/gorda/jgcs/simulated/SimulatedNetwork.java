package org.gorda.jgcs.simulated;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.gorda.jgcs.MemberId;

/**
 * Links between members, each direction by itself. A link keeps order like a connection does, but may lose, repeat, hold back and
 * deliver very late, as over several connections. Confined to one thread.
 */
public final class SimulatedNetwork {

    /** A member's end of its links. */
    public interface Node {
        void onFrame(byte[] frame);

        void onDisconnected(MemberId peer);
    }

    private record LinkId(MemberId from, MemberId to) {}

    private static final class Link {
        boolean cut;
        boolean held;
        long slowerNanos;
        long busyUntilNanos;
        final Deque<byte[]> waiting = new ArrayDeque<>();
    }

    private static final int HELD_MAX = 20_000;

    private final Simulation simulation;
    private final SplittableRandom random;
    private final TreeMap<MemberId, Node> nodes = new TreeMap<>();
    private final Map<LinkId, Link> links = new HashMap<>();
    private long latencyNanos = 200_000;
    private double loss;
    private double repeat;
    private double late;
    private long lateNanosMax = 20_000_000_000L;
    private long frames;

    public SimulatedNetwork(Simulation simulation) {
        this.simulation = simulation;
        this.random = simulation.random("network");
    }

    /** The usual time a frame takes; each takes between half and twice as long. */
    public void latency(long nanos) {
        latencyNanos = nanos;
    }

    /** How probable it is that a frame is lost, comes twice, or comes up to {@code lateNanos} late. */
    public void faults(double lost, double twice, double veryLate, long lateNanos) {
        loss = lost;
        repeat = twice;
        late = veryLate;
        lateNanosMax = lateNanos;
    }

    public void attach(MemberId member, Node node) {
        nodes.put(member, node);
    }

    /** The member's process is gone: those it was connected to notice. */
    public void detach(MemberId member) {
        nodes.remove(member);
        for (MemberId peer : nodes.keySet()) {
            Link link = link(member, peer);
            link.waiting.clear();
            if (!link.cut) {
                simulation.schedule(delay(), "closed", () -> {
                    Node node = nodes.get(peer);
                    if (node != null && !nodes.containsKey(member)) {
                        node.onDisconnected(member);
                    }
                });
            }
        }
    }

    private Link link(MemberId from, MemberId to) {
        return links.computeIfAbsent(new LinkId(from, to), id -> new Link());
    }

    /** Loses everything in one direction, from now on. Nobody is told. */
    public void cut(MemberId from, MemberId to) {
        link(from, to).cut = true;
    }

    public void mend(MemberId from, MemberId to) {
        link(from, to).cut = false;
    }

    /** Holds back what is sent in one direction, until {@link #release}. */
    public void hold(MemberId from, MemberId to) {
        link(from, to).held = true;
    }

    /** What is sent in one direction takes so much longer from now on. */
    public void slow(MemberId from, MemberId to, long nanos) {
        link(from, to).slowerNanos = nanos;
    }

    /** Delivers what was held back. */
    public void release(MemberId from, MemberId to) {
        Link link = link(from, to);
        link.held = false;
        List<byte[]> frames = new ArrayList<>(link.waiting);
        link.waiting.clear();
        for (byte[] frame : frames) {
            deliver(to, frame, delay());
        }
    }

    /** Mends and releases everything, and ends random faults. */
    public void heal() {
        faults(0, 0, 0, 0);
        for (Map.Entry<LinkId, Link> entry : links.entrySet().stream()
                .sorted(java.util.Comparator.comparing(SimulatedNetwork::name))
                .toList()) {
            entry.getValue().cut = false;
            release(entry.getKey().from(), entry.getKey().to());
        }
    }

    private static String name(Map.Entry<LinkId, Link> entry) {
        return entry.getKey().from() + ">" + entry.getKey().to();
    }

    /** How many were sent so far. */
    public long frames() {
        return frames;
    }

    /** Sends a frame on its way. */
    public void send(MemberId from, MemberId to, byte[] frame) {
        frames++;
        Link link = link(from, to);
        if (link.cut || (loss > 0 && random.nextDouble() < loss)) {
            return;
        }
        if (link.held) {
            if (link.waiting.size() < HELD_MAX) {
                link.waiting.add(frame);
            }
            return;
        }
        if (late > 0 && random.nextDouble() < late) {
            deliver(to, frame, 1 + random.nextLong(lateNanosMax));
            return;
        }
        long arrival = Math.max(simulation.now() + delay() + link.slowerNanos, link.busyUntilNanos);
        link.busyUntilNanos = arrival;
        deliver(to, frame, arrival - simulation.now());
        if (repeat > 0 && random.nextDouble() < repeat) {
            deliver(to, frame, delay() * 4);
        }
    }

    private void deliver(MemberId to, byte[] frame, long delayNanos) {
        simulation.schedule(delayNanos, "frame", () -> {
            Node node = nodes.get(to);
            if (node != null) {
                simulation.note(to.name() + frame.length);
                node.onFrame(frame);
            }
        });
    }

    private long delay() {
        return latencyNanos / 2 + random.nextLong(latencyNanos * 3 / 2 + 1);
    }
}
