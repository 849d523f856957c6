package org.gorda.bench.gcs;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.LoopbackPorts;

/**
 * What the abstraction jGCS costs (figure 3.1 of GORDA's deliverable D5.3): JGroups as it is against the same stack through jGCS, and the
 * toolkits that keep a log beside them. One process for each member has a group of each kind; the first member sends, all deliver. The kinds take turns, so
 * that what else the machine does falls on all, and each has groups that are there all the time. Immutable.
 *
 * @param sizes of messages in bytes, each 16 to 1,000,000
 * @param outstanding how many of the sender's own messages may not have come back to it, each 1 to 1,000; at most 8 MiB with the largest size
 * @param pairs how many turns each kind has for each size and each number outstanding, 1 to 100
 * @param turn how long it sends, 50 ms to 10 min
 * @param warmUp how long each kind sends before, over all sizes, at most 10 min
 * @param members 2 to 7
 */
public record AbstractionCost(
        List<Integer> sizes, List<Integer> outstanding, int pairs, Duration turn, Duration warmUp, int members) {

    private static final int SIZE_MAX = 1_000_000;
    private static final int OUTSTANDING_MAX = 1_000;
    private static final long OUTSTANDING_BYTES_MAX = Side.AHEAD_BYTES_MAX / 2;
    private static final long LONGEST_MILLIS = 600_000;
    private static final Duration WAIT = Duration.ofMinutes(3);
    /** What each member sends while all others do, to compare orders that are nobody's alone. */
    private static final int AT_ONCE = 500;

    private static final int AT_ONCE_BYTES = 100;
    private static final int AT_ONCE_OUTSTANDING = 16;

    public AbstractionCost {
        sizes = List.copyOf(sizes);
        outstanding = List.copyOf(outstanding);
        all("size", sizes, Side.SIZE_MIN, SIZE_MAX);
        all("outstanding", outstanding, 1, OUTSTANDING_MAX);
        long bytes = (long) Collections.max(sizes) * Collections.max(outstanding);
        range("the largest size times the most outstanding", bytes, 1, OUTSTANDING_BYTES_MAX, "bytes");
        range("pairs", pairs, 1, 100, "");
        range("turn", turn.toMillis(), 50, LONGEST_MILLIS, "ms");
        range("warmup", warmUp.toMillis(), 0, LONGEST_MILLIS, "ms");
        range("members", members, 2, 7, "");
    }

    private static void all(String what, List<Integer> values, int min, int max) {
        if (values.isEmpty()) {
            throw new BenchException("no " + what + " is given: name one or more, each " + min + " to " + max);
        }
        values.forEach(value -> range(what, value, min, max, ""));
    }

    private static void range(String what, long value, long min, long max, String unit) {
        if (value < min || value > max) {
            throw new BenchException(
                    (what + " is " + value + " but must be " + min + " to " + max + " " + unit).strip());
        }
    }

    /** One turn of one kind. */
    private record Turn(double perS, double cpuMicros, double p50Micros, double p99Micros) {}

    /** Turns that followed one another. */
    private record Pair(Turn plain, Turn again, Turn jgcs) {

        double throughputRatio() {
            return jgcs.perS / plain.perS;
        }

        double throughputOfItself() {
            return again.perS / plain.perS;
        }

        double cpuRatio() {
            return jgcs.cpuMicros / plain.cpuMicros;
        }

        double cpuOfItself() {
            return again.cpuMicros / plain.cpuMicros;
        }
    }

    /**
     * JGroups against itself through jGCS, medians of the pairs. Rates are messages that all members delivered, for each second from the
     * first message until the last member had the last. Processor time is that of all members' processes for each such message. Latency
     * is the sender's own, until its message came back. Immutable.
     *
     * @param throughputRatio jGCS to native, of each pair of turns, as are all ratios
     * @param selfRatioMin the least ratio of native's throughput to that of another native group
     * @param throughputWithin whether the ratio is not less than that
     * @param cpuWithin whether the ratio of the processor times is not more than native's largest to another native group's
     */
    public record Row(
            String toolkit,
            int size,
            int outstanding,
            double nativePerS,
            double jgcsPerS,
            double throughputRatio,
            double throughputRatioMin,
            double throughputRatioMax,
            double selfRatioMin,
            double selfRatioMax,
            double nativeCpuUs,
            double jgcsCpuUs,
            double cpuRatio,
            double cpuRatioMin,
            double cpuRatioMax,
            double selfCpuRatioMin,
            double selfCpuRatioMax,
            double nativeP50Us,
            double jgcsP50Us,
            double nativeP99Us,
            double jgcsP99Us,
            boolean throughputWithin,
            boolean cpuWithin) {

        private static Row of(String toolkit, int size, int outstanding, List<Pair> pairs) {
            double[] throughputs = sorted(pairs, Pair::throughputRatio);
            double[] itself = sorted(pairs, Pair::throughputOfItself);
            double[] cpu = sorted(pairs, Pair::cpuRatio);
            double[] cpuItself = sorted(pairs, Pair::cpuOfItself);
            return new Row(
                    toolkit,
                    size,
                    outstanding,
                    median(pairs, pair -> pair.plain().perS()),
                    median(pairs, pair -> pair.jgcs().perS()),
                    median(throughputs),
                    least(throughputs),
                    most(throughputs),
                    least(itself),
                    most(itself),
                    median(pairs, pair -> pair.plain().cpuMicros()),
                    median(pairs, pair -> pair.jgcs().cpuMicros()),
                    median(cpu),
                    least(cpu),
                    most(cpu),
                    least(cpuItself),
                    most(cpuItself),
                    median(pairs, pair -> pair.plain().p50Micros()),
                    median(pairs, pair -> pair.jgcs().p50Micros()),
                    median(pairs, pair -> pair.plain().p99Micros()),
                    median(pairs, pair -> pair.jgcs().p99Micros()),
                    median(throughputs) >= least(itself),
                    median(cpu) <= most(cpuItself));
        }

        private String toText() {
            return String.format(
                    Locale.ROOT,
                    "%-17s %6d %4d %,9.0f %,9.0f  %.2f (%.2f-%.2f) %.2f-%.2f %-4s %7.1f %7.1f  %.2f (%.2f-%.2f) %.2f-%.2f %-4s"
                            + " %8.0f %8.0f %8.0f %8.0f",
                    toolkit,
                    size,
                    outstanding,
                    nativePerS,
                    jgcsPerS,
                    throughputRatio,
                    throughputRatioMin,
                    throughputRatioMax,
                    selfRatioMin,
                    selfRatioMax,
                    throughputWithin ? "" : "LESS",
                    nativeCpuUs,
                    jgcsCpuUs,
                    cpuRatio,
                    cpuRatioMin,
                    cpuRatioMax,
                    selfCpuRatioMin,
                    selfCpuRatioMax,
                    cpuWithin ? "" : "MORE",
                    nativeP50Us,
                    jgcsP50Us,
                    nativeP99Us,
                    jgcsP99Us);
        }
    }

    /** A toolkit that keeps a log, which has no other way than jGCS; as in {@link Row}. Immutable. */
    public record LogRow(
            String toolkit,
            int size,
            int outstanding,
            double jgcsPerS,
            double jgcsCpuUs,
            double jgcsP50Us,
            double jgcsP99Us) {

        private static LogRow of(String toolkit, int size, int outstanding, List<Turn> turns) {
            return new LogRow(
                    toolkit,
                    size,
                    outstanding,
                    median(turns, Turn::perS),
                    median(turns, Turn::cpuMicros),
                    median(turns, Turn::p50Micros),
                    median(turns, Turn::p99Micros));
        }

        private String toText() {
            return String.format(
                    Locale.ROOT,
                    "%-17s %6d %4d %9s %,9.0f %35s %7s %7.1f %35s %8.0f %8s %8.0f",
                    toolkit,
                    size,
                    outstanding,
                    "",
                    jgcsPerS,
                    "",
                    "",
                    jgcsCpuUs,
                    "",
                    jgcsP50Us,
                    "",
                    jgcsP99Us);
        }
    }

    /**
     * What came of it. Immutable.
     *
     * @param messages how many all members delivered, of all kinds and with the warm-up; the same ones in the same order, or there is no result
     * @param within whether all rows are within the spread of native against itself
     */
    public record Result(int members, long messages, boolean within, List<Row> rows, List<LogRow> logs) {

        /** For people. */
        public String toText() {
            StringBuilder text = new StringBuilder(String.format(
                    Locale.ROOT,
                    "%-17s %6s %4s %9s %9s  %-16s %-14s %7s %7s  %-16s %-14s %8s %8s %8s %8s%n",
                    "toolkit",
                    "bytes",
                    "out",
                    "native/s",
                    "jGCS/s",
                    "ratio",
                    "itself",
                    "CPU us",
                    "jGCS",
                    "ratio",
                    "itself",
                    "p50 us",
                    "jGCS",
                    "p99 us",
                    "jGCS"));
            rows.forEach(row -> text.append(row.toText()).append('\n'));
            logs.forEach(row -> text.append(row.toText()).append('\n'));
            return text.append(String.format(
                            Locale.ROOT,
                            "%,d messages, the same in the same order at %d members; jGCS is %s the spread of native against itself",
                            messages,
                            members,
                            within ? "within" : "NOT everywhere within"))
                    .toString();
        }
    }

    /**
     * Runs it.
     *
     * @param directory for the files of the toolkit that has some
     * @throws BenchException if a process does not do what it should, or if members delivered different messages or orders
     */
    public Result run(Path directory, Consumer<String> progress) {
        List<Integer> ports = LoopbackPorts.free(Kind.ALL.size() * members);
        List<MemberProcess> processes = new ArrayList<>();
        Thread end = new Thread(() -> close(processes), "end-of-members");
        Runtime.getRuntime().addShutdownHook(end);
        try {
            for (int number = 0; number < members; number++) {
                MemberProcess process = new MemberProcess(number, directory, ports);
                synchronized (processes) {
                    processes.add(process);
                }
            }
            return new Run(processes, progress).run();
        } finally {
            close(processes);
        }
    }

    private static void close(List<MemberProcess> processes) {
        synchronized (processes) {
            processes.forEach(MemberProcess::close);
        }
    }

    /** One run on processes that live. Confined to one thread. */
    private final class Run {
        private final List<MemberProcess> processes;
        private final Consumer<String> progress;
        private final Map<Kind, Long> sent = new EnumMap<>(Kind.class);

        Run(List<MemberProcess> processes, Consumer<String> progress) {
            this.processes = processes;
            this.progress = progress;
        }

        Result run() {
            // The first that joins orders what the others send. The sender comes last: it is to have its messages back
            // from another.
            List<MemberProcess> joining = new ArrayList<>(processes);
            Collections.rotate(joining, -1);
            for (MemberProcess process : joining) {
                process.order("join");
                process.answer(WAIT);
            }
            processes.forEach(process -> process.order("form"));
            processes.forEach(process -> process.answer(WAIT));
            progress.accept(members + " members, " + Kind.ALL.size() + " groups each");
            Kind.ALL.forEach(this::sendAtOnce);
            warmUp();
            return measure();
        }

        private void sendAtOnce(Kind kind) {
            String order = order(kind, AT_ONCE_BYTES, AT_ONCE_OUTSTANDING, WAIT.toNanos(), AT_ONCE);
            processes.forEach(process -> process.order(order));
            processes.forEach(process -> process.answer(WAIT));
            requireDelivered(kind, (long) AT_ONCE * members);
        }

        private static String order(Kind kind, int size, int outstanding, long nanos, long countMax) {
            return String.join(
                    " ",
                    "send",
                    kind.name(),
                    Integer.toString(size),
                    Integer.toString(outstanding),
                    Long.toString(nanos),
                    Long.toString(countMax));
        }

        /** Waits until all have so many more messages. */
        private void requireDelivered(Kind kind, long more) {
            long count = sent.merge(kind, more, Long::sum);
            processes.forEach(process -> process.order("deliver " + kind + " " + count));
            List<String[]> answers =
                    processes.stream().map(process -> process.answer(WAIT)).toList();
            List<String> digests = answers.stream().map(answer -> answer[1]).toList();
            if (digests.stream().distinct().count() > 1) {
                throw new BenchException("members delivered different messages or orders of " + kind + ": of " + count
                        + " messages they have the digests " + digests);
            }
            if (!kind.keepsLog() && Boolean.parseBoolean(answers.get(0)[2])) {
                throw new BenchException("the sender has become the coordinator of " + kind
                        + ", so that turns do not compare: run it again");
            }
        }

        private void warmUp() {
            long each = warmUp.toNanos() / ((long) sizes.size() * outstanding.size());
            progress.accept("warms up for " + warmUp.toSeconds() * Kind.ALL.size() + " s");
            for (int bytes : sizes) {
                for (int many : outstanding) {
                    Kind.ALL.forEach(kind -> turn(kind, bytes, many, each));
                }
            }
        }

        private Turn turn(Kind kind, int size, int outstanding, long nanos) {
            MemberProcess sender = processes.get(0);
            Duration cpuBefore = cpu();
            long begin = System.nanoTime();
            sender.order(order(kind, size, outstanding, nanos, Long.MAX_VALUE));
            String[] answer = sender.answer(WAIT.plusNanos(nanos));
            long count = Long.parseLong(answer[1]);
            requireDelivered(kind, count);
            double seconds = (System.nanoTime() - begin) / 1e9;
            double micros = cpu().minus(cpuBefore).toNanos() / 1e3;
            return new Turn(
                    count / seconds,
                    micros / Math.max(1, count),
                    Double.parseDouble(answer[2]),
                    Double.parseDouble(answer[3]));
        }

        private Duration cpu() {
            return processes.stream().map(MemberProcess::cpu).reduce(Duration.ZERO, Duration::plus);
        }

        private Result measure() {
            List<Row> rows = new ArrayList<>();
            List<LogRow> logs = new ArrayList<>();
            for (int many : outstanding) {
                for (int bytes : sizes) {
                    List<Pair> fifo = new ArrayList<>();
                    List<Pair> sequencer = new ArrayList<>();
                    Map<Kind, List<Turn>> logged = new EnumMap<>(Kind.class);
                    for (int number = 0; number < pairs; number++) {
                        fifo.add(pair(number, bytes, many, Kind.FIFO_NATIVE, Kind.FIFO_AGAIN, Kind.FIFO_JGCS));
                        sequencer.add(pair(
                                number, bytes, many, Kind.SEQUENCER_NATIVE, Kind.SEQUENCER_AGAIN, Kind.SEQUENCER_JGCS));
                        for (Kind kind : Kind.ALL) {
                            if (kind.keepsLog()) {
                                logged.computeIfAbsent(kind, first -> new ArrayList<>())
                                        .add(turn(kind, bytes, many, turn.toNanos()));
                            }
                        }
                    }
                    rows.add(Row.of(Kind.FIFO_JGCS.toolkit(), bytes, many, fifo));
                    rows.add(Row.of(Kind.SEQUENCER_JGCS.toolkit(), bytes, many, sequencer));
                    logged.forEach((kind, turns) -> logs.add(LogRow.of(kind.toolkit(), bytes, many, turns)));
                    progress.accept(String.format(
                            Locale.ROOT,
                            "%d bytes, %d outstanding: fifo %.2f, sequencer %.2f of native's throughput; %.2f, %.2f of its CPU",
                            bytes,
                            many,
                            rows.get(rows.size() - 2).throughputRatio(),
                            rows.get(rows.size() - 1).throughputRatio(),
                            rows.get(rows.size() - 2).cpuRatio(),
                            rows.get(rows.size() - 1).cpuRatio()));
                }
            }
            rows.sort(Comparator.comparing(Row::toolkit).thenComparing(Row::outstanding));
            logs.sort(Comparator.comparing(LogRow::toolkit).thenComparing(LogRow::outstanding));
            long messages = sent.values().stream().mapToLong(Long::longValue).sum();
            boolean within = rows.stream().allMatch(row -> row.throughputWithin() && row.cpuWithin());
            return new Result(members, messages, within, List.copyOf(rows), List.copyOf(logs));
        }

        /** Turns one after the other, each time beginning with the next. */
        private Pair pair(int number, int size, int outstanding, Kind plain, Kind again, Kind jgcs) {
            List<Kind> order = new ArrayList<>(List.of(plain, jgcs, again));
            Collections.rotate(order, number);
            Map<Kind, Turn> turns = new EnumMap<>(Kind.class);
            order.forEach(kind -> turns.put(kind, turn(kind, size, outstanding, turn.toNanos())));
            return new Pair(
                    Objects.requireNonNull(turns.get(plain)),
                    Objects.requireNonNull(turns.get(again)),
                    Objects.requireNonNull(turns.get(jgcs)));
        }
    }

    private static double[] sorted(List<Pair> pairs, ToDoubleFunction<Pair> value) {
        return pairs.stream().mapToDouble(value).sorted().toArray();
    }

    private static <T> double median(List<T> of, ToDoubleFunction<T> value) {
        return median(of.stream().mapToDouble(value).sorted().toArray());
    }

    private static double median(double[] sorted) {
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private static double least(double[] sorted) {
        return sorted[0];
    }

    private static double most(double[] sorted) {
        return sorted[sorted.length - 1];
    }
}
