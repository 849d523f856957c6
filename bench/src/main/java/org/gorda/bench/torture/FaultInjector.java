package org.gorda.bench.torture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.gorda.bench.Links;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.torture.Fault.Kind;
import org.gorda.bench.workload.BenchException;

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

    /** Behind this a replica says why it ends, up to what is logged next. */
    private static final String WHY = "the replica stops: ";

    private static final Pattern LOGGED_NEXT = Pattern.compile("\n(?=[0-9]{4}-|gorda: |Exception in thread )");

    /** As GORDA, the system, SQLite and HSQLDB say it. */
    private static final Pattern NO_ROOM = Pattern.compile(
            "make room|file too large|sqlite_(full|ioerr)|file input/output error", Pattern.CASE_INSENSITIVE);

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

    /** Those that have not ended, and when they began, in milliseconds. */
    private final Map<Fault, Long> begun = new HashMap<>();

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
        // What ends when another one begins has ended before.
        plan.faults().forEach(fault -> at(fault.atMillis() + fault.lengthMillis(), () -> end(fault)));
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
                if (mayEndUntilMillis[number] < millis() || !isForWantOfRoom(replica.lastOutput())) {
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

    /** @param output of who has ended, up to that */
    static boolean isForWantOfRoom(String output) {
        int begin = output.lastIndexOf(WHY);
        String why = begin < 0 ? output : LOGGED_NEXT.split(output.substring(begin), 2)[0];
        return NO_ROOM.matcher(why).find();
    }

    private void begin(Fault fault) {
        boolean withServers = fault.hitsServers()
                && fault.victims().stream().map(replicas::get).anyMatch(ReplicaProcess::hasServer);
        progress.accept("  fault     " + fault.describe() + (withServers ? ", with its database's server" : ""));
        begun.put(fault, millis());
        switch (fault.kind()) {
            case KILL -> fault.victims().forEach(victim -> kill(victim, fault.hitsServers()));
            case PAUSE -> fault.victims().forEach(victim -> ifAlive(victim, ReplicaProcess::freeze));
            case DISK_FULL ->
                fault.victims().forEach(victim -> {
                    mayEndUntilMillis[victim] = Long.MAX_VALUE;
                    ifAlive(victim, replica -> replica.limitFiles(fault.fileBytesMax()));
                });
            case FLAPPING -> flap(fault);
            case PARTITION, PARTITION_OUT, SLOW -> setLinks();
            case CLOCK -> setClocks();
            case PARTITION_RESET -> {
                setLinks();
                across(fault, links::reset);
            }
        }
    }

    private void end(Fault fault) {
        Long from = begun.remove(fault);
        if (from == null) {
            throw new IllegalStateException("ended before it began: " + fault);
        }
        switch (fault.kind()) {
            case KILL -> fault.victims().forEach(this::start);
            case PAUSE -> fault.victims().forEach(victim -> ifAlive(victim, ReplicaProcess::thaw));
            case DISK_FULL -> fault.victims().forEach(this::makeRoom);
            case PARTITION, PARTITION_OUT, PARTITION_RESET, FLAPPING, SLOW -> setLinks();
            case CLOCK -> setClocks();
        }
        done.add(new Done(fault, from / 1e3, millis() / 1e3));
    }

    /** A process may end at any time. */
    private void ifAlive(int victim, Consumer<ReplicaProcess> action) {
        ReplicaProcess replica = replicas.get(victim);
        try {
            if (replica.isAlive()) {
                action.accept(replica);
            }
        } catch (BenchException e) {
            if (replica.isAlive()) {
                throw e;
            }
        }
    }

    private void kill(int victim, boolean withServer) {
        down.set(victim);
        if (withServer) {
            replicas.get(victim).killWithServer();
        } else {
            replicas.get(victim).kill();
        }
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
            ifAlive(victim, replica -> replica.limitFiles(Long.MAX_VALUE));
        }
    }

    private void flap(Fault fault) {
        if (begun.containsKey(fault)) {
            setLinks();
            at(millis() + FLAP_MILLIS, () -> flap(fault));
        }
    }

    private void setClocks() {
        for (int number = 0; number < replicas.size(); number++) {
            int victim = number;
            Duration ahead = begun.keySet().stream()
                    .filter(fault ->
                            fault.kind() == Kind.CLOCK && fault.victims().contains(victim))
                    .map(Fault::clockAhead)
                    .reduce(Duration.ZERO, Duration::plus);
            replicas.get(victim).moveClock(ahead);
        }
    }

    /** As all faults that have begun and not ended want them together. */
    private void setLinks() {
        boolean[][] cut = new boolean[replicas.size()][replicas.size()];
        int[][] delay = new int[replicas.size()][replicas.size()];
        begun.forEach((fault, from) -> {
            boolean on = fault.kind() != Kind.FLAPPING || (millis() - from) / FLAP_MILLIS % 2 == 0;
            if (fault.kind().isOfLinks() && on) {
                across(fault, (victim, other) -> {
                    cut[victim][other] = true;
                    cut[other][victim] |= fault.kind() != Kind.PARTITION_OUT;
                });
            } else if (fault.kind() == Kind.SLOW) {
                for (int victim : fault.victims()) {
                    for (int other = 0; other < replicas.size(); other++) {
                        delay[victim][other] = Math.max(delay[victim][other], fault.delayMillis());
                        delay[other][victim] = Math.max(delay[other][victim], fault.delayMillis());
                    }
                }
            }
        });
        for (int from = 0; from < replicas.size(); from++) {
            for (int to = 0; to < replicas.size(); to++) {
                links.cut(from, to, cut[from][to]);
                links.delay(from, to, delay[from][to]);
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
