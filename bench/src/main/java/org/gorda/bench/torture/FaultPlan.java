package org.gorda.bench.torture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.gorda.bench.torture.Fault.Kind;
import org.gorda.bench.workload.BenchException;

/**
 * Which faults there are in a run, drawn before it begins: the same for the same seed. They overlap; no replica has two of its
 * process at once, and there is one partition at a time. Immutable.
 */
record FaultPlan(List<Fault> faults) {

    private static final long FIRST_MILLIS = 2_000;
    private static final long CALM_AT_THE_END_MILLIS = 3_000;
    private static final int GAP_MILLIS_MIN = 1_500;
    private static final int GAP_MILLIS_SPREAD = 7_000;
    private static final int LENGTH_MILLIS_MIN = 100;
    private static final double LENGTH_FACTOR_MAX = 100;
    private static final int START_MILLIS = 4_000;

    FaultPlan {
        faults = List.copyOf(faults);
    }

    /** What can be asked for, in the order of declaration. */
    static List<String> families() {
        return Stream.of(Kind.values()).map(Kind::family).distinct().toList();
    }

    /**
     * Draws one.
     *
     * @param families which kinds of faults
     */
    static FaultPlan of(long seed, Duration duration, int replicas, Set<String> families) {
        for (String family : families) {
            if (!families().contains(family)) {
                throw new BenchException("there is no fault '" + family + "': use " + String.join(",", families()));
            }
        }
        return new FaultPlan(new Drawing(new SplittableRandom(seed), replicas, new TreeSet<>(families))
                .draw(duration.toMillis() - CALM_AT_THE_END_MILLIS));
    }

    /** A plan that is being drawn. Confined to one thread. */
    private static final class Drawing {
        private final SplittableRandom random;
        private final int replicas;
        private final List<String> families;
        private final long[] busyUntil;
        private long linksBusyUntil;

        Drawing(SplittableRandom random, int replicas, Set<String> families) {
            this.random = random;
            this.replicas = replicas;
            this.families = List.copyOf(families);
            this.busyUntil = new long[replicas];
        }

        List<Fault> draw(long end) {
            List<Fault> faults = new ArrayList<>();
            long at = FIRST_MILLIS;
            while (!families.isEmpty() && at < end) {
                Fault fault = draw(at, end);
                if (!fault.victims().isEmpty()) {
                    faults.add(fault);
                }
                at += GAP_MILLIS_MIN + random.nextInt(GAP_MILLIS_SPREAD);
            }
            return faults;
        }

        /** Short ones are as frequent as long ones, a hundred times as long. */
        private long length() {
            return Math.round(LENGTH_MILLIS_MIN * Math.pow(LENGTH_FACTOR_MAX, random.nextDouble()));
        }

        private Fault draw(long at, long end) {
            String family = families.get(random.nextInt(families.size()));
            List<Kind> kinds = Arrays.stream(Kind.values())
                    .filter(kind -> kind.family().equals(family))
                    .toList();
            Kind kind = kinds.get(random.nextInt(kinds.size()));
            long length = Math.min(length(), Math.max(1, end - at));
            return new Fault(kind, at, length, victims(kind, at, length), random.nextDouble());
        }

        private List<Integer> victims(Kind kind, long at, long length) {
            if (kind.isOfLinks()) {
                if (at < linksBusyUntil || replicas == 1) {
                    return List.of();
                }
                linksBusyUntil = at + length;
                return some(1 + random.nextInt(Math.max(1, replicas / 2)), false, at);
            }
            List<Integer> victims = some(count(kind), kind.isOfProcess(), at);
            if (kind.isOfProcess()) {
                long until = at + length + (kind == Kind.PAUSE ? 0 : START_MILLIS);
                victims.forEach(victim -> busyUntil[victim] = until);
            }
            return victims;
        }

        private int count(Kind kind) {
            int dice = random.nextInt(10);
            if (kind == Kind.DISK_FULL || dice < 6) {
                return 1;
            }
            return dice < 8 || kind == Kind.PAUSE ? Math.min(2, replicas) : replicas;
        }

        private List<Integer> some(int count, boolean free, long at) {
            List<Integer> all = new ArrayList<>();
            for (int replica = 0; replica < replicas; replica++) {
                if (!free || busyUntil[replica] <= at) {
                    all.add(random.nextInt(all.size() + 1), replica);
                }
            }
            return List.copyOf(all.subList(0, Math.min(count, all.size())));
        }
    }
}
