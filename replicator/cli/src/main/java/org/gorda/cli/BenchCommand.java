package org.gorda.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.gorda.bench.ApplyRate;
import org.gorda.bench.Engine;
import org.gorda.bench.catalogue.Workloads;
import org.gorda.bench.ladder.Ladder;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        description = "Load tests.",
        subcommands = {
            BenchCommand.ApplyCommand.class,
            BenchCommand.LadderCommand.class,
            BenchCommand.ProxyCommand.class,
            BenchGcsCommand.class,
            BenchCompareCommand.class,
            HelpCommand.class
        })
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
            name = "ladder",
            mixinStandardHelpOptions = true,
            showDefaultValues = true,
            description = {
                "What each step of replication costs: TPC-B on the engine alone (vanilla), with all changes captured and nothing else"
                        + " done (loopback), and on three replicas with primary-backup and certification, which all take turns.",
                "Exits with 0 only if all replicas hold the same afterwards, and balances equal the history."
            })
    @SuppressWarnings("FieldMayBeFinal") // by picocli
    static final class LadderCommand implements Callable<Integer> {

        @Mixin
        private Output output = new Output();

        @Mixin
        private EngineOption engine = new EngineOption();

        @Option(names = "--storage", description = "${COMPLETION-CANDIDATES}.", defaultValue = "DISK")
        private Ladder.Storage storage = Ladder.Storage.DISK;

        @Option(
                names = "--via",
                description =
                        "Clients are embedded in the processes of databases or replicas, or use them over the network: ${COMPLETION-CANDIDATES}.",
                defaultValue = "EMBEDDED")
        private Ladder.Via via = Ladder.Via.EMBEDDED;

        @Option(
                names = "--rungs",
                split = ",",
                description =
                        "Which, besides vanilla: loopback (with Derby embedded only), primary-backup, certification, asynchronous, streaming"
                                + " (PostgreSQL's own synchronous replication to two standbys); all but asynchronous if not given.")
        private @Nullable List<String> rungs;

        @Option(names = "--clients", split = ",", description = "How many at once.", defaultValue = "1,4,8,16")
        private List<Integer> clients = List.of();

        @Option(names = "--scale", description = "How many branches.", defaultValue = "16")
        private int scale;

        @Option(names = "--accounts", description = "Of each branch; fewer are loaded sooner.", defaultValue = "100000")
        private int accounts;

        @Option(names = "--reads", description = "So many of a hundred transactions only read.", defaultValue = "0")
        private int reads;

        @Option(
                names = "--retry",
                description = "How often the driver runs a refused transaction again; via the network only.",
                defaultValue = "0")
        private int retry;

        @Mixin
        private Turns turns = new Turns();

        @Mixin
        private WorkDirectory directory = new WorkDirectory();

        @Override
        public Integer call() throws IOException {
            if (storage == Ladder.Storage.MEMORY) {
                directory.inMemory();
            }
            Engine chosen = engine.engine();
            Ladder.Results results = directory.work(
                    output,
                    own -> new Ladder(
                                    new Ladder.Load(scale, accounts, reads),
                                    chosen,
                                    storage,
                                    via,
                                    rungs == null ? Ladder.rungs(chosen, via) : rungs,
                                    clients,
                                    retry,
                                    turns.warmUp(),
                                    turns.each(),
                                    turns.pairs(),
                                    own)
                            .run(output::line),
                    Ladder.Results::identical);
            output.line(results.toText());
            output.result(results);
            return results.identical() ? 0 : 1;
        }
    }

    @Command(
            name = "proxy",
            mixinStandardHelpOptions = true,
            showDefaultValues = true,
            description = {
                "What reads cost through GORDA: by its driver in the process that has the database, and over the network from a"
                        + " replica's process, each in turns with the engine's own driver and network server.",
                "Exits with 0 only if all replicas hold the same afterwards."
            })
    @SuppressWarnings("FieldMayBeFinal") // by picocli
    static final class ProxyCommand implements Callable<Integer> {

        private static final int ALL = 100;

        @Mixin
        private Output output = new Output();

        @Option(names = "--clients", split = ",", description = "How many at once.", defaultValue = "1,8")
        private List<Integer> clients = List.of();

        @Option(
                names = "--accounts",
                description = "How many rows there are to be read, by the thousand.",
                defaultValue = "10000")
        private int accounts;

        @Mixin
        private Turns turns = new Turns();

        @Mixin
        private WorkDirectory directory = new WorkDirectory();

        @Override
        public Integer call() throws IOException {
            Ladder.Results results = directory.work(output, this::run, Ladder.Results::identical);
            output.line(results.toText());
            output.result(results);
            return results.identical() ? 0 : 1;
        }

        private Ladder.Results run(Path used) {
            List<Ladder.Result> rungs = new ArrayList<>();
            boolean identical = true;
            for (Ladder.Via via : Ladder.Via.values()) {
                output.line("reads       " + via);
                Ladder.Results results = new Ladder(
                                new Ladder.Load(1, accounts, ALL),
                                null,
                                Ladder.Storage.DISK,
                                via,
                                List.of("primary-backup"),
                                clients,
                                0,
                                turns.warmUp(),
                                turns.each(),
                                turns.pairs(),
                                used.resolve(via.toString()))
                        .run(output::line);
                rungs.addAll(results.rungs());
                identical &= results.identical();
            }
            return new Ladder.Results(rungs, identical);
        }
    }
}
