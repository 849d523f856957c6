package org.gorda.bench;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;

/**
 * What is kept of load tests: {@code report.json}, which {@code gorda bench compare} reads; {@code runs.csv} and {@code seconds.csv};
 * {@code latency.hlog}, for HdrHistogram's tools; and {@code index.html}, a page that needs nothing else. Confined to one thread.
 */
public final class LoadFiles implements AutoCloseable {

    private static final Gson JSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .serializeNulls()
            .setPrettyPrinting()
            .create();

    private final @Nullable Path directory;
    private @Nullable PrintStream stream;
    private @Nullable HistogramLogWriter log;

    private LoadFiles(@Nullable Path directory) {
        this.directory = directory;
    }

    /**
     * Nothing is made before there is something to be written.
     *
     * @param directory null to keep nothing
     * @throws BenchException if it is there already, or cannot be made
     */
    public static LoadFiles in(@Nullable Path directory) {
        if (directory != null && Files.exists(directory)) {
            throw new BenchException("--report " + directory + " is there already: give a new directory");
        }
        if (directory != null) {
            Path above = directory.toAbsolutePath().normalize().getParent();
            while (above != null && !Files.exists(above)) {
                above = above.getParent();
            }
            if (above == null || !Files.isDirectory(above) || !Files.isWritable(above)) {
                throw new BenchException("--report " + directory + " cannot be made in " + above
                        + ": give a new directory where you may write");
            }
        }
        return new LoadFiles(directory);
    }

    /** Those of a second. */
    public void latencies(Histogram second) {
        Path to = directory;
        if (to != null) {
            HistogramLogWriter open = log;
            if (open == null) {
                open = open(to);
                log = open;
            }
            open.outputIntervalHistogram(second);
        }
    }

    private HistogramLogWriter open(Path to) {
        try {
            Files.createDirectories(to);
            PrintStream out =
                    new PrintStream(Files.newOutputStream(to.resolve("latency.hlog")), false, StandardCharsets.UTF_8);
            stream = out;
            HistogramLogWriter writer = new HistogramLogWriter(out);
            writer.outputLogFormatVersion();
            writer.outputLegend();
            return writer;
        } catch (IOException e) {
            throw new BenchException(to + " cannot be written: " + e, e);
        }
    }

    /** Writes the rest, in the place of what was written before. */
    public void write(LoadMatrix.Result result) {
        if (directory == null) {
            return;
        }
        try {
            Files.createDirectories(directory);
            Path written = directory.resolve("report.json.new"); // what was there stays if this cannot be written
            Files.writeString(written, JSON.toJson(result));
            Files.move(written, directory.resolve("report.json"), StandardCopyOption.REPLACE_EXISTING);
            runs(directory.resolve("runs.csv"), result.runs());
            seconds(directory.resolve("seconds.csv"), result.runs());
        } catch (IOException e) {
            throw new BenchException(directory + " cannot be written: " + e, e);
        }
        Page.write(directory.resolve("index.html"), LoadFiles.class, "load.html", result);
    }

    private static void runs(Path file, List<LoadReport> runs) throws IOException {
        TreeSet<String> causes = new TreeSet<>();
        TreeSet<String> parameters = new TreeSet<>();
        for (LoadReport run : runs) {
            causes.addAll(run.aborted().keySet());
            parameters.addAll(run.parameters().keySet());
        }
        List<Object> header = new ArrayList<>(List.of("workload"));
        header.addAll(parameters);
        header.addAll(List.of("measured_s", "committed", "throughput_per_s", "throughput_low", "throughput_high"));
        header.addAll(List.of(
                "retried", "unknown", "not_begun", "mean_ms", "mean_below_p95_ms", "p50_ms", "p90_ms", "p95_ms"));
        header.addAll(List.of("p99_ms", "p999_ms", "max_ms", "cpu_us", "consistent"));
        header.addAll(causes);
        try (CSVPrinter csv = CSVFormat.RFC4180.print(file, StandardCharsets.UTF_8)) {
            csv.printRecord(header);
            for (LoadReport run : runs) {
                Latencies latency = run.latency();
                List<Object> values = new ArrayList<>(List.of(run.workload()));
                parameters.forEach(name -> values.add(run.parameters().getOrDefault(name, "")));
                values.addAll(List.of(run.seconds(), run.committed(), run.throughputPerS(), run.throughputLow()));
                values.addAll(List.of(run.throughputHigh(), run.retried(), run.unknown(), run.notBegun()));
                values.add(latency.mean());
                values.addAll(List.of(latency.meanBelowP95(), latency.p50(), latency.p90(), latency.p95()));
                values.addAll(List.of(latency.p99(), latency.p999(), latency.max(), run.cpuMicros()));
                values.add(run.check().consistent());
                causes.forEach(cause -> values.add(run.aborted().getOrDefault(cause, 0L)));
                csv.printRecord(values);
            }
        }
    }

    private static void seconds(Path file, List<LoadReport> runs) throws IOException {
        try (CSVPrinter csv = CSVFormat.RFC4180.print(file, StandardCharsets.UTF_8)) {
            csv.printRecord("run", "second", "committed", "aborted", "unknown", "no_connection", "p50_ms", "p99_ms");
            for (int run = 0; run < runs.size(); run++) {
                List<Timeline.Second> timeline = runs.get(run).timeline();
                for (int second = 0; second < timeline.size(); second++) {
                    Timeline.Second each = timeline.get(second);
                    csv.printRecord(
                            run + 1,
                            second + 1,
                            each.committed(),
                            each.failed(),
                            each.unknown(),
                            each.noConnection(),
                            each.p50Ms(),
                            each.p99Ms());
                }
            }
        }
    }

    @Override
    public void close() {
        if (stream != null) {
            stream.close();
        }
    }
}
