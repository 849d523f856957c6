package org.gorda.cli;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.gorda.bench.CommitCost;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeProbes;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "probes",
        mixinStandardHelpOptions = true,
        description = {
            "Shows where the time of transactions goes on each replica while its probes are on, and what transactions have cost since it was started or received the database.",
            "ORIGIN is the replica that has the client, who waits for all of its stages; the others do theirs meanwhile.",
            "Exits with 0 only if all replicas answer."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class ProbesCommand implements Callable<Integer> {

    private static final class Switch {
        @Option(names = "--on", required = true, description = "Has all replicas measure from now on.")
        private boolean on;

        @Option(
                names = "--off",
                required = true,
                description = "Has them end that, shows what they have measured, and forgets it.")
        private boolean off;
    }

    @Mixin
    private Output output = new Output();

    @Mixin
    private AnyReplica replica = new AnyReplica();

    @ArgGroup
    private @Nullable Switch to;

    /** What the command ends with. */
    private record Report(
            Map<String, NodeProbes> replicas,
            Map<String, String> missing,
            @Nullable CommitCost cost) {}

    @Override
    public Integer call() {
        NodeClient client = replica.client();
        AnyReplica.Answers<NodeProbes> answers = AnyReplica.ask(
                client.status(replica.service()).services(),
                service -> to == null ? client.probes(service) : client.probe(service, !to.off),
                (member, found) -> print(found),
                (member, why) -> output.line(member + ": no answer: " + why));
        CommitCost cost = CommitCost.of(answers.replicas().values());
        output.line(cost == null ? "nothing was committed yet" : "all: " + cost.each());
        output.result(new Report(answers.replicas(), answers.missing(), cost));
        return answers.missing().isEmpty() ? 0 : 1;
    }

    private void print(NodeProbes found) {
        boolean on = to == null ? found.on() : to.on;
        output.line(String.format(
                Locale.ROOT,
                "%s: probes %s; committed %,d, applied %,d; sent %,d frames, %,d bytes; forced the log %,d times, the database %,d",
                found.self(),
                on ? "on" : "off",
                found.committed(),
                found.applied(),
                found.frames(),
                found.bytes(),
                found.forces(),
                found.flushes()));
        CommitCost.lines(CommitCost.times(found)).forEach(line -> output.line("  " + line));
    }
}
