package org.gorda.cli;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.gorda.bench.LoadFiles;
import org.gorda.bench.LoadMatrix;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.Parameter;
import org.gorda.bench.workload.Workload;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The load test of one workload, with an option for each of its parameters. */
@Command(
        mixinStandardHelpOptions = true,
        sortOptions = false,
        footer = {
            "",
            "Several values with | between them, as in --clients='1|4|8', are as many runs, or those of every combination. Values can stand in a"
                    + " properties file, too, by the same names without --; an option wins.",
            "Exits with 0 only if each run has committed something, and what must hold of the data does."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class BenchLoadCommand implements Callable<Integer> {

    private static final int PAIRS = 5;

    private final Workload.Kind kind;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec command;

    @Mixin
    private Output output = new Output();

    @Option(names = "--properties", description = "A file with values of options.")
    private @Nullable Path properties;

    @Option(
            names = "--against",
            description = "A second database: each has its turn, A B, B A, ..., and the ratio of the two is told.")
    private @Nullable String against;

    @Option(names = "--pairs", description = "How many turns each of the two has (default " + PAIRS + ").")
    private @Nullable Integer pairs;

    @Option(
            names = "--report",
            description = "A new directory for a page with charts, JSON, CSV and the latencies (.hlog).")
    private @Nullable Path report;

    private BenchLoadCommand(Workload.Kind kind) {
        this.kind = kind;
    }

    /** The command of a workload. */
    static CommandSpec spec(Workload.Kind kind) {
        CommandSpec spec =
                CommandSpec.forAnnotatedObject(new BenchLoadCommand(kind)).name(kind.name());
        spec.usageMessage().description(kind.text().replace("%", "%%"));
        for (Parameter parameter : LoadMatrix.parameters(kind)) {
            String standard = parameter.standard().isEmpty() ? "" : " (default " + parameter.standard() + ")";
            spec.addOption(OptionSpec.builder("--" + parameter.name())
                    .paramLabel("<" + parameter.range() + ">")
                    .description((parameter.text() + standard).replace("%", "%%"))
                    .type(String.class)
                    .build());
        }
        return spec;
    }

    @Override
    public Integer call() {
        if (against == null && pairs != null) {
            throw new BenchException("--pairs says how many turns each of two has: give the second by --against");
        }
        LoadMatrix.Result result;
        try (LoadFiles files = LoadFiles.in(report)) {
            LoadMatrix matrix = new LoadMatrix(kind, chosen(), output::line, output::share, files::latencies);
            result = against == null
                    ? matrix.run(files::write)
                    : matrix.run(against, pairs == null ? PAIRS : pairs, files::write);
        } finally {
            output.share(1);
        }
        output.result(result.runs().size() == 1 ? result.runs().get(0) : result);
        long idle = result.runs().stream().filter(run -> run.committed() == 0).count();
        if (idle > 0) {
            output.line(
                    "NOTHING WAS COMMITTED in " + idle + " of " + result.runs().size() + " runs");
        }
        return result.consistent() && idle == 0 ? 0 : 1;
    }

    private Map<String, String> chosen() {
        List<String> known =
                LoadMatrix.parameters(kind).stream().map(Parameter::name).toList();
        Map<String, String> chosen = new LinkedHashMap<>();
        if (properties != null) {
            Properties read = new Properties();
            try (Reader in = Files.newBufferedReader(properties, StandardCharsets.UTF_8)) {
                read.load(in);
            } catch (IOException | IllegalArgumentException e) {
                throw new BenchException(
                        "--properties " + properties
                                + (Files.exists(properties) ? " cannot be read" : " is not there")
                                + ": name a file with one name=value a line",
                        e);
            }
            for (String name : new TreeSet<>(read.stringPropertyNames())) {
                if (!known.contains(name)) {
                    throw new BenchException(properties + ": workload " + kind.name() + " has no parameter '" + name
                            + "': it has " + known.stream().collect(Collectors.joining(", ")));
                }
                chosen.put(name, read.getProperty(name));
            }
        }
        for (OptionSpec option : command.options()) {
            String name = option.longestName().substring(2);
            if (known.contains(name) && option.getValue() instanceof String value) {
                chosen.put(name, value);
            }
        }
        return chosen;
    }
}
