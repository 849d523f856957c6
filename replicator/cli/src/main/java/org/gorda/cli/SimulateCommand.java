package org.gorda.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.gorda.bench.BenchException;
import org.gorda.replicator.simulator.SimulationResult;
import org.gorda.replicator.simulator.SimulationRun;
import org.gorda.replicator.simulator.ViolationError;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "simulate",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "Runs replicas in virtual time, in one thread, with faults drawn from a seed: crashes, partitions, loss, duplicates,"
                    + " late messages, failing disks, forgotten directories, changes of membership. The ordering and the"
                    + " replicator's core are those of production.",
            "Exits with 0 only if no seed loses or diverges anything and nobody stays stuck. The same seed does the same again."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class SimulateCommand implements Callable<Integer> {

    private static final int LINE_EVERY = 100;

    @Mixin
    private Output output = new Output();

    @Option(names = "--seeds", description = "How many.", defaultValue = "300")
    private int seeds;

    @Option(names = "--from", description = "The first.", defaultValue = "1")
    private long from;

    /** What the command ends with. */
    private record Report(
            int seeds,
            long from,
            List<Long> failed,
            long acknowledged,
            long aborted,
            long inDoubt,
            long crashes,
            long epochs) {}

    @Override
    public Integer call() {
        if (seeds < 1) {
            throw new BenchException("--seeds is " + seeds + " but must be at least 1");
        }
        List<Long> failed = new ArrayList<>();
        long acknowledged = 0;
        long aborted = 0;
        long inDoubt = 0;
        long crashes = 0;
        long epochs = 0;
        for (int done = 0; done < seeds; done++) {
            long seed = from + done;
            try {
                SimulationResult result = SimulationRun.run(seed);
                acknowledged += result.acknowledged();
                aborted += result.aborted();
                inDoubt += result.inDoubt();
                crashes += result.crashes();
                epochs += result.epochs();
                if (seeds <= LINE_EVERY || (done + 1) % LINE_EVERY == 0) {
                    tell(done + 1, result);
                }
            } catch (ViolationError e) {
                failed.add(seed);
                output.line(String.valueOf(e.getMessage()));
            }
        }
        output.line(String.format(
                Locale.ROOT,
                "%,d seeds from %d: %,d failed; %,d transactions acknowledged, %,d aborted, %,d were in doubt; %,d crashes, %,d"
                        + " epochs",
                seeds,
                from,
                failed.size(),
                acknowledged,
                aborted,
                inDoubt,
                crashes,
                epochs));
        output.result(new Report(seeds, from, failed, acknowledged, aborted, inDoubt, crashes, epochs));
        return failed.isEmpty() ? 0 : 1;
    }

    private void tell(int done, SimulationResult result) {
        output.line(String.format(
                Locale.ROOT,
                "%6d  seed %d  hash %016x  %s of virtual time, %d acknowledged, %d crashes, %d epochs",
                done,
                result.seed(),
                result.hash(),
                result.virtualTime(),
                result.acknowledged(),
                result.crashes(),
                result.epochs()));
    }
}
