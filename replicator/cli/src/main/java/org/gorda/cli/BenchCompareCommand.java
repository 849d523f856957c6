package org.gorda.cli;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.gorda.bench.LoadComparison;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        description =
                "Compares two load tests, run by run: the second's throughput and latency as ratios to the first's.")
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class BenchCompareCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Parameters(
            index = "0",
            paramLabel = "A.json",
            description = "report.json of the first, or what --json has printed.")
    private Path first = Path.of("");

    @Parameters(index = "1", paramLabel = "B.json", description = "That of the second.")
    private Path second = Path.of("");

    @Override
    public Integer call() {
        LoadComparison comparison = LoadComparison.of(first, second);
        output.line(comparison.toText());
        output.result(comparison);
        return 0;
    }
}
