package org.gorda.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.gorda.bench.Engine;
import org.gorda.bench.torture.Isolation;
import org.gorda.bench.torture.Torture;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "torture",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "Runs replica processes under faults drawn from a seed (kill -9 of one, several or all, SIGSTOP, cut and slow links,"
                    + " full disks) and under the load of clients that write down what they are told: appends to lists, transfers"
                    + " of money, pairs that write skew would break, unique names, orders with generated ids, changes of the schema."
                    + " Then it heals everything and compares: nothing lost, nothing twice, nothing different, no cycle that"
                    + " the transactions' levels forbid.",
            "Writes the histories for Elle, dbcop and Porcupine, and a page with the faults over throughput and latency.",
            "Exits with 0 only if nothing was found."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class TortureCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Option(names = "--duration", description = "How long the load runs, 10s to 2h.", defaultValue = "60s")
    private Duration duration = Duration.ZERO;

    @Option(
            names = "--seed",
            description =
                    "Of the faults and of what the clients do. A random one if not given. The processes' timing is not the"
                            + " seed's: a run cannot be repeated exactly.")
    private @Nullable Long seed;

    @Option(names = "--replicas", description = "How many processes, 1 to 9.", defaultValue = "3")
    private int replicas;

    @Option(names = "--clients", description = "How many clients at once.", defaultValue = "10")
    private int clients;

    @Option(names = "--protocol", description = "primary-backup or certification.", defaultValue = "certification")
    private String protocol = "";

    @Option(names = "--durability", description = "local, group or group-disk.", defaultValue = "group")
    private String durability = "";

    @Option(
            names = "--faults",
            split = ",",
            description = "Which: kill, pause, partition, slow, disk-full; also clock, where libfaketime is installed.",
            defaultValue = "kill,pause,partition,slow,disk-full")
    private Set<String> faults = new LinkedHashSet<>();

    @Option(
            names = "--isolation",
            description =
                    "The level of all transactions: ${COMPLETION-CANDIDATES}; a mixture if not given. Checkers that know one"
                            + " level at a time need one.")
    private @Nullable Isolation isolation;

    @Mixin
    private EngineOption engine = new EngineOption();

    @Mixin
    private WorkDirectory directory = new WorkDirectory();

    @Option(
            names = "--report",
            description =
                    "A new directory for the histories and the page; gorda-torture/TIME-PROTOCOL-SEED if not given.")
    private @Nullable Path report;

    @Override
    public Integer call() throws IOException {
        long drawn = seed == null ? ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE) : seed;
        Path to = report == null ? Path.of("gorda-torture", name(drawn)) : report;
        if (Files.exists(to)) {
            throw new BenchException("--report " + to + " is there already: give a new directory");
        }
        Engine chosen = engine.engine();
        Torture.Result result = directory.work(
                output,
                used -> new Torture(
                                duration,
                                drawn,
                                replicas,
                                clients,
                                protocol,
                                durability,
                                faults,
                                isolation,
                                chosen,
                                used,
                                to)
                        .run(output::line),
                Torture.Result::ok);
        output.line(String.format(
                Locale.ROOT,
                "%s   %,d transactions, %,d faults: lost %d, duplicated %d, diverged %d, anomalies %d, unknown %d; see %s",
                result.verdict(),
                result.operations(),
                result.faults(),
                result.lost(),
                result.duplicated(),
                result.diverged(),
                result.anomalies(),
                result.unknown(),
                result.page()));
        output.result(result);
        return result.ok() ? 0 : 1;
    }

    private String name(long drawn) {
        return LocalDateTime.now(ZoneId.systemDefault())
                        .format(DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT))
                + "-" + protocol + "-" + drawn;
    }
}
