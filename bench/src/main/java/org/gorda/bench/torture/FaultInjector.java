package org.gorda.bench.torture;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.gorda.bench.Links;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.torture.Fault.Kind;

/**
 * Does to replica processes what a plan says, and watches them: who ends although nothing was done that would end him has found a
 * defect. Confined to one thread, but for what is {@linkplain #done done}, which is read after its end.
 */
final class FaultInjector {

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int FLAP_MILLIS = 250;
    private static final int LINES_SHOWN = 8;

    /** So long after there is room again a replica may still notice that there was none. */
    private static final int AFTER_FULL_MILLIS = 15_000;

    /** What was done. Immutable. */
    record Done(Fault fault, double fromSeconds, double toSeconds) {}

    private record Step(long atMillis, int number, Runnable action) {}

    private final FaultPlan plan;
    private final List<ReplicaProcess> replicas;
    private final Links links;
    private final Findings findings;
    private final Consumer<String> progress;
    private final PriorityQueue<Step> steps =
            new PriorityQueue<>(Comparator.comparingLong(Step::atMillis).thenComparingInt(Step::number));
    private final List<Done> done = new ArrayList<>();
    private final BitSet down = new BitSet();
    private final long[] mayEndUntilMillis;
    private int lastNumber;
    private long beginNanos;

    FaultInjector(
            FaultPlan plan, List<ReplicaProcess> replicas, Links links, Findings findings, Consumer<String> progress) {
        this.plan = plan;
        this.replicas = replicas;
        this.mayEndUntilMillis = new long[replicas.size()];
        this.links = links;
        this.findings = findings;
        this.progress = progress;
    }

    List<Done> done() {
        return done;
    }

    /** Does all of it, and has undone all of it when it returns. */
    void run() {
        beginNanos = System.nanoTime();
        plan.faults().forEach(fault -> at(fault.atMillis(), () -> begin(fault)));
        while (!steps.isEmpty()) {
            watch();
            Step next = steps.peek();
            if (next.atMillis() <= millis()) {
                steps.remove();
                next.action().run();
            } else {
                LockSupport.parkNanos(TICK_NANOS);
            }
        }
    }

    private void at(long millis, Runnable action) {
        steps.add(new Step(millis, ++lastNumber, action));
    }

    private long millis() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNanos);
    }

    /** Finds who has ended by itself. */
    void watch() {
        for (int number = 0; number < replicas.size(); number++) {
            ReplicaProcess replica = replicas.get(number);
            if (!down.get(number) && !replica.isAlive()) {
                down.set(number);
                if (mayEndUntilMillis[number] < millis()) {
                    String words = replica.lastLines(LINES_SHOWN);
                    findings.add(Findings.ENDED, replica.name() + " after " + millis() + " ms: " + words);
                    progress.accept("  ENDED     " + replica.name() + " by itself: " + words);
                }
                if (mayEndUntilMillis[number] < Long.MAX_VALUE) {
                    start(number);
                }
            }
        }
    }

    private void begin(Fault fault) {
        progress.accept("  fault     " + fault.describe());
        double from = millis() / 1e3;
        switch (fault.kind()) {
            case KILL -> fault.victims().forEach(this::kill);
            case PAUSE -> fault.victims().forEach(victim -> replicas.get(victim).freeze());
            case PARTITION, PARTITION_OUT -> cut(fault, true);
            case PARTITION_RESET -> {
                cut(fault, true);
                reset(fault);
            }
            case FLAPPING -> flap(fault, true);
            case SLOW -> delay(fault, fault.delayMillis());
            case DISK_FULL ->
                fault.victims().forEach(victim -> {
                    mayEndUntilMillis[victim] = Long.MAX_VALUE;
                    replicas.get(victim).limitFiles(fault.fileBytesMax());
                });
        }
        at(millis() + fault.lengthMillis(), () -> {
            end(fault);
            done.add(new Done(fault, from, millis() / 1e3));
        });
    }

    private void end(Fault fault) {
        switch (fault.kind()) {
            case KILL -> fault.victims().forEach(this::start);
            case PAUSE -> fault.victims().forEach(victim -> replicas.get(victim).thaw());
            case PARTITION, PARTITION_OUT, PARTITION_RESET, FLAPPING -> cut(fault, false);
            case SLOW -> delay(fault, 0);
            case DISK_FULL -> fault.victims().forEach(this::makeRoom);
        }
    }

    private void kill(int victim) {
        down.set(victim);
        replicas.get(victim).kill();
    }

    private void start(int victim) {
        replicas.get(victim).start();
        down.clear(victim);
    }

    /** Who has met its limit has stopped, or is about to. */
    private void makeRoom(int victim) {
        watch();
        mayEndUntilMillis[victim] = millis() + AFTER_FULL_MILLIS;
        if (down.get(victim)) {
            start(victim);
        } else {
            replicas.get(victim).limitFiles(Long.MAX_VALUE);
        }
    }

    private void flap(Fault fault, boolean cuts) {
        cut(fault, cuts);
        long next = millis() + FLAP_MILLIS;
        if (next < fault.atMillis() + fault.lengthMillis()) {
            at(next, () -> flap(fault, !cuts));
        }
    }

    private void cut(Fault fault, boolean cuts) {
        across(fault, (victim, other) -> {
            links.cut(victim, other, cuts);
            if (fault.kind() != Kind.PARTITION_OUT) {
                links.cut(other, victim, cuts);
            }
        });
    }

    private void reset(Fault fault) {
        across(fault, links::reset);
    }

    private void delay(Fault fault, int millis) {
        for (int victim : fault.victims()) {
            for (int other = 0; other < replicas.size(); other++) {
                links.delay(victim, other, millis);
                links.delay(other, victim, millis);
            }
        }
    }

    /** A pair of replicas. */
    private interface Pair {
        void accept(int victim, int other);
    }

    private void across(Fault fault, Pair action) {
        for (int victim : fault.victims()) {
            for (int other = 0; other < replicas.size(); other++) {
                if (!fault.victims().contains(other)) {
                    action.accept(victim, other);
                }
            }
        }
    }
}
