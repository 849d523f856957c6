package org.gorda.cli;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeStatus;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
        name = "status",
        mixinStandardHelpOptions = true,
        description = {
            "Shows all replicas of a group as each sees itself.",
            "Exits with 0 only if all answer, are ONLINE, count for majorities and agree on the primary, and the one that is asked is one of them."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class StatusCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Mixin
    private AnyReplica replica = new AnyReplica();

    /** What the command ends with. */
    private record Report(boolean healthy, Map<String, NodeStatus> replicas, Map<String, String> missing) {}

    private static String why(NodeStatus status, NodeStatus asked) {
        if (status.isOfAnotherGroup(asked)) {
            return "belongs to another group, " + status.history() + "; that of " + asked.self() + " is "
                    + asked.history() + ". " + MemberCommand.TO_JOIN;
        }
        String slower = status.pacedFor();
        String uncounted = status.learners().contains(status.self()) ? "; does not count for majorities yet" : "";
        String undecided = status.undecided() == 0
                ? ""
                : String.format(
                        Locale.ROOT,
                        "; no majority has the last %d places that it shows, the first of them for %.1f s",
                        status.undecided(),
                        status.undecidedSeconds());
        return status.explanation() + uncounted + undecided + (slower == null ? "" : "; waits for " + slower);
    }

    private void line(String member, NodeStatus status, NodeStatus asked) {
        output.line(String.format(
                Locale.ROOT,
                "%-21s %-12s %-8s %6d %10d %10d %6d %7.1f %5.0f%%  %s",
                member,
                status.state(),
                status.role(),
                status.epoch(),
                status.applied(),
                status.ordered(),
                status.lag(),
                status.lagSeconds(),
                100 * status.paced(),
                why(status, asked)));
    }

    @Override
    public Integer call() {
        NodeClient client = replica.client();
        NodeStatus any = client.status(replica.service());
        output.line(String.format(
                "%-21s %-12s %-8s %6s %10s %10s %6s %7s %6s  %s",
                "REPLICA", "STATE", "ROLE", "EPOCH", "APPLIED", "ORDERED", "LAG", "SECONDS", "PACED", "WHY"));
        AnyReplica.Answers<NodeStatus> answers = AnyReplica.ask(
                any.services(),
                client::status,
                (member, status) -> line(member, status, any),
                (member, why) -> output.line(String.format("%-21s %-12s %s", member, "no answer", why)));
        Map<String, NodeStatus> replicas = answers.replicas();
        boolean isMember = any.services().containsKey(any.self());
        if (!isMember) {
            replicas.put(any.self(), any);
            line(any.self(), any, any);
        }
        boolean healthy = isMember
                && answers.missing().isEmpty()
                && replicas.values().stream().noneMatch(any::isOfAnotherGroup)
                && replicas.values().stream().allMatch(status -> status.state().equals("ONLINE"))
                && replicas.values().stream()
                        .allMatch(status -> status.learners().isEmpty())
                && replicas.values().stream().map(NodeStatus::epoch).distinct().count() == 1
                && (replicas.values().stream()
                                        .filter(status -> status.role().equals("primary"))
                                        .count()
                                == 1
                        || replicas.values().stream()
                                .allMatch(status -> status.role().equals("writer")));
        output.result(new Report(healthy, replicas, answers.missing()));
        return healthy ? 0 : 1;
    }
}
