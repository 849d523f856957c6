package org.gorda.cli;

import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeStatus;
import org.jspecify.annotations.Nullable;
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

    /** What is to be done with a replica that belongs to another group. */
    static final String TO_JOIN =
            "To have it join this one, stop it, move its database and its directory away, and start it with itself and all others as its members";

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
            String silence = isToAnswer ? silence(client, member) : null;
            NodeClient.Membership now = client.change(replica.service(), change, member);
            output.line("members   " + String.join(", ", now.members()));
            if (!now.learners().isEmpty()) {
                output.line("learners  " + String.join(", ", now.learners()));
            }
            if (silence != null) {
                output.line(
                        member + " receives what it lacks, and counts, once a replica runs there; now there is none: "
                                + silence);
                output.line(
                        "if that address is a mistake: gorda member remove " + member + " --at " + replica.service());
            }
            output.result(now);
            return 0;
        }

        /**
         * Why no replica answers there; null if one does.
         *
         * @throws ReplicaException if one does that the group would never hear of by that name
         */
        private @Nullable String silence(NodeClient client, String member) {
            NodeStatus asked = client.status(replica.service());
            NodeStatus there;
            try {
                there = client.status(asked.service(member));
            } catch (ReplicaException e) {
                return String.valueOf(e.getMessage());
            }
            if (there.isOfAnotherGroup(asked)) {
                throw new ReplicaException(member + " belongs to another group, " + there.history() + "; that of "
                        + asked.self() + " is " + asked.history() + ". " + TO_JOIN);
            }
            // Another replica's service may be where the added one's is sought.
            if (!there.self().equals(member) && port(there.self()) == port(member)) {
                throw new ReplicaException("the replica at " + member + " calls itself " + there.self()
                        + ": that is the name to add it by, and all others have to reach it there");
            }
            return null;
        }

        private static int port(String member) {
            return new MemberId(member).port();
        }
    }
}
