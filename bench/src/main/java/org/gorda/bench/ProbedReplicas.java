package org.gorda.bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeProbes;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replica processes whose probes are on while a load is measured, until they are closed. One that does not answer is left out. Confined to
 * one thread.
 */
final class ProbedReplicas implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ProbedReplicas.class);
    private final NodeClient client;

    /** What each had told before, by its service. */
    private final Map<String, NodeProbes> before = new LinkedHashMap<>();

    private ProbedReplicas(NodeClient client) {
        this.client = client;
    }

    /** Switches on the probes of all replicas of the groups of these. */
    static ProbedReplicas of(List<String> services, NodeClient client) {
        ProbedReplicas probed = new ProbedReplicas(client);
        services.forEach(probed::addGroupOf);
        return probed;
    }

    /** All of the group that a replica knows. */
    private void addGroupOf(String replica) {
        try {
            client.status(replica).services().values().forEach(this::add);
        } catch (ReplicaException e) {
            LOG.debug("{} does not tell who belongs to its group", replica, e);
        }
    }

    private void add(String service) {
        if (!before.containsKey(service)) {
            try {
                before.put(service, client.probe(service, true));
            } catch (ReplicaException e) {
                LOG.debug("{} is not measured", service, e);
            }
        }
    }

    /** What their transactions cost since; null if they had none. */
    @Nullable
    CommitCost cost() {
        List<NodeProbes> since = new ArrayList<>();
        before.forEach((service, then) -> {
            try {
                since.add(client.probes(service).minus(then));
            } catch (ReplicaException e) {
                LOG.debug("{} is not measured", service, e);
            }
        });
        return CommitCost.of(since);
    }

    /** Leaves their probes as they were. */
    @Override
    public void close() {
        before.forEach((service, then) -> {
            try {
                if (!then.on()) {
                    client.probe(service, false);
                }
            } catch (ReplicaException e) {
                LOG.debug("{} keeps its probes on", service, e);
            }
        });
    }
}
