package org.gorda.cli;

import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.node.NodeClient;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "member",
        mixinStandardHelpOptions = true,
        description = {
            "Changes who belongs to a group, while it works.",
            "A new replica is started with itself and all others as its members, its service and clients at the default ports, and then added.",
            "It receives what it lacks and counts once it has the group's log."
        },
        subcommands = HelpCommand.class)
final class MemberCommand {

    @Command(name = "add", mixinStandardHelpOptions = true, description = "Takes a replica in.")
    int add(
            @Parameters(paramLabel = "HOST:PORT", description = "Its address for the others.") String member,
            @Mixin Change change) {
        return change.apply("add", member, true);
    }

    @Command(
            name = "remove",
            mixinStandardHelpOptions = true,
            description = "Takes a replica out, alive or dead. One that is alive takes part no more; stop its process.")
    int remove(
            @Parameters(paramLabel = "HOST:PORT", description = "Its address for the others.") String member,
            @Mixin Change change) {
        return change.apply("remove", member, false);
    }

    /** What both have in common. */
    static final class Change {

        @Mixin
        private Output output = new Output();

        @Mixin
        private AnyReplica replica = new AnyReplica();

        int apply(String change, String member, boolean isToAnswer) {
            NodeClient client = replica.client();
            NodeClient.Membership now = client.change(replica.service(), change, member);
            output.line("members   " + String.join(", ", now.members()));
            if (!now.learners().isEmpty()) {
                output.line("learners  " + String.join(", ", now.learners()));
            }
            if (isToAnswer) {
                tellIfSilent(client, member);
            }
            output.result(now);
            return 0;
        }

        private void tellIfSilent(NodeClient client, String member) {
            try {
                client.status(client.status(replica.service()).service(member));
            } catch (ReplicaException e) {
                output.line(
                        member + " receives what it lacks, and counts, once a replica runs there; now there is none: "
                                + e.getMessage());
                output.line(
                        "if that address is a mistake: gorda member remove " + member + " --at " + replica.service());
            }
        }
    }
}
