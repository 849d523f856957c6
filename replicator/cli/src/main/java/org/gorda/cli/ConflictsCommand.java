package org.gorda.cli;

import java.util.Locale;
import java.util.concurrent.Callable;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeConflicts;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "conflicts",
        mixinStandardHelpOptions = true,
        description = {
            "Shows what transactions of each replica were refused for since its start, and by which rows most have lost.",
            "CONFLICTS were not certified; GAVE WAY were rolled back before they were sent, for an ordered change.",
            "Exits with 0 only if all replicas answer."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class ConflictsCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Mixin
    private AnyReplica replica = new AnyReplica();

    @Option(
            names = "--rows",
            defaultValue = "10",
            paramLabel = "N",
            description =
                    "Of how many rows of each replica, ${DEFAULT-VALUE} if not said; with --json of all that are kept.")
    private int rows;

    @Override
    public Integer call() {
        NodeClient client = replica.client();
        AnyReplica.Answers<NodeConflicts> answers = AnyReplica.ask(
                client.status(replica.service()).services(),
                client::conflicts,
                (member, found) -> print(found),
                (member, why) -> output.line(member + ": no answer: " + why));
        output.result(answers);
        return answers.missing().isEmpty() ? 0 : 1;
    }

    private void print(NodeConflicts found) {
        output.line(found.self() + ": committed " + found.committed() + ", refused "
                + (found.refused().isEmpty() ? "none" : found.refused()));
        if (found.rows().isEmpty()) {
            return;
        }
        output.line(String.format("  %9s %8s  %-32s %s", "CONFLICTS", "GAVE WAY", "ROW", "LAST LOST AGAINST"));
        for (NodeConflicts.Row row : found.rows().stream().limit(rows).toList()) {
            output.line(String.format(
                    Locale.ROOT,
                    "  %9d %8d  %-32s %s; %d s since",
                    row.conflicts(),
                    row.gaveWay(),
                    (row.key().isEmpty() ? row.table() : row.table() + " " + row.key())
                            + (row.over() > 0 ? " (+ at most " + row.over() + ")" : ""),
                    row.winner(),
                    row.ageMillis() / 1000));
        }
    }
}
