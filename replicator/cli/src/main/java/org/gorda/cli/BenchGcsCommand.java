package org.gorda.cli;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import org.gorda.bench.gcs.AbstractionCost;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "gcs",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "What the abstraction of group communication costs: JGroups as it is (FIFO and SEQUENCER) against the same through jGCS, and"
                    + " jGCS over our own Raft beside them, in turns, one process for each member.",
            "Exits with 0 only if all members delivered the same messages in the same order."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class BenchGcsCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Option(
            names = "--sizes",
            split = ",",
            description = "Of messages, in bytes.",
            defaultValue = "100,1000,10000,65536")
    private List<Integer> sizes = List.of();

    @Option(
            names = "--outstanding",
            split = ",",
            description = "How many of its own messages the sender may have on their way.",
            defaultValue = "1,64")
    private List<Integer> outstanding = List.of();

    @Mixin
    private Turns turns = new Turns();

    @Option(names = "--members", description = "How many processes.", defaultValue = "3")
    private int members;

    @Mixin
    private WorkDirectory directory = new WorkDirectory();

    @Override
    public Integer call() throws IOException {
        AbstractionCost cost =
                new AbstractionCost(sizes, outstanding, turns.pairs(), turns.each(), turns.warmUp(), members);
        AbstractionCost.Result result =
                directory.work(output, used -> cost.run(used, output::line), any -> true); // or it throws
        output.line(result.toText());
        output.result(result);
        return 0;
    }
}
