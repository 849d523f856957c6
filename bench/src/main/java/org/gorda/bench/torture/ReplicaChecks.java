package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.ReplicaContent;
import org.jspecify.annotations.Nullable;

/** What replicas hold in the end, compared with each other and with what clients were told. Confined to one thread. */
final class ReplicaChecks {

    private final Findings findings;
    private @Nullable String first;
    private Set<String> firstSchema = Set.of();

    ReplicaChecks(Findings findings) {
        this.findings = findings;
    }

    /** What they say themselves. */
    void compare(NodeClient.Comparison comparison) {
        comparison.missing().forEach((member, why) -> findings.add(Findings.STUCK, member + ": " + why));
        List<ReplicaContent> contents = comparison.replicas();
        for (ReplicaContent content : contents) {
            if (!content.tables().equals(contents.get(0).tables())) {
                different(
                        content.replica(),
                        content.tables(),
                        contents.get(0).replica(),
                        contents.get(0).tables());
            }
        }
        if (contents.isEmpty()) {
            findings.add(Findings.NOT_COMPARED, "no replica says what it holds");
        } else if (!comparison.agree() && findings.count(Findings.DIVERGED) == 0) {
            findings.add("damaged", contents.toString()); // the same everywhere, or held at another position
        }
    }

    private void different(String replica, Object content, String other, Object otherContent) {
        findings.add(Findings.DIVERGED, replica + " has " + content + ", " + other + " has " + otherContent);
    }

    /** What a replica holds; what others have shown, too, counts once. */
    void check(String replica, Connection connection, Map<Workload, List<Recorded>> histories) throws SQLException {
        Findings own = new Findings();
        for (Map.Entry<Workload, List<Recorded>> each : histories.entrySet()) {
            each.getKey().check(each.getValue(), connection, own);
        }
        findings.addOf(first == null ? "" : ", on " + replica, own);
        Set<String> schema = SchemaChanges.present(connection);
        if (first == null) {
            first = replica;
            firstSchema = schema;
        } else if (!schema.equals(firstSchema)) {
            different(replica, schema, first, firstSchema);
        }
    }
}
