package org.gorda.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.gorda.bench.BenchException;
import org.gorda.bench.Demo;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "Keeps one bank on several replica processes under TPC-B load, kills one with kill -9 in the middle, starts it"
                    + " again, and proves that nothing acknowledged is lost and that all replicas hold the same.",
            "Exits with 0 only if that is so."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class DemoCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Option(names = "--replicas", description = "How many processes, 1 to 9.", defaultValue = "3")
    private int replicas;

    @Option(names = "--clients", description = "How many clients at once.", defaultValue = "8")
    private int clients;

    @Option(names = "--duration", description = "How long the load runs: 500ms, 30s, 5m, 1h.", defaultValue = "30s")
    private Duration duration = Duration.ZERO;

    @Option(names = "--kill", description = "Whom: ${COMPLETION-CANDIDATES}.", defaultValue = "PRIMARY")
    private Demo.Kill kill = Demo.Kill.PRIMARY;

    @Option(names = "--protocol", description = "How to replicate.", defaultValue = "primary-backup")
    private String protocol = "";

    @Option(names = "--durability", description = "local, group or group-disk.", defaultValue = "group")
    private String durability = "";

    @Option(names = "--dir", description = "Where the replicas keep everything; a new temporary one if not given.")
    private @Nullable Path directory;

    @Override
    public Integer call() throws IOException {
        Path given = directory;
        if (given != null && Files.exists(given) && !isEmpty(given)) {
            throw new BenchException("--dir " + given + " is not empty: give a new directory");
        }
        Path used = given == null ? Files.createTempDirectory("gorda-demo") : given;
        Demo.Result result;
        try {
            result = new Demo(replicas, clients, duration, kill, protocol, durability, used).run(output::line);
        } catch (RuntimeException e) {
            output.line("what the replicas wrote is in " + used);
            throw e;
        }
        if (!result.proved()) {
            output.line("THE PROOF FAILED; what the replicas wrote is in " + used);
        } else if (given == null) {
            delete(used);
        }
        output.result(result);
        return result.proved() ? 0 : 1;
    }

    private static boolean isEmpty(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.findAny().isEmpty();
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
            for (Path file : deepestFirst) {
                Files.delete(file);
            }
        }
    }
}
