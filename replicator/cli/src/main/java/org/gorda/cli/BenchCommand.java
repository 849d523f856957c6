package org.gorda.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.gorda.bench.ApplyRate;
import org.gorda.bench.EngineRatio;
import org.gorda.bench.workload.Workloads;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        description = "Load tests.",
        subcommands = {BenchCommand.ApplyCommand.class, BenchCommand.EngineCommand.class})
final class BenchCommand {

    /** The command, with one for each workload below it. */
    static CommandSpec spec() {
        CommandSpec spec = CommandSpec.forAnnotatedObject(new BenchCommand());
        Workloads.kinds().forEach(kind -> spec.addSubcommand(kind.name(), BenchLoadCommand.spec(kind)));
        return spec;
    }

    @Command(
            name = "apply",
            mixinStandardHelpOptions = true,
            showDefaultValues = true,
            description = {
                "How fast one replica applies what three write together: runs TPC-B on three replica processes that all take"
                        + " writes, then puts one of them back to where it was before and has it work off its log alone.",
                "Exits with 0 only if all hold the same afterwards."
            })
    @SuppressWarnings("FieldMayBeFinal") // by picocli
    static final class ApplyCommand implements Callable<Integer> {

        @Mixin
        private Output output = new Output();

        @Option(names = "--clients", description = "How many at once, over all replicas.", defaultValue = "12")
        private int clients;

        @Option(names = "--scale", description = "How many branches.", defaultValue = "10")
        private int scale;

        @Option(
                names = "--accounts",
                description = "Of each branch; TPC-B has 100,000, fewer are loaded sooner.",
                defaultValue = "10000")
        private int accounts;

        @Option(names = "--duration", description = "How long the measured load runs.", defaultValue = "30s")
        private Duration duration = Duration.ZERO;

        @Option(names = "--warmup", description = "How long it runs before.", defaultValue = "10s")
        private Duration warmup = Duration.ZERO;

        @Mixin
        private WorkDirectory directory = new WorkDirectory();

        @Override
        public Integer call() throws IOException {
            ApplyRate.Result result = directory.work(
                    output,
                    used -> new ApplyRate(scale, accounts, clients, warmup, duration, used).run(output::line),
                    ApplyRate.Result::identical);
            output.line(result.toText());
            output.result(result);
            return result.identical() ? 0 : 1;
        }
    }

    @Command(
            name = "engine",
            mixinStandardHelpOptions = true,
            showDefaultValues = true,
            description = {
                "What replication costs: TPC-B on three replica processes and on the same engine alone, with its default durable"
                        + " commit, in turns.",
                "Exits with 0 only if all replicas hold the same afterwards."
            })
    @SuppressWarnings("FieldMayBeFinal") // by picocli
    static final class EngineCommand implements Callable<Integer> {

        @Mixin
        private Output output = new Output();

        @Option(names = "--protocol", description = "primary-backup or certification.", defaultValue = "certification")
        private String protocol = "";

        @Option(names = "--clients", description = "How many at once.", defaultValue = "16")
        private int clients;

        @Option(names = "--scale", description = "How many branches.", defaultValue = "10")
        private int scale;

        @Option(names = "--accounts", description = "Of each branch.", defaultValue = "100000")
        private int accounts;

        @Option(
                names = "--retry",
                description = "How many times the driver runs a refused transaction again.",
                defaultValue = "0")
        private int retry;

        @Option(names = "--warmup", description = "How long each side runs before.", defaultValue = "30s")
        private Duration warmup = Duration.ZERO;

        @Option(names = "--turn", description = "How long each turn lasts.", defaultValue = "10s")
        private Duration turn = Duration.ZERO;

        @Option(names = "--pairs", description = "How many turns each side has.", defaultValue = "5")
        private int pairs;

        @Mixin
        private WorkDirectory directory = new WorkDirectory();

        @Override
        public Integer call() throws IOException {
            EngineRatio.Result result = directory.work(
                    output,
                    used -> new EngineRatio(protocol, scale, accounts, clients, retry, warmup, turn, pairs, used)
                            .run(output::line),
                    EngineRatio.Result::identical);
            output.line(result.toText());
            output.result(result);
            return result.identical() ? 0 : 1;
        }
    }
}
