package org.gorda.jgcs.simulated;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Virtual time: events happen one after the other in the order of their time, and time passes only between them. The same seed
 * gives the same events, which {@link #hash} shows. Confined to one thread.
 */
public final class Simulation {

    private record Event(long atNanos, long number, String what, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(atNanos, other.atNanos);
            return byTime != 0 ? byTime : Long.compare(number, other.number);
        }
    }

    private final long seed;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final List<String> broken = new ArrayList<>();
    private long nowNanos = 1;
    private long lastNumber;
    private long hash;

    public Simulation(long seed) {
        this.seed = seed;
    }

    /** Nanoseconds since the start, always positive. */
    public long now() {
        return nowNanos;
    }

    /** A source of randomness of its own for each purpose, so that a draw more in one does not shift the others. */
    public SplittableRandom random(String purpose) {
        long mixed = seed;
        for (int i = 0; i < purpose.length(); i++) {
            mixed = mixed * 0x9E3779B97F4A7C15L + purpose.charAt(i);
        }
        return new SplittableRandom(mixed);
    }

    /** Lets {@code action} happen after a delay. */
    public void schedule(long delayNanos, String what, Runnable action) {
        events.add(new Event(nowNanos + Math.max(delayNanos, 0), ++lastNumber, what, action));
    }

    /** Lets the next event happen; false if there is none. */
    public boolean step() {
        Event next = events.poll();
        if (next == null) {
            return false;
        }
        nowNanos = next.atNanos();
        note(next.what());
        next.action().run();
        return true;
    }

    /** Mixes what has happened into the hash. */
    public void note(String what) {
        hash = (hash ^ nowNanos) * 0x9E3779B97F4A7C15L + what.hashCode();
        hash ^= hash >>> 29;
    }

    /** Lets time pass. */
    public void run(Duration time) {
        long end = nowNanos + time.toNanos();
        while (!events.isEmpty() && events.peek().atNanos() <= end) {
            step();
        }
        nowNanos = end;
    }

    /** Lets time pass until the condition holds, at most so long; whether it holds. */
    public boolean runUntil(BooleanSupplier condition, Duration atMost) {
        long end = nowNanos + atMost.toNanos();
        while (!condition.getAsBoolean()) {
            Event next = events.peek();
            if (next == null || next.atNanos() > end) {
                nowNanos = end;
                return condition.getAsBoolean();
            }
            step();
        }
        return true;
    }

    /** Records that something happened that never may. */
    public void broken(String what) {
        broken.add("at " + nowNanos / 1_000_000 + " ms: " + what);
    }

    /** What happened that never may. */
    public List<String> broken() {
        return broken;
    }

    /** Stands for all events so far and their order. */
    public long hash() {
        return hash;
    }
}
