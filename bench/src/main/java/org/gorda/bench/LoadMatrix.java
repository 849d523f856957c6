package org.gorda.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.DoubleConsumer;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.Parameter;
import org.gorda.bench.workload.Parameters;
import org.gorda.bench.workload.Workload;

/**
 * Load tests with every combination of the values that were chosen: {@code clients=1|4|8} is three. Each can be run in turns against
 * a second target (A B, B A, …), so that what else the machine does falls on both. Confined to one thread.
 */
public final class LoadMatrix {

    private static final String SEVERAL = "\\|";
    private static final int COMBINATIONS_MAX = 1_000;
    private static final String URL = "url";
    private static final String PASSWORD = "password";
    private static final Pattern PASSWORD_IN_URL = Pattern.compile("(?i)(password)=[^;&\\s]*");
    private static final String GROUPS = "groups";
    private static final Pattern GROUP = Pattern.compile("\\s*([\\w-]+)\\s*:(.*)");

    /** What a group of clients can have otherwise than the others, besides the workload's own. */
    private static final List<String> OF_GROUP = List.of("clients", "ramp-step", "ramp-every", "think", "rate");

    /** Of turns that follow others: until all connections are there and have prepared their statements. */
    private static final Duration CONNECTED = Duration.ofSeconds(1);

    /** What all workloads have besides their own. */
    private static final List<Parameter> COMMON = List.of(
            Parameter.text(
                    URL,
                    "",
                    "URL",
                    "The database, or several with spaces between them: each client uses one, in turns."),
            Parameter.text("user", "", "name", "Who uses it."),
            Parameter.text(PASSWORD, "", "word", "With which password."),
            Parameter.number("clients", 8, 1, 9_999, "How many at once; with groups, in each."),
            Parameter.duration("duration", "30s", "How long to measure: 500ms, 30s, 5m, 1h."),
            Parameter.duration("warmup", "5s", "How long to run before."),
            Parameter.number(
                    "ramp-step",
                    9_999,
                    1,
                    9_999,
                    "How many clients begin at first, and each time that --ramp-every has passed."),
            Parameter.duration("ramp-every", "0s", "When more clients begin; the warm-up begins when all have."),
            Parameter.text(
                    GROUPS,
                    "",
                    "name: option=value ...; ...",
                    "Clients of several kinds at once, each with " + String.join(", ", OF_GROUP)
                            + " or the workload's options of its own; what is not among them is as for all."),
            Parameter.duration("think", "0s", "How long a client waits after each transaction."),
            Parameter.number(
                    "rate",
                    0,
                    0,
                    10_000_000,
                    "How many transactions are to begin each second (open loop), with groups in each; 0 for each after the one before."),
            Parameter.number(
                    "retries", 0, 0, 1_000_000, "How often a transaction that was refused with 40001 is run again."),
            Parameter.number("seed", 1, 0, Long.MAX_VALUE, "Of the clients' random choices."));

    /**
     * Turns of two targets, which took one after the other. Immutable.
     *
     * @param ratio of the throughput to the other's: the median of the pairs
     * @param cpuRatio of the processor time of this process for each committed transaction, which says something of embedded databases
     */
    public record Paired(
            Map<String, String> parameters,
            String against,
            double ratio,
            double ratioMin,
            double ratioMax,
            double cpuRatio,
            double p99Ratio,
            List<LoadReport> runs,
            List<LoadReport> others) {

        /** For people. */
        String toText() {
            return String.format(
                    Locale.ROOT,
                    "ratio       %.3f (%.3f to %.3f) of the throughput of %s, processor time %.2f times, p99 %.2f times",
                    ratio,
                    ratioMin,
                    ratioMax,
                    against,
                    cpuRatio,
                    p99Ratio);
        }
    }

    /**
     * What came of it. Immutable.
     *
     * @param pairs empty if there was one target
     */
    public record Result(String workload, List<LoadReport> runs, List<Paired> pairs) {

        /** Whether what must hold did after each run. */
        public boolean consistent() {
            return runs.stream().allMatch(run -> run.check().consistent());
        }
    }

    /** Clients of one kind. Immutable. */
    private record Clients(String name, Parameters values, Workload workload) {

        static Clients of(Workload.Kind kind, String name, Map<String, String> chosen) {
            Parameters values = new Parameters(parameters(kind), chosen);
            Map<String, String> own = new LinkedHashMap<>();
            kind.parameters().forEach(each -> own.put(each.name(), values.text(each.name())));
            return new Clients(name, values, kind.make().apply(new Parameters(kind.parameters(), own)));
        }

        /** Those that a text lists, or one group of all. */
        static List<Clients> all(Workload.Kind kind, Map<String, String> chosen, String listed) {
            if (listed.isBlank()) {
                return List.of(of(kind, "all", chosen));
            }
            Map<String, Clients> groups = new LinkedHashMap<>();
            for (String each : listed.split(";", -1)) {
                Matcher group = GROUP.matcher(each);
                if (!group.matches()) {
                    throw new BenchException(
                            "groups has '" + each.strip() + "' but must be name: option=value ...; name: ...");
                }
                Map<String, String> values = new LinkedHashMap<>(chosen);
                values.putAll(own(kind, group.group(1), group.group(2)));
                if (groups.put(group.group(1), of(kind, group.group(1), values)) != null) {
                    throw new BenchException("groups has '" + group.group(1) + "' twice");
                }
            }
            return List.copyOf(groups.values());
        }

        private static Map<String, String> own(Workload.Kind kind, String group, String options) {
            List<String> known = new ArrayList<>(OF_GROUP);
            kind.parameters().forEach(each -> known.add(each.name()));
            Map<String, String> values = new LinkedHashMap<>();
            for (String option : options.strip().split("\\s+", -1)) {
                String[] parts = option.split("=", 2);
                if (parts.length < 2 || !known.contains(parts[0])) {
                    throw new BenchException("group " + group + " has '" + option
                            + "' but can have only option=value, with " + String.join(", ", known));
                }
                values.put(parts[0], parts[1]);
            }
            return values;
        }
    }

    /** One of each value. Immutable. */
    private record Combination(Map<String, String> chosen, Parameters values, List<Clients> groups) {

        static Combination of(Workload.Kind kind, Map<String, String> chosen) {
            Parameters values = new Parameters(parameters(kind), chosen);
            if (values.text(URL).isBlank()) {
                throw new BenchException("url is not set: say which database");
            }
            return new Combination(chosen, values, Clients.all(kind, chosen, values.text(GROUPS)));
        }

        Duration warmUp() {
            return values.duration("warmup");
        }

        /** All values but passwords, as they were used with a target. */
        Map<String, String> shown(String url) {
            Map<String, String> shown = new LinkedHashMap<>(values.all());
            shown.put(URL, url);
            shown.remove(PASSWORD);
            shown.replaceAll((name, value) -> masked(value));
            return shown;
        }
    }

    /** A value, in which URLs may be, as others may read it. */
    private static String masked(String value) {
        return PASSWORD_IN_URL.matcher(value).replaceAll("$1=***");
    }

    private final Workload.Kind kind;
    private final List<Combination> combinations;
    private final Consumer<String> progress;
    private final DoubleConsumer share;
    private final Consumer<Histogram> histograms;
    private Duration planned = Duration.ZERO;
    private Duration passed = Duration.ZERO;

    /**
     * Checks all values before anything is run.
     *
     * @param chosen by name of the parameter; several values with {@code |} between them
     * @param share gets once a second which share of the time that all runs take has passed, 0 to 1
     * @throws BenchException if a value cannot be
     */
    public LoadMatrix(
            Workload.Kind kind,
            Map<String, String> chosen,
            Consumer<String> progress,
            DoubleConsumer share,
            Consumer<Histogram> histograms) {
        this.kind = kind;
        this.progress = progress;
        this.share = share;
        this.histograms = histograms;
        this.combinations = combinations(chosen).stream()
                .map(each -> Combination.of(kind, each))
                .toList();
        combinations.forEach(each -> test(each, each.values().text(URL), Duration.ZERO)); // checks what only it can
    }

    /** Of a workload of a kind: its own, and those of all. */
    public static List<Parameter> parameters(Workload.Kind kind) {
        List<Parameter> all = new ArrayList<>(COMMON);
        all.addAll(kind.parameters());
        return all;
    }

    private static List<Map<String, String>> combinations(Map<String, String> chosen) {
        List<Map<String, String>> all = new ArrayList<>(List.of(Map.of()));
        chosen.forEach((name, value) -> {
            List<String> values = name.equals(PASSWORD) ? List.of(value) : List.of(value.split(SEVERAL, -1));
            if ((long) all.size() * values.size() > COMBINATIONS_MAX) {
                throw new BenchException("the values that were chosen have more than " + COMBINATIONS_MAX
                        + " combinations: choose fewer");
            }
            List<Map<String, String>> more = new ArrayList<>();
            for (Map<String, String> begun : all) {
                for (String one : values) {
                    Map<String, String> combination = new LinkedHashMap<>(begun);
                    combination.put(name, one.strip());
                    more.add(combination);
                }
            }
            all.clear();
            all.addAll(more);
        });
        return all;
    }

    /**
     * Runs all, one after the other.
     *
     * @param soFar gets what there is after each
     */
    public Result run(Consumer<Result> soFar) {
        combinations.forEach(each -> plan(each, each.warmUp(), 1));
        List<LoadReport> runs = new ArrayList<>();
        for (Combination combination : combinations) {
            tellDifference(combination);
            LoadReport report = run(combination, combination.values().text(URL), combination.warmUp());
            progress.accept(report.toText());
            runs.add(report);
            soFar.accept(new Result(kind.name(), runs, List.of()));
        }
        return new Result(kind.name(), runs, List.of());
    }

    /**
     * Runs each combination in so many turns, and as many of another target.
     *
     * @param soFar gets what there is after each pair
     */
    public Result run(String against, int pairs, Consumer<Result> soFar) {
        if (pairs < 1 || pairs > 1_000) {
            throw new BenchException("pairs is " + pairs + " but must be 1 to 1000");
        }
        for (Combination combination : combinations) {
            plan(combination, combination.warmUp(), 2);
            plan(combination, CONNECTED, 2 * (pairs - 1));
        }
        List<Paired> done = new ArrayList<>();
        for (Combination combination : combinations) {
            tellDifference(combination);
            Paired paired = run(combination, against, pairs, begun -> {
                List<Paired> all = new ArrayList<>(done);
                all.add(begun);
                soFar.accept(paired(all));
            });
            progress.accept(paired.toText());
            done.add(paired);
        }
        return paired(done);
    }

    private Result paired(List<Paired> done) {
        List<LoadReport> all = new ArrayList<>();
        for (Paired paired : done) {
            all.addAll(paired.runs());
            all.addAll(paired.others());
        }
        return new Result(kind.name(), all, done);
    }

    private Paired run(Combination combination, String against, int pairs, Consumer<Paired> soFar) {
        String target = combination.values().text(URL);
        List<LoadReport> ours = new ArrayList<>();
        List<LoadReport> others = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            Duration warmUp = pair == 0 ? combination.warmUp() : CONNECTED;
            boolean first = pair % 2 == 0;
            if (first) {
                ours.add(turn(combination, target, warmUp));
            }
            others.add(turn(combination, against, warmUp));
            if (!first) {
                ours.add(turn(combination, target, warmUp));
            }
            soFar.accept(paired(combination, against, ours, others));
        }
        return paired(combination, against, ours, others);
    }

    private static Paired paired(
            Combination combination, String against, List<LoadReport> ours, List<LoadReport> others) {
        double[] ratios = ratios(ours, others, LoadReport::throughputPerS);
        return new Paired(
                combination.shown(combination.values().text(URL)),
                masked(against),
                median(ratios),
                ratios[0],
                ratios[ratios.length - 1],
                median(ratios(ours, others, LoadReport::cpuMicros)),
                median(ratios(ours, others, report -> report.latency().p99())),
                List.copyOf(ours),
                List.copyOf(others));
    }

    private LoadReport turn(Combination combination, String url, Duration warmUp) {
        LoadReport report = run(combination, url, warmUp);
        progress.accept(String.format(
                Locale.ROOT,
                "turn        %,9.1f/s   p99 %8.3f ms   aborted %4.1f %%   %,7.0f us of processor time each   %s",
                report.throughputPerS(),
                report.latency().p99(),
                100 * report.abortedShare(),
                report.cpuMicros(),
                masked(url)));
        return report;
    }

    /** In ascending order. */
    private static double[] ratios(List<LoadReport> ours, List<LoadReport> others, ToDoubleFunction<LoadReport> value) {
        double[] ratios = new double[ours.size()];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = value.applyAsDouble(ours.get(i)) / Math.max(1e-9, value.applyAsDouble(others.get(i)));
        }
        Arrays.sort(ratios);
        return ratios;
    }

    private static double median(double[] sorted) {
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private LoadReport run(Combination combination, String url, Duration warmUp) {
        LoadTest test = test(combination, url, warmUp);
        Duration after = passed.plus(test.length());
        LoadReport report = test.everySecond(() -> {
                    Duration now = passed.plusSeconds(1);
                    pass(now.compareTo(after) < 0 ? now : after);
                })
                .run();
        pass(after);
        return report;
    }

    private void plan(Combination combination, Duration warmUp, int times) {
        planned = planned.plus(test(combination, combination.values().text(URL), warmUp)
                .length()
                .multipliedBy(times));
    }

    private void pass(Duration now) {
        passed = now;
        share.accept(now.toMillis() / (double) planned.toMillis());
    }

    private LoadTest test(Combination combination, String url, Duration warmUp) {
        Parameters values = combination.values();
        LoadTest test = LoadTest.empty()
                .target(url.strip().split("\\s+"))
                .as(values.text("user"), values.text(PASSWORD))
                .retries(values.number("retries"))
                .seed(Long.parseLong(values.text("seed")))
                .warmUp(warmUp)
                .duration(values.duration("duration"))
                .parameters(combination.shown(url))
                .progress(progress)
                .histograms(histograms);
        for (Clients group : combination.groups()) {
            Parameters own = group.values();
            test.group(group.name(), group.workload())
                    .clients(own.number("clients"))
                    .ramp(own.number("ramp-step"), own.duration("ramp-every"))
                    .think(own.duration("think"));
            if (own.number("rate") > 0) {
                test.rate(own.number("rate"));
            }
        }
        return test;
    }

    /** What distinguishes a combination from the others. */
    private void tellDifference(Combination combination) {
        Map<String, String> first = combinations.get(0).chosen();
        List<String> parts = new ArrayList<>();
        combination.chosen().forEach((name, value) -> {
            if (combinations.stream()
                    .anyMatch(other -> !Objects.equals(other.chosen().get(name), first.get(name)))) {
                parts.add(name + "=" + masked(value));
            }
        });
        if (!parts.isEmpty()) {
            progress.accept("run         " + String.join(" ", parts));
        }
    }
}
