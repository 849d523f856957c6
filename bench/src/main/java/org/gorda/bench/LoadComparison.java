package org.gorda.bench;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.gorda.bench.workload.BenchException;

/**
 * Two results of load tests, run by run: those with the same parameters, whatever their URL and user are. Immutable.
 *
 * @param rows one for each run of the first that the second has, too
 * @param unmatched runs of one of them alone
 */
public record LoadComparison(List<Row> rows, List<String> unmatched) {

    /** Of no matter for whether two runs are of the same load. */
    private static final List<String> WHERE = List.of("url", "user");

    private static final String RESULT = ": name a report.json, or a file with what --json has printed";

    private static final Gson JSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .create();

    /**
     * A run of each. Immutable.
     *
     * @param ratio of the second's throughput to the first's
     * @param ratioLow with {@code ratioHigh} what the ratio is between if each throughput is within its interval
     * @param differs whether that leaves out 1
     * @param p99Ratio of the second's latency to the first's
     */
    public record Row(
            String run,
            double firstPerS,
            double secondPerS,
            double ratio,
            double ratioLow,
            double ratioHigh,
            boolean differs,
            double p50Ratio,
            double p99Ratio,
            double firstAborted,
            double secondAborted,
            double cpuRatio) {

        static Row of(String run, LoadReport first, LoadReport second) {
            double low = second.throughputLow() / Math.max(1e-9, first.throughputHigh());
            double high = second.throughputHigh() / Math.max(1e-9, first.throughputLow());
            return new Row(
                    run,
                    first.throughputPerS(),
                    second.throughputPerS(),
                    second.throughputPerS() / Math.max(1e-9, first.throughputPerS()),
                    low,
                    high,
                    first.timeline().size() > 1 && second.timeline().size() > 1 && (low > 1 || high < 1),
                    second.latency().p50() / Math.max(1e-9, first.latency().p50()),
                    second.latency().p99() / Math.max(1e-9, first.latency().p99()),
                    first.abortedShare(),
                    second.abortedShare(),
                    second.cpuMicros() / Math.max(1e-9, first.cpuMicros()));
        }
    }

    /**
     * Compares two files.
     *
     * @throws BenchException if one is not such a result, or if they have no run in common
     */
    public static LoadComparison of(Path first, Path second) {
        Map<Map<String, String>, LoadReport> firsts = runs(first);
        Map<Map<String, String>, LoadReport> seconds = runs(second);
        List<Row> rows = new ArrayList<>();
        List<String> unmatched = new ArrayList<>();
        firsts.forEach((key, run) -> {
            LoadReport other = seconds.get(key);
            if (other == null) {
                unmatched.add("only " + first + ": " + name(key, firsts));
            } else {
                rows.add(Row.of(name(key, firsts), run, other));
            }
        });
        seconds.keySet().stream()
                .filter(key -> !firsts.containsKey(key))
                .forEach(key -> unmatched.add("only " + second + ": " + name(key, seconds)));
        if (rows.isEmpty()) {
            throw new BenchException(first + " and " + second + " have no run with the same parameters: "
                    + String.join("; ", unmatched));
        }
        return new LoadComparison(rows, unmatched);
    }

    private static Map<Map<String, String>, LoadReport> runs(Path file) {
        List<LoadReport> read = new ArrayList<>();
        try {
            JsonObject root = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
            if (root.has("pairs") && !root.getAsJsonArray("pairs").isEmpty()) {
                for (JsonElement each : root.getAsJsonArray("pairs")) {
                    read.add(middle(each.getAsJsonObject().getAsJsonArray("runs")));
                }
            } else if (root.has("runs")) {
                for (JsonElement each : root.getAsJsonArray("runs")) {
                    read.add(JSON.fromJson(each, LoadReport.class));
                }
            } else {
                read.add(JSON.fromJson(root, LoadReport.class));
            }
        } catch (IOException e) {
            throw new BenchException(
                    file + (Files.exists(file) ? " cannot be read as a file" : " is not there") + RESULT, e);
        } catch (JsonParseException | IllegalStateException e) {
            throw new BenchException(file + " is not a result of a load test" + RESULT, e);
        }
        Map<Map<String, String>, LoadReport> runs = new LinkedHashMap<>();
        for (LoadReport run : read) {
            // What JSON lacks is null, whatever the records say.
            if (Objects.isNull(run.parameters()) || Objects.isNull(run.latency())) {
                throw new BenchException(file + " is not a result of a load test" + RESULT);
            }
            Map<String, String> key = new LinkedHashMap<>(run.parameters());
            key.put("workload", run.workload());
            WHERE.forEach(key::remove);
            key.values().removeIf(String::isBlank); // an older result lacks it
            if (runs.put(key, run) != null) {
                throw new BenchException(file + " has several runs with the same parameters: " + key);
            }
        }
        return runs;
    }

    /** Of turns of one target that of the median throughput. */
    private static LoadReport middle(JsonArray turns) {
        List<LoadReport> runs = new ArrayList<>();
        turns.forEach(turn -> runs.add(JSON.fromJson(turn, LoadReport.class)));
        runs.sort(Comparator.comparingDouble(LoadReport::throughputPerS));
        return runs.get(runs.size() / 2);
    }

    /** What distinguishes a run from the others of its file. */
    private static String name(Map<String, String> key, Map<Map<String, String>, LoadReport> all) {
        String name = key.entrySet().stream()
                .filter(each ->
                        all.keySet().stream().anyMatch(other -> !each.getValue().equals(other.get(each.getKey()))))
                .map(each -> each.getKey() + "=" + each.getValue())
                .collect(Collectors.joining(" "));
        return name.isEmpty() ? key.getOrDefault("workload", "") : name;
    }

    /** For people. */
    public String toText() {
        StringBuilder text = new StringBuilder();
        text.append(String.format(
                "%-28s %11s %11s %24s %8s %8s %8s %15s%n",
                "run", "first/s", "second/s", "ratio", "p50", "p99", "cpu", "aborted"));
        for (Row row : rows) {
            text.append(String.format(
                    Locale.ROOT,
                    "%-28s %,11.1f %,11.1f %8.3f (%.3f to %.3f)%s %7.2f %8.2f %8.2f %6.1f, %.1f %%%n",
                    row.run(),
                    row.firstPerS(),
                    row.secondPerS(),
                    row.ratio(),
                    row.ratioLow(),
                    row.ratioHigh(),
                    row.differs() ? "*" : " ",
                    row.p50Ratio(),
                    row.p99Ratio(),
                    row.cpuRatio(),
                    100 * row.firstAborted(),
                    100 * row.secondAborted()));
        }
        unmatched.forEach(each -> text.append(each).append(System.lineSeparator()));
        return text.append(
                        "* differs by more than the seconds of each run do; runs at different times also differ by what else the"
                                + " machine did: see --against")
                .toString();
    }
}
