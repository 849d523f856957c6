package org.gorda.replicator.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.ReplicaState;
import org.gorda.replicator.engine.ReplicaStatus;
import org.gorda.replicator.engine.Setting;
import org.jspecify.annotations.Nullable;

/**
 * A replica process at one moment, as its service tells it. Immutable.
 *
 * @param history its group's identity, and behind a dot which continuation of it if there is one; null while it does not know it
 * @param role {@code primary} or {@code backup}; where every replica takes writes {@code writer}, or {@code reader} while this one does not
 * @param lag how many places in the order are decided and not shown here yet
 * @param lagSeconds for how long there has been such a one, to a tenth of a second or so
 * @param undecided how many places the database shows here that no majority has yet, so that they are lost with this replica: an
 *     asynchronous primary's
 * @param undecidedSeconds for how long there has been such a one
 * @param paced in which share of the last ten seconds or so transactions of this replica have waited for one that is behind, 0 to 1
 * @param pacedFor for which one they wait now; null if they do not
 * @param protocol the group's; what this replica is configured for while there is none
 * @param services where each member tells of itself
 * @param clients the JDBC URL by which the engine's own driver reaches this replica
 */
public record NodeStatus(
        String self,
        String state,
        String explanation,
        @Nullable String history,
        String role,
        @Nullable String primary,
        long epoch,
        boolean working,
        List<String> members,
        List<String> learners,
        long ordered,
        long applied,
        long durable,
        long lag,
        double lagSeconds,
        long undecided,
        double undecidedSeconds,
        int inFlight,
        long committedHere,
        long appliedOfOthers,
        double paced,
        @Nullable String pacedFor,
        Map<String, Long> refused,
        String protocol,
        String durability,
        String database,
        Map<String, String> services,
        String clients) {

    private static String role(ReplicaStatus now) {
        if (now.everywhere()) {
            return now.executesHere() ? "writer" : "reader";
        }
        return now.executesHere() ? "primary" : "backup";
    }

    /** Whether the replica takes writes. */
    public boolean executes() {
        return working && (role.equals("primary") || role.equals("writer"));
    }

    /** Whether the two have been in groups that were formed separately, whatever they are called: they will never meet. */
    public boolean isOfAnotherGroup(NodeStatus other) {
        return history != null && other.history != null && !group(history).equals(group(other.history));
    }

    /** A history's text begins with its group's. */
    private static String group(String history) {
        return history.split("\\.", 2)[0];
    }

    static NodeStatus of(NodeConfiguration node, String durability, ReplicaStatus now, String clients) {
        return new NodeStatus(
                now.self().toString(),
                now.state().toString(),
                now.explanation(),
                now.history().isKnown() ? now.history().toString() : null,
                role(now),
                now.primary() == null ? null : now.primary().toString(),
                now.epoch(),
                now.working(),
                now.members().stream().map(Object::toString).toList(),
                now.learners().stream().map(Object::toString).toList(),
                now.orderedIndex(),
                now.appliedIndex(),
                now.durableIndex(),
                Math.max(0, now.orderedIndex() - now.appliedIndex()),
                now.lagSeconds(),
                now.undecided(),
                now.undecidedSeconds(),
                now.inFlight(),
                now.committed(),
                now.applied(),
                Math.round(1000 * now.paced()) / 1000.0,
                now.pacedFor() == null ? null : now.pacedFor().toString(),
                NodeConflicts.counts(now),
                now.protocol().key(),
                durability,
                node.databaseName(),
                services(node, now),
                clients);
    }

    /** Where a member tells of itself. One that is not known here yet was added: it has its service at the default port. */
    public String service(String member) {
        String known = services.get(member);
        return known == null ? defaultService(new MemberId(member)).toString() : known;
    }

    private static MemberId defaultService(MemberId member) {
        return new MemberId(member.host() + ":" + (member.port() + 1));
    }

    /** Before there is a replica to ask. */
    static NodeStatus starting(NodeConfiguration node, String progress) {
        return new NodeStatus(
                node.self().toString(),
                ReplicaState.STARTING.toString(),
                progress,
                null,
                "backup",
                null,
                0,
                false,
                List.of(),
                List.of(),
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                null,
                Map.of(),
                node.setting(Setting.PROTOCOL),
                node.setting(Setting.DURABILITY),
                node.databaseName(),
                services(node, node.members()),
                "");
    }

    /** Of those who belong to the group now. */
    private static Map<String, String> services(NodeConfiguration node, ReplicaStatus now) {
        List<MemberId> members = new ArrayList<>(now.members());
        members.addAll(now.learners());
        return services(node, members.isEmpty() ? node.members() : members);
    }

    /** One that was added later is configured only itself: it has its service at the default port. */
    private static Map<String, String> services(NodeConfiguration node, List<MemberId> members) {
        Map<String, String> services = new TreeMap<>();
        for (MemberId member : members) {
            int configured = node.members().indexOf(member);
            MemberId service =
                    configured < 0 ? defaultService(member) : node.services().get(configured);
            services.put(member.toString(), service.toString());
        }
        return services;
    }
}
